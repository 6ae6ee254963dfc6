"""The one place that loads models, configurations and tokenizers of Hugging Face.

transformers asks on the terminal whether to run the code that a repository brings with it. Here
such code is refused unless a caller was told to trust it, and whatever a library raises about
files that it cannot use becomes one sentence.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from dialeval.download_checks import guard_headers
from dialeval.errors import BadInput
from dialeval.progress import library_bars

_CODE = "it brings its own code (`auto_map` in its config.json), which dialeval does not run."


def from_pretrained(
    kind: Any,
    name: Path | str,
    *,
    what: str = "model",
    hint: str = "",
    trust_remote_code: bool = False,
    **options: Any,
) -> Any:
    """What a class of transformers loads from a folder or the Hub.

    Args:
        kind (`type`):
            Such as `AutoModel` or `AutoTokenizer`.
        name (`Path` or `str`):
            Folder, or name on the Hub.
        what (`str`, *optional*, defaults to `"model"`):
            What it is, for the error message.
        hint (`str`, *optional*):
            What to do if it cannot be loaded.
        trust_remote_code (`bool`, *optional*, defaults to `False`):
            Whether code of the repository may run.
        options:
            Of `from_pretrained`.

    Returns:
        What the class loads.

    Raises:
        BadInput: It cannot be loaded, or brings code that is not trusted.
    """
    import_module("dialeval.models.architectures")  # ours are loaded by Auto classes too
    guard_headers()
    try:
        with library_bars():
            return kind.from_pretrained(name, trust_remote_code=trust_remote_code, **options)
    except BadInput:
        raise
    except Exception as error:  # libraries raise anything about a damaged file
        path = Path(name, options["gguf_file"]) if options.get("gguf_file") else name
        raise unloadable(error, path, what, hint) from error


def unloadable(error: Exception, name: Path | str, what: str, hint: str = "") -> BadInput:
    """The error for something that cannot be loaded.

    Args:
        error (`Exception`):
            What the library raised.
        name (`Path` or `str`):
            Folder, or name on the Hub.
        what (`str`):
            What it is.
        hint (`str`, *optional*):
            What to do.

    Returns:
        `BadInput`: To be raised.
    """
    if "trust_remote_code" in str(error):
        advice = "Use another one, or read that code and pass --trust-remote-code to generate."
        return BadInput(_CODE, name, hint=advice)
    return BadInput(f"the {what} cannot be loaded: {first_line(error)}", name, hint=hint)


def first_line(error: BaseException) -> str:
    """The message of an error, without the advice that libraries append."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
