"""From files to passages: parse, check, cut, filter and de-duplicate in one stream.

What must be compared over the whole corpus (duplicate dialogues, duplicate ids, pairs that a
filter breaks) is kept as 64-bit hashes, about 40 bytes a passage, and resolved in a second pass
over the Arrow file. So memory does not grow with the length of the texts.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dialeval.dialogues.cutting import Cut, Filters, check_passage, with_author
from dialeval.dialogues.formats import find_format, format_of, is_hub_name
from dialeval.dialogues.readers.chitchat import chitchat_path
from dialeval.dialogues.sources import BadInput, Source, line_spans
from dialeval.dialogues.storage import BATCH, PassageFile, Passages, encode, scratch
from dialeval.dialogues.tokens import count_tokens
from dialeval.dialogues.types import Dialogue, Passage, text_hash


@dataclass(frozen=True)
class ReadOptions:
    """How files become passages.

    Args:
        format (`str`, *optional*):
            Name of the format; guessed from the file by default.
        skip_bad (`bool`, *optional*, defaults to `False`):
            Skip bad records and list them, instead of stopping at the first.
        author (`str`, *optional*):
            Author of all responses; overrides the file.
        columns (`dict[str, str]`, *optional*):
            Our column names to those of a table.
        turn_separator (`str`, *optional*):
            What separates the turns where a table holds a context in one cell.
        allow_empty (`bool`, *optional*, defaults to `False`):
            Keep responses without words: a system may have answered with nothing.
        keep_duplicates (`bool`, *optional*, defaults to `False`):
            Keep dialogues that occur in the corpus more than once.
        num_proc (`int`, *optional*, defaults to 1):
            Processes that parse. Files are divided by lines where the format allows it.
    """

    format: str | None = None
    cut: Cut = field(default_factory=Cut)
    filters: Filters = field(default_factory=Filters)
    skip_bad: bool = False
    author: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    turn_separator: str | None = None
    allow_empty: bool = False
    keep_duplicates: bool = False
    num_proc: int = 1


@dataclass
class ReadReport:
    """Counts from reading; `turns` and `tokens` are histograms over dialogues and turns."""

    formats: dict[str, str] = field(default_factory=dict)
    dialogues: int = 0
    too_short: int = 0
    duplicate_dialogues: int = 0
    seen_elsewhere: int = 0
    filtered: int = 0
    passages: int = 0
    units: int = 0
    whole: bool = False
    turns: Counter = field(default_factory=Counter)
    tokens: Counter = field(default_factory=Counter)
    problems: list[BadInput] = field(default_factory=list)

    def observe(self, dialogue: Dialogue) -> None:
        """Count a dialogue and its turns."""
        self.dialogues += 1
        self.too_short += not dialogue.replies and len(dialogue.turns) < 2
        self.units += dialogue.units
        self.turns[len(dialogue.turns)] += 1
        self.tokens.update(count_tokens(turn.text) for turn in dialogue.turns)

    def add(self, other: "ReadReport") -> None:
        """Add the counts of another part of the same corpus."""
        for name in ("dialogues", "too_short", "units"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.turns.update(other.turns)
        self.tokens.update(other.tokens)
        self.problems += other.problems


@dataclass
class _Columns:
    """Hashes of the rows, kept until the whole corpus has been read."""

    dialogue: array = field(default_factory=lambda: array("Q"))  # which record or dialogue id
    content: array = field(default_factory=lambda: array("Q"))  # the words of that dialogue
    pair: array = field(default_factory=lambda: array("Q"))  # dialogue id and context
    key: array = field(default_factory=lambda: array("Q"))  # id and author; 0 where not given
    line: array = field(default_factory=lambda: array("I"))
    kept: array = field(default_factory=lambda: array("B"))  # passed the filters

    def append(
        self, passage: Passage, dialogue: Dialogue, record: str, options: ReadOptions, line: int
    ) -> None:
        """Add the hashes of one passage."""
        words = [turn.text for turn in dialogue.turns]
        if dialogue.replies:
            given = any(reply.id == passage.id for reply in dialogue.replies)
            facts = map(str, passage.extra.items())  # two ratings of one pair are two records
            content = text_hash([passage.author, passage.response, *words, *facts])
            group = dialogue.id if given else f"{dialogue.id}-{record}"
        else:
            content = text_hash(words)
            given = not dialogue.id.endswith(f"{content:016x}")
            group = record
        self.dialogue.append(text_hash([group]))
        self.content.append(content)
        self.pair.append(text_hash([passage.dialogue_id, *(t.text for t in passage.context)]))
        number = str(passage.extra.get("hypothesis", ""))  # several answers of one author
        self.key.append(text_hash([passage.id, passage.author, number]) if given else 0)
        self.line.append(line)
        self.kept.append(options.filters(passage))

    def extend(self, other: "_Columns") -> None:
        for name in self.__dataclass_fields__:
            getattr(self, name).extend(getattr(other, name))
            delattr(other, name)  # so that memory never holds both

    def __getitem__(self, name: str) -> np.ndarray:
        return np.asarray(getattr(self, name))


@dataclass(frozen=True)
class _Task:
    """One process's share: a source, or bytes of it."""

    path: str
    format: str
    options: ReadOptions
    folder: Path
    span: tuple[int, int] | None = None
    first_line: int = 1

    def source(self) -> Source:
        options = self.options
        return Source(
            Path(self.path),
            options.skip_bad,
            options.columns,
            options.turn_separator,
            self.span,
            self.first_line,
        )


