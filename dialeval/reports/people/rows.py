"""Rows of the tables about human judgements, the same for the terminal and the page."""

from collections.abc import Iterator, Sequence
from typing import Any

from dialeval.metrics.judgement_results import PEOPLE, JudgementResults, Plan
from dialeval.metrics.results import Result
from dialeval.reports.format import (
    NONE,
    format_count,
    format_p_value,
    format_share,
    format_signed,
    of_hundred,
    one_line,
)
from dialeval.reports.sections import TableView

TASKS = {
    "real": "real or not",
    "human": "which was written by a human",
    "better": "which is better",
    "rating": "rating",
}


def number(value: float | None, digits: int = 2) -> str:
    """A number that is no share, with its sign."""
    if value is None or value != value:
        return NONE
    return f"{value:.{digits}f}".replace("-", "−")


def with_bounds(result: Result, digits: int = 2) -> str:
    """Such a number with its interval."""
    value, low, high = (number(item, digits) for item in (result.value, result.low, result.high))
    return f"{value} ({low} to {high})"


def signed_bounds(value: float | None, low: float | None, high: float | None) -> str:
    """A coefficient with its interval.

    Args:
        value, low, high (`float`, *optional*):
            The number and its bounds.

    Returns:
        `str`: Such as `+.300 (+.100 to +.500)`.
    """
    if NONE in (format_signed(low), format_signed(high)):
        return format_signed(value)
    return f"{format_signed(value)} ({format_signed(low)} to {format_signed(high)})"


_GRADES = (
    (0.8, "agree well"),
    (0.667, "agree enough for tentative conclusions"),
    (0.4, "agree in part"),
    (0.2, "agree weakly"),
    (float("-inf"), "hardly agree"),
)
"""Names of alphas; the first two bounds are those of Krippendorff (2004, p. 241)."""


def answer_title(results: JudgementResults) -> str:
    """Whether annotators agree, in a few words; of several tasks the least agreement counts."""
    alphas = [row.details["krippendorff_alpha"] for row in results.select("fleiss_pi")]
    known = [alpha for alpha in alphas if alpha is not None and alpha == alpha]
    return f"Annotators {_grade(min(known))}" if known else "Agreement was not measured"


def _grade(alpha: float) -> str:
    return next(name for least, name in _GRADES if alpha >= least)


def answer_lines(results: JudgementResults) -> list[str]:
    """What people said, in a few sentences: how much they agree, and what they found."""
    lines = [*_agreement_lines(results), *_detection_lines(results), *_ranking_lines(results)]
    return [*lines, f"What next: {_next_step(results)}."]


def _next_step(results: JudgementResults) -> str:
    """What to do about the judgements: settle a question, or read single answers with care."""
    missing = [
        (plan.needed - plan.items, plan.question) for plan in results.plans
        if not plan.settled and plan.needed is not None and plan.needed > plan.items
    ]  # fmt: skip
    if missing:
        more, question = min(missing)
        return f"judge about {format_count(more)} more items to settle “{one_line(question)}”"
    if answer_title(results).endswith(_GRADES[-1][1]) or answer_title(results).endswith("weakly"):
        return "quote means over many items only; single ones need more annotators"
    return "compare people with evaluators on the same items (--run, --discriminator)"


def _agreement_lines(results: JudgementResults) -> Iterator[str]:
    parts = []
    for result in results.select("fleiss_pi"):
        details = result.details
        names = [f"krippendorff_alpha{end}" for end in ("", "_low", "_high")]
        task = details["scale"] or TASKS.get(details["task"], details["task"])
        parts.append(f"{one_line(task)} {signed_bounds(*(details[name] for name in names))}")
    if parts:
        yield f"Krippendorff’s α (1 is perfect, 0 chance): {'; '.join(parts)}."


def _detection_lines(results: JudgementResults) -> Iterator[str]:
    for row in results.select("detection"):
        if row.evaluator == PEOPLE:
            bounds = f"95 % {100 * row.low:.0f} to {100 * row.high:.0f}"
            against = "random replies" if row.system == "random" else one_line(row.system)
            what = (
                f"recognise the human reply beside that of {against}"
                if row.details.get("pairs")
                else f"are right about real and {against}"
            )
            yield f"People {what} in {of_hundred(row.value)} cases ({bounds}); 50 is chance."


def _ranking_lines(results: JudgementResults) -> Iterator[str]:
    """The systems with the highest and the lowest mean rating."""
    rows = ranked_ratings(results)
    if rows:
        named = [f"{one_line(row.system)}, {with_bounds(row)}" for row in rows]
        lowest = f"; lowest: {named[-1]}" if len(named) > 1 else ""
        scale = one_line(rows[0].details["scale"])
        yield f"Rated highest{f' ({scale})' if scale else ''}: {named[0]}{lowest}."


