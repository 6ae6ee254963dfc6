"""Text on the terminal: only our own styles, and no control characters of somebody else's data."""

import codecs
import os
import re
import sys
from typing import Any

from rich.console import Console
from rich.errors import MarkupError
from rich.segment import Segment
from rich.text import Text

_STYLES = "bold|dim|italic|red|green|yellow|cyan|bold red|bold green|bold yellow|#[0-9a-f]{6}"
_TAG = re.compile(r"(\\*)\[(?!(?:/|/?(?:" + _STYLES + r"))\])(?=[a-z#/@])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """A text whose control characters, which could move a cursor or set a title, are visible.

    Examples:
        >>> printable("a\\x1b[31mb\\ttab")
        'a\\\\x1b[31mb\\ttab'
    """
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    r"""What an encoding does not have, as JSON writes it: `\u4f60`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    units = (text[index : index + 2].hex() for index in range(0, len(text), 2))
    return "".join(f"\\u{unit}" for unit in units), error.end


def prepare_streams() -> None:
    """Let every text be printed, whatever the encoding, and also where a stream is closed.

    A character that a terminal or a pipe in ASCII or Latin-1 does not have is written as its
    code, so that JSON stays JSON.
    """
    codecs.register_error("dialeval.escape", _escaped)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started the process
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="dialeval.escape")


class SafeConsole(Console):
    """A console for text that contains names and data of unknown origin.

    Only the styles that dialeval uses are markup; any other bracket is printed as it is, and a
    text whose markup does not fit together is printed without any. Control characters are printed
    as their codes.
    """

    def __init__(self, **options: Any):
        super().__init__(**{"highlight": False, "emoji": False, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        """The text with our styles."""
        markup = options.get("markup")
        if not (self._markup if markup is None else markup):
            return super().render_str(text, **options)
        try:
            return super().render_str(_TAG.sub(_literal, text), **options)
        except MarkupError:
            return super().render_str(text, **{**options, "markup": False})

    def _render_buffer(self, buffer: Any) -> str:
        return super()._render_buffer(
            segment if segment.control else Segment(printable(segment.text), segment.style)
            for segment in buffer
        )


def _literal(match: re.Match[str]) -> str:
    r"""A bracket that rich prints; one that is escaped already stays so."""
    slashes = match[1]
    return match[0] if len(slashes) % 2 else f"{slashes}\\["
