"""Two piles of conversations without shared contexts: detection, checks, units of resampling."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from dialeval.dialogues import BadInput, Passage, Passages, by_author, iterate, to_passages, tokens
from dialeval.dialogues.languages import language_shares
from dialeval.dialogues.matching import partners
from dialeval.dialogues.splits import row_hashes, sample_dialogues
from dialeval.dialogues.types import text_key
from dialeval.responders.base import cut_responses, cut_warning

MIN_DIALOGUES = 10
"""Dialogues that a pile needs; below `FEW_DIALOGUES` there is a warning."""
FEW_DIALOGUES = 30
PAIRED_SHARE = 0.5
"""Share of the smaller side's contexts that both sides answer in a paired evaluation."""
COPIED_SHARE = 0.2
"""Share of identical replies in the same context above which two piles count as one."""
LONG_CONTEXT = 8
"""Words from which an equal context is a shared source and no common opener such as "Hi!"."""
OTHER_LANGUAGE = 0.1
"""Share of a pile's dialogues from which on another language is worth a warning."""
LANGUAGE_ROWS = 5_000
"""Responses of a pile whose language is guessed."""
HUMAN = "human"
_SIMILAR = 0.5  # Jaccard index of words from which contexts with one id count as equal


@dataclass
class Piles:
    """Conversations with humans in a role, and conversations with each system in it.

    Args:
        human (`Passages`):
            Human responses in their contexts.
        systems (`dict[str, Passages]`):
            Responses of each system in contexts of its own.
        warnings (`list[str]`, *optional*):
            What a reader has to know about these data.
    """

    human: Passages
    systems: dict[str, Passages]
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class PilePair:
    """The human pile and one system's, with ids that are unique over both.

    Args:
        human, system (`Passages`):
            Both piles.
        units (`Mapping[str, str]`):
            For each dialogue of both, the unit that it is resampled and held out with: itself, or
            the dialogues with which it shares a context.
        warnings (`tuple[str, ...]`, *optional*):
            What a reader has to know about the two.
    """

    human: Passages
    system: Passages
    units: Mapping[str, str]
    warnings: tuple[str, ...] = ()


def shares_contexts(human: Passages, systems: Mapping[str, Passages]) -> bool:
    """Whether every system answers the contexts of the human file, rather than its own.

    Common openers ("Hi!") make a few contexts equal by chance, and numbered dialogues give two
    piles the same ids. So most contexts of the smaller side have to match, in id and words.
    """
    return all(shared_share(human, answers) >= PAIRED_SHARE for answers in systems.values())


def shared_share(human: Passages, answers: Passages) -> float:
    """The share of the smaller side's passages whose context the other side has too.

    Examples:
        >>> from dialeval.dialogues import Turn
        >>> one = to_passages([Passage((Turn("A", "hi"),), "hello")])
        >>> shared_share(one, one)
        1.0
    """
    left, right = partners(human, answers)
    smaller = min(len(human), len(answers))
    if not len(left) or not smaller:
        return 0.0
    contexts = zip(human.select(left)["context"], answers.select(right)["context"], strict=True)
    return sum(_similar(*pair) for pair in contexts) / smaller


def _similar(one: list[dict[str, str]], other: list[dict[str, str]]) -> bool:
    first, second = (
        {word.lower() for turn in turns for word in tokens(turn["text"])} for turns in (one, other)
    )
    return len(first & second) >= _SIMILAR * max(1, len(first | second))


