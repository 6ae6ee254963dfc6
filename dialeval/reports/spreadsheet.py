"""The numbers of a run as CSV for spreadsheets, in which no text is taken for a formula."""

import csv
import io
import json
from typing import Any

from dialeval.metrics.results import RunResults
from dialeval.reports.format import one_line

COLUMNS = ("metric", "system", "evaluator", "value", "low", "high", "n", "signature", "details")
_FORMULA = ("=", "+", "-", "@")


def to_csv(results: RunResults) -> str:
    """One line per number: unrounded, with its interval, n, signature and details (as JSON).

    Examples:
        >>> from dialeval.metrics.results import Result
        >>> row = Result("adversuc", "=1+1", "svm", -0.5, -0.6, -0.4, 400, "s")
        >>> print(to_csv(RunResults(results=(row,))).splitlines()[1])
        adversuc,'=1+1,svm,-0.5,-0.6,-0.4,400,s,{}
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for result in results.results:
        row = result.to_dict()
        row["details"] = json.dumps(row["details"], ensure_ascii=False)
        writer.writerow([_cell(row[name]) for name in COLUMNS])
    return text.getvalue()


def _cell(value: Any) -> Any:
    """A number as it is, a text in one line; one that a spreadsheet would run gets a quote."""
    if value is None or isinstance(value, int | float):
        return value
    text = one_line(value)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
