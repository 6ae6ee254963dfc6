"""Human passages with the turn after the response, for the scenario `human_next`."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dialeval.dialogues import Passage, Passages, iterate, to_passages


@dataclass(frozen=True)
class NextTurns:
    """Passages that have a next turn, and where it comes from.

    Args:
        passages (`Passages`):
            Passages, of which those with a `following` turn count.
        source (`str`):
            `"following"` if the data have next turns; `"context"` if passages were made from
            inside the contexts; `"none"` if contexts have one turn only.
        count (`int`):
            Passages with a next turn.
    """

    passages: Passages
    source: str
    count: int


def next_turns(human: Passages, needed: int) -> NextTurns:
    """The passages of a run that have a next turn, or others from inside its contexts.

    In a context of turns a, b with the response c, b answers a and c is the turn after it.

    Args:
        human (`Passages`):
            Human passages.
        needed (`int`):
            Passages with a next turn that are enough.

    Returns:
        `NextTurns`: From the data where they have enough, else from inside the contexts.
    """
    given = sum(text is not None for text in human["following"])
    if given >= needed:
        return NextTurns(human, "following", given)
    inner = to_passages(_inner_passages(human))
    if len(inner) >= max(needed, given):
        return NextTurns(inner, "context", len(inner))
    return NextTurns(human, "following" if given else "none", given)


def _inner_passages(human: Passages) -> Iterator[Passage]:
    """Passages whose response is the last turn of a context, and whose next turn the response."""
    for passage in iterate(human):
        if len(passage.context) > 1:
            *context, last = passage.context
            yield replace(
                passage,
                context=tuple(context),
                response=last.text,
                speaker=last.speaker,
                following=passage.response,
                id=f"{passage.id}~inner",
            )
