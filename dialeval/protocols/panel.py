"""Several judges on the same systems, and whether they agree on the order.

Any one discriminator has its weaknesses, so each system meets a variety of them (Kannan and
Vinyals, 2016, sec. 4).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
from scipy.stats import kendalltau

from dialeval._version import __version__
from dialeval.dialogues import BadInput, Passage, Passages, iterate
from dialeval.metrics.intervals import mean_of_ratios, percentiles, resampled_sums
from dialeval.metrics.results import REFERENCES, SECOND_HUMAN, plain, signature, versions
from dialeval.protocols.comparison import read_results
from dialeval.protocols.llm_judge import Contest, Judged

FEWEST = 3
"""Systems below which there is no ranking to agree on."""
_ROUNDED = 12  # digits: beyond them two equal AdverSucs differ by rounding
_ROWS = ("evaluator", "system", "dialogue_id", "label", "taken")


@dataclass(frozen=True)
class Agreement:
    """Kendall's tau between the rankings of two evaluators, with an interval over dialogues.

    Args:
        tau (`float`, *optional*):
            Tau-b; `None` where an evaluator finds all systems equal.
        reference (`bool`):
            Whether one of them is a coin or knows lengths alone, and so is not of the panel.
    """

    first: str
    second: str
    tau: float | None
    low: float | None
    high: float | None
    reference: bool


@dataclass(frozen=True)
class Order:
    """Two systems that every evaluator of the panel puts in the same order.

    Args:
        above (`str`):
            The one with the higher AdverSuc: harder to tell from humans.
        support (`float`, *optional*):
            Share of resamples in which all still agree.
    """

    above: str
    below: str
    support: float | None


@dataclass(frozen=True)
class Panel:
    """What a panel of evaluators says about systems.

    Args:
        evaluators (`list[str]`):
            Of the panel; `references` stand beside it.
        ranking (`list[str]`):
            Those of the panel that do not find all systems equal; mean and orders are theirs.
        table (`dict`):
            By evaluator and system: AdverSuc as `value`, with `low`, `high`, `n` and `metric`. An
            LLM's is one minus its pairwise accuracy, so that only the order is comparable.
        results (`list[dict]`):
            The LLM judges' own numbers.
        mean (`Agreement`, *optional*):
            The mean tau over all pairs of the panel.
        disputed (`list[tuple[str, str]]`):
            Systems on whose order the panel does not agree.
    """

    systems: list[str]
    evaluators: list[str]
    references: list[str]
    table: dict[str, dict[str, dict[str, Any]]]
    warnings: list[str]
    results: list[dict[str, Any]]
    settings: dict[str, Any]
    agreements: list[Agreement] = field(default_factory=list)
    ranking: list[str] = field(default_factory=list)
    mean: Agreement | None = None
    orders: list[Order] = field(default_factory=list)
    disputed: list[tuple[str, str]] = field(default_factory=list)

    @property
    def values(self) -> np.ndarray:
        """AdverSuc of the systems, the panel's rows first, `(evaluators, systems)`."""
        return np.array(
            [[row[system]["value"] for system in self.systems] for row in self.table.values()]
        )

    def to_dict(self) -> dict[str, Any]:
        """The panel as JSON knows it."""
        how = signature(metric="kendall_tau", **self.settings, v=__version__)
        return plain(asdict(self)) | {"versions": versions(), "signature": how}


