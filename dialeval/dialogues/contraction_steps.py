"""Contractions that are written out, as in "do not": found, and written together."""

import re

_NOT = "do|does|did|is|are|was|were|have|has|had|would|could|should|must|need"
_VERBS = {"am": "m", "are": "re", "is": "s", "have": "ve", "will": "ll"}
_SUBJECTS = {
    "am": "i",
    "are": "you|we|they",
    "is": "he|she|it|that|there|what|who|where|here",
    "have": "i|you|we|they",
    "will": "i|you|he|she|it|we|they|that|there",
}
_NEGATED = re.compile(rf"\b({_NOT}) +(not)\b", re.I)
_IRREGULAR = re.compile(r"\b(ca)n(?: +)?(not)\b|\b(w)ill +(not)\b|\b(let) +(us)\b", re.I)
_SUBJECT_VERB = re.compile(
    "|".join(rf"\b({subjects}) +({verb})(?= +\w)" for verb, subjects in _SUBJECTS.items()), re.I
)
# Not at the end of a clause: nobody says "that is who she's".
_PATTERNS = (_IRREGULAR, _NEGATED, _SUBJECT_VERB)
CONTRACTION = re.compile(r"\w(?:n['\u2019]t|['\u2019](?:m|re|s|ve|ll))\b", re.I)
"""A contraction in one piece."""


def has_written_out(text: str) -> bool:
    """Whether a contraction is written out.

    Examples:
        >>> has_written_out("It is late."), has_written_out("It's late.")
        (True, False)
    """
    return any(pattern.search(text) for pattern in _PATTERNS)


def contract(text: str) -> str:
    """The text with contractions written together.

    Examples:
        >>> contract("I am sure you do not know; it will not rain, and we cannot go. LET US SEE")
        "I'm sure you don't know; it won't rain, and we can't go. LET'S SEE"
    """
    text = _IRREGULAR.sub(_irregular, text)
    text = _NEGATED.sub(lambda match: match[1] + _like(match[2], "n't"), text)
    return _SUBJECT_VERB.sub(_subject_verb, text)


def _irregular(match: re.Match[str]) -> str:
    first, second = (part for part in match.groups() if part)
    endings = {"ca": "n't", "w": "on't", "let": "'s"}
    return first + _like(second, endings[first.lower()])


def _subject_verb(match: re.Match[str]) -> str:
    subject, verb = (part for part in match.groups() if part)
    return f"{subject}'{_like(verb, _VERBS[verb.lower()])}"


def _like(model: str, text: str) -> str:
    """A text in capitals where its model is."""
    return text.upper() if model.isupper() else text
