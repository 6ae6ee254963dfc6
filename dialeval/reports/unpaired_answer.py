"""The answer about each system of two piles, as the page and the terminal give it first."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from dialeval.metrics.evaluation_results import (
    DISTINGUISHABLE,
    INCONCLUSIVE,
    INDISTINGUISHABLE,
    NEGLIGIBLE,
    FormatLeak,
)
from dialeval.metrics.profile_results import Trait
from dialeval.metrics.unpaired_results import CONFOUNDED, PileVerdict, UnpairedResults
from dialeval.reports.evaluation.advice import FORMAT_LEAK, is_about
from dialeval.reports.evaluation.headline import grade_of, short_cue
from dialeval.reports.evaluation.terminal import fact_lines, join_fitting
from dialeval.reports.format import (
    finite,
    first_clause,
    format_p_value,
    of_hundred,
    one_line,
    sentence,
)
from dialeval.reports.profile import ALPHA, format_trait
from dialeval.reports.ranking import RankedBar, ranking
from dialeval.reports.sections import AnswerView

CUES = 3
"""Cues that are named first; as many behaviours where there are none."""
_SAME = {
    "!": "exclamation marks",
    "?": "questions",
    "no final punctuation": "no final punctuation",
    "length in tokens": "words per turn",
    "length in characters": "words per turn",
}
"""Behaviours that are the same as a cue."""
TRAITS = 2
"""Behaviours that are named after them."""
_TONES = {DISTINGUISHABLE: "apart", INDISTINGUISHABLE: "good", NEGLIGIBLE: "noise"}
_TITLES = {
    CONFOUNDED: "differs, but the topic may explain it",
    NEGLIGIBLE: "is hard to spot: the difference is negligible",
    INDISTINGUISHABLE: "is not distinguishable from a human",
    INCONCLUSIVE: "is undecided: this run cannot tell",
}
_BARS = {
    "accuracy": ("single replies", ""),
    "matched_accuracy": ("matched replies", "where partners say comparable things"),
    "topic_control": ("topic control", "on the partners' turns (topic)"),
    "dialogue_accuracy": ("whole dialogues", "on all turns of a participant"),
    "dialogue_topic_control": ("dialogue topic", "on all turns of a partner"),
}
_NEXT = {
    DISTINGUISHABLE: "change what gives it away, and compare again.",
    CONFOUNDED: "collect both piles on the same topics, or let the system answer the human "
    "contexts (--system NAME=model@http://host/v1).",
    INCONCLUSIVE: "collect more dialogues of both.",
}


@dataclass(frozen=True)
class PileAnswer:
    """Everything about one system's pile that fits on the first screen.

    Args:
        verdict (`PileVerdict`):
            Its verdict.
        title (`str`):
            What follows the name in the headline.
        certainty (`Sequence[str]`):
            The interval, the sizes and the p-value.
        reasons (`Sequence[str]`):
            What gives it away.
        trust (`str`):
            Whether the topic explains it.
        step (`str`):
            What to do next.
        cautions (`Sequence[str]`):
            What to be careful about.
    """

    verdict: PileVerdict
    title: str
    certainty: Sequence[str]
    reasons: Sequence[str]
    trust: str
    step: str
    cautions: Sequence[str]

    @property
    def tone(self) -> str:
        """CSS class of the verdict."""
        return _TONES.get(self.verdict.verdict, "open")

    @property
    def sentences(self) -> list[str]:
        """The answers as sentences, the accuracy first."""
        lines = []
        if self.verdict.accuracy is not None:
            lines.append(
                f"The evaluator {one_line(self.verdict.evaluator)} is right about "
                f"{of_hundred(self.verdict.accuracy)} single replies; 50 is chance."
            )
            lines.append(f"How sure: {', '.join(self.certainty)}.")
        if self.reasons:
            lines.append(f"What gives it away: {'; '.join(self.reasons)}.")
        trust = f"Can I trust it? {sentence(self.trust)}" if self.trust else ""
        return [*lines, *filter(None, [trust]), f"What next: {self.step}"]


def pile_answers(results: UnpairedResults) -> list[PileAnswer]:
    """One answer per system, in the order of the run."""
    return [
        PileAnswer(
            verdict, _title(verdict), _certainty(verdict), _reasons(results, verdict),
            _trust(results, verdict),
            _NEXT.get(verdict.verdict, "ask people whether they notice a difference."),
            _cautions(results, verdict),
        )
        for verdict in results.verdicts
    ]  # fmt: skip


def answer_view(results: UnpairedResults, answer: PileAnswer) -> AnswerView:
    """The card about one system, with the accuracies to compare."""
    verdict = answer.verdict
    cells = [(name, results.get(name, verdict.system, verdict.evaluator)) for name in _BARS]
    bars = [
        RankedBar(
            _BARS[metric][0], cell.value,
            " ".join(filter(None, (f"right in {of_hundred(cell.value)}", _BARS[metric][1]))),
            cell.low, cell.high, tone="open" if metric.endswith("control") else answer.tone,
        )
        for metric, cell in cells if cell is not None
    ]  # fmt: skip
    return AnswerView(
        f"{verdict.system} {answer.title}", answer.sentences,
        "How often the evaluator is right, from chance (50 %) to always (100 %), with its 95 % "
        "interval; grey: controls.", ranking(bars, start=0.5, in_order=True),
        list(map(sentence, answer.cautions)),
        [verdict.text, *map(sentence, verdict.flags)], answer.tone, tag=verdict.verdict,
    )  # fmt: skip


def answer_lines(answer: PileAnswer, width: int) -> list[Text]:
    """Five lines for the terminal: the verdict, why, whether to trust it, careful, what next."""
    verdict = answer.verdict
    title = f"{one_line(verdict.system)} {answer.title}"
    facts = [fact.replace(" interval", "") for fact in answer.certainty]
    accuracy = [] if verdict.accuracy is None else [f"right in {of_hundred(verdict.accuracy)}"]
    text = join_fitting(
        [f"{fact} (chance 50)" for fact in accuracy] + facts, width - len(title) - 2, ", "
    )
    head = Text.assemble((f"{title}: " if text else title, "bold"), text)
    return [
        head,
        *fact_lines(
            {
                "Why": (answer.reasons or ["no single behaviour or format"], ""),
                "Trust": ([answer.trust or "not measured"], ""),
                "Careful": (answer.cautions or ["nothing to report"], "count"),
                "Next": ([answer.step.rstrip(".")], "whole"),
            },
            width,
        ),
    ]


def _title(verdict: PileVerdict) -> str:
    if verdict.verdict == DISTINGUISHABLE and verdict.accuracy is not None:
        return grade_of(verdict.accuracy)
    return _TITLES.get(verdict.verdict, "has no verdict")


def _certainty(verdict: PileVerdict) -> list[str]:
    low, high = finite(verdict.low), finite(verdict.high)
    facts = []
    if low is not None and high is not None:
        facts.append(f"95 % interval {100 * low:.0f} to {100 * high:.0f}")
    facts.append(
        f"{verdict.human_dialogues:,} human dialogues and {verdict.system_dialogues:,} of "
        f"{one_line(verdict.system)}"
    )
    p_value = format_p_value(verdict.p_value)
    return [*facts, f"p {'< .001' if p_value == '<.001' else f'= {p_value}'}"]


def _reasons(results: UnpairedResults, verdict: PileVerdict) -> list[str]:
    """The clearest cues that are not the topic's, and the strongest significant behaviours."""
    traits = [
        item for item in results.profile if item.system == verdict.system and item.p_holm < ALPHA
    ]
    traits.sort(key=lambda item: -abs(item.effect))
    cues = [cue for cue in results.cues if cue.system == verdict.system and not cue.topical]
    named = {_SAME.get(cue.text) for cue in cues[:CUES]}
    traits = [item for item in traits if item.name not in named]
    reasons = [short_cue(cue) for cue in cues[:CUES]]
    reasons += [_trait_phrase(item) for item in traits[: TRAITS if cues else CUES]]
    leaks = [leak for leak in results.leaks if leak.system == verdict.system]
    if leaks and not cues:
        leak = max(leaks, key=lambda item: item.accuracy)
        rule = f"“{one_line(leak.rule)}” alone is right in {of_hundred(leak.accuracy)}"
        reasons.append(rule)
    return reasons


