"""The analyses of Kannan and Vinyals (2016): precision-recall, length, ranking by likelihood."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score, precision_recall_curve

from dialeval.dialogues import BadInput, Passage, count_tokens, to_passages
from dialeval.judgements.correlation import spearman
from dialeval.judgements.resampling import percentile_interval
from dialeval.metrics.analysis_results import Curve, RankedContext
from dialeval.metrics.results import Result
from dialeval.protocols.analysis.decisions import Decisions
from dialeval.responders import respond
from dialeval.responders.task import likelihoods

_POINTS = 200  # of a curve in the results
MIN_RESPONSES = 3
"""Different responses of one length to a context below which there is no ranking."""
MOST_TABLES = 10
TOP = 3


def precision_recall(decisions: Decisions) -> Curve:
    """Precision against recall of the human class (their Figure 1b)."""
    precision, recall, _ = precision_recall_curve(decisions.human, decisions.signed)
    rows = np.unique(np.linspace(0, len(recall) - 1, _POINTS).astype(int))
    return Curve("precision-recall", tuple(recall[rows].tolist()), tuple(precision[rows].tolist()))


def average_precision(decisions: Decisions) -> float:
    """Area under that curve."""
    return float(average_precision_score(decisions.human, decisions.signed))


def length_curves(decisions: Decisions, bins: int = 12) -> list[Curve]:
    """Mean score by length of the response, for human and machine (their Figure 1a)."""
    lengths, curves = decisions.lengths, []
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, bins + 1)))
    for name, rows in (("human", decisions.human), ("machine", ~decisions.human)):
        number = np.clip(np.searchsorted(edges, lengths[rows], "right") - 1, 0, len(edges) - 2)
        used = np.unique(number)
        x = [float(lengths[rows][number == one].mean()) for one in used]
        y = [float(decisions.scores[rows][number == one].mean()) for one in used]
        curves.append(Curve(f"score by length, {name}", tuple(x), tuple(y)))
    return curves


def length_correlation(decisions: Decisions, rows: np.ndarray) -> tuple[float, float]:
    """Spearman's correlation of score and length among some rows, and its p-value."""
    constant = rows.any() and 0 in (np.ptp(decisions.signed[rows]), np.ptp(decisions.lengths[rows]))
    if rows.sum() < MIN_RESPONSES or constant:
        return float("nan"), float("nan")
    result = spearmanr(decisions.signed[rows], decisions.lengths[rows])
    return float(result.statistic), float(result.pvalue)


def sample_responses(
    responder: Any,
    passages: Sequence[Passage],
    on_progress: Callable[[float, float, str], None] | None = None,
) -> list[list[Passage]]:
    """Different responses that a responder samples to each context.

    Args:
        responder (`Responder`):
            The generator.
        passages (`Sequence[Passage]`):
            Contexts.
        on_progress (`Callable`, *optional*):
            Called with done, total and a description.

    Returns:
        `list[list[Passage]]`: One list per context, without empty and repeated responses.
    """
    groups: list[list[Passage]] = []
    for number, passage in enumerate(passages):
        if on_progress is not None:
            on_progress(number, len(passages), "sampling responses")
        seen: dict[str, Passage] = {}
        for answer in respond(responder, [passage]):
            if answer.response.strip():
                seen.setdefault(answer.response.strip(), answer)
        groups.append(list(seen.values()))
    return groups


def rankings(
    scorer: Any, responder: Any, groups: Sequence[Sequence[Passage]]
) -> tuple[list[RankedContext], list[float], list[list[float]]]:
    """Rankings by discriminator and by the generator's likelihood, at equal length and over all.

    Args:
        scorer (`Scorer`):
            The discriminator.
        responder (`Responder`):
            The generator that sampled the responses.
        groups (`Sequence[Sequence[Passage]]`):
            Responses to each context.

    Returns:
        `tuple`: A table for the largest group of each context, Spearman's correlation over all
        responses to each context, and those at equal length of each context.

    Raises:
        BadInput: The responder has no likelihoods.
    """
    if not hasattr(responder, "generator"):
        hint = "Give a generator's folder, a Hub name or smollm2."
        raise BadInput(f"{responder.name} has no likelihoods.", hint=hint)
    tables: list[RankedContext] = []
    overall: list[float] = []
    equal: list[list[float]] = []
    for group in groups:
        if len(group) < MIN_RESPONSES:
            continue
        scores = np.asarray(scorer(to_passages(group)), dtype=float)
        scores = scores if scorer.higher_is_human else -scores
        log_probs, _ = likelihoods(responder.generator, group)
        overall.append(spearman(scores, log_probs))
        parts = list(_by_length(group, scores, log_probs))
        equal.append([part.spearman for part in parts])
        if parts:
            tables.append(max(parts, key=lambda part: part.n))
    return tables, overall, equal


def _by_length(
    group: Sequence[Passage], scores: np.ndarray, log_probs: np.ndarray
) -> Iterator[RankedContext]:
    lengths = np.array([count_tokens(passage.response) for passage in group])
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        if len(rows) < MIN_RESPONSES:
            continue
        first, second = scores[rows], log_probs[rows]
        value = spearman(first, second)
        if np.isnan(value):
            continue
        texts = [group[row].response for row in rows.tolist()]
        yield RankedContext(
            context=tuple(turn.text for turn in group[0].context),
            length=int(length),
            by_discriminator=tuple(texts[row] for row in np.argsort(-first)[:TOP]),
            by_likelihood=tuple(texts[row] for row in np.argsort(-second)[:TOP]),
            spearman=value,
            n=len(rows),
        )


def ranking_results(
    overall: Sequence[float],
    equal: Sequence[Sequence[float]],
    name: str,
    resamples: int,
    seed: int,
    signature: str,
) -> Iterator[Result]:
    """Mean correlations with intervals over contexts.

    Args:
        overall (`Sequence[float]`):
            Of each context.
        equal (`Sequence[Sequence[float]]`):
            At equal length, of each context.
        name (`str`):
            The discriminator.
        resamples, seed (`int`):
            Of the bootstrap.
        signature (`str`):
            How it was computed.

    Yields:
        `Result`: `rank_correlation` and `rank_correlation_equal_length`.
    """
    rng = np.random.default_rng(seed)
    nested = {"rank_correlation": [[value] for value in overall if np.isfinite(value)],
              "rank_correlation_equal_length": [list(row) for row in equal if row]}  # fmt: skip
    for metric, rows in nested.items():
        if not rows:
            continue
        values = [value for row in rows for value in row]
        drawn = []
        for _ in range(resamples):
            chosen = [rows[index] for index in rng.integers(len(rows), size=len(rows))]
            drawn.append(np.mean([value for row in chosen for value in row]))
        low, high = percentile_interval(np.array(drawn))
        details = {"contexts": len(rows), "groups": len(values)}
        yield Result(
            metric, "", name, float(np.mean(values)), low, high, len(values), signature, details
        )
