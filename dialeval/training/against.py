"""Which trainer a generator gets: likelihood alone, against perturbations, or with a reward."""

from dataclasses import replace
from pathlib import Path

from accelerate import Accelerator

from dialeval.dialogues import BadInput, Passages
from dialeval.responders.generators import Generator
from dialeval.settings.against import AgainstConfig
from dialeval.settings.training import NEW, GeneratorConfig, GeneratorRun
from dialeval.training.likelihood import GeneratorTrainer
from dialeval.training.perturbed import resolve_strategies
from dialeval.training.prepared import refuse_sharding
from dialeval.training.reranking import Reranking
from dialeval.training.robust import RobustTrainer


def make_trainer(
    generator: Generator,
    passages: Passages,
    config: GeneratorConfig,
    against: AgainstConfig,
    accelerator: Accelerator | None = None,
    checkpoint: Path | None = None,
) -> GeneratorTrainer:
    """The trainer that the settings ask for.

    Args:
        generator (`Generator`):
            The generator, trained in place.
        passages (`Passages`):
            Training passages.
        config (`GeneratorConfig`):
            Settings of the trainer.
        against (`AgainstConfig`):
            Strategies to train against, and the weight of the reward of Reranking-RL.
        accelerator (`Accelerator`, *optional*):
            Where and how to run.
        checkpoint (`Path`, *optional*):
            Folder of its checkpoint.

    Returns:
        `GeneratorTrainer`: Ready to train.
    """
    if (against.names or against.rl_weight) and config.kl_steps < 0:
        config = replace(config, kl_steps=0)  # the first training raised the weight to 1
    is_sampled = against.rl_weight or (against.names and against.margin_target != "gold")
    if is_sampled and accelerator is not None:
        refuse_sharding(accelerator, "a training on the generator's own responses")
    trainer: GeneratorTrainer
    if against.names:
        strategies = resolve_strategies(against, generator.tokenizer)
        trainer = RobustTrainer(
            generator, passages, strategies, against, config, accelerator, checkpoint
        )
    else:
        trainer = GeneratorTrainer(generator, passages, config, accelerator, checkpoint)
    if against.rl_weight:
        longest = int(trainer.examples.responses.sizes.max())
        trainer.reranking = Reranking(generator, passages, against, longest, config.seed)
    return trainer


def check_start(run: GeneratorRun, against: AgainstConfig | None) -> None:
    """Refuse to train a new model against perturbations, or for a reward of its own."""
    if against is None or run.model not in NEW or not (against.names or against.rl_weight):
        return
    raise BadInput(
        f"this training continues from a trained generator, not from a new {run.model}.",
        hint="Train one first, and give its folder as --model.",
    )


def against_facts(against: AgainstConfig) -> list[str]:
    """What a generator was trained for beside the likelihood, for a signature."""
    facts = []
    if against.names:
        facts += [f"against:{'+'.join(against.names)}", f"margin:{against.margin}"]
        facts += [f"alpha:{against.margin_weight}", f"target:{against.margin_target}"]
        facts += [f"preset:{against.strategy_preset}"]
    if against.rl_weight:
        facts += [f"reranking:{against.rl_weight}", f"contexts:{against.rl_contexts}"]
    return facts
