"""Judges that know little or nothing: what an evaluator has to beat to have read the dialogue."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dialeval.dialogues import BadInput, Passage, Passages, Turn, count_tokens, iterate, to_passages
from dialeval.dialogues.matching import derangement
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.storage import as_table, batches, iterate_passages
from dialeval.dialogues.types import text_hash
from dialeval.scorers.base import Decision
from dialeval.scorers.folders import decision_of, load_scorer, save_scorer

NEUTRAL = "…"
"""The one turn that stands for a context when there is none to see."""

INNER = "inner"
"""Folder of the scorer inside another."""


def labels_of(pairs: Passages) -> np.ndarray:
    """The label of each row, 1 human and 0 machine; both occur.

    Raises:
        BadInput: Where there is no column `label`, or one class only.
    """
    if "label" not in pairs.column_names:
        found = ", ".join(pairs.column_names)
        raise BadInput(
            f"a judge learns from a column `label`, but there are only {found}.",
            hint="Make pairs first: Pairing()(human, machine).",
        )
    parts = [batch["label"].to_numpy(zero_copy_only=False) for batch in batches(pairs)]
    labels = np.concatenate(parts) if parts else np.zeros(0)
    found = np.unique(labels)
    if not np.array_equal(found, [0, 1]):
        given = " and ".join(f"{each:g}" for each in found) or "nothing"
        raise BadInput(
            f"a judge learns from labels 1 (human) and 0 (machine), but the {len(labels)} rows "
            f"have {given}.",
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
            What the four numbers are standardised by.
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
        """Learn from passages with a column `label`."""
        from sklearn.linear_model import LogisticRegression

        labels, features = labels_of(pairs), _length_features(pairs)
        means, scales = features.mean(0), features.std(0)
        scales[scales == 0] = 1.0  # all of one length: nothing to learn
        model = LogisticRegression(max_iter=1_000).fit((features - means) / scales, labels)
        return cls(model.coef_[0], model.intercept_[0], means, scales, len(labels))

    @property
    def signature(self) -> str:
        """How its numbers are made."""
        return f"disc:{self.name}|n:{self.n}|{self.decision.signature}"

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """P(human) of each passage."""
        features = (_length_features(passages) - self.means) / self.scales
        margins = features @ self.coefficients + self.intercept
        return np.exp(-np.logaddexp(0, -margins))

    def save(self, folder: Path) -> dict[str, Any]:
        """Give the settings to remember; there is nothing else."""
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
        fitted = [settings[key] for key in ("coefficients", "intercept", "means", "scales", "n")]
        return cls(*fitted, settings["name"], decision_of(settings))


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
        """How its numbers are made."""
        return f"disc:{self.name}|value:{self.value:g}|{self.decision.signature}"

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """The number, once for each passage."""
        return np.full(len(passages), self.value)

    def save(self, folder: Path) -> dict[str, Any]:
        """Give the settings to remember; there is nothing else."""
        return {"value": self.value}

    @classmethod
    def load(cls, folder: Path, settings: dict[str, Any], **_: Any) -> "ConstantScorer":
        """A scorer as `save` wrote it."""
        return cls(settings["value"], settings["name"], decision_of(settings))


class CoinScorer:
    """A number in [0, 1) from a hash of the passage's id, author and response.

    From 0.5 on it is heads. A passage keeps its number whatever stands around it.
    """

    kind = "coin"
    higher_is_human = True

    def __init__(self, seed: int = 0, name: str = "coin", decision: Decision | None = None):
        self.seed = int(seed)
        self.name = name
        self.decision = decision or Decision()

    @property
    def signature(self) -> str:
        """How its numbers are made."""
        return f"disc:{self.name}|seed:{self.seed}|{self.decision.signature}"

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """The number of each passage."""
        seed = f"coin-{self.seed}"
        tossed = (
            text_hash([seed, each.id or "", each.author or "", each.response]) / 2**64
            for each in iterate_passages(passages)
        )
        return np.fromiter(tossed, dtype=float, count=len(passages))

    def save(self, folder: Path) -> dict[str, Any]:
        """Give the settings to remember; there is nothing else."""
        return {"seed": self.seed}

    @classmethod
    def load(cls, folder: Path, settings: dict[str, Any], **_: Any) -> "CoinScorer":
        """A scorer as `save` wrote it."""
        return cls(settings["seed"], settings["name"], decision_of(settings))


class _ContextAblation(ABC):
    """A scorer that sees edited passages; its scale and decision are those of the one inside."""

    kind = ""

    def __init__(self, scorer: Any, name: str = "", decision: Decision | None = None):
        self.scorer = scorer
        self.name = name or f"{scorer.name} ({self.kind})"
        self.decision = decision or scorer.decision
        self.higher_is_human = scorer.higher_is_human

    @abstractmethod
    def edited(self, passages: Passages | Sequence[Passage]) -> Passages:
        """What the scorer inside gets to see."""

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """Scores of the edited passages."""
        return self.scorer(self.edited(passages)) if len(passages) else np.zeros(0)

    @property
    def signature(self) -> str:
        """How its numbers are made."""
        return f"{self.kind}({self.scorer.signature})|{self.decision.signature}"

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the scorer inside to a folder of its own; give the settings to remember."""
        save_scorer(self.scorer, folder / INNER)
        return {}


