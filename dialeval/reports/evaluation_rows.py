"""Deprecated names, only until reports/att and reports/robustness use `format.py`."""

import math
from collections.abc import Mapping
from typing import Any

from dialeval.reports.format import NONE as NONE
from dialeval.reports.format import clean_text as cleaned  # noqa: F401
from dialeval.reports.format import format_count as count  # noqa: F401
from dialeval.reports.format import format_interval
from dialeval.reports.format import format_share as share  # noqa: F401
from dialeval.reports.format import format_signed as signed  # noqa: F401
from dialeval.reports.format import one_line as one_line


def number(result: Mapping[str, Any], name: str) -> float | None:
    value = result.get(name, (result.get("details") or {}).get(name))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and math.isfinite(value) else None


def between(result: Mapping[str, Any]) -> str:
    return format_interval(number(result, "low"), number(result, "high"))
