"""Adversarial training of a generator, from a corpus to its table (Li et al., 2017)."""

from dialeval.protocols.regs.settings import METHODS, RegsRun
from dialeval.protocols.regs.study import RegsStudy, train_regs

__all__ = ["METHODS", "RegsRun", "RegsStudy", "train_regs"]
