"""What a share rests on: a separating evaluator, data that are a mixture, comparable contexts."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dialeval.dialogues import BadInput
from dialeval.dialogues.splits import sample_dialogues
from dialeval.metrics.audit_results import FIT, AuditCheck
from dialeval.metrics.mixture import densities, likelihood_share, misfit, resampled_sums
from dialeval.protocols.audit.samples import Sample
from dialeval.protocols.audit.scoring import BinnedScores, Histograms
from dialeval.protocols.evaluation.evaluators import Fit, FitContext
from dialeval.protocols.unpaired.piles import pair_piles
from dialeval.protocols.unpaired.scoring import accuracy_of, crossfit_rows, heldout_rows, pile_test
from dialeval.protocols.unpaired.tables import MIN_ROWS
from dialeval.protocols.unpaired.views import PARTNER, view_rows

MIN_AUROC = 0.6
"""Area under the ROC curve on known replies below which the share is hardly identified."""
RESAMPLES = 500
"""Simulated data of the test whether the data are a mixture."""
MISFIT, SHIFT = 0.01, 0.01
"""P-values below which the data are not a mixture, or have other contexts than the reference."""
MIN_MISFIT = 0.01
"""Chi-square over n from which a misfit counts; large data always differ a little."""
MIN_SHIFT = 0.55
"""Accuracy on contexts from which a shift counts."""
MOST_SHIFT_ROWS = 4_000
"""Replies of each side whose contexts are compared."""


def separation_check(scores: BinnedScores, sums: Histograms, seed: int) -> AuditCheck:
    """Whether the evaluator distinguishes the two known samples at all.

    Args:
        scores (`BinnedScores`):
            Scores of all replies.
        sums (`Histograms`):
            Their sums over units.
        seed (`int`):
            Seed of the bootstrap.

    Returns:
        `AuditCheck`: Failed where it does so hardly.

    Raises:
        BadInput: It does not.
    """
    rng = np.random.default_rng(seed)
    human, machine = (densities(resampled_sums(table, RESAMPLES, rng)) for table in sums[1:])
    index = np.arange(human.shape[1])
    gap = (machine * index).sum(1) - (human * index).sum(1)
    if np.quantile(gap, 0.025) <= 0:
        raise BadInput(
            "the evaluator cannot distinguish the reference from the machine replies (AUROC "
            f"{scores.auroc:.3f}), so the data's share of machine replies cannot be estimated.",
            hint="Give more of both, check that they are what they are said to be, or use another "
            "--evaluator.",
        )
    passed = scores.auroc >= MIN_AUROC
    text = (
        f"The evaluator separates the known human and machine replies with AUROC {scores.auroc:.3f}"
    )
    text += "." if passed else ": hardly, so the interval is wide and depends on details."
    return AuditCheck("separation of known replies", scores.auroc, passed, text)


def fit_check(sums: Histograms, seed: int) -> AuditCheck:
    """Whether the data's scores can be a mixture of those of the known samples.

    Data are simulated by drawing units of the known samples, with the share that was estimated.

    Args:
        sums (`Histograms`):
            Sums over units.
        seed (`int`):
            Seed of the simulation.

    Returns:
        `AuditCheck`: Failed where simulated data hardly ever fit as badly.
    """
    data, human, machine = sums
    rng = np.random.default_rng([seed, 1])
    share = float(likelihood_share(*(table.sum(0) for table in sums)))
    replies = [table.sum() / len(table) for table in sums]  # per unit
    drawn = [len(data) * replies[0] * part for part in (1 - share, share)]
    simulated = sum(
        resampled_sums(table, RESAMPLES, rng, drawn=round(count / size))
        for table, count, size in zip((human, machine), drawn, replies[1:], strict=True)
    )
    known = [resampled_sums(table, RESAMPLES, rng) for table in (human, machine)]
    simulated_misfit = misfit(np.asarray(simulated), *known)
    observed = float(misfit(*(table.sum(0) for table in sums)))
    p_value = float((1 + (simulated_misfit >= observed).sum()) / (1 + RESAMPLES))
    passed = p_value >= MISFIT or observed < MIN_MISFIT
    text = (
        "The data's scores fit a mixture of the two known samples."
        if passed
        else "The data's scores are not a mixture of the two known samples: the humans or the "
        "machines of the data write differently from the known ones."
    )
    return AuditCheck(FIT, observed, passed, text, p_value)


def shift_check(
    fit: Fit,
    data: Sample,
    reference: Sample,
    seed: int,
    fit_context: FitContext,
    warn: Callable[[str], Any] = lambda text: None,
) -> AuditCheck | None:
    """Whether the contexts of the data differ from those of the reference, by the same evaluator.

    Args:
        fit (`Callable`):
            Fits the evaluator to pairs.
        data, reference (`Sample`):
            The data and the human replies.
        seed (`int`):
            Seed of folds and evaluator.
        fit_context (`FitContext`):
            What evaluators share.
        warn (`Callable`, *optional*):
            Called with a sentence where contexts could not be compared.

    Returns:
        `AuditCheck` or `None`: `None` where there are too few contexts, or they overlap.
    """
    sides = [sample_dialogues(side.contexts, MOST_SHIFT_ROWS, seed) for side in (reference, data)]
    try:
        rows = view_rows(pair_piles(sides[0], sides[1], "the data"), PARTNER)
        if min(len(rows.human), len(rows.system)) < MIN_ROWS:
            raise BadInput(f"fewer than {MIN_ROWS} replies of one of them follow another turn.")
        accuracy = accuracy_of(crossfit_rows(fit, rows, 5, seed, fit_context), seed)
        p_value = pile_test(heldout_rows(fit, rows, seed, fit_context), seed)
    except BadInput as error:
        warn(f"The contexts of data and reference were not compared: {error.message}")
        return None
    passed = p_value >= SHIFT or accuracy.value < MIN_SHIFT
    text = (
        f"The turns before the replies hardly distinguish the data from the reference "
        f"({accuracy.value:.1%} accuracy; 50 % is chance)."
        if passed
        else f"The turns before the replies distinguish the data from the reference with "
        f"{accuracy.value:.1%} accuracy: topics or sources differ, and replies may differ with "
        "them. Take a reference from the same source."
    )
    return AuditCheck("contexts of data and reference", accuracy.value, passed, text, p_value)
