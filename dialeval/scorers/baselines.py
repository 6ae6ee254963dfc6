"""Baselines that an evaluator has to beat: length, chance, and itself without the context."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from datasets import Dataset

from dialeval.dialogues import BadInput, Passage, Passages, Turn, count_tokens, to_passages
from dialeval.dialogues.matching import derangement
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.storage import (
    BATCH,
    FEATURES,
    PassageFile,
    as_table,
    batches,
    iterate_passages,
)
from dialeval.dialogues.types import text_hash
from dialeval.scorers.base import Decision
from dialeval.scorers.folders import decision_of, load_scorer, save_scorer

NEUTRAL = "…"
"""The single turn that replaces a context."""

INNER = "inner"
"""Folder of the scorer inside another."""


def labels_of(pairs: Passages) -> np.ndarray:
    """The label of each row, 1 human and 0 machine; both occur.

    Raises:
        BadInput: Where there is no column `label`, or one class only.
    """
    if "label" not in pairs.column_names:
        columns = ", ".join(pairs.column_names)
        raise BadInput(
            f"an evaluator is fitted to a column `label`, but there are only {columns}.",
            hint="Make pairs first: Pairing()(human, machine).",
        )
    parts = [batch["label"].to_numpy(zero_copy_only=False) for batch in batches(pairs)]
    labels = np.concatenate(parts) if parts else np.zeros(0)
    values = np.unique(labels)
    if not np.array_equal(values, [0, 1]):
        given = " and ".join(f"{value:g}" for value in values) or "nothing"
        raise BadInput(
            f"an evaluator is fitted to labels 1 (human) and 0 (machine), but the "
            f"{len(labels)} rows have {given}.",
            hint="Give both classes.",
        )
    return labels.astype(np.int64)


class LengthScorer:
    """P(human) from the number of tokens of the response alone.

    Logistic regression on the length, its logarithm and the squares of both, so that the middle
    may be human and both ends machine, or the reverse.

    Args:
        coefficients (`Sequence[float]`):
            One for each of length, log(1 + length), and their squares, standardised.
        intercept (`float`):
            Log-odds of a human at the mean of the training data.
        means, scales (`Sequence[float]`):
            Means and standard deviations of the four numbers.
        n (`int`, *optional*):
            Responses it was fitted on.
    """

    kind = "length"
    higher_is_human = True

    def __init__(
        self,
        coefficients: Sequence[float],
        intercept: float,
        means: Sequence[float],
        scales: Sequence[float],
        n: int | None = None,
        name: str = "length",
        decision: Decision | None = None,
    ):
        self.coefficients = np.asarray(coefficients, dtype=float)
        self.intercept = float(intercept)
        self.means = np.asarray(means, dtype=float)
        self.scales = np.asarray(scales, dtype=float)
        self.n = n
        self.name = name
        self.decision = decision or Decision()

    @classmethod
    def fit(cls, pairs: Passages) -> "LengthScorer":
        """Fit it to passages with a column `label`."""
        from sklearn.linear_model import LogisticRegression

        labels, features = labels_of(pairs), _length_features(pairs)
        means, scales = features.mean(0), features.std(0)
        scales[scales <= 1e-9 * np.abs(means)] = 1.0  # one length up to rounding: nothing to learn
        model = LogisticRegression(max_iter=1_000).fit((features - means) / scales, labels)
        return cls(model.coef_[0], model.intercept_[0], means, scales, len(labels))

    @property
    def signature(self) -> str:
        """How its scores are computed, in one line."""
        return f"disc:{self.name}|n:{self.n}|{self.decision.signature}"

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """P(human) of each passage."""
        features = (_length_features(passages) - self.means) / self.scales
        margins = features @ self.coefficients + self.intercept
        return np.exp(-np.logaddexp(0, -margins))

    def save(self, folder: Path) -> dict[str, Any]:
        """Return the settings for `load`; there are no files."""
        return {
            "coefficients": self.coefficients.tolist(),
            "intercept": self.intercept,
            "means": self.means.tolist(),
            "scales": self.scales.tolist(),
            "n": self.n,
        }

    @classmethod
    def load(cls, folder: Path, settings: dict[str, Any], **_: Any) -> "LengthScorer":
        """A scorer as `save` wrote it."""
        keys = ("coefficients", "intercept", "means", "scales", "n", "name")
        return cls(**{key: settings[key] for key in keys}, decision=decision_of(settings))


class ConstantScorer:
    """The same number for every passage."""

    kind = "constant"
    higher_is_human = True

    def __init__(
        self, value: float = 1.0, name: str = "constant", decision: Decision | None = None
    ):
        self.value = float(value)
        self.name = name
        self.decision = decision or Decision()

    @property
    def signature(self) -> str:
        """How its scores are computed, in one line."""
        return f"disc:{self.name}|value:{self.value:g}|{self.decision.signature}"

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """The number for each passage."""
        return np.full(len(passages), self.value)

    def save(self, folder: Path) -> dict[str, Any]:
        """Return the settings for `load`; there are no files."""
        return {"value": self.value}

    @classmethod
    def load(cls, folder: Path, settings: dict[str, Any], **_: Any) -> "ConstantScorer":
        """A scorer as `save` wrote it."""
        return cls(settings["value"], settings["name"], decision_of(settings))


class CoinScorer:
    """A number in [0, 1) from a hash of the passage's id, author and response.

    A passage has the same number in any set of passages.
    """

    kind = "coin"
    higher_is_human = True

    def __init__(self, seed: int = 0, name: str = "coin", decision: Decision | None = None):
        self.seed = int(seed)
        self.name = name
        self.decision = decision or Decision()

    @property
    def signature(self) -> str:
        """How its scores are computed, in one line."""
        return f"disc:{self.name}|seed:{self.seed}|{self.decision.signature}"

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """The number of each passage."""
        seed = f"coin-{self.seed}"
        tossed = (
            text_hash([seed, passage.id or "", passage.author or "", passage.response]) / 2**64
            for passage in iterate_passages(passages)
        )
        return np.fromiter(tossed, dtype=float, count=len(passages))

    def save(self, folder: Path) -> dict[str, Any]:
        """Return the settings for `load`; there are no files."""
        return {"seed": self.seed}

    @classmethod
    def load(cls, folder: Path, settings: dict[str, Any], **_: Any) -> "CoinScorer":
        """A scorer as `save` wrote it."""
        return cls(settings["seed"], settings["name"], decision_of(settings))


class _ContextAblation(ABC):
    """A scorer on edited passages, with the scale and decision of the inner scorer."""

    kind = ""

    def __init__(self, scorer: Any, name: str = "", decision: Decision | None = None):
        self.scorer = scorer
        self.name = name or f"{scorer.name} ({self.kind})"
        self.decision = decision or scorer.decision
        self.higher_is_human = scorer.higher_is_human

    @abstractmethod
    def edited(self, passages: Passages | Sequence[Passage]) -> Passages:
        """The passages that the inner scorer reads."""

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """Scores of the edited passages."""
        return self.scorer(self.edited(passages)) if len(passages) else np.zeros(0)

    @property
    def inner(self) -> list[Any]:
        """The scorer whose context is taken away."""
        return [self.scorer]

    @property
    def signature(self) -> str:
        """How its scores are computed, in one line."""
        return f"{self.kind}({self.scorer.signature})|{self.decision.signature}"

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the inner scorer to a subfolder; return the settings for `load`."""
        save_scorer(self.scorer, folder / INNER)
        return {}


