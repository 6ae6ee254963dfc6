"""Evaluators by name: how each is fitted to pairs, and the references beside them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from accelerate import Accelerator
from accelerate.utils import set_seed

from dialeval.dialogues import Passages, split
from dialeval.metrics.results import REFERENCES
from dialeval.models.embedding import Remembered
from dialeval.protocols.discriminator import DiscriminatorRun, build
from dialeval.protocols.evaluation.fixed import fixed_names, judge_name
from dialeval.protocols.evaluators import EVALUATORS, with_settings
from dialeval.scorers.baselines import CoinScorer, LengthScorer
from dialeval.scorers.calibration import calibrate
from dialeval.scorers.embedding import EmbeddingScorer
from dialeval.scorers.linear import SvmScorer
from dialeval.scorers.words import WordCache
from dialeval.training import DiscriminatorConfig, DiscriminatorTrainer

DEFAULT = ("svm-unigram", "embedding")
NETWORKS = ("hierarchical", "concat", "attention", "rnn", "minilm")


@dataclass
class Bench:
    """What judges share: texts that were read once, and where networks run."""

    embed: Any = field(default_factory=Remembered)
    words: WordCache = field(default_factory=WordCache)
    accelerator: Accelerator | None = None
    max_length: int | None = 128


Fit = Callable[[Passages, int, Bench], Any]


def _network(name: str) -> Fit:
    def fit(pairs: Passages, seed: int, bench: Bench) -> Any:
        settings = EVALUATORS[name]
        run = with_settings({"model": name, **settings}, DiscriminatorRun())
        config = replace(with_settings(settings, DiscriminatorConfig()), seed=seed)
        parts = split(pairs, {"train": 0.85, "validation": 0.15}, seed + 7)
        parts = {key: _whole_pairs(part) for key, part in parts.items()}
        set_seed(seed)
        model, tokenizer, form = build(run, parts["train"])
        accelerator = bench.accelerator or Accelerator()
        trainer = DiscriminatorTrainer(
            model, tokenizer, form.limited(bench.max_length), config, accelerator
        )
        for _ in trainer.train(parts["train"], parts["validation"]):
            pass
        trainer.scorer.name = name
        calibrate(trainer.scorer, parts["validation"], choose_threshold=False)
        return trainer.scorer

    return fit


JUDGES: dict[str, Fit] = {
    "svm-unigram": lambda pairs, seed, bench: SvmScorer.fit(
        pairs, seed=seed, name="svm-unigram", words=bench.words, folds=3
    ),
    "embedding": lambda pairs, seed, bench: EmbeddingScorer.fit(pairs, seed, bench.embed),
    **{name: _network(name) for name in NETWORKS},
    "length": lambda pairs, seed, bench: LengthScorer.fit(pairs),
    "coin": lambda pairs, seed, bench: CoinScorer(seed),
}
"""How an evaluator of each name is fitted to pairs."""


def chosen(names: list[str] | None) -> list[str]:
    """Evaluators to use: the default ones, all, or those named; references come last.

    Those that are not trained here are called as [`judge_name`] says.
    """
    every = [name for name in JUDGES if name not in REFERENCES]
    wanted = [each for text in names or DEFAULT for each in (every if text == "all" else [text])]
    fixed_names(wanted, JUDGES)  # refuses unknown names
    found = (judge_name(text, JUDGES) for text in wanted)
    return [*dict.fromkeys(name for name in found if name not in REFERENCES), *REFERENCES]


def _whole_pairs(pairs: Passages) -> Passages:
    """Those of some rows whose pair is complete."""
    numbers = np.asarray(pairs["pair"])
    found, counts = np.unique(numbers, return_counts=True)
    return pairs.select(np.flatnonzero(np.isin(numbers, found[counts == 2])))
