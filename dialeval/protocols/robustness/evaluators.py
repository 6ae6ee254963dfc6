"""Robustness of the evaluators: does an evaluator notice a change, and only if it should?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dialeval.dialogues import BadInput, Pairing, Passage, Passages, Turn, to_passages
from dialeval.metrics.robustness import robustness as score_changes
from dialeval.metrics.robustness_results import Estimate
from dialeval.perturbations import perturb
from dialeval.protocols.robustness.cases import Case, dialogues_of
from dialeval.protocols.robustness.similarity import Embed

SIDES = ("context", "response")
MIN_PAIRS = 40
RESAMPLES = 10_000


@dataclass(frozen=True)
class EvaluatorChange:
    """What one strategy on one side does to an evaluator's scores of human responses.

    Args:
        evaluator, strategy (`str`):
            Which evaluator, and how the passages were perturbed.
        kind (`str`):
            `"should_change"` or `"should_not_change"`.
        side (`str`):
            What was perturbed, while the other stayed the same: `"context"` or `"response"`.
        n, dialogues (`int`):
            Number of edited passages, and of their dialogues.
        changed (`Estimate`):
            Share of decisions that changed.
        score_change (`Estimate`):
            Mean of the score after minus before.
    """

    evaluator: str
    strategy: str
    kind: str
    side: str
    n: int
    dialogues: int
    changed: Estimate
    score_change: Estimate


def fit_evaluator(
    pool: Passages, seed: int = 0, spec: str = "embedding", embed: Embed | None = None
) -> Any:
    """An evaluator that is trained to distinguish human replies from random ones.

    It has to read the context to do so, so that a changed context can affect its scores.

    Args:
        pool (`Passages`):
            Human passages of dialogues that are not evaluated.
        seed (`int`, *optional*, defaults to 0):
            Seed of the random replies and of the training.
        spec (`str`, *optional*, defaults to `"embedding"`):
            Name of a registered evaluator, or `package.module:Class`.
        embed (`Callable`, *optional*):
            Sentence encoder, from texts to vectors `(n, d)`; all-MiniLM-L6-v2 by default.

    Returns:
        `Scorer`: The fitted evaluator.
    """
    from dialeval.scorers.fitting import FitContext
    from dialeval.scorers.registry import fit_function

    fit = fit_function(spec)
    if len(pool) < MIN_PAIRS:
        raise BadInput(
            f"{len(pool)} passages of other dialogues are too few to fit an evaluator; "
            f"{MIN_PAIRS} are needed.",
            hint="Lower --limit, give more --data, or a saved evaluator: --evaluator FOLDER.",
        )
    pairs = Pairing("human_random", seed=seed)(pool)
    return fit(pairs, seed, FitContext() if embed is None else FitContext(embed=embed))


def evaluator_changes(
    evaluator: Any, passages: Sequence[Passage], cases: Sequence[Case], seed: int = 0
) -> list[EvaluatorChange]:
    """How an evaluator's scores and decisions change under each strategy, on each side.

    Args:
        evaluator (`Scorer`):
            The evaluator.
        passages (`Sequence[Passage]`):
            Contexts with human responses; those without a response are left out.
        cases (`Sequence[Case]`):
            The perturbed contexts.
        seed (`int`, *optional*, defaults to 0):
            Seed of the edits of responses, and of the intervals.

    Returns:
        `list[EvaluatorChange]`: One per strategy and side with an edit.
    """
    answered = [row for row, passage in enumerate(passages) if passage.response.strip()]
    if not answered:
        return []
    normal = np.full(len(passages), np.nan)
    normal[answered] = _scores(evaluator, [passages[row] for row in answered])
    changes = []
    for case in cases:
        for side in SIDES:
            edited = _perturb_side(passages, case, side, seed)
            rows = [row for row in answered if row in edited]
            if rows:
                scores = _scores(evaluator, [edited[row] for row in rows])
                before = [passages[row] for row in rows]
                changes.append(_change(evaluator, case, side, before, normal[rows], scores, seed))
    return changes


def _perturb_side(
    passages: Sequence[Passage], case: Case, side: str, seed: int
) -> dict[int, Passage]:
    """Passages whose context, or whose response, the strategy edited, by their index."""
    if side == "context":
        return {
            row: passages[row].with_context([turn.text for turn in case.passages[row].context])
            for row in case.edited_rows
        }
    if case.strategy is None:  # perturbed elsewhere
        return {}
    alone = [
        replace(passage, context=(Turn(passage.speaker, passage.response),)) for passage in passages
    ]
    perturbed = perturb(to_passages(alone), case.strategy, seed=seed, unsupported="pass").passages
    texts = [context[0]["text"] for context in perturbed["context"]]
    return {
        row: replace(passage, response=texts[row])
        for row, passage in enumerate(passages)
        if texts[row] != passage.response
    }


def _scores(evaluator: Any, passages: Sequence[Passage]) -> np.ndarray:
    return np.asarray(evaluator(to_passages(passages)), dtype=float)


def _change(
    evaluator: Any, case: Case, side: str, passages: Sequence[Passage], before: np.ndarray,
    after: np.ndarray, seed: int,
) -> EvaluatorChange:  # fmt: skip
    groups = dialogues_of(passages)
    numbers = score_changes(
        before, after, case.kind == "should_change", threshold=evaluator.decision.threshold,
        higher_is_human=evaluator.higher_is_human, groups=groups, resamples=RESAMPLES, seed=seed,
    )["all"]  # fmt: skip
    changed = _estimate(
        numbers["decisions_changed"],
        numbers["decisions_changed_low"],
        numbers["decisions_changed_high"],
    )
    score_change = _estimate(
        numbers["score_change"], numbers["score_change_low"], numbers["score_change_high"]
    )
    return EvaluatorChange(
        evaluator.name, case.name, case.kind, side, numbers["n"], len(set(groups)),
        changed, score_change,
    )  # fmt: skip


def _estimate(*numbers: float | None) -> Estimate:
    value, low, high = (float("nan") if number is None else number for number in numbers)
    return Estimate(value, low, high)
