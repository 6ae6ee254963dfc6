"""What HvR learns to reject: random replies as in the paper, and replies that are too relevant.

Sentence vectors find no reply more relevant than a copy of the context, so an HvR trained on random
replies alone (Gao et al., 2021, sec. 2.4) prefers a parrot to a person.
"""

import random
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from datasets import concatenate_datasets
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dialeval.dialogues import BadInput, Pairing, Passage, Passages, iterate, to_passages
from dialeval.dialogues.cutting import spoken_turns
from dialeval.dialogues.types import text_hash
from dialeval.models.embedding import CachedEmbedder
from dialeval.protocols.att.settings import RANDOM
from dialeval.scorers.embedding import Embed, EmbeddingScorer, features

NEAR_COPY = "near copy"
"""A copy without one of its words. HvR is tested on it and never trained on it."""
_STRENGTH = 0.001  # `C` of the regression, as that of `EmbeddingScorer.fit`
PreviousTurns = Mapping[tuple[str, str], str]
"""The turn before an utterance, by the dialogue's id and the utterance."""


def hard_negatives(kind: str, human: Passages, source: Passages, seed: int = 0) -> list[Passage]:
    """Replies of one kind to the contexts of human passages; contexts that have none are left out.

    Args:
        kind (`str`):
            `"copy"`, a turn of the context; `"shuffled"`, the words of the human reply in another
            order; `"previous"`, the turn before the last one of the context; `"near copy"`, a turn
            of the context without one of its words.
        human (`Passages`):
            Human passages.
        source (`Passages`):
            Where the turn before a context is looked up, for contexts of one turn.
        seed (`int`, *optional*, defaults to 0):
            Seed of the draws, which depend on the passage and not on other passages.

    Returns:
        `list[Passage]`: None of them has the words of the human reply in their order.
    """
    before = previous_turns(source) if kind == "previous" else {}
    answers = ((passage, _text(kind, passage, seed, before)) for passage in iterate(human))
    return [
        passage.with_response(text, kind)
        for passage, text in answers
        if text and text != passage.response
    ]


def near_copies(passages: Sequence[Passage], seed: int = 0, name: str = NEAR_COPY) -> list[Passage]:
    """A turn of each context without one of its words; a turn of one word is repeated whole.

    Args:
        passages (`Sequence[Passage]`):
            Contexts to respond to.
        seed (`int`, *optional*, defaults to 0):
            Seed of the words that are left out.
        name (`str`, *optional*):
            Author of the responses.

    Returns:
        `list[Passage]`: The same contexts with these responses.
    """
    return [
        passage.with_response(_text(NEAR_COPY, passage, seed, {}) or passage.context[-1].text, name)
        for passage in passages
    ]


def _text(kind: str, passage: Passage, seed: int, before: PreviousTurns) -> str:
    rng = random.Random(text_hash([kind, str(seed), passage.id, passage.context[-1].text]))
    return _MAKERS[kind](passage, rng, before)


def previous_turns(source: Passages) -> PreviousTurns:
    """The turn before each reply of some passages, by the dialogue and the reply."""
    return {
        (passage.dialogue_id, passage.response): passage.context[-1].text
        for passage in iterate(source)
    }


def _copy(passage: Passage, rng: random.Random, before: PreviousTurns) -> str:
    spoken = [turn.text for turn in spoken_turns(passage.context)]
    return rng.choice(spoken) if spoken else ""


def _near_copy(passage: Passage, rng: random.Random, before: PreviousTurns) -> str:
    words = _copy(passage, rng, before).split()
    left_out = rng.randrange(len(words)) if words else 0
    return " ".join([*words[:left_out], *words[left_out + 1 :]])


def _shuffled(passage: Passage, rng: random.Random, before: PreviousTurns) -> str:
    words = passage.response.split()
    return " ".join(rng.sample(words, len(words)))


def _previous(passage: Passage, rng: random.Random, before: PreviousTurns) -> str:
    if len(passage.context) > 1:
        return passage.context[-2].text
    return before.get((passage.dialogue_id, passage.context[-1].text), "")


_MAKERS: dict[str, Callable[[Passage, random.Random, PreviousTurns], str]] = {
    "copy": _copy,
    "shuffled": _shuffled,
    "previous": _previous,
    NEAR_COPY: _near_copy,
}