class ResponseOnlyScorer(_ContextAblation):
    """A scorer that does not see the context.

    Each context becomes the single turn "…" of whoever spoke last, since every scorer expects a
    turn, and an empty one would be an input that it has never met.

    Args:
        scorer (`Scorer`):
            The one that judges.
    """

    kind = "response-only"

    def edited(self, passages: Passages | Sequence[Passage]) -> Passages:
        """The passages with the one neutral turn as context."""
        return to_passages(_without_context(each) for each in iterate_passages(passages))

    @classmethod
    def load(cls, folder: Path, settings: dict[str, Any], **options: Any) -> "ResponseOnlyScorer":
        """A scorer as `save` wrote it; `options` go to the one inside."""
        scorer = load_scorer(folder / INNER, **options)
        return cls(scorer, settings["name"], decision_of(settings))


class ShuffledContextScorer(_ContextAblation):
    """A scorer that sees each response after the context of another dialogue.

    All contexts of the given passages are used, each as often as before: a permutation in which
    every one goes to another dialogue. It depends on the set of passages, not on their order.

    Args:
        scorer (`Scorer`):
            The one that judges.
        seed (`int`, *optional*, defaults to 0):
            Of the permutation.
    """

    kind = "shuffled-context"

    def __init__(
        self, scorer: Any, seed: int = 0, name: str = "", decision: Decision | None = None
    ):
        super().__init__(scorer, name, decision)
        self.seed = int(seed)

    def edited(self, passages: Passages | Sequence[Passage]) -> Passages:
        """The passages with one another's contexts."""
        table = as_table(passages)
        donors = iterate(table.select(self._donors(table), keep_in_memory=True))
        rows = zip(iterate(table), donors, strict=True)
        return to_passages(replace(each, context=donor.context) for each, donor in rows)

    def _donors(self, table: Passages) -> np.ndarray:
        """For each row the row that gives the context."""
        by_content = np.argsort(row_hashes(table, ["id", "author", "context", "response"]))
        groups = row_hashes(table, ["dialogue_id"])[by_content]
        donors = np.empty_like(by_content)
        rng = np.random.default_rng(self.seed)
        donors[by_content] = by_content[derangement(groups, rng)]
        return donors

    @property
    def signature(self) -> str:
        """How its numbers are made."""
        return f"{super().signature}|seed:{self.seed}"

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the scorer inside to a folder of its own; give the settings to remember."""
        return {**super().save(folder), "seed": self.seed}

    @classmethod
    def load(
        cls, folder: Path, settings: dict[str, Any], **options: Any
    ) -> "ShuffledContextScorer":
        """A scorer as `save` wrote it; `options` go to the one inside."""
        scorer = load_scorer(folder / INNER, **options)
        return cls(scorer, settings["seed"], settings["name"], decision_of(settings))


def _without_context(passage: Passage) -> Passage:
    speaker = passage.context[-1].speaker if passage.context else "A"
    return replace(passage, context=(Turn(speaker, NEUTRAL),))


def _length_features(passages: Passages | Sequence[Passage]) -> np.ndarray:
    """Length, its logarithm, and their squares, shape `(n, 4)`."""
    counted = (count_tokens(each.response) for each in iterate_passages(passages))
    lengths = np.fromiter(counted, dtype=float, count=len(passages))
    logs = np.log1p(lengths)
    return np.column_stack([lengths, logs, lengths**2, logs**2])
