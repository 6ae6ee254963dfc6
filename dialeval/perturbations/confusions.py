"""Confusion tables: what people write by mistake, by the correct text."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.storage import atomic_write
from dialeval.perturbations.differences import differences
from dialeval.perturbations.forms import same_word

Confusions = Mapping[str, Mapping[str, int]]
"""Counts of wrong words or phrases, by the right one: `{"cakes": {"cake": 3}}`."""

LONGEST = 4
"""Words that either side of a confusion has at most; longer edits are rewriting, not errors."""


def confusions(pairs: Iterable[tuple[str, str]]) -> Confusions:
    """A table from sentences before and after they were corrected.

    Examples:
        >>> confusions([("He don't like cake .", "He doesn't like cakes .")])
        {"doesn't": {"don't": 1}, 'cakes': {'cake': 1}}
    """
    counts: dict[str, Counter[str]] = {}
    for wrong, right in pairs:
        for edit in differences(right, wrong):  # from the right to the wrong
            for one, other in _word_by_word(edit.before, edit.after):
                if _is_confusion(one, other):
                    counts.setdefault(one, Counter())[other] += 1
    return {right: dict(wrong_counts) for right, wrong_counts in counts.items()}


def _word_by_word(right: str, wrong: str) -> Iterator[tuple[str, str]]:
    """Two phrases of equal length word by word, others unchanged."""
    one, other = right.split(), wrong.split()
    if len(one) != len(other) or len(one) > LONGEST:
        yield right, wrong
        return
    yield from (pair for pair in zip(one, other, strict=True) if pair[0] != pair[1])


def _is_confusion(right: str, wrong: str) -> bool:
    """Whether an edit replaces some words by others: insertions and deletions do not count."""
    sizes = len(right.split()), len(wrong.split())
    words = re.search(r"\w", right) and re.search(r"\w", wrong)
    return bool(words) and max(sizes) <= LONGEST and right.strip() == right


def read_pairs(
    path: Path | str, corrections: Sequence[Path | str] = ()
) -> Iterator[tuple[str, str]]:
    """Wrong and right sentences of an M2 file, of lines with a tab, or of parallel files.

    Args:
        path (`Path` or `str`):
            The file with the wrong sentences, or with both.
        corrections (`Sequence[Path]`, *optional*):
            Files whose lines correct those of `path`; JFLEG has four of them.

    Returns:
        `Iterator[tuple[str, str]]`: A wrong and a right sentence each.
    """
    path = Path(path)
    if corrections:
        yield from _parallel(path, [Path(correction) for correction in corrections])
    elif _is_m2(path):
        yield from _m2(path)
    else:
        yield from _tabbed(path)


def _is_m2(path: Path) -> bool:
    first = next((line for _, line in Source(path).filled_lines()), "")
    return first.startswith("S ") or first == "S"


def _parallel(path: Path, corrections: Sequence[Path]) -> Iterator[tuple[str, str]]:
    wrong = [line for _, line in Source(path).lines()]
    for other in corrections:
        right = [line for _, line in Source(other).lines()]
        if len(right) != len(wrong):
            message = f"expected {len(wrong)} lines, as in {path.name}, found {len(right)}."
            raise BadInput(message, other)
        yield from zip(wrong, right, strict=True)


def _tabbed(path: Path) -> Iterator[tuple[str, str]]:
    """Lines `before TAB after`, as in AESW; further columns are ignored."""
    for number, line in Source(path).filled_lines():
        columns = line.split("\t")
        if len(columns) < 2:
            message = "expected a sentence before and after correction with a tab between them, "
            hint = "Give an M2 file, tab-separated pairs, or a source file with its corrections."
            raise BadInput(message + f"found {line[:60]!r}.", path, number, hint)
        yield columns[0], columns[1]


M2Edit = tuple[int, int, str]
"""First word, word after the last, and the correction."""


def _m2(path: Path) -> Iterator[tuple[str, str]]:
    """Sentences of an M2 file with the corrections of each annotator made."""
    for words, edits in _m2_sentences(path):
        for corrections in edits.values():
            yield " ".join(words), _apply_corrections(words, corrections)


def _m2_phrases(path: Path) -> Iterator[tuple[str, str]]:
    """What was wrong and what is right, edit by edit, as the annotators marked them."""
    for words, edits in _m2_sentences(path):
        for corrections in edits.values():
            yield from ((" ".join(words[a:b]), new) for a, b, new in corrections if a >= 0)


def _m2_sentences(path: Path) -> Iterator[tuple[list[str], dict[str, list[M2Edit]]]]:
    """The words of each sentence, and its edits by annotator."""
    for number, block in _blocks(path):
        edits: dict[str, list[M2Edit]] = {}
        for line in block[1:]:
            if line.startswith("A "):
                annotator, edit = _m2_edit(line, path, number)
                edits.setdefault(annotator, []).append(edit)
        yield block[0][2:].split(), edits


def _blocks(path: Path) -> Iterator[tuple[int, list[str]]]:
    """A sentence's line, numbered, with the lines of its edits."""
    block: list[str] = []
    start = 0
    for number, line in Source(path).filled_lines():
        if line.startswith("S ") or line == "S":
            if block:
                yield start, block
            block, start = [], number
        block.append(line)
    if block:
        yield start, block


