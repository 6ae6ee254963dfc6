"""Penn Treebank tags of English words, from the light tagger or a spaCy pipeline."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations.light_tagger import light_tags
from dialeval.perturbations.tokens import Token, tokenize
from dialeval.perturbations.word_classes import BE, SENTENCE_ENDS, normal

__all__ = ["BE", "Tagger", "Word", "spacy_tags", "tag_sentences", "tag_text", "tagger", "tags"]

Tagger = Callable[[Sequence[str]], list[str]]


class Word(NamedTuple):
    """A word or mark of a text, with its offsets, its spelling in lexicons (`form`) and its tag."""

    text: str
    start: int
    end: int
    form: str
    tag: str


_MARKS = {"code": "url", "emoji": ":"}
_new = tuple.__new__  # half the time of `Word(...)`


@lru_cache(maxsize=4096)
def tag_text(text: str, kind: str = "auto") -> tuple[Word, ...]:
    """The words and punctuation marks of a text with their tags; code counts as a noun."""
    return _tag_tokens(tokenize(text), tagger(kind))


def tag_sentences(
    text: str, kind: str, wanted: Callable[[str], bool]
) -> Iterator[tuple[Word, ...]]:
    """Sentences that contain a wanted word, tagged one by one; spaCy tags the whole text.

    The light tagger restarts after each sentence, so the tags equal those of [`tag_text`].

    Args:
        text (`str`):
            The text.
        kind (`str`):
            The tagger: `auto`, `light` or `spacy`.
        wanted (`Callable`):
            Whether a word (as lexicons spell it) is wanted.

    Returns:
        `Iterator[tuple[Word, ...]]`: The sentences with a wanted word; the whole text with spaCy.
    """
    tags_of, tokens, first = tagger(kind), tokenize(text), 0
    boundaries = [
        at
        for at, (mark, _, _, shape) in enumerate(tokens, 1)
        if shape == "punctuation" and mark[0] in SENTENCE_ENDS
    ]
    whole = tags_of is not light_tags
    for end in [len(tokens)] if whole else [*boundaries, len(tokens)]:
        sentence = tokens[first:end]
        if any(wanted(normal(token.text)) for token in sentence):
            yield _tag_tokens(sentence, tags_of)
        first = end


def _tag_tokens(tokens: Sequence[Token], tags_of: Tagger) -> tuple[Word, ...]:
    kinds = tags_of([_MARKS.get(shape, text) for text, _, _, shape in tokens])
    return tuple(
        _new(Word, (text, start, end, normal(text), tag))
        for (text, start, end, _), tag in zip(tokens, kinds, strict=True)
    )


@lru_cache
def spacy_pipeline(name: str = "en_core_web_sm") -> Any | None:
    """A spaCy pipeline, or None when spaCy or the pipeline is not installed."""
    try:
        import spacy

        return spacy.load(name, disable=["ner", "parser", "lemmatizer"])
    except (ImportError, OSError):
        return None


def spacy_tags(words: Sequence[str], pipeline: Any) -> list[str]:
    """Penn tags from a spaCy pipeline, without its tokenizer."""
    from spacy.tokens import Doc

    return [token.tag_ for token in pipeline(Doc(pipeline.vocab, words=list(words)))]


@lru_cache
def tagger(kind: Literal["auto", "light", "spacy"] = "auto") -> Tagger:
    """The function that tags: spaCy's if a pipeline is installed, else the light one."""
    if kind not in ("auto", "light", "spacy"):
        raise BadInput(f"unknown tagger {kind!r}.", hint="Choose one of auto, light, spacy.")
    pipeline = spacy_pipeline() if kind != "light" else None
    if pipeline is not None:
        return lambda words: spacy_tags(words, pipeline)
    if kind == "spacy":
        raise BadInput(
            "spaCy or its English pipeline is not installed.",
            hint="Run `pip install spacy && python -m spacy download en_core_web_sm`.",
        )
    return light_tags


def tags(words: Sequence[str]) -> list[str]:
    """Penn tags of words and punctuation marks, from the best installed tagger.

    Examples:
        >>> tags(["She", "likes", "big", "dogs", "."])
        ['PRP', 'VBZ', 'JJ', 'NNS', '.']
    """
    return tagger()(words)