def read_dialogues(
    path: Path | str, format: str | None = None, **options: Any
) -> Iterator[Dialogue]:
    """The dialogues of a file one by one, as its reader gives them.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> path = Path(mkdtemp()) / "talk.txt"
        >>> _ = path.write_text("hi __eou__ hello __eou__")
        >>> [len(dialogue.turns) for dialogue in read_dialogues(path)]
        [2]
    """
    return format_of(Path(path), format).read(Source(Path(path), **options))


def read_passages(paths: Path | str | Sequence[Path | str], **settings: Any) -> Passages:
    """Passages of one or more files; see [`ReadOptions`] for the settings."""
    return read(paths, ReadOptions(**settings))[0]


def read(
    paths: Path | str | Sequence[Path | str],
    options: ReadOptions | None = None,
    against: Sequence[Path | str] = (),
    progress: Callable[[int], Any] = lambda _: None,
) -> tuple[Passages, ReadReport]:
    """Passages of one or more files, and counts from reading them.

    Args:
        paths (`Path`, `str` or a sequence of them):
            Files, folders or names of Hub datasets.
        options (`ReadOptions`, *optional*):
            How they are read, cut and filtered.
        against (`Sequence[Path | str]`, *optional*):
            Files of other splits. Dialogues that occur there verbatim are left out.
        progress (`Callable[[int], Any]`, *optional*):
            Called with the number of passages so far.

    Returns:
        `tuple[Passages, ReadReport]`: The passages, and counts of what was read and left out.
    """
    options = options or ReadOptions()
    paths = [paths] if isinstance(paths, (str, Path)) else list(paths)
    tasks = [task for path in paths for task in _tasks(str(path), options)]
    report, columns, files = ReadReport(), _Columns(), []
    report.formats = {task.path: task.format for task in tasks}
    read_formats = [find_format(name) for name in report.formats.values()]
    report.whole = any(format.whole for format in read_formats)
    if not all(format.needs_context for format in read_formats):
        # Without contexts, equal responses are no duplicates.
        options = replace(options, keep_duplicates=True)
    for file, part, counts in _run(tasks, options.num_proc, progress):
        files.append(file)
        columns.extend(part)
        report.add(counts)
    elsewhere = _contents(against, options)
    keep = _select_rows(columns, report, options, elsewhere, _RowPaths(tasks, files))
    passages = _rewrite(files, keep)
    report.passages = len(passages)
    return passages, report


def _tasks(path: str, options: ReadOptions) -> Iterator[_Task]:
    if path == "chitchat" and not Path(path).exists():
        path = str(chitchat_path())  # the embedded corpus, by its name
    if options.format and not is_hub_name(path) and not Path(path).exists():
        format_of(Path(path))  # raises: the file is missing
    format = format_of(Path(path), options.format)
    if options.num_proc <= 1 or not format.by_line or path.endswith(".gz"):
        yield _Task(path, format.name, options, scratch())
        return
    for span, first_line in line_spans(Path(path), options.num_proc):
        yield _Task(path, format.name, options, scratch(), span, first_line)


_Part = tuple[PassageFile, _Columns, ReadReport]


def _run(tasks: list[_Task], num_proc: int, progress: Callable[[int], Any]) -> Iterator[_Part]:
    if num_proc <= 1 or len(tasks) <= 1:
        done = 0
        for task in tasks:
            part = _read_task(task, _add_rows(progress, done))
            yield part
            done += part[0].rows
        return
    with ProcessPoolExecutor(min(num_proc, len(tasks))) as pool:
        done = 0
        for part in pool.map(_read_task, tasks):
            progress(done := done + part[0].rows)
            yield part


def _add_rows(progress: Callable[[int], Any], done: int) -> Callable[[int], Any]:
    """A callback that reports the rows of one task on top of those of earlier tasks."""
    return lambda rows: progress(done + rows)


