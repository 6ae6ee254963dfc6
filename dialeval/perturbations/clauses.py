"""A tagged utterance: neighbours, clause starts, and edits that span several words."""

import re
from dataclasses import dataclass
from functools import lru_cache

from dialeval.perturbations.base import Edit
from dialeval.perturbations.inflection import with_case_of
from dialeval.perturbations.tagging import Word, tag_text

_EDGE = Word("", 0, 0, "", ".")
_APOSTROPHE = re.compile(r"[a-zA-Z]( ?['’] ?)(?:s|t|re|ve|ll|d|m)\b")
_NOMINATIVE = frozenset(["i", "he", "she", "we", "they"])
_QUANTIFIERS = frozenset(["most", "many", "other", "more", "few"])
_SUBJECT_TAGS = ("PRP", "DT", "PRP$", "NNP", "EX", "NNS")


@dataclass(frozen=True)
class Line:
    """An utterance as tagged words; words outside of it count as full stops."""

    text: str
    words: tuple[Word, ...]

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, at: int) -> Word:
        return self.words[at] if 0 <= at < len(self.words) else _EDGE

    def past_adverbs(self, at: int) -> int:
        """Index of the next word after `at` that is not an adverb."""
        at += 1
        while self[at].tag in ("RB", "RBR") and self[at].form != "so":
            at += 1
        return at

    def opens(self, at: int) -> bool:
        """Whether a clause or a question starts here."""
        before = self[at - 1]
        starts = (".", ",", ":", "CC", "UH", "WRB", "WP", "WDT")
        return before.tag in starts or before.form in ("please", "so", "then")

    def is_inverted(self, at: int) -> bool:
        """Whether an auxiliary comes before its subject: `are you`, `what does the man`."""
        following = self[at + 1]
        if following.form in _QUANTIFIERS and self.opens(at):
            return True
        if following.tag not in _SUBJECT_TAGS or following.form in ("me", "him", "us", "them"):
            return False
        return following.form in _NOMINATIVE or self.opens(at) or self._asks(at)

    def _asks(self, at: int) -> bool:
        """Whether a wh-phrase comes before the auxiliary: `how much is it`, `what time do you`."""
        for index in range(at - 1, max(at - 6, -1), -1):
            if self[index].tag in ("WRB", "WP", "WDT"):
                return True
            if self[index].tag not in ("NN", "NNS", "JJ", "RB", "IN"):
                return False
        return False

    def indices_of(self, phrases: re.Pattern[str]) -> set[int]:
        """Indices of the words in phrases; the pattern has lower case and single spaces."""
        joined = "".join([f"{word.form} " for word in self.words])
        indices: set[int] = set()
        for match in phrases.finditer(joined):
            first = joined.count(" ", 0, match.start())  # a form has no blank in it
            indices |= set(range(first, first + len(match.group().split())))
        return indices

    def span(self, first: int, last: int, after: str) -> Edit:
        """An edit of the words from `first` to `last`.

        Args:
            first (`int`):
                Index of the first word.
            last (`int`):
                Index of the last word, inclusive.
            after (`str`):
                The new text.

        Returns:
            `Edit`: The replacement, spaces between the words included.
        """
        start = self[first].start
        return Edit(start, self.text[start : self[last].end], after)

    def replace(self, at: int, after: str) -> Edit:
        """An edit of one word, in its case."""
        return self.span(at, at, with_case_of(after, self[at].text))

    def drop(self, at: int) -> Edit:
        """An edit that removes a word and the space beside it."""
        if at == 0 and len(self) > 1:
            return self.span(0, 1, with_case_of(self[1].text, self[0].text))
        start = self[at - 1].end if at else 0
        return Edit(start, self.text[start : self[at].end], "")

    def in_style(self, edit: Edit) -> Edit:
        """The edit with apostrophes as the text writes them: `don ’ t` beside `I ’ m`."""
        style = _APOSTROPHE.search(self.text)
        if style is None or style[1] == "'" or "'" not in edit.after:
            return edit
        return edit._replace(after=re.sub(r"(?<=\w)'(?=\w)", style[1], edit.after))


@lru_cache(maxsize=1024)
def read_line(text: str, tagger: str = "auto") -> Line:
    """The utterance with its tags."""
    return Line(text, tag_text(text, tagger))
