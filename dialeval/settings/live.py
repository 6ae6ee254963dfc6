"""Settings of live systems: models and servers that respond while a command runs."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialeval.errors import BadInput
from dialeval.settings.checks import check_settings

MAX_NEW_TOKENS = 128
"""Tokens of a response at most: enough that a chat model can finish most of its replies."""
_DECODING = {
    "flags": ("--decoding", "-d"),
    "help": "Decoding of models; a server knows sampling and greedy (temperature 0). See: "
    "dialeval list decodings",
}
_TEXT_FILES = (".txt", ".md", ".prompt")


@dataclass(frozen=True)
class LiveSettings:
    """Live systems."""

    decoding: str = field(default="sampling", metadata=_DECODING)
    temperature: float | None = field(
        default=None,
        metadata={"help": "Temperature; by default that of the decoding or of the server."},
    )
    max_new_tokens: int = field(
        default=MAX_NEW_TOKENS, metadata={"help": "Maximum number of tokens of a response."}
    )
    system_prompt: str | None = field(
        default=None, metadata={"help": "System prompt of chat models: a text file, or the text."}
    )
    concurrency: int = field(
        default=8, metadata={"help": "Maximum number of simultaneous requests to a server."}
    )
    api_key_env: str = field(
        default="OPENAI_API_KEY",
        metadata={"help": "Environment variable with the server's key."},
    )

    def __post_init__(self) -> None:
        check_settings(self)

    def options(self) -> dict[str, Any]:
        """Keyword arguments of `load_responder`."""
        settings = {} if self.temperature is None else {"temperature": self.temperature}
        options = {name: value for name, value in vars(self).items() if name != "temperature"}
        return {**options, "system_prompt": read_prompt(self.system_prompt), "settings": settings}


@dataclass(frozen=True)
class GreedySettings(LiveSettings):
    """Live systems."""

    decoding: str = field(default="greedy", metadata=_DECODING)


def read_prompt(text: str | None) -> str | None:
    """A system prompt: the content of a file, or the text itself.

    Raises:
        BadInput: It is named like a text file that is empty or does not exist.
    """
    if text is None or "\n" in text or len(text) > 255:
        return text
    path = Path(text)
    if not path.is_file():
        if path.suffix.lower() in _TEXT_FILES and " " not in text:
            raise BadInput("no such file with a system prompt.", path)
        return text
    try:
        content = path.read_text(encoding="utf-8-sig").strip()
    except UnicodeDecodeError:
        raise BadInput("expected a system prompt in UTF-8.", path) from None
    if not content:
        raise BadInput("this system prompt is empty.", path, hint="Leave out --system-prompt.")
    return content
