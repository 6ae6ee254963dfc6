"""Expands contractions, and contracts what can be contracted (beyond the paper)."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations.base import Edit, Perturbation
from dialeval.perturbations.inflection import with_case_of
from dialeval.perturbations.tagging import Word, tag_text
from dialeval.perturbations.tokens import word_set

_AUXILIARIES = word_set("do does did is are was were have has had could would should must need")
_NOT = {
    "can't": "can",
    "won't": "will",
    "shan't": "shall",
    **{f"{word}n't": word for word in sorted(_AUXILIARIES)},
}
_CLITICS = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will"}
_SUBJECTS = word_set("i you he she it we they there this that these those")
_PERSONS = word_set("i you he she it we they")
# After these a verb may end its clause, where it is not contracted:
# "what it is", "older than I am".
_LEADS = word_set(
    "what who whom whose which where when why how than as whatever whoever so wherever whether if"
)
_HOSTS_OF_S = word_set("it he she that there here what where who how")
_HAS_BEFORE = word_set("been got had gone become done grown happened changed started taken")
_SHORT = {"am": "'m", "is": "'s", "are": "'re", "will": "'ll", "have": "'ve", "has": "'s"}
_PERSON_OF = {
    "am": frozenset(("i",)), "is": word_set("he she it that there"),
    "are": word_set("you we they"), "will": _PERSONS,
    "have": word_set("i you we they"), "has": word_set("he she it"),
}  # fmt: skip
_FOLLOWS = ("VB", "RB", "DT", "PRP$", "JJ", "NN", "IN", "TO", "CD")


@dataclass(frozen=True)
class ContractionToggle(Perturbation):
    """Expand contractions (`don't` to `do not`), and contract what can be (`I am` to `I'm`).

    Args:
        direction (`str`, *optional*, defaults to `"both"`):
            `expand`, `contract` or `both`.
        tagger (`str`, *optional*, defaults to `"auto"`):
            What tags the words: `spacy`, `light`, or `auto` (spaCy if it is installed).

    Examples:
        >>> ContractionToggle()("I don't know. I am lost.")
        "I do not know. I'm lost."
    """

    name = "contraction-toggle"
    kind = "should_not_change"

    direction: Literal["both", "expand", "contract"] = "both"
    tagger: str = "auto"

    def __post_init__(self) -> None:
        choices = ("both", "expand", "contract")
        if self.direction not in choices:
            hint = f"Choose one of {', '.join(choices)}."
            raise BadInput(f"unknown direction {self.direction!r}.", hint=hint)

    def edits(self, text: str, rng: Random) -> Sequence[Edit]:
        words = tag_text(text, self.tagger)
        edits, at = [], 0
        while at < len(words):
            width, after = self._toggle(text, words, at)
            if after is not None:
                start, end = words[at].start, words[at + width - 1].end
                edits.append(Edit(start, text[start:end], after))
            at += width
        return edits

    def _toggle(self, text: str, words: Sequence[Word], at: int) -> tuple[int, str | None]:
        """How many words from `at` on are replaced, and by what."""
        replacement = None
        short = "'" in words[at].form and words[at].text.lower() != "cannot"
        if short and self.direction != "contract":
            replacement = _expand(words, at)
        elif not short and self.direction != "expand":
            replacement = _contract(text, words, at)
        return replacement or (1, None)


def _expand(words: Sequence[Word], at: int) -> tuple[int, str] | None:
    form, text = words[at].form, words[at].text
    if form == "let's":
        return 1, with_case_of("let us", text[:1])
    if form in _NOT:
        return _expand_not(words, at)
    host, mark, clitic = form.rpartition("'")
    if mark + clitic in _CLITICS and host in _SUBJECTS and _word_after(words, at).tag[:1].isalpha():
        return 1, f"{text[: len(host)]} {_CLITICS[mark + clitic]}"
    if clitic == "s" and host in _HOSTS_OF_S and _word_after(words, at).tag[:1].isalpha():
        return 1, f"{text[: len(host)]} {_is_or_has(_word_after(words, at))}"
    return None


def _expand_not(words: Sequence[Word], at: int) -> tuple[int, str] | None:
    """`don't` as `do not`, and `don't you` as `do you not`."""
    form, after = words[at].form, _word_after(words, at)
    host = with_case_of(_NOT[form], words[at].text[:1])
    if after.form in _PERSONS | {"there"}:
        return 2, f"{host} {after.text} not"
    opens = at == 0 or not words[at - 1].tag[:1].isalpha() or words[at - 1].form in _LEADS
    if opens and (form != "don't" or (at and words[at - 1].form in _LEADS)):
        return None  # a question about a noun: "Isn't John here?"
    return 1, "cannot" if host == "can" else f"{host} not"


def _is_or_has(after: Word) -> str:
    return "has" if after.form in _HAS_BEFORE else "is"


def _contract(text: str, words: Sequence[Word], at: int) -> tuple[int, str] | None:
    """`do not` as `don't`, `I am` as `I'm`; never at the end of a clause."""
    first, after = words[at], _word_after(words, at)
    if first.text.lower() == "cannot":
        return 1, with_case_of("can't", first.text[:1])
    if not after.text or text[first.end : after.start] != " ":
        return None
    third = _word_after(words, at + 1)
    if after.text.lower() == "not" and first.form in _NOT.values():
        short = next(form for form, host in _NOT.items() if host == first.form)
        return (2, with_case_of(short, first.text[:1])) if third.tag[:1].isalpha() else None
    if first.form not in _PERSON_OF.get(after.text.lower(), ()) or _is_led(words, at):
        return None
    if not third.tag.startswith(_FOLLOWS) or not _may_shorten(after, third):
        return None
    return 2, first.text + _SHORT[after.form]


def _may_shorten(verb: Word, after: Word) -> bool:
    """`have` only before a participle: "I've a car" is odd; "I am not" becomes "I'm not"."""
    if verb.form in ("have", "has"):
        return after.tag == "VBN" or after.form in ("been", "got")
    return verb.tag[:1] in "VM"


def _is_led(words: Sequence[Word], at: int) -> bool:
    """Whether a clause may end after the verb, because of a word such as `what` or `than`."""
    before = [word.form for word in words[max(0, at - 3) : at]]
    return any(word in _LEADS for word in before) or _is_inverted(words, at)


def _is_inverted(words: Sequence[Word], at: int) -> bool:
    """Whether an auxiliary comes right before the subject, so that the verb is not its verb."""
    return at > 0 and words[at - 1].form in _AUXILIARIES | {"am", "will", "can"}


_NOTHING = Word("", 0, 0, "", "")


def _word_after(words: Sequence[Word], at: int) -> Word:
    return words[at + 1] if at + 1 < len(words) else _NOTHING
