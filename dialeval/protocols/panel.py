"""Several evaluators on the same systems, and whether they agree on the order.

Any single discriminator has its weaknesses, so each system meets several of them (Kannan and
Vinyals, 2016, sec. 4).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
from scipy.stats import kendalltau

from dialeval.dialogues import BadInput, Passage, Passages, iterate
from dialeval.metrics.evaluation_results import EvaluationResults
from dialeval.metrics.intervals import mean_of_ratios, percentiles
from dialeval.metrics.panel_results import Agreement, Order, Panel, PanelCell
from dialeval.metrics.resampling import resampled_sums
from dialeval.metrics.results import REFERENCES, SECOND_HUMAN
from dialeval.protocols.llm_judge import Contest, LlmJudgements

MIN_SYSTEMS = 3
"""Systems below which there is no ranking to agree on."""
_ROUNDED = 12  # digits: beyond them two equal values of AdverSuc differ by rounding
_COLUMNS = ("evaluator", "system", "dialogue_id", "label", "predicted_human")

Table = dict[str, dict[str, PanelCell]]
"""AdverSuc by evaluator and system."""


def panel(
    folder: Path | str,
    judgements: Sequence[LlmJudgements] = (),
    evaluators: Sequence[str] = (),
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> Panel:
    """Whether the evaluators of a run of `dialeval evaluate` rank its systems alike.

    An interval draws dialogues with replacement, the same ones for all evaluators. It is
    conditional on the trained evaluators.

    Args:
        folder (`Path` or `str`):
            Output folder of the run.
        judgements (`Sequence[LlmJudgements]`, *optional*):
            Verdicts of LLM judges on the run's systems.
        evaluators (`Sequence[str]`, *optional*):
            Evaluators of the run that are on the panel; all by default.
        resamples (`int`, *optional*, defaults to 10000):
            Bootstrap draws.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `Panel`: Rankings and agreement.
    """
    folder = Path(folder)
    result = _without_agreement(_table(folder, judgements, evaluators), judgements)
    result.settings.update(resamples=resamples, seed=seed)
    few = _too_few(result)
    if few:
        result.warnings.append(few)
        return result
    result = replace(result, ranking=_ranking(result))
    drawn = _resampled_values(folder, judgements, result, resamples, seed)
    agreements, mean = list(_agreements(result, drawn)), _mean_agreement(result, drawn)
    orders, disputed = _orders(result, drawn)
    return replace(result, agreements=agreements, mean=mean, orders=orders, disputed=disputed)


def taus(values: np.ndarray) -> np.ndarray:
    """Kendall's tau-b of every two rows, `(..., evaluators, systems)` to `(..., e, e)`.

    Examples:
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
    """The pairs of replies of each system of a run, for an LLM judge, and warnings.

    A run keeps the responses but not the contexts, which come from the human file.

    Args:
        folder (`Path` or `str`):
            Output folder of the run.
        human (`Passages`):
            The human passages of the run.
        limit (`int`, *optional*):
            Contexts at most, drawn with the seed, the same for every system.
        seed (`int`, *optional*, defaults to 0):
            Seed of the draw.

    Returns:
        `tuple[dict[str, list[Contest]], list[str]]`: Pairs by system, and warnings.

    Raises:
        BadInput: The human file has none of the run's passages.
    """
    by_id: dict[str, list[Passage]] = {}
    for passage in iterate(human):
        by_id.setdefault(passage.id, []).append(passage)
    replies = {
        system: {key: pair for key, pair in rows.items() if _human_passage(by_id, key)}
        for system, rows in _responses(_read_scores(Path(folder))).items()
    }
    common = sorted(set.intersection(*map(set, replies.values()))) if replies else []
    if not common:
        raise BadInput(
            "the human file has none of the contexts that this run's systems answer.",
            folder,
            hint="Give the --human file of the run, read with the same options.",
        )
    warnings = []
    if limit is not None and limit < len(common):
        warnings.append(f"The LLM judged {limit:,} of {len(common):,} contexts.")
        selected = np.random.default_rng(seed).choice(len(common), limit, replace=False)
        common = [common[index] for index in np.sort(selected)]
    contests = {
        system: [_contest(by_id, key, *rows[key]) for key in common]
        for system, rows in replies.items()
    }
    return contests, warnings


# The run.


def _read_scores(folder: Path, columns: Sequence[str] = ()) -> pa.Table | None:
    """The decisions about humans and machines; `None` where the run has no scores."""
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
        raise BadInput(f"could not read the scores: {error}.", path, hint=hint) from None


Key = tuple[str, str]  # the passage's id, and the human response
Reply = tuple[str, str]  # the machine response, and the dialogue


