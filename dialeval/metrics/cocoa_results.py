"""Results of the collaborative task: Table 8 of Niu and Bansal (2018), with intervals."""

from dataclasses import dataclass
from typing import ClassVar

from dialeval.metrics.results import Result, RunResults

NORMAL = "normal"
ENTITIES_ONLY = "reads entities only"
READS_WORDS = "reads the words too"
SELECTIONS = "relies on selections"
UNDECIDED = "undecided"


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
            `READS_WORDS` if the former already do, `SELECTIONS` if neither does.
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


def attention_verdict(agent: str, kept_p: float, random_p: float) -> CocoaVerdict:
    """What an agent reads, from the p-values of two differences in completion.

    Args:
        agent (`str`):
            Name of the agent.
        kept_p (`float`):
            Of random words around kept entities against normal inputs.
        random_p (`float`):
            Of random inputs against normal inputs.

    Returns:
        `CocoaVerdict`: The verdict with both.

    Examples:
        >>> attention_verdict("bot", 0.6, 0.001).verdict
        'reads entities only'
    """
    kept, random = kept_p < 0.05, random_p < 0.05
    if not kept:
        verdict = ENTITIES_ONLY if random else SELECTIONS
    else:
        verdict = READS_WORDS if random else UNDECIDED
    return CocoaVerdict(agent, verdict, kept_p, random_p)
