"""Contexts answered by a responder: written as they come, gone on with when interrupted."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dialeval._version import __version__
from dialeval.dialogues import BadInput, Passage, Passages, iterate, to_passages, write_passages
from dialeval.dialogues.types import text_key
from dialeval.files import atomic_write
from dialeval.responders.base import HYPOTHESIS, Responder


@dataclass(frozen=True)
class Generated:
    """What a run wrote, and how much of it an earlier one had done."""

    path: Path
    answers: int
    contexts: int
    found_done: int
    signature: str


def generate(
    responder: Responder,
    passages: Passages | Sequence[Passage],
    output: Path | str,
    accelerator: Any = None,
    overwrite: bool = False,
) -> Generated:
    """Answer every context and write the answers, in the order of the contexts.

    Answers go to a journal beside the output as they are ready. A run that is stopped at any point
    goes on from there when it is started again, and ends with the same file. The journal knows
    which responder and which contexts it belongs to.

    Args:
        accelerator (`Accelerator`, *optional*):
            Shares the contexts among its processes.
        overwrite (`bool`, *optional*, defaults to `False`):
            Replace what another run wrote under this name.
    """
    asked = list(iterate(passages)) if isinstance(passages, Passages) else list(passages)
    if not asked:
        raise BadInput("there is no context to answer.", hint="Check the data and its filters.")
    run = run_hash(responder.signature, asked)
    rank, ranks = _place(accelerator)
    journal = Journal(Path(output), run, rank)
    if rank == 0:
        journal.check(overwrite)
    _wait(accelerator)
    done = set(range(len(asked))) if journal.finished else journal.done()
    _wait(accelerator)  # nobody writes before everybody has read
    todo = [place for place in range(len(asked)) if place not in done][rank::ranks]
    with journal:
        for place, answers in _by_context(responder.stream([asked[row] for row in todo])):
            journal.write(todo[place], answers)
    _wait(accelerator)
    answers = 0
    if rank == 0:
        answers = journal.finish(asked, responder)
    return Generated(Path(output), answers, len(asked), len(done), responder.signature)


def run_hash(signature: str, passages: Sequence[Passage]) -> str:
    """A name for a run: who answers, and what."""
    texts = (text for p in passages for text in (p.id, *(turn.text for turn in p.context)))
    return text_key([signature, *texts])


class Journal:
    """An append-only file for each process, a line a context; one that was cut off is ignored."""

    def __init__(self, output: Path, run: str, rank: int = 0):
        self.output, self.run, self.rank = output, run, rank
        self.path = output.with_name(f".{output.name}.{rank}.journal")
        self.manifest = output.with_name(f"{output.name}.run.json")

    def check(self, overwrite: bool) -> None:
        """Refuse to mix runs, unless the other one may be replaced."""
        self.output.parent.mkdir(parents=True, exist_ok=True)
        found = {_head(path) for path in self._paths()} - {None}
        if self.output.exists():
            found.add(_run_of(self.manifest))
        if found <= {self.run}:
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
        """Whether this very run has written its output already."""
        return self.output.exists() and _run_of(self.manifest) == self.run

    def done(self) -> set[int]:
        """Contexts that are answered."""
        return {place for path in self._paths() for place in _answers(path, self.run)}

    def __enter__(self) -> "Journal":
        fresh = _head(self.path) != self.run
        self._file = self.path.open("w" if fresh else "a", encoding="utf-8", newline="")
        if fresh:
            self._line({"run": self.run})
        elif not self.path.read_bytes().endswith(b"\n"):  # a torn line: begin a new one after it
            self._file.write("\n")
        return self

    def write(self, place: int, answers: Sequence[Passage]) -> None:
        """Remember the answers to a context; they are on disk when this returns."""
        told = [
            {"response": each.response, "author": each.author, "extra": dict(each.extra),
             "source": each.source_dialogue_id}
            for each in answers
        ]  # fmt: skip
        self._line({"place": place, "answers": told})

    def __exit__(self, *_) -> None:
        self._file.close()

    def finish(self, asked: Sequence[Passage], responder: Responder) -> int:
        """Write the answers under their name and take the journals away; gives how many."""
        found: dict[int, list[dict[str, Any]]] = {}
        for path in self._paths():
            for place, answers in _answers(path, self.run).items():
                found.setdefault(place, answers)
        if found or not self.output.exists():
            table = to_passages(_passages(asked, found))
            write_passages(table, self.output)
            told = {"run": self.run, "signature": responder.signature, "dialeval": __version__,
                    "contexts": len(asked), "answers": len(table),
                    "training": _training(responder)}  # fmt: skip
            with atomic_write(self.manifest) as file:
                json.dump(told, file, ensure_ascii=False, indent=2)
                file.write("\n")
        for path in self._paths():
            path.unlink()
        return json.loads(self.manifest.read_text("utf-8"))["answers"]

    def _paths(self) -> list[Path]:
        return sorted(self.output.parent.glob(f".{self.output.name}.*.journal"))

    def _line(self, record: dict[str, Any]) -> None:
        self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
        self._file.flush()


def _training(responder: Responder) -> Any:
    """How the generator behind answers was trained, so that its own judge is known as such."""
    return getattr(getattr(responder, "generator", None), "training", None)


def _passages(
    asked: Sequence[Passage], found: dict[int, list[dict[str, Any]]]
) -> Iterator[Passage]:
    for place, passage in enumerate(asked):
        for answer in sorted(found[place], key=lambda each: each["extra"].get(HYPOTHESIS, 0)):
            made = passage.with_response(answer["response"], answer["author"])
            yield replace(made, extra=answer["extra"], source_dialogue_id=answer["source"])


def _answers(path: Path, run: str) -> dict[int, list[dict[str, Any]]]:
    """Answers in a journal, by the place of their context."""
    records = list(_records(path))
    if not records or records[0].get("run") != run:
        return {}
    return {record["place"]: record["answers"] for record in records[1:]}


def _by_context(stream: Iterator[tuple[int, Passage]]) -> Iterator[tuple[int, list[Passage]]]:
    """All answers to a context together; responders give them one after the other."""
    at, waiting = None, []
    try:
        for place, passage in stream:
            if place != at and waiting:
                yield at, waiting
                waiting = []
            at = place
            waiting.append(passage)
    except BadInput:  # the responder gave up, but what it gave before is whole
        if waiting:
            yield at, waiting
        raise
    if waiting:
        yield at, waiting


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue  # torn by an interruption


def _head(path: Path) -> str | None:
    first = next(_records(path), {}) if path.is_file() else {}
    return first.get("run")


def _run_of(manifest: Path) -> str:
    try:
        return json.loads(manifest.read_text("utf-8"))["run"]
    except (OSError, ValueError, KeyError):
        return "unknown"


def _place(accelerator: Any) -> tuple[int, int]:
    if accelerator is None:
        return 0, 1
    return accelerator.process_index, accelerator.num_processes


def _wait(accelerator: Any) -> None:
    if accelerator is not None:
        accelerator.wait_for_everyone()