def _trait_phrase(item: Trait) -> str:
    system, human = format_trait(item, item.other), format_trait(item, item.human)
    return f"{item.name} {system} (humans {human})"


def _trust(results: UnpairedResults, verdict: PileVerdict) -> str:
    """What the controls of the topic say."""
    control = finite(verdict.control)
    if control is None:
        return "not measured: no turns of partners show whether the topics differ"
    facts = [f"control {of_hundred(control)}"]
    matched = results.get("matched_accuracy", verdict.system, verdict.evaluator)
    if matched is not None:
        facts.append(f"matched replies {100 * matched.value:.0f}")
    answers = {DISTINGUISHABLE: "does not explain it", CONFOUNDED: "may explain it"}
    answer = answers.get(verdict.verdict, "was checked")
    return f"the topic {answer} ({', '.join(facts)})"


def _cautions(results: UnpairedResults, verdict: PileVerdict) -> list[str]:
    """What to be careful about, a line each."""
    leaks = [leak for leak in results.leaks if leak.system == verdict.system]
    systems = [item.system for item in results.verdicts]
    about = [text for text in results.warnings if is_about(text, verdict.system, systems)]
    lines = [first_clause(text, 110) for text in about if "language" in text]
    lines += [first_clause(text, 110) for text in verdict.reservations]
    for flag in verdict.flags:
        is_leak = flag.startswith(FORMAT_LEAK) and leaks
        lines.append(_leak_line(leaks) if is_leak else first_clause(flag, 110))
    return [sentence(line).rstrip(".") for line in lines]


def _leak_line(leaks: Sequence[FormatLeak]) -> str:
    """The clearest format leak."""
    leak = max(leaks, key=lambda item: item.accuracy)
    right = of_hundred(leak.accuracy)
    return f"format leak: one rule alone is right in {right} cases (“{one_line(leak.rule)}”)"
