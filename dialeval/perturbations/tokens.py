"""Words and punctuation of a raw text, each with its place, so that edits can name it."""

import re
import unicodedata
from itertools import groupby
from typing import Literal, NamedTuple

Shape = Literal["word", "code", "emoji", "punctuation"]


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
_WORD = (
    r"\d+(?:[.,:]\d+)+(?:st|nd|rd|th|am|pm)?"
    rf"|{_LETTERS}(?:['’-]{_LETTERS})*(?: ?['’] ?{_CLITIC}| n['’]t(?!\w))*"  # also `do n't`
    rf"|[{_CJK}]"
)
_PICTURE = (
    r"(?:[\U0001f1e6-\U0001f1ff]{2}"
    r"|[\u203c\u2049\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]"
    r"[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff]*)"
)
_EMOJI = (
    rf"{_PICTURE}(?:\u200d{_PICTURE})*"
    r"|(?<!\w)[:;=][-o^]?[()\[\]DPp/\\|*](?!\w)|(?<!\w)<3|\^_?\^"
)
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
_PLAIN = rf"(?P<word>{_WORD})|(?P<emoji>{_EMOJI})|(?P<punctuation>{_PUNCTUATION})"
_plain_tokens = re.compile(_PLAIN).finditer
_all_tokens = re.compile(rf"(?P<code>{_CODE})|{_PLAIN}").finditer
# Most utterances hold nothing like code; this quick look makes them three times as fast.
_may_hold_code = re.compile(r"[/\\@_`>]|\(\)|www|\w\.[a-z0-9]|-[a-zA-Z]").search
_new = tuple.__new__  # half the time of `Token(...)`, and this is the inner loop of everything


def tokens(text: str) -> list[Token]:
    """Words, code, emoji and punctuation marks of a text, in order.

    Example:
        >>> [token.text for token in tokens("Don ’ t edit /etc/fstab, it's mine :)")]
        ['Don ’ t', 'edit', '/etc/fstab', ',', "it's", 'mine', ':)']
    """
    found = _all_tokens(text) if _may_hold_code(text) else _plain_tokens(text)
    return [_new(Token, (m[0], *m.span(), m.lastgroup)) for m in found]


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
