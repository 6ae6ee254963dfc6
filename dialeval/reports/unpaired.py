"""An unpaired evaluation: verdicts and tables for the terminal, and a page."""

from collections.abc import Sequence
from io import StringIO
from pathlib import Path

from markupsafe import Markup
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from dialeval.files import atomic_write_text
from dialeval.metrics.evaluation_results import (
    DISTINGUISHABLE,
    INCONCLUSIVE,
    INDISTINGUISHABLE,
    NEGLIGIBLE,
    Example,
)
from dialeval.metrics.unpaired_results import CONFOUNDED, PileVerdict, TurnPoint, UnpairedResults
from dialeval.reports.drawing import Frame
from dialeval.reports.format import (
    NONE,
    detail,
    first_clause,
    format_p_value,
    format_result,
    of_hundred,
    one_line,
    sentence,
    shorten,
)
from dialeval.reports.profile import profile_sections
from dialeval.reports.ranking import RankedBar, ranking
from dialeval.reports.sections import AnswerView, SectionView, TableView, render_sections

METRICS = {
    "accuracy": "responses", "topic_control": "topic control", "matched_accuracy": "in matches",
    "matched_control": "control in matches", "style_accuracy": "style alone",
    "accuracy_in_context": "in context", "opening_control": "openings",
    "dialogue_accuracy": "dialogues", "dialogue_topic_control": "control, dialogues",
}  # fmt: skip
"""Columns of the tables: accuracies of the same evaluator on different texts."""
_TERMINAL = ("accuracy", "topic_control", "matched_accuracy", "dialogue_accuracy")
"""What fits into a terminal."""
NOTE = (
    "All numbers are accuracies; 50 % is chance. Responses are read without contexts, because the "
    "contexts of two piles differ. The topic control is the same evaluator on the partners' turns: "
    "what it reveals cannot be a property of the evaluated side's words, though partners react to "
    "them. Matches are pairs of dialogues whose partners say comparable things. Style alone reads "
    "the responses with their rarer words masked. Dialogues pool all turns of a participant."
)
_TURNS = (
    "Sums of calibrated log odds over the first turns of each participant; shorter dialogues are "
    "read whole. The dotted line is the topic control: the partners' turns."
)


def pile_tables(results: UnpairedResults) -> list[RenderableType]:
    """Verdicts and a table of accuracies, for the terminal."""
    parts: list[RenderableType] = []
    for verdict in results.verdicts:
        style = "bold red" if verdict.verdict == DISTINGUISHABLE else "bold yellow"
        head = Text(f"{one_line(verdict.system)}: ").append(verdict.verdict, style=style)
        parts += [head, Text(one_line(verdict.text))]
        parts += [Text(f"Note: {one_line(flag)}.", style="yellow") for flag in verdict.flags]
    return [*parts, _table(results)]


def _table(results: UnpairedResults) -> Table:
    metrics = [metric for metric in measured(results) if metric in _TERMINAL]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for name in ("system", "evaluator", *(METRICS[metric] for metric in metrics)):
        table.add_column(name, justify="left" if name in ("system", "evaluator") else "right")
    for row in table_rows(results, metrics):
        table.add_row(*map(Text, row))
    return table


def measured(results: UnpairedResults) -> list[str]:
    """The accuracies of a run, in the order of `METRICS`."""
    present = {result.metric for result in results.results}
    return [metric for metric in METRICS if metric in present]


def table_rows(results: UnpairedResults, metrics: Sequence[str]) -> list[list[str]]:
    """A row of texts for each system and evaluator: their names, and the accuracies."""
    keys = dict.fromkeys((item.system, item.evaluator) for item in results.select("accuracy"))
    return [
        [one_line(system), one_line(evaluator)]
        + [
            format_result(item) if (item := results.get(metric, system, evaluator)) else NONE
            for metric in metrics
        ]
        for system, evaluator in keys
    ]


def to_text(results: UnpairedResults) -> str:
    """Verdicts and table as plain text."""
    console = Console(width=140, record=True, file=StringIO())
    for part in pile_tables(results):
        console.print(part)
    return console.export_text()


def notebook_html(results: UnpairedResults) -> str:
    """Verdicts and table for a notebook."""
    return str(Markup("<pre>{}</pre>").format(to_text(results)))


