"""Edits computed from two texts or from two edit logs."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from dialeval.perturbations.base import Edit, replay
from dialeval.perturbations.tokens import tokenize

_LONGEST = 2_000  # pieces; an exact comparison of more takes too long


def differences(before: str, after: str) -> list[Edit]:
    """The replacements of words that lead from one text to another.

    Examples:
        >>> differences("How old are you?", "How young are you?")
        [Edit(start=4, before='old', after='young')]
    """
    old_pieces, new_pieces = _pieces(before), _pieces(after)
    edits = [_trim_edit(*span) for span in _spans(before, after, old_pieces, new_pieces)]
    return [edit for edit in edits if edit.before != edit.after]


def _pieces(text: str) -> list[str]:
    """Tokens with the whitespace before them; joined, they are the text."""
    boundaries = [token.end for token in tokenize(text)]
    if not boundaries or boundaries[-1] < len(text):
        boundaries.append(len(text))
    return [text[start:end] for start, end in zip([0, *boundaries], boundaries, strict=False)]


def _spans(
    before: str, after: str, old_pieces: Sequence[str], new_pieces: Sequence[str]
) -> Iterator[tuple[int, str, str]]:
    """Offset in the first text, and the text of both sides, wherever they differ."""
    if max(len(old_pieces), len(new_pieces)) > _LONGEST:
        yield 0, before, after
        return
    old_offsets, new_offsets = _offsets(old_pieces), _offsets(new_pieces)
    matcher = SequenceMatcher(None, old_pieces, new_pieces, autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind != "equal":
            start, end = old_offsets[i], old_offsets[j]
            yield start, before[start:end], after[new_offsets[k] : new_offsets[m]]


def _offsets(pieces: Sequence[str]) -> list[int]:
    offsets = [0]
    for piece in pieces:
        offsets.append(offsets[-1] + len(piece))
    return offsets


def _trim_edit(start: int, before: str, after: str) -> Edit:
    """An edit without the whitespace that both sides start with."""
    if before.strip() and after.strip():
        while before[:1].isspace() and before[:1] == after[:1]:
            start, before, after = start + 1, before[1:], after[1:]
    return Edit(start, before, after)


def merge_logs(text: str, first: Sequence[Edit], then: Sequence[Edit]) -> list[Edit]:
    """One log for two: `first` edits the text, `then` edits the result.

    Args:
        text (`str`):
            The original text.
        first (`Sequence[Edit]`):
            Edits of the text.
        then (`Sequence[Edit]`):
            Edits of the text after `first`.

    Returns:
        `list[Edit]`: Edits of the original text with the same result.

    Examples:
        >>> merge_logs("a b c", [Edit(2, "b", "bb")], [Edit(5, "c", "d")])
        [Edit(start=2, before='b', after='bb'), Edit(start=4, before='c', after='d')]
    """
    middle, edits, shift = replay(text, first), [], 0
    for start, end, first_edits, later_edits in _groups(first, then):
        at = start - shift
        shift += sum(map(_growth, first_edits))
        moved = [edit._replace(start=edit.start - start) for edit in later_edits]
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
    for start, end, first_edits, later_edits in sorted(spans, key=lambda span: span[:2]):
        if groups and start <= groups[-1][1]:
            left, right, before, after = groups[-1]
            groups[-1] = (left, max(right, end), before + first_edits, after + later_edits)
        else:
            groups.append((start, end, first_edits, later_edits))
    return groups
