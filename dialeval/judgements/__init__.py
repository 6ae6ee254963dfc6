"""What people said: judgements, their agreement, preferences, and correlation with metrics."""

from dialeval.judgements.agreement import (
    AgreementResult,
    agreement,
    count_table,
    fleiss_pi,
    krippendorff_alpha,
    majority_answers,
)
from dialeval.judgements.annotators import AnnotatorQuality, annotator_quality
from dialeval.judgements.classes import ClassScores, Detection, detection
from dialeval.judgements.correlation import (
    Correlation,
    correlate,
    williams_test,
)
from dialeval.judgements.planning import judgements_for_preference, judgements_for_share
from dialeval.judgements.preference import (
    Strength,
    WinRateResult,
    bradley_terry,
    ratings_as_preferences,
    win_rate,
)
from dialeval.judgements.tables import Judgement, read_judgements, write_judgements

__all__ = [
    "AgreementResult",
    "AnnotatorQuality",
    "ClassScores",
    "Correlation",
    "Detection",
    "Judgement",
    "Strength",
    "WinRateResult",
    "agreement",
    "annotator_quality",
    "bradley_terry",
    "correlate",
    "count_table",
    "detection",
    "fleiss_pi",
    "judgements_for_preference",
    "judgements_for_share",
    "krippendorff_alpha",
    "majority_answers",
    "ratings_as_preferences",
    "read_judgements",
    "williams_test",
    "win_rate",
    "write_judgements",
]
