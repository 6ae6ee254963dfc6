"""Steps that level the format of a text: each returns the text with one kind of flaw removed."""

import html
import re
import unicodedata
from functools import cache
from itertools import islice
from typing import NamedTuple

from dialeval.dialogues.tokens import tokens

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

# Each byte as CP-1252 and Latin-1 display it.
_BYTES = {chr(n): n for n in range(0x80, 0x100)} | {
    bytes([n]).decode("cp1252"): n for n in range(0x80, 0xC0) if n not in b"\x81\x8d\x8f\x90\x9d"
}


def _character_class(first: int, last: int) -> str:
    return "[" + "".join(re.escape(c) for c, n in _BYTES.items() if first <= n <= last) + "]"


_NEXT = _character_class(0x80, 0xBF)  # the second and later bytes of a UTF-8 character
# One sequence is enough where its first letter hardly ever ends a word (Ã, Â, â, ï, ð); elsewhere
# two in a row are required, so that "café…”" is not taken for Chinese.
_MOJIBAKE = re.compile(
    rf"(?:[ÂÃ]{_NEXT})+|(?:[âï]{_NEXT}{{2}})+|(?:ð{_character_class(0x90, 0xBF)}{_NEXT}{{2}})+"
    rf"|(?:[Ä-ß]{_NEXT}){{2,}}|(?:[ã-é]{_NEXT}{{2}}){{2,}}"
)

APOSTROPHE = "['\u2019]"
_SPLIT_CONTRACTION = re.compile(
    rf"(?<=\w)\s+(?=n{APOSTROPHE}t\b|{APOSTROPHE}(?:s|m|re|ve|ll|d|t)\b)"  # do n't, i 'm
    r"|(?<=\b(?:gon|wan))\s+(?=na\b)|(?<=\bgot)\s+(?=ta\b)|(?<=\b(?:gim|lem))\s+(?=me\b)",
    re.I,
)
_LONE_APOSTROPHE = re.compile(  # don ' t
    rf"(?<=\w)\s*({APOSTROPHE})\s+(?=(?:s|m|re|ve|ll|d|t)\b)", re.I
)
_LOOSE = re.compile(r'(?<!\s)\s+(?=[,.!?;:…]+(?:[\s"]|$)|[)\]])|(?<=[(\[])\s+')
_QUOTED = re.compile(r'"\s*([^"]*?)\s*"')
STOP = re.compile("[.!?…\u3002\uff01\uff1f]")
TAIL = re.compile(r"(?<!\W)\W+\Z")  # after the last word: final punctuation, quotes, smileys


class Edges(NamedTuple):
    """A text without the markers around it, and the outermost of them."""

    start: str
    core: str
    end: str


def edges(text: str, markers: tuple[str, ...] = ()) -> Edges:
    """The markers at the two ends of a text, and the text between them.

    Args:
        text (`str`):
            Any text.
        markers (`tuple[str, ...]`, *optional*):
            Tokens to treat as markers besides those that look like one.

    Examples:
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
    """The text without start, end and other control tokens; given ones are cut at the ends only.

    Examples:
        >>> drop_markers("<s> hi __eou__ there </s>")
        'hi   there'
    """
    return _MARKERS.sub(" ", edges(text, markers).core)


def unescape(text: str) -> str:
    """The text with HTML entities replaced by their characters.

    Examples:
        >>> unescape("you &amp; me, a&b")
        'you & me, a&b'
    """
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text) if "&" in text else text


def repair(text: str) -> str:
    """The text with UTF-8 that was read as CP-1252 or Latin-1 decoded correctly.

    Examples:
        >>> repair("naÃ¯ve cafÃ©"), repair("café")
        ('naïve café', 'café')
    """
    if text.isascii():
        return text
    while (repaired := _MOJIBAKE.sub(_decode_match, text)) != text:
        text = repaired
    return text.replace("â€", '"').replace("\ufffd", "")  # CP-1252 loses a closing quote's end


def _decode_match(match: re.Match) -> str:
    return bytes(_BYTES[char] for char in match[0]).decode("utf-8", "ignore")


def drop_controls(text: str) -> str:
    """The text without control and invisible characters.

    Examples:
        >>> drop_controls("a\\u200bb\\x07")
        'ab'
    """
    return _CONTROL.sub("", text)


def fix_encoding(text: str) -> str:
    """The text without entities, broken UTF-8 and control characters.

    Examples:
        >>> fix_encoding("&lt;cafÃ©\\x07&gt;")
        '<café>'
    """
    return drop_controls(repair(unescape(text)))


def straighten(text: str) -> str:
    """The text with plain quotes and dashes, and characters in their usual form (NFKC).

    Examples:
        >>> straighten("\\u201ca\\u201d \\u2014 \\ufb01ne…")
        '"a" - fine...'
    """
    text = _DOUBLE_QUOTE.sub('"', text).translate(_STRAIGHT)
    if text.isascii():
        return text
    # White space keeps its form: it is a separate trait.
    return re.sub(r"\S+", lambda match: unicodedata.normalize("NFKC", match[0]), text)


def join_contractions(text: str) -> str:
    """The text with contractions in one piece.

    Examples:
        >>> join_contractions("i 'm sure you do n't , it ' s gon na rain")
        "i'm sure you don't , it's gonna rain"
    """
    return _SPLIT_CONTRACTION.sub("", _LONE_APOSTROPHE.sub(r"\1", text))


def tighten(text: str) -> str:
    """The text without spaces before punctuation and inside quotes and brackets.

    Examples:
        >>> tighten('hello , " you " ( there ) ? :)')
        'hello, "you" (there)? :)'
    """
    return _QUOTED.sub(r'"\1"', _LOOSE.sub("", text))


def collapse(text: str) -> str:
    """The text with one plain space between words.

    Examples:
        >>> collapse(" a  b\\u00a0c\\n")
        'a b c'
    """
    return " ".join(text.split())


def drop_final(text: str) -> str:
    """The text without the punctuation that ends its last sentence.

    Examples:
        >>> drop_final('he said "no!"'), drop_final("why ?!")
        ('he said "no"', 'why ')
    """
    return TAIL.sub(lambda match: STOP.sub("", match[0]), text)


def cut(text: str, max_tokens: int) -> str:
    """The text up to a number of words and punctuation marks.

    Examples:
        >>> cut("see you, then", 3)
        'see you,'
    """
    end = 0
    for token in islice(tokens(text), max_tokens):
        end = text.index(token, end) + len(token)
    return text[:end]
