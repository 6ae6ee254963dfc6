"""Question to statement and back, by inversion of subject and auxiliary where that is safe."""

import re
from dataclasses import dataclass
from random import Random
from typing import ClassVar, NamedTuple

from dialeval.perturbations.base import Edit, Perturbation
from dialeval.perturbations.clauses import Line, read_line
from dialeval.perturbations.inflection import base_form, inflect
from dialeval.perturbations.word_classes import BE, DO, HAVE, split_contraction

_SUBJECTS = frozenset(
    ["i", "you", "he", "she", "it", "we", "they", "this", "that", "these", "those", "there"]
)
_CLITIC_VERBS = {"'m": "am", "'re": "are", "'ll": "will", "'ve": "have"}
_POLARITY = {"any": "some", "anything": "something", "anyone": "someone", "anybody": "somebody"}
_POLARITY |= {"anywhere": "somewhere"}
_UNSAFE = frozenset(["ever", "yet", "either", "or", "if", "because", "right", "huh", "eh", "what"])
_SUPPORT = {"VBZ": "does", "VBD": "did", "VBP": "do"}
# Set phrases that cannot be inverted.
_FORMULAS = re.compile(
    r"(?<!\S)(?:you know(?= [,.?])|i see(?= [,.!])|i mean|you're welcome|you are welcome"
    r"|would you mind|do you mind|that's all|this is \w+ speaking|i beg|may i|i'm sorry|i am sorry"
    r"|i'm afraid|i am afraid|i'd like|i would like|i wonder|i was wondering|i hope|i think so"
    r"|i guess so|that's right|that's it) ?"
)


class _Sentence(NamedTuple):
    """A sentence of a line: indices of its first word, and of its end mark or the end."""

    first: int
    end: int


@dataclass(frozen=True)
class QuestionStatement(Perturbation):
    """Turn the first sentence that allows it from a question into a statement, or back.

    Only yes-no questions and statements with a pronoun for a subject are inverted.

    Args:
        tagger (`str`, *optional*, defaults to `"auto"`):
            What tags the words: `spacy`, `light`, or `auto` (spaCy if it is installed).

    Examples:
        >>> QuestionStatement()("Does he like tea?"), QuestionStatement()("You are late.")
        ('He likes tea.', 'Are you late?')
    """

    tagger: str = "auto"

    name: ClassVar[str] = "question-statement"
    kind: ClassVar = "should_change"

    def edits(self, text: str, rng: Random) -> list[Edit]:
        """The inversion, the words that depend on it, and the end mark; empty if none is safe."""
        line = read_line(text, self.tagger)
        skipped = line.indices_of(_FORMULAS)
        for sentence in _sentences(line):
            if sentence.first in skipped or not _is_simple(line, sentence):
                continue
            edits = _to_statement(line, sentence) or _to_question(line, sentence)
            if edits:
                return [line.in_style(edit) for edit in edits]
        return []


def _sentences(line: Line) -> list[_Sentence]:
    """Sentences, each from its first word after a greeting."""
    sentences, first = [], 0
    for at in range(len(line) + 1):
        if line[at].tag == "." and at > first:
            sentences.append(_Sentence(_past_greeting(line, first, at), at))
        if line[at].tag == ".":
            first = at + 1
    return sentences


def _past_greeting(line: Line, first: int, end: int) -> int:
    """Index after `Well ,` or `Oh , yes ,` at the start of a sentence."""
    while (
        first + 2 < end
        and line[first + 1].tag == ","
        and line[first].tag in ("UH", "RB", "DT", "NNP")
    ):
        first += 2
    return first


def _is_simple(line: Line, sentence: _Sentence) -> bool:
    """Whether a sentence has one clause and nothing that inversion would break."""
    words = line.words[sentence.first : sentence.end]
    if any(word.form in _UNSAFE or word.tag in (":", "CC") for word in words):
        return False
    commas = [at for at, word in enumerate(words) if word.tag == ","]
    return not commas or len(words) - commas[0] <= 2


def _capitalise_like(text: str, line: Line, at: int) -> str:
    """The text with a capital if the word it replaces has one; not for an `I` after a comma."""
    capital = line[at].text[:1].isupper() and not (
        line[at - 1].tag == "," and line[at].text[0] == "I"
    )
    return text[:1].upper() + text[1:] if capital else text


