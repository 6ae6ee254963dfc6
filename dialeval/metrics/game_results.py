"""Results of the attack-defence game: turns, the pool of attackers, examples and components."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from dialeval.metrics.results import RunResults

FRESH_WORST = "held_out_worst"
"""Metric: a frozen defender's accuracy on the worst of its fresh attackers."""
_NAN = float("nan")


@dataclass(frozen=True)
class SetAccuracy:
    """A defender's accuracy on the replies of one attacker, A(t).

    Args:
        pairwise (`float`):
            Share of pairs in which the human reply has the higher score.
        probability (`float`, *optional*):
            Mean probability of choosing the human reply.
        hvm (`float`, *optional*):
            Pairwise accuracy of HvM alone.
        by_temperature (`Mapping[str, float]`, *optional*):
            Accuracy on the replies that were sampled at each temperature.
    """

    pairwise: float
    probability: float = _NAN
    hvm: float = _NAN
    by_temperature: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class FrequentReply:
    """An attacker's most frequent reply, and its share of all replies."""

    response: str = ""
    share: float = _NAN


@dataclass(frozen=True)
class TurnRecord:
    """One turn of a game: the attack, the replies of its attacker, and the defence after it.

    Args:
        turn (`int`):
            Number of the turn, from 1.
        accuracy, probability, hvm (`float`):
            See [`SetAccuracy`]: on the replies of this turn's attacker, right after the attack.
        attack_steps, defence_steps (`int`, *optional*):
            Steps of each side; `None` if there was no defence.
        kept_step (`int`, *optional*):
            Step of the attack whose attacker is kept: the last, or that of the lowest validation;
            0 is the generator before the attack.
        stopped (`str`, *optional*):
            Why the attack ended: `"fooled"` or `"budget"`.
        by_temperature (`Mapping[str, float]`, *optional*):
            Accuracy on the replies that were sampled at each temperature.
        low, high (`float`, *optional*):
            Range of the accuracy over the replies of all attackers so far.
        watched (`float`, *optional*):
            Lowest accuracy among the sets that decide whether the defender holds.
        measured (`Mapping[str, SetAccuracy]`, *optional*):
            Accuracy on the replies of each attacker so far, by turn; `"0"` is the generator.
        most_frequent (`FrequentReply`, *optional*):
            The attacker's most frequent reply.
        empty, unfinished (`float`, *optional*):
            Shares of replies without words, and without an end.
        defended (`float`, *optional*):
            Lowest accuracy after the defence.
    """

    turn: int
    accuracy: float = _NAN
    attack_steps: int | None = None
    kept_step: int | None = None
    stopped: str = ""
    probability: float = _NAN
    hvm: float = _NAN
    by_temperature: Mapping[str, float] = field(default_factory=dict)
    low: float = _NAN
    high: float = _NAN
    watched: float = _NAN
    measured: Mapping[str, SetAccuracy] = field(default_factory=dict)
    most_frequent: FrequentReply = FrequentReply()
    empty: float = _NAN
    unfinished: float = _NAN
    defence_steps: int | None = None
    defended: float = _NAN

    @property
    def collapsed(self) -> bool:
        """Whether more than half of the attacker's replies are the same."""
        return self.most_frequent.share > 0.5


@dataclass(frozen=True)
class AttackerReply:
    """An attacker's reply to a test context, with the score that each defender gave it."""

    attacker: str
    response: str
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class GameExample:
    """A test context with the human reply, the attackers' replies and all scores (Table 1).

    Args:
        context (`tuple[str, ...]`):
            Turns before the reply.
        human (`str`):
            The human reply.
        human_scores (`Mapping[str, float]`, *optional*):
            Score that each defender gave the human reply.
        responses (`tuple[AttackerReply, ...]`, *optional*):
            Replies of some attackers.
    """

    context: tuple[str, ...]
    human: str
    human_scores: Mapping[str, float] = field(default_factory=dict)
    responses: tuple[AttackerReply, ...] = ()


@dataclass(frozen=True)
class Component:
    """Quality of the generator, HvR or HvM before the games, on held-out data.

    Args:
        pairwise_accuracy, low, high (`float`, *optional*):
            Share of pairs in which the human reply has the higher score, with its interval.
        n (`int`, *optional*):
            Number of pairs.
        perplexity (`float`, *optional*):
            Of the generator.
        parameters (`int`, *optional*):
            Number of parameters.
        source (`str`, *optional*):
            Folder or Hub name, if it was not trained in this run.
        by_negative (`Mapping[str, float]`, *optional*):
            Of HvR: its pairwise accuracy against replies that are too relevant, by their kind.
    """

    pairwise_accuracy: float = _NAN
    low: float = _NAN
    high: float = _NAN
    n: int | None = None
    perplexity: float = _NAN
    parameters: int | None = None
    source: str = ""
    by_negative: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Memory:
    """Peak memory of the process in MiB, and the sizes of the two models together."""

    peak_mib: float
    parameters: int
    trainable: int


@dataclass(frozen=True, kw_only=True)
class GameResults(RunResults):
    """Everything a study of the attack-defence game computed; what its `results.json` holds.

    Args:
        defenders (`tuple[str, ...]`, *optional*):
            Columns of Table 2, in order.
        attackers (`tuple[str, ...]`, *optional*):
            Rows of Table 2, in order.
        games (`Mapping[str, tuple[TurnRecord, ...]]`, *optional*):
            Turns of each game (Figure 2).
        pool (`Mapping[str, Mapping[str, float]]`, *optional*):
            Accuracy of every defender on every saved attacker, by attacker and defender.
        examples (`tuple[GameExample, ...]`, *optional*):
            Test contexts with replies and scores (Table 1).
        components (`Mapping[str, Component]`, *optional*):
            Quality of the players before the games.
        memory (`Memory`, *optional*):
            What the run needed.
        minutes (`Mapping[str, float]`, *optional*):
            Duration of each stage since the run was last started or resumed.

    The other fields are those of [`RunResults`].
    """

    protocol: ClassVar[str] = "game"

    defenders: tuple[str, ...] = ()
    attackers: tuple[str, ...] = ()
    games: Mapping[str, tuple[TurnRecord, ...]] = field(default_factory=dict)
    pool: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    examples: tuple[GameExample, ...] = ()
    components: Mapping[str, Component] = field(default_factory=dict)
    memory: Memory | None = None
    minutes: Mapping[str, float] = field(default_factory=dict)
