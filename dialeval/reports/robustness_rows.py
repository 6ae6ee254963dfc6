"""What a robustness run found, looked up by system and strategy, in words a person can read."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from dialeval.reports.evaluation_rows import NONE, between, number, share, signed

KINDS = {"should_not_change": "should not change", "should_change": "should change"}
QUALITY = {
    "activity_f1": "Activity F1", "entity_f1": "Entity F1", "bleu": "BLEU", "chrf": "chrF",
    "likelihood": "log p",
}  # fmt: skip
LIKENESS = {
    "context_similarity_words": "Cont. (words)", "response_similarity_words": "Resp. (words)",
    "context_similarity_sentence": "Cont. (sentence)",
    "response_similarity_sentence": "Resp. (sentence)",
}  # fmt: skip
TONES = {
    "holds still": "good", "moves as it must": "good", "moves too much": "noise",
    "does not move": "noise", "inconclusive": "open",
}  # fmt: skip
REPLIES = ("movement", "changed")
NORMAL = "normal"
SIGNIFICANT = 0.05

Result = Mapping[str, Any]


class Index:
    """The results of a run, looked up by metric, system and strategy."""

    def __init__(self, told: Mapping[str, Any]):
        self.told = told
        self._found = {
            (each.get("metric"), each.get("system"), _detail(each, "strategy")): each
            for each in told.get("results") or ()
            if not each.get("evaluator")
        }

    @cached_property
    def systems(self) -> list[str]:
        """Systems, as they come."""
        return [each["name"] for each in self.told.get("systems") or ()]

    @cached_property
    def strategies(self) -> list[Mapping[str, Any]]:
        """Strategies with their coverage: those that should change nothing first."""
        order = list(KINDS)
        found = self.told.get("strategies") or ()
        return sorted(found, key=lambda each: order.index(each["kind"]))

    def get(self, metric: str, system: str, strategy: str = NORMAL) -> Result:
        """A result, empty where there is none."""
        return self._found.get((metric, system, strategy), {})

    def verdict(self, system: str, strategy: str) -> Mapping[str, Any]:
        """The headline of a system under a strategy."""
        for each in self.told.get("verdicts") or ():
            if (each.get("system"), each.get("strategy")) == (system, strategy):
                return each
        return {}

    @cached_property
    def quality(self) -> dict[str, str]:
        """Measures against the reference that there are, and what tables call them."""
        known = {metric for metric, _, _ in self._found}
        return {name: said for name, said in QUALITY.items() if name in known}

    @cached_property
    def judges(self) -> list[Result]:
        """What strategies do to the evaluators."""
        return [each for each in self.told.get("results") or () if each.get("evaluator")]


def _detail(result: Result, name: str) -> Any:
    return (result.get("details") or {}).get(name)


def worth(index: Index, metric: str, system: str, strategy: str = NORMAL) -> str:
    """What replies are worth, times 100 but for likelihoods; a star where the loss is significant.

    As in the paper, it is a mean over all contexts, edited or not.
    """
    value = number(index.get(metric, system, strategy), "value")
    if value is None:
        return NONE
    text = f"{value:.3f}".replace("-", "−") if metric == "likelihood" else f"{100 * value:.2f}"
    p = number(index.get(f"{metric}_loss", system, strategy), "p")
    return text + ("*" if p is not None and p < SIGNIFICANT else "")


def near(index: Index, metric: str, system: str, strategy: str) -> str:
    """A cosine of Table 4."""
    value = number(index.get(metric, system, strategy), "value")
    return NONE if value is None else f"{value:.2f}"


def effect_words(said: Mapping[str, Any]) -> str:
    """An effect with its interval."""
    value = number(said, "effect")
    return NONE if value is None else f"{signed(value)} ({between(said)})"


def headline(index: Index, system: str) -> str:
    """A system in a sentence: what it does under which strategies."""
    groups: dict[str, list[str]] = {}
    for each in index.strategies:
        said = index.verdict(system, each["name"]).get("verdict")
        if said:
            groups.setdefault(said, []).append(each["name"])
    parts = [f"{said} under {_listed(groups[said])}" for said in TONES if said in groups]
    return f"{'; '.join(parts)}." if parts else "No verdict: nothing was edited or measured."


def selectivity_words(system: Mapping[str, Any]) -> str:
    """Whether a system moves more where it must than where it must not."""
    found = system.get("selectivity") or {}
    value, low, high = (number(found, name) for name in ("value", "low", "high"))
    if None in (value, low, high):
        return ""
    ends = f"{signed(value)} ({signed(low)} to {signed(high)})"
    if low > 0:
        return f"It moves more where it must than where it must not: {ends}."
    if high < 0:
        return f"It moves less where it must than where it must not: {ends}."
    return f"It cannot be said to move more where it must than where it must not: {ends}."


def floor_words(system: Mapping[str, Any]) -> str:
    """How far a sampling system moves by itself."""
    found = system.get("self_movement") or {}
    value = number(found, "value")
    if value is None:
        return ""
    return (
        f"It samples: two answers to the same context are {share(value)} ({between(found)}) apart. "
        "That is the floor, and is taken off."
    )


def notes(told: Mapping[str, Any]) -> list[str]:
    """How to read the verdicts."""
    settings = told.get("settings") or {}
    first = (
        "Movement: 0 is the same reply, 1 is as far as the system's replies to other contexts are "
        "from each other. Effects are over edited contexts."
    )
    margins = (
        f"Margins: {settings.get('margin')} for movement and for changed replies, "
        f"{settings.get('loss_margin')} of the measure for losses against the reference. A system "
        "holds still only if the whole interval lies within the margin."
    )
    return [first, margins]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
