"""Outcomes of conditions where other tools read them: JUnit XML, a comment in Markdown, JSON."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from dialeval.metrics.gate_results import (
    EXIT_CODES,
    FAILED,
    NOT_MEASURED,
    PASSED,
    AnyCheck,
    check_record,
    status_of,
)
from dialeval.reports.evaluation.text import escape_markdown

_SIGNS = {PASSED: "✅", FAILED: "❌", NOT_MEASURED: "⚠️"}
_TITLES = {PASSED: "passed", FAILED: "failed", NOT_MEASURED: "not measured"}
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(checks: Sequence[AnyCheck], run: str, allow_unmeasured: bool = False) -> str:
    """The outcomes as JUnit XML: one test case per condition, system and evaluator.

    Args:
        checks (`Sequence[AnyCheck]`):
            The conditions.
        run (`str`):
            Name of the run.
        allow_unmeasured (`bool`, *optional*, defaults to `False`):
            Whether a condition without a number is a skipped test and not an error.

    Returns:
        `str`: The document.
    """
    counts = Counter(check.status for check in checks)
    unmeasured = "skipped" if allow_unmeasured else "error"
    suite = ElementTree.Element("testsuite", name=_xml_text(f"dialeval check {run}"))
    suite.set("tests", str(len(checks)))
    suite.set("failures", str(counts[FAILED]))
    suite.set("errors", str(0 if allow_unmeasured else counts[NOT_MEASURED]))
    suite.set("skipped", str(counts[NOT_MEASURED] if allow_unmeasured else 0))
    for check in checks:
        names = [name for name in (check.title, check.system, check.evaluator) if name]
        case = ElementTree.SubElement(suite, "testcase", name=_xml_text(", ".join(names)))
        case.set("classname", _xml_text(f"dialeval.{check.system or 'run'}"))
        if check.status != PASSED:
            tag = "failure" if check.status == FAILED else unmeasured
            ElementTree.SubElement(case, tag, message=_xml_text(check.finding))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def comment_markdown(checks: Sequence[AnyCheck], run: str, allow_unmeasured: bool = False) -> str:
    """The outcomes as a comment on a pull request.

    Args:
        checks (`Sequence[AnyCheck]`):
            The conditions.
        run (`str`):
            Name of the run.
        allow_unmeasured (`bool`, *optional*, defaults to `False`):
            Whether conditions without a number do not count.

    Returns:
        `str`: A heading and a table.
    """
    status = status_of(checks, allow_unmeasured)
    counts = Counter(check.status for check in checks)
    numbers = ", ".join(f"{counts[name]} {_TITLES[name]}" for name in _TITLES if counts[name])
    lines = [f"### {_SIGNS[status]} dialeval: {_TITLES[status]}", ""]
    lines += [f"Run {escape_markdown(run)}: {numbers}.", ""]
    lines += ["| | condition | system | evaluator | result |", "|---|---|---|---|---|"]
    for check in checks:
        cells = (check.title, check.system, check.evaluator, check.finding)
        row = " | ".join(escape_markdown(cell) for cell in cells)
        lines.append(f"| {_SIGNS[check.status]} | {row} |")
    return "\n".join(lines) + "\n"


def gate_record(
    checks: Sequence[AnyCheck], run: str, allow_unmeasured: bool = False
) -> dict[str, Any]:
    """The outcomes as JSON has them.

    Args:
        checks (`Sequence[AnyCheck]`):
            The conditions.
        run (`str`):
            Name of the run.
        allow_unmeasured (`bool`, *optional*, defaults to `False`):
            Whether conditions without a number do not count.

    Returns:
        `dict`: `status`, `exit_code` and a list `checks`.
    """
    status = status_of(checks, allow_unmeasured)
    records = [check_record(check) for check in checks]
    return {"run": run, "status": status, "exit_code": EXIT_CODES[status], "checks": records}


def _xml_text(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    return _NOT_XML.sub("�", text)
