"""Agents: one of rules, one that only reads entities, and one around any responder."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from random import Random

from dialeval.dialogues import Passage, Turn
from dialeval.protocols.cocoa.entities import EntityLinker, SchemaLinkers
from dialeval.protocols.cocoa.environment import Act
from dialeval.protocols.cocoa.scenarios import Item, Scenario, Schema
from dialeval.responders import Responder, respond

MakeAgent = Callable[[Scenario, int, int], "object"]
"""From a scenario, the agent's side and a seed to an agent."""
_NEGATIONS = frozenset(["no", "none", "not", "nobody", "neither"])
_CONFIRMED, _DENIED = 2.0, -8.0
_ENOUGH = 4.0  # weight from which on an item is selected


class RuleAgent:
    """Asks about its most informative attribute, answers from its items, selects when it is sure.

    Args:
        scenario (`Scenario`):
            The task.
        side (`int`):
            Which knowledge base it has, 0 or 1.
        linker (`EntityLinker`):
            Finds values of the scenario's attributes in utterances.
        seed (`int`, *optional*, defaults to 0):
            Seed of its choices among equals.
        words (`bool`, *optional*, defaults to `True`):
            Whether it reads words; without them every entity it hears counts as one that the
            partner knows, and it answers each of them.
    """

    def __init__(
        self,
        scenario: Scenario,
        side: int,
        linker: EntityLinker,
        seed: int = 0,
        words: bool = True,
    ):
        self.attributes, self.items = scenario.attributes, scenario.kbs[side]
        self.linker, self.words = linker, words
        self.rng = Random(f"{seed}/{scenario.id}/{side}")
        self.weights = dict.fromkeys(self.items, 0.0)
        self.settled: set[str] = set()
        self.selected: list[Item] = []
        self.questions: list[tuple[str, str]] = []
        self.offered: Item | None = None

    def observe(self, act: Act) -> None:
        """Take note of the partner's selection, question or answer."""
        if act.item is not None:
            self.offered = act.item if act.item in self.weights else self.offered
            return
        words = set(re.findall(r"\w+", act.text.lower()))
        denied = self.words and bool(words & _NEGATIONS)
        asks = "?" in act.text and bool(words & {"any", "do", "does"}) if self.words else True
        for mention in self.linker(act.text):
            column = self.attributes.index(mention.attribute)
            change = _DENIED if denied else _CONFIRMED
            for item in self.items:
                if item[column] == mention.value:
                    self.weights[item] += change
            if asks and mention.value not in self.settled:
                self.questions.append((mention.attribute, mention.value))

    def act(self) -> Act:
        """Accept a selection, answer, select when sure, or ask."""
        if self.offered is not None and self.offered not in self.selected[-1:]:
            return self._select(self.offered)
        if self.questions:
            return Act(self._answer(*self.questions.pop(0)))
        best = self._best()
        if best is not None and self.weights[best] >= _ENOUGH:
            return self._select(best)
        question = self._question()
        if question is not None:
            return Act(question)
        return self._select(best) if best is not None else self._select(self.items[0])

    def _select(self, item: Item) -> Act:
        self.selected.append(item)
        return Act(item=item)

    def _best(self) -> Item | None:
        """The most likely item that it has not selected yet; the least wrong if all were."""
        left = [item for item in self.items if item not in self.selected]
        if not left:
            self.selected.clear()
            left = list(self.items)
        highest = max(self.weights[item] for item in left)
        return self.rng.choice([item for item in left if self.weights[item] == highest])

    def _answer(self, attribute: str, value: str) -> str:
        column = self.attributes.index(attribute)
        count = sum(item[column] == value for item in self.items)
        self.settled.add(value)
        if not count:
            return f"no , i have no friend with {attribute.lower()} {value} ."
        return f"yes , i have {count} with {attribute.lower()} {value} ."

    def _question(self) -> str | None:
        """A question about the attribute that tells most, and its most frequent open value."""
        possible = [item for item in self.items if self.weights[item] > _DENIED / 2]
        options = []
        for column, attribute in enumerate(self.attributes):
            counts = Counter(item[column] for item in possible or self.items)
            open_values = [value for value in counts if value not in self.settled]
            if open_values:
                options.append((entropy(counts.values()), attribute, open_values, counts))
        if not options:
            return None
        _, attribute, values, counts = max(options, key=lambda option: option[0])
        most = max(counts[value] for value in values)
        value = self.rng.choice(sorted(value for value in values if counts[value] == most))
        self.settled.add(value)
        return f"do you have any friend with {attribute.lower()} {value} ?"


