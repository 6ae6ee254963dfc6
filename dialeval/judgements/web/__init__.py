"""The annotation page: a small web server around a [`JudgementStore`].

Server-rendered forms with Starlette and Jinja, not gradio: a form that was posted is on disk when
the next page appears, works by keyboard, on a phone and without scripts, and survives a restart of
the server, because a page holds no state. gradio keeps its state in a socket to one process.
"""

from dialeval.judgements.web.app import WebSettings, build_app
from dialeval.judgements.web.server import serve

__all__ = ["WebSettings", "build_app", "serve"]
