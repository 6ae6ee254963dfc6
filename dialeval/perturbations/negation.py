"""Add Negation: negates the first verb, or removes its negation."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import ClassVar, Literal

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations.base import Edit, Perturbation
from dialeval.perturbations.clauses import Line, read_line
from dialeval.perturbations.inflection import base_form, inflect, with_case_of
from dialeval.perturbations.word_classes import BE, DO, HAVE, split_contraction

_SUPPORT = {"VBZ": "doesn't", "VBD": "didn't", "VBP": "don't", "VB": "don't"}
_ADD_NT = "is are was were have has had do does did could would should"
_CONTRACTED = {auxiliary: f"{auxiliary}n't" for auxiliary in _ADD_NT.split()}
_CONTRACTED |= {"can": "can't", "will": "won't"}
_CLITICS = {"'ll": "won't", "'ve": "haven't", "'d": "wouldn't"}
_OPPOSITE = {
    "no": "some", "nothing": "something", "nobody": "somebody", "none": "some",
    "nowhere": "somewhere",
}  # fmt: skip
_NEGATIVE = re.compile(r"n ?['’] ?t\b|nt\b|not\b|never\b")
_SOME = {"any": "some", "anything": "something", "anyone": "someone", "anybody": "somebody"}
_SUBJECTS = frozenset(["i", "you", "he", "she", "we", "they"])  # never an imperative's object
# The auxiliary goes before these: "don't always go", but "still don't go".
_BEHIND = frozenset(
    ["always", "usually", "often", "really", "quite", "ever", "even", "just", "already", "only"]
)
# Set phrases that cannot be negated.
_FORMULAS = re.compile(
    r"(?<!\S)(?:thank you|thank god|excuse me|see (?:you|ya)|come on|never mind|guess what"
    r"|here (?:you|we|it|they|i) (?:are|go|is|am|comes?)|there (?:you|we) (?:are|go)|here's"
    r"|how (?:are|is|was|were) (?:(?:you|u|it|things|everything) (?:guys |all )?(?:doing|going) )?"
    r"|how(?:'s (?:it|everything|things) going|'s| do you do| come| about)"
    r"|what(?:'s up|'s new| if| about)"
    r"|(?:let me|let's|let us) see|you know(?= [,.?!])|you see(?= ,)|i see(?= [,.!])|i mean(?= ,)"
    r"|how \w+ (?:are|is|was|were)|hold on|bless you|beg your pardon|beg you|would you mind"
    r"|(?:you're|you are) welcome|why not(?: just| simply)? \w+|go ahead"
    r"|nice to meet you|(?:pleased|glad) to meet you"
    r"|as you know|as i said|believe it or not|no longer|no wonder|no problem|not only"
    r"|would like to introduce|sounds like|looks like) ?"
)


@dataclass(frozen=True)
class AddNegation(Perturbation):
    """Negate the first verb of an utterance, or undo its negation (Niu & Bansal, 2018).

    Args:
        rules (`str`, *optional*, defaults to `"full"`):
            `full` handles auxiliaries, modals, imperatives and questions, and removes an existing
            negation; `released` follows the released code: no modals, no negation removed.
        tagger (`str`, *optional*, defaults to `"auto"`):
            What tags the words: `spacy`, `light`, or `auto` (spaCy if it is installed).

    Examples:
        >>> AddNegation()("She likes tea."), AddNegation()("I can't swim.")
        ("She doesn't like tea.", 'I can swim.')
    """

    rules: Literal["full", "released"] = "full"
    tagger: str = "auto"

    name: ClassVar[str] = "add-negation"
    kind: ClassVar = "should_change"
    presets: ClassVar = {"released": {"rules": "released"}}

    def __post_init__(self) -> None:
        if self.rules not in ("full", "released"):
            raise BadInput(f"unknown rules {self.rules!r}.", hint="Choose full or released.")

    def edits(self, text: str, rng: Random) -> list[Edit]:
        """The first verb's replacement; empty if no verb can be negated."""
        line = read_line(text, self.tagger)
        if self.rules == "released":
            return list(islice(_released(line), 1))
        edit = next(_full(line), None)
        return [] if edit is None else [line.in_style(edit), *_polarity(line, edit)]


def _full(line: Line) -> Iterator[Edit]:
    """Edits that negate a verb, finite ones first."""
    skipped = line.indices_of(_FORMULAS)
    indices = [at for at in range(len(line)) if at not in skipped]
    for at in indices:
        edit = _finite(line, at)
        if edit:
            yield edit
    for at in indices:
        if _is_open_infinitive(line, at):
            yield line.replace(at, f"not {line[at].form}")


