"""Results of an unpaired evaluation: verdicts, matches, and accuracy against turns seen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from dialeval.metrics.cue_results import Cue
from dialeval.metrics.evaluation_results import VERDICTS, FormatLeak, SystemExamples
from dialeval.metrics.profile_results import Trait
from dialeval.metrics.results import RunResults
from dialeval.registry import import_object

CONFOUNDED = "confounded by topic"
UNPAIRED_VERDICTS = (*VERDICTS, CONFOUNDED)
"""Every name that [`PileVerdict.verdict`] can have."""


@dataclass(frozen=True)
class PileVerdict:
    """What all evaluators of a run together show about one system's pile.

    Args:
        system (`str`):
            Name of the system.
        verdict (`str`):
            One of `UNPAIRED_VERDICTS`.
        text (`str`):
            Sentences that explain it with its numbers.
        evaluator (`str`, *optional*):
            The strongest evaluator: the one with the highest accuracy.
        accuracy, low, high (`float`, *optional*):
            Its accuracy on single responses without contexts. The interval holds for all
            evaluators at once.
        p_value (`float`, *optional*):
            Smallest p-value of the held-out tests, adjusted for the number of evaluators (Holm).
        control (`float`, *optional*):
            Topic control: the strongest accuracy of an evaluator on the partners' turns.
        control_p_value (`float`, *optional*):
            Smallest p-value of its held-out tests, adjusted as above.
        margin (`float`, *optional*):
            Accuracy up to which a difference counts as negligible.
        human_dialogues, system_dialogues (`int`, *optional*):
            Sizes of the piles.
        reservations (`tuple[str, ...]`, *optional*):
            Why the run cannot show what the verdict leaves open.
        flags (`tuple[str, ...]`, *optional*):
            What a reader has to know beside the verdict.
    """

    system: str
    verdict: str
    text: str
    evaluator: str = ""
    accuracy: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    control: float | None = None
    control_p_value: float | None = None
    margin: float | None = None
    human_dialogues: int = 0
    system_dialogues: int = 0
    reservations: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class MatchedComparison:
    """The comparison within dialogues whose partners say comparable things.

    Args:
        system, evaluator (`str`):
            Which system, by which evaluator.
        pairs (`int`):
            Matched pairs of dialogues.
        share (`float`):
            Share of the smaller pile's dialogues that are matched.
        accuracy, low, high (`float`):
            Accuracy on the responses of matched dialogues.
        control, control_low, control_high (`float`):
            Accuracy of an evaluator that was trained and tested on the partners' turns of matched
            dialogues: what the matching left of the topic.
        gain, gain_low, gain_high (`float`):
            Accuracy minus control.
        p_value (`float`):
            Of a held-out test in which the two dialogues of a match are swapped.
    """

    system: str
    evaluator: str
    pairs: int
    share: float
    accuracy: float
    low: float
    high: float
    control: float
    control_low: float
    control_high: float
    gain: float
    gain_low: float
    gain_high: float
    p_value: float


@dataclass(frozen=True)
class TurnPoint:
    """Accuracy on whole dialogues of which some turns were read.

    Args:
        system, evaluator (`str`):
            Which system, by which evaluator.
        view (`str`):
            What was read: `"response"`, or `"partner"` for the topic control.
        turns (`int`):
            Number of turns read; shorter dialogues were read whole.
        accuracy, low, high (`float`):
            Accuracy on dialogues with its interval.
    """

    system: str
    evaluator: str
    view: str
    turns: int
    accuracy: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class UnpairedResults(RunResults):
    """Everything an unpaired `dialeval evaluate` computed; what its `results.json` holds.

    Args:
        verdicts (`tuple[PileVerdict, ...]`, *optional*):
            One per system.
        matches (`tuple[MatchedComparison, ...]`, *optional*):
            The comparison within matched dialogues, by system and evaluator.
        curves (`tuple[TurnPoint, ...]`, *optional*):
            Accuracy on dialogues against the number of turns read.
        profile (`tuple[Trait, ...]`, *optional*):
            How the behaviour in the piles differs.
        leaks (`tuple[FormatLeak, ...]`, *optional*):
            Significant format leaks of every system.
        cues (`tuple[Cue, ...]`, *optional*):
            What gives every system away; those that may come from the topic are the last ones.
        examples (`Mapping[str, SystemExamples]`, *optional*):
            Responses of each system with extreme scores.

    The other fields are those of [`RunResults`].
    """

    protocol: ClassVar[str] = "unpaired"

    verdicts: tuple[PileVerdict, ...] = ()
    matches: tuple[MatchedComparison, ...] = ()
    curves: tuple[TurnPoint, ...] = ()
    profile: tuple[Trait, ...] = ()
    leaks: tuple[FormatLeak, ...] = ()
    cues: tuple[Cue, ...] = ()
    examples: Mapping[str, SystemExamples] = field(default_factory=dict)

    def __str__(self) -> str:
        return str(import_object("dialeval.reports.unpaired:to_text", "dialeval")(self))

    def _repr_html_(self) -> str:
        return str(import_object("dialeval.reports.unpaired:notebook_html", "dialeval")(self))
