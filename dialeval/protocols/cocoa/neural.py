"""The neural agent: learns from dialogues of others, and plays with its graph."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor

from dialeval.dialogues.types import text_hash
from dialeval.files import atomic_dir
from dialeval.models import DynoNet, DynoNetConfig
from dialeval.models.loading import from_pretrained
from dialeval.models.modeling_dynonet import END, SELECT
from dialeval.protocols.cocoa.agents import MakeAgent
from dialeval.protocols.cocoa.entities import EntityLinker, SchemaLinkers
from dialeval.protocols.cocoa.environment import Act, Dialogue
from dialeval.protocols.cocoa.scenarios import KnowledgeBases, Scenario, Schema
from dialeval.training.graph_examples import DialogueGraph, GraphVocabulary, Word, collate

VOCABULARY = "vocabulary.json"


def tokenize(text: str, linker: EntityLinker) -> list[Word]:
    """Words in lower case and entities of an utterance.

    Examples:
        >>> tokenize("Do you like Chess?", EntityLinker({"Hobby": ["chess"]}))
        ['do', 'you', 'like', ('Hobby', 'chess'), '?']
    """
    words: list[Word] = []
    end = 0
    for mention in linker(text):
        words += re.findall(r"\w+|[^\w\s]", text[end : mention.start].lower())
        words.append((mention.attribute, mention.value))
        end = mention.end
    return [*words, *re.findall(r"\w+|[^\w\s]", text[end:].lower())]


class NeuralPolicy:
    """A trained model with its vocabulary and schema.

    Args:
        model (`DynoNet`):
            The model.
        vocabulary (`GraphVocabulary`):
            Its words.
        schema (`Schema`):
            Attributes and values that it can hear.
    """

    def __init__(self, model: DynoNet, vocabulary: GraphVocabulary, schema: Schema):
        self.model, self.vocabulary, self.schema = model, vocabulary, schema
        self.linkers = SchemaLinkers(schema.values)
        self.attribute_ids = {name: at for at, name in enumerate(schema.attributes, 1)}

    def graph(self, scenario: KnowledgeBases, side: int) -> DialogueGraph:
        """What an agent knows before the first turn."""
        return DialogueGraph(scenario.attributes, scenario.kbs[side], self.attribute_ids)

    def save(self, folder: Path) -> None:
        """Write the model, its vocabulary and its schema."""
        with atomic_dir(folder) as partial:
            self.model.save_pretrained(partial)
            values = {name: list(items) for name, items in self.schema.values.items()}
            content = {"words": self.vocabulary.words, "schema": values}
            text = json.dumps(content, ensure_ascii=False)
            (partial / VOCABULARY).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "NeuralPolicy":
        """Read what `save` wrote."""
        content = json.loads((folder / VOCABULARY).read_text("utf-8"))
        schema = Schema({name: tuple(items) for name, items in content["schema"].items()})
        model = from_pretrained(DynoNet, folder, what="agent").eval()
        return cls(model, GraphVocabulary(content["words"]), schema)


def make_policy(
    dialogues: Sequence[Dialogue], schema: Schema, hidden_size: int = 64, rounds: int = 2
) -> NeuralPolicy:
    """A new policy whose vocabulary is that of some dialogues.

    Args:
        dialogues (`Sequence[Dialogue]`):
            Dialogues to learn from.
        schema (`Schema`):
            Their schema.
        hidden_size (`int`, *optional*, defaults to 64):
            Width of the model; nodes have half of it.
        rounds (`int`, *optional*, defaults to 2):
            Rounds of message passing.

    Returns:
        `NeuralPolicy`: Untrained.
    """
    linkers = SchemaLinkers(schema.values)
    words = (
        word
        for dialogue in dialogues
        for _, act, _ in dialogue.acts
        for word in tokenize(act.text, linkers(dialogue.scenario.attributes))
    )
    vocabulary = GraphVocabulary(word for word in words if isinstance(word, str))
    config = DynoNetConfig(
        len(vocabulary), len(schema.attributes), hidden_size, max(2, hidden_size // 2),
        hidden_size, rounds,
    )  # fmt: skip
    return NeuralPolicy(DynoNet(config), vocabulary, schema)


def examples_of(policy: NeuralPolicy, dialogues: Iterable[Dialogue]) -> Iterator[dict[str, Tensor]]:
    """Every action of both agents, with what its agent knew and had heard before."""
    for dialogue in dialogues:
        graphs = [policy.graph(dialogue.scenario, side) for side in (0, 1)]
        linker = policy.linkers(dialogue.scenario.attributes)
        for speaker, act, heard in dialogue.acts:
            graph, partner = graphs[speaker], graphs[1 - speaker]
            words = tokenize(act.text, linker)
            labels = (
                graph.target(words, policy.vocabulary)
                if act.item is None
                else graph.target_item(act.item, policy.vocabulary)
            )
            yield {**graph.tensors(policy.vocabulary), "labels": labels}
            if act.item is None:
                graph.say(words, by_partner=False)
                partner.say(tokenize(heard, linker), by_partner=True)
            else:
                graph.select(act.item, by_partner=False)
                partner.select(act.item, by_partner=True)


class NeuralAgent:
    """An agent that speaks and selects as its policy does.

    Args:
        scenario (`Scenario`):
            The task.
        side (`int`):
            Which knowledge base it has, 0 or 1.
        policy (`NeuralPolicy`):
            The trained model.
        seed (`int`, *optional*, defaults to 0):
            Seed of its words.
        temperature (`float`, *optional*, defaults to 0.5):
            Of its words.
    """

    def __init__(
        self,
        scenario: Scenario,
        side: int,
        policy: NeuralPolicy,
        seed: int = 0,
        temperature: float = 0.5,
    ):
        self.policy, self.temperature = policy, temperature
        self.linker = policy.linkers(scenario.attributes)
        self.knowledge = policy.graph(scenario, side)
        self.items, self.selected = scenario.kbs[side], set[int]()
        number = text_hash([str(seed), scenario.id, str(side)]) % 2**63
        self.generator = torch.Generator().manual_seed(number)

    def observe(self, act: Act) -> None:
        """Take note of the partner's action."""
        if act.item is not None:
            self.knowledge.select(act.item, by_partner=True)
            return
        self.knowledge.say(tokenize(act.text, self.linker), by_partner=True)

    def act(self) -> Act:
        """Decode an action; an item is not selected twice before all were."""
        [act] = act_together([self])
        return act

    def free_items(self, count: int) -> Tensor:
        """Which of so many nodes are items that it may select."""
        if len(self.selected) == len(self.items):
            self.selected.clear()
        return torch.tensor([at < len(self.items) and at not in self.selected
                             for at in range(count)])  # fmt: skip

    def take(self, ids: Sequence[int]) -> Act:
        """What the agent does if this is its policy's response."""
        if ids[0] == SELECT:
            return self._select(ids[1] - len(self.policy.vocabulary))
        words = [self._word(number) for number in ids if number != END]
        self.knowledge.say(words, by_partner=False)
        return Act(" ".join(word if isinstance(word, str) else word[1] for word in words))

    def _select(self, number: int) -> Act:
        self.selected.add(number)
        self.knowledge.select(self.items[number], by_partner=False)
        return Act(item=self.items[number])

    def _word(self, number: int) -> Word:
        size = len(self.policy.vocabulary)
        if number < size:
            return self.policy.vocabulary.words[number]
        names = {node: name for name, node in self.knowledge.values.items()}
        return names[number - size]


def act_together(agents: Sequence[NeuralAgent]) -> list[Act]:
    """Actions of agents that share a policy, decoded in one batch."""
    policy = agents[0].policy
    batch = collate([agent.knowledge.tensors(policy.vocabulary) for agent in agents])
    free = torch.stack([agent.free_items(batch["kinds"].shape[1]) for agent in agents])
    generators = [agent.generator for agent in agents]
    responses = policy.model.decode(batch, free, generators, agents[0].temperature)
    return [agent.take(ids) for agent, ids in zip(agents, responses, strict=True)]


def neural_agents(policy: NeuralPolicy, temperature: float = 0.5) -> MakeAgent:
    """Makes neural agents with one policy."""

    def make(scenario: Scenario, side: int, seed: int) -> NeuralAgent:
        return NeuralAgent(scenario, side, policy, seed, temperature)

    return make
