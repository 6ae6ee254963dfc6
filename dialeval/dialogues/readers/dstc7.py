"""DSTC7 task 2 (Galley et al., 2019): Reddit contexts answered by ten systems, with ratings."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.records import cells_of
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, Reply, Turn

_CONTEXTS = "dstc7-task2-context.tsv"
_RESPONSES = "dstc7-task2-system_responses.tsv"
_RATINGS = "dstc7-task2-human_evaluation.tsv"
_AUTHORS = {"Human": "human", "Random": "random"}

Answers = dict[str, dict[str, str]]  # instance -> system -> response
Ratings = dict[str, dict[str, float]]  # instance -> system -> mean rating


def _recognise(head: Head) -> bool:
    return {_CONTEXTS, _RESPONSES} <= head.names or head.path.name in (_CONTEXTS, _RESPONSES)


@reader(
    "dstc7",
    example=f"(a folder with {_CONTEXTS} and {_RESPONSES})",
    recognise=_recognise,
    whole=False,
)
def read_dstc7(source: Source) -> Iterator[Dialogue]:
    """DSTC7 task 2: a folder with the contexts, the systems' responses and perhaps the ratings."""
    folder = source.path if source.path.is_dir() else source.path.parent
    contexts, responses = (_member(source, folder, name) for name in (_CONTEXTS, _RESPONSES))
    instances = {row["InstanceID"]: (line, row) for line, row in _rows(contexts)}
    answers = _answers(responses, instances.keys())
    systems = list(dict.fromkeys(system for by_system in answers.values() for system in by_system))
    ratings = _ratings(source.inside(folder / _RATINGS), instances.keys())
    for instance, (line, row) in instances.items():
        with contexts.record(line):
            replies = _replies(instance, answers.get(instance, {}), systems, ratings)
            yield Dialogue((Turn("A", _context(row)),), instance, "dstc7", "en", tuple(replies))


def _member(source: Source, folder: Path, name: str) -> Source:
    if not (folder / name).is_file():
        raise BadInput(f"expected {name} in the folder, found none.", folder)
    return source.inside(folder / name)


def _rows(source: Source) -> Iterator[tuple[int, dict[str, str]]]:
    lines = source.filled_lines()
    names = next(lines, (1, ""))[1].split("\t")
    if "InstanceID" not in names:
        raise BadInput(f"expected a header with InstanceID, found {names!r:.60}.", source.path, 1)
    for number, line in lines:
        with source.record(number):
            yield number, dict(zip(names, cells_of(line, len(names)), strict=True))


def _context(row: Mapping[str, str]) -> str:
    text = row.get("Context", "").strip()
    if not text:
        raise BadInput(f"expected a text as Context, found {row.get('Context')!r}.")
    return text


def _answers(source: Source, instances: Collection[str]) -> Answers:
    answers: Answers = {}
    for number, row in _rows(source):
        with source.record(number):
            instance, system = row["InstanceID"], row.get("SystemID", "")
            if not system or "Response" not in row:
                raise BadInput(f"expected SystemID, InstanceID and Response, found {row!r:.60}.")
            if instance not in instances:
                raise BadInput(f"a response to the unknown instance {instance}.")
            if system in answers.setdefault(instance, {}):
                raise BadInput(f"a second response of {system} to the instance {instance}.")
            answers[instance][system] = row["Response"].strip()
    return answers


def _ratings(source: Source, instances: Collection[str]) -> Ratings:
    if not source.path.is_file():
        return {}
    ratings: Ratings = {}
    for number, row in _rows(source):
        with source.record(number):
            instance = row.pop("InstanceID")
            if instance in instances:  # the last row is the average over all
                ratings[instance] = {system: _number(cell) for system, cell in row.items()}
    return ratings


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise BadInput(f"expected a number as rating, found {cell!r:.60}.") from None


def _replies(
    instance: str, given: Mapping[str, str], systems: list[str], ratings: Ratings
) -> Iterator[Reply]:
    missing = [system for system in systems if system not in given]
    if missing:
        raise BadInput(f"the instance {instance} lacks a response of {', '.join(missing)}.")
    rated = ratings.get(instance, {})
    for system in systems:
        extra = {"rating": rated[system]} if system in rated else {}
        yield Reply(_AUTHORS.get(system, system), given[system], instance, extra=extra)
