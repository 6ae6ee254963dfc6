"""The evaluators themselves: does a judge notice a change, and only where it should?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dialeval.dialogues import BadInput, Pairing, Passage, Passages, Turn, to_passages
from dialeval.metrics.robustness import robustness as score_changes
from dialeval.perturbations import perturb
from dialeval.protocols.robustness.cases import Case, dialogues_of
from dialeval.protocols.robustness.similarity import Embed

SIDES = ("context", "response")
FEWEST_PAIRS = 40
RESAMPLES = 10_000


@dataclass(frozen=True)
class JudgeChange:
    """What one strategy on one side does to a judge's scores of human responses.

    Args:
        side (`str`):
            What was perturbed, the other staying as it was: `"context"` or `"response"`.
        changed, low, high (`float`):
            Share of decisions that changed, and its interval.
        score_change (`tuple[float, float, float]`):
            Mean of the score after minus before, and its interval.
    """

    judge: str
    strategy: str
    kind: str
    side: str
    n: int
    dialogues: int
    changed: float
    low: float
    high: float
    score_change: tuple[float, float, float]


def fit_judge(pool: Passages, seed: int = 0, embed: Embed | None = None) -> Any:
    """An embedding judge that learnt to tell human replies from random ones on other dialogues.

    It has to read the context for that, so that a changed context can matter to it.
    """
    from dialeval.scorers.embedding import EmbeddingScorer

    if len(pool) < FEWEST_PAIRS:
        raise BadInput(
            f"{len(pool)} passages of other dialogues are too few to fit a judge on; "
            f"{FEWEST_PAIRS} are needed.",
            hint="Lower --limit, give more --data, or a saved judge: --evaluator FOLDER.",
        )
    pairs = Pairing("human_random", seed=seed)(pool)
    return EmbeddingScorer.fit(pairs, seed, embed)


def judge_changes(
    judge: Any, passages: Sequence[Passage], cases: Sequence[Case], seed: int = 0
) -> list[JudgeChange]:
    """How a judge's scores and decisions change, strategy by strategy and side by side."""
    known = [row for row, each in enumerate(passages) if each.response.strip()]
    if not known:
        return []
    normal = np.full(len(passages), np.nan)
    normal[known] = _scores(judge, [passages[row] for row in known])
    found = []
    for case in cases:
        for side in SIDES:
            rows, changed = _changed(passages, case, side, seed)
            rows, changed = _only(known, rows, changed)
            if changed:
                scores = _scores(judge, changed)
                some = [passages[row] for row in rows]
                found.append(_change(judge, case, side, some, normal[rows], scores, seed))
    return found


def _changed(
    passages: Sequence[Passage], case: Case, side: str, seed: int
) -> tuple[list[int], list[Passage]]:
    """Places and passages whose context, or whose response, the strategy edited."""
    if side == "context":
        rows = np.flatnonzero(case.edited).tolist()
        contexts = {row: [turn.text for turn in case.passages[row].context] for row in rows}
        return rows, [passages[row].with_context(contexts[row]) for row in rows]
    if case.strategy is None:  # perturbed elsewhere
        return [], []
    alone = [replace(each, context=(Turn(each.speaker, each.response),)) for each in passages]
    done = perturb(to_passages(alone), case.strategy, seed=seed, unsupported="pass").passages
    texts = [context[0]["text"] for context in done["context"]]
    rows = [row for row, each in enumerate(passages) if texts[row] != each.response]
    return rows, [replace(passages[row], response=texts[row]) for row in rows]


def _only(
    known: Sequence[int], rows: Sequence[int], changed: Sequence[Passage]
) -> tuple[list[int], list[Passage]]:
    keep = set(known)
    pairs = [(row, each) for row, each in zip(rows, changed, strict=True) if row in keep]
    return [row for row, _ in pairs], [each for _, each in pairs]


def _scores(judge: Any, passages: Sequence[Passage]) -> np.ndarray:
    return np.asarray(judge(to_passages(passages)), dtype=float)


def _change(
    judge: Any, case: Case, side: str, passages: Sequence[Passage], before: np.ndarray,
    after: np.ndarray, seed: int,
) -> JudgeChange:  # fmt: skip
    groups = dialogues_of(passages)
    told = score_changes(
        before, after, case.kind == "should_change", threshold=judge.decision.threshold,
        higher_is_human=judge.higher_is_human, groups=groups, resamples=RESAMPLES, seed=seed,
    )["all"]  # fmt: skip
    ends = [told[f"score_change{end}"] for end in ("", "_low", "_high")]
    return JudgeChange(
        judge.name, case.name, case.kind, side, told["n"], len(set(groups)),
        told["decisions_changed"], told["decisions_changed_low"], told["decisions_changed_high"],
        tuple(ends),
    )  # fmt: skip