def _responses(table: pa.Table | None) -> dict[str, dict[Key, Reply]]:
    """For each system its response to each passage, and the passage's dialogue."""
    if table is None:
        return {}
    names = ("system", "evaluator", "pair", "label", "id", "dialogue_id", "response")
    first: dict[str, str] = {}
    pairs: dict[tuple[str, int], dict[int, tuple[str, str, str]]] = {}
    for system, evaluator, pair, label, *row in zip(
        *(table[name].to_pylist() for name in names), strict=True
    ):
        if first.setdefault(system, evaluator) == evaluator:
            pairs.setdefault((system, pair), {})[label] = (row[0], row[1], row[2])
    responses: dict[str, dict[Key, Reply]] = {}
    for (system, _), sides in pairs.items():
        if sides.keys() == {0, 1}:
            (name, dialogue, human), machine = sides[1], sides[0][2]
            responses.setdefault(system, {})[name, human] = (machine, dialogue)
    return responses


def _human_passage(by_id: Mapping[str, list[Passage]], key: Key) -> Passage | None:
    """The human passage with this id and this response."""
    return next((row for row in by_id.get(key[0], ()) if row.response == key[1]), None)


def _contest(by_id: Mapping[str, list[Passage]], key: Key, machine: str, dialogue: str) -> Contest:
    passage = _human_passage(by_id, key)
    assert passage is not None  # keys without a passage were left out
    return Contest(passage.context, key[1], machine, key[0], dialogue)


def _without_agreement(table: Table, judgements: Sequence[LlmJudgements]) -> Panel:
    """A panel with its evaluators, systems and values only."""
    systems, warnings = _common_systems(table)
    names = sorted(table, key=lambda name: name in REFERENCES)
    size = sum(name not in REFERENCES for name in names)
    return Panel(
        systems=systems,
        evaluators=names[:size],
        references=names[size:],
        table={name: table[name] for name in names},
        warnings=warnings,
        results=[result for judgement in judgements for result in judgement.results],
        settings={"n_systems": len(systems)},
    )


def _table(folder: Path, judgements: Sequence[LlmJudgements], wanted: Sequence[str]) -> Table:
    """AdverSuc by evaluator and system."""
    table: Table = {}
    for row in EvaluationResults.load(folder).select("adversuc"):
        if row.system not in ("", SECOND_HUMAN) and np.isfinite(row.value):
            cell = PanelCell(row.value, row.low, row.high, row.n)
            table.setdefault(row.evaluator, {})[row.system] = cell
    unknown = [name for name in wanted if name not in table]
    if unknown or not table:
        message = f"the run has no evaluator {unknown[0]!r}." if unknown else "it has no AdverSuc."
        raise BadInput(message, folder, hint=f"Choose from {', '.join(table) or 'another run'}.")
    table = {name: table[name] for name in wanted or table}
    for judgement in judgements:
        table[judgement.name] = {
            row.system: PanelCell(
                1 - row.value, 1 - row.high, 1 - row.low, row.n, "1 - pairwise_accuracy"
            )
            for row in judgement.results
        }
    return table


def _common_systems(table: Table) -> tuple[list[str], list[str]]:
    """Systems that every evaluator has evaluated, in their order, and a warning of the others."""
    names = list(dict.fromkeys(system for row in table.values() for system in row))
    systems = [system for system in names if all(system in row for row in table.values())]
    others = [system for system in names if system not in systems]
    warning = f"Not every evaluator has evaluated {', '.join(others)}: left out of the ranking."
    return systems, [warning] if others else []


# Agreement.


def _too_few(panel: Panel) -> str:
    """Why there is no ranking to agree on; empty if there is."""
    if len(panel.systems) < MIN_SYSTEMS:
        return (
            f"A ranking needs {MIN_SYSTEMS} systems, but all evaluators share {len(panel.systems)}."
        )
    if len(panel.table) < 2:
        return "Agreement needs two evaluators, but there is one."
    return ""


def _resampled_values(
    folder: Path, judgements: Sequence[LlmJudgements], panel: Panel, resamples: int, seed: int
) -> np.ndarray:
    """AdverSuc in resamples of the dialogues, `(resamples, evaluators, systems)`."""
    shape, table = panel.values.shape, _read_scores(folder, _COLUMNS)
    if table is None:
        panel.warnings.append("The run has no scores.parquet, so there are no intervals.")
        return np.zeros((0, *shape))
    sums = unit_sums(table, judgements, list(panel.table), panel.systems)
    if not np.allclose(mean_of_ratios(sums.sum(0)), panel.values, atol=1e-6):
        panel.warnings.append("scores.parquet and results.json differ: run the evaluation again.")
    drawn = resampled_sums(sums.reshape(len(sums), -1), resamples, seed)
    return mean_of_ratios(drawn.reshape(resamples, *shape, 4))


