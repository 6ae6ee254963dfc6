"""An unpaired evaluation: verdicts and tables for the terminal, and a page."""

from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path

from markupsafe import Markup
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from dialeval.files import atomic_write_text
from dialeval.metrics.cue_results import Cue
from dialeval.metrics.evaluation_results import Example
from dialeval.metrics.results import Result
from dialeval.metrics.unpaired_results import TurnPoint, UnpairedResults
from dialeval.reports.drawing import Frame, ticks
from dialeval.reports.evaluation.cards import cue_view
from dialeval.reports.evaluation.rows import EVALUATOR_LABELS
from dialeval.reports.format import (
    NONE,
    detail,
    finite,
    format_p_value,
    format_percent,
    format_result,
    one_line,
    shorten,
)
from dialeval.reports.profile import profile_sections
from dialeval.reports.sections import SectionView, TableView, render_sections
from dialeval.reports.unpaired_answer import answer_lines, answer_view, pile_answers

METRICS = {
    "accuracy": "responses", "topic_control": "topic control", "matched_accuracy": "in matches",
    "matched_control": "control in matches", "style_accuracy": "style alone",
    "accuracy_in_context": "in context", "opening_control": "openings",
    "dialogue_accuracy": "dialogues", "dialogue_topic_control": "control, dialogues",
}  # fmt: skip
"""Columns of the tables: accuracies of the same evaluator on different texts."""
_TERMINAL = ("accuracy", "topic_control", "matched_accuracy", "dialogue_accuracy")
"""What fits into a terminal."""
_TERMINAL_NOTE = (
    "How often an evaluator is right, with its 95 % interval; 50 % is chance. Replies are read "
    "without contexts. Topic control: on the partners' turns. In matches: dialogues whose partners "
    "say comparable things. Dialogues: all turns of a participant."
)
NOTE = (
    "All numbers are accuracies; 50 % is chance. Responses are read without contexts, because the "
    "contexts of two piles differ. The topic control is the same evaluator on the partners' turns: "
    "what it reveals cannot be a property of the evaluated side's words, though partners react to "
    "them. Matches are pairs of dialogues whose partners say comparable things. Style alone reads "
    "the responses with their rarer words masked. Dialogues pool all turns of a participant."
)
_CUES = (
    "Cues are chosen on one half of the dialogues and tested on the other one, with Holm's "
    "correction for their number; each is one rule, and 50 of 100 is chance."
)
_TURNS = (
    "Sums of calibrated log odds over the first turns of each participant; shorter dialogues are "
    "read whole. The dotted line is the topic control: the partners' turns."
)


def pile_tables(results: UnpairedResults, width: int = 100) -> list[RenderableType]:
    """Five lines about each system, and a table of accuracies, for the terminal."""
    lines = [line for item in pile_answers(results) for line in answer_lines(item, width)]
    return [*lines, _table(results), Text(_TERMINAL_NOTE, style="dim")]


def print_piles(results: UnpairedResults, console: Console) -> None:
    """Print what `pile_tables` gives, and the signature once, in one line to copy."""
    for part in pile_tables(results, console.width):
        console.print(part, soft_wrap=isinstance(part, Text) and str(part) != _TERMINAL_NOTE)
    if results.signature:
        console.print(Text(one_line(results.signature), style="dim"), soft_wrap=True)


def _table(results: UnpairedResults) -> Table:
    metrics = [metric for metric in measured(results) if metric in _TERMINAL]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for name in ("system", "evaluator", *(METRICS[metric] for metric in metrics)):
        table.add_column(name, justify="left" if name in ("system", "evaluator") else "right")
    for row in table_rows(results, metrics, format_accuracy):
        table.add_row(*map(Text, row))
    return table


def measured(results: UnpairedResults) -> list[str]:
    """The accuracies of a run, in the order of `METRICS`."""
    present = {result.metric for result in results.results}
    return [metric for metric in METRICS if metric in present]


def table_rows(
    results: UnpairedResults,
    metrics: Sequence[str],
    write: Callable[[Result], str] = format_result,
) -> list[list[str]]:
    """A row of texts for each system and evaluator: their names, and the accuracies.

    Args:
        results (`UnpairedResults`):
            Results of the run.
        metrics (`Sequence[str]`):
            Which accuracies.
        write (`Callable`, *optional*):
            How an accuracy is written; as a share by default.

    Returns:
        `list[list[str]]`: Cells.
    """
    keys = dict.fromkeys((item.system, item.evaluator) for item in results.select("accuracy"))
    return [
        [one_line(system), one_line(EVALUATOR_LABELS.get(evaluator, evaluator))]
        + [
            write(item) if (item := results.get(metric, system, evaluator)) else NONE
            for metric in metrics
        ]
        for system, evaluator in keys
    ]


