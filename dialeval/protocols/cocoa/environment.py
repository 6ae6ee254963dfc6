"""The task: agents speak or select in turn until both have selected the same item."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

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


Game = Generator[Agent, Any, Dialogue]
"""A scenario that is being played: see [`moves`]."""


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
    game = moves(scenario, agents, channel, max_turns, seed)
    [dialogue] = play_together([game], lambda waiting: [agent.act() for agent in waiting])
    return dialogue


def moves(
    scenario: Scenario,
    agents: Sequence[Agent],
    channel: Channel = unchanged,
    max_turns: int = MAX_TURNS,
    seed: int = 0,
) -> Game:
    """The course of a scenario: yields the agent whose turn it is, and is sent what it does.

    Args:
        scenario, agents, channel, max_turns, seed:
            As in [`play`].

    Returns:
        `Generator`: Its value at the end is the `Dialogue`.
    """
    rng = Random(f"{seed}/{scenario.id}")
    speaker = rng.randrange(2)
    selected: list[Item | None] = [None, None]
    acts: list[tuple[int, Act, str]] = []
    while len(acts) < max_turns:
        act = yield agents[speaker]
        heard = act.text if act.item else channel(act.text, scenario, speaker, rng)
        acts.append((speaker, act, heard))
        if act.item is not None:
            selected[speaker] = act.item
            if selected[0] == selected[1]:
                return Dialogue(scenario, tuple(acts), True)
        agents[1 - speaker].observe(Act(heard, act.item))
        speaker = 1 - speaker
    return Dialogue(scenario, tuple(acts), False)


def play_together(
    games: Sequence[Game], act: Callable[[list[Agent]], Sequence[Act]]
) -> list[Dialogue]:
    """Play several scenarios turn by turn, so that models can answer in batches.

    Args:
        games (`Sequence[Generator]`):
            What [`moves`] returns.
        act (`Callable`):
            From the agents whose turn it is, one per unfinished game, to their actions.

    Returns:
        `list[Dialogue]`: In the order of the games.
    """
    done: dict[int, Dialogue] = {}
    waiting: dict[int, Agent] = {}

    def advance(number: int, given: Act | None) -> None:
        try:
            waiting[number] = games[number].send(given)
        except StopIteration as stop:
            waiting.pop(number, None)
            done[number] = stop.value

    for number in range(len(games)):
        advance(number, None)
    while waiting:
        numbers = list(waiting)
        for number, given in zip(numbers, act([waiting[at] for at in numbers]), strict=True):
            advance(number, given)
    return [done[number] for number in range(len(games))]
