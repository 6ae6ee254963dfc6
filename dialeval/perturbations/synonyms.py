"""Sources of paraphrases: the built-in table, PPDB, tables of pairs, and WordNet."""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from dialeval.dialogues.sources import BadInput, Source
from dialeval.perturbations.lexicon import resource_lines
from dialeval.perturbations.tokens import tokenize

Pair = tuple[str, str]

PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


class Phrases(NamedTuple):
    """Paraphrases by phrase; `lengths` is the longest phrase (in words) by first word.

    A phrase without paraphrases is an idiom: it is matched and not edited.
    """

    choices: Mapping[str, tuple[str, ...]]
    lengths: Mapping[str, int]


@lru_cache
def phrases(path: str | None, relations: tuple[str, ...]) -> Phrases:
    """The built-in paraphrases, or those of a file: PPDB's format, or two phrases per line.

    Args:
        relations (`tuple[str, ...]`):
            Entailment relations of PPDB that are used.
    """
    if path is None:
        return _table(_embedded_pairs())
    pairs = _file_pairs(Path(path), relations)
    table = _table(way for one, two in pairs for way in ((one, two), (two, one)))
    if not table.choices:
        relation_note = f" of relation {' or '.join(relations)}" if relations else ""
        raise BadInput(f"expected paraphrases, but the file holds none{relation_note}.", path)
    return table


def _table(pairs: Iterable[Pair]) -> Phrases:
    """The lookup table of phrases; a phrase paired with itself has no choices."""
    choices: dict[str, dict[str, None]] = {}
    lengths: dict[str, int] = {}
    for phrase, other in pairs:
        key = _key(phrase)
        if not key:
            continue
        lengths[key[0]] = max(lengths.get(key[0], 0), len(key))
        listed = choices.setdefault(" ".join(key), {})
        if other.lower() != phrase.lower():
            listed[other] = None
    return Phrases({key: tuple(listed) for key, listed in choices.items()}, lengths)


def _key(phrase: str) -> list[str]:
    """The words of a phrase as lookup keys; empty if it contains anything but words."""
    if phrase.isascii() and phrase.isalpha():
        return [phrase.lower()]
    tokens = tokenize(phrase)
    return [token.word for token in tokens] if all(token.is_word for token in tokens) else []


def _embedded_pairs() -> Iterator[Pair]:
    for line in resource_lines("synonyms.txt"):
        if line.startswith("! "):
            yield line[2:], line[2:]
            continue
        one, sign, two = re.split(r" ([|>]) ", line.strip())
        yield one, two
        if sign == "|":
            yield two, one


