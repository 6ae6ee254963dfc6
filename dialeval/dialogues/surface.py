"""How a text looks, whatever it says: its surface traits, and the normaliser that levels them.

Most traits of format are defined by their remedy: a text has the trait when the remedy would
change it. So what [`Normaliser`] has gone over cannot have the trait any more.
"""

import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from dialeval.dialogues.sources import BadInput
from dialeval.dialogues.storage import Passages, iterate, to_passages
from dialeval.dialogues.tokens import count_tokens, tokens
from dialeval.dialogues.types import Passage

_NAMES = (
    "go|s|bos|sos|eos|eou|eot|eod|eoc|soc|pad|unk|oov|sep|cls|mask|start|end|stop|inst|sys|"
    "system|user|usr|bot|assistant|human|url|num|number|name|person|deleted|removed"
)
_MARKER = (
    r"<\|[^<>|\s]{1,40}\|>"  # <|endoftext|>
    r"|<{1,2}/?[a-z][\w-]{0,30}\s?/?>{1,2}"  # <s> </s> <unk> <br /> <<sys>>
    rf"|\[/?(?:{_NAMES})\]"  # [SEP] [/INST]
    r"|(?<!\w)__[a-z]+(?:_[a-z]+)*__(?!\w)"  # __eou__
    rf"|(?<!\w)_(?:{_NAMES})_?(?!\w)"  # _go _eos
)
_MARKERS = re.compile(_MARKER, re.I)
_MAY_BE_MARKED = re.compile(r"[<\[_]")

# Written as escapes, because in most fonts they look like the plain ones.
_STRAIGHT = str.maketrans(
    dict.fromkeys("`\u00b4\u02bc\u2018\u2019\u201a\u201b\u2032\u2039\u203a", "'")
    | dict.fromkeys("\u00ab\u00bb\u201c\u201d\u201e\u201f\u2033", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | {"\u2026": "..."}
)
_DOUBLE_QUOTE = re.compile("``|''|\u2018\u2018|\u2019\u2019")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]\w{1,31});", re.I)
# White space is not among them, nor are the joiners that Persian words and emoji need.
_CONTROL = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]"
)

# Each byte as CP-1252 and as Latin-1 show it.
_BYTES = {chr(n): n for n in range(0x80, 0x100)} | {
    bytes([n]).decode("cp1252"): n for n in range(0x80, 0xC0) if n not in b"\x81\x8d\x8f\x90\x9d"
}


def _shown(first: int, last: int) -> str:
    return "[" + "".join(re.escape(c) for c, n in _BYTES.items() if first <= n <= last) + "]"


_NEXT = _shown(0x80, 0xBF)  # the second and later bytes of a UTF-8 character
# One sequence is proof where its first letter hardly ends a word (Ã, Â, â, ï, ð); elsewhere two
# in a row are asked for, lest "café…”" be taken for Chinese.
_MOJIBAKE = re.compile(
    rf"(?:[ÂÃ]{_NEXT})+|(?:[âï]{_NEXT}{{2}})+|(?:ð{_shown(0x90, 0xBF)}{_NEXT}{{2}})+"
    rf"|(?:[Ä-ß]{_NEXT}){{2,}}|(?:[ã-é]{_NEXT}{{2}}){{2,}}"
)

_APOSTROPHE = "['\u2019]"
_SPLIT_CONTRACTION = re.compile(
    rf"(?<=\w)\s+(?=n{_APOSTROPHE}t\b|{_APOSTROPHE}(?:s|m|re|ve|ll|d|t)\b)"  # do n't, i 'm
    r"|(?<=\b(?:gon|wan))\s+(?=na\b)|(?<=\bgot)\s+(?=ta\b)|(?<=\b(?:gim|lem))\s+(?=me\b)",
    re.I,
)
_LONE_APOSTROPHE = re.compile(  # don ' t
    rf"(?<=\w)\s*({_APOSTROPHE})\s+(?=(?:s|m|re|ve|ll|d|t)\b)", re.I
)
_LOOSE = re.compile(r'(?<!\s)\s+(?=[,.!?;:…]+(?:[\s"]|$)|[)\]])|(?<=[(\[])\s+')
_QUOTED = re.compile(r'"\s*([^"]*?)\s*"')
_STOP = re.compile("[.!?…\u3002\uff01\uff1f]")
_TAIL = re.compile(r"(?<!\W)\W+\Z")  # after the last word: final punctuation, quotes, smileys