def _m2_edit(line: str, path: Path, number: int) -> tuple[str, M2Edit]:
    columns = line[2:].split("|||")
    try:
        start, end = map(int, columns[0].split())
        new = columns[2].split("||")[0]
        return columns[5], (start, end, "" if new == "-NONE-" else new)
    except (IndexError, ValueError):
        message = f"expected an edit `A start end|||type|||correction|||...`, found {line[:60]!r}."
        raise BadInput(message, path, number) from None


def _apply_corrections(words: Sequence[str], edits: Iterable[M2Edit]) -> str:
    corrected = list(words)
    for start, end, new in sorted(edits, reverse=True):
        if start >= 0:  # -1: nothing was wrong
            corrected[start:end] = new.split()
    return " ".join(corrected)


def write_confusions(table: Confusions, path: Path | str) -> Path:
    """Write a table as JSON, which [`read_confusions`] reads."""
    with atomic_write(path) as file:
        json.dump(table, file, ensure_ascii=False, indent=1, sort_keys=True)
        file.write("\n")
    return Path(path)


def read_confusions(path: Path | str) -> Confusions:
    """A table from JSON (`{right: {wrong: count}}`, or lists of wrong words), or from pairs.

    Anything that is not JSON is read by [`read_pairs`].
    """
    path = Path(path)
    if path.suffix != ".json":
        return confusions(_m2_phrases(path) if _is_m2(path) else read_pairs(path))
    table = Source(path).json()
    if not isinstance(table, dict) or not all(map(_is_row, table.values())):
        message = 'expected a JSON object such as {"cakes": {"cake": 3}}.'
        raise BadInput(message, path, hint="Build one with dialeval.perturbations.confusions.")
    return {right: _row(wrong) for right, wrong in table.items()}


def _is_row(value: Any) -> bool:
    return isinstance(value, dict | list)


def _row(value: dict[str, int] | list[str]) -> dict[str, int]:
    return dict.fromkeys(value, 1) if isinstance(value, list) else value


@lru_cache
def load_confusions(path: str, min_count: int = 1, alike: bool = False) -> Confusions:
    """A table from a file, without changes of case and without rare confusions.

    Args:
        path (`str`):
            A file that [`read_confusions`] reads.
        min_count (`int`, *optional*, defaults to 1):
            Confusions with a lower count are left out.
        alike (`bool`, *optional*, defaults to `False`):
            Keep only confusions of words that are forms of each other, spelled alike, or function
            words of one class: tables of learners' sentences contain rewordings beside errors.

    Returns:
        `Confusions`: Counts of wrong phrases by the right one.
    """
    table = {}
    for right, wrong in read_confusions(path).items():
        kept = {
            phrase: count
            for phrase, count in wrong.items()
            if count >= min_count
            and _is_confusion(right, phrase)
            and phrase.lower() != right.lower()
            and (not alike or same_word(right, phrase))
        }
        if kept:
            table[right] = kept
    if not table:
        message = f"expected confusions seen {min_count} times or more, but the table holds none."
        raise BadInput(message, path)
    return table
