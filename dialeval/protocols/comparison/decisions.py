"""The decisions of evaluators in finished runs, by context."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from dialeval.dialogues.sources import BadInput
from dialeval.metrics.evaluation_results import EvaluationResults, FormatLeak
from dialeval.metrics.results import REFERENCES, Result

HINT = "Give the --output-dir of a finished `dialeval evaluate`."
_COLUMNS = ["system", "evaluator", "id", "dialogue_id", "label", "predicted_human", "response"]


@dataclass(frozen=True, eq=False)
class Decisions:
    """The decisions of one evaluator about one system of one run, one entry per context.

    Args:
        run, system, evaluator (`str`):
            Names.
        label (`str`):
            The system's name, after the run's where several runs have a system of that name.
        ids, dialogues, texts (`np.ndarray`):
            Of the contexts, sorted by id; `texts` are the human responses.
        human, machine (`np.ndarray`):
            Share of the context's human and machine responses that are predicted to be human.
        one_sided (`int`):
            Contexts left out because only a human, or only the machine, answered.
        adversuc (`Result`, *optional*):
            AdverSuc as the run gives it, with its interval.
        leak (`FormatLeak`, *optional*):
            The clearest format leak of the system in this run.
        normalised (`Result`, *optional*):
            AdverSuc after the format of both sides was normalised.
    """

    run: str
    system: str
    evaluator: str
    label: str
    ids: np.ndarray
    dialogues: np.ndarray
    texts: np.ndarray
    human: np.ndarray
    machine: np.ndarray
    one_sided: int
    adversuc: Result | None = None
    leak: FormatLeak | None = None
    normalised: Result | None = None

    @property
    def signature(self) -> str:
        """Signature of AdverSuc in this run."""
        return "" if self.adversuc is None else self.adversuc.signature

    @cached_property
    def successes(self) -> np.ndarray:
        """AdverSuc of each context: the mean error on its human and its machine response."""
        return (1 - self.human + self.machine) / 2


def read_decisions(folders: Sequence[Path | str]) -> list[Decisions]:
    """Every system of some runs by every evaluator, sorted by label.

    Raises:
        BadInput: A folder holds no evaluation.
    """
    entries = [
        entry for run, folder in run_names(folders).items() for entry in _read_run(run, folder)
    ]
    runs = Counter(system for _, system in {(entry.run, entry.system) for entry in entries})
    labelled = (
        replace(entry, label=f"{entry.run}/{entry.system}") if runs[entry.system] > 1 else entry
        for entry in entries
    )
    return sorted(labelled, key=lambda entry: (entry.label, entry.run))


def run_names(folders: Sequence[Path | str]) -> dict[str, Path]:
    """Folders by their last name, or by as much of their path as makes the names unique.

    Examples:
        >>> list(run_names(["old/x", "new/x"]))
        ['old/x', 'new/x']
    """
    paths = [Path(folder).resolve() for folder in folders]
    twice = [str(path) for path, times in Counter(paths).items() if times > 1]
    if twice:
        raise BadInput("this run was given twice.", twice[0], hint="Give each run once.")
    for depth in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.parts[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            break
    return dict(zip(names, map(Path, folders), strict=True))


def signature_parts(text: str) -> dict[str, str]:
    r"""The parts of a signature by name; the inverse of `dialeval.metrics.results.signature`.

    Examples:
        >>> signature_parts("folds:5|data:a\\|b|paired")
        {'folds': '5', 'data': 'a|b', 'paired': 'yes'}
    """
    parts = re.findall(r"(?:\\.|[^|\\])+", text)
    split = (re.sub(r"\\(.)", r"\1", part).partition(":") for part in parts)
    return {key: value if colon else "yes" for key, colon, value in split}


def select_names(wanted: Sequence[str], available: Iterable[str], what: str) -> list[str]:
    """The wanted names, or all but the references.

    Args:
        wanted (`Sequence[str]`):
            Names to select; empty selects all but the references.
        available (`Iterable[str]`):
            Names that exist.
        what (`str`):
            What they name, for the error message.

    Returns:
        `list[str]`: Without duplicates.

    Raises:
        BadInput: A wanted name does not exist.
    """
    names = sorted(set(available))
    for name in wanted:
        if name not in names:
            choices = ", ".join(names) or "none: nothing was evaluated"
            raise BadInput(f"Unknown {what} {name!r}.", hint=f"Choose one of {choices}.")
    return list(dict.fromkeys(wanted)) or [name for name in names if name not in REFERENCES]


def _read_run(run: str, folder: Path) -> Iterator[Decisions]:
    """Every system of a run by every evaluator."""
    results = EvaluationResults.load(folder)
    leaks = {leak.system: leak for leak in sorted(results.leaks, key=lambda leak: leak.accuracy)}
    table = _read_scores(folder)
    keys = set(zip(*(table[name].to_pylist() for name in ("system", "evaluator")), strict=True))
    for system, evaluator in sorted(keys):
        mask = pc.and_(pc.equal(table["system"], system), pc.equal(table["evaluator"], evaluator))
        yield replace(
            _by_context(table.filter(mask), run, system, evaluator),
            adversuc=results.get("adversuc", system, evaluator), leak=leaks.get(system),
            normalised=results.get("adversuc_normalised", system, evaluator),
        )  # fmt: skip


def _read_scores(folder: Path) -> pa.Table:
    """The decisions of the scenario human_machine, averaged where a context has several."""
    path = folder / "scores.parquet"
    try:
        table = parquet.read_table(path)
    except FileNotFoundError:
        raise BadInput("no scores.parquet here.", folder, hint=HINT) from None
    except pa.ArrowInvalid as error:
        raise BadInput(f"expected a Parquet file, but {error}.", path, hint=HINT) from None
    missing = [name for name in (*_COLUMNS, "scenario") if name not in table.column_names]
    if missing:
        raise BadInput(f"the columns {', '.join(missing)} are missing.", path, hint=HINT)
    table = table.filter(pc.equal(table["scenario"], "human_machine")).select(_COLUMNS).drop_null()
    types = dict.fromkeys(_COLUMNS, pa.string())
    types |= {"label": pa.int64(), "predicted_human": pa.float64()}
    table = pa.table({name: pc.cast(table[name], kind) for name, kind in types.items()})
    keys = ["system", "evaluator", "id", "label"]
    return table.group_by(keys).aggregate(
        [("predicted_human", "mean"), ("dialogue_id", "min"), ("response", "min")]
    )


def _by_context(table: pa.Table, run: str, system: str, evaluator: str) -> Decisions:
    """The contexts that have both sides, from one system's rows of one evaluator."""
    sides = [table.filter(pc.equal(table["label"], label)) for label in (1, 0)]
    ids = [side["id"].to_numpy().astype(object) for side in sides]
    common, human, machine = np.intersect1d(ids[0], ids[1], assume_unique=True, return_indices=True)
    return Decisions(
        run=run,
        system=system,
        evaluator=evaluator,
        label=system,
        ids=common,
        dialogues=sides[0]["dialogue_id_min"].to_numpy()[human],
        texts=sides[0]["response_min"].to_numpy()[human],
        human=sides[0]["predicted_human_mean"].to_numpy()[human],
        machine=sides[1]["predicted_human_mean"].to_numpy()[machine],
        one_sided=len(ids[0]) + len(ids[1]) - 2 * len(common),
    )
