"""Results of training against perturbations as tables of texts and as sentences."""

from collections.abc import Sequence
from typing import Any

from dialeval.metrics.results import Result
from dialeval.metrics.robust_results import (
    ALL,
    COSTS,
    HELPS,
    HELPS_BOTH,
    MORE_EPOCHS,
    NOT_MEASURED,
    Comparison,
    RobustResults,
    RobustVerdict,
)
from dialeval.metrics.robustness_results import NORMAL, Estimate, StrategyCoverage
from dialeval.reports.format import (
    NONE,
    finite,
    format_count,
    format_list,
    format_p_value,
    format_percent,
)
from dialeval.reports.grids import Grid
from dialeval.reports.ranking import RankedBar, ranking

KINDS = {"should_not_change": "should not change", "should_change": "should change"}
NAMES = {
    "activity_f1": "Activity F1", "entity_f1": "Entity F1", "bleu": "BLEU", "chrf": "chrF",
    "similarity": "similarity", "likelihood": "log p",
}  # fmt: skip
GROUPS = (("activity_f1", "entity_f1"), ("bleu", "similarity"), ("likelihood",))
COLUMNS = ("N-train + A-test", "A-train + A-test", "N-train + N-test", "A-train + N-test")
SIGNIFICANT = 0.05
_PAPER = "Niu and Bansal, 2018"
_STARS = (
    "* differs significantly from Normal Input (p < .05, paired bootstrap over dialogues). Over "
    "all test contexts, edited or not."
)


def strategies_of(results: RobustResults) -> list[StrategyCoverage]:
    """Strategies with their coverage: those that should change nothing first."""
    order = list(KINDS)
    return sorted(results.strategies, key=lambda strategy: order.index(strategy.kind))


def format_value(result: Result | None) -> str:
    """A value, times 100 except log p; a star marks a significant difference."""
    if result is None or finite(result.value) is None:
        return NONE
    is_log = result.metric == "likelihood"
    text = f"{result.value:.3f}" if is_log else f"{100 * result.value:.2f}"
    p = finite(result.details.get("p"))
    return text.replace("-", "−") + ("*" if p is not None and p < SIGNIFICANT else "")


def format_cell(
    results: RobustResults, metrics: Sequence[str], target: str, train: str, test: str
) -> str:
    """The values of some measures in one cell, as the paper prints them.

    Args:
        results (`RobustResults`):
            The results of the run.
        metrics (`Sequence[str]`):
            Names of the measures.
        target (`str`):
            Name of the generator.
        train, test (`str`):
            What it was trained and tested on.

    Returns:
        `str`: Such as `6.10*, 3.42`.
    """
    texts = [format_value(results.cell(name, target, train, test)) for name in metrics]
    return NONE if all(text == NONE for text in texts) else ", ".join(texts)


def cell_keys(name: str) -> tuple[tuple[str, str] | None, ...]:
    """Training and test of the four columns of a row; `None` where the paper has a dash."""
    if name == NORMAL:
        return None, None, (NORMAL, NORMAL), None
    if name in (ALL, MORE_EPOCHS):
        return None, None, None, (name, NORMAL)
    return (NORMAL, name), (name, name), None, (name, NORMAL)


def row_names(results: RobustResults) -> dict[str, str]:
    """Rows of Table 2 with what they are called."""
    names = {NORMAL: "Normal Input"} | {row.name: row.name for row in strategies_of(results)}
    trained = {result.details.get("train") for result in results.results}
    last = {ALL: ALL, MORE_EPOCHS: "more epochs, no perturbation"}
    return names | {name: title for name, title in last.items() if name in trained}


def measured_groups(results: RobustResults) -> list[tuple[str, ...]]:
    """Measures that stand together in a table, where they were computed."""
    measured = {result.metric for result in results.results}
    groups = (tuple(name for name in group if name in measured) for group in GROUPS)
    return [group for group in groups if group]


def table_two(results: RobustResults, target: str, metrics: Sequence[str]) -> Grid:
    """One target in the layout of the paper's Tables 2 and 3.

    Args:
        results (`RobustResults`):
            The results of the run.
        target (`str`):
            Name of the generator.
        metrics (`Sequence[str]`):
            Measures of a cell.

    Returns:
        `Grid`: A row per strategy.
    """
    rows = [
        (title, *(NONE if key is None else format_cell(results, metrics, target, *key)
                  for key in cell_keys(name)))
        for name, title in row_names(results).items()
    ]  # fmt: skip
    names = ", ".join(NAMES[name] for name in metrics)
    title = f"{target}: {names} (as Table 2 of {_PAPER})"
    return Grid(title, ("strategy", *COLUMNS), tuple(rows), _STARS)


def table_nine(results: RobustResults) -> Grid | None:
    """N-train generators of words and of pieces on perturbed contexts, as the paper's Table 9."""
    pairs = [row.name for row in results.targets if f"{row.name}-bpe" in _names(results)]
    groups = measured_groups(results)
    if not pairs or not groups:
        return None
    targets = [name for pair in pairs for name in (pair, f"{pair}-bpe")]
    tests = {NORMAL: "Normal Input"}
    tests |= {row.name: row.name for row in strategies_of(results) if row.kind != "should_change"}
    rows = [
        (title, *(format_cell(results, groups[0], target, NORMAL, test) for target in targets))
        for test, title in tests.items()
    ]
    names = ", ".join(NAMES[name] for name in groups[0])
    title = f"Words and pieces without training against anything: {names} (as Table 9 of {_PAPER})"
    return Grid(title, ("tested on", *targets), tuple(rows), _STARS)


