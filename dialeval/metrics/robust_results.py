"""Results of training against perturbations: Table 2 of Niu and Bansal (2018), with verdicts."""

from dataclasses import dataclass, field
from typing import ClassVar

from dialeval.metrics.results import Result, RunResults
from dialeval.metrics.robustness_results import NORMAL, Estimate, StrategyCoverage

MORE_EPOCHS = "more epochs"
"""Training for as many epochs without perturbations, the control."""
ALL = "all should-not-change"
"""Training on all should-not-change strategies together."""

HELPS_BOTH = "helps, and on clean input too"
HELPS = "helps"
COSTS = "helps, at a cost on clean input"
CLEAN_ONLY = "only clean input gains"
NO_EFFECT = "no significant effect"
HARMS = "harms"
NOT_MEASURED = "not measured"
ROBUST_VERDICTS = (HELPS_BOTH, HELPS, COSTS, CLEAN_ONLY, NO_EFFECT, HARMS, NOT_MEASURED)


@dataclass(frozen=True)
class Comparison:
    """A difference of two cells with its interval and p-value."""

    value: float
    low: float
    high: float
    p: float

    @property
    def significant(self) -> int:
        """1 if it is significantly above 0, -1 if below, 0 otherwise (p < .05)."""
        if not self.p < 0.05:
            return 0
        return 1 if self.value > 0 else -1


@dataclass(frozen=True)
class RobustVerdict:
    """What training against a strategy did, by one measure.

    Args:
        target, strategy, kind, measure (`str`):
            Which generator, strategy and measure; the kind is `should_change` or
            `should_not_change`.
        attack (`Comparison`):
            N-train: perturbed minus normal contexts.
        gain (`Comparison`):
            Perturbed contexts: A-train minus N-train.
        clean (`Comparison`):
            Normal contexts: A-train minus N-train.
        verdict (`str`):
            One of `ROBUST_VERDICTS`, as the paper compares: with N-train.
        against_control (`str`, *optional*):
            The same with the control in place of N-train, if there is one: what is left once as
            many epochs without perturbations are taken away.
    """

    target: str
    strategy: str
    kind: str
    measure: str
    attack: Comparison
    gain: Comparison
    clean: Comparison
    verdict: str
    against_control: str = NOT_MEASURED


@dataclass(frozen=True)
class TargetRow:
    """A generator before training against anything: size, vocabulary and test perplexity.

    Args:
        name (`str`):
            Its name.
        parameters, vocabulary (`int`):
            Number of parameters, and of token ids.
        perplexity (`Estimate`):
            On normal test contexts, per token of its tokenizer.
        signature (`str`, *optional*):
            How it was trained.
        context_gain (`Estimate`, *optional*):
            log p per token of the reference given its context, minus that given the context of
            another dialogue: 0 if the generator does not read what it answers.
    """

    name: str
    parameters: int
    vocabulary: int
    perplexity: Estimate
    signature: str = ""
    context_gain: Estimate = field(default_factory=lambda: Estimate(float("nan")))

    @property
    def reads_context(self) -> bool:
        """Whether the gain from its context is significantly above 0."""
        return self.context_gain.low > 0


@dataclass(frozen=True)
class RobustExample:
    """A test context with the replies of a generator before and after training (Table 7)."""

    target: str
    strategy: str
    context: tuple[str, ...]
    perturbed_context: tuple[str, ...]
    reference: str
    nn: str
    na: str
    aa: str
    an: str


def verdict_of(kind: str, gain: Comparison, clean: Comparison) -> str:
    """A verdict from what training changed on perturbed and on normal contexts.

    Args:
        kind (`str`):
            `should_not_change`, where quality on perturbed contexts should rise, or
            `should_change`, where the old reference should fit less well.
        gain, clean (`Comparison`):
            A-train minus N-train on perturbed and on normal contexts.

    Returns:
        `str`: One of `ROBUST_VERDICTS`.

    Examples:
        >>> up, none = Comparison(0.1, 0.05, 0.15, 0.01), Comparison(0.0, -0.1, 0.1, 0.9)
        >>> verdict_of("should_not_change", up, none), verdict_of("should_change", up, none)
        ('helps', 'harms')
    """
    wanted = gain.significant * (1 if kind == "should_not_change" else -1)
    if wanted > 0:
        return (COSTS, HELPS, HELPS_BOTH)[clean.significant + 1]
    if wanted < 0 or clean.significant < 0:
        # Where replies should change, a generator that improves everywhere is not harmed.
        both_better = kind == "should_change" and clean.significant > 0
        return CLEAN_ONLY if both_better else HARMS
    return CLEAN_ONLY if clean.significant else NO_EFFECT


@dataclass(frozen=True, kw_only=True)
class RobustResults(RunResults):
    """Everything that training against perturbations gave; what its `results.json` holds.

    Args:
        targets (`tuple[TargetRow, ...]`, *optional*):
            The generators.
        strategies (`tuple[StrategyCoverage, ...]`, *optional*):
            Coverage of the strategies on the test contexts.
        verdicts (`tuple[RobustVerdict, ...]`, *optional*):
            One per target, strategy and measure.
        examples (`tuple[RobustExample, ...]`, *optional*):
            Replies before and after.
        measure (`str`, *optional*):
            Measure of the headline verdicts.

    The other fields are those of [`RunResults`]. The `details` of a result have its `train` and
    `test`, and the p-value of its difference from N-train on N-test.
    """

    protocol: ClassVar[str] = "robust"

    targets: tuple[TargetRow, ...] = ()
    strategies: tuple[StrategyCoverage, ...] = ()
    verdicts: tuple[RobustVerdict, ...] = ()
    examples: tuple[RobustExample, ...] = ()
    measure: str = ""

    def cell(
        self, metric: str, target: str, train: str = NORMAL, test: str = NORMAL
    ) -> Result | None:
        """A number of a target by what it was trained and tested on, or `None`.

        Args:
            metric, target (`str`):
                Which measure of which generator.
            train, test (`str`, *optional*, default to `"normal"`):
                A strategy, `NORMAL`, or for training also `ALL` and `MORE_EPOCHS`.

        Returns:
            `Result` or `None`: The number with its interval.
        """
        for result in self.select(metric, target):
            if (result.details.get("train"), result.details.get("test")) == (train, test):
                return result
        return None

    def verdict(self, target: str, strategy: str, measure: str = "") -> RobustVerdict | None:
        """The verdict on a target and a strategy, by the run's measure unless another is given.

        Args:
            target, strategy (`str`):
                The generator and the strategy.
            measure (`str`, *optional*):
                The measure; the run's by default.

        Returns:
            `RobustVerdict` or `None`: The verdict.
        """
        wanted = (target, strategy, measure or self.measure)
        rows = (row for row in self.verdicts if (row.target, row.strategy, row.measure) == wanted)
        return next(rows, None)
