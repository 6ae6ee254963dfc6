"""The one error that a user causes and can fix."""

from pathlib import Path


class BadInput(ValueError):
    """Input that cannot be used: says where, what was expected, and what to do.

    Args:
        message (`str`):
            What was expected and what was given, as a sentence.
        path (`Path` or `str`, *optional*):
            The file.
        line (`int`, *optional*):
            Line in the file, from 1.
        hint (`str`, *optional*):
            What to do about it, as a sentence.
    """

    def __init__(
        self, message: str, path: Path | str = "", line: int | None = None, hint: str = ""
    ):
        self.message, self.path, self.line, self.hint = message, str(path), line, hint
        prefix = f"{path}:{line}: " if line else f"{path}: " if str(path) else ""
        super().__init__(" ".join(filter(None, (prefix + message, hint))))

    def __reduce__(self):
        return type(self), (self.message, self.path, self.line, self.hint)
