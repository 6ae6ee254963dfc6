"""JSON values of a large document one by one, so that no file has to fit into memory."""

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from dialeval.errors import BadInput

_BLANK = re.compile(r"[,\s]*")
_CHUNK = 1 << 20
HALF = "a text has half a character (a lone surrogate)"


class JsonStream:
    """The values of a document: the items of one array, or objects one after another.

    Args:
        file (`BinaryIO`):
            The bytes.
        key (`str`, *optional*):
            Read the array under this key of the outermost object.
    """

    def __init__(self, file: BinaryIO, key: str | None = None):
        self.file, self.key = file, key
        self.text, self.at, self.line, self.is_end = "", 0, 1, False
        self._rest = b""

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Each value with the number of the line it starts on."""
        self._more()
        if self.key:
            self._find_key(self.key)
        self._skip(_BLANK)
        is_array = self.text[self.at : self.at + 1] == "["
        self._advance(self.at + is_array)
        while True:
            self._skip(_BLANK)
            mark = self.text[self.at : self.at + 1]
            if mark in ("", "]") and (is_array or not mark):
                if is_array and not mark:
                    raise BadInput("expected JSON, but the array does not end.", line=self.line)
                return
            yield self.line, self._value()

    def _find_key(self, key: str) -> None:
        pattern = re.compile(rf'"{re.escape(key)}"\s*:\s*(?=\[)')
        while not (match := pattern.search(self.text, self.at)):
            if self.is_end:
                raise BadInput(f"expected a list under {key!r}, found none.")
            self._advance(max(self.at, len(self.text) - 200))
            self._more()
        self._advance(match.end())

    def _value(self) -> Any:
        decoder = json.JSONDecoder()
        while True:
            try:
                value, end = decoder.raw_decode(self.text, self.at)
            except RecursionError:
                raise BadInput(
                    "expected JSON, but it is nested too deeply.", line=self.line
                ) from None
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith("Unterminated") or error.pos >= len(self.text) - 16
                if self.is_end or not is_cut:
                    line = self.line + self.text.count("\n", self.at, error.pos)
                    message = f"expected JSON, but {error.msg.lower()}."
                    raise BadInput(message, line=line, hint="Fix the file.") from None
            except ValueError:  # Python converts no more than 4,300 digits
                message = "expected JSON, but a number in it has too many digits."
                raise BadInput(message, line=self.line, hint="Fix the file.") from None
            else:
                if end < len(self.text) or self.is_end:
                    start, line = self.at, self.line
                    self._advance(end)
                    return self._checked(self.text[start:end], value, line)
            self._more()

    @staticmethod
    def _checked(text: str, value: Any, line: int) -> Any:
        try:
            return check_characters(text, value)
        except UnicodeEncodeError:
            raise BadInput(f"expected JSON, but {HALF}.", line=line) from None

    def _skip(self, pattern: re.Pattern[str]) -> None:
        while True:
            match = pattern.match(self.text, self.at)
            self._advance(match.end() if match else self.at)
            if self.at < len(self.text) or self.is_end:
                return
            self._more()

    def _advance(self, at: int) -> None:
        self.line += self.text.count("\n", self.at, at)
        self.at = at

    def _more(self) -> None:
        """Read on; what was consumed is forgotten."""
        size = max(_CHUNK, len(self.text) - self.at)
        data = self._rest + self.file.read(size)
        self.is_end = len(data) < size
        cut = len(data) if self.is_end else data.rfind(b"\n") + 1 or _character_end(data)
        self._rest = data[cut:]
        try:
            text = data[:cut].decode("utf-8-sig" if not self.text and not self.at else "utf-8")
        except UnicodeDecodeError as error:
            line = self.line + self.text.count("\n", self.at) + data[: error.start].count(b"\n")
            message = f"expected UTF-8, found byte 0x{data[error.start]:02x}."
            raise BadInput(message, line=line, hint="Convert the file to UTF-8.") from None
        self.text, self.at = self.text[self.at :] + text, 0


def check_characters(text: str, value: Any) -> Any:
    """The value of a JSON text, if it can be written again.

    Raises:
        UnicodeEncodeError: A text in it has half a character, such as `"\\ud83d"`.
    """
    if "\\ud" in text or "\\uD" in text:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def _character_end(data: bytes) -> int:
    """Where the last whole character of some bytes ends."""
    end = len(data)
    while end and data[end - 1] & 0xC0 == 0x80:
        end -= 1
    return max(0, end - 1)


def is_document(first: str, second: str | None) -> bool:
    """Whether JSON goes on after its first line, and is no list of lines.

    Examples:
        >>> is_document("{", '  "a": 1'), is_document('{"a": 1}', '{"a": 2}')
        (True, False)
    """
    text = first.strip()
    if not text.startswith(("{", "[")):
        return False
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except json.JSONDecodeError as error:
        is_open = error.pos >= len(text) and not error.msg.startswith("Unterminated")
        return is_open and not (text.startswith("{") and (second or "").startswith("{"))
    except (ValueError, RecursionError):
        return False
    return isinstance(value, list) and second is None
