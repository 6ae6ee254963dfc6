"""Examples of the neural agent: what it knows as a graph, what it heard, and what it does next."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from dialeval.models.modeling_dynonet import (
    ATTRIBUTE,
    END,
    ENTITY,
    IGNORED,
    ITEM,
    MENTIONS,
    SELECT,
    SPECIAL,
    UNK,
    VALUE,
)

Word = str | tuple[str, str]
"""A word, or an entity as attribute and value."""
_DECAY = 0.7  # of a mention with each turn that follows it


class GraphVocabulary:
    """Numbers of words; entities have none, they are nodes.

    Args:
        words (`Iterable[str]`):
            All words, with repetitions.
    """

    def __init__(self, words: Iterable[str]):
        self.words = [*SPECIAL, *sorted(set(words) - set(SPECIAL))]
        self.index = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, word: str) -> int:
        return self.index.get(word, UNK)


@dataclass
class DialogueGraph:
    """What an agent knows in the course of a dialogue, as nodes with features and edges.

    Args:
        attributes (`Sequence[str]`):
            Attributes of the scenario.
        items (`Sequence[tuple[str, ...]]`):
            The agent's items.
        attribute_ids (`Mapping[str, int]`):
            Number of each attribute in the schema, from 1.
    """

    attributes: Sequence[str]
    items: Sequence[tuple[str, ...]]
    attribute_ids: Mapping[str, int]
    values: dict[tuple[str, str], int] = field(default_factory=dict)
    mentions: dict[int, list[float]] = field(default_factory=dict)
    utterances: list[list[Word]] = field(default_factory=list)
    speakers: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        for item in self.items:
            for name, value in zip(self.attributes, item, strict=True):
                self._node(name, value)

    def _node(self, attribute: str, value: str) -> int:
        """The node of a value, new if nobody mentioned it yet."""
        first = len(self.items) + len(self.attributes)
        return self.values.setdefault((attribute, value), first + len(self.values))

    def __len__(self) -> int:
        return len(self.items) + len(self.attributes) + len(self.values)

    def say(self, words: Sequence[Word], by_partner: bool) -> None:
        """Add an utterance; the entities in it become or remain nodes, and are marked."""
        self._pass_turn()
        self.utterances.append(list(words))
        self.speakers.append(by_partner)
        for word in words:
            if isinstance(word, tuple):
                self._mark(self._node(*word), 2 * by_partner)

    def select(self, item: tuple[str, ...], by_partner: bool) -> None:
        """Add a selection: marks the item, if the agent knows it; its values become nodes."""
        self._pass_turn()
        values = zip(self.attributes, item, strict=True)
        words: list[Word] = ["<select>", *values]
        self.utterances.append(words)
        self.speakers.append(by_partner)
        if item in self.items:
            self._mark(list(self.items).index(item), 4 + by_partner, lasting=True)

    def _pass_turn(self) -> None:
        for features in self.mentions.values():
            for column in (1, 3):
                features[column] *= _DECAY

    def _mark(self, node: int, column: int, lasting: bool = False) -> None:
        features = self.mentions.setdefault(node, [0.0] * MENTIONS)
        features[column] = 1.0  # ever
        if not lasting:
            features[column + 1] = 1.0  # recently

    def tensors(self, vocabulary: GraphVocabulary) -> dict[str, Tensor]:
        """Inputs of the model for one example.

        It reads all utterances: what was heard about an entity stays with its node until the end,
        as in He et al. (2017, sec. 4.2).
        """
        history = [word for utterance in self.utterances for word in [*utterance, "</s>"]]
        history = history or ["</s>"]
        ids = [ENTITY if isinstance(word, tuple) else vocabulary[word] for word in history]
        nodes = [self._node(*word) if isinstance(word, tuple) else -1 for word in history]
        count, first = len(self), len(self.items) + len(self.attributes)
        kinds = torch.tensor(
            [ITEM] * len(self.items) + [ATTRIBUTE] * len(self.attributes)
            + [VALUE] * (count - first)
        )  # fmt: skip
        names = [self.attribute_ids[name] for name in self.attributes]
        values = [self.attribute_ids[name] for name, _ in self.values]
        attributes = torch.tensor([0] * len(self.items) + names + values)
        edges = self._edges(count)
        features = torch.zeros(count, 1 + MENTIONS)
        features[:, 0] = (edges > 0).sum(1) / 10
        for node, marks in self.mentions.items():
            features[node, 1:] = torch.tensor(marks)
        return {
            "input_ids": torch.tensor(ids), "input_nodes": torch.tensor(nodes), "kinds": kinds,
            "attributes": attributes, "features": features, "edges": edges,
        }  # fmt: skip

    def _edges(self, count: int) -> Tensor:
        """Labels of edges: the attribute between an item and a value, one more to attributes."""
        edges = torch.zeros(count, count, dtype=torch.long)
        last = max(self.attribute_ids.values()) + 1
        for (name, _), node in self.values.items():
            parent = len(self.items) + list(self.attributes).index(name)
            edges[node, parent] = edges[parent, node] = last
        for row, item in enumerate(self.items):
            for name, value in zip(self.attributes, item, strict=True):
                node = self.values[name, value]
                edges[row, node] = edges[node, row] = self.attribute_ids[name]
        return edges

    def target(self, words: Sequence[Word], vocabulary: GraphVocabulary) -> Tensor:
        """Labels of an utterance; nodes stand behind the vocabulary."""
        ids = [
            len(vocabulary) + self._node(*word) if isinstance(word, tuple) else vocabulary[word]
            for word in words
        ]
        return torch.tensor([*ids, END])

    def target_item(self, item: tuple[str, ...], vocabulary: GraphVocabulary) -> Tensor:
        """Labels of a selection."""
        return torch.tensor([SELECT, len(vocabulary) + list(self.items).index(item)])


def collate(examples: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Examples in one batch, padded on the right."""
    fills = {"input_nodes": -1, "labels": IGNORED}
    batch = {}
    for name in examples[0]:
        rows = [example[name] for example in examples]
        shape = [max(sizes) for sizes in zip(*(row.shape for row in rows), strict=True)]
        padded = rows[0].new_full((len(rows), *shape), fills.get(name, 0))
        for number, row in enumerate(rows):
            padded[number][tuple(slice(size) for size in row.shape)] = row
        batch[name] = padded
    return batch