def make_piles(human: Passages, systems: Mapping[str, Passages]) -> Piles:
    """The piles of an unpaired evaluation, checked.

    Args:
        human (`Passages`):
            Passages; only those with the author `human` are used.
        systems (`Mapping[str, Passages]`):
            Responses of each system.

    Returns:
        `Piles`: With warnings about the data.

    Raises:
        BadInput: A pile has too few dialogues or a name that cannot be used.
    """
    if not systems:
        raise BadInput("no system to evaluate.", hint="Name one: --system bot=bot.jsonl")
    human = by_author(human, HUMAN)
    warnings: list[str] = []
    for name, passages in {HUMAN: human, **systems}.items():
        if name.strip() in ("", HUMAN) and passages is not human:
            raise BadInput(f"a system cannot be called {name!r}.", hint="Choose another name.")
        warnings += _size_warnings(name, passages)
        warnings += _response_warnings(name, passages)
    warnings += language_warnings({HUMAN: human, **systems})
    return Piles(human, dict(systems), warnings)


def limited_piles(
    human: Passages, systems: Mapping[str, Passages], limit: int | None, seed: int
) -> Piles:
    """The piles of an unpaired evaluation, each with so many responses of whole dialogues.

    Args:
        human (`Passages`):
            Human passages.
        systems (`Mapping[str, Passages]`):
            Responses of each system.
        limit (`int`, *optional*):
            Most responses of each pile; all by default.
        seed (`int`):
            Seed of the draw.

    Returns:
        `Piles`: What [`make_piles`] gives for them.
    """
    if limit is None:
        return make_piles(human, systems)

    def drawn(passages: Passages) -> Passages:
        return sample_dialogues(passages, limit, seed, per_dialogue=len(passages))

    return make_piles(drawn(human), {name: drawn(part) for name, part in systems.items()})


def language_warnings(piles: Mapping[str, Passages]) -> Iterable[str]:
    """Warnings about piles in several languages, and about piles that differ in theirs.

    A language is guessed from the responses of a dialogue; of a large pile some are read.
    """
    main: dict[str, str] = {}
    for name, passages in piles.items():
        shares = language_shares(_dialogue_texts(passages))
        main |= {name: next(iter(shares))} if shares else {}
        others = [code for code, share in shares.items() if share >= OTHER_LANGUAGE]
        if len(others) > 1:
            listed = ", ".join(f"{code} {100 * shares[code]:.0f} %" for code in others)
            yield (
                f"The pile of {name} is in several languages ({listed} of its dialogues): an "
                "evaluator may distinguish languages. Compare one language at a time."
            )
    first = next(iter(main.values()), "")
    for name, code in main.items():
        if code != first:
            yield (
                f"The pile of {name} is in another language ({code}) than the first one "
                f"({first}): any difference may be the language."
            )


def _dialogue_texts(passages: Passages) -> Iterable[str]:
    """What is said in some dialogues of a pile, one text per dialogue."""
    rows = passages.select(range(min(len(passages), LANGUAGE_ROWS)))
    texts: dict[str, list[str]] = {}
    for key, text in zip(rows["dialogue_id"][:], rows["response"][:], strict=True):
        texts.setdefault(key, []).append(text)
    return (" ".join(parts) for parts in texts.values())


def _size_warnings(name: str, passages: Passages) -> Iterable[str]:
    dialogues = len(set(passages["dialogue_id"][:]))
    if dialogues < MIN_DIALOGUES:
        plural = "s" if dialogues != 1 else ""
        raise BadInput(
            f"the pile of {name} has {dialogues} dialogue{plural} with {len(passages):,} "
            f"responses. Its contexts are not shared with the other pile, so dialogues are the "
            f"units of every test: at least {MIN_DIALOGUES} are needed.",
            hint="Give more dialogues, each with its own id, or responses to the same contexts.",
        )
    if dialogues < FEW_DIALOGUES:
        yield (
            f"The pile of {name} has {dialogues} dialogues, which is few: look at the intervals, "
            "not at the values."
        )


def _response_warnings(name: str, passages: Passages) -> Iterable[str]:
    counts = Counter(text.strip() for text in passages["response"])
    text, times = counts.most_common(1)[0]
    total = len(passages)
    if times == total:
        yield f"{name} gives the same response everywhere: {text!r}."
    elif times > COPIED_SHARE * total and text:
        yield f"{times:,} of {name}'s {total:,} responses are the same: {text!r}."
    if counts[""]:
        yield f"{counts['']:,} of {name}'s {total:,} responses are empty."
    cut = cut_responses(passages)
    if cut:
        yield f"{name}: {cut_warning(cut, total)}."


