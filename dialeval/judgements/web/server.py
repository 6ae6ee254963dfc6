"""Serve the annotation page with uvicorn."""

from dialeval.errors import BadInput
from dialeval.judgements.store import JudgementStore

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def check_installed() -> None:
    """Say what to install if the web server is not.

    Raises:
        BadInput: Starlette or uvicorn is missing.
    """
    try:
        import starlette  # noqa: F401  an optional dependency
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as error:
        hint = "Install it: pip install 'dialeval[annotate]'"
        raise BadInput(f"the annotation page needs a web server, but {error}.", hint=hint) from None


def serve(
    store: JudgementStore,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    names: tuple[str, ...] = (),
    embedded: bool = False,
) -> None:
    """Serve a project until the process is stopped.

    Args:
        store (`JudgementStore`):
            The project.
        host (`str`, *optional*, defaults to `"127.0.0.1"`):
            Address to listen on; other than loopback, annotators need a link.
        port (`int`, *optional*, defaults to 8000):
            Port to listen on.
        names (`tuple[str, ...]`, *optional*):
            Host names under which annotators reach the page; any but on loopback by default.
        embedded (`bool`, *optional*, defaults to `False`):
            Whether it runs in a Space.
    """
    check_installed()
    import uvicorn

    from dialeval.judgements.web.app import WebSettings, build_app

    is_local = host in LOOPBACK and not embedded
    hosts = names or (WebSettings.hosts if is_local else ("*",))
    settings = WebSettings(open_door=is_local, hosts=hosts, embedded=embedded)
    # No access log: it would hold the secrets of links.
    uvicorn.run(
        build_app(store, settings), host=host, port=port, log_level="warning", access_log=False,
        proxy_headers=embedded, forwarded_allow_ips="*" if embedded else None,
        server_header=False,
    )  # fmt: skip
