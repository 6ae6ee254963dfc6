"""Grammar errors as people make them: from a confusion table, and by two rules."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from random import Random
from typing import ClassVar

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations.base import Edit, Perturbation
from dialeval.perturbations.compose import check_rate
from dialeval.perturbations.confusions import LONGEST, load_confusions
from dialeval.perturbations.forms import is_known
from dialeval.perturbations.inflection import base_form, with_case_of
from dialeval.perturbations.tagging import Word, tag_text
from dialeval.perturbations.tokens import word_set

_INFLECTED = frozenset(("VBZ", "VBD", "VBG", "VBN"))
_NEGATED = {
    "doesn't": "don't", "didn't": "don't", "hasn't": "haven't", "hadn't": "haven't",
}  # fmt: skip
# Their singular is another word, or none.
_PLURAL_ONLY = word_set(
    "thanks clothes glasses pants trousers jeans shorts scissors news goods congratulations "
    "regards series means species headquarters savings belongings earnings surroundings stairs "
    "customs economics physics mathematics politics arms spirits looks manners ours yours theirs "
    "hers sales odds ubuntu windows linux kubuntu lyrics sports gas bus yes us as"
)
Choice = tuple[int, int, str]
"""First word, word after the last, and the wrong text."""


@dataclass(frozen=True)
class GrammarErrors(Perturbation):
    """Replace correct words by typical errors (Niu & Bansal, 2018, sec. 3.1 and 5).

    Args:
        lexicon (`str`, *optional*):
            A confusion table: JSON of [`write_confusions`], an M2 file, or sentences before and
            after correction with a tab between them. Without it only the two rules are used.
        rate (`float`, *optional*, defaults to 1.0):
            Probability that a possible error is made.
        rules (`bool`, *optional*, defaults to `True`):
            An inflected verb becomes its infinitive, and a plural its singular.
        min_count (`int`, *optional*, defaults to 1):
            Confusions with a lower count in the table are not used.
        alike (`bool`, *optional*, defaults to `True`):
            Use only confusions of similar words: tables also contain rewordings.
        weighted (`bool`, *optional*, defaults to `True`):
            Draw frequent confusions more often; the released code draws uniformly, which makes
            slips of single annotators as likely as typical errors.
        tagger (`str`, *optional*, defaults to `"auto"`):
            What tags the words: `spacy`, `light`, or `auto` (spaCy if it is installed).

    Examples:
        >>> GrammarErrors()("He doesn't like cakes.")
        "He don't like cake."
    """

    name = "grammar-errors"
    kind = "should_not_change"
    presets: ClassVar = {"released": {"alike": False, "weighted": False}}

    lexicon: str | None = None
    rate: float = 1.0
    rules: bool = True
    min_count: int = 1
    alike: bool = True
    weighted: bool = True
    tagger: str = "auto"

    def __post_init__(self) -> None:
        check_rate(self.rate)
        if self.lexicon is None and not self.rules:
            raise BadInput("no table and no rules.", hint="Name a lexicon, or leave rules=True.")

    def edits(self, text: str, rng: Random) -> Sequence[Edit]:
        words = tag_text(text, self.tagger)
        edits = []
        for start, end, wrong in self._choices(words, rng):
            before = text[words[start].start : words[end - 1].end]
            after = with_case_of(wrong, before) if len(before) > 1 else wrong
            if after != before:
                edits.append(Edit(words[start].start, before, after))
        return edits

    def _choices(self, words: Sequence[Word], rng: Random) -> Iterator[Choice]:
        table = _table(self.lexicon, self.min_count, self.alike) if self.lexicon else {}
        at = 0
        while at < len(words):
            length, row = _longest(words, at, table) if table else (1, None)
            wrong = None
            if row and (self.rate == 1.0 or rng.random() < self.rate):
                wrong = _draw(row, self.weighted, rng)
            elif not row and self.rules and (error := _by_rule(words[at])):
                wrong = error if self.rate == 1.0 or rng.random() < self.rate else None
            if wrong is not None:
                yield at, at + length, wrong
            at += length


def _by_rule(word: Word) -> str | None:
    """The infinitive of an inflected verb, or the singular of a plural (sec. 5)."""
    if not word.text[0].isalpha() or (len(word.text) > 1 and word.text.isupper()):
        return None  # acronyms
    if word.form in _NEGATED:
        return _NEGATED[word.form]
    if not word.form.isalpha():
        return None
    if word.tag in _INFLECTED or (word.tag == "VBP" and word.form in ("am", "are")):
        base = base_form(word.form, "verb") if is_known(word.form) else word.form
    elif word.tag == "NNS" and word.form not in _PLURAL_ONLY:
        base = base_form(word.form, "noun")
    else:
        return None
    return base if base != word.form else None


Row = tuple[tuple[str, ...], tuple[int, ...]]
"""Wrong forms, and their cumulative counts."""


@lru_cache
def _table(path: str, min_count: int, alike: bool) -> Mapping[str, Row]:
    return {
        right: (tuple(wrong), tuple(accumulate(wrong.values())))
        for right, wrong in load_confusions(path, min_count, alike).items()
    }


def _longest(words: Sequence[Word], at: int, table: Mapping[str, Row]) -> tuple[int, Row | None]:
    """Number of words of the longest entry at `at`, and the entry."""
    for length in range(min(LONGEST, len(words) - at), 0, -1):
        phrase = " ".join(word.text for word in words[at : at + length])
        row = table.get(phrase) or table.get(phrase.lower())
        if row:
            return length, row
    return 1, None


def _draw(row: Row, weighted: bool, rng: Random) -> str:
    wrong, counts = row
    if weighted:
        return rng.choices(wrong, cum_weights=counts)[0]
    return wrong[int(rng.random() * len(wrong))]
