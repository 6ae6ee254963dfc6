"""Antonym: replaces the first verb, adjective or adverb that has an antonym by it."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import ClassVar

from dialeval.perturbations.base import Edit, Perturbation
from dialeval.perturbations.clauses import Line
from dialeval.perturbations.inflection import article, base_form, inflect, is_verb, with_case_of
from dialeval.perturbations.lexicon import antonyms, everyday_words
from dialeval.perturbations.tagging import tag_sentences
from dialeval.perturbations.word_classes import BE, DO, HAVE, split_contraction

_PART_OF = {"VB": "verb", "JJ": "adj", "RB": "adv", "NN": "noun"}
_PARTICLES = frozenset(
    [
        "up",
        "down",
        "in",
        "out",
        "on",
        "off",
        "away",
        "over",
        "back",
        "along",
        "through",
        "around",
        "by",
    ]
)
_NOUNS = ("NN", "NNS", "NNP")
_PRONOUNS = frozenset(
    ["i", "you", "he", "she", "it", "we", "they", "that", "the", "there", "not", "so"]
)
# Words that cannot follow an antonym although they follow the word it replaces.
_UNFIT = {
    "dislike": {"to"}, "finish": {"to"}, "stop": {"to"}, "enjoy": {"to"}, "doubt": {"in"},
    "succeed": {"to"}, "pass": {"to"}, "disappear": {"to"}, "vanish": {"to"}, "disagree": {"to"},
    "rise": {"asleep", "in", "into", "ill", "for"}, "similar": {"from", "than"}, "bored": {"in"},
    "sit": {"it", "the", "this", "that", "for", "him", "her"}, "distant": {"to"}, "rested": {"of"},
    "fail": {"me", "him", "us", "it", "by", "on", "along"}, "trivial": {"about"},
    "worsen": {"the", "it", "your", "my"}, "content": {"of"}, "unknown": {"for"},
    "end": {"to"}, "depart": {"here", "there", "in", "home"}, "save": {"to"},
    "spend": {"me", "you", "him", "her", "us", "them", "it", "the", "for"},
    "overlook": {".", ",", "that"}, "hinder": {"out", "with", "yourself"},
    "young": {"version", "kernel", "computer", "laptop", "pc", "car", "house", "phone", "system",
              "machine", "stuff", "one", "ones", "school", "movie", "song", "book", "building",
              "clothes", "thing", "things", "way", "job", "place"},
    "go away": {"into", "to", "in", "here"}, "waste": {"for"}, "excited": {"of"},
    "healthy": {"probably", "be", "have", "go", "just", "never", "get", "try", "let"},  # Ill: I'll
    "uncool": {"weather", "water", "air", "breeze", "wind", "place", "day", "night", "drink"},
    "unafraid": _PRONOUNS, "unsure": _PRONOUNS,
}  # fmt: skip
# Set phrases, whose words are not replaced; `sure` is replaced only after a form of be.
_FORMULAS = re.compile(
    r"(?<!\S)(?:good (?:morning|afternoon|evening|night|day|bye|luck|heavens|god|grief|lord)"
    r"|happy (?:birthday|new year|christmas|holidays|anniversary)|all right|as (?:\w+ ){1,4}as"
    r"|as possible|never mind|nice to meet|glad to meet|long time no see|so long|get together"
    r"|(?:kinds?|sorts?) of|no hard feelings"
    r"|save (?:the |your |this |that )?(?:file|document|page|image|settings|changes)"
    r"|right (?:click(?:s|ed|ing)?|there|here|away|now|after|before|next|behind|in|at)"
    r"|(?:^|(?<=[.,!?] ))sweet(?= [.,!?]| $)"
    r"|get(?:ting)? married|got married|not always|believe it or not"
    r"|(?:do|does|did|doing) (?:\w+ )?good"
    r"|(?:go|goes|going|went|gone|get|got) (?:back )?to sleep|(?:fall|falls|fell|falling) asleep"
    r"|(?:i'm|you're|you|are|am) serious|(?:year|month|week|day)s? old"
    r"|a good (?:deal|many)|old enough|(?:no|any) longer|no better|dear|please|well"
    r"|how \w+|had better|\w+'d better|better off|right \?|later|sooner or later|early bird"
    r"|high school|hot dogs?|fast food|new year|new york|first class|see you later"
    r"|(?<!'m )(?<!'re )(?<!'s )(?<!not )(?<!am )(?<!are )(?<!is )(?<!was )sure)(?= )"
)


Choice = tuple[str, int]
"""An antonym in base form, and the number of words that it replaces."""


@dataclass(frozen=True)
class Antonym(Perturbation):
    """Replace the first verb, adjective or adverb that has an antonym (Niu & Bansal, 2018).

    Args:
        lexicon (`str`, *optional*):
            A file with two words a line, a folder of WordNet's database files, or `wordnet` for
            NLTK's corpus; by default the built-in table of everyday antonyms.
        prefer_everyday (`bool`, *optional*, defaults to `True`):
            Among several antonyms, draw only from the everyday words, if there are any.
        any_part (`bool`, *optional*, defaults to `False`):
            Replace nouns too, as the released code does.
        restore_inflection (`bool`, *optional*, defaults to `True`):
            Inflect the antonym like the word it replaces, and fix `a` and `an` before it.
        tagger (`str`, *optional*, defaults to `"auto"`):
            What tags the words: `spacy`, `light`, or `auto` (spaCy if it is installed).

    Examples:
        >>> Antonym()("He hired an honest man.")
        'He fired an honest man.'
    """

    lexicon: str | None = None
    prefer_everyday: bool = True
    any_part: bool = False
    restore_inflection: bool = True
    tagger: str = "auto"

    name: ClassVar[str] = "antonym"
    kind: ClassVar = "should_change"
    presets: ClassVar = {"released": {"any_part": True, "restore_inflection": False}}

    def edits(self, text: str, rng: Random) -> list[Edit]:
        """The replacement of the first word that has an antonym; empty if none has."""
        return self._first(text, rng.choice)

    def edits_of(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Sequence[Edit]]:
        choices = map(_seeded_choice, seeds)
        return [self._first(text, choice) for text, choice in zip(texts, choices, strict=True)]

    def _first(self, text: str, choice: Callable[[Sequence[Choice]], Choice]) -> list[Edit]:
        for words in tag_sentences(text, self.tagger, self._may_have):
            line = Line(text, words)
            for at in self._candidates(line):
                choices = self._choices(line, at)
                if choices:
                    return [self._replace(line, at, *choice(choices))]
        return []

    def _candidates(self, line: Line) -> Iterator[int]:
        """Indices of words that may be replaced."""
        indices = [at for at, word in enumerate(line.words) if self._may_have(word.form)]
        if self.any_part:
            yield from indices
            return
        fitting = [at for at in indices if line[at].tag[:2] in ("VB", "JJ", "RB")]
        skipped = line.indices_of(_FORMULAS) if fitting else ()
        yield from (at for at in fitting if at not in skipped and _can_change(line, at))

    def _may_have(self, form: str) -> bool:
        return _may_have(form, self.lexicon)

    def _choices(self, line: Line, at: int) -> list[Choice]:
        """Antonyms of a word in base form, each with the number of words that it replaces."""
        word, part = line[at], _PART_OF.get(line[at].tag[:2], "any")
        base = base_form(word.form, part) if part != "any" else word.form
        if part == "verb" and not self.any_part and line[at + 1].form in _PARTICLES:
            phrasal = self._antonyms_of(f"{base} {line[at + 1].form}", part)
            then = line[at + 2].form
            return [(antonym, 2) for antonym in phrasal if then not in _UNFIT.get(antonym, ())]
        forms = (base, word.form)
        listed = dict.fromkeys(new for form in forms for new in self._antonyms_of(form, part))
        candidates = [antonym for antonym in listed if antonym not in forms]
        if not self.any_part:
            following = split_contraction(line[at + 1].form)[0]
            candidates = [new for new in candidates if following not in _UNFIT.get(new, ())]
        everyday = [antonym for antonym in candidates if antonym in everyday_words()]
        preferred = everyday if everyday and self.prefer_everyday else candidates
        return [(antonym, 1) for antonym in preferred]

    def _antonyms_of(self, word: str, part: str) -> tuple[str, ...]:
        parts = antonyms(self.lexicon).get(word, {})
        if self.any_part:
            return tuple(antonym for listed in parts.values() for antonym in listed)
        return (*parts.get(part, ()), *parts.get("any", ()))

    def _replace(self, line: Line, at: int, antonym: str, width: int) -> Edit:
        """The edit, with the article before the word if that has to change too."""
        word, before, last = line[at], line[at - 1], at + width - 1
        if not self.restore_inflection:
            return line.span(at, last, with_case_of(antonym, word.text))
        part = _PART_OF.get(word.tag[:2])
        if part and " " not in antonym and not (part == "verb" and is_verb(antonym)):
            antonym = base_form(antonym, part)
        new = with_case_of(inflect(antonym, word.tag), word.text)
        if before.form in ("a", "an") and before.form != article(new):
            return line.span(at - 1, last, f"{with_case_of(article(new), before.text)} {new}")
        return line.span(at, last, new)


def _seeded_choice(seed: int) -> Callable[[Sequence[Choice]], Choice]:
    """`Random(seed).choice`; the generator is made only if there are two or more options."""
    return lambda options: options[0] if len(options) == 1 else Random(seed).choice(options)


@lru_cache(maxsize=65536)
def _may_have(form: str, lexicon: str | None) -> bool:
    """Whether a word can have an antonym as any part of speech, alone or with a particle."""
    if form in BE or form in HAVE or form in DO or not form.isalpha():
        return False
    bases = {form, *(base_form(form, part) for part in _PART_OF.values())}
    return not bases.isdisjoint(_first_words(lexicon))


@lru_cache
def _first_words(lexicon: str | None) -> frozenset[str]:
    return frozenset(word.partition(" ")[0] for word in antonyms(lexicon))


def _can_change(line: Line, at: int) -> bool:
    """Whether a word stands where a word of its tag can be replaced by another."""
    word, following = line[at], line[at + 1]
    if word.tag[:2] == "VB":
        bare = following.tag == "PRP" and line[at + 2].tag == "VB"  # "help me find"
        return not bare and not (word.tag == "VBG" and line[at - 1].tag in ("DT", "PRP$", "JJ"))
    if word.tag[:2] == "RB":
        return True
    if following.tag == "NNP" and word.text[:1].isupper():
        return False  # part of a name: "New Zealand"
    if word.form == "wise" and line[at - 1].tag in _NOUNS:
        return False  # "music wise"
    start = at
    while line[start - 1].tag[:2] in ("RB", "JJ"):
        start -= 1
    before, clitic = line[start - 1].tag, split_contraction(line[start - 1].form)[1]
    nominal = following.tag in _NOUNS or following.tag[:2] in ("JJ", "VB", "CD")
    return nominal or bool(clitic) or before not in ("DT", "PRP$", "IN", "CD", "POS")
