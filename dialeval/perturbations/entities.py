"""Random Inputs, Random Inputs with Kept Entities, Confusing Entity (Niu & Bansal, 2018)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import ClassVar, NamedTuple

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations.base import Edit, Perturbation
from dialeval.perturbations.inflection import base_form, inflect, with_case_of
from dialeval.perturbations.lexicon import Entities, entities, stop_words, vocabulary, word_tags
from dialeval.perturbations.tokens import Token, word_tokens

Lexicon = str | Mapping[str, Sequence[str]] | None
_SMALL = frozenset(["of", "at", "the", "and", "in", "for", "on", "de"])


@dataclass(frozen=True)
class RandomInputs(Perturbation):
    """Replace every word by a random one.

    Args:
        vocabulary (`str`, *optional*):
            A file of words to draw from; by default a thousand frequent English words.

    Examples:
        >>> text = "Do you know Alice?"
        >>> len(RandomInputs()(text).split()) == len(text.split())
        True
    """

    vocabulary: str | None = None

    name: ClassVar[str] = "random-inputs"
    kind: ClassVar = "should_change"

    def edits(self, text: str, rng: Random) -> list[Edit]:
        """A replacement for every word."""
        drawn = vocabulary(self.vocabulary)
        return _random_words(word_tokens(text), drawn, rng)


@dataclass(frozen=True)
class RandomInputsKeptEntities(Perturbation):
    """Replace every word by a random one, but keep the entities.

    Args:
        lexicon (`str` or `Mapping[str, Sequence[str]]`):
            A file with one entity a line, or tab-separated entity, surface form and type; or
            entities by type.
        vocabulary (`str`, *optional*):
            A file of words to draw from; by default a thousand frequent English words.

    Examples:
        >>> perturbed = RandomInputsKeptEntities({"name": ["alice"]})("Do you know Alice?")
        >>> perturbed.endswith(" Alice?"), perturbed.startswith("Do you know")
        (True, False)
    """

    lexicon: Lexicon
    vocabulary: str | None = None

    name: ClassVar[str] = "random-inputs-kept-entities"
    kind: ClassVar = "should_change"

    def __post_init__(self) -> None:
        _table(self.lexicon)

    def edits(self, text: str, rng: Random) -> list[Edit]:
        """A replacement for every word outside the entities."""
        drawn = vocabulary(self.vocabulary)
        kept = [(mention.start, mention.end) for mention in _mentions(text, self.lexicon)]
        outside = (
            token
            for token in word_tokens(text)
            if not any(start <= token.start < end for start, end in kept)
        )
        return _random_words(outside, drawn, rng)


@dataclass(frozen=True)
class ConfusingEntity(Perturbation):
    """Replace every entity by another one of its type, plural for plural.

    The paper draws from the other agent's knowledge base; plain text has none, so the lexicon
    replaces it. Entities that the utterance does not mention are preferred; if it mentions all of
    them, they change places. All mentions of one entity in an utterance get the same replacement.

    Args:
        lexicon (`str` or `Mapping[str, Sequence[str]]`):
            A file with one entity a line, or tab-separated entity, surface form and type; or
            entities by type.

    Examples:
        >>> ConfusingEntity({"name": ["Alice", "Bob"]})("Do you know Alice?")
        'Do you know Bob?'
    """

    lexicon: Lexicon

    name: ClassVar[str] = "confusing-entity"
    kind: ClassVar = "should_change"

    def __post_init__(self) -> None:
        _table(self.lexicon)

    def edits(self, text: str, rng: Random) -> list[Edit]:
        """A replacement for every entity that has another of its type."""
        mentions, table = list(_mentions(text, self.lexicon)), _table(self.lexicon)
        others = _others(mentions, table, rng)
        edits = []
        for mention in mentions:
            other = others.get(mention.form)
            if other is not None:
                before = text[mention.start : mention.end]
                after = inflect(other, "NNS") if mention.plural else other
                edits.append(Edit(mention.start, before, _match_case(after, before)))
        return edits


class _Mention(NamedTuple):
    start: int
    end: int
    form: str
    kind: str
    plural: bool


class _Table(NamedTuple):
    """Entities, their surface forms by words, and how long those are by first word."""

    known: Entities
    members: Mapping[str, Sequence[str]]  # by type, without plurals of others
    forms: Mapping[tuple[str, ...], str]
    plurals: Mapping[tuple[str, ...], str]  # the form whose plural it is
    lengths: Mapping[str, Sequence[int]]  # the longest first


def _table(lexicon: Lexicon) -> _Table:
    if lexicon is None:
        raise BadInput(
            "this strategy needs a list of entities.",
            hint="Pass `--lexicon entities=PATH`: a file with one entity a line, or entity, "
            "surface form and type with tabs between them.",
        )
    if isinstance(lexicon, Mapping):
        return _table_of_mapping(tuple((kind, tuple(names)) for kind, names in lexicon.items()))
    return _table_of_file(str(lexicon))


@lru_cache(maxsize=8)
def _table_of_file(path: str) -> _Table:
    return _index(entities(path))


@lru_cache(maxsize=8)
def _table_of_mapping(items: tuple[tuple[str, tuple[str, ...]], ...]) -> _Table:
    types: dict[str, tuple[str, ...]] = {}
    for kind, members in items:
        types |= {member.lower(): (*types.get(member.lower(), ()), kind) for member in members}
    return _index(Entities(types, dict(items), {form: frozenset([form]) for form in types}))


def _index(known: Entities) -> _Table:
    """The table of entities; everyday words that only abbreviate an entity are left out."""
    entity_names = {member.lower() for members in known.members.values() for member in members}
    forms: dict[tuple[str, ...], str] = {}
    lengths: dict[str, set[int]] = {}
    for form in known.types:
        key = tuple(token.word for token in word_tokens(form))
        if not key or key in forms or (form not in entity_names and _is_everyday(key)):
            continue
        forms[key] = form
        lengths.setdefault(key[0], set()).add(len(key))
    plurals: dict[tuple[str, ...], str] = dict(_plurals(entity_names))
    for (word,) in plurals:
        lengths.setdefault(word, set()).add(1)
    ordered = {first: sorted(sizes, reverse=True) for first, sizes in lengths.items()}
    members = {
        kind: [entity for entity in listed if (entity.lower(),) not in plurals]
        for kind, listed in known.members.items()
    }
    return _Table(known, members, forms, plurals, ordered)


def _plurals(entities: Iterable[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Plurals of entities of one word, where they are nothing else: `books`, but not `his`."""
    for entity in entities:
        plural = inflect(entity, "NNS") if entity.isalpha() and entity.isascii() else entity
        kinds = word_tags().get(plural, ("NNS",))
        if plural != entity and kinds[0] == "NNS" and base_form(plural, "noun") == entity:
            yield (plural,), entity