def entropy(counts: Iterable[int]) -> float:
    """Entropy of a distribution of counts, in bits.

    Examples:
        >>> entropy([1, 1, 2])
        1.5
    """
    values = list(counts)
    total = sum(values)
    return -sum(count / total * math.log2(count / total) for count in values)


INSTRUCTION = (
    "You and your partner each have a list of friends. Exactly one friend is on both lists. Find "
    "out who by asking about attributes, one short question or answer at a time. When you know the "
    "friend, write only: SELECT and the number of the row. Your list:\n{table}\n"
)


class ResponderAgent:
    """An agent around a responder, which reads its knowledge base as a table in its prompt.

    Args:
        scenario (`Scenario`):
            The task.
        side (`int`):
            Which knowledge base it has, 0 or 1.
        responder (`Responder`):
            A language model, an endpoint, or anything that replies.
    """

    def __init__(self, scenario: Scenario, side: int, responder: Responder):
        self.scenario, self.items = scenario, scenario.kbs[side]
        self.responder, self.turns = responder, list[Turn]()
        self.prompt = INSTRUCTION.format(table=item_table(scenario.attributes, self.items))

    def observe(self, act: Act) -> None:
        """Add what the partner did to the conversation."""
        text = act.text
        if act.item is not None:
            text = f"I select: {', '.join(act.item)}."
        self.turns.append(Turn("partner", text))

    def act(self) -> Act:
        """The responder's reply; `SELECT n` selects a row."""
        [act] = act_in_batch([self])
        return act

    def passage(self) -> Passage:
        """The conversation so far, which the responder answers."""
        opening = self.prompt + (self.turns[0].text if self._partner_began() else "Begin.")
        rest = self.turns[1:] if self._partner_began() else self.turns
        context = (Turn("partner", opening), *rest)
        return Passage(context, "", id=f"{self.scenario.id}/{len(self.turns)}", speaker="agent")

    def take(self, response: str) -> Act:
        """What the agent does if this is the responder's reply."""
        text = " ".join(response.split())[:400]
        self.turns.append(Turn("agent", text))
        return Act(item=item) if (item := self._selected(text)) else Act(text or "...")

    def _partner_began(self) -> bool:
        return bool(self.turns) and self.turns[0].speaker == "partner"

    def _selected(self, text: str) -> Item | None:
        match = re.search(r"\bselect\W*(?:row\W*)?(\d+)", text, re.IGNORECASE)
        number = int(match[1]) if match else 0
        return self.items[number - 1] if 0 < number <= len(self.items) else None


def act_in_batch(agents: Sequence[ResponderAgent]) -> list[Act]:
    """Actions of agents that share a responder, which answers them together."""
    answers = respond(agents[0].responder, [agent.passage() for agent in agents])
    return [agent.take(row.response) for agent, row in zip(agents, answers, strict=True)]


def item_table(attributes: Sequence[str], items: Sequence[Item]) -> str:
    """Items as numbered rows.

    Examples:
        >>> print(item_table(["Name", "Hobby"], [("anna", "chess")]))
        row | Name | Hobby
        1 | anna | chess
    """
    lines = [" | ".join(["row", *attributes])]
    lines += [" | ".join([str(row), *item]) for row, item in enumerate(items, 1)]
    return "\n".join(lines)


def rule_agents(schema: Schema, words: bool = True) -> MakeAgent:
    """Makes rule-based agents that know the values of a schema."""
    linkers = SchemaLinkers(schema.values)

    def make(scenario: Scenario, side: int, seed: int) -> RuleAgent:
        return RuleAgent(scenario, side, linkers(scenario.attributes), seed, words)

    return make
