"""People: studies of human judgements, and items for the annotation page."""

from dialeval.protocols.people.checks import attention_checks
from dialeval.protocols.people.crowd import import_results, write_tasks
from dialeval.protocols.people.runs import data_of_run, scores_of_run, scores_of_scorer
from dialeval.protocols.people.sampling import AnnotationData, chat_items, sample_items
from dialeval.protocols.people.scores import MetricScores, read_scores
from dialeval.protocols.people.study import study_judgements

__all__ = [
    "AnnotationData",
    "MetricScores",
    "attention_checks",
    "chat_items",
    "data_of_run",
    "import_results",
    "read_scores",
    "sample_items",
    "scores_of_run",
    "scores_of_scorer",
    "study_judgements",
    "write_tasks",
]