def format_accuracy(result: Result) -> str:
    """An accuracy with its interval in per cent, such as `82 % (79–85)`."""
    low, high = finite(result.low), finite(result.high)
    bounds = "" if low is None or high is None else f" ({100 * low:.0f}–{100 * high:.0f})"
    return f"{format_percent(result.value)}{bounds}"


def to_text(results: UnpairedResults) -> str:
    """Verdicts and table as plain text."""
    page = StringIO()
    print_piles(results, Console(file=page, width=100, color_system=None))
    return page.getvalue()


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
        *_cue_sections(results),
        *profile_sections(results.profile),
        _leak_section(results),
        *_example_sections(results),
    ]
    lead = "Two piles of conversations without shared contexts, compared by dialogue."
    names = [one_line(verdict.system) for verdict in results.verdicts]
    asked_about = names[0] if len(names) == 1 else "these systems"
    answers = [answer_view(results, item) for item in pile_answers(results)]
    return render_sections(
        f"Can {asked_about} be distinguished from humans?", lead, sections, results,
        "every score in scores.parquet", answers,
    )  # fmt: skip


def _accuracy_section(results: UnpairedResults) -> SectionView:
    tables = []
    for caption, whole in (("Accuracy on single turns", False), ("On whole dialogues", True)):
        metrics = [name for name in measured(results) if name.startswith("dialogue") == whole]
        heads = ["system", "evaluator", *(METRICS[metric] for metric in metrics)]
        rows = table_rows(results, metrics, format_accuracy)
        rows = [row for row in rows if set(row[2:]) != {NONE}]
        tables.append(TableView(caption, heads, rows if metrics else [], (1,)))
    tests = [
        [item.system, EVALUATOR_LABELS.get(item.evaluator, item.evaluator), METRICS[item.metric],
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


_VIEWS = {"partner": "partners' turns", "response": "replies"}


def _curve(points: Sequence[TurnPoint], system: str) -> Markup:
    last = max(point.turns for point in points)
    frame = Frame((1, max(2, last)), (0.3, 1.0), width=420, height=260)
    parts = [frame.line([1, max(2, last)], [0.5, 0.5], "chance")]
    names = list[tuple[float, float, str]]()
    for view, kind in (("partner", "reference"), ("response", "c0")):
        line = [point for point in points if point.view == view]
        if line:
            turns = [point.turns for point in line]
            low, high = [point.low for point in line], [point.high for point in line]
            parts.append(frame.area(turns, low, high, f"band {kind}"))
            parts.append(frame.line(turns, [point.accuracy for point in line], f"line {kind}"))
            names.append((turns[-1], line[-1].accuracy, _VIEWS[view]))
    parts += frame.end_labels(names)
    whole = [(at, f"{at:.0f}") for at in ticks(*frame.x) if at == int(at)]
    names_of_axes = ("turns read", "accuracy on dialogues")
    return frame.to_svg(parts, names_of_axes, f"Accuracy, {system}", whole)


def _cue_sections(results: UnpairedResults) -> list[SectionView]:
    """What gives each system away, with an example in which it is marked."""
    sections = []
    for number, system in enumerate(dict.fromkeys(cue.system for cue in results.cues)):
        cues = [cue for cue in results.cues if cue.system == system]
        tables = [
            TableView(caption, ("cue", "alone right in", "95 %", "p-value", "example"), rows, (4,))
            for caption, rows in (
                ("Words, phrases, punctuation, format and length", _cue_rows(cues, False)),
                ("May come from the topic: the partners use it more there too",
                 _cue_rows(cues, True)),
            )
        ]  # fmt: skip
        title = f"What gives it away: {system}"
        sections.append(SectionView(f"cues-{number}", title, [_CUES], tables))
    return sections


def _cue_rows(cues: Sequence[Cue], topical: bool) -> list[list[str | Markup]]:
    views = [cue_view(cue) for cue in cues if cue.topical == topical]
    names = ("phrase", "alone", "interval", "p", "first_example")
    return [[view[name] for name in names] for view in views]


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
