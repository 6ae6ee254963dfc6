"""Adversarial evaluation of systems (Li et al., 2017, sec. 4), with tests of the evaluators."""

from dialeval.protocols.evaluation.inputs import EvaluationData, align, second_humans
from dialeval.protocols.evaluation.study import EvaluationRun, evaluate, reliability

__all__ = ["EvaluationData", "EvaluationRun", "align", "evaluate", "reliability", "second_humans"]
