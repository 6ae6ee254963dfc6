"""Edits from texts and from other edits: what changed between two texts, and two logs as one."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from dialeval.perturbations.base import Edit, replay
from dialeval.perturbations.tokens import tokens

_LONGEST = 2_000  # pieces; beyond them an exact comparison takes too long


def differences(before: str, after: str) -> list[Edit]:
    """The replacements of words that lead from one text to another.

    Example:
        >>> differences("How old are you?", "How young are you?")
        [Edit(start=4, before='old', after='young')]
    """
    ours, theirs = _pieces(before), _pieces(after)
    edits = [_trimmed(*each) for each in _spans(before, after, ours, theirs)]
    return [edit for edit in edits if edit.before != edit.after]


def _pieces(text: str) -> list[str]:
    """Tokens with the blanks before them, which together are the text."""
    ends = [token.end for token in tokens(text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _spans(
    before: str, after: str, ours: Sequence[str], theirs: Sequence[str]
) -> Iterator[tuple[int, str, str]]:
    """Place in the first text, and what stands there in both, wherever they differ."""
    if max(len(ours), len(theirs)) > _LONGEST:
        yield 0, before, after
        return
    here, there = _places(ours), _places(theirs)
    for kind, i, j, k, m in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if kind != "equal":
            yield here[i], before[here[i] : here[j]], after[there[k] : there[m]]


def _places(pieces: Sequence[str]) -> list[int]:
    places = [0]
    for piece in pieces:
        places.append(places[-1] + len(piece))
    return places


def _trimmed(start: int, before: str, after: str) -> Edit:
    """An edit without the blanks that both sides begin with."""
    if before.strip() and after.strip():
        while before[:1].isspace() and before[:1] == after[:1]:
            start, before, after = start + 1, before[1:], after[1:]
    return Edit(start, before, after)


def chained(text: str, first: Sequence[Edit], then: Sequence[Edit]) -> list[Edit]:
    """One log for two in a row: `first` edits the text, `then` what comes of it.

    Example:
        >>> chained("a b c", [Edit(2, "b", "bb")], [Edit(5, "c", "d")])
        [Edit(start=2, before='b', after='bb'), Edit(start=4, before='c', after='d')]
    """
    middle, edits, shift = replay(text, first), [], 0
    for start, end, ours, theirs in _groups(first, then):
        at = start - shift
        shift += sum(map(_growth, ours))
        moved = [edit._replace(start=edit.start - start) for edit in theirs]
        edits.append(Edit(at, text[at : end - shift], replay(middle[start:end], moved)))
    return [edit for edit in edits if edit.before != edit.after]


def _growth(edit: Edit) -> int:
    return len(edit.after) - len(edit.before)


_Group = tuple[int, int, list[Edit], list[Edit]]


def _groups(first: Sequence[Edit], then: Sequence[Edit]) -> list[_Group]:
    """Stretches of the middle text where edits of the two logs touch, with those edits."""
    spans: list[_Group] = [(e.start, e.start + len(e.before), [], [e]) for e in then]
    shift = 0
    for edit in first:
        start = edit.start + shift
        spans.append((start, start + len(edit.after), [edit], []))
        shift += _growth(edit)
    groups: list[_Group] = []
    for start, end, ours, theirs in sorted(spans, key=lambda span: span[:2]):
        if groups and start <= groups[-1][1]:
            left, right, before, after = groups[-1]
            groups[-1] = (left, max(right, end), before + ours, after + theirs)
        else:
            groups.append((start, end, ours, theirs))
    return groups
