"""Word lists of the strategies: a small built-in lexicon, and readers for users' files."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from dialeval.dialogues.sources import BadInput, Source

Antonyms = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Antonyms by word and part of speech: `verb`, `adj`, `adv`, `noun`, or `any`."""

PARTS = ("verb", "adj", "adv", "noun", "any")
_WORDNET_FILES = {"data.verb": "verb", "data.adj": "adj", "data.adv": "adv", "data.noun": "noun"}


def resource_lines(name: str) -> Iterator[str]:
    """Lines of an embedded file without comments and blank lines."""
    text = (files("dialeval.perturbations") / "resources" / name).read_text(encoding="utf-8")
    return (line for line in text.splitlines() if line.strip() and not line.startswith("#"))


def _word_set(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


@lru_cache
def stop_words(path: str | None = None) -> frozenset[str]:
    """Stop words in lower case: the built-in list, or a file with one or more words per line."""
    return _word_set(resource_lines("stop_words.txt")) if path is None else read_words(path)


@lru_cache
def keep_words() -> frozenset[str]:
    """Pronouns, wh-words and negation: stop words that dropout keeps."""
    return _word_set(resource_lines("keep_words.txt"))


@lru_cache
def word_tags() -> Mapping[str, tuple[str, ...]]:
    """Penn tags of frequent words, the likeliest first."""
    table: dict[str, tuple[str, ...]] = {}
    for line in resource_lines("tags.txt"):
        kinds, _, words = line.partition(":")
        table.update(dict.fromkeys(words.split(), tuple(kinds.split())))
    return MappingProxyType(table)


@lru_cache
def irregular_verbs() -> Mapping[str, tuple[str, str]]:
    """Past and participle of irregular verbs by base."""
    rows = (line.split() for line in resource_lines("verbs.txt"))
    return MappingProxyType({base: (past, participle) for base, past, participle in rows})


@lru_cache
def names(kind: str) -> tuple[str, ...]:
    """First names (`female`, `male`) or cities (`city`), spelled as in a sentence."""
    names_by_kind = {}
    for line in resource_lines("names.txt"):
        label, _, listed = line.partition(":")
        names_by_kind[label] = tuple(name.strip() for name in listed.split(","))
    return names_by_kind[kind]


@lru_cache
def vocabulary(path: str | None = None) -> tuple[str, ...]:
    """Words to draw from at random: the tagger's frequent ones, or those of a file."""
    if path is not None:
        return tuple(sorted(read_words(path)))
    return tuple(sorted(word for word in word_tags() if word.isalpha() and len(word) > 1))


def read_words(path: str | Path) -> frozenset[str]:
    """Words of a file, in lower case; lines that start with `#` are comments."""
    lines = (line for _, line in Source(Path(path)).filled_lines() if not line.startswith("#"))
    words = _word_set(line.lower() for line in lines)
    if not words:
        raise BadInput("expected words, but the file holds none.", path)
    return words


@lru_cache
def antonyms(source: str | None = None) -> Antonyms:
    """Antonyms: built-in, from a table or WNdb folder, or NLTK's for `wordnet`."""
    if source is None:
        return _antonym_table(_embedded_antonyms())
    if source == "wordnet":
        return _antonym_table(_nltk_antonyms())
    path = Path(source)
    return _antonym_table(_wndb_antonyms(path) if path.is_dir() else _pairs(path))


@lru_cache
def everyday_words() -> frozenset[str]:
    """Frequent words, and the words of the built-in antonyms."""
    listed = (word for parts in antonyms().values() for words in parts.values() for word in words)
    return frozenset((*word_tags(), *antonyms(), *listed))


def _antonym_table(rows: Iterable[tuple[str, str, str]]) -> Antonyms:
    """Rows of part, word and antonym as a table; each row is read in one direction."""
    table: dict[str, dict[str, dict[str, None]]] = {}
    for part, word, antonym in rows:
        table.setdefault(word, {}).setdefault(part, {})[antonym] = None
    return {
        word: {part: tuple(listed) for part, listed in parts.items()}
        for word, parts in table.items()
    }


def _both_ways(part: str, word: str, antonym: str) -> Iterator[tuple[str, str, str]]:
    yield part, word, antonym
    yield part, antonym, word


def _embedded_antonyms() -> Iterator[tuple[str, str, str]]:
    """Rows `part word antonym`; `part word > antonym` holds in one direction only."""
    for line in resource_lines("antonyms.txt"):
        part, word, *rest = (field.replace("_", " ") for field in line.split())
        if rest[0] == ">":
            yield part, word, rest[1]
        else:
            yield from _both_ways(part, word, rest[0])


def _pairs(path: Path) -> Iterator[tuple[str, str, str]]:
    """Rows of a table with two words a line, each perhaps with the prefix `en_`, both ways."""
    for number, line in Source(path).filled_lines():
        words = [word.removeprefix("en_").lower() for word in line.split()]
        if len(words) != 2 or not all(words):
            raise BadInput(
                f"expected a word and its antonym, but found {line.strip()[:60]!r}.",
                path,
                number,
                "Write two words a line.",
            )
        yield from _both_ways("any", *words)


class _Lemma(NamedTuple):
    """A word of a WordNet synset: its file's part of speech, and the synset's offset in it."""

    part: str
    offset: str
    rank: int  # from 1


def _wndb_antonyms(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Antonyms in a folder of WordNet's database files (`data.verb`, `data.adj`, ...)."""
    present = {folder / name: part for name, part in _WORDNET_FILES.items()}
    present = {path: part for path, part in present.items() if path.is_file()}
    if not present:
        raise BadInput(
            "expected WordNet's database files (data.verb, data.adj, ...), but found none.", folder
        )
    words: dict[_Lemma, str] = {}
    links: list[tuple[_Lemma, _Lemma]] = []
    for path, part in present.items():
        for number, line in Source(path).filled_lines():
            if not line.startswith(" "):  # the licence is indented
                _read_synset(line, part, path, number, words, links)
    for here, there in links:
        if here in words and there in words:
            yield here.part, words[here], words[there]


def _read_synset(
    line: str,
    part: str,
    path: Path,
    number: int,
    words: dict[_Lemma, str],
    links: list[tuple[_Lemma, _Lemma]],
) -> None:
    """Add a synset's words, and its antonym pointers (`!`) from word to word."""
    fields = line.partition("|")[0].split()
    try:
        offset, count = fields[0], int(fields[3], 16)
        for rank in range(1, count + 1):
            word = re.sub(r"\((?:a|p|ip)\)$", "", fields[2 + 2 * rank]).lower()
            words[_Lemma(part, offset, rank)] = word.replace("_", " ")
        at = 4 + 2 * count
        for start in range(at + 1, at + 1 + 4 * int(fields[at]), 4):
            symbol, target, kind, word_ranks = fields[start : start + 4]
            if symbol == "!":
                other = {"v": "verb", "a": "adj", "s": "adj", "r": "adv", "n": "noun"}[kind]
                source, goal = int(word_ranks[:2], 16), int(word_ranks[2:], 16)
                links.append((_Lemma(part, offset, source), _Lemma(other, target, goal)))
    except (IndexError, ValueError, KeyError):
        raise BadInput(
            f"expected a WordNet synset, but found {line[:60]!r}.", path, number
        ) from None


def _nltk_antonyms() -> Iterator[tuple[str, str, str]]:
    """Antonyms in NLTK's WordNet corpus, which the user has downloaded."""
    try:
        from nltk.corpus import wordnet

        synsets = list(wordnet.all_synsets())
    except (ImportError, LookupError) as error:
        raise BadInput(
            "NLTK's WordNet corpus is not installed.",
            hint="Run `python -m nltk.downloader wordnet`, or pass a WNdb folder instead.",
        ) from error
    kinds = {"v": "verb", "a": "adj", "s": "adj", "r": "adv", "n": "noun"}
    for synset in synsets:
        for lemma in synset.lemmas():
            for antonym in lemma.antonyms():
                word = lemma.name().lower().replace("_", " ")
                yield kinds[synset.pos()], word, antonym.name().lower().replace("_", " ")


class Entities(NamedTuple):
    """Entities of a domain: types and meanings by surface form, and entities by type."""

    types: Mapping[str, tuple[str, ...]]  # surface -> types, the commonest first
    members: Mapping[str, tuple[str, ...]]  # type -> entities
    meanings: Mapping[str, frozenset[str]]  # surface -> entities


@lru_cache
def entities(path: str) -> Entities:
    """Entities of a file: one a line, or tab-separated entity, surface form and type."""
    types: dict[str, dict[str, int]] = {}
    members: dict[str, dict[str, None]] = {}
    meanings: dict[str, set[str]] = {}
    for number, line in Source(Path(path)).filled_lines():
        entity, surface, kind = _entity_row(line, path, number)
        members.setdefault(kind, {})[entity] = None
        for form in {entity, surface}:
            counts = types.setdefault(form, {})
            counts[kind] = counts.get(kind, 0) + 1
            meanings.setdefault(form, set()).add(entity)
    return Entities(
        {form: _by_count(counts) for form, counts in types.items()},
        {kind: tuple(listed) for kind, listed in members.items()},
        {form: frozenset(listed) for form, listed in meanings.items()},
    )


def _by_count(counts: Mapping[str, int]) -> tuple[str, ...]:
    """The keys, the most frequent first."""
    return tuple(sorted(counts, key=lambda key: (-counts[key], key)))


def _entity_row(line: str, path: str, number: int) -> tuple[str, str, str]:
    fields = [field.strip().lower() for field in line.split("\t")]
    if len(fields) == 1 and fields[0]:
        return fields[0], fields[0], "entity"
    if len(fields) != 3 or not all(fields):
        raise BadInput(
            f"expected an entity, or entity, form and type, but found {line.strip()[:60]!r}.",
            path,
            number,
            "Write one entity a line, or three fields with tabs between them.",
        )
    return fields[0], fields[1], fields[2]