# Where a trait can be seen, whichever way it is.
_LETTER = re.compile(r"[^\W\d_]")
_POINTED = re.compile(r'[,.!?;:…()\[\]"]')
_CONTRACTED = re.compile(rf"{_APOSTROPHE}\s*(?:s|m|re|ve|ll|d|t)\b|\bgon\s?na\b", re.I)
_TYPESET = re.compile(r"['\"-]|\.\.\.|[^\x00-\x7f]|`")

# Words that seldom end a sentence; "so do i" and "i'd love to" are sentences.
_UNFINISHED = re.compile(
    r"(?<!\S)(?:an?|the|and|or|but|nor|because|although|unless|than|my|your|our|their|its|every|"
    rf"of|into|i{_APOSTROPHE}(?:m|ve|ll)|(?:you|we|they){_APOSTROPHE}re|s?he{_APOSTROPHE}s)$",
    re.I,
)


class Edges(NamedTuple):
    """A text without the markers around it, and the outermost of them."""

    start: str
    core: str
    end: str


def edges(text: str, markers: tuple[str, ...] = ()) -> Edges:
    """The markers at the two ends of a text, and what stands between.

    Args:
        markers (`tuple[str, ...]`, *optional*):
            Tokens to take for markers besides those that look like one.

    Example:
        >>> edges("_go some what ? _eos")
        Edges(start='_go', core='some what ?', end='_eos')
        >>> edges("hi STOP", markers=("STOP",)).end
        'STOP'
    """
    text = text.strip()
    if not markers and not _MAY_BE_MARKED.search(text):
        return Edges("", text, "")
    first, last, at_start, at_end = _edge_patterns(markers)
    start, end = first.match(text), last.search(text)
    core = at_end.sub("", at_start.sub("", text)).strip()
    return Edges(start[0] if start else "", core, end[0] if end else "")


@cache
def _edge_patterns(markers: tuple[str, ...]) -> tuple[re.Pattern, ...]:
    given = "".join(rf"|(?<!\S)(?-i:{re.escape(marker)})(?!\S)" for marker in markers)
    one = f"(?:{_MARKER}{given})"
    patterns = (one, rf"{one}\Z", rf"\A(?:{one}\s*)+", rf"(?<!\s)(?:\s*{one})+\Z")
    return tuple(re.compile(pattern, re.I) for pattern in patterns)


def drop_markers(text: str, markers: tuple[str, ...] = ()) -> str:
    """The text without start, end and other control tokens; given ones go at the ends only.

    Example:
        >>> drop_markers("<s> hi __eou__ there </s>")
        'hi   there'
    """
    return _MARKERS.sub(" ", edges(text, markers).core)


def unescape(text: str) -> str:
    """The text with HTML entities replaced by what they stand for.

    Example:
        >>> unescape("you &amp; me, a&b")
        'you & me, a&b'
    """
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text) if "&" in text else text


def repair(text: str) -> str:
    """The text with UTF-8 that was read as CP-1252 or Latin-1 read again.

    Example:
        >>> repair("naÃ¯ve cafÃ©"), repair("café")
        ('naïve café', 'café')
    """
    if text.isascii():
        return text
    while (repaired := _MOJIBAKE.sub(_decoded, text)) != text:
        text = repaired
    return text.replace("â€", '"').replace("\ufffd", "")  # CP-1252 loses a closing quote's end


def _decoded(match: re.Match) -> str:
    return bytes(_BYTES[char] for char in match[0]).decode("utf-8", "ignore")


def drop_controls(text: str) -> str:
    """The text without control and invisible characters.

    Example:
        >>> drop_controls("a\\u200bb\\x07")
        'ab'
    """
    return _CONTROL.sub("", text)


def mend_encoding(text: str) -> str:
    """The text without entities, broken UTF-8 and control characters.

    Example:
        >>> mend_encoding("&lt;cafÃ©\\x07&gt;")
        '<café>'
    """
    return drop_controls(repair(unescape(text)))


def straighten(text: str) -> str:
    """The text with plain quotes and dashes, and characters in their usual form (NFKC).

    Example:
        >>> straighten("\\u201ca\\u201d \\u2014 \\ufb01ne…")
        '"a" - fine...'
    """
    text = _DOUBLE_QUOTE.sub('"', text).translate(_STRAIGHT)
    if text.isascii():
        return text
    # White space keeps its form: it is a trait of its own.
    return re.sub(r"\S+", lambda match: unicodedata.normalize("NFKC", match[0]), text)


def join_contractions(text: str) -> str:
    """The text with contractions in one piece.

    Example:
        >>> join_contractions("i 'm sure you do n't , it ' s gon na rain")
        "i'm sure you don't , it's gonna rain"
    """
    return _SPLIT_CONTRACTION.sub("", _LONE_APOSTROPHE.sub(r"\1", text))


