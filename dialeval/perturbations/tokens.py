"""Words and punctuation of a raw text, each with its place, so that edits can name it."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Literal, NamedTuple

Shape = Literal["word", "code", "emoji", "punctuation"]
_Finder = Callable[[str], Iterator[re.Match]]


class Token(NamedTuple):
    """A piece of a text: `text` stands from `start` to `end`.

    `shape` tells words (numbers too) from code (URLs, paths, options, markers such as `<unk>`),
    emoji and punctuation: most strategies leave all but words alone.
    """

    text: str
    start: int
    end: int
    shape: Shape = "word"

    @property
    def is_word(self) -> bool:
        """Whether it is a word or a number."""
        return self.shape == "word"

    @property
    def word(self) -> str:
        """The word as a lexicon spells it: small letters, and `don't` for `Don ’ t`."""
        return spelt(self.text)


def spelt(word: str) -> str:
    """A word as a lexicon spells it.

    Example:
        >>> spelt("Don ’ t")
        "don't"
    """
    return word.lower().replace(" ", "").replace("’", "'")


def _marks() -> str:
    """Accents and vowel signs as ranges of a character class: `\\w` of Python leaves them out."""
    found = (n for n in range(0x300, 0xFE00) if unicodedata.category(chr(n))[0] == "M")
    runs = groupby(enumerate(found), key=lambda pair: pair[1] - pair[0])
    spans = ([n for _, n in run] for _, run in runs)
    return "".join(f"\\u{span[0]:04x}-\\u{span[-1]:04x}" for span in spans)


# Scripts without spaces: there each character counts as a word, as in `dialogues.tokens`.
_CJK = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_LETTERS = rf"[^\W_{_CJK}]+(?:[{_marks()}\u200c]+[^\W_{_CJK}]*)*"
_CLITIC = r"(?:[stdmSTDM]|[rRvV][eE]|[lL][lL]|clock)(?!\w)"


def _words(letters: str, apostrophe: str) -> str:
    """Numbers with marks in them, and words with what clings to them: also `do n't`."""
    return (
        r"\d+(?:[.,:]\d+)+(?:st|nd|rd|th|am|pm)?"
        rf"|{letters}(?:[{apostrophe}-]{letters})*"
        rf"(?: ?[{apostrophe}] ?{_CLITIC}| n[{apostrophe}]t(?!\w))*"
    )


_PICTURE = (
    r"(?:[\U0001f1e6-\U0001f1ff]{2}"
    r"|[\u203c\u2049\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]"
    r"[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff]*)"
)
_EMOTICON = r"(?<!\w)[:;=][-o^]?[()\[\]DPp/\\|*](?!\w)|(?<!\w)<3|\^_?\^"
_PUNCTUATION = r"\.+|!+|\?+|,+|-+|_+|\*+|=+|[^\w\s]|\w"
# Lengths are bounded and starts anchored, so that hostile text costs linear time.
_CODE = (
    r"(?:https?://|ftp://|www\.)[^\s<>\"]*[^\s<>\".,;:!?'’)\]}]"
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+"
    r"|`[^`\n]{1,500}`|<[^<>\s]{1,100}>"
    r"|(?<![\w/.~])(?:~|\.{1,2})?/[\w.+~/-]{0,500}\w/?"
    r"|(?<![\w-])--?[a-zA-Z][\w-]{0,64}(?:=[\w./-]{1,64})?"
    r"|(?<!\w)(?=[^\W_]*_)\w*[^\W_]\w*(?:\(\))?|(?<!\w)[^\W_]+\(\)"
    r"|(?<![\w+-])[^\W\d_][\w+-]{0,64}(?:\.[a-z0-9][\w+-]{0,64})+"  # `xorg.conf`, not `Yes.Why`
    r"|(?<!\w)[a-zA-Z]:\\[\w\\.-]+"
)


def _finders(word: str, emoji: str) -> tuple[_Finder, _Finder]:
    """What finds the tokens of text without code, and of any text."""
    plain = rf"(?P<word>{word})|(?P<emoji>{emoji})|(?P<punctuation>{_PUNCTUATION})"
    patterns = plain, rf"(?P<code>{_CODE})|{plain}"
    return tuple(re.compile(pattern).finditer for pattern in patterns)


_any_finders = _finders(
    rf"{_words(_LETTERS, chr(39) + '’')}|[{_CJK}]",
    rf"{_PICTURE}(?:\u200d{_PICTURE})*|{_EMOTICON}",
)
# Most utterances are ASCII, and most hold nothing like code: together four times as fast.
_ascii_finders = _finders(_words("[a-zA-Z0-9]+", "'"), _EMOTICON)
_may_hold_code = re.compile(r"[/\\@_`>]|\(\)|www|\w\.[a-z0-9]|-[a-zA-Z]").search
_new = tuple.__new__  # half the time of `Token(...)`, and this is the inner loop of everything


def tokens(text: str) -> list[Token]:
    """Words, code, emoji and punctuation marks of a text, in order.

    Example:
        >>> [token.text for token in tokens("Don ’ t edit /etc/fstab, it's mine :)")]
        ['Don ’ t', 'edit', '/etc/fstab', ',', "it's", 'mine', ':)']
    """
    finders = _ascii_finders if text.isascii() else _any_finders
    found = finders[_may_hold_code(text) is not None](text)
    return [_new(Token, (m[0], m.start(), m.end(), m.lastgroup)) for m in found]


def words(text: str) -> list[Token]:
    """The words and numbers alone.

    Example:
        >>> [token.word for token in words("See you at 10:30 , OK ?")]
        ['see', 'you', 'at', '10:30', 'ok']
    """
    return [token for token in tokens(text) if token.shape == "word"]


def word_set(listed: str) -> frozenset[str]:
    """The words of a list with blanks between them.

    Example:
        >>> sorted(word_set("do does"))
        ['do', 'does']
    """
    return frozenset(listed.split())
