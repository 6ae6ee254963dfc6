"""Does a system hold still when it should, and move when it must? (Niu and Bansal, 2018)"""

from dialeval.protocols.robustness.answers import Answers, answered, second_draw, stored_answers
from dialeval.protocols.robustness.cases import Case, make_cases, stored_case
from dialeval.protocols.robustness.judges import fit_judge
from dialeval.protocols.robustness.settings import RobustnessRun
from dialeval.protocols.robustness.study import robustness
from dialeval.protocols.robustness.verdicts import verdict

__all__ = [
    "Answers",
    "Case",
    "RobustnessRun",
    "answered",
    "fit_judge",
    "make_cases",
    "robustness",
    "second_draw",
    "stored_answers",
    "stored_case",
    "verdict",
]
