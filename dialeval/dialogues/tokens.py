"""Counting words without a model: what the papers' length filters mean by a token."""

import re
from functools import lru_cache

# A word with its apostrophes, a marker such as <unk>, a run of one punctuation mark, or one
# Chinese, Japanese or Korean character: scripts without spaces would otherwise count a whole
# sentence as one token.
TOKEN = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
    r"|<[^<>\s]+>"
    r"|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+(?:['’][^\W\d_]+)*"
    r"|\.+|!+|\?+|,+|-+|_+|\*+|[^\w\s]"
)


def tokens(text: str) -> list[str]:
    """Words and punctuation marks of a text.

    Examples:
        >>> tokens("Don't go , <unk>...")
        ["Don't", 'go', ',', '<unk>', '...']
    """
    return TOKEN.findall(text)


@lru_cache(maxsize=1 << 15)  # the cues of every system read the human responses and contexts again
def lower_tokens(text: str) -> tuple[str, ...]:
    """Words and punctuation marks of a text in small letters.

    Examples:
        >>> lower_tokens("Don't go")
        ("don't", 'go')
    """
    return tuple(TOKEN.findall(text.lower()))


@lru_cache(maxsize=1 << 15)  # every fold, seed and scenario of a run counts the same responses
def count_tokens(text: str) -> int:
    """Number of words and punctuation marks.

    Examples:
        >>> count_tokens("see you at noon!")
        5
    """
    return len(TOKEN.findall(text))