def unit_sums(
    table: pa.Table,
    judgements: Sequence[LlmJudgements],
    evaluators: Sequence[str],
    systems: Sequence[str],
) -> np.ndarray:
    """Wrong decisions and all decisions by dialogue, evaluator and system.

    A verdict of an LLM judge is about both replies at once, and counts for both.

    Args:
        table (`pa.Table`):
            Decisions of the run's evaluators.
        judgements (`Sequence[LlmJudgements]`):
            Verdicts of LLM judges.
        evaluators, systems (`Sequence[str]`):
            Names, in the order of the result.

    Returns:
        `np.ndarray`: Shape `(dialogues, evaluators, systems, 4)`: wrong and all decisions about
        humans, then about machines.
    """
    table = table.drop_null()
    names = [table[name].to_numpy() for name in ("evaluator", "system", "dialogue_id")]
    label = table["label"].to_numpy() == 1
    wrong = (pc.cast(table["predicted_human"], pa.bool_()).to_numpy() != label).astype(float)
    verdicts = [
        (judgement.name, system, row.contest.dialogue_id, 1 - row.credit)
        for judgement in judgements
        for system, rows in judgement.verdicts.items()
        for row in rows
    ]
    for side in (True, False) if verdicts else ():
        *added, missed = (np.array(column) for column in zip(*verdicts, strict=True))
        names = [np.concatenate(columns) for columns in zip(names, added, strict=True)]
        label = np.concatenate([label, np.full(len(verdicts), side)])
        wrong = np.concatenate([wrong, missed])
    dialogue = np.unique(names[2].astype(str), return_inverse=True)[1]
    evaluator, system = _indices(names[0], evaluators), _indices(names[1], systems)
    valid = (evaluator >= 0) & (system >= 0)
    cell = (dialogue * len(evaluators) + evaluator) * len(systems) + system
    cell = 4 * cell + np.where(label, 0, 2)
    size = 4 * (dialogue.max(initial=-1) + 1) * len(evaluators) * len(systems)
    errors = np.bincount(cell[valid], wrong[valid], size)
    counts = np.bincount(cell[valid] + 1, minlength=size)
    return (errors + counts).reshape(-1, len(evaluators), len(systems), 4)


def _indices(values: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """The index of each value among the names, -1 for others."""
    unique, codes = np.unique(values.astype(str), return_inverse=True)
    index = {name: number for number, name in enumerate(names)}
    return np.array([index.get(value, -1) for value in unique.tolist()], dtype=int)[codes]


def _agreements(panel: Panel, drawn: np.ndarray) -> Iterator[Agreement]:
    resampled, values = taus(drawn), np.round(panel.values, _ROUNDED)
    for (one, first), (two, second) in combinations(enumerate(panel.table), 2):
        tau = kendalltau(values[one], values[two]).statistic
        bounds = percentiles(resampled[:, one, two])
        reference = first in panel.references or second in panel.references
        low, high = map(_finite, bounds)
        yield Agreement(first, second, _finite(tau), low, high, reference)


def _mean_agreement(panel: Panel, drawn: np.ndarray) -> Agreement | None:
    """The mean tau over the pairs of the panel that have one, without its references."""
    size = len(panel.ranking)
    if size < 2:
        return None
    first, second = np.triu_indices(size, 1)
    rows = [panel.evaluators.index(name) for name in panel.ranking]
    tau = taus(panel.values[rows])[first, second].mean()
    resampled = taus(drawn[:, rows])[:, first, second]  # (resamples, pairs)
    finite = np.isfinite(resampled)
    with np.errstate(invalid="ignore"):
        means = np.where(finite, resampled, 0).sum(1) / finite.sum(1)
    low, high = map(_finite, percentiles(means))
    return Agreement("panel", "panel", _finite(tau), low, high, reference=False)


def _orders(panel: Panel, drawn: np.ndarray) -> tuple[list[Order], list[tuple[str, str]]]:
    """Pairs of systems that all ranking evaluators put in the same order, and the others."""
    orders, disputed = [], []
    rows = [panel.evaluators.index(name) for name in panel.ranking]
    for (one, first), (two, second) in combinations(enumerate(panel.systems), 2):
        signs = _signs(panel.values[rows, one] - panel.values[rows, two])
        if not rows or abs(signs.sum()) < len(rows):
            disputed.append((first, second))
            continue
        again = _signs(drawn[:, rows, one] - drawn[:, rows, two])
        support = float((again == signs[0]).all(1).mean()) if len(drawn) else None
        above, below = (first, second) if signs[0] > 0 else (second, first)
        orders.append(Order(above, below, support))
    return orders, disputed


def _ranking(panel: Panel) -> list[str]:
    """Evaluators of the panel that find some systems unequal; adds a warning of the others."""
    spread = np.ptp(np.round(panel.values[: len(panel.evaluators)], _ROUNDED), axis=1)
    equal = [name for name, width in zip(panel.evaluators, spread, strict=True) if not width]
    if equal:
        panel.warnings.append(f"{', '.join(equal)}: all systems equal, so no ranking to compare.")
    return [name for name in panel.evaluators if name not in equal]


def _signs(gaps: np.ndarray) -> np.ndarray:
    return np.sign(np.round(gaps, _ROUNDED))


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