def _names(results: RobustResults) -> list[str]:
    return [row.name for row in results.targets]


def verdict_grid(results: RobustResults) -> Grid:
    """What training against each strategy did, by the measure of the run."""
    rows = []
    for target in _names(results):
        for strategy in strategies_of(results):
            verdict = results.verdict(target, strategy.name)
            if verdict is not None:
                rows.append(_verdict_row(verdict, strategy))
    heads: tuple[str, ...] = ("target", "strategy", "edited", "before training", "on A-test",
                              "on N-test", "verdict", "against more epochs")  # fmt: skip
    if all(row[-1] == NOT_MEASURED for row in rows):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    seeds = int(results.settings.get("seeds") or 1)
    trainings = "one training" if seeds == 1 else f"the mean of {seeds} trainings"
    caption = (
        f"By {NAMES.get(results.measure, results.measure)}. A-train minus N-train, with its "
        f"p-value over test dialogues: of {trainings} each, so that what other seeds would change "
        "is not in it. Before training: what the strategy does to how well replies fit the "
        "reference; that no change is seen may also mean that there are few contexts. Training "
        "against one that should change replies should lower how well they fit the old reference."
    )
    return Grid(
        "Does training against it help, and what does it cost?", heads, tuple(rows), caption
    )


def _verdict_row(verdict: RobustVerdict, strategy: StrategyCoverage) -> tuple[str, ...]:
    scale = 1 if verdict.measure == "likelihood" else 100
    return (
        verdict.target,
        f"{strategy.name} ({KINDS[strategy.kind]})",
        format_percent(strategy.coverage),
        attack_text(verdict),
        format_difference(verdict.gain, scale),
        format_difference(verdict.clean, scale),
        verdict.verdict,
        verdict.against_control,
    )


def attack_text(verdict: RobustVerdict) -> str:
    """What a strategy does to a generator before it is trained against it."""
    if finite(verdict.attack.p) is None:
        return NOT_MEASURED
    return {-1: "worse", 0: "no change seen", 1: "better"}[verdict.attack.significant]


def format_difference(comparison: Comparison, scale: float = 100) -> str:
    """A difference with its p-value."""
    if finite(comparison.value) is None:
        return NONE
    text = f"{scale * comparison.value:+.2f}".replace("-", "−")
    return f"{text} (p {format_p_value(comparison.p)})"


def target_grid(results: RobustResults) -> Grid:
    """The generators before training against anything."""
    rows = tuple(
        (row.name, format_count(row.parameters), format_count(row.vocabulary),
         f"{row.perplexity.value:.1f}", _format_gain(row.context_gain))
        for row in results.targets
    )  # fmt: skip
    heads = ("target", "parameters", "vocabulary", "perplexity", "gain from the context")
    note = (
        "Per token of the target's tokenizer. The gain is log p of the reference given its "
        "context, minus given another dialogue's: 0 if the target does not read what it answers."
    )
    return Grid("Targets (N-train, N-test)", heads, rows, note)


def _format_gain(gain: Estimate) -> str:
    if finite(gain.value) is None:
        return NONE
    return f"{gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]".replace("-", "−")


def robust_grids(results: RobustResults) -> list[Grid]:
    """All tables: verdicts, Table 2 of each target, Table 9, and the targets."""
    tables = [verdict_grid(results)]
    tables += [
        table_two(results, target, group)
        for target in _names(results)
        for group in measured_groups(results)
    ]
    nine = table_nine(results)
    return [*tables, *([nine] if nine else []), target_grid(results)]


HELPFUL = (HELPS, HELPS_BOTH, COSTS)
"""Verdicts on training that helped against a strategy."""


def target_ranks(results: RobustResults) -> list[dict[str, Any]]:
    """Targets by the share of strategies against which training helped."""
    bars = []
    for target in (row.name for row in results.targets):
        verdicts = [row for row in results.verdicts if row.target == target]
        verdicts = [row for row in verdicts if row.measure == results.measure]
        helped = sum(row.verdict in HELPFUL for row in verdicts)
        share = helped / len(verdicts) if verdicts else None
        number = f"{helped} of {len(verdicts)}"
        bars.append(RankedBar(target, share, headline(results, target), number=number))
    return ranking(bars)


def headline(results: RobustResults, target: str) -> str:
    """A target in a sentence: where training helped."""
    verdicts = [row for row in results.verdicts if row.target == target]
    verdicts = [row for row in verdicts if row.measure == results.measure]
    good = HELPFUL
    helped = [row.strategy for row in verdicts if row.verdict in good]
    controlled = [row for row in verdicts if row.against_control != NOT_MEASURED]
    left = [row.strategy for row in controlled if row.against_control in good]
    worse = [row.strategy for row in verdicts if row.attack.significant < 0]
    reads = next((finite(row.context_gain.low) for row in results.targets if row.name == target), 1)
    unread = ["it does not measurably read its context, so that this says little"]
    parts = [
        *(unread if reads is not None and reads <= 0 else []),
        f"{len(worse)} of {len(verdicts)} strategies make it worse before training",
        f"training helps against {format_list(helped) if helped else 'none of them'}",
    ]
    if controlled:
        parts.append(
            "compared with more epochs alone, it helps against "
            f"{format_list(left) if left else 'none of them'}"
        )
    return f"{'; '.join(parts)}."
