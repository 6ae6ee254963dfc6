"""Resumable generation: responses are written as they arrive, and a stopped run resumes."""

import glob
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dialeval._version import __version__
from dialeval.dialogues import BadInput, Passage, Passages, to_passages, write_passages
from dialeval.dialogues.storage import iterate_passages
from dialeval.dialogues.types import text_key
from dialeval.files import atomic_write_text
from dialeval.responders.base import HYPOTHESIS, Responder, Responses
from dialeval.run_folder import only_writer
from dialeval.saved import read_object


@dataclass(frozen=True)
class GenerationSummary:
    """Result of a generation run.

    Args:
        path (`Path`):
            File with the responses.
        answers, contexts (`int`):
            How many it contains.
        already_done (`int`):
            Contexts that an earlier run had responded to.
        signature (`str`):
            Of the responder.
    """

    path: Path
    answers: int
    contexts: int
    already_done: int
    signature: str


def generate(
    responder: Responder,
    passages: Passages | Sequence[Passage],
    output: Path | str,
    accelerator: Any = None,
    overwrite: bool = False,
) -> GenerationSummary:
    """Respond to every context and write the responses, in the order of the contexts.

    Responses are appended to a journal next to the output as they are ready. A run that is stopped
    at any point resumes when it is started again, and writes the same file. The journal records
    which responder and which contexts it belongs to.

    Args:
        responder (`Responder`):
            What responds.
        passages (`Passages` or sequence of `Passage`):
            Whose contexts are used.
        output (`Path` or `str`):
            File to write: .jsonl, .csv, .tsv or .parquet.
        accelerator (`Accelerator`, *optional*):
            Distributes the contexts over its processes.
        overwrite (`bool`, *optional*, defaults to `False`):
            Replace the output of another run.

    Returns:
        `GenerationSummary`: What was written; `answers` is 0 except in the main process.
    """
    contexts = list(iterate_passages(passages))
    if not contexts:
        raise BadInput("there is no context to answer.", hint="Check the data and its filters.")
    run = run_hash(responder.signature, contexts)
    rank, _ = _rank(accelerator)
    journal = Journal(Path(output), run, rank)
    with journal.lock() if rank == 0 else nullcontext():
        return _generate(responder, contexts, journal, accelerator, overwrite)


def _generate(
    responder: Responder,
    contexts: Sequence[Passage],
    journal: "Journal",
    accelerator: Any,
    overwrite: bool,
) -> GenerationSummary:
    """Answer what the journals do not have yet, and write the output."""
    rank, ranks = _rank(accelerator)
    if rank == 0:
        journal.check(overwrite)
    _wait(accelerator)
    done = set(range(len(contexts))) if journal.finished else journal.done()
    _wait(accelerator)  # all processes read before any of them writes
    todo = [index for index in range(len(contexts)) if index not in done][rank::ranks]
    with journal:
        for index, responses in _by_context(responder.stream([contexts[row] for row in todo])):
            journal.write(todo[index], responses)
    _wait(accelerator)
    total = journal.finish(contexts, responder) if rank == 0 else 0
    return GenerationSummary(journal.output, total, len(contexts), len(done), responder.signature)


def run_hash(signature: str, passages: Sequence[Passage]) -> str:
    """A hash of a run's responder and contexts; who speaks decides the roles of chat messages."""
    turns = (f"{turn.speaker}\x1e{turn.text}" for p in passages for turn in p.context)
    return text_key([signature, *(p.id for p in passages), *turns])


