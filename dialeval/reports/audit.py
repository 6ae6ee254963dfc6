"""An audit: the share with its interval for the terminal, and a page that says what it shows."""

from collections.abc import Sequence
from io import StringIO
from pathlib import Path

from markupsafe import Markup
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from dialeval.files import atomic_write_text
from dialeval.metrics.audit_results import (
    AT_MOST,
    KNOWN_ONLY,
    SHARE,
    UNLIKE,
    AuditGroup,
    AuditResults,
    ScoreBin,
    stated_share,
)
from dialeval.reports.drawing import Frame
from dialeval.reports.format import (
    NONE,
    first_clause,
    format_p_value,
    format_percent,
    one_line,
    plural,
)
from dialeval.reports.ranking import RankedBar, ranking
from dialeval.reports.sections import AnswerView, SectionView, TableView, render_sections

STANDING_OUT = 5
"""Groups on the first screen."""
IN_TERMINAL, IN_PAGE = (10, 20), (200, 1_000)
"""Groups that are listed, and most of them where more stand out."""
_TITLES = {
    SHARE: "About {} of the replies are machine-written",
    KNOWN_ONLY: "About {} of the replies are like the machine file; no share of all machines",
    AT_MOST: "At most {} of the replies are like the machine file",
    UNLIKE: "At least {} of the replies are unlike the reference",
}
_CAN = (
    "It estimates which share of the replies machines wrote, over all of them or by group, with "
    "an interval. The evaluator's errors are corrected for: how often it takes a human for a "
    "machine, and the reverse, is measured on the known replies.",
    "The interval covers the choice of dialogues in all three samples and the training of the "
    "evaluator. It does not cover humans or machines of the data who write differently from the "
    "known ones: a machine that is not in the machine file can be missed, and people who are not "
    "in the reference (other topics, second-language writers, a formal style) can count as "
    "machines. The checks below find some such cases, not all. Where they find that the data are "
    "no mixture of the known samples, no share is given, only what looks like the machine file.",
)
_CANNOT = (
    "It does not show that a given reply, or a given person's reply, was written by a machine, "
    "and must not be used as evidence against a person. A group that stands out is a reason to "
    "look at how its replies were collected. Of the groups that stand out, the false discovery "
    "rate is the share that do so by chance; an unusual style alone can also do it."
)
_POOLED = (
    "Shares are partially pooled: a group with few replies is drawn towards the others. P-values "
    "compare a group with as many replies and dialogues of known humans; q-values are adjusted for "
    "the number of groups (Benjamini and Hochberg)."
)


def audit_tables(results: AuditResults) -> list[RenderableType]:
    """The result, the checks and the groups, for the terminal."""
    parts: list[RenderableType] = [Text(one_line(results.text), style="bold")]
    for check in results.checks:
        mark, style = ("ok", "green") if check.passed else ("CHECK", "yellow")
        parts.append(Text(f"{mark}: ", style=style).append(one_line(check.text), style="default"))
    if results.groups:
        shown = _shown(results.groups, IN_TERMINAL)
        parts += [Text(), _group_table(results, shown)]
        hidden = len(results.groups) - len(shown)
        if hidden:
            parts.append(Text(f"... and {plural(hidden, 'group')} more in results.json"))
        parts.append(Text("No group is an accusation: see the report.", style="dim"))
    return parts


def _shown(groups: Sequence[AuditGroup], limits: tuple[int, int]) -> list[AuditGroup]:
    """The groups that stand out up to the second number, and others up to the first."""
    count = max(limits[0], sum(group.stands_out for group in groups))
    return list(groups[: min(count, limits[1])])


def _group_rows(groups: Sequence[AuditGroup]) -> list[list[str]]:
    return [
        [
            one_line(group.name), f"{group.replies:,}", f"{group.dialogues:,}",
            f"{100 * group.share:.0f} % [{100 * group.low:.0f}, {100 * group.high:.0f}]",
            f"{100 * group.unpooled:.0f} %",
            format_p_value(group.p_value), format_p_value(group.q_value),
            "stands out" if group.stands_out else "",
        ]
        for group in groups
    ]  # fmt: skip


