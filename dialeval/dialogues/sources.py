"""Input files: their lines, and one clear error for each thing that can be wrong with them."""

import codecs
import gzip
import io
import json
import os
import shutil
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from dialeval.dialogues.json_stream import HALF, JsonStream, check_characters, is_document
from dialeval.errors import BadInput

SCHEMA_COLUMNS = (
    "id", "dialogue_id", "corpus", "language", "context", "response", "author", "speaker",
    "source_dialogue_id", "following",
)  # fmt: skip
"""Our columns of a passage; no other column of a source can replace them."""
_BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass
class Source:
    """One input file, and what to do with its bad records.

    Args:
        skip_bad (`bool`, *optional*, defaults to `False`):
            Collect errors in `problems` and continue, instead of raising the first.
        columns (`dict[str, str]`, *optional*):
            Names of our columns to their names in a table.
        turn_separator (`str`, *optional*):
            What separates the turns of a context in one cell of a table.
        span (`tuple[int, int]`, *optional*):
            Bytes of the file to read, for readers that share a file; both ends at line starts.
        first_line (`int`, *optional*, defaults to 1):
            Number of the line at the start of `span`.
    """

    path: Path
    skip_bad: bool = False
    columns: dict[str, str] = field(default_factory=dict)
    turn_separator: str | None = None
    span: tuple[int, int] | None = None
    first_line: int = 1
    problems: list[BadInput] = field(default_factory=list)
    location: dict[str, Any] = field(default_factory=dict)  # file and line of the current record
    answers: dict[str, str] = field(default_factory=dict)  # author to column, in one table for all
    skipped: Counter[str] = field(default_factory=Counter)  # what is no turn, by its kind
    notes: dict[str, None] = field(default_factory=dict)  # how the file was understood, in order
    clashes: Counter[str] = field(default_factory=Counter)  # extra columns with a name of ours
    separated: Counter[str] = field(default_factory=Counter)  # contexts, by their separator

    def __post_init__(self) -> None:
        self.path = Path(self.path)

    def inside(self, path: Path) -> "Source":
        """A file of a folder, with the same treatment of bad records."""
        return Source(
            path,
            self.skip_bad,
            self.columns,
            self.turn_separator,
            problems=self.problems,
            location=self.location,
            answers=self.answers,
            skipped=self.skipped,
            notes=self.notes,
            clashes=self.clashes,
            separated=self.separated,
        )

    def note(self, sentence: str) -> None:
        """Remember how the file was understood; the user reads it once."""
        self.notes[sentence] = None

    def open(self) -> BinaryIO:
        """The bytes, unpacked where the name ends with `.gz`; a pipe is copied once."""
        path = spooled(self.path)
        if self.path.suffix == ".gz":
            return io.BufferedReader(_GzipFile(path, self.path))
        return path.open("rb")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Numbered lines without their ends; a byte order mark and CR are dropped."""
        with self.open() as file:
            yield from self.decoded(self._raw_lines(file), self.first_line)

    def decoded(self, raw_lines: Iterable[bytes], first_line: int) -> Iterator[tuple[int, str]]:
        """What `lines` gives for some of the lines."""
        for number, raw in enumerate(raw_lines, first_line):
            if number == 1:
                raw = self._without_bom(raw)
            try:
                line = self._decode(raw.rstrip(b"\r\n"), number)
            except BadInput as error:
                self.report(error)
            else:
                yield number, line

    def line_blocks(self, size: int) -> Iterator[tuple[int, list[bytes]]]:
        """So many lines at a time, as bytes with their ends, and the number of the first."""
        with self.open() as file:
            raw_lines, first_line = self._raw_lines(file), self.first_line
            problem = None
            while problem is None:
                block: list[bytes] = []
                try:
                    block.extend(islice(raw_lines, size))
                except BadInput as error:
                    problem = error
                if not block:
                    break
                yield first_line, block
                first_line += len(block)
            if problem:
                raise problem

    def _raw_lines(self, file: BinaryIO) -> Iterator[bytes]:
        if self.span:
            file.seek(self.span[0])
        left = self.span[1] - self.span[0] if self.span else None
        for raw in file:
            if left is not None:
                if left <= 0:
                    return
                left -= len(raw)
            yield raw

    def _without_bom(self, raw: bytes) -> bytes:
        for bom, encoding in _BOMS.items():
            if raw.startswith(bom):
                raise BadInput(
                    f"expected UTF-8 text, found {encoding.upper()}.",
                    self.path,
                    1,
                    f"Convert it: iconv -f {encoding} -t utf-8 {self.path.name} > utf8.txt",
                )
        return raw.removeprefix(codecs.BOM_UTF8)

    def _decode(self, raw: bytes, number: int) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadInput(
                f"expected UTF-8, found byte 0x{raw[error.start]:02x} at column {error.start + 1}.",
                self.path,
                number,
                f"Convert the file (iconv -f latin1 -t utf-8 {self.path.name} > utf8.txt), "
                "or skip such lines with --skip-bad.",
            ) from None

    def filled_lines(self) -> Iterator[tuple[int, str]]:
        """Numbered lines that hold more than white space."""
        return ((number, line) for number, line in self.lines() if line.strip())

    def text(self) -> str:
        """The whole file."""
        return "\n".join(line for _, line in self.lines())

    def json_records(self) -> Iterator[tuple[int, Any]]:
        """Numbered values of a JSON-lines file, or of one JSON array over the whole file."""
        if self.first_line == 1 and self.is_json_document():
            yield from self.json_items()
            return
        yield from self.parsed(self.lines())

    def parsed(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Any]]:
        """Numbered values of lines of JSON; blank ones have none."""
        for number, line in lines:
            if not line.strip():
                continue
            try:
                value = self._parse(line, number)
            except BadInput as error:
                self.report(error)
            else:
                yield number, value

    def is_json_document(self) -> bool:
        """Whether the file is one JSON document over several lines, or one array."""
        with self.open() as file:
            raw = iter(line for line in file if line.strip())
            first, second = next(raw, b""), next(raw, None)
        first = first.removeprefix(codecs.BOM_UTF8)
        other = None if second is None else second.decode("utf-8", "replace")
        return is_document(first.decode("utf-8", "replace"), other)

    def json_items(self, key: str | None = None) -> Iterator[tuple[int, Any]]:
        """Numbered values of a JSON document, or of the array under one of its keys, streamed."""
        with self.open() as file:
            try:
                yield from JsonStream(file, key)
            except BadInput as error:
                hint = error.hint or "Fix the file."
                raise BadInput(error.message, self.path, error.line, hint) from None

    def json(self) -> Any:
        """The value of a file that is one JSON document."""
        return self._parse(self.text(), None)

    def further(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """The extra columns of a record; those with a name of ours are left out and counted."""
        inner = columns.get("extra")
        inner = inner if isinstance(inner, Mapping) else {}
        columns = {**{key: value for key, value in columns.items() if key != "extra"}, **inner}
        self.clashes.update(key for key in columns if key in SCHEMA_COLUMNS)
        return {key: value for key, value in columns.items() if key not in SCHEMA_COLUMNS}

    def _parse(self, text: str, number: int | None) -> Any:
        try:
            return check_characters(text, json.loads(text))
        except UnicodeEncodeError:
            problem, line = HALF, None
        except json.JSONDecodeError as error:
            problem, line = f"{error.msg.lower()} at column {error.colno}", error.lineno
        except RecursionError:
            problem, line = "it is nested too deeply", None
        except ValueError:  # Python converts no more than 4,300 digits
            problem, line = "a number in it has too many digits", None
        hint = "Fix the line, or skip such lines with --skip-bad."
        raise BadInput(f"expected JSON, but {problem}.", self.path, number or line, hint)

    @contextmanager
    def record(self, line: int | None = None) -> Iterator[None]:
        """Add file and line to an error raised inside; collect it when bad records are skipped."""
        self.location.update(path=self.path, line=line)
        try:
            yield
        except BadInput as error:
            self.report(error)

    def report(self, error: BadInput) -> None:
        """Raise an error at the current record, or collect it when bad records are skipped."""
        if not error.path:
            hint = error.hint or "Fix it, or skip such records with --skip-bad."
            path, line = self.location.get("path", self.path), self.location.get("line")
            error = BadInput(error.message, path, line, hint)
        if not self.skip_bad:
            raise error from None
        self.problems.append(error)


class _GzipFile(gzip.GzipFile):
    """A gzip file that says what is wrong with it."""

    def __init__(self, path: Path, name: Path):
        super().__init__(path, "rb")
        self.given_name = name

    def read1(self, size: int = -1) -> bytes:
        """Some bytes."""
        return self._checked(super().read1, size)

    def read(self, size: int | None = -1) -> bytes:
        """So many bytes."""
        return self._checked(super().read, size)

    def readinto(self, buffer: Any) -> int:
        """Bytes into a buffer; how many."""
        data = self.read(len(memoryview(buffer)))
        memoryview(buffer)[: len(data)] = data
        return len(data)

    def _checked(self, read: Any, size: int | None) -> bytes:
        try:
            return read(size)
        except EOFError:
            message = "the gzip file is truncated: it ends before its data do."
        except (OSError, zlib.error) as error:
            message = f"expected gzip, but {str(error).lower()}."
        raise BadInput(message, self.given_name, hint="Copy or download the file again.")


_spools: dict[str, Path] = {}  # what is no regular file, copied so that it can be read again


def spooled(path: Path) -> Path:
    """A file that can be read more than once: the path itself, or a copy of a pipe."""
    if path.is_file() or not path.exists() or path.is_dir():
        return path
    if path.is_char_device() and not path.samefile(os.devnull):  # it may never end
        hint = "Give a file, or pipe the data: cat FILE | dialeval data describe /dev/stdin"
        raise BadInput("expected a file or a pipe, found a device.", path, hint=hint)
    key = str(path)
    if key not in _spools:
        from dialeval.dialogues.scratch import scratch

        target = scratch() / f"spool-{os.getpid()}-{len(_spools)}"
        try:
            with path.open("rb") as pipe, target.open("wb") as file:
                shutil.copyfileobj(pipe, file)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        _spools[key] = target
    return _spools[key]


def line_spans(path: Path, parts: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Byte ranges that end at line ends, each with the number of its first line."""
    path = spooled(path)
    size, start, first_line = path.stat().st_size, 0, 1
    if Source(path).is_json_document():
        parts = 1
    with path.open("rb") as file:
        for part in range(1, parts + 1):
            file.seek(max(start, size * part // parts - 1))
            file.readline()
            end = size if part == parts else file.tell()
            if end > start:
                yield (start, end), first_line
                first_line += _count_lines(file, start, end)
            start = end


def _count_lines(file: BinaryIO, start: int, end: int) -> int:
    file.seek(start)
    lines = 0
    while start < end:
        block = file.read(min(1 << 20, end - start))
        lines += block.count(b"\n")
        start += len(block)
    return lines
