"""People: studies of human judgements, and items for the annotation page."""

from dialeval.protocols.people.scores import MetricScores, read_scores
from dialeval.protocols.people.study import study_judgements

__all__ = ["MetricScores", "read_scores", "study_judgements"]
