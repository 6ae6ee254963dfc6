"""Tables of judgements: one row per answer, as JSON lines, CSV or TSV, also of crowd platforms."""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, Any

from dialeval.errors import BadInput
from dialeval.files import atomic_write

TASKS = ("real", "human", "better", "rating")
"""Real or not; which was written by a human; which is better; rating on scales."""
PAIR_TASKS = ("human", "better")
IDENTICAL = "identical replies"
_LONGEST_CELL = 1 << 26
"""Annotator, with a number, of the ties of replies with the same words, which nobody judges."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One answer of one annotator.

    Args:
        annotator, item (`str`):
            Who answered, and about which item.
        answer (`str` or `float`):
            `real` or `fake`; for a pair `win`, `lose` or `tie` of `system` over `opponent`; or a
            rating.
        task (`str`, *optional*):
            One of `TASKS`.
        scale (`str`, *optional*):
            Which scale a rating is on.
        system (`str`, *optional*):
            Who wrote the reply: `human`, `random` or a system; of a pair the one that wins.
        opponent (`str`, *optional*):
            Who wrote the other reply of a pair.
        truth (`str`, *optional*):
            The right answer, where there is one.
        test (`bool`, *optional*, defaults to `False`):
            Whether the item is a test question.
        seconds (`float`, *optional*):
            Time spent.
    """

    annotator: str
    item: str
    answer: str | float
    task: str = ""
    scale: str = ""
    system: str = ""
    opponent: str = ""
    truth: str = ""
    test: bool = False
    seconds: float | None = None

    @property
    def is_given(self) -> bool:
        """Whether somebody gave it, and it is no tie of replies with the same words."""
        return not self.annotator.startswith(IDENTICAL)

    @property
    def unit(self) -> tuple[str, str, str, str]:
        """What the answer is about: answers with the same unit can agree."""
        return self.item, self.system, self.opponent, self.scale


ALIASES = {
    "annotator": ("annotator", "annotatorid", "judge", "judgeid", "worker", "workerid", "rater",
                  "user", "trustedworkerid"),
    "item": ("item", "itemid", "inputitem", "instance", "instanceid", "id", "unitid"),
    "answer": ("answer", "answeranswer", "rating", "ratings", "label", "choice", "judgement",
               "judgment", "score"),
    "task": ("task", "inputtask"),
    "scale": ("scale", "dimension", "aspect"),
    "system": ("system", "systemid", "inputsystem", "model", "author"),
    "opponent": ("opponent", "inputopponent", "baseline"),
    "truth": ("truth", "inputtruth", "gold"),
    "test": ("test", "inputtest", "isgold"),
    "seconds": ("seconds", "worktimeinseconds", "time", "duration"),
}  # fmt: skip
"""Names of columns, in lower case and without punctuation, that crowd platforms use."""


