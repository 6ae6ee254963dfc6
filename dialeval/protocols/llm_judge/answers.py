"""What an LLM judge answered: which reply an answer in free text names."""

import re
import unicodedata
from dataclasses import dataclass

import numpy as np

from dialeval.responders.reasoning import strip_reasoning

_READ = 4_000  # characters of an answer that are read, half from its start and half from its end


@dataclass(frozen=True)
class Answer:
    """An answer of an LLM judge, and which reply it names.

    Args:
        text (`str`):
            The answer as it was written; empty for a comparison of probabilities.
        first (`float`, *optional*):
            1 for the reply shown first, 0 for the second, in between a probability; `None` where
            the answer names neither.
        refused (`bool`, *optional*, defaults to `False`):
            Whether it declines to choose.
    """

    text: str
    first: float | None = None
    refused: bool = False

    @property
    def vote(self) -> float | None:
        """1, 0, or a half for a tie."""
        return None if self.first is None else float(np.sign(self.first - 0.5) + 1) / 2


_NOUN = r"(?:reply|response|option|candidate|text|message|answer|choice|number|no\.?)"
_SIDE = (
    r"(?P<side>(?-i:[AB])(?!\w)|[12](?!\w)|[ab](?=\W*$)|(?:one|two|first|second|former|latter)\b)"
)
_FILL = r"[\s\"'*_`:=({\[#]{0,8}"  # bounded, so that no answer takes long to read
_FINAL = re.compile(
    rf"(?:(?:final answer|answer|verdict|choice|pick|choose|go with|vote for)\b|\\boxed)"
    rf"[\"'*_`]*{_FILL}(?:is\b|would be\b)?{_FILL}(?:the\b)?{_FILL}(?:{_NOUN}\b)?{_FILL}{_SIDE}"
    rf"(?!\s+(?:human|machine|person|reply that))",
    re.IGNORECASE,
)
_BARE = re.compile(
    rf"^\W*(?:{_NOUN}\b)?{_FILL}(?P<side>[ABab12]|one|two|first|second|1st|2nd)\W*$", re.I
)
_LETTER = r"(?-i:(?<!\w)(?P<letter>B(?!\w)|A(?=\s*(?:[^\w\s]|$)|\s+(?:is|was|be|because|since|as"
_LETTER += r"|sounds?|seems?|looks?|appears?|feels?|reads?|has|more|over|than|and|or|by)\b)))"
_MENTION = re.compile(
    rf"\b{_NOUN}{_FILL}(?P<side>(?-i:[AB])(?!\w)|[12](?!\w)|(?:one|two)\b|[ab](?=\W*$))"
    rf"|\b(?P<ordinal>first|second|1st|2nd)\s+(?:one|{_NOUN})"
    rf"|\bthe\s+(?P<the>first|second|1st|2nd|former|latter)\b"
    rf"|{_LETTER}",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[.;,!?\n]+(?=\s|$)|\b(?:and|but|while|whereas|so|therefore)\b", re.IGNORECASE
)
_AGAINST = re.compile(
    r"n['’]t\b|\b(?:not|never|machine\w*|bot|ai|artificial\w*|generated|robotic|unlike|compared"
    r"|less)\b",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\b(?:can(?:no|['’])t|unable|sorry|won['’]t|refuse|decline|impossible|neither|both|either"
    r"|unsure|uncertain|undecided|tie|don['’]t know|equally)\b",
    re.IGNORECASE,
)
_NEITHER = re.compile(  # both letters at once, and headings of a repeated question
    r"\bA\s*(?:or|and|/|vs\.?)\s*(?:[Rr]eply |[Rr]esponse )?B\b|^===.*===$", re.MULTILINE
)
_OPENING = re.compile(r"^[\W_]*(?P<side>[AB])[\"'*_`)\]]*\s*(?P<sign>[.:,;)–—-]|$)")
_FIRST = {"a", "1", "one", "first", "1st", "former"}


def read_answer(text: str) -> Answer:
    """The choice in an answer: a marked choice, else a bare letter, else the first clear mention.

    A mention in a clause that speaks of a machine, or denies, is not clear.

    Examples:
        >>> [read_answer(text).first for text in ("A", "**B**", "I'd say reply 2.", "The former")]
        [1.0, 0.0, 0.0, 1.0]
        >>> read_answer("A human wrote both").first, read_answer("I cannot tell.").refused
        (None, True)
    """
    excerpt = text if len(text) <= _READ else f"{text[: _READ // 2]}_…_{text[-_READ // 2 :]}"
    answer = unicodedata.normalize("NFKC", strip_reasoning(excerpt)).strip()
    answer = _NEITHER.sub("", answer)
    side = _opening_choice(answer) or _final_choice(answer) or _first_mention(answer)
    if side is None:
        return Answer(text, None, bool(_REFUSAL.search(answer)))
    return Answer(text, float(side.lower() in _FIRST))


def _opening_choice(text: str) -> str | None:
    """The letter that a text, or its first line, consists of or begins with."""
    lines = text.splitlines() or [""]
    match = _BARE.match(text) or _BARE.match(lines[0])
    if match:
        return match["side"]
    match = _OPENING.match(lines[0])
    label = match and match["sign"] == ":" and _AGAINST.search(_CLAUSE.split(lines[0])[0])
    return match["side"] if match and not label else None  # as in "A: machine, B: human"


def _final_choice(text: str) -> str | None:
    matches = list(_FINAL.finditer(text))
    return matches[-1]["side"] if matches else None


def _first_mention(text: str) -> str | None:
    for clause in _CLAUSE.split(text):
        mention = _MENTION.search(clause)
        if mention and not _AGAINST.search(clause):
            return next(value for value in mention.groupdict().values() if value)
    return None