def _is_open_infinitive(line: Line, at: int) -> bool:
    """Whether `not` can go before a to-infinitive or an -ing form."""
    if line[at - 1].form == "not":
        return False
    if line[at].form == "to":
        return line[at + 1].tag == "VB"
    return line[at].tag == "VBG" and line[at - 1].tag in (".", ",", "IN", "UH", "PRP", "WRB")


def _finite(line: Line, at: int) -> Edit | None:
    """The edit that negates or un-negates the verb at an index; None if there is none."""
    word = line[at]
    host, clitic = split_contraction(word.form)
    if clitic == "n't":
        return _undo_contracted(line, at, host)
    if clitic and (clitic != "'s" or _ends_in_verb(line, at)):
        return _undo_word(line, at) or _clitic(line, at, host, clitic)
    if word.tag not in _SUPPORT and word.tag != "MD":
        return None
    if word.tag == "VB" and not _is_imperative(line, at):
        return None
    return _undo_word(line, at) or _add(line, at)


def _ends_in_verb(line: Line, at: int) -> bool:
    """Whether the 's of a word is a verb: `it's`, `let's`, `Mary's here`, not `Mary's car`."""
    if line[at].tag in ("PRP", "WP", "WRB", "DT", "EX", "VB", "RB", "IN"):
        return True
    return line[at + 1].tag in ("DT", "VBG", "IN", "RB", "TO")


def _is_imperative(line: Line, at: int) -> bool:
    """Whether a base form starts a clause, perhaps after an adverb."""
    start = at
    while line[start - 1].tag == "RB":
        start -= 1
    before = line[start - 1]
    return before.tag in (".", ",", ":", "UH") or (before.tag == "CC" and start == 1)


def _undo_contracted(line: Line, at: int, host: str) -> Edit | None:
    """`don't like` as `like`, `isn't` as `is`."""
    if line[at].form == "ain't":
        host = {"i": "am", "you": "are", "we": "are", "they": "are"}.get(line[at - 1].form, "is")
    verb = line.past_adverbs(at)
    if host not in DO or line.is_inverted(at) or line[verb].tag != "VB":
        return line.replace(at, host)
    return _merge(line, at, at + 1, verb, host)


def _merge(line: Line, at: int, start: int, verb: int, host: str) -> Edit:
    """One edit that drops do-support and gives its form to the verb."""
    form = inflect(line[verb].form, {"does": "VBZ", "did": "VBD"}.get(host, "VB"))
    kept = [word.text for word in line.words[start:verb]] + [with_case_of(form, line[verb].text)]
    after = " ".join(kept)
    if line[at].text[0].isupper():
        after = after[0].upper() + after[1:]
    return line.span(at, verb, after)


def _undo_word(line: Line, at: int) -> Edit | None:
    """The edit that removes `not`, `never`, `no` or `nothing` next to a verb; None without one."""
    if line[at - 1].form == "never":
        return line.drop(at - 1)
    subject = _undo_subject(line, at)
    if subject:
        return subject
    inverted = line.is_inverted(at)
    last = line.past_adverbs(at + inverted)
    for index in range(at + 1, min(last + 1, len(line))):
        form = line[index].form
        if form == "never":
            return line.drop(index)
        if form == "not" and line[index + 1].form != "only":
            return _undo_not(line, at, index)
        if form == "no" and line[index + 1].form == "one":
            return line.span(index, index + 1, with_case_of("someone", line[index].text))
        if form in _OPPOSITE and line[index + 1].form not in ("longer", "more", "matter"):
            return line.replace(index, _OPPOSITE[form])
    return None


def _undo_subject(line: Line, at: int) -> Edit | None:
    """The edit of `nobody`, `nothing` or `no one` as the subject of a verb, without an `ever`."""
    last = at - 1
    while line[last].tag in ("RB", "RBR"):
        last -= 1
    first = last - 1 if (line[last - 1].form, line[last].form) == ("no", "one") else last
    new = "someone" if first < last else _OPPOSITE.get(line[last].form)
    if new is None or line[last].form in ("no", "none", "nowhere"):
        return None
    last += line[last + 1].form == "ever"
    return line.span(first, last, with_case_of(new, line[first].text))


def _undo_not(line: Line, at: int, index: int) -> Edit:
    verb = line.past_adverbs(index)
    if line[at].form in DO and line[verb].tag == "VB" and not line.is_inverted(at):
        return _merge(line, at, index + 1, verb, line[at].form)
    return line.drop(index)


