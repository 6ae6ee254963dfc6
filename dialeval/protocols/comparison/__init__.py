"""Comparison of evaluation runs, context by context, and conditions that a run must meet."""

from dialeval.metrics.comparison_results import Comparison, Pair, SystemSummary
from dialeval.metrics.gate_results import Check, VerdictCheck
from dialeval.protocols.comparison.checks import assert_metrics, check_run, check_verdicts
from dialeval.protocols.comparison.compare import compare_runs
from dialeval.protocols.comparison.decisions import Decisions, run_names, signature_parts
from dialeval.protocols.comparison.pairs import detectable_difference

__all__ = [
    "Check",
    "Comparison",
    "Decisions",
    "Pair",
    "SystemSummary",
    "VerdictCheck",
    "assert_metrics",
    "check_run",
    "check_verdicts",
    "compare_runs",
    "detectable_difference",
    "run_names",
    "signature_parts",
]