def ranked_ratings(results: JudgementResults) -> list[Result]:
    """Mean ratings of the systems, the highest first; of several scales their mean."""
    rated = [row for row in results.select("rating") if row.evaluator == PEOPLE]
    scales = list(dict.fromkeys(row.details["scale"] for row in rated))
    last = [row for row in rated if row.details["scale"] == scales[-1]]  # the mean of all
    return sorted(last, key=lambda row: -row.value)


def agreement_view(results: JudgementResults) -> TableView:
    """Agreement among the annotators, by task and scale."""
    rows = []
    for result in results.select("fleiss_pi"):
        details = result.details
        name = TASKS.get(details["task"], details["task"]) + (
            f": {details['scale']}" if details["scale"] else ""
        )
        alpha = [details[f"krippendorff_alpha{bound}"] for bound in ("", "_low", "_high")]
        rows.append(
            [
                one_line(name),
                signed_bounds(result.value, result.low, result.high),
                signed_bounds(*alpha),
                details["level"],
                format_share(details["observed_agreement"]),
                format_count(details["n_items"]),
                format_count(details["n_judgements"]),
            ]
        )
    heads: list[Any] = ["task", ("Fleiss’ π", "fleiss-pi"),
                        ("Krippendorff’s α", "krippendorff-alpha"), "level", "equal",
                        "units", "answers"]  # fmt: skip
    caption = (
        "Agreement among annotators, with 95 % intervals over items; equal: pairs with the same "
        "answer; a unit: what is answered once, such as one reply on one scale"
    )
    return TableView(caption, heads, rows, text=(3,))


def detection_views(results: JudgementResults) -> Iterator[TableView]:
    """People and discriminators against the truth, a table per kind of negative."""
    rows = [row for row in results.select("detection") if not row.details.get("pairs")]
    for negative in dict.fromkeys(row.system for row in rows):
        heads: list[Any] = ["who decides", "Acc", "95 %"]
        heads += [f"{score} {name}" for name in ("real", "fake") for score in ("P", "R", "F1")]
        heads += [("π", "fleiss-pi"), "n"]
        table = [_detection_row(row) for row in rows if row.system == negative]
        name = "random replies" if negative == "random" else f"replies of {one_line(negative)}"
        yield TableView(f"Real passages against {name}", heads, table)


def _detection_row(result: Result) -> list[str]:
    classes = result.details.get("classes", {})
    scores = [
        format_share(classes.get(name, {}).get(score))
        for name in ("real", "fake")
        for score in ("precision", "recall", "f1")
    ]
    bounds = f"{format_share(result.low)}–{format_share(result.high)}"
    pi = format_signed(result.details.get("fleiss_pi"))
    return [
        one_line(result.evaluator), format_share(result.value), bounds, *scores, pi,
        format_count(result.n),
    ]  # fmt: skip


def pairs_view(results: JudgementResults) -> TableView:
    """How often people recognise the human reply of a pair."""
    rows = [
        [
            one_line(row.system),
            format_share(row.value),
            f"{format_share(row.low)}–{format_share(row.high)}",
            format_signed(row.details.get("fleiss_pi")),
            format_count(row.details["n_items"]),
            format_count(row.n),
        ]
        for row in results.select("detection")
        if row.details.get("pairs")
    ]
    heads: list[Any] = [
        "system",
        "human recognised",
        "95 %",
        ("π", "fleiss-pi"),
        "pairs",
        "answers",
    ]
    return TableView(
        "Share of answers that name the human reply; .5 is a random guess", heads, rows
    )


def preference_view(results: JudgementResults) -> TableView:
    """Win, lose and tie of every pair of systems."""
    rows = []
    for result in results.select("win_rate"):
        details = result.details
        shares = [
            f"{format_share(details[name])} "
            f"({format_share(details[f'{name}_low'])}–{format_share(details[f'{name}_high'])})"
            for name in ("win", "lose", "tie")
        ]
        won = f"{details['items_won']}:{details['items_lost']}"
        name = f"{one_line(result.system)} over {one_line(details['opponent'])}"
        rows.append(
            [name, *shares, won, format_p_value(details["p_value"]), format_count(details["n"])]
        )
    heads: list[Any] = ["pair", "win", "lose", "tie", "items won:lost",
                        ("p (sign test)", "sign-test"), "judgements"]  # fmt: skip
    return TableView("Preferences, with 95 % intervals over items", heads, rows)


