"""Where a cue stands in a response, and responses that show it."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from dialeval.dialogues.tokens import TOKEN
from dialeval.dialogues.traits import CONTENT_TRAITS, FORMAT_TRAITS
from dialeval.metrics.cue_results import CueExample

EXAMPLES = 3
LONGEST = 400
"""Characters of an example."""
Span = tuple[int, int]
_LAST_WORD = re.compile(r"\S+\s*\Z")
_PATTERNS = {
    "upper-case letters": re.compile(r"[^\W\d_a-z]+(?:[^\w]*[^\W\d_a-z]+)*"),
    "capital at the start": re.compile(r"\A[\W\d_]*[^\W\d_]"),
    "space before punctuation": re.compile(r"\s+[,.!?;:…)\]]+"),
    "split contractions": re.compile(r"\w+\s+(?:n['’]t|['’](?:s|m|re|ve|ll|d|t))\b", re.I),
    "no final punctuation": _LAST_WORD,
    "unfinished sentence": _LAST_WORD,
    "maximal length": _LAST_WORD,
    "typography": re.compile("[‘’“”„–—…«»`´]+"),
    "HTML entities": re.compile(r"&[#\w]+;"),
    "marker inside": re.compile(r"<[^<>\s]+>|__\w+__"),
    "start marker": re.compile(r"\A\s*\S+"),
    "end marker": _LAST_WORD,
    "outer white space": re.compile(r"\A\s+|\s+\Z"),
    "inner white space": re.compile(r"\s{2,}|[\t\r\n\xa0]"),
    "foreign characters": re.compile(r"[^\x00-\x7f]+"),
    "Markdown": re.compile(
        r"\*\*[^*\n]+\*\*|__[^_\s][^_\n]*__|`[^`\n]+`|^#{1,6} |^\s*(?:[-*•]|\d+[.)]) (?=\S)|"
        r"\[[^\]\n]+\]\(\S+\)",
        re.M,
    ),
    "emoji": re.compile("[\U0001f300-\U0001faff\u2600-\u27bf]+"),
}
_TRAITS = {trait.name: trait for trait in (*FORMAT_TRAITS, *CONTENT_TRAITS)}


def lexical_spans(text: str, words: Sequence[str]) -> list[Span]:
    """Where consecutive tokens stand in a text, in any case.

    Examples:
        >>> lexical_spans("Well, I think I think", ["i", "think"])
        [(6, 13), (14, 21)]
    """
    matches = list(TOKEN.finditer(text))
    names = [match[0].lower() for match in matches]
    starts = (at for at in range(len(names)) if names[at : at + len(words)] == list(words))
    return _disjoint((matches[at].start(), matches[at + len(words) - 1].end()) for at in starts)


def trait_spans(text: str, trait: str) -> list[Span]:
    """Where a trait of the format shows in a text; empty for a trait of the whole text."""
    pattern = _PATTERNS.get(trait)
    return [match.span() for match in pattern.finditer(text)] if pattern else []


def trait_presence(texts: Sequence[str], name: str) -> np.ndarray | None:
    """Which responses have a trait; `None` for a trait that is not yes or no."""
    trait = _TRAITS.get(name)
    if trait is not None and trait.yes_no:
        return np.nan_to_num(np.array([trait(text) for text in texts], dtype=float)) > 0
    if trait is not None or name not in _PATTERNS:
        return None
    return np.array([bool(trait_spans(text, name)) for text in texts])


def marked(text: str, spans: Iterable[Span]) -> CueExample:
    """A response in parts, those with the cue apart.

    Examples:
        >>> marked("so , yes", [(2, 4)]).parts
        ('so', ' ,', ' yes')
    """
    text, parts, at = text[:LONGEST], [], 0
    for start, end in spans:
        if end <= len(text):
            parts += [text[at:start], text[start:end]]
            at = end
    return CueExample((*parts, text[at:]))


def lexical_examples(
    texts: Iterable[str], words: Sequence[str], keep: Callable[[Span, str], bool]
) -> tuple[CueExample, ...]:
    """Different responses that have a word or phrase, with it marked.

    Args:
        texts (`Iterable[str]`):
            Responses that have it, perhaps in another position.
        words (`Sequence[str]`):
            Its tokens.
        keep (`Callable`):
            Whether a span of a text counts, such as only the first one for an opener.

    Returns:
        `tuple[CueExample, ...]`: At most `EXAMPLES`.
    """
    return tuple(islice(_lexical(texts, words, keep), EXAMPLES))


def _lexical(
    texts: Iterable[str], words: Sequence[str], keep: Callable[[Span, str], bool]
) -> Iterator[CueExample]:
    for text in dict.fromkeys(texts):
        spans = [span for span in lexical_spans(text, words) if keep(span, text)]
        if spans:
            yield marked(text, spans)


def trait_examples(texts: Sequence[str], name: str, higher: bool) -> tuple[CueExample, ...]:
    """Typical responses of the side that a trait distinguishes, with it marked where it shows.

    Args:
        texts (`Sequence[str]`):
            Responses of that side.
        name (`str`):
            Name of the trait.
        higher (`bool`):
            Whether this side has more of it.

    Returns:
        `tuple[CueExample, ...]`: At most `EXAMPLES`.
    """
    unique, trait = list(dict.fromkeys(texts)), _TRAITS.get(name)
    if name == "repeated response":
        return tuple(CueExample((text,)) for text, _ in Counter(texts).most_common(EXAMPLES))
    if trait is None:  # markers and cut-off responses, which are learnt from the data
        examples = (marked(text, trait_spans(text, name)) for text in unique)
        having = sorted(examples, key=lambda example: len(example.parts) == 1)
        return tuple(having[:EXAMPLES])
    values = np.nan_to_num(np.array([trait(text) for text in unique], dtype=float))
    if trait.yes_no:
        order = np.flatnonzero(values == float(higher))
    else:  # those nearest to the mean are typical
        order = np.argsort(np.abs(values - values.mean()), kind="stable")
    spans = trait_spans if higher else lambda text, name: []
    return tuple(marked(unique[at], spans(unique[at], name)) for at in order[:EXAMPLES])


def _disjoint(spans: Iterable[Span]) -> list[Span]:
    """The spans that do not overlap an earlier one."""
    kept: list[Span] = []
    for span in spans:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept
