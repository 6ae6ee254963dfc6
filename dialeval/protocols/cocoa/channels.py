"""What happens to an utterance between two agents (Niu and Bansal, 2018, sec. 3.2)."""

from random import Random

from dialeval.perturbations.entities import RandomInputs
from dialeval.perturbations.tokens import word_tokens
from dialeval.protocols.cocoa.entities import EntityLinker
from dialeval.protocols.cocoa.environment import Channel, unchanged
from dialeval.protocols.cocoa.scenarios import Scenario

_RANDOM = RandomInputs()


def make_channel(name: str, side: str = "both") -> Channel:
    """A channel by its name.

    Args:
        name (`str`):
            `normal`, `random-inputs`, `random-inputs-kept-entities` or `confusing-entity`.
        side (`str`, *optional*, defaults to `"both"`):
            `first` changes the utterances of the first agent only.

    Returns:
        `Callable`: The channel.
    """
    change = CHANNELS[name]
    if side == "both":
        return change

    def one_sided(text: str, scenario: Scenario, speaker: int, rng: Random) -> str:
        return text if speaker else change(text, scenario, speaker, rng)

    return one_sided


def random_inputs(text: str, scenario: Scenario, speaker: int, rng: Random) -> str:
    """Every word is a random one.

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
        `str`: As many random words.
    """
    return _RANDOM(text, rng)


def kept_entities(text: str, scenario: Scenario, speaker: int, rng: Random) -> str:
    """Every word is a random one, except those of entities.

    Args:
        text (`str`):
            The utterance.
        scenario (`Scenario`):
            The scenario, whose values are the entities.
        speaker (`int`):
            Who speaks, 0 or 1.
        rng (`Random`):
            Random numbers.

    Returns:
        `str`: Random words around the entities.
    """
    pieces, end = [], 0
    for mention in linker_of(scenario)(text):
        pieces += [_random(text[end : mention.start], rng), text[mention.start : mention.end]]
        end = mention.end
    return "".join([*pieces, _random(text[end:], rng)])


def _random(text: str, rng: Random) -> str:
    return _RANDOM(text, rng) if word_tokens(text) else text


def confusing_entity(text: str, scenario: Scenario, speaker: int, rng: Random) -> str:
    """Entities become others that the listener knows, but not from the shared item.

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
        `str`: The utterance with other entities of the same attribute.
    """
    pieces, end = [], 0
    for mention in linker_of(scenario)(text):
        column = scenario.attributes.index(mention.attribute)
        known = {item[column] for item in scenario.kbs[1 - speaker]}
        others = sorted(known - {scenario.shared[column], mention.value})
        other = rng.choice(others) if others else text[mention.start : mention.end]
        pieces += [text[end : mention.start], other]
        end = mention.end
    return "".join([*pieces, text[end:]])


def linker_of(scenario: Scenario) -> EntityLinker:
    """Finds the values of both knowledge bases."""
    items = [item for kb in scenario.kbs for item in kb]
    columns = enumerate(scenario.attributes)
    return EntityLinker({name: {item[at] for item in items} for at, name in columns})


CHANNELS: dict[str, Channel] = {
    "normal": unchanged,
    "random-inputs": random_inputs,
    "random-inputs-kept-entities": kept_entities,
    "confusing-entity": confusing_entity,
}