def tighten(text: str) -> str:
    """The text without spaces before punctuation and inside quotes and brackets.

    Example:
        >>> tighten('hello , " you " ( there ) ? :)')
        'hello, "you" (there)? :)'
    """
    return _QUOTED.sub(r'"\1"', _LOOSE.sub("", text))


def collapse(text: str) -> str:
    """The text with one plain space between words.

    Example:
        >>> collapse(" a  b\\u00a0c\\n")
        'a b c'
    """
    return " ".join(text.split())


def drop_final(text: str) -> str:
    """The text without the punctuation that ends its last sentence.

    Example:
        >>> drop_final('he said "no!"'), drop_final("why ?!")
        ('he said "no"', 'why ')
    """
    return _TAIL.sub(lambda match: _STOP.sub("", match[0]), text)


def cut(text: str, max_tokens: int) -> str:
    """The text up to a number of words and punctuation marks.

    Example:
        >>> cut("see you, then", 3)
        'see you,'
    """
    end = 0
    for token in islice(tokens(text), max_tokens):
        end = text.index(token, end) + len(token)
    return text[:end]


@dataclass(frozen=True)
class Normaliser:
    """Levels the format of a text; `repr` is the signature, and twice is the same as once.

    Args:
        markers (`tuple[str, ...]`, *optional*):
            Tokens that `strip_markers` takes from the ends, besides those that look like markers.
        mend_encoding (`bool`, *optional*, defaults to `True`):
            HTML entities, UTF-8 read as CP-1252, replacement and control characters.
        straighten (`bool`, *optional*, defaults to `True`):
            Plain quotes and dashes, NFKC.
        max_tokens (`int`, *optional*):
            Cut to so many words and punctuation marks: the remedy where one side was cut off.

    Example:
        >>> Normaliser()("_go I do n't know , donâ€™t ask ! _eos")
        "i don't know, don't ask"
        >>> Normaliser(max_tokens=3)("I do n't know , do you ?")
        "i don't know"
    """

    lower: bool = True
    strip_markers: bool = True
    markers: tuple[str, ...] = ()
    mend_encoding: bool = True
    straighten: bool = True
    join_contractions: bool = True
    tighten: bool = True
    collapse: bool = True
    drop_final: bool = True
    max_tokens: int | None = None

    def __post_init__(self):
        if self.max_tokens is not None and self.max_tokens < 1:
            raise BadInput(
                f"Responses are cut to at least 1 token, but got {self.max_tokens}.",
                remedy="Leave `max_tokens` out to keep them whole.",
            )

    def __call__(self, text: str) -> str:
        # One step can make work for another ("&lt;s&gt;" is a marker), hence until nothing changes.
        while (changed := self._once(text)) != text:
            text = changed
        return text

    def _once(self, text: str) -> str:
        for step in self._steps():
            text = step(text)
        return text

    def _steps(self) -> Iterator[Callable[[str], str]]:
        if self.mend_encoding:
            yield mend_encoding
        if self.strip_markers:
            yield lambda text: drop_markers(text, self.markers)
        if self.straighten:
            yield straighten
        if self.join_contractions:
            yield join_contractions
        if self.tighten:
            yield tighten
        if self.collapse:
            yield collapse
        if self.lower:
            yield str.lower
        if self.drop_final:
            yield drop_final
        if self.max_tokens:
            yield lambda text: cut(text, self.max_tokens)


def normalise(text: str) -> str:
    """The text with its format levelled by [`Normaliser`] as it comes.

    Example:
        >>> normalise("Hello , you ?") == normalise("hello, you")
        True
    """
    return Normaliser()(text)


def normalise_passages(passages: Passages, normaliser: Normaliser | None = None) -> Passages:
    """Passages with every text levelled; only responses are cut to `max_tokens`."""
    normaliser = normaliser or Normaliser()
    uncut = replace(normaliser, max_tokens=None)
    return to_passages(_normalised(passage, normaliser, uncut) for passage in iterate(passages))


def _normalised(passage: Passage, normaliser: Normaliser, uncut: Normaliser) -> Passage:
    response = normaliser(passage.response)
    told = {"empty": not response, "no_context": not passage.context}  # so that it reads back
    return replace(
        passage.with_context(uncut(turn.text) for turn in passage.context),
        response=response,
        extra={**passage.extra, **{name: True for name, is_so in told.items() if is_so}},
        following=None if passage.following is None else uncut(passage.following),
    )


def upper_share(text: str) -> float:
    """Share of the letters that are in upper case.

    Example:
        >>> upper_share("Oh no")
        0.25
    """
    if text == text.lower():
        return 0.0
    letters = sum(map(str.isalpha, text))
    return sum(char != char.lower() for char in text) / letters if letters else 0.0


