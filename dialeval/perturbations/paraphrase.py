"""Replaces words and phrases by others with the same meaning."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import ClassVar

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations.base import Edit, Perturbation
from dialeval.perturbations.compose import check_rate
from dialeval.perturbations.forms import same_form
from dialeval.perturbations.inflection import article, base_form, inflect
from dialeval.perturbations.synonyms import Phrases, phrases, wordnet
from dialeval.perturbations.tagging import tags
from dialeval.perturbations.tokens import Token, tokenize, word_set

_PARTS = {"NN": "noun", "VB": "verb", "JJ": "adj", "RB": "adv"}
_LIGHT = word_set(
    "be have do get go make take let can will would could should may might must shall need not "
    "n't so very too just well there here then now please"
)
Match = tuple[int, int, tuple[str, ...]]
"""First token, token after the last, and the possible replacements."""


@dataclass(frozen=True)
class DataParaphrase(Perturbation):
    """Replace words and phrases by their paraphrases (Niu & Bansal, 2018, sec. 3.1).

    From left to right, the longest phrase first, without overlaps; the paraphrase is drawn
    uniformly. The case of the first letter stays, and `a` becomes `an` where needed.

    Args:
        lexicon (`str`, *optional*):
            PPDB 2.0 in its own format (the paper's is its small version), a file of two words or
            phrases per line, a WNdb folder, or `wordnet` for NLTK's copy. By default a small
            built-in table.
        relations (`tuple[str, ...]`, *optional*, defaults to `("Equivalence",)`):
            Relations of PPDB that are used.
        rate (`float`, *optional*, defaults to 1.0):
            Probability that a phrase with a paraphrase is replaced.
        agree (`bool`, *optional*, defaults to `True`):
            Leave out paraphrases in another grammatical form (`hidden` for `hides`), and in
            WordNet those that are rare or have another main sense (`clip` for `time`); the paper
            and its code use them too.
        senses (`int`, *optional*, defaults to 1):
            How many of a word's senses in WordNet are used.

    Examples:
        >>> DataParaphrase()("She bought a bike.")
        'She purchased a bicycle.'
    """

    name = "data-paraphrase"
    kind = "should_not_change"
    presets: ClassVar = {"released": {"agree": False}}

    lexicon: str | None = None
    relations: tuple[str, ...] = ("Equivalence",)
    rate: float = 1.0
    agree: bool = True
    senses: int = 1

    def __post_init__(self) -> None:
        check_rate(self.rate)
        if self.senses < 1:
            raise BadInput(f"`senses` must be 1 or more, but got {self.senses}.")
        object.__setattr__(self, "relations", tuple(self.relations))

    def edits(self, text: str, rng: Random) -> Sequence[Edit]:
        tokens = tokenize(text)
        edits, done = [], 0
        for start, end, choices in self._matches(tokens):
            if choices and (self.rate == 1.0 or rng.random() < self.rate):
                new = choices[int(rng.random() * len(choices))]
                edits.append(_replacement(text, tokens, start, end, new, start > done))
                done = end
        return edits

    def _matches(self, tokens: Sequence[Token]) -> Iterator[Match]:
        where = self.lexicon
        if where is not None and (where == "wordnet" or Path(where).is_dir()):
            return _word_matches(tokens, where, self.senses, self.agree)
        matches = _phrase_matches(tokens, phrases(where, self.relations))
        if where is None or not self.agree:
            return matches
        return (
            (start, end, _same_form_only(tokens[start:end], choices))
            for start, end, choices in matches
        )


def _same_form_only(tokens: Sequence[Token], choices: Sequence[str]) -> tuple[str, ...]:
    """The choices in the grammatical form of the tokens that they would replace."""
    before = " ".join(token.word for token in tokens)
    return tuple(new for new in choices if same_form(before, new))


def _phrase_matches(tokens: Sequence[Token], table: Phrases) -> Iterator[Match]:
    """The longest phrase at each position, from left to right."""
    choices, lengths = table
    words = [token.word if token[3] == "word" else "" for token in tokens]
    at = 0
    while at < len(words):
        width = 1
        for length in range(lengths.get(words[at], 0), 0, -1):
            new = choices.get(" ".join(words[at : at + length]))
            if new is not None:
                yield at, min(at + length, len(words)), new
                width = length
                break
        at += width


def _word_matches(tokens: Sequence[Token], where: str, senses: int, close: bool) -> Iterator[Match]:
    """Single words with their synonyms in the same form; function words are not edited."""
    wordnet_table = wordnet(where, senses)
    for at, (token, tag) in enumerate(zip(tokens, tags([t.text for t in tokens]), strict=True)):
        part = _PARTS.get(tag[:2])
        if not token.is_word or part is None or tag.startswith("NNP"):
            continue
        base = base_form(token.word, part)
        if base not in _LIGHT:
            synonyms = wordnet_table.synonyms(base, part, close)
            yield at, at + 1, tuple(_inflect_phrase(synonym, tag) for synonym in synonyms)


def _inflect_phrase(phrase: str, tag: str) -> str:
    """A synonym in the form of a tag: nouns change at the end, verbs at the beginning."""
    rest, space, last = phrase.rpartition(" ")
    return rest + space + inflect(last, tag) if tag == "NNS" else inflect(phrase, tag)


def _replacement(
    text: str, tokens: Sequence[Token], start: int, end: int, new: str, free: bool
) -> Edit:
    """An edit of the tokens from `start` to `end`.

    The article before them is part of the edit if it has to change and is still `free`.
    """
    first = tokens[start]
    before = text[first.start : tokens[end - 1].end]
    new = _match_case(new, before, opens=start == 0 or tokens[start - 1].text[-1] in ".!?")
    start_offset = first.start
    if free and tokens[start - 1].word in ("a", "an"):
        old = tokens[start - 1]
        if article(before) == old.word != article(new):
            start_offset = old.start
            before = text[start_offset : tokens[end - 1].end]
            fitting = old.text[0] + article(new)[1:]
            new = fitting + text[old.end : first.start] + new
    return Edit(start_offset, before, new)


def _match_case(new: str, before: str, opens: bool) -> str:
    """The new words with the case of the old ones; a sentence starts with a capital again."""
    if len(before) > 3 and before.isupper():
        return new.upper()
    if before[0].isupper() and (opens or not (before[:2].isupper() or _is_pronoun(before))):
        return new[0].upper() + new[1:]
    return new


def _is_pronoun(before: str) -> bool:
    """Whether a phrase has its capital because of the pronoun `I`."""
    return before == "I" or before.startswith(("I ", "I'", "I’"))