def write_unpaired_report(run: Path) -> Path:
    """Write `report.html` of a finished unpaired evaluation; returns its path."""
    return atomic_write_text(run / "report.html", unpaired_page(UnpairedResults.load(run)))


def unpaired_page(results: UnpairedResults) -> str:
    """The report as one self-contained page."""
    sections = [
        _accuracy_section(results),
        _matched_section(results),
        _turns_section(results),
        *profile_sections(results.profile),
        _leak_section(results),
        *_example_sections(results),
    ]
    lead = "Two piles of conversations without shared contexts, compared by dialogue."
    names = [one_line(verdict.system) for verdict in results.verdicts]
    asked_about = names[0] if len(names) == 1 else "these systems"
    return render_sections(
        f"Can {asked_about} be distinguished from humans?", lead, sections, results,
        "results.json, scores.parquet", [_answer(results, row) for row in results.verdicts],
    )  # fmt: skip


_TONES = {DISTINGUISHABLE: "apart", INDISTINGUISHABLE: "good", NEGLIGIBLE: "noise"}
_BARS = {
    "accuracy": ("single replies", ""),
    "matched_accuracy": ("matched replies", "where partners say comparable things"),
    "topic_control": ("topic control", "on the partners' turns (topic)"),
    "dialogue_accuracy": ("whole dialogues", "on all turns of a participant"),
    "dialogue_topic_control": ("dialogue topic", "on all turns of a partner"),
}
_NEXT = {
    DISTINGUISHABLE: "change what its behaviour and formats below show, and compare again.",
    CONFOUNDED: "collect both piles on the same topics, or let the system answer the human "
    "contexts (--system NAME=model@http://host/v1).",
    INCONCLUSIVE: "collect more dialogues of both.",
}


def _answer(results: UnpairedResults, verdict: PileVerdict) -> AnswerView:
    """The verdict about one system, with the accuracies to compare."""
    names = (verdict.system, verdict.evaluator)
    cells = [(metric, results.get(metric, *names)) for metric in _BARS]
    bars = [
        RankedBar(
            _BARS[metric][0], cell.value,
            " ".join(filter(None, (f"right in {of_hundred(cell.value)}", _BARS[metric][1]))),
            cell.low, cell.high,
            tone="open" if metric.endswith("control") else _tone(verdict),
        )
        for metric, cell in cells if cell is not None
    ]  # fmt: skip
    flags = [sentence(first_clause(flag, 110)) for flag in verdict.flags]
    return AnswerView(
        f"{verdict.system}: {verdict.verdict}", _answer_lines(results, verdict),
        "How often the evaluator is right, from chance (50 %) to always (100 %), with its 95 % "
        "interval; grey: controls.", ranking(bars, start=0.5, in_order=True), flags,
        [verdict.text, *map(sentence, verdict.flags)], _tone(verdict),
    )  # fmt: skip


def _answer_lines(results: UnpairedResults, verdict: PileVerdict) -> list[str]:
    """How sure it is, what gives it away, and what to do next."""
    lines = []
    if verdict.accuracy is not None:
        sizes = f"{verdict.human_dialogues:,} human dialogues, {verdict.system_dialogues:,} of "
        p_value = format_p_value(verdict.p_value).replace("<", "< ")
        lines.append(
            f"The evaluator {verdict.evaluator} is right about {of_hundred(verdict.accuracy)} "
            f"single replies; 50 is chance ({sizes}{one_line(verdict.system)}; p {p_value})."
        )
    leaks = [leak for leak in results.leaks if leak.system == verdict.system]
    if leaks:
        leak = max(leaks, key=lambda item: item.accuracy)
        lines.append(
            f"What gives it away: “{one_line(leak.rule)}” alone is right in "
            f"{of_hundred(leak.accuracy)}."
        )
    step = _NEXT.get(verdict.verdict, "ask people whether they notice a difference.")
    return [*lines, f"What next: {step}"]


def _tone(verdict: PileVerdict) -> str:
    return _TONES.get(verdict.verdict, "open")


