"""Crossed lexical features: words and marks of the last turns times those of the response.

No single word shows that a response answers its context, but pairs of words do: a question mark
with "yes", "where" with "in", "you" with "i".
"""

import re
from dataclasses import dataclass
from functools import lru_cache

MAX_FUNCTION_WORDS = 12
"""Function words of a turn that are crossed, so that long turns do not dominate."""
MAX_OVERLAP = 3
FUNCTION_WORDS = frozenset(
    [
        "i",
        "you",
        "he",
        "she",
        "it",
        "we",
        "they",
        "me",
        "him",
        "her",
        "us",
        "them",
        "my",
        "your",
        "his",
        "its",
        "our",
        "their",
        "mine",
        "yours",
        "this",
        "that",
        "these",
        "those",
        "a",
        "an",
        "the",
        "and",
        "or",
        "but",
        "if",
        "so",
        "because",
        "as",
        "of",
        "in",
        "on",
        "at",
        "to",
        "for",
        "from",
        "with",
        "by",
        "about",
        "into",
        "over",
        "after",
        "before",
        "up",
        "down",
        "out",
        "off",
        "not",
        "no",
        "nor",
        "yes",
        "oh",
        "well",
        "ok",
        "okay",
        "please",
        "thanks",
        "thank",
        "sorry",
        "hello",
        "hi",
        "hey",
        "bye",
        "sure",
        "right",
        "really",
        "just",
        "very",
        "too",
        "also",
        "only",
        "then",
        "there",
        "here",
        "now",
        "when",
        "where",
        "why",
        "how",
        "what",
        "who",
        "which",
        "whose",
        "be",
        "am",
        "is",
        "are",
        "was",
        "were",
        "been",
        "being",
        "do",
        "does",
        "did",
        "doing",
        "done",
        "have",
        "has",
        "had",
        "having",
        "will",
        "would",
        "can",
        "could",
        "shall",
        "should",
        "may",
        "might",
        "must",
        "let",
        "don",
        "doesn",
        "didn",
        "isn",
        "aren",
        "wasn",
        "won",
        "couldn",
        "wouldn",
        "don't",
        "i'm",
        "it's",
        "that's",
        "you're",
        "let's",
        "what's",
        "i'll",
        "i've",
        "i'd",
        "can't",
        "didn't",
        "doesn't",
        "isn't",
    ]
)
_TOKEN = re.compile(r"\w+(?:['’]\w+)?")
_END = re.compile(r"([?!.…])[^\w]*$")
_SENTENCE = re.compile(r"(?<=[.?!])\s+")


@dataclass(frozen=True, slots=True)
class TurnWords:
    """What the features read of one turn.

    Args:
        first (`tuple[str, ...]`):
            Its first two words.
        last_sentence (`tuple[str, ...]`):
            The first two words of its last sentence, which is the one that is answered.
        function (`tuple[str, ...]`):
            Its first different function words.
        content (`frozenset[str]`):
            Its other words of three or more letters.
        end (`str`):
            Its end mark, or `"0"`.
        length (`str`):
            Its number of words, in steps of a factor of about 1.4.
    """

    first: tuple[str, ...]
    last_sentence: tuple[str, ...]
    function: tuple[str, ...]
    content: frozenset[str]
    end: str
    length: str


@lru_cache(maxsize=200_000)
def turn_words(text: str) -> TurnWords:
    """The words and marks of a turn.

    Examples:
        >>> turn = turn_words("Hi there. Where are you going?")
        >>> turn.first, turn.last_sentence, turn.end
        (('hi', 'there'), ('where', 'are'), '?')
    """
    words = words_of(text)
    function = dict.fromkeys(word for word in words if word in FUNCTION_WORDS)
    return TurnWords(
        first=tuple(words[:2]),
        last_sentence=tuple(words_of(last_sentence(text))[:2]),
        function=tuple(function)[:MAX_FUNCTION_WORDS],
        content=frozenset(w for w in words if w not in FUNCTION_WORDS and len(w) > 2),
        end=end_mark(text),
        length=str((len(words) + 1).bit_length() * 2 + _upper_half(len(words) + 1)),
    )


def crossed_features(context: tuple[str, ...], response: str) -> list[str]:
    """Names of the crossed features that a passage has.

    Args:
        context (`tuple[str, ...]`):
            Texts of the turns before the response; the last two are read.
        response (`str`):
            The response.

    Examples:
        >>> features = crossed_features(("Do you like tea?",), "Yes, I do.")
        >>> "end ?|yes" in features, "word you|i" in features, "marks ?|." in features
        (True, True, True)
    """
    reply = turn_words(response)
    last = turn_words(context[-1]) if context else turn_words("")
    opening = reply.first[0] if reply.first else ""
    two, question = " ".join(reply.first), " ".join(last.last_sentence)
    features = [
        f"end {last.end}|{opening}",
        f"end {last.end}|{two}",
        f"marks {last.end}|{reply.end}",
        f"marks-length {last.end}|{reply.length}",
        f"lengths {last.length}|{reply.length}",
        f"question {question}|{opening}",
        f"question {question}|{two}",
        f"question-word {' '.join(last.last_sentence[:1])}|{opening}",
        f"overlap {min(MAX_OVERLAP, len(last.content & reply.content))}",
        *(f"word {first}|{second}" for first in last.function for second in reply.function),
    ]
    if len(context) < 2:
        return [*features, "first-turn"]
    previous = turn_words(context[-2])
    return [
        *features,
        f"previous-end {previous.end}|{opening}",
        f"previous-overlap {min(MAX_OVERLAP, len(previous.content & reply.content))}",
        *(f"previous {first}|{second}" for first in previous.function for second in reply.function),
    ]


def words_of(text: str) -> list[str]:
    """The words of a text in small letters, contractions whole."""
    return [word.lower() for word in _TOKEN.findall(text.replace(" ' ", "'").replace("’", "'"))]


def end_mark(text: str) -> str:
    """The mark that a text ends with, or `"0"`."""
    match = _END.search(text)
    return match[1] if match else "0"


def last_sentence(text: str) -> str:
    """The last sentence of a text, or `""`."""
    sentences = [part for part in _SENTENCE.split(text) if part.strip()]
    return sentences[-1] if sentences else ""


def _upper_half(number: int) -> int:
    """1 if a number is in the upper half between two powers of two."""
    power = 1 << (number.bit_length() - 1)
    return int(number >= power * 1.5)
