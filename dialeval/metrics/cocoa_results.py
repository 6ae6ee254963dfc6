"""Results of the collaborative task: Table 8 of Niu and Bansal (2018), with intervals."""

from dataclasses import dataclass
from typing import ClassVar

from dialeval.metrics.results import Result, RunResults

NORMAL = "normal"
ENTITIES_ONLY = "reads entities only"
READS_WORDS = "reads the words too"
SELECTIONS = "relies on selections"
SELDOM = "seldom completes a scenario"
UNDECIDED = "undecided"
MARGIN = 0.15
"""Fall of the completion rate that an interval must exclude before "no change" is said. An agent
whose rate is not above it on normal inputs has no room for such a fall."""


@dataclass(frozen=True)
class CocoaExample:
    """A dialogue: its agents, its channel, and what was said and read in each turn."""

    agent: str
    channel: str
    scenario: str
    complete: bool
    lines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class CocoaVerdict:
    """What an agent pays attention to, by its completion rates.

    Args:
        agent (`str`):
            The agent.
        verdict (`str`):
            `ENTITIES_ONLY` if random words around entities change nothing but random inputs do,
            `READS_WORDS` if the former already do, `SELECTIONS` if neither does, `UNDECIDED`
            where a change is not significant but may be large, and `SELDOM` where the completion
            rate is too low to fall.
        kept_p, random_p (`float`):
            p-values of both differences from normal inputs.
    """

    agent: str
    verdict: str
    kept_p: float
    random_p: float


@dataclass(frozen=True, kw_only=True)
class CocoaResults(RunResults):
    """Everything a run of the collaborative task computed; what its `results.json` holds.

    Args:
        agents (`tuple[str, ...]`, *optional*):
            Names of the agents.
        channels (`tuple[str, ...]`, *optional*):
            What happened to utterances.
        verdicts (`tuple[CocoaVerdict, ...]`, *optional*):
            One per agent with all three random channels.
        examples (`tuple[CocoaExample, ...]`, *optional*):
            A dialogue of each agent and channel.

    The other fields are those of [`RunResults`]. The `details` of a result have its `channel`, and
    the p-value of its difference from normal inputs.
    """

    protocol: ClassVar[str] = "cocoa"

    agents: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    verdicts: tuple[CocoaVerdict, ...] = ()
    examples: tuple[CocoaExample, ...] = ()

    def cell(self, metric: str, agent: str, channel: str = NORMAL) -> Result | None:
        """A number of an agent under a channel, or `None`.

        Args:
            metric (`str`):
                `completion_rate`, `turns` or `selections`.
            agent (`str`):
                Name of the agent.
            channel (`str`, *optional*, defaults to `"normal"`):
                Name of the channel.

        Returns:
            `Result` or `None`: The number with its interval.
        """
        rows = self.select(metric, agent)
        return next((row for row in rows if row.details.get("channel") == channel), None)


def attention_verdict(
    agent: str,
    kept_p: float,
    random_p: float,
    kept_fall: float = 0.0,
    random_fall: float = 0.0,
    normal_rate: float = 1.0,
) -> CocoaVerdict:
    """What an agent reads, from two differences in completion.

    Args:
        agent (`str`):
            Name of the agent.
        kept_p (`float`):
            Of random words around kept entities against normal inputs.
        random_p (`float`):
            Of random inputs against normal inputs.
        kept_fall, random_fall (`float`, *optional*):
            The largest fall of the completion rate that the intervals allow.
        normal_rate (`float`, *optional*, defaults to 1):
            Completion rate on normal inputs.

    Returns:
        `CocoaVerdict`: The verdict with both p-values.

    Examples:
        >>> attention_verdict("bot", 0.6, 0.001).verdict
        'reads entities only'
        >>> attention_verdict("bot", 0.6, 0.08, kept_fall=0.3, random_fall=0.5).verdict
        'undecided'
    """
    if normal_rate <= MARGIN:
        return CocoaVerdict(agent, SELDOM, kept_p, random_p)
    kept, random = kept_p < 0.05, random_p < 0.05
    is_open = (not kept and kept_fall > MARGIN) or (not random and random_fall > MARGIN)
    if is_open or (kept and not random):
        return CocoaVerdict(agent, UNDECIDED, kept_p, random_p)
    verdict = READS_WORDS if kept else ENTITIES_ONLY if random else SELECTIONS
    return CocoaVerdict(agent, verdict, kept_p, random_p)
