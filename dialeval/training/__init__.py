"""Room 6. Training: learning from passages, through Accelerate."""

from dialeval.training.likelihood import GeneratorConfig, GeneratorTrainer
from dialeval.training.supervised import DiscriminatorConfig, DiscriminatorTrainer

__all__ = ["DiscriminatorConfig", "DiscriminatorTrainer", "GeneratorConfig", "GeneratorTrainer"]
