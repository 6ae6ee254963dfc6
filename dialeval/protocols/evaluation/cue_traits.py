"""Traits that the leak check does not have: repeating a turn, Markdown, emoji."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice

import numpy as np

from dialeval.dialogues.storage import Passages, batches
from dialeval.dialogues.tokens import TOKEN, lower_tokens
from dialeval.metrics.cue_results import CueExample
from dialeval.protocols.evaluation.cue_marks import EXAMPLES, Span, marked, trait_spans
from dialeval.protocols.leaks.features import Feature, describe_numeric, describe_yes_no

COPIED = "repeated turn"
_COPIED_MEASURES = "share of words repeated from one turn of the context"
_YES_NO = {
    "Markdown": ("it uses Markdown", "write both sides without Markdown"),
    "emoji": ("it has an emoji", ""),
}
MOST_TURNS = 8
"""Turns of a context that are compared, the last ones."""
Turns = Sequence[str]
_SIGN = re.compile(r"\W+\Z")


def contexts_of(passages: Passages, rows: np.ndarray) -> list[Turns]:
    """The turns before the responses in some rows."""
    contexts: list[Turns] = []
    for batch in batches(passages.select_columns(["context"])):
        for turns in batch["context"].to_pylist():
            contexts.append(tuple(str(turn["text"] or "") for turn in (turns or [])[-MOST_TURNS:]))
    return [contexts[row] for row in rows.tolist()]


def copied_share(text: str, turns: Turns) -> float:
    """Share of the words of a response that are in one turn of its context: the most of any.

    Examples:
        >>> copied_share("Do you like tea?", ["Hello, you", "Do you like coffee?"])
        0.75
    """
    words = _words(text)
    known = _word_set(_closest(words, turns))
    return sum(word in known for word in words) / len(words) if words else 0.0


def _closest(words: Sequence[str], turns: Turns) -> str:
    """The turn that shares most words with a response."""

    def shared(turn: str) -> int:
        known = _word_set(turn)
        return sum(word in known for word in words)

    return max(turns, key=shared, default="")


def _words(text: str) -> list[str]:
    return [word for word in lower_tokens(text) if not _SIGN.match(word)]


@lru_cache(maxsize=1 << 14)  # all systems answer the same contexts
def _word_set(text: str) -> frozenset[str]:
    return frozenset(_words(text))


def further_features(texts: Sequence[str], contexts: Sequence[Turns]) -> list[Feature]:
    """One number per response for every trait of this module.

    Args:
        texts (`Sequence[str]`):
            The responses.
        contexts (`Sequence`):
            The turns before each of them.

    Returns:
        `list[Feature]`: To be tested like those of the leak check.
    """
    shares = np.array(list(map(copied_share, texts, contexts)), dtype=np.float32)
    copied = Feature(COPIED, _COPIED_MEASURES, shares, describe_numeric(_COPIED_MEASURES))
    return [copied] + [
        Feature(name, clause, _has(name, texts), describe_yes_no(clause), hint)
        for name, (clause, hint) in _YES_NO.items()
    ]


def _has(name: str, texts: Iterable[str]) -> np.ndarray:
    return np.array([bool(trait_spans(text, name)) for text in texts], dtype=np.float32)


def further_examples(
    name: str, texts: Sequence[str], contexts: Sequence[Turns]
) -> tuple[CueExample, ...] | None:
    """Responses of one side that show a trait of this module, with it marked.

    Args:
        name (`str`):
            Name of the trait.
        texts (`Sequence[str]`):
            Responses of that side.
        contexts (`Sequence`):
            The turns before each of them.

    Returns:
        `tuple[CueExample, ...]`: At most `EXAMPLES`; `None` for a trait of the leak check.
    """
    if name not in (COPIED, *_YES_NO):
        return None
    examples = {
        text: marked(
            text, _copied_spans(text, turns) if name == COPIED else trait_spans(text, name)
        )
        for text, turns in zip(texts, contexts, strict=True)
    }
    having = [example for example in examples.values() if len(example.parts) > 1]
    return tuple(islice(having or examples.values(), EXAMPLES))


def _copied_spans(text: str, turns: Turns) -> list[Span]:
    """Where words of the turn stand that is repeated; neighbours are joined."""
    known, spans = _word_set(_closest(_words(text), turns)), list[Span]()
    for match in TOKEN.finditer(text):
        if match[0].lower() not in known:
            continue
        start, end = match.span()
        if spans and not text[spans[-1][1] : start].strip():
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans
