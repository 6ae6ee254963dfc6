"""Evaluators by name: how each is fitted to pairs, and the references beside them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from accelerate import Accelerator
from accelerate.utils import set_seed

from dialeval.dialogues import Passages, split
from dialeval.metrics.results import REFERENCES
from dialeval.models.embedding import CachedEmbedder
from dialeval.protocols.evaluation.frozen import evaluator_name, frozen_names
from dialeval.protocols.evaluator_comparison import NETWORK_SETTINGS, with_settings
from dialeval.scorers.baselines import CoinScorer, LengthScorer
from dialeval.scorers.calibration import calibrate
from dialeval.scorers.embedding import EmbeddingScorer
from dialeval.scorers.linear import SvmScorer
from dialeval.scorers.words import WordCache
from dialeval.training import DiscriminatorConfig, DiscriminatorTrainer
from dialeval.training.discriminator import DiscriminatorRun, build

DEFAULT = ("svm-unigram", "embedding")
NETWORKS = ("hierarchical", "concat", "attention", "rnn", "minilm")


@dataclass
class FitContext:
    """What judges share: texts that were read once, and where networks run."""

    embed: Any = field(default_factory=CachedEmbedder)
    words: WordCache = field(default_factory=WordCache)
    accelerator: Accelerator | None = None
    max_length: int | None = 128


Fit = Callable[[Passages, int, FitContext], Any]


def _network(name: str) -> Fit:
    def fit(pairs: Passages, seed: int, fit_context: FitContext) -> Any:
        settings = NETWORK_SETTINGS[name]
        run = with_settings({"model": name, **settings}, DiscriminatorRun())
        config = replace(with_settings(settings, DiscriminatorConfig()), seed=seed)
        parts = split(pairs, {"train": 0.85, "validation": 0.15}, seed + 7)
        parts = {key: _whole_pairs(part) for key, part in parts.items()}
        set_seed(seed)
        model, tokenizer, form = build(run, parts["train"])
        accelerator = fit_context.accelerator or Accelerator()
        trainer = DiscriminatorTrainer(
            model, tokenizer, form.limited(fit_context.max_length), config, accelerator
        )
        for _ in trainer.train(parts["train"], parts["validation"]):
            pass
        trainer.scorer.name = name
        calibrate(trainer.scorer, parts["validation"], choose_threshold=False)
        return trainer.scorer

    return fit


EVALUATORS: dict[str, Fit] = {
    "svm-unigram": lambda pairs, seed, fit_context: SvmScorer.fit(
        pairs, seed=seed, name="svm-unigram", words=fit_context.words, folds=3
    ),
    "embedding": lambda pairs, seed, fit_context: EmbeddingScorer.fit(
        pairs, seed, fit_context.embed
    ),
    **{name: _network(name) for name in NETWORKS},
    "length": lambda pairs, seed, fit_context: LengthScorer.fit(pairs),
    "coin": lambda pairs, seed, fit_context: CoinScorer(seed),
}
"""How an evaluator of each name is fitted to pairs."""


def resolve_evaluators(names: list[str] | None) -> list[str]:
    """Evaluators to use: the default ones, all, or those named; references come last.

    Those that are not trained here are called as [`evaluator_name`] says.
    """
    every = [name for name in EVALUATORS if name not in REFERENCES]
    wanted = [each for text in names or DEFAULT for each in (every if text == "all" else [text])]
    frozen_names(wanted, EVALUATORS)  # refuses unknown names
    found = (evaluator_name(text, EVALUATORS) for text in wanted)
    return [*dict.fromkeys(name for name in found if name not in REFERENCES), *REFERENCES]


def _whole_pairs(pairs: Passages) -> Passages:
    """Those of some rows whose pair is complete."""
    numbers = np.asarray(pairs["pair"])
    found, counts = np.unique(numbers, return_counts=True)
    return pairs.select(np.flatnonzero(np.isin(numbers, found[counts == 2])))