def ranking_views(results: JudgementResults) -> Iterator[TableView]:
    """Mean rating, Bradley-Terry strength and rank of every system, a table per scale."""
    rated = results.select("rating")
    strengths = results.select("strength")
    for scale in dict.fromkeys(row.details.get("scale", "") for row in (*rated, *strengths)):
        means = {row.system: row for row in rated if row.details.get("scale", "") == scale}
        fitted = {row.system: row for row in strengths if row.details.get("scale", "") == scale}
        names = list(means) or list(fitted)
        rows = [[one_line(name), *_ranking_cells(means.get(name), fitted.get(name))]
                for name in names]  # fmt: skip
        heads: list[Any] = ["system", "mean rating", ("strength", "bradley-terry"), "rank",
                            "replies"]  # fmt: skip
        yield TableView(f"Ranking: {one_line(scale) or 'preferences'}", heads, rows)


def _ranking_cells(mean: Result | None, strength: Result | None) -> list[str]:
    rank = NONE
    if strength is not None:
        low, high = strength.details["rank_low"], strength.details["rank_high"]
        rank = str(low) if low == high else f"{low}–{high}"
    source = mean or strength
    return [
        with_bounds(mean) if mean else NONE,
        with_bounds(strength) if strength else NONE,
        rank,
        format_count(source.n if source else None),
    ]


def correlation_views(results: JudgementResults) -> Iterator[TableView]:
    """Correlation of metrics with ratings, a table per scale and level."""
    rows = [row for name in ("pearson", "spearman", "kendall") for row in results.select(name)]
    groups = dict.fromkeys((row.details["scale"], row.details["level"]) for row in rows)
    for scale, level in groups:
        chosen = [
            row for row in rows if (row.details["scale"], row.details["level"]) == (scale, level)
        ]
        table = []
        for name in dict.fromkeys(row.evaluator for row in chosen):
            cells = {row.metric: row for row in chosen if row.evaluator == name}
            numbers = [
                signed_bounds(cells[key].value, cells[key].low, cells[key].high)
                for key in ("pearson", "spearman", "kendall")
            ]
            table.append([one_line(name), *numbers, format_count(cells["pearson"].n)])
        drawn = chosen[0].details["resampled"].replace("both", "items and systems")
        points = "replies" if level == "item" else "the means of the systems"
        caption = f"{one_line(scale) or 'rating'}: correlation over {points}; 95 % over {drawn}"
        heads: list[Any] = ["metric", "Pearson", "Spearman", "Kendall", "replies"]
        yield TableView(caption, heads, table)


def gap_views(results: JudgementResults) -> Iterator[TableView]:
    """Differences of two metrics' correlations, a table per scale and level."""
    rows = results.select("correlation_gap")
    for key in dict.fromkeys((row.details["scale"], row.details["level"]) for row in rows):
        chosen = [row for row in rows if (row.details["scale"], row.details["level"]) == key]
        table = [
            [
                f"{one_line(row.evaluator)} − {one_line(row.details['other'])}",
                signed_bounds(row.value, row.low, row.high),
                number(row.details["t"]),
                format_p_value(row.details["p_value"]),
                format_count(row.n),
            ]
            for row in chosen
        ]
        points = "replies" if key[1] == "item" else "systems"
        caption = (
            f"{one_line(key[0]) or 'rating'}: differences of Pearson’s correlations over {points}"
        )
        heads: list[Any] = ["metrics", "difference", ("t", "williams-test"), "p", "points"]
        yield TableView(caption, heads, table)


def annotator_view(results: JudgementResults, most: int = 200) -> TableView:
    """Quality of the annotators, those with flags first."""
    rows = sorted(results.annotators, key=lambda row: (not row.flags, -row.n))
    table = [
        [
            one_line(row.annotator),
            format_count(row.n),
            _of(row.test_accuracy, row.n_test),
            NONE if row.seconds is None else f"{row.seconds:.1f} s",
            _of(row.agreement, row.n_common),
            ", ".join(row.flags) or NONE,
        ]
        for row in rows[:most]
    ]
    heads: list[Any] = ["annotator", "answers", "test questions", "median time",
                        "agreement with the rest", "look at"]  # fmt: skip
    left = len(rows) - len(table)
    caption = "Annotators" + (f"; {left:,} more are in results.json" if left else "")
    return TableView(caption, heads, table, text=(5,))


def _of(share: float | None, n: int) -> str:
    return NONE if share is None else f"{format_share(share, 2)} of {n:,}"


def plan_view(plans: Sequence[Plan]) -> TableView:
    """How many more items would settle each question."""
    rows = [[one_line(plan.question), _state(plan), format_count(plan.items), _needed(plan)]
            for plan in plans]  # fmt: skip
    heads: list[Any] = ["question", "now", "items so far", "items needed"]
    caption = "Items at which a difference as large as the observed one is significant (power .8)"
    return TableView(caption, heads, rows, text=(1,))


def _state(plan: Plan) -> str:
    return "settled" if plan.settled else "open"


def _needed(plan: Plan) -> str:
    return "no difference observed" if plan.needed is None else format_count(plan.needed)
