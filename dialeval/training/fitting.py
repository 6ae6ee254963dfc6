"""How evaluators that are trained in steps are fitted to pairs."""

from dataclasses import replace
from typing import Any

import numpy as np
from accelerate import Accelerator
from accelerate.utils import set_seed

from dialeval.dialogues import Passages, split
from dialeval.scorers.calibration import calibrate
from dialeval.scorers.fitting import FitContext
from dialeval.scorers.linear import SvmScorer
from dialeval.scorers.neural import NeuralScorer
from dialeval.scorers.representation import NeuralRepresentation
from dialeval.scorers.zeroshot import ZeroShotScorer
from dialeval.training.discriminator_settings import (
    DiscriminatorRun,
    apply_settings,
    evaluator_settings,
)
from dialeval.training.networks import build_network
from dialeval.training.supervised import DiscriminatorConfig, DiscriminatorTrainer

SHARES = {"train": 0.85, "validation": 0.15}


def fit_network(
    pairs: Passages, seed: int, context: FitContext, *, name: str = "network", **settings: Any
) -> NeuralScorer:
    """Train a network, keep the weights that validated best, and calibrate it.

    Args:
        pairs (`Passages`):
            Labelled pairs; a part of them validates where the context has no validation pairs.
        seed (`int`):
            Seed of the split, the weights and the batches.
        context (`FitContext`):
            What evaluators share.
        name (`str`, *optional*, defaults to `"network"`):
            Name in tables.
        settings:
            Settings of [`DiscriminatorRun`] and [`DiscriminatorConfig`].

    Returns:
        `NeuralScorer`: The trained discriminator.
    """
    run = apply_settings(DiscriminatorRun(), settings)
    config = replace(apply_settings(DiscriminatorConfig(), settings), seed=seed)
    train, validation = _parts(pairs, seed, context)
    set_seed(seed)
    model, tokenizer, form = build_network(run, train)
    accelerator = context.accelerator or Accelerator()
    trainer = DiscriminatorTrainer(
        model, tokenizer, form.limited(context.max_length), config, accelerator
    )
    for _ in trainer.train(train, validation):
        pass
    trainer.scorer.name = name
    calibrate(trainer.scorer, validation, choose_threshold=False, check_labels=False)
    return trainer.scorer


def fit_svm_features(
    pairs: Passages,
    seed: int,
    context: FitContext,
    *,
    run: DiscriminatorRun | None = None,
    config: DiscriminatorConfig | None = None,
) -> SvmScorer:
    """Unigrams, the hierarchical network's vector out of fold, and likelihoods both ways.

    The paper's "SVM + neural + multi-lex features" (Li et al., 2017, sec. 4.3). Likelihoods are
    left out where no model is named for them.

    Args:
        pairs (`Passages`):
            Labelled pairs; a part of them validates where the context has no validation pairs.
        seed (`int`):
            Seed of the folds and of the networks.
        context (`FitContext`):
            What evaluators share.
        run (`DiscriminatorRun`, *optional*):
            Size of the network and the models of the likelihoods.
        config (`DiscriminatorConfig`, *optional*):
            Settings of the network's training; by default those of the registry.

    Returns:
        `SvmScorer`: The fitted evaluator.
    """
    if run is None or config is None:
        run, config = evaluator_settings("hierarchical", DiscriminatorRun(), DiscriminatorConfig())
    network, training = replace(run, model="hierarchical"), replace(config, seed=seed)
    train, validation = _parts(pairs, seed, context)

    def represent(part: Passages) -> NeuralRepresentation:
        set_seed(seed)  # folds start from the same weights, so that dimensions agree
        model, tokenizer, form = build_network(network, train)
        trainer = DiscriminatorTrainer(
            model, tokenizer, form.limited(context.max_length), training, context.accelerator
        )
        for _ in trainer.train(part, validation):
            pass
        trainer.scorer.accelerator = None
        return NeuralRepresentation(trainer.scorer)

    likelihoods = {
        direction: ZeroShotScorer.from_pretrained(
            path, "log-probability", turned=direction == "backward"
        )
        for direction, path in (("forward", run.forward), ("backward", run.backward))
        if path
    }
    return SvmScorer.fit(
        train, seed, likelihoods, represent, name="svm-features", folds=context.folds
    )


def _parts(pairs: Passages, seed: int, context: FitContext) -> tuple[Passages, Passages]:
    """Pairs to train on, and pairs of other dialogues to validate on."""
    if context.validation is not None:
        return pairs, context.validation
    parts = split(pairs, SHARES, seed + 7)
    return _complete_pairs(parts["train"]), _complete_pairs(parts["validation"])


def _complete_pairs(pairs: Passages) -> Passages:
    """Rows whose pair is complete."""
    numbers = np.asarray(pairs["pair"])
    pair, counts = np.unique(numbers, return_counts=True)
    return pairs.select(np.flatnonzero(np.isin(numbers, pair[counts == 2])))
