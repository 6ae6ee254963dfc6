"""The task: agents speak or select in turn until both have selected the same item."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from dialeval.protocols.cocoa.scenarios import Item, KnowledgeBases, Scenario

MAX_TURNS = 46


@dataclass(frozen=True)
class Act:
    """What an agent does in its turn: it says something, or it selects an item.

    Args:
        text (`str`, *optional*):
            An utterance.
        item (`Item`, *optional*):
            The item, which the partner sees.
    """

    text: str = ""
    item: Item | None = None


class Agent(Protocol):
    """One side of the task, with its own knowledge base."""

    def act(self) -> Act:
        """Its next action."""

    def observe(self, act: Act) -> None:
        """Take note of the partner's action."""


Channel = Callable[[str, Scenario, int, Random], str]
"""From an utterance, the scenario, the speaker and random numbers to what the partner reads."""


@dataclass(frozen=True)
class Dialogue:
    """A finished dialogue.

    Args:
        scenario (`KnowledgeBases`):
            What the agents knew.
        acts (`tuple[tuple[int, Act, str], ...]`):
            For each turn the agent, its action, and the text that its partner read.
        complete (`bool`):
            Whether the last selections of both agents are the shared item.
    """

    scenario: KnowledgeBases
    acts: tuple[tuple[int, Act, str], ...]
    complete: bool

    @property
    def turns(self) -> int:
        """Number of actions."""
        return len(self.acts)

    @property
    def selections(self) -> int:
        """Number of selections."""
        return sum(act.item is not None for _, act, _ in self.acts)


def unchanged(text: str, scenario: Scenario, speaker: int, rng: Random) -> str:
    """The channel of normal inputs.

    Args:
        text (`str`):
            The utterance.
        scenario (`Scenario`):
            The scenario.
        speaker (`int`):
            Who speaks, 0 or 1.
        rng (`Random`):
            Random numbers.

    Returns:
        `str`: The utterance as it is.
    """
    return text


def play(
    scenario: Scenario,
    agents: Sequence[Agent],
    channel: Channel = unchanged,
    max_turns: int = MAX_TURNS,
    seed: int = 0,
) -> Dialogue:
    """Let two agents solve a scenario.

    Args:
        scenario (`Scenario`):
            The knowledge bases.
        agents (`Sequence[Agent]`):
            Both agents.
        channel (`Callable`, *optional*):
            What happens to utterances on their way; selections arrive as they are.
        max_turns (`int`, *optional*, defaults to 46):
            Actions at most.
        seed (`int`, *optional*, defaults to 0):
            Seed of the first speaker and of the channel.

    Returns:
        `Dialogue`: What happened.
    """
    rng = Random(f"{seed}/{scenario.id}")
    speaker = rng.randrange(2)
    selected: list[Item | None] = [None, None]
    acts: list[tuple[int, Act, str]] = []
    while len(acts) < max_turns:
        act = agents[speaker].act()
        heard = act.text if act.item else channel(act.text, scenario, speaker, rng)
        acts.append((speaker, act, heard))
        if act.item is not None:
            selected[speaker] = act.item
            if selected[0] == selected[1]:
                return Dialogue(scenario, tuple(acts), True)
        agents[1 - speaker].observe(Act(heard, act.item))
        speaker = 1 - speaker
    return Dialogue(scenario, tuple(acts), False)
