"""What an evaluator reads of two piles: responses, the partners' turns, openings, style alone."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from dialeval.dialogues import PAIR_FEATURES, Passage, Passages, Turn, iterate, to_passages
from dialeval.dialogues.pair_tables import PairSide, write_pairs
from dialeval.dialogues.splits import position
from dialeval.protocols.unpaired.piles import PilePair
from dialeval.scorers.baselines import NEUTRAL

RESPONSE = "response"
"""The response alone: the main number, because contexts of two piles differ in their topics."""
IN_CONTEXT = "context"
"""The response in its context, partners' turns included."""
PARTNER = "partner"
"""The turn that is answered, by the partner: the topic control."""
OPENING = "opening"
"""The first turn of a dialogue, before the evaluated side says anything."""
STYLE = "style"
"""The response with its rarer words masked: what is left without the topic."""
VIEWS = (RESPONSE, IN_CONTEXT, PARTNER, OPENING, STYLE)

KEPT_WORDS = 150
"""Words that stay visible in the view `style`: the most frequent ones of both piles."""
_WORD = re.compile(r"\w+", re.UNICODE)
MASK, DIGITS = "*", "#"


@dataclass(frozen=True)
class ViewRows:
    """The rows of both piles in one view.

    Args:
        human, system (`Passages`):
            What an evaluator reads; a side may be empty.
        units (`tuple[np.ndarray, np.ndarray]`):
            Unit of each row of both.
    """

    human: Passages
    system: Passages
    units: tuple[np.ndarray, np.ndarray]

    def __len__(self) -> int:
        return len(self.human) + len(self.system)


def view_rows(piles: PilePair, view: str) -> ViewRows:
    """Both piles in one view.

    Args:
        piles (`PilePair`):
            Both piles.
        view (`str`):
            One of `VIEWS`.

    Returns:
        `ViewRows`: Rows without content in this view are left out.
    """
    edit = _edit(piles, view)
    sides = [to_passages(edit(iterate(side))) for side in (piles.human, piles.system)]
    units = [np.array([piles.units[name] for name in side["dialogue_id"][:]]) for side in sides]
    return ViewRows(sides[0], sides[1], (units[0], units[1]))


def _edit(piles: PilePair, view: str) -> Callable[[Iterator[Passage]], Iterator[Passage]]:
    if view == IN_CONTEXT:
        return lambda passages: passages
    if view == PARTNER:
        return lambda passages: _changed(passages, partner_turn)
    if view == OPENING:
        return _openings
    if view == STYLE:
        words = common_words(piles)
        return lambda passages: _changed(passages, lambda item: mask(item.response, words))
    return lambda passages: _changed(passages, lambda item: item.response)


def _changed(
    passages: Iterator[Passage], text_of: Callable[[Passage], str | None]
) -> Iterator[Passage]:
    """Passages with another text as the response, and without their context."""
    for passage in passages:
        text = text_of(passage)
        if text is not None:
            yield replace(passage, context=(Turn("A", NEUTRAL),), response=text, following=None)


def partner_turn(passage: Passage) -> str | None:
    """The last turn of the context that somebody else said, if there is one.

    Examples:
        >>> context = (Turn("bot", "hi"), Turn("user", "help me"), Turn("bot", "sure"))
        >>> partner_turn(Passage(context, "ok", speaker="bot"))
        'help me'
    """
    turns = [turn for turn in passage.context if turn.text.strip() and turn.text != NEUTRAL]
    others = [turn for turn in turns if turn.speaker != passage.speaker or not passage.speaker]
    return others[-1].text if others else None


def _openings(passages: Iterator[Passage]) -> Iterator[Passage]:
    """The first turn of each dialogue, if it is not by the evaluated side."""
    seen: set[str] = set()
    for passage in passages:
        if passage.dialogue_id in seen:
            continue
        seen.add(passage.dialogue_id)
        first = passage.context[0] if passage.context else None
        by_partner = first is not None and first.speaker != passage.speaker
        if by_partner and first is not None and first.text.strip() and first.text != NEUTRAL:
            yield from _changed(iter([passage]), lambda _, text=first.text: text)  # type: ignore[misc]


def common_words(piles: PilePair, most: int = KEPT_WORDS) -> frozenset[str]:
    """The words that are in many dialogues of both piles.

    A word's rank is the smaller of its shares of dialogues in the two piles, so that a topic of
    one pile is not among them. (Stamatatos, 2017, keeps the most frequent words of the language.)
    """
    shares = [_dialogue_shares(side) for side in (piles.human, piles.system)]
    common = shares[0].keys() & shares[1].keys()
    ranked = sorted(common, key=lambda word: (-min(share[word] for share in shares), word))
    return frozenset(ranked[:most])


def _dialogue_shares(passages: Passages) -> dict[str, float]:
    words: dict[str, set[str]] = {}
    for passage in iterate(passages):
        words.setdefault(passage.dialogue_id, set()).update(
            word.lower() for word in _WORD.findall(passage.response)
        )
    counts = Counter(word for known in words.values() for word in known)
    return {word: count / len(words) for word, count in counts.items()}


def mask(text: str, words: frozenset[str]) -> str:
    """The text with all other words masked, so that style is left without its topic.

    Examples:
        >>> mask("I love Paris, don't you? 42", frozenset(["i", "you", "don", "t"]))
        "I * *, don't you? #"
    """

    def masked(match: re.Match[str]) -> str:
        if match[0].lower() in words:
            return match[0]
        return DIGITS if match[0].isdigit() else MASK

    return _WORD.sub(masked, text)


def unit_folds(rows: ViewRows, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The fold of each row of both piles; a unit is in one fold, and every fold has both piles.

    Args:
        rows (`ViewRows`):
            Rows of both piles.
        k (`int`):
            Number of folds.
        seed (`int`):
            Seed of the draw.

    Returns:
        `tuple[np.ndarray, np.ndarray]`: A number in [0, k) for each row.
    """
    human, system = (set(units.tolist()) for units in rows.units)
    fold: dict[str, int] = {}
    for part in (human & system, human - system, system - human):
        ordered = sorted(part, key=lambda unit: (position(unit, seed + 20_011), unit))
        offset = len(fold)  # so that small parts do not all start with the same fold
        fold |= {unit: (offset + index) % k for index, unit in enumerate(ordered)}
    numbers = [np.array([fold[unit] for unit in units], dtype=int) for units in rows.units]
    return numbers[0], numbers[1]


def training_pairs(rows: ViewRows, masks: tuple[np.ndarray, np.ndarray], seed: int) -> Passages:
    """Labelled rows to fit an evaluator to: as many of one pile as of the other.

    The larger pile is thinned at random, so that a threshold of .5 is right for both. The number
    of a pair only joins one row of each pile; the two have nothing in common.

    Args:
        rows (`ViewRows`):
            Rows of both piles.
        masks (`tuple[np.ndarray, np.ndarray]`):
            Which rows of both to use.
        seed (`int`):
            Seed of the draw.

    Returns:
        `Passages`: With the columns of `PAIR_FEATURES`.
    """
    rng = np.random.default_rng(seed)
    indices = [np.flatnonzero(chosen) for chosen in masks]
    size = min(map(len, indices))
    drawn = [np.sort(rng.permutation(index)[:size]) for index in indices]
    if not size:
        return empty_pairs()
    return write_pairs(
        "human_machine", PairSide(rows.human, drawn[0]), PairSide(rows.system, drawn[1])
    )


def empty_pairs() -> Passages:
    """No pairs."""
    from dialeval.dialogues.storage import PassageFile

    return PassageFile(PAIR_FEATURES).dataset()
