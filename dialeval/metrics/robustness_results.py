"""Results of a robustness run: verdicts, systems, coverage of the strategies, and examples."""

from dataclasses import dataclass
from typing import Any, ClassVar

from dialeval.metrics.results import Result, RunResults

STABLE = "stable"
OVER_SENSITIVE = "over-sensitive"
RESPONSIVE = "responsive"
OVER_STABLE = "over-stable"
INCONCLUSIVE = "inconclusive"
ROBUSTNESS_VERDICTS = (STABLE, RESPONSIVE, OVER_SENSITIVE, OVER_STABLE, INCONCLUSIVE)
"""Every name that [`RobustnessVerdict.verdict`] can have, the good ones first."""
NORMAL = "normal"
"""Strategy of a result that was measured on unperturbed contexts."""
_NAN = float("nan")


@dataclass(frozen=True)
class Estimate:
    """A number with its interval."""

    value: float
    low: float = _NAN
    high: float = _NAN


@dataclass(frozen=True)
class RobustnessVerdict:
    """What one strategy does to one system, by the measure of the run.

    Args:
        system, strategy (`str`):
            Which system, and how its contexts were perturbed.
        kind (`str`):
            `"should_change"` or `"should_not_change"`.
        verdict (`str`):
            One of `ROBUSTNESS_VERDICTS`.
        measure (`str`):
            Measure that the verdict is based on.
        effect, low, high (`float`):
            The effect with its interval.
        margin (`float`):
            Largest effect that counts as none.
        n, dialogues (`int`):
            Number of edited contexts, and of dialogues that they are from.
        unchanged (`float`):
            Share of replies that are the same, word for word.
        coverage (`float`):
            Share of contexts that the strategy edited.
    """

    system: str
    strategy: str
    kind: str
    verdict: str
    measure: str
    effect: float
    low: float
    high: float
    margin: float
    n: int
    dialogues: int
    unchanged: float
    coverage: float


@dataclass(frozen=True)
class SystemRow:
    """Facts about one system.

    Args:
        name, signature (`str`):
            The system, and how its replies were made.
        samples (`bool`, *optional*, defaults to `False`):
            Whether it answers differently each time.
        unit (`float`, *optional*):
            Mean distance between its replies in different dialogues: movement 1.
        words (`str`, *optional*):
            Word vectors of the similarity table.
        self_movement (`Estimate`, *optional*):
            Movement between two answers to the same context, if it samples.
        selectivity (`Estimate`, *optional*):
            Movement where replies should change, minus movement where they should not.
    """

    name: str
    signature: str = ""
    samples: bool = False
    unit: float | None = None
    words: str = ""
    self_movement: Estimate | None = None
    selectivity: Estimate | None = None


@dataclass(frozen=True)
class StrategyCoverage:
    """How many contexts a strategy edited.

    Args:
        name, kind, signature (`str`):
            The strategy: its name, `"should_change"` or `"should_not_change"`, and its settings.
        coverage (`float`):
            Share of contexts with at least one edit.
        edited, n (`int`):
            Number of edited contexts, and of all contexts.
        foreign (`int`, *optional*, defaults to 0):
            Contexts in a language that the strategy does not support.
    """

    name: str
    kind: str
    signature: str
    coverage: float
    edited: int
    n: int
    foreign: int = 0


@dataclass(frozen=True)
class RobustnessExample:
    """A context before and after a strategy, with both replies; a line of `responses.jsonl`.

    Args:
        system, strategy, kind (`str`):
            Which system, and how the context was perturbed.
        id, dialogue_id (`str`):
            The passage and its dialogue.
        edited (`bool`):
            Whether the strategy found anything to edit.
        context, perturbed_context (`tuple[str, ...]`):
            Turns before and after the edits.
        edits (`tuple`):
            For each turn its edits: position, old text, new text.
        reference (`str`):
            The human response, empty if not known.
        response, perturbed_response (`str`):
            The system's replies to both contexts.
        movement (`float`, *optional*):
            Distance between the two replies; 1 is that of replies to different dialogues.
    """

    system: str
    strategy: str
    kind: str
    id: str
    dialogue_id: str
    edited: bool
    context: tuple[str, ...]
    perturbed_context: tuple[str, ...]
    edits: tuple[tuple[tuple[Any, ...], ...], ...]
    reference: str
    response: str
    perturbed_response: str
    movement: float = _NAN


@dataclass(frozen=True, kw_only=True)
class RobustnessResults(RunResults):
    """Everything `dialeval robustness` computed; what its `results.json` holds.

    Args:
        verdicts (`tuple[RobustnessVerdict, ...]`, *optional*):
            One per system and strategy that edited anything.
        systems (`tuple[SystemRow, ...]`, *optional*):
            Facts about each system.
        strategies (`tuple[StrategyCoverage, ...]`, *optional*):
            Coverage of each strategy.
        examples (`tuple[RobustnessExample, ...]`, *optional*):
            Worst replies of each system under each strategy.

    The other fields are those of [`RunResults`]. The `details` of a result have its `strategy`.
    """

    protocol: ClassVar[str] = "robustness"

    verdicts: tuple[RobustnessVerdict, ...] = ()
    systems: tuple[SystemRow, ...] = ()
    strategies: tuple[StrategyCoverage, ...] = ()
    examples: tuple[RobustnessExample, ...] = ()

    def measured(self, metric: str, system: str, strategy: str = NORMAL) -> Result | None:
        """A number of a system under a strategy, or `None`.

        Args:
            metric (`str`):
                Name of the metric.
            system (`str`):
                Name of the system.
            strategy (`str`, *optional*, defaults to `"normal"`):
                Name of the strategy.

        Returns:
            `Result` or `None`: The number with its interval.
        """
        rows = self.select(metric, system, evaluator="")
        return next((row for row in rows if row.details.get("strategy") == strategy), None)

    def verdict(self, system: str, strategy: str) -> RobustnessVerdict | None:
        """The verdict on a system under a strategy, or `None`."""
        rows = (row for row in self.verdicts if row.system == system)
        return next((row for row in rows if row.strategy == strategy), None)

    @property
    def evaluator_results(self) -> list[Result]:
        """What the strategies do to the scores of the evaluators themselves."""
        return [result for result in self.results if result.evaluator]