def _read_task(task: _Task, progress: Callable[[int], Any] = lambda _: None) -> _Part:
    source, format, options = task.source(), find_format(task.format), task.options
    report, columns = ReadReport(), _Columns()
    with PassageFile(folder=task.folder) as file:
        waiting: list[Passage] = []
        for number, dialogue in enumerate(format.read(source)):
            record = f"{task.path}-{task.span}-{number}"
            if options.author:
                dialogue = with_author(dialogue, options.author)
            report.observe(dialogue)
            line = source.location.get("line") or 0
            for passage in options.cut(dialogue):
                try:
                    check_passage(passage, format.needs_context, options.allow_empty)
                except BadInput as error:
                    source.report(error)
                    continue
                waiting.append(passage)
                columns.append(passage, dialogue, record, options, line)
            if len(waiting) >= BATCH:
                file.write(encode(waiting))
                waiting.clear()
                progress(file.rows)
        if waiting:
            file.write(encode(waiting))
        progress(file.rows)
    report.problems = source.problems
    return file, columns, report


def _contents(paths: Sequence[Path | str], options: ReadOptions) -> np.ndarray:
    """Hashes of the dialogues in other files."""
    columns = _Columns()
    for task in (task for path in paths for task in _tasks(str(path), options)):
        file, part, _ = _read_task(task)
        file.path.unlink()
        columns.extend(part)
    return _dialogue_contents(columns)[0]


def _dialogue_contents(columns: _Columns) -> tuple[np.ndarray, np.ndarray]:
    """One hash per dialogue over all its passages, and each passage's dialogue."""
    dialogues, inverse = np.unique(columns["dialogue"], return_inverse=True)
    contents = np.zeros(len(dialogues), dtype=np.uint64)
    np.add.at(contents, inverse, columns["content"])  # wraps around: a hash of the set
    return contents, inverse


def _select_rows(
    columns: _Columns,
    report: ReadReport,
    options: ReadOptions,
    elsewhere: np.ndarray,
    row_paths: "_RowPaths",
) -> np.ndarray:
    """A mask of the rows to keep."""
    contents, inverse = _dialogue_contents(columns)
    seen = np.isin(contents, elsewhere)
    repeated = np.zeros_like(seen) if options.keep_duplicates else _repeated(contents, inverse)
    report.seen_elsewhere = int(seen.sum())
    report.duplicate_dialogues = int((repeated & ~seen).sum())
    keep = ~(seen | repeated)[inverse]
    _drop_repeated_keys(keep, columns["key"], columns["line"], report, options, row_paths)
    broken = np.unique(columns["pair"][keep & (columns["kept"] == 0)])
    filtered = keep & np.isin(columns["pair"], broken)
    report.filtered = int(filtered.sum())
    return keep & ~filtered


def _repeated(contents: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """A mask of the dialogues that have the same words as an earlier one."""
    first_row = np.full(len(contents), len(inverse))
    np.minimum.at(first_row, inverse, np.arange(len(inverse)))
    order = np.argsort(first_row, kind="stable")
    repeated = np.ones(len(contents), dtype=bool)
    repeated[order[np.unique(contents[order], return_index=True)[1]]] = False
    return repeated


def _drop_repeated_keys(
    keep: np.ndarray,
    keys: np.ndarray,
    lines: np.ndarray,
    report: ReadReport,
    options: ReadOptions,
    row_paths: "_RowPaths",
) -> None:
    rows = np.flatnonzero(keep & (keys != 0))
    rows = rows[np.argsort(keys[rows], kind="stable")]
    again = np.flatnonzero(keys[rows][1:] == keys[rows][:-1]) + 1
    for at in sorted(again, key=lambda at: rows[at]):
        row, first = rows[at], rows[at - 1]
        error = BadInput(
            f"this id and author occurred already in line {lines[first]}.",
            row_paths.path(row),
            int(lines[row]) or None,
            "Give each response of an author its own id, or skip repeats with --skip-bad.",
        )
        if not options.skip_bad:
            raise error
        report.problems.append(error)
    keep[rows[again]] = False


class _RowPaths:
    """Paths of the files that the rows came from."""

    def __init__(self, tasks: list[_Task], files: list[PassageFile]):
        self.tasks = tasks
        self.bounds = np.cumsum([file.rows for file in files])

    def path(self, row: int) -> str:
        return self.tasks[int(np.searchsorted(self.bounds, row, side="right"))].path


def _rewrite(files: list[PassageFile], keep: np.ndarray) -> Passages:
    """The kept rows of several files in one table; the files are deleted."""
    with PassageFile() as output:
        start = 0
        for file in files:
            for batch in file.batches():
                output.write(batch.filter(pa.array(keep[start : start + batch.num_rows])))
                start += batch.num_rows
            file.path.unlink()
    return output.dataset()