def _accuracy_section(results: UnpairedResults) -> SectionView:
    tables = []
    for caption, whole in (("Accuracy on single turns", False), ("On whole dialogues", True)):
        metrics = [name for name in measured(results) if name.startswith("dialogue") == whole]
        heads = ["system", "evaluator", *(METRICS[metric] for metric in metrics)]
        rows = [row for row in table_rows(results, metrics) if set(row[2:]) != {NONE}]
        tables.append(TableView(caption, heads, rows if metrics else [], (1,)))
    tests = [
        [item.system, item.evaluator, METRICS.get(item.metric, item.metric),
         format_p_value(detail(item, "p_value"))]
        for item in results.results
        if detail(item, "p_value") is not None and item.metric in METRICS
    ]  # fmt: skip
    heads = ["system", "evaluator", "text", "p-value"]
    held_out = TableView("Tests on a held-out half of the dialogues", heads, tests, (1, 2))
    return SectionView("accuracy", "Accuracy and controls", [NOTE], [*tables, held_out])


def _matched_section(results: UnpairedResults) -> SectionView:
    rows = [
        [
            item.system, item.evaluator, f"{item.pairs:,}", f"{100 * item.share:.0f} %",
            _percent(item.accuracy, item.low, item.high),
            _percent(item.control, item.control_low, item.control_high),
            format_p_value(item.p_value),
        ]
        for item in results.matches
    ]  # fmt: skip
    heads = ("system", "evaluator", "pairs", "share matched", "responses", "control", "p-value")
    note = (
        "Dialogues are matched one to one within calipers of the topic control's score (.2 "
        "standard deviations of its log odds), nearest by the partners' words. The share is that "
        "of the smaller pile. What holds within matches need not hold for the others. A control of "
        "exactly 50 % is an evaluator that found no evidence in other matches, and abstains."
    )
    return SectionView(
        "matches", "Within matched dialogues", [note], [TableView("Matches", heads, rows, (1,))]
    )


def _percent(value: float, low: float, high: float) -> str:
    return f"{100 * value:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def _turns_section(results: UnpairedResults) -> SectionView:
    systems = dict.fromkeys(point.system for point in results.curves)
    pictures = [
        (
            _curve([point for point in results.curves if point.system == system], system),
            f"{system}: its responses (solid) and the partners' turns (dotted).",
        )
        for system in systems
    ]
    rows = []
    for system in systems:
        for item in results.select("dialogue_accuracy", system):
            turns = detail(item, "turns_until_spotted")
            if "turns_until_spotted" in item.details:
                rows.append([system, item.evaluator, NONE if turns is None else f"{turns:.0f}"])
    heads = ("system", "evaluator", "turns until 90 % of dialogues are spotted")
    table = TableView("How many turns it takes", heads, rows, (1,))
    return SectionView("turns", "Accuracy against turns seen", [_TURNS], [table], pictures)


def _curve(points: Sequence[TurnPoint], system: str) -> Markup:
    last = max(point.turns for point in points)
    frame = Frame((1, max(2, last)), (0.3, 1.0), width=420, height=260)
    parts = [frame.line([1, max(2, last)], [0.5, 0.5], "chance")]
    for view, kind in (("partner", "reference"), ("response", "c0")):
        line = [point for point in points if point.view == view]
        if line:
            turns = [point.turns for point in line]
            low, high = [point.low for point in line], [point.high for point in line]
            parts.append(frame.area(turns, low, high, f"band {kind}"))
            parts.append(frame.line(turns, [point.accuracy for point in line], f"line {kind}"))
    return frame.to_svg(parts, ("turns read", "accuracy on dialogues"), f"Accuracy, {system}")


def _leak_section(results: UnpairedResults) -> SectionView:
    rows = [
        [item.system, item.rule, _percent(item.accuracy, item.low, item.high), item.hint]
        for item in results.leaks
    ]
    heads = ("system", "rule", "accuracy", "fix")
    table = TableView("Format leaks", heads, rows, (1, 3))
    return SectionView("leaks", "Format and style leaks", (), [table])


def _example_sections(results: UnpairedResults) -> list[SectionView]:
    sections = []
    for number, (system, examples) in enumerate(results.examples.items()):
        tables = [
            TableView(title, ("score", "after", "response"), _example_rows(items), (1, 2))
            for title, items in (
                ("Most human-like", examples.most_human_like),
                ("Easiest to detect", examples.easiest_to_detect),
            )
        ]
        sections.append(SectionView(f"examples-{number}", f"Examples: {system}", (), tables))
    return sections


def _example_rows(examples: Sequence[Example]) -> list[list[str]]:
    return [
        [f"{item.score:.2f}", shorten(" / ".join(item.context), 300), shorten(item.response, 300)]
        for item in examples
    ]
