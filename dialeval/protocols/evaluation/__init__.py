"""Adversarial evaluation (Li et al., 2017, sec. 4): systems before judges that are tested too."""

from dialeval.protocols.evaluation.inputs import EvaluationData, align, second_humans
from dialeval.protocols.evaluation.study import EvaluationRun, evaluate, reliability

__all__ = ["EvaluationRun", "EvaluationData", "align", "evaluate", "reliability", "second_humans"]