def _is_everyday(key: tuple[str, ...]) -> bool:
    """Whether a form is a frequent word, or frequent words with a stop word: `at the`, `work`."""
    known = word_tags()
    if len(key) > 1 and not any(word in stop_words() for word in key):
        return False
    return all(word in known or base_form(word, "verb") in known for word in key)


def _mentions(text: str, lexicon: Lexicon) -> Iterator[_Mention]:
    """Entities in a text, longest match first, without overlaps."""
    table, tokens = _table(lexicon), word_tokens(text)
    written = [token.word for token in tokens]
    at = 0
    while at < len(tokens):
        keys = (tuple(written[at : at + size]) for size in table.lengths.get(written[at], ()))
        key = next((key for key in keys if key in table.plurals or key in table.forms), None)
        if key is None:
            at += 1
            continue
        form = table.plurals.get(key) or table.forms[key]
        start, end = tokens[at].start, tokens[at + len(key) - 1].end
        kind = table.known.types[form][0]
        yield _Mention(start, end, form, kind, key in table.plurals)
        at += len(key)


def _others(mentions: Sequence[_Mention], table: _Table, rng: Random) -> dict[str, str]:
    """For each form that a text mentions, the entity that takes its place all through it.

    Entities that the text does not mention come first, then those that it does, so that two
    mentioned entities change places.
    """
    meanings = table.known.meanings
    named = {entity for mention in mentions for entity in meanings[mention.form]}
    replacements: dict[str, str] = {}
    for mention in mentions:
        if mention.form in replacements:
            continue
        meant = meanings[mention.form]
        used = {entity.lower() for entity in replacements.values()}
        barred_sets = (named | used, meant | used, meant)  # the strictest first
        drawn = (_draw(table.members[mention.kind], barred, rng) for barred in barred_sets)
        other = next((entity for entity in drawn if entity is not None), None)
        if other is not None:
            replacements[mention.form] = other
    return replacements


def _draw(others: Sequence[str], barred: Set[str], rng: Random) -> str | None:
    """An entity that is not barred; None if all are."""
    for _ in range(8):  # nearly always the first: types have many members
        other = rng.choice(others) if others else ""
        if other and other.lower() not in barred:
            return other
    left = [entity for entity in others if entity.lower() not in barred]
    return rng.choice(left) if left else None


def _match_case(entity: str, mention: str) -> str:
    """The entity with capitals if the mention has them; as it is listed if that has capitals."""
    if not mention[:1].isupper():
        return entity.lower() if mention.islower() else entity
    if entity != entity.lower():
        return entity
    capitals = (word if word in _SMALL else word[:1].upper() + word[1:] for word in entity.split())
    capitalised = " ".join(capitals)
    return capitalised[:1].upper() + capitalised[1:]


def _random_words(tokens: Iterable[Token], vocabulary: Sequence[str], rng: Random) -> list[Edit]:
    """A replacement of each word by another, in its case."""
    edits = []
    for token in tokens:
        replacement = rng.choice(vocabulary)
        if replacement == token.word:
            replacement = vocabulary[vocabulary.index(replacement) - 1]
        if replacement != token.word:
            edits.append(Edit(token.start, token.text, with_case_of(replacement, token.text)))
    return edits
