"""Room 6. Training: learning from passages, through Accelerate."""

from dialeval.training.supervised import DiscriminatorConfig, DiscriminatorTrainer

__all__ = ["DiscriminatorConfig", "DiscriminatorTrainer"]
