"""Training of discriminators and generators with Accelerate, and the attack-defence game."""

from dialeval.training.likelihood import GeneratorConfig, GeneratorTrainer
from dialeval.training.supervised import DiscriminatorConfig, DiscriminatorTrainer

__all__ = ["DiscriminatorConfig", "DiscriminatorTrainer", "GeneratorConfig", "GeneratorTrainer"]