def panel(
    folder: Path | str,
    judged: Sequence[Judged] = (),
    evaluators: Sequence[str] = (),
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> Panel:
    """Whether the evaluators of a run of `dialeval evaluate` rank its systems alike.

    An interval draws dialogues with replacement and lets all evaluators see the same draw. It is
    conditional on the trained judges.

    Args:
        judged (`Sequence[Judged]`, *optional*):
            What LLM judges said about the run's systems.
        evaluators (`Sequence[str]`, *optional*):
            Those of the run that sit on the panel; all by default.
    """
    folder = Path(folder)
    found = _opened(_table(folder, judged, evaluators), judged)
    found.settings.update(resamples=resamples, seed=seed)
    few = _too_few(found)
    if few:
        found.warnings.append(few)
        return found
    found = replace(found, ranking=_ranking(found))
    drawn = _drawn(folder, judged, found, resamples, seed)
    agreements, mean = list(_agreements(found, drawn)), _mean_agreement(found, drawn)
    orders, disputed = _orders(found, drawn)
    return replace(found, agreements=agreements, mean=mean, orders=orders, disputed=disputed)


def taus(values: np.ndarray) -> np.ndarray:
    """Kendall's tau-b of every two rows, `(..., evaluators, systems)` to `(..., e, e)`.

    Example:
        >>> taus(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])).round(3).tolist()
        [[1.0, 0.333], [0.333, 1.0]]
    """
    first, second = np.triu_indices(values.shape[-1], 1)
    signs = _signs(values[..., first] - values[..., second])
    agree = signs @ signs.swapaxes(-1, -2)  # (..., evaluators, evaluators)
    untied = np.diagonal(agree, axis1=-2, axis2=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return agree / np.sqrt(untied[..., :, None] * untied[..., None, :])


def run_contests(
    folder: Path | str, human: Passages, limit: int | None = None, seed: int = 0
) -> tuple[dict[str, list[Contest]], list[str]]:
    """What an LLM judge is to be asked about each system of a run, and warnings.

    A run keeps the responses but not the contexts, which come from the human file.

    Args:
        limit (`int`, *optional*):
            Contexts at most, drawn with the seed, the same for every system.

    Raises:
        BadInput: Where the human file has none of the run's passages.
    """
    by_id: dict[str, list[Passage]] = {}
    for passage in iterate(human):
        by_id.setdefault(passage.id, []).append(passage)
    rows = {
        system: {key: each for key, each in said.items() if _of(by_id, key)}
        for system, said in _responses(_scores(Path(folder))).items()
    }
    common = sorted(set.intersection(*map(set, rows.values()))) if rows else []
    if not common:
        raise BadInput(
            "the human file holds none of the contexts that this run's systems answer.",
            folder,
            hint="Give the --human file of the run, read with the same options.",
        )
    warnings = []
    if limit is not None and limit < len(common):
        warnings.append(f"The LLM was asked about {limit:,} of {len(common):,} contexts.")
        chosen = np.random.default_rng(seed).choice(len(common), limit, replace=False)
        common = [common[place] for place in np.sort(chosen)]
    found = {
        system: [_contest(_of(by_id, key), key, *said[key]) for key in common]
        for system, said in rows.items()
    }
    return found, warnings


# The run.


def _scores(folder: Path, columns: Sequence[str] = ()) -> pa.Table | None:
    """The decisions about humans and machines; `None` where the run has kept none."""
    path = folder / "scores.parquet"
    if not path.is_file():
        return None
    try:
        table = parquet.read_table(
            path, filters=[("scenario", "=", "human_machine"), ("system", "!=", SECOND_HUMAN)]
        )
        return table.select(list(columns)) if columns else table
    except (pa.ArrowInvalid, KeyError) as error:
        hint = "Give the --output-dir of a finished `dialeval evaluate`."
        raise BadInput(f"these scores cannot be read: {error}.", path, hint=hint) from None


Key = tuple[str, str]  # the passage's id, and the human response


def _responses(table: pa.Table | None) -> dict[str, dict[Key, tuple[str, str]]]:
    """For each system its response to each passage, and the passage's dialogue."""
    if table is None:
        return {}
    names = ("system", "evaluator", "pair", "label", "id", "dialogue_id", "response")
    first: dict[str, str] = {}
    pairs: dict[tuple[str, int], dict[int, tuple[str, str, str]]] = {}
    for system, judge, pair, label, *said in zip(
        *(table[name].to_pylist() for name in names), strict=True
    ):
        if first.setdefault(system, judge) == judge:
            pairs.setdefault((system, pair), {})[label] = tuple(said)
    found: dict[str, dict[Key, tuple[str, str]]] = {}
    for (system, _), sides in pairs.items():
        if sides.keys() == {0, 1}:
            (name, dialogue, human), machine = sides[1], sides[0][2]
            found.setdefault(system, {})[name, human] = (machine, dialogue)
    return found


def _of(by_id: Mapping[str, list[Passage]], key: Key) -> Passage | None:
    """The human passage with this id and this response."""
    return next((each for each in by_id.get(key[0], ()) if each.response == key[1]), None)


def _contest(passage: Passage, key: Key, machine: str, dialogue: str) -> Contest:
    return Contest(passage.context, key[1], machine, key[0], dialogue)


def _opened(table: dict[str, dict[str, dict[str, Any]]], judged: Sequence[Judged]) -> Panel:
    """A panel that knows who sits on it and about whom, and has not agreed on anything yet."""
    systems, warnings = _common(table)
    names = sorted(table, key=lambda name: name in REFERENCES)
    size = sum(name not in REFERENCES for name in names)
    return Panel(
        systems=systems,
        evaluators=names[:size],
        references=names[size:],
        table={name: table[name] for name in names},
        warnings=warnings,
        results=[each.to_dict() for one in judged for each in one.results],
        settings={"n_systems": len(systems)},
    )


def _table(
    folder: Path, judged: Sequence[Judged], wanted: Sequence[str]
) -> dict[str, dict[str, dict[str, Any]]]:
    """AdverSuc by evaluator and system."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in read_results(folder)["results"]:
        if row["system"] in ("", SECOND_HUMAN):  # a reference, and not to be ranked
            continue
        if row["metric"] == "adversuc" and row["value"] is not None:
            kept = {name: row.get(name) for name in ("value", "low", "high", "n")}
            cell = {**kept, "metric": "adversuc"}
            found.setdefault(row["evaluator"], {})[row["system"]] = cell
    unknown = [name for name in wanted if name not in found]
    if unknown or not found:
        told = f"the run has no evaluator {unknown[0]!r}." if unknown else "it has no AdverSuc."
        choices = ", ".join(found) or "another run"
        raise BadInput(told, folder, hint=f"Choose from {choices}.")
    found = {name: found[name] for name in wanted or found}
    for one in judged:
        found[one.name] = {
            each.system: {"value": 1 - each.value, "low": 1 - each.high, "high": 1 - each.low,
                          "n": each.n, "metric": "1 - pairwise_accuracy"}
            for each in one.results
        }  # fmt: skip
    return found


def _common(table: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Systems that every evaluator has judged, in their order, and a remark on the others."""
    everyone = list(dict.fromkeys(system for row in table.values() for system in row))
    systems = [system for system in everyone if all(system in row for row in table.values())]
    others = [system for system in everyone if system not in systems]
    told = f"Not every evaluator has judged {', '.join(others)}: left out of the ranking."
    return systems, [told] if others else []


# Agreement.


def _too_few(found: Panel) -> str:
    """Why there is no ranking to agree on; empty if there is."""
    if len(found.systems) < FEWEST:
        return f"A ranking needs {FEWEST} systems, and {len(found.systems)} are judged by all."
    if len(found.table) < 2:
        return "Agreement needs two evaluators, and there is one."
    return ""


def _drawn(
    folder: Path, judged: Sequence[Judged], found: Panel, resamples: int, seed: int
) -> np.ndarray:
    """AdverSuc in resamples of the dialogues, `(resamples, evaluators, systems)`."""
    shape, table = found.values.shape, _scores(folder, _ROWS)
    if table is None:
        found.warnings.append("The run has no scores.parquet, so that there are no intervals.")
        return np.zeros((0, *shape))
    sums = unit_sums(table, judged, list(found.table), found.systems)
    if not np.allclose(mean_of_ratios(sums.sum(0)), found.values, atol=1e-6):
        found.warnings.append("scores.parquet and results.json do not say the same: run it anew.")
    drawn = resampled_sums(sums.reshape(len(sums), -1), resamples, seed)
    return mean_of_ratios(drawn.reshape(resamples, *shape, 4))


def unit_sums(
    table: pa.Table, judged: Sequence[Judged], evaluators: Sequence[str], systems: Sequence[str]
) -> np.ndarray:
    """For each dialogue, evaluator and system: wrong and all, of humans and then of machines.

    A verdict of an LLM is about both replies at once, and stands for both.
    """
    table = table.drop_null()
    names = [table[name].to_numpy() for name in ("evaluator", "system", "dialogue_id")]
    label = table["label"].to_numpy() == 1
    wrong = (pc.cast(table["taken"], pa.bool_()).to_numpy() != label).astype(float)
    more = [
        (one.name, system, each.contest.dialogue_id, 1 - each.credit)
        for one in judged
        for system, verdicts in one.verdicts.items()
        for each in verdicts
    ]
    for side in (True, False) if more else ():
        *added, missed = (np.array(column) for column in zip(*more, strict=True))
        names = [np.concatenate([ours, theirs]) for ours, theirs in zip(names, added, strict=True)]
        label = np.concatenate([label, np.full(len(more), side)])
        wrong = np.concatenate([wrong, missed])
    dialogue = np.unique(names[2].astype(str), return_inverse=True)[1]
    judge, system = (_places(*each) for each in ((names[0], evaluators), (names[1], systems)))
    known = (judge >= 0) & (system >= 0)
    place = (dialogue * len(evaluators) + judge) * len(systems) + system
    place = 4 * place + np.where(label, 0, 2)
    size = 4 * (dialogue.max(initial=-1) + 1) * len(evaluators) * len(systems)
    missed = np.bincount(place[known], wrong[known], size)
    counts = np.bincount(place[known] + 1, minlength=size)
    return (missed + counts).reshape(-1, len(evaluators), len(systems), 4)


def _places(values: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """The place of each value among the names, -1 for others."""
    found, codes = np.unique(values.astype(str), return_inverse=True)
    places = {name: place for place, name in enumerate(names)}
    return np.array([places.get(each, -1) for each in found.tolist()], dtype=int)[codes]


def _agreements(found: Panel, drawn: np.ndarray) -> Iterator[Agreement]:
    resampled, values = taus(drawn), np.round(found.values, _ROUNDED)
    for (one, first), (two, second) in combinations(enumerate(found.table), 2):
        tau = kendalltau(values[one], values[two]).statistic
        ends = percentiles(resampled[:, one, two])
        reference = first in found.references or second in found.references
        yield Agreement(first, second, *map(_finite, (tau, *ends)), reference)


def _mean_agreement(found: Panel, drawn: np.ndarray) -> Agreement | None:
    """The mean tau over the pairs of the panel that have one, without its references."""
    size = len(found.ranking)
    if size < 2:
        return None
    first, second = np.triu_indices(size, 1)
    rows = [found.evaluators.index(name) for name in found.ranking]
    tau = taus(found.values[rows])[first, second].mean()
    resampled = taus(drawn[:, rows])[:, first, second]  # (resamples, pairs)
    known = np.isfinite(resampled)
    with np.errstate(invalid="ignore"):
        means = np.where(known, resampled, 0).sum(1) / known.sum(1)
    return Agreement("panel", "panel", *map(_finite, (tau, *percentiles(means))), False)


def _orders(found: Panel, drawn: np.ndarray) -> tuple[list[Order], list[tuple[str, str]]]:
    """Pairs of systems that all evaluators that rank put in one order, and the others."""
    orders, disputed = [], []
    rows = [found.evaluators.index(name) for name in found.ranking]
    for (one, first), (two, second) in combinations(enumerate(found.systems), 2):
        signs = _signs(found.values[rows, one] - found.values[rows, two])
        if not rows or abs(signs.sum()) < len(rows):
            disputed.append((first, second))
            continue
        again = _signs(drawn[:, rows, one] - drawn[:, rows, two])
        support = float((again == signs[0]).all(1).mean()) if len(drawn) else None
        above, below = (first, second) if signs[0] > 0 else (second, first)
        orders.append(Order(above, below, support))
    return orders, disputed


def _ranking(found: Panel) -> list[str]:
    """Evaluators of the panel that find some systems unequal; a remark on the others."""
    spread = np.ptp(np.round(found.values[: len(found.evaluators)], _ROUNDED), axis=1)
    equal = [name for name, each in zip(found.evaluators, spread, strict=True) if not each]
    if equal:
        told = f"{', '.join(equal)}: all systems equal, so no ranking to compare."
        found.warnings.append(told)
    return [name for name in found.evaluators if name not in equal]


def _signs(gaps: np.ndarray) -> np.ndarray:
    return np.sign(np.round(gaps, _ROUNDED))


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
