"""Words and punctuation of a raw text with their offsets."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Literal, NamedTuple

Shape = Literal["word", "code", "emoji", "punctuation"]
_Finder = Callable[[str], Iterator[re.Match]]


class Token(NamedTuple):
    """A piece of a text, from offset `start` to `end`.

    `shape` distinguishes words (and numbers) from code (URLs, paths, options, markers such as
    `<unk>`), emoji and punctuation: most strategies edit only words.
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
        """The word as lexicons spell it: lower case, and `don't` for `Don ’ t`."""
        return lexicon_form(self.text)


def lexicon_form(word: str) -> str:
    """A word as lexicons spell it: lower case, without spaces, with straight apostrophes.

    Examples:
        >>> lexicon_form("Don ’ t")
        "don't"
    """
    return word.lower().replace(" ", "").replace("’", "'")


def _marks() -> str:
    """Accents and vowel signs as ranges of a character class: `\\w` of Python leaves them out."""
    codes = (n for n in range(0x300, 0xFE00) if unicodedata.category(chr(n))[0] == "M")
    runs = groupby(enumerate(codes), key=lambda pair: pair[1] - pair[0])
    spans = ([n for _, n in run] for _, run in runs)
    return "".join(f"\\u{span[0]:04x}-\\u{span[-1]:04x}" for span in spans)


# Scripts without spaces: there each character counts as a word, as in `dialogues.tokens`.
_CJK = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_LETTERS = rf"[^\W_{_CJK}]+(?:[{_marks()}\u200c]+[^\W_{_CJK}]*)*"
_CLITIC = r"(?:[stdmSTDM]|[rRvV][eE]|[lL][lL]|clock)(?!\w)"


def _words(letters: str, apostrophe: str) -> str:
    """Numbers with marks in them, and words with their clitics: also `do n't`."""
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
    """`finditer` for text without code, and for any text."""
    plain = rf"(?P<word>{word})|(?P<emoji>{emoji})|(?P<punctuation>{_PUNCTUATION})"
    with_code = rf"(?P<code>{_CODE})|{plain}"
    return re.compile(plain).finditer, re.compile(with_code).finditer


_any_finders = _finders(
    rf"{_words(_LETTERS, chr(39) + '’')}|[{_CJK}]",
    rf"{_PICTURE}(?:\u200d{_PICTURE})*|{_EMOTICON}",
)
# Most utterances are ASCII and have nothing like code: together four times as fast.
_ascii_finders = _finders(_words("[a-zA-Z0-9]+", "'"), _EMOTICON)
_may_hold_code = re.compile(r"[/\\@_`>]|\(\)|www|\w\.[a-z0-9]|-[a-zA-Z]").search
_new = tuple.__new__  # half the time of `Token(...)`, and this is the inner loop of everything


def tokenize(text: str) -> list[Token]:
    """Words, code, emoji and punctuation marks of a text, in order.

    Examples:
        >>> [token.text for token in tokenize("Don ’ t edit /etc/fstab, it's mine :)")]
        ['Don ’ t', 'edit', '/etc/fstab', ',', "it's", 'mine', ':)']
    """
    finders = _ascii_finders if text.isascii() else _any_finders
    matches = finders[_may_hold_code(text) is not None](text)
    return [_new(Token, (m[0], m.start(), m.end(), m.lastgroup)) for m in matches]


def word_tokens(text: str) -> list[Token]:
    """The tokens that are words or numbers.

    Examples:
        >>> [token.word for token in word_tokens("See you at 10:30 , OK ?")]
        ['see', 'you', 'at', '10:30', 'ok']
    """
    return [token for token in tokenize(text) if token.shape == "word"]


def word_set(listed: str) -> frozenset[str]:
    """The words of a space-separated list.

    Examples:
        >>> sorted(word_set("do does"))
        ['do', 'does']
    """
    return frozenset(listed.split())
