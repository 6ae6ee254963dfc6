"""Comparison of evaluation runs, context by context, and conditions that a run must meet."""

from dialeval.metrics.comparison_results import Comparison, Pair, SystemSummary
from dialeval.protocols.comparison.checks import Check, assert_metrics, check_run
from dialeval.protocols.comparison.compare import compare_runs
from dialeval.protocols.comparison.decisions import Decisions, run_names, signature_parts
from dialeval.protocols.comparison.pairs import detectable_difference

__all__ = [
    "Check",
    "Comparison",
    "Decisions",
    "Pair",
    "SystemSummary",
    "assert_metrics",
    "check_run",
    "compare_runs",
    "detectable_difference",
    "run_names",
    "signature_parts",
]
