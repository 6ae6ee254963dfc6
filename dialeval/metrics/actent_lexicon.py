"""Activities and entities of a text, by word lists: small built-in ones, or files by path."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path

from dialeval.metrics.actent import END, ActEnt, Utterance

Tags = Callable[[Sequence[str]], Sequence[str]]
"""Maps words to their Penn tags; only those of verbs and nouns are used."""

PRESENT, PAST = "activities_present_form.txt", "activities_past_form.txt"
ENTITIES = "unigram2entity_dict.json"
_EDGES = "\"'`()[]{}<>,;:!?*"
_URL = re.compile(r"(?:https?|ftp)://|www\.", re.IGNORECASE)
_PATH = re.compile(r"[~.]?/[\w.~-]+(?:/|$)")
_BREAK = re.compile(rf"\s*{END}\s*|\n+")
_BEFORE_NOUN = frozenset(
    ("a", "an", "the", "my", "your", "his", "her", "its", "our", "their", "this", "that", "these",
     "those", "some", "any", "no", "each", "every", "of")
)  # fmt: skip
_PLACEHOLDER = "something"


@dataclass(frozen=True)
class ActEntLexicon:
    """The activities and entities that words stand for.

    Args:
        name (`str`):
            Name of the lexicon in signatures.
        activities (`Mapping[str, str]`):
            Activity by form; a verb and its particle are one word: `comeup`.
        entities (`Mapping[str, str]`):
            Entity by name; two words are joined by `_`.
    """

    name: str
    activities: Mapping[str, str] = field(repr=False)
    entities: Mapping[str, str] = field(repr=False)

    def entity(self, word: str) -> str | None:
        """The entity that a word names, if any (in Serban et al.'s order of spellings)."""
        if _URL.match(word):
            return "<url>"
        if _PATH.match(word):
            return "<path>"
        for form in _spellings(word):
            if form in self.entities:
                return self.entities[form]
        return None


@cache
def embedded_lexicon() -> ActEntLexicon:
    """The small lists that come with the package.

    Examples:
        >>> embedded_lexicon().activities["reinstalling"], embedded_lexicon().entity("Wifi")
        ('install', 'wireless')
    """
    return ActEntLexicon("embedded", _first_words("activities.txt"), _first_words("entities.txt"))


def read_lexicon(folder: Path | str) -> ActEntLexicon:
    """Read the lists of a folder, which have the file names of the released ones.

    These are `activities_present_form.txt` and `activities_past_form.txt`, whose rows correspond
    and whose first word names the activity, and `unigram2entity_dict.json`, which maps names to
    entities.
    """
    folder = Path(folder)
    missing = [name for name in (PRESENT, ENTITIES) if not (folder / name).is_file()]
    if missing:
        raise ValueError(
            f"{folder}: expected lists of activities and entities, but {' and '.join(missing)} is "
            f"missing. Give a folder with {PRESENT}, {PAST} and {ENTITIES}."
        )
    present = _lines(folder / PRESENT)
    past = _lines(folder / PAST) if (folder / PAST).is_file() else [[] for _ in present]
    if len(past) != len(present):
        raise ValueError(
            f"{folder}: {PRESENT} has {len(present)} rows and {PAST} {len(past)}, but their rows "
            "must correspond. Give lists of the same length."
        )
    activities: dict[str, str] = {}
    for present_forms, past_forms in zip(present, past, strict=True):
        for form in (*present_forms, *past_forms) if present_forms else ():
            activities.setdefault(form.replace("-", "").lower(), present_forms[0])
    entities = json.loads((folder / ENTITIES).read_text("utf-8"))
    return ActEntLexicon(folder.name, activities, entities)


def extract(text: str, lexicon: ActEntLexicon, tags: Tags | None = None) -> ActEnt:
    """The activities and entities of a text.

    An utterance ends at `__eou__` or at the end of a line. Entities are looked up two words at a
    time, then one. Activities are the listed verbs among the remaining words, or without any verb
    the first noun, if it is listed. The released tool also adds misspellings by word vectors and
    tags with a Twitter tagger; neither is done here.

    Args:
        text (`str`):
            One or more utterances.
        lexicon (`ActEntLexicon`):
            The word lists.
        tags (`Callable`, *optional*):
            A tagger. Without one, a word after an article or a possessive counts as a noun, and
            any other as a verb.

    Returns:
        `ActEnt`: Activities and entities of each utterance.

    Examples:
        >>> extracted = extract("try to mount the USB stick", embedded_lexicon())
        >>> sorted(extracted.activities), sorted(extracted.entities)
        (['mount', 'try'], ['usb'])
    """
    parts = [part for part in _BREAK.split(text) if part.strip()] or [""]
    return ActEnt(tuple(_utterance(part, lexicon, tags or plain_tags) for part in parts))


def plain_tags(words: Sequence[str]) -> list[str]:
    """Tags for nouns after an article or a possessive, for verbs elsewhere.

    Examples:
        >>> plain_tags(["boot", "the", "boot"])
        ['VB', 'VB', 'NN']
    """
    before = ["", *(word.lower() for word in words[:-1])]
    return ["NN" if word in _BEFORE_NOUN else "VB" for word in before]


def _utterance(text: str, lexicon: ActEntLexicon, tags: Tags) -> Utterance:
    words = [word for raw in text.split() if (word := raw.strip(_EDGES).rstrip("."))]
    entities, remaining = _entities(words, lexicon)
    return Utterance(frozenset(_activities(remaining, lexicon, tags)), frozenset(entities))


def _entities(words: Sequence[str], lexicon: ActEntLexicon) -> tuple[list[str], list[str]]:
    """Entities, and the words with a placeholder for each entity."""
    entities: list[str] = []
    remaining: list[str] = []
    index = 0
    while index < len(words):
        pair = "_".join(words[index : index + 2]) if index + 1 < len(words) else ""
        step = 2 if pair and (entity := _pair(pair, lexicon)) else 1
        entity = entity if step == 2 else lexicon.entity(words[index])
        if entity:
            entities.append(entity)
        remaining.append(_PLACEHOLDER if entity else words[index])
        index += step
    return entities, remaining


def _pair(pair: str, lexicon: ActEntLexicon) -> str | None:
    return next((lexicon.entities[form] for form in _cases(pair) if form in lexicon.entities), None)


def _activities(words: Sequence[str], lexicon: ActEntLexicon, tags: Tags) -> Iterator[str]:
    if not words:
        return
    kinds = list(tags(words))
    forms = [word.replace("-", "").lower() for word in words]
    if any(kind.startswith("VB") for kind in kinds):
        indices = [index for index, kind in enumerate(kinds) if kind.startswith("VB")]
    else:
        indices = [index for index, kind in enumerate(kinds) if kind.startswith("NN")][:1]
    activities = (_activity(forms, index, lexicon) for index in indices)
    yield from (activity for activity in activities if activity)


def _activity(forms: Sequence[str], index: int, lexicon: ActEntLexicon) -> str | None:
    """The activity of a verb with the word after it, or of the verb alone."""
    joined = "".join(forms[index : index + 2]) if index + 1 < len(forms) else ""
    return lexicon.activities.get(joined) or lexicon.activities.get(forms[index])


def _spellings(word: str) -> Iterator[str]:
    """A word as it is and in other cases, then its beginning, then without its last digits."""
    yield from _cases(word)
    head = re.split(r"[-/\\]", word)[0]
    if head != word and len(head) >= 4:
        yield from _cases(head)
    if word[-1:].isdigit() and (bare := word.rstrip("0123456789.")):
        yield from _cases(bare)


def _cases(word: str) -> tuple[str, ...]:
    return word, word.title(), word.lower(), word.upper(), word.replace(".", "")


def _first_words(name: str) -> dict[str, str]:
    """Maps each word of a row to the row's first."""
    text = files("dialeval.metrics").joinpath("resources", name).read_text("utf-8")
    rows = (line.split() for line in text.splitlines() if line.strip() and line[0] != "#")
    return {form: row[0] for row in rows for form in row}


def _lines(path: Path) -> list[list[str]]:
    """The words of each row; empty rows are kept, since the rows of two files correspond."""
    return [line.split() for line in path.read_text("utf-8").splitlines()]
