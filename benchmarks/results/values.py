"""Numbers of tables inside texts, so that a sentence never says another number than its table.

`[[li_table2: HRED; stack | value]]` stands for the cell of the column `value` in the row that has
the cells `HRED` and `stack`; `| value only]]` leaves its interval out, and `| value mean]]` is the
mean over all rows that have the cells, as those of several seeds.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean

from benchmarks.results.store import Cell, Number, TableResult
from dialeval.errors import BadInput

_REFERENCE = re.compile(r"\[\[(?P<table>[\w-]+): (?P<cells>[^|\]]+) \| (?P<column>[^\]]+)\]\]")
_ALONE, _MEAN = " only", " mean"


def filled(text: str, results: Mapping[str, TableResult]) -> str:
    """A text with the numbers that it refers to.

    Args:
        text (`str`):
            With references.
        results (`Mapping[str, TableResult]`):
            Stored results by name.

    Returns:
        `str`: Without references.

    Raises:
        BadInput: A reference has no table or column, or not exactly one row.

    Examples:
        >>> from benchmarks.results.store import PartResult
        >>> part = PartResult([["bot", "svm", Number(0.25, 0.2, 0.3)]], "", 0.0)
        >>> toy = TableResult("toy", "", {}, ["system", "by", "ERE"], ["all"], {"all": part})
        >>> filled("ERE is [[toy: bot; svm | ERE]], or [[toy: bot | ERE only]].", {"toy": toy})
        'ERE is .250 [.200, .300], or .250.'
    """
    from benchmarks.results.page import format_cell

    def number(match: re.Match[str]) -> str:
        return format_cell(_cell(match, results))

    return _REFERENCE.sub(number, text)


def is_complete(text: str, results: Mapping[str, TableResult]) -> bool:
    """Whether everything that a text refers to has been computed."""
    try:
        filled(text, results)
    except BadInput:
        return False
    return True


def _cell(match: re.Match[str], results: Mapping[str, TableResult]) -> Cell:
    """The cell that a reference stands for."""
    result, column = results.get(match["table"]), match["column"]
    name = column.removesuffix(_ALONE).removesuffix(_MEAN)
    if result is None or name not in result.columns:
        raise BadInput(f"{match[0]}: there is no such table or column.")
    wanted = set(match["cells"].split("; "))
    rows = [row for part in result.parts.values() for row in part.rows if wanted <= _texts(row)]
    cells = [row[result.columns.index(name)] for row in rows]
    if column.endswith(_MEAN):
        values = [cell.value for cell in cells if isinstance(cell, Number)]
        if len(values) < 2:
            raise BadInput(f"{match[0]}: {len(values)} rows with a number, expected several.")
        return Number(fmean(values))
    if len(cells) != 1:
        raise BadInput(f"{match[0]}: {len(cells)} rows have these cells, expected one.")
    cell = cells[0]
    if isinstance(cell, Number) and column.endswith(_ALONE):
        return replace(cell, low=None, high=None)
    return cell


def _texts(row: list[Cell]) -> set[str]:
    return {cell for cell in row if isinstance(cell, str)}