def _lower_first(word: str) -> str:
    """A subject inside a sentence."""
    return word if word == "I" or word.startswith("I'") else word[:1].lower() + word[1:]


def _is_auxiliary(line: Line, at: int, verb: int) -> bool:
    """Whether the word is an auxiliary of the verb at `verb`, a form of be or a modal."""
    host = split_contraction(line[at].form)[0]
    if line[at].tag == "MD" or host in BE:
        return True
    is_final = line[verb].tag in (".", ",") and line[at].tag != "VB"  # "Yes , I have ."
    helped = line[verb].tag == ("VBN" if host in HAVE else "VB")
    return (helped or is_final) and host in HAVE | DO


def _to_statement(line: Line, sentence: _Sentence) -> list[Edit]:
    """`Are you ready ?` as `You are ready .`"""
    first, end = sentence
    auxiliary, subject = line[first], line[first + 1]
    verb = line.past_adverbs(first + 1)
    if line[end].text != "?" or first + 1 >= end or subject.form not in _SUBJECTS:
        return []
    if not _is_auxiliary(line, first, verb):
        return []
    written = _capitalise_like(subject.text, line, first)
    helps = auxiliary.text[:1].lower() + auxiliary.text[1:]
    if auxiliary.form in DO and line[verb].tag == "VB":
        form = inflect(line[verb].form, {"does": "VBZ", "did": "VBD"}.get(auxiliary.form, "VB"))
        between = "".join(f"{word.text} " for word in line.words[first + 2 : verb])
        head = line.span(first, verb, f"{written} {between}{form}")
    else:
        head = line.span(first, first + 1, f"{written} {helps}")
    return [head, *_polarity(line, verb, end), line.span(end, end, ".")]


def _polarity(line: Line, start: int, end: int) -> list[Edit]:
    """`any` as `some`, as statements need."""
    indices = (at for at in range(start + 1, end) if line[at].form in _POLARITY)
    return [line.replace(at, _POLARITY[line[at].form]) for at in indices]


def _to_question(line: Line, sentence: _Sentence) -> list[Edit]:
    """`You are ready .` as `Are you ready ?`"""
    first, end = sentence
    if line[end].text not in (".", ""):
        return []
    host, clitic = split_contraction(line[first].form)
    if host not in _SUBJECTS or clitic == "n't":
        return []
    head = _open_clitic(line, first, host, clitic) if clitic else _open_verb(line, first)
    if head is None:
        return []
    if end < len(line):
        return [head, line.span(end, end, "?")]
    last = line[end - 1].end
    return [head, Edit(last, "", "?")] if end - 1 > first + 1 else []


def _open_clitic(line: Line, at: int, host: str, clitic: str) -> Edit | None:
    """`I'm` as `Am I`."""
    follows = line[line.past_adverbs(at)]
    verb = _CLITIC_VERBS.get(clitic)
    if clitic == "'s":
        verb = "has" if follows.form in ("been", "got", "had", "become") else "is"
    if clitic == "'d":
        if follows.form in ("better", "rather"):
            return None
        verb = "had" if follows.tag in ("VBN", "VBD") else "would"
    if verb is None:
        return None
    subject = _lower_first(line.text[line[at].start : line[at].start + len(host)])
    return line.span(at, at, f"{_capitalise_like(verb, line, at)} {subject}")


def _open_verb(line: Line, first: int) -> Edit | None:
    """`He likes` as `Does he like`."""
    at = line.past_adverbs(first)
    subject, verb = line[first], line[at]
    written = _lower_first(subject.text)
    if verb.tag not in ("MD", *_SUPPORT) or line[at + 1].form in ("better", "rather"):
        return None
    between = "".join(f"{word.text} " for word in line.words[first + 1 : at])
    if _is_auxiliary(line, at, line.past_adverbs(at)) or verb.form.endswith("n't"):
        after = f"{_capitalise_like(verb.text, line, first)} {written} {between}".rstrip()
        return line.span(first, at, after)
    if verb.tag not in _SUPPORT:
        return None
    base = verb.form if verb.tag == "VBP" else base_form(verb.form, "verb")
    support = _capitalise_like(_SUPPORT[verb.tag], line, first)
    return line.span(first, at, f"{support} {written} {between}{base}")