def starts_upper(text: str) -> bool:
    """Whether the first letter is in upper case.

    Example:
        >>> starts_upper('"Oh" no'), starts_upper("oh No")
        (True, False)
    """
    return next((char != char.lower() for char in text if char.isalpha()), False)


def has_final(text: str) -> bool:
    """Whether the text ends as sentences do.

    Example:
        >>> has_final('he said "no."'), has_final("and then")
        (True, False)
    """
    tail = _TAIL.search(text)
    return bool(tail and _STOP.search(tail[0]))


def is_unfinished(text: str) -> bool:
    """Whether the text breaks off after an English word that seldom ends a sentence.

    Example:
        >>> is_unfinished("i went to the"), is_unfinished("i went home")
        (True, False)
    """
    return bool(_UNFINISHED.search(text))


def foreign_share(text: str) -> float:
    """Share of the characters that are not ASCII.

    Example:
        >>> foreign_share("olé")
        0.3333333333333333
    """
    return 0.0 if text.isascii() else sum(char > "\x7f" for char in text) / len(text)


@dataclass(frozen=True)
class Trait:
    """Something that can be measured in a text without understanding it.

    Args:
        measures (`str`):
            What the number is; for a yes-or-no trait, the clause that holds.
        value (`Callable`):
            The number.
        of (`str`):
            What is measured, so that one flaw does not pass for another: the `"raw"` text, its
            `"core"` between start and end markers, that core with its encoding `"mended"`, or the
            `"level"` text that the normaliser leaves.
        remedy (`str`, *optional*):
            What levels it; traits of content have none.
        where (`Callable`, *optional*):
            Whether it can be seen in a text at all. A text without punctuation says nothing
            about the space before it, and how often people use punctuation is no format.
    """

    name: str
    measures: str
    value: Callable[[str], float]
    of: str = "mended"
    yes_no: bool = True
    remedy: str = ""
    where: Callable[[str], Any] = lambda text: True

    def __call__(self, text: str) -> float:
        """The number; `nan` where the trait cannot be seen."""
        return float(self.value(text)) if self.where(text) else float("nan")


def _changed_by(step: Callable[[str], str]) -> Callable[[str], bool]:
    return lambda text: step(text) != text


FORMAT_TRAITS = (
    Trait(
        "upper-case letters",
        "share of upper-case letters",
        upper_share,
        yes_no=False,
        remedy="lower-case both sides",
        where=_LETTER.search,
    ),
    Trait(
        "capital at the start",
        "it starts with a capital letter",
        starts_upper,
        remedy="lower-case both sides",
        where=_LETTER.search,
    ),
    Trait(
        "space before punctuation",
        "a space stands before punctuation",
        _changed_by(tighten),
        remedy="write punctuation without a space before it on both sides",
        where=_POINTED.search,
    ),
    Trait(
        "split contractions",
        "a contraction is split as in do n't",
        _changed_by(join_contractions),
        remedy="join contractions on both sides",
        where=_CONTRACTED.search,
    ),
    Trait(
        "marker inside",
        "a marker such as <unk> or __eou__ stands inside",
        _changed_by(drop_markers),
        remedy="remove markers from both sides",
    ),
    Trait(
        "no final punctuation",
        "it ends without . ! or ?",
        lambda text: not has_final(text),
        remedy="remove final punctuation from both sides",
        where=bool,
    ),
    Trait(
        "unfinished sentence",
        "it breaks off after a word such as the",
        is_unfinished,
        remedy="cut both sides to the same number of tokens",
    ),
    Trait(
        "typography",
        "it has curly or doubled quotes, long dashes, or compatibility characters",
        _changed_by(straighten),
        remedy="straighten quotes and dashes on both sides",
        where=_TYPESET.search,
    ),
    Trait(
        "broken encoding",
        "it has UTF-8 read as another encoding, or replacement characters",
        _changed_by(repair),
        of="core",
        remedy="decode the file as UTF-8",
    ),
    Trait(
        "HTML entities",
        "it has HTML entities such as &amp;",
        _changed_by(unescape),
        of="core",
        remedy="unescape HTML on both sides",
    ),
    Trait(
        "control characters",
        "it has control or invisible characters",
        _changed_by(drop_controls),
        of="core",
        remedy="remove control characters from both sides",
    ),
    Trait(
        "outer white space",
        "white space stands at an end",
        _changed_by(str.strip),
        of="raw",
        remedy="strip both sides",
    ),
    Trait(
        "inner white space",
        "it has double spaces, line breaks, tabs or no-break spaces",
        _changed_by(collapse),
        of="core",
        remedy="put one plain space between words on both sides",
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