def speakers_key(passages: Passages) -> str:
    """A hash of who says what: it decides which turns are the partner's."""
    return text_key(
        name or ""
        for passage in iterate(passages)
        for name in (passage.speaker, *(turn.speaker for turn in passage.context))
    )


def pair_piles(human: Passages, system: Passages, name: str) -> PilePair:
    """The human pile and one system's, without passages that both have.

    Args:
        human, system (`Passages`):
            Both piles.
        name (`str`):
            Name of the system.

    Returns:
        `PilePair`: With unique ids, and units of resampling.

    Raises:
        BadInput: The system's pile repeats the human one.
    """
    copied = np.isin(
        row_hashes(system, ["context", "response"]), row_hashes(human, ["context", "response"])
    )
    total, copies = len(system), int(copied.sum())
    if copies > COPIED_SHARE * total:
        raise BadInput(
            f"{copies:,} of {name}'s {total:,} responses are in the human pile too, in the same "
            "context: the two piles overlap.",
            hint=f"Give {name}'s conversations alone, or say which role is evaluated.",
        )
    warnings = []
    if copies:
        system = system.select(np.flatnonzero(~copied))
        verb, left = ("is", "it was") if copies == 1 else ("are", "they were")
        warnings.append(
            f"{copies:,} of {name}'s {total:,} responses {verb} in the human pile too, in the same "
            f"context; {left} left out."
        )
    sides = _with_pile(human, HUMAN), _with_pile(system, "system")
    units, shared = _units(*sides)
    if shared:
        warnings.append(
            f"{shared:,} context{' is' if shared == 1 else 's are'} in both piles of {name}, with "
            f"{LONG_CONTEXT} words or more: "
            "their dialogues are held out together."
        )
    return PilePair(*sides, units, tuple(warnings))


def _with_pile(passages: Passages, pile: str) -> Passages:
    """The passages with ids of pile, dialogue and speaker, numbered within these."""
    seen: Counter[str] = Counter()

    def renamed(row: int, passage: Passage) -> Passage:
        key = f"{pile}/{passage.dialogue_id or passage.id or f'row {row}'}"
        participant = f"{key}/{passage.speaker}" if passage.speaker else key
        seen[participant] += 1
        number = f"{participant}#{seen[participant]}"
        return replace(passage, id=number, dialogue_id=key, extra={})

    return to_passages(renamed(row, passage) for row, passage in enumerate(iterate(passages)))


def _units(human: Passages, system: Passages) -> tuple[dict[str, str], int]:
    """The unit of each dialogue, and how many long contexts are in both piles."""
    contexts = [_long_contexts(human), _long_contexts(system)]
    shared = contexts[0].keys() & contexts[1].keys()
    parent = {name: name for side in (human, system) for name in set(side["dialogue_id"][:])}
    for key in shared:
        first, *others = sorted({*contexts[0][key], *contexts[1][key]})
        for name in others:
            parent[_root(parent, name)] = _root(parent, first)
    return {name: _root(parent, name) for name in parent}, len(shared)


def _root(parent: dict[str, str], name: str) -> str:
    while parent[name] != name:
        parent[name] = parent[parent[name]]
        name = parent[name]
    return name


def _long_contexts(passages: Passages) -> dict[str, set[str]]:
    """Dialogues of every context with many words, by a key of its words."""
    dialogues: dict[str, set[str]] = {}
    for passage in iterate(passages):
        texts = [turn.text for turn in passage.context]
        if sum(len(text.split()) for text in texts) >= LONG_CONTEXT:
            dialogues.setdefault(text_key(texts), set()).add(passage.dialogue_id)
    return dialogues