class Journal:
    """An append-only file per process with one line per context; an incomplete line is ignored.

    Args:
        output (`Path`):
            Final file; the journals are hidden files next to it.
        run (`str`):
            Hash of the run.
        rank (`int`, *optional*, defaults to 0):
            Index of the process.
    """

    def __init__(self, output: Path, run: str, rank: int = 0):
        self.output, self.run, self.rank = output, run, rank
        self.path = output.with_name(f".{output.name}.{rank}.journal")
        self.manifest = output.with_name(f"{output.name}.run.json")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep a second process from writing the same output."""
        path = self.output.with_name(f".{self.output.name}.lock")
        path.parent.mkdir(parents=True, exist_ok=True)
        with only_writer(self.output, path):
            try:
                yield
            finally:
                with suppress(OSError):  # of a system that keeps open files
                    path.unlink()

    def check(self, overwrite: bool) -> None:
        """Raise if another run wrote here, or remove its files with `overwrite`."""
        runs = {_head(path) for path in self._paths()} - {None}
        if self.output.exists() and (self.manifest.exists() or self.run not in runs):
            # Without a manifest the journal says whose output it is: a run that was stopped
            # between the two files has written the first one only.
            runs.add(_run_of(self.manifest))
        if runs <= {self.run}:
            return
        if not overwrite:
            raise BadInput(
                "another run wrote here: other contexts, responder or settings.",
                self.output,
                hint="Choose another --output, or replace it with --overwrite.",
            )
        for path in [*self._paths(), self.output, self.manifest]:
            path.unlink(missing_ok=True)

    @property
    def finished(self) -> bool:
        """Whether this run has already written its output."""
        return self.output.exists() and _run_of(self.manifest) == self.run

    def done(self) -> set[int]:
        """Indices of contexts with a response."""
        return {index for path in self._paths() for index in _responses(path, self.run)}

    def __enter__(self) -> "Journal":
        fresh = _head(self.path) != self.run
        self._file = self.path.open("w" if fresh else "a", encoding="utf-8", newline="")
        if fresh:
            self._line({"run": self.run})
        elif not self.path.read_bytes().endswith(b"\n"):  # an incomplete line: start a new one
            self._file.write("\n")
        return self

    def write(self, index: int, responses: Sequence[Passage]) -> None:
        """Append the responses to a context and flush."""
        records = [
            {"response": passage.response, "author": passage.author, "extra": dict(passage.extra),
             "source": passage.source_dialogue_id}
            for passage in responses
        ]  # fmt: skip
        self._line({"index": index, "answers": records})

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def finish(self, contexts: Sequence[Passage], responder: Responder) -> int:
        """Write the output and its manifest, and remove the journals.

        Returns:
            `int`: Number of responses in the output.
        """
        records: dict[int, list[dict[str, Any]]] = {}
        for path in self._paths():
            for index, responses in _responses(path, self.run).items():
                records.setdefault(index, responses)
        if records or not self.output.exists():
            table = to_passages(_passages(contexts, records))
            write_passages(table, self.output)
            manifest = {"run": self.run, "signature": responder.signature, "dialeval": __version__,
                        "contexts": len(contexts), "answers": len(table),
                        "training": _training(responder)}  # fmt: skip
            atomic_write_text(
                self.manifest, json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
            )
        for path in self._paths():
            path.unlink()
        return _answers_of(self.manifest)

    def _paths(self) -> list[Path]:
        name = glob.escape(self.output.name)  # a name may have brackets
        return sorted(self.output.parent.glob(f".{name}.*.journal"))

    def _line(self, record: dict[str, Any]) -> None:
        self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
        self._file.flush()


def _training(responder: Responder) -> Any:
    """How the generator was trained: an evaluator it was trained against is not independent."""
    return getattr(getattr(responder, "generator", None), "training", None)


def _passages(
    contexts: Sequence[Passage], records: dict[int, list[dict[str, Any]]]
) -> Iterator[Passage]:
    for index, passage in enumerate(contexts):
        for record in sorted(records[index], key=lambda row: row["extra"].get(HYPOTHESIS, 0)):
            response = passage.with_response(record["response"], record["author"])
            yield replace(response, extra=record["extra"], source_dialogue_id=record["source"])


def _responses(path: Path, run: str) -> dict[int, list[dict[str, Any]]]:
    """Responses in a journal, by the index of their context."""
    records = list(_records(path))
    if not records or records[0].get("run") != run:
        return {}
    return {
        record["index"]: record["answers"]
        for record in records[1:]
        if isinstance(record.get("index"), int) and isinstance(record.get("answers"), list)
    }


def _by_context(stream: Responses) -> Iterator[tuple[int, list[Passage]]]:
    """All responses to a context together; responders yield them consecutively."""
    current, waiting = -1, list[Passage]()
    try:
        for index, passage in stream:
            if index != current and waiting:
                yield current, waiting
                waiting = []
            current = index
            waiting.append(passage)
    except BadInput:  # the responder failed, but earlier responses are complete
        if waiting:
            yield current, waiting
        raise
    if waiting:
        yield current, waiting


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue  # incomplete after an interruption
            if isinstance(record, dict):
                yield record


def _head(path: Path) -> str | None:
    first = next(_records(path), {}) if path.is_file() else {}
    return first.get("run")


def _run_of(manifest: Path) -> str:
    try:
        return json.loads(manifest.read_text("utf-8"))["run"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "unknown"


def _answers_of(manifest: Path) -> int:
    """Number of responses that a manifest says."""
    return int(read_object(manifest, {"answers": int})["answers"])


def _rank(accelerator: Any) -> tuple[int, int]:
    """Index of this process and number of processes."""
    if accelerator is None:
        return 0, 1
    return accelerator.process_index, accelerator.num_processes


def _wait(accelerator: Any) -> None:
    if accelerator is not None:
        accelerator.wait_for_everyone()
