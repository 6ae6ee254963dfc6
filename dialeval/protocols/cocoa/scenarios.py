"""Scenarios: two lists of friends that have exactly one friend in common (He et al., 2017)."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dialeval.errors import BadInput

Item = tuple[str, ...]
"""A friend: one value for each attribute of the scenario."""
ALPHAS = (0.3, 1.0, 3.0)
_SHARED = "DIALEVAL_SHARED_DATA"
_ATTEMPTS = 1_000
EMBEDDED = {
    "Name": "anna ben clara david emma felix grace henry ida jonas karin leo maria noah olga paul",
    "School": "ashford brookfield carlton denholm eastlake fairview glenwood hillcrest ironside "
    "jasper kingsley lakemont",
    "Major": "history physics biology law economics music chemistry geography philosophy medicine",
    "Company": "acme bluebird corvus deltaworks everline foxglove granite harbour inkwell junction",
    "Hobby": "hiking chess baking painting rowing knitting cycling gardening sailing singing",
    "Time Preference": "morning afternoon evening",
    "Location Preference": "indoor outdoor",
}
"""An invented schema for runs without the corpus."""


@dataclass(frozen=True)
class Schema:
    """Attributes, and the values that each can have.

    Args:
        values (`Mapping[str, tuple[str, ...]]`):
            Values in lower case by the name of their attribute.
    """

    values: Mapping[str, tuple[str, ...]]

    @property
    def attributes(self) -> list[str]:
        """Names of the attributes."""
        return list(self.values)


@dataclass(frozen=True)
class KnowledgeBases:
    """What two agents know.

    Args:
        attributes (`tuple[str, ...]`):
            Names of the attributes.
        kbs (`tuple[tuple[Item, ...], tuple[Item, ...]]`):
            The items of both agents.
        id (`str`, *optional*):
            Its id.
    """

    attributes: tuple[str, ...]
    kbs: tuple[tuple[Item, ...], tuple[Item, ...]]
    id: str = ""

    def __post_init__(self) -> None:
        sizes = {len(item) for kb in self.kbs for item in kb}
        if sizes != {len(self.attributes)}:
            raise BadInput(f"the scenario {self.id!r} has items without all attributes.")


@dataclass(frozen=True)
class Scenario(KnowledgeBases):
    """Two knowledge bases with one item in common."""

    def __post_init__(self) -> None:
        shared = set(self.kbs[0]) & set(self.kbs[1])
        if len(shared) != 1:
            raise BadInput(
                f"the scenario {self.id!r} has {len(shared)} items that both agents know, but the "
                "task needs exactly one.",
                hint="Remove it, or generate scenarios from the schema.",
            )
        super().__post_init__()

    @property
    def shared(self) -> Item:
        """The item that both agents know."""
        [item] = set(self.kbs[0]) & set(self.kbs[1])
        return item


def load_schema(name: str = "mutualfriends") -> Schema:
    """A schema of CoCoA's format, or the embedded one.

    Args:
        name (`str`, *optional*, defaults to `"mutualfriends"`):
            A file, `embedded`, or `mutualfriends`.

    Returns:
        `Schema`: With values in lower case.
    """
    if name == "mutualfriends":
        folder = Path(os.environ.get(_SHARED) or Path("..") / "shared" / "data")
        path = folder / "mutualfriends" / "schema.json"
        name = str(path) if path.is_file() else "embedded"
    if name == "embedded":
        return Schema({key: tuple(text.split()) for key, text in EMBEDDED.items()})
    hint = "Give a JSON file with `attributes` and `values`, as CoCoA has them."
    try:
        content = json.loads(Path(name).read_text("utf-8"))
        return Schema(dict(_attributes(content)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"expected a schema, but {error}.", name, hint=hint) from None


def _attributes(content: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for attribute in content["attributes"]:
        values = content["values"][attribute["value_type"]]
        yield attribute["name"], tuple(dict.fromkeys(str(value).lower() for value in values))


def make_scenarios(
    schema: Schema, count: int, items: int = 10, attributes: int = 3, seed: int = 0
) -> list[Scenario]:
    """Scenarios as the original makes them.

    Values come from twice as many candidates as there are items, with probabilities drawn from a
    Dirichlet distribution for each agent and attribute; its parameter is .3, 1 or 3.

    Args:
        schema (`Schema`):
            Attributes and values.
        count (`int`):
            Number of scenarios.
        items (`int`, *optional*, defaults to 10):
            Items of each agent; 0 draws from 5 to 12.
        attributes (`int`, *optional*, defaults to 3):
            Attributes of an item.
        seed (`int`, *optional*, defaults to 0):
            Seed of everything drawn.

    Returns:
        `list[Scenario]`: Each with exactly one shared item.
    """
    if attributes > len(schema.values):
        hint = "Give fewer --attributes, or another schema."
        raise BadInput(f"the schema has only {len(schema.values)} attributes.", hint=hint)
    return [
        _scenario(schema, np.random.default_rng([seed, number]), items, attributes, f"s{number}")
        for number in range(count)
    ]


def _scenario(
    schema: Schema, rng: np.random.Generator, items: int, attributes: int, id: str
) -> Scenario:
    for _ in range(_ATTEMPTS):
        size = items or int(rng.integers(5, 13))
        names = sorted(rng.choice(len(schema.attributes), attributes, replace=False).tolist())
        chosen = tuple(schema.attributes[number] for number in names)
        tables = [_candidates(schema.values[name], 2 * size, rng) for name in chosen]
        kbs = [_kb(tables, size, rng) for _ in range(2)]
        if None in kbs:
            continue
        first, second = ([*kb] for kb in kbs if kb is not None)
        second[int(rng.integers(size))] = first[int(rng.integers(size))]
        if len(set(second)) == size and len(set(first) & set(second)) == 1:
            return Scenario(chosen, (tuple(first), tuple(second)), id)
    raise BadInput(
        f"no scenario of {items or '5 to 12'} items with one shared item came up in "
        f"{_ATTEMPTS:,} attempts.",
        hint="The schema has too few values: lower --items, or raise --attributes.",
    )


def _candidates(values: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    chosen = rng.choice(len(values), min(count, len(values)), replace=False)
    return [values[number] for number in chosen]


def _kb(tables: Sequence[Sequence[str]], size: int, rng: np.random.Generator) -> list[Item] | None:
    """Distinct items, or `None` if too few came up."""
    alphas = rng.choice(ALPHAS, len(tables))
    weights = [
        rng.dirichlet(np.full(len(values), alpha))
        for values, alpha in zip(tables, alphas, strict=True)
    ]
    draws = [
        [values[number] for number in rng.choice(len(values), 20 * size, p=weight)]
        for values, weight in zip(tables, weights, strict=True)
    ]
    items = list(dict.fromkeys(zip(*draws, strict=True)))
    return items[:size] if len(items) >= size else None
