"""A dialogue agent over a dynamic knowledge graph, in the manner of DynoNet (He et al., 2017).

Nodes are items, attributes and entities; an utterance mentions nodes, which changes their features,
and the decoder chooses words or copies nodes. The responses are sequences over the vocabulary and,
behind it, the nodes of the example's graph, so that `generate` of transformers does not apply; see
[`DynoNet.decode`].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedModel
from transformers.utils.generic import ModelOutput

from .configuration_dynonet import DynoNetConfig
from .recurrent_decoding import glorot_init

PAD, UNK, START, END, SELECT, ENTITY = range(6)
"""Words that every vocabulary begins with; `ENTITY` is the word vector of all nodes."""
SPECIAL = ("<pad>", "<unk>", "<s>", "</s>", "<select>", "<entity>")
NO_NODE, ITEM, ATTRIBUTE, VALUE = range(4)
MENTIONS = 6
"""Features of a node that change with the dialogue: see `dialeval.training.graph_examples`."""
IGNORED = -100
_SPREAD = 0.5
"""Range of initial embeddings; with all weights in [-0.1, 0.1] nodes hardly differ after two rounds
of message passing, and whether the agent learns to select depends on the seed."""


@dataclass
class DynoNetOutput(ModelOutput):
    """Scores over words and nodes, `(batch, steps, vocabulary + nodes)`, and the mean loss."""

    loss: Tensor | None = None
    logits: Tensor | None = None
    nodes: Tensor | None = None  # (batch, nodes, (rounds + 1) * node)


class GraphEncoder(nn.Module):
    """Vectors of nodes after message passing along labelled edges (He et al., 2017, sec. 4.2)."""

    def __init__(self, config: DynoNetConfig):
        super().__init__()
        width = config.node_size
        self.kind = nn.Embedding(4, width)
        self.attribute = nn.Embedding(config.attributes + 1, width)
        self.features = nn.Linear(1 + MENTIONS, width)
        self.utterance = nn.Linear(config.hidden_size, width)
        # One kind of edge for each attribute, from items to values, and one from attributes.
        self.relation = nn.Embedding(config.attributes + 2, width)
        self.message = nn.ModuleList(nn.Linear(width, width) for _ in range(config.rounds))
        self.update = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(config.rounds))

    def static(self, kinds: Tensor, attributes: Tensor) -> Tensor:
        """What a node is, before the dialogue, `(batch, nodes, node)`."""
        return self.kind(kinds) + self.attribute(attributes)

    def forward(
        self,
        kinds: Tensor,
        attributes: Tensor,
        features: Tensor,
        heard: Tensor,
        edges: Tensor,
    ) -> Tensor:
        """Vectors of all rounds, side by side.

        Args:
            kinds, attributes (`Tensor`):
                What the nodes are, shape `(batch, nodes)`.
            features (`Tensor`):
                Degree and mentions, `(batch, nodes, 1 + MENTIONS)`.
            heard (`Tensor`):
                The encoder's states where a node was mentioned, `(batch, nodes, hidden)`.
            edges (`Tensor`):
                Labels of edges, 0 for none, `(batch, nodes, nodes)`.

        Returns:
            `Tensor`: Shape `(batch, nodes, (rounds + 1) * node)`.
        """
        nodes = self.static(kinds, attributes) + self.features(features) + self.utterance(heard)
        rounds = [torch.tanh(nodes)]
        linked = (edges > 0).to(nodes)
        degrees = linked.sum(-1, keepdim=True).clamp(min=1)
        # Means over neighbours of tanh(W v' + r(e)), summed by label: as many as attributes.
        labels = [(edges == label).to(nodes) for label in range(1, self.relation.num_embeddings)]
        for message, update in zip(self.message, self.update, strict=True):
            sent = message(rounds[-1])
            received = sum(
                mask @ torch.tanh(sent + self.relation.weight[label])
                for label, mask in enumerate(labels, 1)
            )
            both = torch.cat([rounds[-1], torch.as_tensor(received) / degrees], -1)
            rounds.append(torch.tanh(update(both)))
        return torch.cat(rounds, -1)


class DynoNet(PreTrainedModel):
    """Encoder, graph, and a decoder that attends to nodes and copies them."""

    config_class = DynoNetConfig
    base_model_prefix = "agent"
    main_input_name = "input_ids"

    def __init__(self, config: DynoNetConfig):
        super().__init__(config)
        node = config.node_size * (config.rounds + 1)
        self.words = nn.Embedding(config.vocab_size, config.word_size)
        self.node_word = nn.Linear(config.node_size, config.word_size)
        self.encoder = nn.LSTM(config.word_size, config.hidden_size, batch_first=True)
        self.graph = GraphEncoder(config)
        self.copied_word = nn.Linear(node, config.word_size)
        self.decoder = nn.LSTM(config.word_size, config.hidden_size, batch_first=True)
        self.attention = nn.Linear(config.hidden_size, node)
        self.copy = nn.Linear(config.hidden_size + node, node)
        self.output = nn.Linear(config.hidden_size + node, config.vocab_size)
        self.dropout = nn.Dropout(config.dropout)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        glorot_init(module, _SPREAD)

    def forward(
        self,
        input_ids: Tensor,
        input_nodes: Tensor,
        kinds: Tensor,
        attributes: Tensor,
        features: Tensor,
        edges: Tensor,
        labels: Tensor | None = None,
        **kwargs: Any,
    ) -> DynoNetOutput:
        """Scores of each next word or node of a response.

        Args:
            input_ids, input_nodes (`Tensor`):
                Words of the utterances so far, and the node that each mentions, -1 for none, shape
                `(batch, time)`.
            kinds, attributes (`Tensor`):
                What the nodes are, shape `(batch, nodes)`.
            features (`Tensor`):
                Degree and mentions, `(batch, nodes, 1 + MENTIONS)`.
            edges (`Tensor`):
                Labels of edges, 0 for none, `(batch, nodes, nodes)`.
            labels (`Tensor`, *optional*):
                The response over words and, behind them, nodes; -100 is ignored.

        Returns:
            `DynoNetOutput`: With the loss if there are labels.
        """
        nodes, state = self.encode(input_ids, input_nodes, kinds, attributes, features, edges)
        if labels is None:
            return DynoNetOutput(nodes=nodes)
        start = labels.new_full((len(labels), 1), START)
        given = torch.cat([start, labels[:, :-1].clamp(min=0)], 1)
        logits, _ = self.step(given, nodes, kinds > 0, state)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)
        return DynoNetOutput(loss, logits, nodes)

    def encode(
        self,
        input_ids: Tensor,
        input_nodes: Tensor,
        kinds: Tensor,
        attributes: Tensor,
        features: Tensor,
        edges: Tensor,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Vectors of the nodes, and the decoder's first state; the arguments are `forward`'s.

        Args:
            input_ids, input_nodes, kinds, attributes, features, edges (`Tensor`):
                As in `forward`.

        Returns:
            `tuple`: Node vectors, and hidden and cell state.
        """
        mentioned = input_nodes >= 0
        what = self.node_word(self.graph.static(kinds, attributes))  # (batch, nodes, word)
        index = input_nodes.clamp(min=0)[..., None].expand(-1, -1, what.shape[-1])
        words = self.words(input_ids) + what.gather(1, index) * mentioned[..., None]
        mask = input_ids != PAD  # padded on the right; zeros leave the rest unread
        lengths = mask.sum(1).clamp(min=1)
        states = self.encoder(self.dropout(words))[0]  # (batch, time, hidden)
        last = states[torch.arange(len(states), device=states.device), lengths - 1]
        heard = self._heard(states, input_nodes, kinds.shape[1])
        nodes = self.graph(kinds, attributes, features, heard, edges)
        return nodes, (last[None].contiguous(), torch.zeros_like(last)[None])

    @staticmethod
    def _heard(states: Tensor, input_nodes: Tensor, count: int) -> Tensor:
        """Sum of the states at the mentions of each node, `(batch, nodes, hidden)`."""
        heard = states.new_zeros(len(states), count + 1, states.shape[-1])
        index = torch.where(input_nodes >= 0, input_nodes, count)
        heard.scatter_add_(1, index[..., None].expand_as(states), states)
        return heard[:, :count]

    def step(
        self, ids: Tensor, nodes: Tensor, mask: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Scores after some words or nodes of a response, and the state after them.

        Args:
            ids (`Tensor`):
                Words, or nodes behind the vocabulary, shape `(batch, steps)`.
            nodes (`Tensor`):
                Node vectors, `(batch, nodes, node)`.
            mask (`Tensor`):
                Which nodes exist, `(batch, nodes)`.
            state (`tuple[Tensor, Tensor]`):
                Hidden and cell state before.

        Returns:
            `tuple`: Scores `(batch, steps, vocabulary + nodes)`, and the state.
        """
        size = self.config.vocab_size
        is_node = ids >= size
        word = self.words(torch.where(is_node, ENTITY, ids))
        index = (ids - size).clamp(min=0)[..., None].expand(-1, -1, nodes.shape[-1])
        word = word + self.copied_word(nodes.gather(1, index)) * is_node[..., None]
        states, state = self.decoder(self.dropout(word), state)
        outside = ~mask[:, None]
        scores = (self.attention(states) @ nodes.transpose(1, 2)).masked_fill(outside, -1e9)
        seen = torch.cat([states, scores.softmax(-1) @ nodes], -1)
        copied = (self.copy(seen) @ nodes.transpose(1, 2)).masked_fill(outside, -1e9)
        return torch.cat([self.output(seen), copied], -1), state

    @torch.no_grad()
    def decode(
        self,
        batch: dict[str, Tensor],
        allowed_items: Tensor,
        generators: Sequence[torch.Generator] | None = None,
        temperature: float = 0.5,
        max_steps: int = 20,
    ) -> list[list[int]]:
        """Responses to a batch: words and nodes until the end, drawn at a temperature.

        Args:
            batch (`dict[str, Tensor]`):
                Inputs of `forward`, without labels.
            allowed_items (`Tensor`):
                Which nodes may be selected, shape `(batch, nodes)`.
            generators (`Sequence[torch.Generator]`, *optional*):
                A source of randomness for each row, so that a response does not depend on its
                batch; without them the most likely are taken.
            temperature (`float`, *optional*, defaults to 0.5):
                What scores are divided by, as in the original's decoding.
            max_steps (`int`, *optional*, defaults to 20):
                Length at most.

        Returns:
            `list[list[int]]`: Words, and nodes behind the vocabulary.
        """
        nodes, state = self.encode(**batch)
        kinds = batch["kinds"]
        items, others = self._allowed(kinds.cpu(), allowed_items)
        rows = range(len(kinds))
        responses = [list[int]() for _ in rows]
        tokens = [START for _ in rows]
        for step in range(max_steps):
            ids = kinds.new_tensor(tokens)[:, None]
            logits, state = self.step(ids, nodes, kinds > 0, state)
            for row in [row for row in rows if not _is_complete(responses[row])]:
                allowed = items[row] if tokens[row] == SELECT else others[row]
                scores = logits[row, -1].float().cpu().masked_fill(~allowed, float("-inf"))
                generator = generators[row] if generators else None
                tokens[row] = _draw(scores, generator, temperature)
                responses[row].append(tokens[row])
            if step == 0:
                others[:, SELECT] = False  # an action is a selection from its first word, or none
            if all(map(_is_complete, responses)):
                break
        return responses

    def _allowed(self, kinds: Tensor, allowed_items: Tensor) -> tuple[Tensor, Tensor]:
        """What may follow the word for a selection, and any other, `(batch, words + nodes)`."""
        none = torch.zeros(len(kinds), self.config.vocab_size, dtype=torch.bool)
        items = torch.cat([none, allowed_items.bool().cpu()], 1)
        others = torch.cat([~none, kinds == VALUE], 1)
        others[:, [PAD, UNK, START, ENTITY]] = False
        others[:, SELECT] = allowed_items.any(1).cpu()
        return items, others


def _is_complete(response: Sequence[int]) -> bool:
    """Whether a response has its end, or its item."""
    return bool(response) and (response[-1] == END or response[:-1] == [SELECT])


def _draw(scores: Tensor, generator: torch.Generator | None, temperature: float) -> int:
    """The most likely choice, or one drawn with a single random number.

    Unlike `torch.multinomial` it takes as many random numbers for any number of choices, so that
    the padding of a batch does not change what is drawn.
    """
    if generator is None:
        return int(scores.argmax())
    heights = (scores / temperature).softmax(-1).double().cumsum(-1)
    draw = torch.rand((), generator=generator, dtype=torch.float64) * heights[-1]
    return int(torch.searchsorted(heights, draw, right=True).clamp(max=len(scores) - 1))
