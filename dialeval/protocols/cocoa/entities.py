"""Entities in utterances: values of a schema, found by their words."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple


class Mention(NamedTuple):
    """A value in a text: where it stands, and which attribute has it."""

    start: int
    end: int
    value: str
    attribute: str


@dataclass(frozen=True)
class EntityLinker:
    """Finds values of attributes in texts, the longest first, without overlaps.

    Args:
        values (`Mapping[str, Iterable[str]]`):
            Values in lower case by attribute; of a value with two attributes the first counts.

    Examples:
        >>> linker = EntityLinker({"Hobby": ["rock climbing", "climbing"]})
        >>> [mention.value for mention in linker("I like Rock Climbing, not climbing.")]
        ['rock climbing', 'climbing']
    """

    values: Mapping[str, Iterable[str]]

    @cached_property
    def attribute_of(self) -> dict[str, str]:
        """The attribute of each value."""
        table: dict[str, str] = {}
        for attribute, values in self.values.items():
            for value in values:
                table.setdefault(value, attribute)
        return table

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        names = sorted(self.attribute_of, key=lambda name: (-len(name), name))
        return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, names)) + r")(?!\w)", re.I)

    def __call__(self, text: str) -> list[Mention]:
        """The mentions of a text, in order."""
        if not self.attribute_of:
            return []
        return [
            Mention(match.start(), match.end(), value, self.attribute_of[value])
            for match in self._pattern.finditer(text)
            for value in [match[0].lower()]
        ]


@dataclass(frozen=True)
class SchemaLinkers:
    """Linkers for scenarios of a schema; each looks for the values of a scenario's attributes.

    Args:
        values (`Mapping[str, Iterable[str]]`):
            Values in lower case by attribute.
    """

    values: Mapping[str, Iterable[str]]
    _made: dict[tuple[str, ...], EntityLinker] = field(default_factory=dict, repr=False)

    def __call__(self, attributes: tuple[str, ...]) -> EntityLinker:
        """The linker of these attributes."""
        if attributes not in self._made:
            values = {name: self.values[name] for name in attributes}
            self._made[attributes] = EntityLinker(values)
        return self._made[attributes]