def write_judgements(judgements: Iterable[Judgement], path: Path | str) -> Path:
    """Write judgements as `.jsonl`, `.csv` or `.tsv`, all or nothing; returns the path."""
    path = Path(path)
    names = [item.name for item in fields(Judgement)]
    with atomic_write(path) as file:
        if path.suffix.lower() == ".csv":
            writer = csv.DictWriter(file, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(asdict(row) for row in judgements)
        elif path.suffix.lower() == ".tsv":
            _write_tabbed(judgements, names, file, path)
        elif path.suffix.lower() in (".jsonl", ".json"):
            for row in judgements:
                file.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")
        else:
            hint = "Name a file that ends in .jsonl, .csv or .tsv."
            raise BadInput(f"unknown ending {path.suffix!r}.", path, hint=hint)
    return path


def _write_tabbed(
    judgements: Iterable[Judgement], names: Sequence[str], file: IO[str], path: Path
) -> None:
    """Rows with tabs between their cells and without quotes, as they are read."""
    options: dict[str, Any] = {"quoting": csv.QUOTE_NONE, "quotechar": None}
    writer = csv.DictWriter(file, names, delimiter="\t", lineterminator="\n", **options)
    writer.writeheader()
    for row in judgements:
        try:
            writer.writerow(asdict(row))
        except csv.Error:
            message = f"a text about the item {row.item!r:.60} has a tab or a line break."
            raise BadInput(message, path, hint="Name a file that ends in .jsonl or .csv.") from None


def read_judgements(
    path: Path | str, columns: Mapping[str, str] | None = None, scales: Sequence[str] = ()
) -> list[Judgement]:
    """Judgements of a file that [`write_judgements`] or a crowd platform wrote.

    Args:
        path (`Path` or `str`):
            A `.jsonl`, `.csv` or `.tsv` file, one answer per row, or one row with a column per
            scale.
        columns (`Mapping[str, str]`, *optional*):
            Names of columns by field, such as `{"annotator": "JudgeID"}`; usual names are known.
        scales (`Sequence[str]`, *optional*):
            Columns that hold the ratings on one scale each; without an answer column all columns
            of numbers by default.

    Returns:
        `list[Judgement]`: In the order of the file.

    Raises:
        BadInput: A column is missing, or a row cannot be read.
    """
    path = Path(path)
    rows = list(_records(path))
    if not rows:
        raise BadInput("there are no judgements here.", path, hint="Export them again.")
    known = _fields_of(path, list(rows[0][1]), columns or {}, bool(scales))
    wide = list(scales) or ([] if "answer" in known else _number_columns(rows, known))
    if "answer" not in known and not wide:
        names = ", ".join(rows[0][1])
        raise BadInput(
            f"expected a column of answers, found {names}.",
            path,
            hint="Name it: --column answer=NAME, or the scales: --scale NAME.",
        )
    judgements: list[Judgement] = []
    for line, row in rows:
        try:
            judgements += _of_row(row, known, wide)
        except (KeyError, ValueError, TypeError) as error:
            raise BadInput(f"expected a judgement, but {error}.", path, line) from None
    return judgements


def _of_row(
    row: Mapping[str, Any], known: Mapping[str, str], wide: Sequence[str]
) -> Iterator[Judgement]:
    values = {name: row.get(column) for name, column in known.items()}
    for name in ("annotator", "item"):
        if values.get(name) in (None, ""):
            raise ValueError(f"the {name} is empty")
    base: dict[str, Any] = {
        name: str(values.get(name) or "")
        for name in ("annotator", "item", "task", "scale", "system", "opponent", "truth")
    }
    base["test"] = str(values.get("test") or "").lower() in ("true", "1", "yes")
    seconds = values.get("seconds")
    base["seconds"] = None if seconds in (None, "") else float(str(seconds))
    if not wide:
        yield Judgement(**base, answer=_answer(values["answer"]))
    for name in wide:
        if row.get(name) not in (None, ""):
            yield Judgement(**{**base, "scale": name}, answer=_answer(row[name]))


def _answer(value: Any) -> str | float:
    if isinstance(value, bool) or value in (None, ""):
        raise ValueError(f"the answer is {value!r}")
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value).strip()
    if not math.isfinite(number):  # a mean with it would be no number either
        raise ValueError(f"the answer is {value!r}; leave out answers that are missing")
    return number


def _fields_of(
    path: Path, names: Sequence[str], given: Mapping[str, str], has_scales: bool
) -> dict[str, str]:
    """The column of each field."""
    plain = {_plain(name): name for name in reversed(names)}
    known = {
        field: next(plain[alias] for alias in aliases if alias in plain)
        for field, aliases in ALIASES.items()
        if any(alias in plain for alias in aliases)
    }
    for field, column in given.items():
        if field not in ALIASES or column not in names:
            choices = ", ".join(ALIASES) if field not in ALIASES else ", ".join(names)
            what = f"field {field!r}" if field not in ALIASES else f"column {column!r}"
            raise BadInput(f"unknown {what}.", path, hint=f"Choose one of {choices}.")
        known[field] = column
    missing = [field for field in ("annotator", "item") if field not in known]
    if missing:
        raise BadInput(
            f"expected columns of annotator and item, found {', '.join(names)}.",
            path,
            hint=f"Name it: --column {missing[0]}=NAME.",
        )
    if has_scales and "answer" not in given:
        known.pop("answer", None)
    return known


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _number_columns(
    rows: Sequence[tuple[int, Mapping[str, Any]]], known: Mapping[str, str]
) -> list[str]:
    """Columns other than the known ones that hold numbers only."""
    others = [name for name in rows[0][1] if name not in known.values()]
    return [name for name in others if all(_is_number(row.get(name)) for _, row in rows[:1000])]


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line numbers and rows of a table."""
    if not path.is_file():
        raise BadInput("no such file.", path, hint="Check the name.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"expected UTF-8, but {error}.", path) from None
    if path.suffix.lower() in (".jsonl", ".json"):
        yield from _json_records(path, text)
        return
    # The tab-separated files of this field do not quote: a quotation mark is text there.
    tabbed = path.suffix.lower() in (".tsv", ".txt")
    lines = io.StringIO(text, newline="")  # not splitlines: a text may have line separators
    reader = (
        csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        if tabbed
        else csv.DictReader(lines)
    )
    csv.field_size_limit(_LONGEST_CELL)
    try:
        for row in reader:
            yield reader.line_num, {str(name): value for name, value in row.items()}
    except csv.Error as error:
        raise BadInput(f"expected a table, but {error}.", path, reader.line_num + 1) from None


def _json_records(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise BadInput(f"expected JSON, but {error}.", path, number) from None
        if not isinstance(row, dict):
            raise BadInput(f"expected an object, found a {type(row).__name__}.", path, number)
        yield number, row
