"""Robustness of systems and evaluators to perturbed contexts (Niu and Bansal, 2018)."""

from dialeval.protocols.robustness.answers import (
    Answers,
    collect_answers,
    second_draw,
    stored_answers,
)
from dialeval.protocols.robustness.cases import Case, make_cases, stored_case
from dialeval.protocols.robustness.evaluators import fit_evaluator
from dialeval.protocols.robustness.study import robustness
from dialeval.protocols.robustness.verdicts import verdict
from dialeval.settings.robustness import RobustnessRun

__all__ = [
    "Answers",
    "Case",
    "RobustnessRun",
    "collect_answers",
    "fit_evaluator",
    "make_cases",
    "robustness",
    "second_draw",
    "stored_answers",
    "stored_case",
    "verdict",
]
