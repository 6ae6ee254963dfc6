"""Items for annotators, sampled balanced and blind from the passages that evaluators judge."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from dialeval.dialogues import BadInput, Dialogue, Passage
from dialeval.judgements.items import Candidate, Item, order_key

HUMAN, RANDOM = "human", "random"
UNKNOWN = "<unk>"


@dataclass(frozen=True)
class AnnotationData:
    """What items are made of.

    Args:
        passages (`Sequence[Passage]`):
            Human passages, one per context.
        systems (`Mapping[str, Mapping[str, str]]`):
            Replies of each system by the id of the passage.
        random (`Mapping[str, str]`, *optional*):
            A random human reply by the id of the passage; drawn from other dialogues by default.
    """

    passages: Sequence[Passage]
    systems: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    random: Mapping[str, str] = field(default_factory=dict)


def sample_items(
    data: AnnotationData,
    task: str,
    items: int = 300,
    generated: int = 30,
    opponent: str | None = None,
    seed: int = 0,
    fit: bool = False,
) -> list[Item]:
    """Items of a task; no context is used twice for the task `real`.

    Args:
        data (`AnnotationData`):
            Passages and replies.
        task (`str`):
            `real`: half of the items are real passages, half have a random reply, and for each
            system `generated` items have its reply (Bruni and Fernández, 2017, sec. 3 and 5.2).
            `human`: a human and a system's reply. `better`: replies of two systems.
            `rating`: one reply of each system, and of the human, to the same contexts.
        items (`int`, *optional*, defaults to 300):
            Items in all; for `better` for each pair of systems.
        generated (`int`, *optional*, defaults to 30):
            Items of each system in the task `real`.
        opponent (`str`, *optional*):
            In the task `better`, compare every system with this one only.
        seed (`int`, *optional*, defaults to 0):
            Seed of the sample.
        fit (`bool`, *optional*, defaults to `False`):
            Whether the task `real` makes do with fewer items where there are few contexts.

    Returns:
        `list[Item]`: In random order, with ids that do not say who wrote what.

    Raises:
        BadInput: There are too few passages, or no systems where the task needs them.
    """
    rng = random.Random(seed)
    order = list(data.passages)
    rng.shuffle(order)
    makers: dict[str, Callable[[], Iterator[Item]]] = {
        "real": lambda: _real_items(data, order, items, generated, rng, seed, fit),
        "human": lambda: _human_items(data, order, items, seed),
        "better": lambda: _better_items(data, order, items, opponent, seed),
        "rating": lambda: _rating_items(data, order, items, seed),
    }
    if task not in makers:
        raise BadInput(f"unknown task {task!r}.", hint=f"Choose one of {', '.join(makers)}.")
    if task != "real" and not data.systems:
        hint = "Name one: --system bot=bot.jsonl"
        raise BadInput(f"the task {task} needs the replies of a system.", hint=hint)
    made = list(makers[task]())
    rng.shuffle(made)
    return made


def _real_items(
    data: AnnotationData,
    order: list[Passage],
    items: int,
    generated: int,
    rng: random.Random,
    seed: int,
    fit: bool,
) -> Iterator[Item]:
    if fit:
        items, generated = fitting_sizes(len(order), len(data.systems), items, generated)
    half = items // 2
    needed = 2 * half + generated * len(data.systems)
    if len(order) < needed:
        raise BadInput(
            f"the sample needs {needed:,} contexts, one per item, but there are {len(order):,}.",
            hint=f"Give more passages, or --items {max(2, len(order) // 2)} --generated 5.",
        )
    left = iter(order)
    for _ in range(half):
        passage = next(left)
        yield item_of(passage, [(HUMAN, passage.response)], "real", seed)
    for _ in range(half):
        passage = next(left)
        reply = data.random.get(passage.id) or _random_reply(passage, order, rng)
        yield item_of(passage, [(RANDOM, reply)], "fake", seed)
    rest = list(left)
    for name, replies in data.systems.items():
        chosen = _generated(rest, replies, generated)
        if len(chosen) < generated and not (fit and chosen):
            raise BadInput(
                f"{name} has {len(chosen)} replies without repeats and {UNKNOWN} to the contexts "
                f"that are left, and {generated} are needed.",
                hint=f"Lower --generated to {len(chosen)}.",
            )
        for passage in chosen:
            rest.remove(passage)
            yield item_of(passage, [(name, replies[passage.id])], "fake", seed)


def fitting_sizes(contexts: int, systems: int, items: int, generated: int) -> tuple[int, int]:
    """Items and generated items of each system for which there are enough contexts.

    Up to half of the contexts are left to the systems, and each of them has twice as many as it
    needs, because it may repeat itself.

    Args:
        contexts, systems (`int`):
            How many there are.
        items, generated (`int`):
            How many are wanted.

    Returns:
        `tuple[int, int]`: At most what is wanted.

    Examples:
        >>> fitting_sizes(1_000, 2, 300, 30), fitting_sizes(300, 1, 300, 30)
        ((300, 30), (240, 30))
    """
    generated = min(generated, contexts // (4 * max(systems, 1)))
    return min(items, contexts - 2 * generated * systems) // 2 * 2, generated


def _generated(
    passages: Sequence[Passage], replies: Mapping[str, str], count: int
) -> list[Passage]:
    """Passages to which a system gives a reply without `<unk>` that was not taken before."""
    chosen: list[Passage] = []
    seen: set[str] = set()
    for passage in passages:
        text = replies.get(passage.id, "")
        key = " ".join(text.lower().split())
        if key and UNKNOWN not in key and key not in seen and len(chosen) < count:
            seen.add(key)
            chosen.append(passage)
    return chosen


def _random_reply(passage: Passage, pool: Sequence[Passage], rng: random.Random) -> str:
    """A human reply from another dialogue with other words."""
    for _ in range(1000):
        other = rng.choice(pool)
        if other.dialogue_id != passage.dialogue_id and other.response != passage.response:
            return other.response
    raise BadInput("there is no reply of another dialogue.", hint="Give more dialogues.")


def _human_items(
    data: AnnotationData, order: list[Passage], items: int, seed: int
) -> Iterator[Item]:
    names = list(data.systems)
    answered = (passage for passage in order if _has_all(data, passage))
    for number, passage in zip(range(items), answered, strict=False):
        name = names[number % len(names)]
        pair = [(name, data.systems[name][passage.id]), (HUMAN, passage.response)]
        yield item_of(passage, pair, "lose", seed)  # the system's reply was not written by a human


def _better_items(
    data: AnnotationData, order: list[Passage], items: int, opponent: str | None, seed: int
) -> Iterator[Item]:
    replies = {**data.systems, HUMAN: {row.id: row.response for row in data.passages}}
    names = list(data.systems) if len(data.systems) > 1 else [*data.systems, HUMAN]
    if opponent is not None and opponent not in replies:
        choices = ", ".join(replies)
        raise BadInput(f"unknown opponent {opponent!r}.", hint=f"Choose one of {choices}.")
    pairs = (
        [(name, opponent) for name in data.systems if name != opponent]
        if opponent is not None
        else list(combinations(names, 2))
    )
    for first, second in pairs:
        common = [row for row in order if row.id in replies[first] and row.id in replies[second]]
        for passage in common[:items]:
            pair = [(first, replies[first][passage.id]), (second, replies[second][passage.id])]
            yield item_of(passage, pair, "", seed)


def _rating_items(
    data: AnnotationData, order: list[Passage], items: int, seed: int
) -> Iterator[Item]:
    contexts = max(1, items // (len(data.systems) + 1))
    answered = [passage for passage in order if _has_all(data, passage)]
    for passage in answered[:contexts]:
        yield item_of(passage, [(HUMAN, passage.response)], "", seed)
        for name, replies in data.systems.items():
            yield item_of(passage, [(name, replies[passage.id])], "", seed)


def _has_all(data: AnnotationData, passage: Passage) -> bool:
    return all(passage.id in replies for replies in data.systems.values())


def item_of(
    passage: Passage, replies: Sequence[tuple[str, str]], truth: str, seed: int, salt: str = ""
) -> Item:
    """An item about a passage.

    Args:
        passage (`Passage`):
            Its context is shown.
        replies (`Sequence[tuple[str, str]]`):
            Author and text of one candidate, or of two.
        truth (`str`):
            The right answer, or an empty text.
        seed (`int`):
            Part of the id, so that ids of two projects differ.
        salt (`str`, *optional*):
            Another part of the id, for a second item about the same replies.

    Returns:
        `Item`: Its id does not say who wrote what.
    """
    texts = [text for pair in replies for text in pair]
    key = order_key(f"{salt}{seed}", passage.id, *texts).hex()
    context = tuple((turn.speaker, turn.text) for turn in passage.context)
    candidates = tuple(Candidate(author, (text,)) for author, text in replies)
    return Item(key, context, candidates, truth, passage=passage.id)


def chat_items(
    chats: Mapping[str, Sequence[Dialogue]], items: int = 200, turns: int = 3, seed: int = 0
) -> list[Item]:
    """Pairs of simulated conversations with the same beginning (Li et al., 2017, sec. 5.2).

    Args:
        chats (`Mapping[str, Sequence[Dialogue]]`):
            Conversations of each system, as `dialeval selfchat` writes them.
        items (`int`, *optional*, defaults to 200):
            Items for each pair of systems.
        turns (`int`, *optional*, defaults to 3):
            New turns that are shown.
        seed (`int`, *optional*, defaults to 0):
            Seed of the sample.

    Returns:
        `list[Item]`: For the task `better`.

    Raises:
        BadInput: Two systems have no conversation with the same beginning.
    """
    by_system = {name: _continuations(rows, turns) for name, rows in chats.items()}
    rng, made = random.Random(seed), []
    for first, second in combinations(by_system, 2):
        common = sorted(by_system[first].keys() & by_system[second].keys())
        if not common:
            hint = "Run `dialeval selfchat` for both with the same --data and --seed."
            raise BadInput(f"{first} and {second} have no beginning in common.", hint=hint)
        rng.shuffle(common)
        for context in common[:items]:
            candidates = tuple(
                Candidate(name, by_system[name][context]) for name in (first, second)
            )
            texts = [text for turn in context for text in turn]
            key = order_key(str(seed), first, second, *texts).hex()
            made.append(Item(key, context, candidates))
    rng.shuffle(made)
    return made


def _continuations(
    dialogues: Sequence[Dialogue], turns: int
) -> dict[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """New turns of each conversation by its beginning."""
    continuations: dict[tuple[tuple[str, str], ...], tuple[str, ...]] = {}
    for dialogue in dialogues:
        start = int(dialogue.extra.get("context_turns", 1))
        context = tuple((turn.speaker, turn.text) for turn in dialogue.turns[:start])
        texts = tuple(turn.text for turn in dialogue.turns[start : start + turns])
        if texts:
            continuations.setdefault(context, texts)
    return continuations
