"""What is counted in the turns of one participant; each trait is one number per dialogue."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dialeval.dialogues import tokens

Turns = Sequence[str]


@dataclass(frozen=True)
class BehaviourTrait:
    """A behaviour, and how much of it there is in the turns of one participant.

    Args:
        name, group, unit (`str`):
            Its name, the kind of behaviour, and what its mean counts.
        measure (`Callable`):
            From the turns of one participant in one dialogue to a number.
        in_turn (`Callable`, *optional*):
            Whether one turn shows it, to find examples.
    """

    name: str
    group: str
    unit: str
    measure: Callable[[Turns], float]
    in_turn: Callable[[str], bool] | None = None


def _share(name: str, group: str, shows: Callable[[str], bool]) -> BehaviourTrait:
    def measure(turns: Turns) -> float:
        return sum(map(shows, turns)) / len(turns)

    return BehaviourTrait(name, group, "share of turns", measure, shows)


def _pattern(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    return lambda text: bool(compiled.search(text))


def _at_edge(name: str, pattern: str, last: bool) -> BehaviourTrait:
    shows = _pattern(pattern)

    def measure(turns: Turns) -> float:
        return float(shows(turns[-1] if last else turns[0]))

    return BehaviourTrait(name, "openers and closers", "share of dialogues", measure, shows)


def word_count(text: str) -> int:
    """Number of words, without punctuation."""
    return sum(any(character.isalnum() for character in token) for token in tokens(text))


def _words_per_turn(turns: Turns) -> float:
    return sum(map(word_count, turns)) / len(turns)


def repeated_trigrams(turns: Turns) -> float:
    """Share of the three-word sequences that the participant used in an earlier turn.

    Examples:
        >>> repeated_trigrams(["how are you", "fine", "how are you today"])
        0.3333333333333333
    """
    seen: set[tuple[str, ...]] = set()
    total = repeated = 0
    for text in turns:
        words = text.lower().split()
        grams = [tuple(words[at : at + 3]) for at in range(len(words) - 2)]
        total += len(grams)
        repeated += sum(gram in seen for gram in grams)
        seen.update(grams)
    return repeated / total if total else 0.0


def _repeated_turns(turns: Turns) -> float:
    texts = [text.strip().lower() for text in turns]
    return sum(text in texts[:index] for index, text in enumerate(texts)) / len(texts)


def _variety(turns: Turns) -> float:
    """Different words among the first 50, so that long dialogues do not look poorer."""
    words = [word for text in turns for word in text.lower().split()][:50]
    return len(set(words)) / len(words) if words else 0.0


_BACKCHANNEL = re.compile(
    r"(?:(?:yeah|yea|yep|yes|ya|no|nope|ok|okay|k|sure|right|exactly|true|i see|oh|ah|aha|wow|"
    r"mhm|mm+|uh[- ]?huh|hmm+|cool|nice|great|lol|haha+|really|indeed|got it|gotcha|alright|"
    r"of course|absolutely)[\s.,!?]*){1,3}",
    re.IGNORECASE,
)
_EDGE = r"(?:^|[,.;:!?…(–—-])\s*"
_AFTER = r"(?:\s*(?:[,.;:!?…)–—-]|$))"
_ADVERB = (  # "it's kind of cold", not "this kind of food" and "that's kind of you"
    rf"(?:{_EDGE}|(?:\b(?:i|you|we|they|he|she|it|is|are|was|were|be|am|been|feel|feels|felt|seems?|"
    r"looks?|sounds?|gets?|got|just|really|also|still|but|and|so|have|has|had|do|did)|['’](?:s|m|re))\s)"
    r"(?:kind|sort) of\b(?! (?:you|him|her|them|me|us|people|person|things?|stuff)\b)"
)
_HESITATION = "|".join((
    r"\b(?:u+h+(?![\s-]?huh)|u+m+|e+r+m*|hm+)\b", r"(?<![\d.])(?<!\d )\bmm+\b",
    rf"(?:{_EDGE}|\b(?:but|and|so|well|because|like) )i mean\b(?! it[.!]?$)",
    rf"{_EDGE}you know{_AFTER}", r",\s*you know\b",
    _ADVERB, r"\b(?:kinda|sorta)\b", r"\bi guess\b", r"\.{3}|…",
))  # fmt: skip
_POLITE = r"\b(?:please|thank(?:s| you)|would you mind|could you|may i|you'?re welcome|pardon)\b"
_SORRY = r"\b(?:sorry|apolog(?:y|ies|i[sz]e)|excuse me|my bad)\b"
_EMOJI = "[\U0001f300-\U0001faff\u2600-\u27bf]|[:;=]-?[)(DPpO]|<3|\\bxd\\b"
_LIST = r"^\s*(?:[-*•‣]|\d+[.)])\s+\S"
_BOLD = r"\*\*[^*\n]+\*\*|__[^_\n]+__|^\s*#{1,6}\s+\S|`[^`\n]+`|^\s*\|.+\|"
_GREETING = r"^\W*(?:hi|hey|hello|hiya|yo|good (?:morning|afternoon|evening|day)|greetings)\b"
_PARTING = r"\b(?:bye|goodbye|good night|see (?:you|ya)|take care|talk (?:to you )?(?:later|soon)|"
_PARTING += r"have a (?:good|great|nice)|ttyl|cheers|thank(?:s| you)(?: so much| a lot)?[.!]*$)"
_HEDGE = r"\b(?:maybe|perhaps|probably|i think|i believe|might|possibly|seems?)\b"

TRAITS = (
    BehaviourTrait("turns per dialogue", "length", "turns", lambda turns: float(len(turns))),
    BehaviourTrait("words per turn", "length", "words", _words_per_turn),
    _share("questions", "interaction", lambda text: "?" in text or "？" in text),
    _share("back-channels", "interaction", lambda text: bool(_BACKCHANNEL.fullmatch(text.strip()))),
    _share("hesitations", "interaction", _pattern(_HESITATION)),
    _share("hedges", "interaction", _pattern(_HEDGE)),
    _share("politeness", "politeness", _pattern(_POLITE)),
    _share("apologies", "politeness", _pattern(_SORRY)),
    _share("lists", "formatting", _pattern(_LIST)),
    _share("bold, headings, code", "formatting", _pattern(_BOLD)),
    _share("emoji and smileys", "formatting", _pattern(_EMOJI)),
    _share("exclamation marks", "formatting", lambda text: "!" in text),
    _share("lower-case start", "formatting", lambda text: text.strip()[:1].islower()),
    _share("no final punctuation", "formatting", lambda text: text.strip()[-1:].isalnum()),
    _at_edge("greeting at the start", _GREETING, last=False),
    _at_edge("leave-taking at the end", _PARTING, last=True),
    BehaviourTrait("repeated phrases", "repetition", "share of trigrams", repeated_trigrams),
    BehaviourTrait("repeated turns", "repetition", "share of turns", _repeated_turns),
    BehaviourTrait("different words", "repetition", "share of the first 50", _variety),
)
"""All traits; the word lists are English."""