_HEADS = ("replies", "dialogues", "share", "alone", "p-value", "q-value", "")


def _group_table(results: AuditResults, groups: Sequence[AuditGroup]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column(one_line(results.by or "group"), overflow="fold")
    for name in _HEADS:
        table.add_column(name, justify="right")
    for row in _group_rows(groups):
        table.add_row(*map(Text, row), style="bold" if row[-1] else "")
    return table


def to_text(results: AuditResults) -> str:
    """Result, checks and groups as plain text."""
    console = Console(width=110, record=True, file=StringIO())
    for part in audit_tables(results):
        console.print(part)
    return console.export_text()


def notebook_html(results: AuditResults) -> str:
    """Result, checks and groups for a notebook."""
    return str(Markup("<pre>{}</pre>").format(to_text(results)))


def write_audit_report(run: Path) -> Path:
    """Write `report.html` of a finished audit; returns its path."""
    return atomic_write_text(run / "report.html", audit_page(AuditResults.load(run)))


def audit_page(results: AuditResults) -> str:
    """The report as one self-contained page."""
    sections = [
        _check_section(results),
        _limits_section(),
        _score_section(results.bins),
        _group_section(results),
    ]
    return render_sections(
        "How many of these replies did machines write?", _lead(results), sections, results,
        answers=[_answer(results)],
    )  # fmt: skip


def _lead(results: AuditResults) -> str:
    item = results.results[0]
    dialogues = plural(int(item.details["dialogues"]), "dialogue")
    return f"{item.n:,} replies in {dialogues}, by the evaluator {item.evaluator}."


def _answer(results: AuditResults) -> AnswerView:
    """The share with its interval, and what it rests on."""
    item = results.results[0]
    title = _TITLES[results.kind].format(format_percent(stated_share(results.kind, item, 2)))
    if _none_shown(results):
        title = f"No sign of machine-written replies: at most {format_percent(item.high)} are"
    bar = RankedBar(
        "share", item.value, f"interval {100 * item.low:.0f} to {100 * item.high:.0f} %", item.low,
        item.high,
    )  # fmt: skip
    checks, passed = len(results.checks), sum(check.passed for check in results.checks)
    trust = [f"Can I trust it? {passed} of {plural(checks, 'check')} passed."] if checks else []
    lines = [one_line(results.text), *_group_lines(results), *trust, f"What next: {_next(results)}"]
    failed = [first_clause(check.text, 110) for check in results.checks if not check.passed]
    return AnswerView(
        title, lines, "The estimate with its interval, from 0 to 100 % of the replies.",
        ranking([bar, *_group_bars(results)], in_order=True), failed,
        [f"{'Passed' if check.passed else 'Failed'}: {check.text}" for check in results.checks],
        "open" if failed else "noise", "The checks",
    )  # fmt: skip


def _group_lines(results: AuditResults) -> list[str]:
    """Which groups stand out, with their shares."""
    if not results.groups:
        return []
    names = [
        f"{one_line(group.name)} ({format_percent(group.share)})"
        for group in results.groups if group.stands_out
    ]  # fmt: skip
    verb = "stands" if len(names) == 1 else "stand"
    counted = f"{len(names):,} of {plural(len(results.groups), 'group')} {verb}"
    shown = f": {', '.join(names[:STANDING_OUT])}" if names else ""
    more = f" and {len(names) - STANDING_OUT:,} more" if len(names) > STANDING_OUT else ""
    return [f"By {results.by}: {counted} out{shown}{more}."]


def _group_bars(results: AuditResults) -> list[RankedBar]:
    """The first groups that stand out."""
    groups = [group for group in results.groups if group.stands_out][:STANDING_OUT]
    return [
        RankedBar(
            one_line(group.name), group.share, "stands out", group.low, group.high,
            f"{100 * group.low:.0f} to {100 * group.high:.0f} %; replies: {group.replies:,}",
            tone="apart",
        )
        for group in groups
    ]  # fmt: skip


def _none_shown(results: AuditResults) -> bool:
    """Whether the share may be 0."""
    return results.kind == SHARE and not results.results[0].low


def _next(results: AuditResults) -> str:
    """What to do about the result."""
    if not all(check.passed for check in results.checks):
        return (
            "see which check failed; give replies of people from the same source, and of every "
            "machine that may be in the data."
        )
    if any(group.stands_out for group in results.groups):
        return (
            "look at how the replies of the groups that stand out were collected; this is no "
            "finding against a person."
        )
    if _none_shown(results):
        return "nothing shows machine-written replies; more replies would lower the upper end."
    if results.kind == AT_MOST:
        return "give replies that are surely human (--reference), for an estimate."
    if results.kind == UNLIKE:
        return "give replies of the machines that may have been used (--machine), for an estimate."
    if not results.by:
        return "name the column of workers or sources, to see where they come from (--by COLUMN)."
    return "no group stands out; more replies make the interval narrower."


def _limits_section() -> SectionView:
    paragraph = Markup('<p class="notes">{}</p>')
    blocks = [
        Markup("<h3>What it shows</h3>"),
        *(paragraph.format(text) for text in _CAN),
        Markup("<h3>What it does not show</h3>"),
        paragraph.format(_CANNOT),
    ]
    return SectionView("limits", "What this can and cannot show", blocks=blocks)


def _check_section(results: AuditResults) -> SectionView:
    rows = [
        [check.text, "ok" if check.passed else "look here",
         NONE if check.p_value is None else format_p_value(check.p_value)]
        for check in results.checks
    ]  # fmt: skip
    heads = ("check", "result", "p-value")
    return SectionView("checks", "What the number rests on", (), [TableView("Checks", heads, rows)])


def _score_section(bins: Sequence[ScoreBin]) -> SectionView:
    if not bins:
        return SectionView("scores", "Scores")
    places = [index + 0.5 for index in range(len(bins))]
    columns = {
        name: [getattr(item, name) for item in bins]
        for name in ("human", "machine", "data", "fitted")
    }
    top = max(max(values) for values in columns.values())
    frame = Frame((0, len(bins)), (0, 1.1 * top), width=420, height=260)
    parts = [
        frame.line(places, columns["human"], "line human"),
        frame.line(places, columns["machine"], "line machine"),
        frame.line(places, columns["fitted"], "line reference"),
        frame.dots(places, columns["data"], "dot", 4),
    ]
    labels = [(1.0, "human-like"), (len(bins) - 1.0, "machine-like")]
    picture = frame.to_svg(parts, ("score", "share of replies"), "Distributions of scores", labels)
    caption = (
        "Solid: known humans. Dashed: known machines. Dots: the data. Dotted: the mixture that "
        "fits them best."
    )
    rows = [
        [str(index + 1), *(f"{100 * values[index]:.1f} %" for values in columns.values())]
        for index in range(len(bins))
    ]
    heads = ("bin", "known humans", "known machines", "data", "mixture")
    table = TableView("Share of replies in each bin of scores", heads, rows)
    return SectionView("scores", "Scores", (), [table], [(picture, caption)])


def _group_section(results: AuditResults) -> SectionView:
    groups = _shown(results.groups, IN_PAGE)
    hidden = len(results.groups) - len(groups)
    notes = [_POOLED, _CANNOT]
    if hidden:
        notes.append(f"{plural(hidden, 'group')} more in results.json.")
    heads = (results.by or "group", *_HEADS[:-1], "at this false discovery rate")
    table = TableView("Groups, the smallest p-value first", heads, _group_rows(groups), (7,))
    return SectionView("groups", f"By {results.by}", notes, [table])
