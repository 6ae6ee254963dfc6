"""The analyses of Bruni and Fernández (2017, sec. 4): cosines, attention, pictures of words."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy.stats import ranksums

from dialeval.dialogues import Passage
from dialeval.metrics.analysis_results import OUTCOMES, WordPicture
from dialeval.metrics.checks import encode_ids
from dialeval.metrics.intervals import class_sums, interval, ratio, sums_interval
from dialeval.metrics.results import Result
from dialeval.models.batching import pad
from dialeval.protocols.analysis.decisions import Decisions
from dialeval.scorers.attribution import attribute, has_attention
from dialeval.scorers.neural import NeuralScorer
from dialeval.scorers.representation import NeuralRepresentation

_MOST = 2_000  # passages whose states are compared


def cosines(scorer: Any, passages: Sequence[Passage]) -> np.ndarray | None:
    """Cosine of the states of context and response, each read alone; `None` without states.

    For the attention discriminator the states are the last ones of both directions; other networks
    have one vector that their last layer reads, and the embedding scorer has its sentence vectors.
    """
    contexts = [replace(row, context=(), response=_context_text(row)) for row in passages]
    responses = [replace(row, context=()) for row in passages]
    if has_attention(scorer):
        vectors = [_end_states(scorer, rows) for rows in (contexts, responses)]
    elif isinstance(scorer, NeuralScorer):
        represent = NeuralRepresentation(scorer)
        vectors = [represent(rows) for rows in (contexts, responses)]
    elif hasattr(scorer, "embed"):
        vectors = [scorer.embed([row.response or " " for row in rows])
                   for rows in (contexts, responses)]  # fmt: skip
    else:
        return None
    first, second = vectors
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return (first * second).sum(1) / np.maximum(norms, 1e-12)


def _context_text(passage: Passage) -> str:
    return "\n".join(turn.text for turn in passage.context)


@torch.inference_mode()
def _end_states(scorer: NeuralScorer, passages: Sequence[Passage]) -> np.ndarray:
    """Last state of the forward and first of the backward direction, `(n, 2 hidden)`."""
    rows = [encoded.ids or [scorer.pad_id]
            for encoded in scorer.input_format(scorer.tokenizer, passages)]  # fmt: skip
    vectors = []
    for start in range(0, len(rows), 64):
        part = rows[start : start + 64]
        batch = pad(part, scorer.pad_id)
        output = scorer.model(**{name: row.to(scorer.device) for name, row in batch.items()})
        states = output.hidden_states  # (batch, time, 2 hidden)
        half = states.shape[-1] // 2
        last = torch.tensor([len(row) - 1 for row in part], device=states.device)
        forward = states[torch.arange(len(part)), last, :half]
        vectors.append(torch.cat([forward, states[:, 0, half:]], -1).float().cpu().numpy())
    return np.concatenate(vectors)


def cosine_results(
    scorer: Any, decisions: Decisions, seed: int, signature: str
) -> Iterator[Result]:
    """Mean cosine of passages judged real and fake, and truly so, with rank-sum tests.

    Args:
        scorer (`Scorer`):
            The discriminator.
        decisions (`Decisions`):
            What it decided.
        seed (`int`):
            Seed of the sample where there are many, and of the bootstrap over dialogues.
        signature (`str`):
            How it was computed.

    Yields:
        `Result`: Metric `cosine_gap`: mean of the positive minus of the negative passages.
    """
    rows = np.arange(len(decisions.passages))
    if len(rows) > _MOST:
        rows = np.sort(np.random.default_rng(seed).choice(rows, _MOST, replace=False))
    values = cosines(scorer, [decisions.passages[row] for row in rows])
    if values is None:
        return
    names = decisions.dialogues
    sides = {"judged": decisions.predicted[rows], "true": decisions.human[rows]}
    for side, positive in sides.items():
        if positive.all() or not positive.any():
            continue
        first, second = values[positive], values[~positive]
        test = ranksums(first, second)  # the two-sample Wilcoxon test of the paper
        table = class_sums(values, positive, encode_ids([names[row] for row in rows], len(rows)))
        low, high = sums_interval(table, _gap, seed=seed)
        details = {
            "sides": side, "positive": float(first.mean()), "negative": float(second.mean()),
            "z": float(test.statistic), "p_value": float(test.pvalue),
        }  # fmt: skip
        yield Result(
            "cosine_gap",
            "",
            scorer.name,
            float(first.mean() - second.mean()),
            low,
            high,
            len(values),
            signature,
            details,
        )


def _gap(sums: np.ndarray) -> np.ndarray:
    """The mean of the first class minus that of the second."""
    gap: np.ndarray = ratio(sums[..., :2]) - ratio(sums[..., 2:])
    return gap


def attention_results(
    scorer: Any, decisions: Decisions, seed: int, signature: str
) -> Iterator[Result]:
    """Share of the attention on the response for each outcome.

    Args:
        scorer (`Scorer`):
            The discriminator.
        decisions (`Decisions`):
            What it decided.
        seed (`int`):
            Seed of the bootstrap over dialogues.
        signature (`str`):
            How it was computed.

    Yields:
        `Result`: Metric `attention_on_response`, with the outcome as the system.
    """
    if not has_attention(scorer):
        return
    outcomes, dialogues = decisions.outcomes, decisions.dialogues
    for outcome in OUTCOMES:
        rows = np.flatnonzero(outcomes == outcome)[:_MOST]
        if not len(rows):
            continue
        weights = attribute(scorer, [decisions.passages[row] for row in rows], "attention")
        masses = np.array([row.response_mass for row in weights])
        groups = [dialogues[row] for row in rows]
        low, high = interval(masses, groups, method="auto", seed=seed)
        yield Result(
            "attention_on_response",
            outcome,
            scorer.name,
            float(masses.mean()),
            low,
            high,
            len(masses),
            signature,
        )


def pictures(
    scorer: Any, decisions: Decisions, count: int, method: str | None, steps: int
) -> list[WordPicture]:
    """Passages of each outcome with weights on their words, the surest decisions first.

    Args:
        scorer (`Scorer`):
            The discriminator.
        decisions (`Decisions`):
            What it decided.
        count (`int`):
            Passages of each outcome.
        method (`str`, *optional*):
            How words are weighted; see `dialeval.scorers.attribution`.
        steps (`int`):
            Points of integrated gradients.

    Returns:
        `list[WordPicture]`: By attribution, and by attention where there is one.
    """
    outcomes, signed = decisions.outcomes, decisions.signed
    made: list[WordPicture] = []
    for outcome in OUTCOMES:
        rows = np.flatnonzero(outcomes == outcome)
        sign = -1 if outcome.endswith("positive") else 1
        chosen = rows[np.argsort(sign * signed[rows], kind="stable")][:count]
        passages = [decisions.passages[row] for row in chosen]
        methods = [method, *(["attention"] if has_attention(scorer) else [])]
        for name in methods:
            for row, weights in zip(chosen, attribute(scorer, passages, name, steps), strict=True):
                made.append(
                    WordPicture(
                        weights.words,
                        weights.weights,
                        weights.response_at,
                        weights.method,
                        outcome,
                        float(decisions.scores[row]),
                        decisions.passages[row].author,
                    )
                )
    return made
