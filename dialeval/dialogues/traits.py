"""Surface traits: what can be measured in a text without understanding it.

Most traits of format are defined by the step that removes them: a text has the trait when the step
would change it. So a text that [`Normaliser`] has levelled cannot have the trait any more.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dialeval.dialogues.contraction_steps import CONTRACTION, has_written_out
from dialeval.dialogues.format_steps import (
    APOSTROPHE,
    STOP,
    TAIL,
    collapse,
    drop_controls,
    drop_markers,
    join_contractions,
    repair,
    straighten,
    tighten,
    unescape,
)
from dialeval.dialogues.tokens import count_tokens

# What a text must have so that a trait can be measured in it.
_LETTER = re.compile(r"[^\W\d_]")
_POINTED = re.compile(r'[,.!?;:…()\[\]"]')
_CONTRACTED = re.compile(rf"{APOSTROPHE}\s*(?:s|m|re|ve|ll|d|t)\b|\bgon\s?na\b", re.I)
_TYPESET = re.compile(r"['\"-]|\.\.\.|[^\x00-\x7f]|`")

# Words that seldom end a sentence; "so do i" and "i'd love to" are sentences.
_UNFINISHED = re.compile(
    r"(?<!\S)(?:an?|the|and|or|but|nor|because|although|unless|than|my|your|our|their|its|every|"
    rf"of|into|i{APOSTROPHE}(?:m|ve|ll)|(?:you|we|they){APOSTROPHE}re|s?he{APOSTROPHE}s)$",
    re.I,
)


def upper_share(text: str) -> float:
    """Share of the letters that are in upper case.

    Examples:
        >>> upper_share("Oh no")
        0.25
    """
    if text == text.lower():
        return 0.0
    letters = sum(map(str.isalpha, text))
    return sum(char != char.lower() for char in text) / letters if letters else 0.0


def starts_upper(text: str) -> bool:
    """Whether the first letter is in upper case.

    Examples:
        >>> starts_upper('"Oh" no'), starts_upper("oh No")
        (True, False)
    """
    return next((char != char.lower() for char in text if char.isalpha()), False)


def has_final(text: str) -> bool:
    """Whether the text ends with sentence punctuation.

    Examples:
        >>> has_final('he said "no."'), has_final("and then")
        (True, False)
    """
    tail = TAIL.search(text)
    return bool(tail and STOP.search(tail[0]))


def is_unfinished(text: str) -> bool:
    """Whether the text breaks off after an English word that seldom ends a sentence.

    Examples:
        >>> is_unfinished("i went to the"), is_unfinished("i went home")
        (True, False)
    """
    return bool(_UNFINISHED.search(text))


def foreign_share(text: str) -> float:
    """Share of the characters that are not ASCII.

    Examples:
        >>> foreign_share("olé")
        0.3333333333333333
    """
    return 0.0 if text.isascii() else sum(char > "\x7f" for char in text) / len(text)


@dataclass(frozen=True)
class Trait:
    """Something that can be measured in a text without understanding it.

    Args:
        measures (`str`):
            What the number is; for a yes-or-no trait, the clause that is true.
        value (`Callable`):
            The number.
        of (`str`):
            What is measured, so that one flaw is not mistaken for another: the `"raw"` text, its
            `"core"` between start and end markers, that core with its encoding `"fixed"`, or the
            `"level"` text that the normaliser returns.
        yes_no (`bool`, *optional*, defaults to `True`):
            Whether the number is 0 or 1.
        hint (`str`, *optional*):
            How to remove it; traits of content have none.
        where (`Callable`, *optional*):
            Whether it can be measured in a text at all. A text without punctuation says nothing
            about the space before it, and how often people use punctuation is not format.
    """

    name: str
    measures: str
    value: Callable[[str], float]
    of: str = "fixed"
    yes_no: bool = True
    hint: str = ""
    where: Callable[[str], Any] = lambda text: True

    def __call__(self, text: str) -> float:
        """The number; `nan` where the trait cannot be measured."""
        return float(self.value(text)) if self.where(text) else float("nan")


def _changed_by(step: Callable[[str], str]) -> Callable[[str], bool]:
    return lambda text: step(text) != text


FORMAT_TRAITS = (
    Trait(
        "upper-case letters",
        "share of upper-case letters",
        upper_share,
        yes_no=False,
        hint="lower-case both sides",
        where=_LETTER.search,
    ),
    Trait(
        "capital at the start",
        "it starts with a capital letter",
        starts_upper,
        hint="lower-case both sides",
        where=_LETTER.search,
    ),
    Trait(
        "space before punctuation",
        "there is a space before punctuation",
        _changed_by(tighten),
        hint="write punctuation without a space before it on both sides",
        where=_POINTED.search,
    ),
    Trait(
        "split contractions",
        "a contraction is split as in do n't",
        _changed_by(join_contractions),
        hint="join contractions on both sides",
        where=_CONTRACTED.search,
    ),
    Trait(
        "written-out contractions",
        "a contraction is written out, as in do not",
        has_written_out,
        hint="write contractions together on both sides",
        where=lambda text: CONTRACTION.search(text) or has_written_out(text),
    ),
    Trait(
        "marker inside",
        "it contains a marker such as <unk> or __eou__",
        _changed_by(drop_markers),
        hint="remove markers from both sides",
    ),
    Trait(
        "no final punctuation",
        "it ends without . ! or ?",
        lambda text: not has_final(text),
        hint="remove final punctuation from both sides",
        where=bool,
    ),
    Trait(
        "unfinished sentence",
        "it breaks off after a word such as the",
        is_unfinished,
        hint="cut both sides to the same number of tokens",
    ),
    Trait(
        "typography",
        "it has curly or doubled quotes, long dashes, or compatibility characters",
        _changed_by(straighten),
        hint="straighten quotes and dashes on both sides",
        where=_TYPESET.search,
    ),
    Trait(
        "broken encoding",
        "it has UTF-8 read as another encoding, or replacement characters",
        _changed_by(repair),
        of="core",
        hint="decode the file as UTF-8",
    ),
    Trait(
        "HTML entities",
        "it has HTML entities such as &amp;",
        _changed_by(unescape),
        of="core",
        hint="unescape HTML on both sides",
    ),
    Trait(
        "control characters",
        "it has control or invisible characters",
        _changed_by(drop_controls),
        of="core",
        hint="remove control characters from both sides",
    ),
    Trait(
        "outer white space",
        "it starts or ends with white space",
        _changed_by(str.strip),
        of="raw",
        hint="strip both sides",
    ),
    Trait(
        "inner white space",
        "it has double spaces, line breaks, tabs or no-break spaces",
        _changed_by(collapse),
        of="core",
        hint="put one plain space between words on both sides",
    ),
)

CONTENT_TRAITS = (
    Trait("length in tokens", "tokens", count_tokens, of="level", yes_no=False),
    Trait("length in characters", "characters", len, of="level", yes_no=False),
    Trait("empty response", "it has no words", lambda text: not text, of="level"),
    Trait(
        "foreign characters",
        "share of accented letters, emoji and other scripts",
        foreign_share,
        of="level",
        yes_no=False,
    ),
)
