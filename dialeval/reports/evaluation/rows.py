"""The results of an evaluation as rows, one per system and evaluator, and the table's columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from dialeval.metrics.evaluation_results import (
    DISTINGUISHABLE,
    INCONCLUSIVE,
    INDISTINGUISHABLE,
    NEGLIGIBLE,
    CurvePoint,
    EvaluationResults,
    Verdict,
)
from dialeval.metrics.results import REFERENCES, SECOND_HUMAN, Result, RunResults
from dialeval.reports.format import (
    NONE,
    detail,
    finite,
    format_percent,
    format_share,
    one_line,
)

UPPER_BOUND = "at most; more training data would lower it"
FLAT = "saturated"
TOO_FEW_POINTS = "too few points to say"
VERDICT_PHRASES = {
    DISTINGUISHABLE: "distinguishable from human",
    NEGLIGIBLE: "differs from human, but negligibly",
    INDISTINGUISHABLE: "not distinguishable from human",
    INCONCLUSIVE: "inconclusive",
}
"""How a verdict is printed."""
EVALUATOR_LABELS = {"coin": "random guess"}
"""How an evaluator is printed, where it is not by its name."""
SCENARIOS = {
    "human_human": ("human / human", "human/\nhuman"),
    "machine_machine": ("machine / machine", "machine/\nmachine"),
    "human_random": ("human / random", "human/\nrandom"),
    "human_next": ("human / next", "human/\nnext"),
}
_ERE_METRICS = ("ere", "ere_three", "ere_transfer", "ere_transfer_three")


@dataclass(frozen=True)
class Row:
    """The results of one system by one evaluator; `None` where there is none.

    Args:
        system, evaluator (`str`):
            Which system, evaluated by which evaluator.
        adversuc, machine, control, ere (`Result`, *optional*):
            Adversarial success, machine-vs-random, human-vs-random, reliability error.
        length_matched (`Result`, *optional*):
            Adversarial success among responses of similar length.
        normalised (`Result`, *optional*):
            Adversarial success after the format of both sides was normalised.
        relevance (`Result`, *optional*):
            How closely the responses follow their contexts.
        upper_bound (`bool`, *optional*, defaults to `False`):
            Whether more training data would lower AdverSuc.
    """

    system: str
    evaluator: str
    adversuc: Result | None = None
    machine: Result | None = None
    control: Result | None = None
    ere: Result | None = None
    length_matched: Result | None = None
    normalised: Result | None = None
    relevance: Result | None = None
    upper_bound: bool = False

    @property
    def label(self) -> str:
        """Name of the evaluator as it is printed."""
        return EVALUATOR_LABELS.get(self.evaluator, self.evaluator)

    @property
    def reference(self) -> bool:
        """Whether it is a baseline or a second human rather than a system."""
        return self.evaluator in REFERENCES or self.system == SECOND_HUMAN

    @property
    def by_transfer(self) -> bool:
        """Whether its ERE is of an evaluator that was not retrained: another quantity."""
        return self.ere is not None and self.ere.metric.startswith("ere_transfer")

    @property
    def three_scenarios(self) -> bool:
        """Whether its ERE is a mean over three scenarios: another quantity too."""
        return self.ere is not None and self.ere.metric.endswith("_three")


@dataclass(frozen=True)
class Scenario:
    """AdverSuc of one reliability scenario and its deviation from the known value."""

    adversuc: float | None = None
    deviation: float | None = None


def as_evaluation(results: RunResults) -> EvaluationResults:
    """The results as those of an evaluation; without verdicts when only reliability was run."""
    if isinstance(results, EvaluationResults):
        return results
    names = [item.name for item in fields(RunResults)]
    return EvaluationResults(**{name: getattr(results, name) for name in names})


def value_of(result: Result | None) -> float | None:
    """The value of a result; `None` when there is none or it is not finite."""
    return None if result is None else finite(result.value)


def bounds_of(result: Result | None) -> tuple[float | None, float | None]:
    """The interval of a result."""
    return (None, None) if result is None else (finite(result.low), finite(result.high))


def rows_of(results: EvaluationResults) -> list[Row]:
    """One row per system and evaluator: systems in the order of the run, reference rows last."""
    index = {(item.metric, item.system, item.evaluator): item for item in results.results}
    keys = _row_keys(index)
    systems = sorted(dict.fromkeys(system for system, _ in keys), key=SECOND_HUMAN.__eq__)
    upper = {
        key
        for key, state in saturation(results.curves).items()
        if state == UPPER_BOUND and key[1] not in REFERENCES
    }
    ranked = sorted(keys, key=lambda key: (systems.index(key[0]), key[1] in REFERENCES))
    return [_row(index, *key, key in upper) for key in ranked]


def _row_keys(index: Mapping[tuple[str, str, str], Result]) -> list[tuple[str, str]]:
    """System and evaluator of each row; an evaluator without a system only if it has no other."""
    keys = dict.fromkeys(
        (system, evaluator)
        for metric, system, evaluator in index
        if evaluator
        and ((system and metric in ("adversuc", "machine_vs_random")) or metric in _ERE_METRICS)
    )
    with_system = {evaluator for system, evaluator in keys if system}
    return [key for key in keys if key[0] or key[1] not in with_system]


def _row(
    index: Mapping[tuple[str, str, str], Result], system: str, evaluator: str, upper_bound: bool
) -> Row:
    # An ERE without a system applies to all systems.
    keys = [(metric, name, evaluator) for name in (system, "") for metric in _ERE_METRICS]
    errors = [index[key] for key in keys if key in index]
    return Row(
        system,
        evaluator,
        adversuc=index.get(("adversuc", system, evaluator)),
        machine=index.get(("machine_vs_random", system, evaluator)),
        control=index.get(("human_vs_random", "", evaluator)),
        ere=errors[0] if errors else None,
        length_matched=index.get(("adversuc_length_matched", system, evaluator)),
        normalised=index.get(("adversuc_normalised", system, evaluator)),
        relevance=index.get(("relevance", system, evaluator)),
        upper_bound=upper_bound,
    )


def saturation(curves: Sequence[CurvePoint]) -> dict[tuple[str, str], str]:
    """By system and evaluator: whether more training data would lower AdverSuc.

    It would if AdverSuc with half of the training data lies above the interval with all of it.
    Both are measured on the same responses, so their difference is about as noisy as one of them.
    """
    points: dict[tuple[str, str], dict[float, CurvePoint]] = {}
    for point in curves:
        points.setdefault((point.system, point.evaluator), {})[round(point.share, 3)] = point
    return {key: _saturation(curve.get(0.5), curve.get(1)) for key, curve in points.items()}


def _saturation(half: CurvePoint | None, full: CurvePoint | None) -> str:
    if half is None or full is None:
        return TOO_FEW_POINTS
    before, bound = finite(half.adversuc), finite(full.high)
    if before is None or bound is None or finite(full.adversuc) is None:
        return TOO_FEW_POINTS
    return UPPER_BOUND if before > bound else FLAT


def scenarios_of(result: Result | None) -> dict[str, Scenario]:
    """The four scenarios of a reliability error; empty ones where there is no number."""
    details: Mapping[str, Any] = result.details if result is not None else {}
    numbers = details["scenarios"] or {} if "scenarios" in details else {}
    return {
        name: Scenario(finite(numbers[name]["adversuc"]), finite(numbers[name]["deviation"]))
        if numbers.get(name)
        else Scenario()
        for name in SCENARIOS
    }


def error_above_blind(result: Result | None) -> float | None:
    """An ERE without what the response-only twin knows of `human_next`, if it was measured."""
    details: Mapping[str, Any] = result.details if result is not None else {}
    return finite((details.get("above_blind") or {}).get("ere"))


def only_reliability(rows: Sequence[Row]) -> bool:
    """Whether the run measured the reliability of evaluators and no system."""
    return bool(rows) and not any(row.adversuc or row.machine for row in rows)


def headline_verdicts(results: EvaluationResults) -> dict[str, Verdict]:
    """The verdict of each system."""
    verdicts: dict[str, Verdict] = {}
    for verdict in results.verdicts:
        verdicts.setdefault(verdict.system, verdict)
    return verdicts


def verdict_sentences(verdict: Verdict) -> str:
    """What explains a verdict, and what to be careful about, in one line."""
    notes = [f"Note: {flag}." for flag in verdict.flags]
    return " ".join(one_line(text) for text in [verdict.text, *notes])


def verdict_phrase(verdict: str) -> str:
    """How a verdict is printed.

    Examples:
        >>> verdict_phrase("indistinguishable")
        'not distinguishable from human'
    """
    return VERDICT_PHRASES.get(verdict, verdict)


def accuracy_phrase(row: Row) -> str:
    """The accuracy in percent and AdverSuc in parentheses.

    Examples:
        >>> result = Result("adversuc", "bot", "svm", 0.229, 0.2, 0.3, 100, "")
        >>> accuracy_phrase(Row("bot", "svm", adversuc=result))
        '77 % (AdverSuc .23)'
    """
    value = value_of(row.adversuc)
    if value is None:
        return NONE
    bound = "≤ " if row.upper_bound else ""
    return f"{format_percent(1 - value)} (AdverSuc {bound}{format_share(value, 2)})"


def response_only_accuracy(result: Result | None) -> float | None:
    """The accuracy of an evaluator's twin that never saw a context.

    Results of 0.2 have it as `response_only`, on the scale of the result: as AdverSuc there.
    """
    return _accuracy_detail(result, "response_only")


def shuffled_context_accuracy(result: Result | None) -> float | None:
    """The accuracy of an evaluator after another dialogue's context."""
    return _accuracy_detail(result, "shuffled_context")


def _accuracy_detail(result: Result | None, name: str) -> float | None:
    accuracy, older = detail(result, f"{name}_accuracy"), detail(result, name)
    if accuracy is not None or older is None or result is None:
        return accuracy
    return 1 - older if result.metric.startswith("adversuc") else older


def accuracy_bounds(result: Result | None) -> tuple[float | None, float | None]:
    """The interval of the accuracy, from a result of AdverSuc."""
    low, high = bounds_of(result)
    return (None, None) if low is None or high is None else (1 - high, 1 - low)