def negative_pairs(kind: str, human: Passages, source: Passages, seed: int = 0) -> Passages:
    """Pairs of the human reply and a negative of one kind.

    Args:
        kind (`str`):
            `"random"` (the paper's), or a kind of `hard_negatives`.
        human (`Passages`):
            Human passages.
        source (`Passages`):
            See `hard_negatives`.
        seed (`int`, *optional*, defaults to 0):
            Seed of the draws.

    Returns:
        `Passages`: Labelled pairs; none, if no context has such a negative.
    """
    if kind == RANDOM:
        return Pairing("human_random", seed=seed)(human)
    negatives = hard_negatives(kind, human, source, seed)
    ids = {passage.id for passage in negatives}
    kept = [passage for passage in iterate(human) if passage.id in ids]
    if not kept:
        return Pairing("human_random", seed=seed)(human).select([])
    return Pairing("human_machine")(to_passages(kept), to_passages(negatives))


def training_pairs(
    kinds: Sequence[str], human: Passages, source: Passages, share: float, seed: int = 0
) -> Passages:
    """Pairs of the human reply and negatives of several kinds, in one table.

    Args:
        kinds (`Sequence[str]`):
            See `negative_pairs`.
        human (`Passages`):
            Human passages; each has one pair with a random reply.
        source (`Passages`):
            See `hard_negatives`.
        share (`float`):
            Share of the hard kinds together among all pairs.
        seed (`int`, *optional*, defaults to 0):
            Seed of the draws.

    Returns:
        `Passages`: Labelled pairs.
    """
    tables = [negative_pairs(RANDOM, human, source, seed)]
    hard, start = [kind for kind in kinds if kind != RANDOM], len(human)
    wanted = round(len(human) * share / (1 - share) / max(1, len(hard)))
    for number, kind in enumerate(hard, 1):
        rows = np.random.default_rng([seed, number]).permutation(len(human))[:wanted]
        pairs = negative_pairs(kind, human.select(np.sort(rows)), source, seed)
        numbers = np.asarray(pairs["pair"]) + start
        tables.append(pairs.remove_columns("pair").add_column("pair", numbers))
        start += len(pairs) // 2
    return concatenate_datasets(tables) if hard else tables[0]


def fit_relevance(
    kinds: Sequence[str],
    human: Passages,
    source: Passages,
    share: float,
    seed: int = 0,
    embed: Embed | None = None,
) -> EmbeddingScorer:
    """An HvR on sentence vectors that knows each kind of negative as a class of its own.

    Random replies are less similar to their context than human ones, and copies are more similar.
    A regression with two classes cannot put people in between; one with a class for each kind can,
    and its P(human) is that of the class of human replies. Human replies have half of the weight.

    Args:
        kinds (`Sequence[str]`):
            `"random"`, and one of `hard_negatives` or more.
        human (`Passages`):
            Human passages.
        source (`Passages`):
            See `hard_negatives`.
        share (`float`):
            Weight of the hard kinds together among all negatives.
        seed (`int`, *optional*, defaults to 0):
            Seed of the draws and of the solver.
        embed (`Callable`, *optional*):
            Sentence encoder; all-MiniLM-L6-v2 by default.

    Returns:
        `EmbeddingScorer`: The fitted discriminator.

    Raises:
        BadInput: No context has a negative of some kind.
    """
    embed = embed or CachedEmbedder()
    hard = [kind for kind in kinds if kind != RANDOM]
    parts = {1: list(iterate(human)), 0: _negative_rows(RANDOM, human, source, seed)}
    for number, kind in enumerate(hard, 2):
        parts[number] = _negative_rows(kind, human, source, seed)
    totals = {1: 1.0, 0: 1 - share} | dict.fromkeys(range(2, len(parts)), share / len(hard))
    weights = {number: totals[number] * len(human) / len(rows) for number, rows in parts.items()}
    regression = LogisticRegression(
        C=_STRENGTH, max_iter=300, random_state=seed, class_weight=weights
    )
    rows = [passage for part in parts.values() for passage in part]
    classes = np.repeat(list(parts), [len(part) for part in parts.values()])
    model = make_pipeline(StandardScaler(), regression).fit(features(rows, embed), classes)
    return EmbeddingScorer(model, embed, len(rows), name="HvR")


def _negative_rows(kind: str, human: Passages, source: Passages, seed: int) -> list[Passage]:
    pairs = negative_pairs(kind, human, source, seed)
    rows = [
        passage for passage, label in zip(iterate(pairs), pairs["label"], strict=True) if label == 0
    ]
    if not rows:
        raise BadInput(
            f"no context has a negative of the kind {kind!r}.",
            hint="Leave it out of hvr_negatives, or give contexts of 2 turns (context_turns: 2).",
        )
    return rows
