"""Scorers: evaluators and discriminators behind one interface, and their registry."""

from dialeval.scorers.base import Decision, Scorer, is_human
from dialeval.scorers.folders import load_scorer, save_scorer

__all__ = ["Decision", "Scorer", "is_human", "load_scorer", "save_scorer"]
