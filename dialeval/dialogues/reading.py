"""From files to passages: parse, check, cut, filter and de-duplicate in one stream.

What must be compared over the whole corpus (duplicate dialogues, duplicate ids, pairs that a
filter breaks) is kept as 64-bit hashes on disk, about 40 bytes a passage, and resolved a bucket of
equal hashes at a time, before a second pass over the Arrow file. So memory grows by one byte a
passage.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dialeval.dialogues.blocks import Columns, NotPlain, blocks_of
from dialeval.dialogues.cutting import check_passage, with_author
from dialeval.dialogues.deduplication import RowHashes, RowPaths, dialogue_contents, select_rows
from dialeval.dialogues.formats import find_format, format_of, table_format
from dialeval.dialogues.paths import (
    check_exists,
    is_hub_name,
    is_pattern,
    matching_files,
    shards,
)
from dialeval.dialogues.plain_rows import plain_rows
from dialeval.dialogues.read_options import ReadOptions, ReadReport
from dialeval.dialogues.readers.chitchat import chitchat_path
from dialeval.dialogues.roles import (
    LOOK_AHEAD,
    add_names,
    check_one_role,
    check_role_exists,
    with_side,
)
from dialeval.dialogues.row_file import RowFile
from dialeval.dialogues.scratch import scratch
from dialeval.dialogues.sources import BadInput, Source, line_spans
from dialeval.dialogues.storage import BATCH, PassageFile, Passages, encode
from dialeval.dialogues.types import Dialogue, Passage


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
            answers=options.answers,
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
            Files, folders, patterns such as `shards/*.parquet`, or names of Hub datasets.
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
    report, columns, files = ReadReport(), RowHashes(), []
    report.formats = {task.path: task.format for task in tasks}
    read_formats = [find_format(name) for name in report.formats.values()]
    report.whole = any(format.whole for format in read_formats)
    equal_replies = options.keep_equal_replies and not report.whole
    if equal_replies or not all(format.needs_context for format in read_formats):
        # Without contexts, equal responses are no duplicates.
        options = replace(options, keep_duplicates=True)
    for file, part, counts in _run(tasks, options.num_proc, progress):
        files.append(file)
        columns.extend(part)
        report.add(counts)
    if report.problems and not any(file.rows for file in files):
        first, count = report.problems[0], len(report.problems)
        message = f"none of the records can be used; {count:,} are bad, the first: {first.message}"
        raise BadInput(message, first.path, first.line, first.hint)
    if options.turn_separator and not report.separated.total():
        shown = f"{options.turn_separator!r:.40}"
        report.notes[f"No context has the turn separator {shown}: all are read as they are."] = None
    check_role_exists(options.role, report.speakers, str(paths[0]))
    if options.side and not options.role:
        check_one_role(report.roles, str(paths[0]), report.dialogues)
    row_paths = RowPaths([task.path for task in tasks], [file.rows for file in files])
    with columns, _contents(against, options) as elsewhere:
        keep = select_rows(columns, report, options, elsewhere, row_paths)
    passages = _rewrite(files, keep)
    report.passages = len(passages)
    return passages, report


def _tasks(path: str, options: ReadOptions) -> Iterator[_Task]:
    """The shares of a file, of a folder of shards, or of all files that fit a pattern."""
    if is_pattern(path):
        check_exists(Path(path))
        for match in matching_files(path):
            yield from _tasks(match, options)
        return
    parts = shards(Path(path), options.columns) if Path(path).is_dir() else []
    if parts and options.format in (None, "parquet", "passages"):
        for part in parts:
            yield from _file_tasks(part, options)
    else:
        yield from _file_tasks(path, options)


def _file_tasks(path: str, options: ReadOptions) -> Iterator[_Task]:
    if path == "chitchat" and not Path(path).exists():
        path = str(chitchat_path())  # the embedded corpus, by its name
    if options.format and not is_hub_name(path) and not Path(path).exists():
        format_of(Path(path))  # raises: the file is missing
    is_table = bool(options.columns or options.answers) and not is_hub_name(path)
    name = options.format or (table_format(Path(path), options.columns) if is_table else None)
    format = format_of(Path(path), name)
    if options.num_proc <= 1 or not format.by_line or path.endswith(".gz"):
        yield _Task(path, format.name, options, scratch())
        return
    for span, first_line in line_spans(Path(path), options.num_proc):
        yield _Task(path, format.name, options, scratch(), span, first_line)


_Part = tuple[PassageFile, RowHashes, ReadReport]


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
    return _TaskReader(task, progress)()


class _TaskReader:
    """Reads one process's share: blocks of plain records as columns, others one by one."""

    def __init__(self, task: _Task, progress: Callable[[int], Any]):
        self.task, self.options, self.progress = task, task.options, progress
        self.source, self.format = task.source(), find_format(task.format)
        self.report, self.hashes = ReadReport(), RowHashes(task.folder)
        options = task.options
        self.cut = replace(options.cut, role=options.role) if options.role else options.cut
        self.needs_context = self.format.needs_context and not self.cut.openings
        self.records = 0

    def __call__(self) -> _Part:
        with PassageFile(folder=self.task.folder) as file:
            for block in blocks_of(self.format, self.source):
                try:
                    self._add_columns(block.columns(), file)
                except NotPlain:
                    self._add_dialogues(block.dialogues(), file)
            self.progress(file.rows)
        self.hashes.finish()
        self.report.problems, self.report.skipped = self.source.problems, self.source.skipped
        self.report.notes, self.report.clashes = self.source.notes, self.source.clashes
        self.report.separated = self.source.separated
        return file, self.hashes, self.report

    def _add_columns(self, columns: Columns, file: PassageFile) -> None:
        """Add the passages of plain records."""
        count = len(columns.lines)
        if not count:
            return
        rows = plain_rows(columns, self.source, self.options, self._names(count))
        rows.count_in(self.report)
        self.hashes.extend_columns(rows.hashes)
        file.write(rows.batch)
        self.records += count
        self.progress(file.rows)

    def _names(self, count: int) -> list[str]:
        """A name for each of the next records that no other record has."""
        start = f"{self.task.path}-{self.task.span}-"
        return [f"{start}{number}" for number in range(self.records, self.records + count)]

    def _add_dialogues(self, dialogues: Iterator[Dialogue], file: PassageFile) -> None:
        """Add the passages that are cut from dialogues."""
        waiting: list[Passage] = []
        for dialogue in dialogues:
            waiting.extend(self._passages(dialogue))
            self.records += 1
            if len(waiting) >= BATCH:
                file.write(encode(waiting))
                waiting.clear()
                self.progress(file.rows)
        if waiting:
            file.write(encode(waiting))

    def _passages(self, dialogue: Dialogue) -> Iterator[Passage]:
        """The passages of a dialogue; a bad one is reported."""
        options, report = self.options, self.report
        if options.author:
            dialogue = with_author(dialogue, options.author)
        else:
            dialogue = with_side(dialogue, options.side, options.role)
        report.observe(dialogue)
        if options.side and not options.role and report.dialogues == LOOK_AHEAD:
            check_one_role(report.roles, self.task.path, LOOK_AHEAD)
        (record,), line = self._names(1), self.source.location.get("line") or 0
        for passage in self.cut(dialogue):
            if dialogue.by_role:
                add_names(report.roles, [passage.speaker])
            try:
                check_passage(passage, self.needs_context, options.allow_empty)
            except BadInput as error:
                self.source.report(error)
                continue
            self.hashes.append(passage, dialogue, record, options, line)
            yield passage


def _contents(paths: Sequence[Path | str], options: ReadOptions) -> RowFile:
    """Hashes of the dialogues in other files."""
    columns = RowHashes()
    for task in (task for path in paths for task in _tasks(str(path), options)):
        file, part, _ = _read_task(task)
        file.path.unlink()
        columns.extend(part)
    with columns:
        return dialogue_contents(columns)


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
