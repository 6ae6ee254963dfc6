"""Room 5. Scorers: who judges, behind one interface."""

from dialeval.scorers.base import Decision, Scorer, is_human
from dialeval.scorers.folders import load_scorer, save_scorer

__all__ = ["Decision", "Scorer", "is_human", "load_scorer", "save_scorer"]