def _polarity(line: Line, edit: Edit) -> Iterator[Edit]:
    """After a removed negation, `any` as `some`, up to the next punctuation mark."""
    if not _NEGATIVE.search(edit.before.lower()) or _NEGATIVE.search(edit.after.lower()):
        return
    end = edit.start + len(edit.before)
    for at, word in enumerate(line.words):
        if word.start >= end and word.tag in (".", ",", ":"):
            return
        compared = line[at + 1].form in ("more", "longer") or line[at + 1].tag == "JJR"
        if word.start >= end and word.form in _SOME and not compared:
            yield line.replace(at, _SOME[word.form])


def _clitic(line: Line, at: int, host: str, clitic: str) -> Edit | None:
    """`I'm` as `I'm not`, `I'll` as `I won't`."""
    word, following = line[at], line[at + 1]
    written = line.text[word.start : word.start + len(host)]
    if clitic == "'s" and word.tag in ("WP", "WRB"):
        return line.span(at, at, f"{written} isn't")
    if clitic in ("'s", "'m", "'re"):
        return line.span(at, at, f"{word.text} not")
    if clitic == "'d" and following.form in ("better", "rather"):
        return line.span(at, at + 1, f"{word.text} {following.text} not")
    had = clitic == "'d" and line[line.past_adverbs(at)].tag in ("VBN", "VBD")
    negated = "hadn't" if had else _CLITICS[clitic]
    return line.span(at, at, f"{written} {negated}")


def _add(line: Line, at: int) -> Edit | None:
    """The edit that negates a verb that is not a contraction."""
    word = line[at]
    if word.tag == "MD" or word.form in BE - {"be"} or _is_auxiliary(line, at):
        return _negate_auxiliary(line, at)
    if word.tag == "VBP" and _cannot_agree(line, at):
        return None
    return _do_support(line, at)


def _cannot_agree(line: Line, at: int) -> bool:
    """Whether a verb without -s follows a singular: then it is not a finite verb."""
    before = line[at - 1]
    if before.form in ("he", "she", "it"):
        return True
    joined = any(line[index].form in ("and", "or") for index in range(at - 4, at - 1))
    return before.tag == "NN" and not joined


def _is_auxiliary(line: Line, at: int) -> bool:
    """Whether have or do is an auxiliary here, or replaces a verb."""
    word, inverted = line[at], line.is_inverted(at)
    verb = line[line.past_adverbs(at + inverted)]
    alone = verb.tag in (".", ",", "CC") and line[at - 1].tag == "PRP"
    if word.form in HAVE:
        asks = inverted and line[at + 1].form in _SUBJECTS  # "have you any idea"
        better = word.form == "had" and verb.form == "better"
        return verb.tag == "VBN" or alone or asks or better
    helps = verb.tag == "VB" or line[at + 1].tag == ":"  # "what does [tab] mean"
    return word.form in DO and (helps or inverted or alone)


def _negate_auxiliary(line: Line, at: int) -> Edit | None:
    """`can` as `can't`, `am` as `am not`, `may I` as `may I not`."""
    word, following = line[at], line[at + 1]
    if following.form in ("better", "rather"):
        return line.span(at, at + 1, f"{word.text} {following.text} not")
    if word.form in _CONTRACTED:
        return line.replace(at, _CONTRACTED[word.form])
    if not line.is_inverted(at):
        return line.span(at, at, f"{word.text} not")
    if following.tag not in ("PRP", "EX"):
        return None
    return line.span(at, at + 1, f"{word.text} {following.text} not")


def _do_support(line: Line, at: int) -> Edit:
    """`likes` as `doesn't like`, `Open` as `Don't open`."""
    word, first = line[at], at
    while line[first - 1].form in _BEHIND and line[first - 2].tag != ".":
        first -= 1
    base = word.form if word.tag in ("VB", "VBP") else base_form(word.form, "verb")
    if word.text.isupper() and len(word.text) > 1:
        base = base.upper()
    between = "".join(f"{other.text} " for other in line.words[first:at])
    return line.span(
        first, at, f"{with_case_of(_SUPPORT[word.tag], line[first].text)} {between}{base}"
    )


_NOT_BEFORE = ("VB", "VBG", "VBN")


def _released(line: Line) -> Iterator[Edit]:
    """Edits by the released code's rules, in their order; contractions are not edited."""
    for at, word in enumerate(line.words):
        if split_contraction(word.form)[1] or word.form == "let's":
            continue
        if word.form in ("was", "were", "are", "is"):
            yield line.replace(at, f"{word.form}n't")
        elif word.form == "am":
            yield line.span(at, at, f"{word.text} not")
        elif word.tag in _NOT_BEFORE:
            yield line.replace(at, f"not {word.form}")
        elif word.tag in ("VBD", "VBZ"):
            yield line.replace(at, f"{_SUPPORT[word.tag]} {base_form(word.form, 'verb')}")
        elif word.tag == "VBP":
            yield line.replace(at, f"don't {word.form}")