class ResponseOnlyScorer(_ContextAblation):
    """A scorer without the context.

    Each context is replaced by the single turn "…" of the last speaker: every scorer expects a
    turn, and an empty one would be unlike any training input.

    Args:
        scorer (`Scorer`):
            The inner scorer.
    """

    kind = "response-only"

    def edited(self, passages: Passages | Sequence[Passage]) -> Passages:
        """The passages with the one neutral turn as context."""
        return to_passages(_without_context(passage) for passage in iterate_passages(passages))

    @classmethod
    def load(cls, folder: Path, settings: dict[str, Any], **options: Any) -> "ResponseOnlyScorer":
        """A scorer as `save` wrote it; `options` go to the inner one."""
        scorer = load_scorer(folder / INNER, **options)
        return cls(scorer, settings["name"], decision_of(settings))


class ShuffledContextScorer(_ContextAblation):
    """A scorer that reads each response after the context of another dialogue.

    All contexts of the given passages are used, each as often as before: a permutation in which
    every one goes to another dialogue. It depends on the set of passages, not on their order.

    Args:
        scorer (`Scorer`):
            The inner scorer.
        seed (`int`, *optional*, defaults to 0):
            Of the permutation.
    """

    kind = "shuffled-context"
    takes_all_passages = True

    def __init__(
        self, scorer: Any, seed: int = 0, name: str = "", decision: Decision | None = None
    ):
        super().__init__(scorer, name, decision)
        self.seed = int(seed)

    def edited(self, passages: Passages | Sequence[Passage]) -> Passages:
        """The passages with permuted contexts."""
        table = as_table(passages)
        rows = pa.Table.from_batches(batch.select(list(FEATURES)) for batch in batches(table))
        contexts = rows["context"].combine_chunks().take(pa.array(self._donors(table)))
        column = rows.column_names.index("context")
        with PassageFile() as file:
            for batch in rows.set_column(column, "context", contexts).to_batches(BATCH):
                file.write(batch)
        return file.dataset()

    def _donors(self, table: Passages) -> np.ndarray:
        """For each row, the row whose context it gets."""
        by_content = np.argsort(row_hashes(table, ["id", "author", "context", "response"]))
        groups = row_hashes(table, ["dialogue_id"])[by_content]
        donors = np.empty_like(by_content)
        rng = np.random.default_rng(self.seed)
        donors[by_content] = by_content[derangement(groups, rng)]
        return donors

    @property
    def signature(self) -> str:
        """How its scores are computed, in one line."""
        return f"{super().signature}|seed:{self.seed}"

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the inner scorer to a subfolder; return the settings for `load`."""
        return {**super().save(folder), "seed": self.seed}

    @classmethod
    def load(
        cls, folder: Path, settings: dict[str, Any], **options: Any
    ) -> "ShuffledContextScorer":
        """A scorer as `save` wrote it; `options` go to the inner one."""
        scorer = load_scorer(folder / INNER, **options)
        return cls(scorer, settings["seed"], settings["name"], decision_of(settings))


def _without_context(passage: Passage) -> Passage:
    speaker = passage.context[-1].speaker if passage.context else "A"
    return replace(passage, context=(Turn(speaker, NEUTRAL),))


def _length_features(passages: Passages | Sequence[Passage]) -> np.ndarray:
    """Length, its logarithm, and their squares, shape `(n, 4)`."""
    if isinstance(passages, Dataset):
        parts = (batch["response"].to_pylist() for batch in batches(passages))
        responses = (text for part in parts for text in part)
    else:
        responses = (passage.response for passage in passages)
    lengths = np.fromiter(map(count_tokens, responses), dtype=float, count=len(passages))
    logs = np.log1p(lengths)
    return np.column_stack([lengths, logs, lengths**2, logs**2])