def _file_pairs(path: Path, relations: tuple[str, ...]) -> Iterator[Pair]:
    """Pairs of a file; PPDB's carry their relation in the last column."""
    for number, line in _lines(path):
        if "|||" in line:
            columns = [column.strip() for column in line.split("|||")]
            if len(columns) < 6:
                message = f"expected PPDB's 6 columns, found {len(columns)}."
                raise BadInput(message, path, number, "Give a PPDB 2.0 file.")
            if columns[-1] in relations:
                yield columns[1], columns[2]
            continue
        pair = line.split("\t") if "\t" in line else line.split()
        if len(pair) != 2:
            message = f"expected two words, found {line.strip()[:60]!r}."
            hint = "Write two words a line, or two phrases with a tab between them."
            raise BadInput(message, path, number, hint)
        yield pair[0].strip(), pair[1].strip()


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines of a file, of a gzip file, or of the files in a zip archive."""
    if path.suffix != ".zip":
        yield from Source(path).filled_lines()
        return
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if not name.endswith("/"):
                with archive.open(name) as raw:
                    text = io.TextIOWrapper(raw, "utf-8", errors="replace")
                    yield from ((n, line.rstrip("\n")) for n, line in enumerate(text, 1))


class WordNet:
    """Synonyms of a WNdb folder (`index.noun`, `data.noun`, ...): lemmas of one synset.

    Args:
        senses (`int`):
            How many of a word's senses count, the most frequent first.
    """

    def __init__(self, folder: Path, senses: int = 1) -> None:
        self.folder, self.senses = folder, senses
        self._index: dict[str, dict[str, _Entry]] = {}
        self._data: dict[str, dict[str, tuple[str, ...]]] = {}
        for part in PARTS:
            if (folder / f"data.{part}").is_file() and (folder / f"index.{part}").is_file():
                self._index[part] = dict(_index(folder / f"index.{part}"))
                self._data[part] = dict(_data(folder / f"data.{part}"))
        if not self._index:
            message = "expected WordNet's files (index.noun, data.noun, ...), but found none."
            raise BadInput(message, folder)

    def synonyms(self, base: str, part: str, close: bool = False) -> tuple[str, ...]:
        """Other words of the first senses of a word.

        Args:
            base (`str`):
                The word in base form.
            part (`str`):
                Part of speech: `noun`, `verb`, `adj` or `adv`.
            close (`bool`, *optional*, defaults to `False`):
                Only single words in use with this main sense, for words of few senses:
                `doctor` gives `physician`, but `time` does not give `clip`.

        Returns:
            `tuple[str, ...]`: The synonyms, without the word itself.
        """
        index = self._index.get(part, {})
        offsets = index.get(base, _NOTHING).synsets[: self.senses]
        if close and not _is_plain(base, index):
            return ()
        candidates = dict.fromkeys(
            word
            for offset in offsets
            for word in self._data[part].get(offset, ())
            if not close or (_is_plain(word, index) and index[word].synsets[0] == offset)
        )
        return tuple(word for word in candidates if word.lower() != base)


class _Entry(NamedTuple):
    """A lemma's synsets, the most frequent first, and how many of them WordNet's texts have."""

    synsets: tuple[str, ...]
    seen: int


_NOTHING = _Entry((), 0)
_FEW = 4  # senses; with more of them the first is too often not the one that is meant


def _is_plain(word: str, index: Mapping[str, _Entry]) -> bool:
    """Whether it is one word, in use, and of few senses; not `p` for `phosphorus`."""
    entry = index.get(word, _NOTHING)
    plain = word.isascii() and word.isalpha() and word.islower() and len(word) > 2
    return plain and entry.seen > 0 and len(entry.synsets) <= _FEW


def _index(path: Path) -> Iterator[tuple[str, _Entry]]:
    """Lemmas with the offsets of their synsets."""
    for number, line in _records(path):
        fields = line.split()
        try:
            senses = int(fields[2])
            entry = _Entry(tuple(fields[-senses:]), int(fields[-senses - 1]))
            yield fields[0].replace("_", " "), entry
        except (IndexError, ValueError):
            message = f"expected a line of WordNet's index, but found {line[:60]!r}."
            raise BadInput(message, path, number) from None


def _data(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Offsets of synsets with their words."""
    for number, line in _records(path):
        fields = line.partition("|")[0].split()
        try:
            count = int(fields[3], 16)
            words = (re.sub(r"\(\w+\)$", "", word) for word in fields[4 : 4 + 2 * count : 2])
            yield fields[0], tuple(word.replace("_", " ") for word in words)
        except (IndexError, ValueError):
            message = f"expected a WordNet synset, but found {line[:60]!r}."
            raise BadInput(message, path, number) from None


def _records(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a WordNet file without its licence, which is indented."""
    return ((n, line) for n, line in Source(path).filled_lines() if not line.startswith(" "))


@lru_cache
def wordnet(where: str, senses: int) -> WordNet:
    """WordNet in a folder, or NLTK's copy for `wordnet`."""
    return WordNet(_nltk_folder() if where == "wordnet" else Path(where), senses)


def _nltk_folder() -> Path:
    hint = "Run `python -m nltk.downloader wordnet` and unzip it, or name a WNdb folder."
    try:
        import nltk

        return Path(str(nltk.data.find("corpora/wordnet")))
    except (ImportError, LookupError) as error:
        raise BadInput("NLTK's WordNet corpus is not installed.", hint=hint) from error
