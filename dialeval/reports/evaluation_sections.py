"""Deprecated names, only until reports/att and reports/robustness use the new modules."""

from dialeval.reports.drawing import line_classes as line_kinds  # noqa: F401
from dialeval.reports.format import flatten as flat  # noqa: F401
