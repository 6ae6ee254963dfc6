"""Chats of people as a source for the neural agent."""

import json

import pytest
import torch

from dialeval.errors import BadInput
from dialeval.protocols.cocoa import cocoa, load_schema, make_scenarios, play
from dialeval.protocols.cocoa.agents import ResponderAgent, act_in_batch
from dialeval.protocols.cocoa.chats import read_chats
from dialeval.protocols.cocoa.environment import moves, play_together
from dialeval.protocols.cocoa.neural import examples_of, make_policy
from dialeval.responders.base import answer
from dialeval.settings.cocoa import CocoaRun
from dialeval.training.graph_agent import GraphAgentTrainer


def message(agent, text):
    return {"agent": agent, "action": "message", "data": text}


def negotiation():
    kbs = [[{"Name": "book", "Count": 2, "Value": value}, {"Name": "hat", "Count": 1, "Value": 3}]
           for value in (1, 4)]  # fmt: skip
    events = [message(0, "i want  both Books"), message(1, "the hat for you"), message(0, " "),
              {"agent": 0, "action": "select", "data": {"book": 0, "hat": 1}}]  # fmt: skip
    return {"uuid": "n1", "scenario": {"kbs": kbs}, "events": events, "outcome": {"reward": None}}


def friends():
    kbs = [[{"Name": "Anna", "Hobby": "chess"}, {"Name": "Ben", "Hobby": "rowing"}],
           [{"Name": "Anna", "Hobby": "chess"}, {"Name": "Leo", "Hobby": "chess"}]]  # fmt: skip
    select = {"agent": 1, "action": "select", "data": {"Name": "Anna", "Hobby": "chess"}}
    events = [message(0, "do you know anna ?"), select]
    return {"uuid": "f1", "scenario": {"kbs": kbs}, "events": events, "outcome": {"reward": 1}}


def test_utterances_of_a_negotiation_are_read_and_its_selections_are_not(write):
    path = write("chats.json", json.dumps([negotiation()]))
    chats = read_chats([path], taken=["Name"])
    [chat] = chats.dialogues
    assert chat.scenario.attributes == ("Name (chats)", "Count", "Value")
    assert chat.scenario.kbs[1] == (("book", "2", "4"), ("hat", "1", "3"))
    assert [(row, act.text) for row, act, _ in chat.acts] == [
        (0, "i want both Book"), (1, "the hat for you"),
    ]  # fmt: skip
    assert (chats.selections, chats.other_selections) == (0, 1)
    assert chats.schema.values == {"Name (chats)": ("book", "hat"), "Count": (), "Value": ()}
    policy = make_policy(chats.dialogues, chats.schema, 8)
    first, second = examples_of(policy, chats.dialogues)
    names = policy.vocabulary.words
    assert [names[number] for number in first["labels"][:3]] == ["i", "want", "both"]
    assert first["labels"][3] >= len(names)  # the book is copied from the graph
    assert second["input_ids"].tolist()[:3] == first["labels"][:3].tolist()  # it heard them


def test_selections_of_an_item_are_actions(write):
    chats = read_chats([write("chats.json", json.dumps([friends()]))])
    [chat] = chats.dialogues
    assert [act.item for _, act, _ in chat.acts] == [None, ("anna", "chess")]
    assert (chats.selections, chats.other_selections, chat.complete) == (1, 0, True)


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "could not read the chats"), ("{}", "expected a list of chats"),
     ('[{"events": []}]', "expected a chat, but KeyError"), ("[]", "there are no utterances")],
)  # fmt: skip
def test_other_files_are_explained(write, content, message):
    with pytest.raises(BadInput, match=message):
        read_chats([write("chats.json", content)])


def test_the_neural_agent_learns_from_both_sources_and_plays(write, tmp_path):
    path = write("chats.json", json.dumps([negotiation()] * 5))
    run = CocoaRun(
        schema="embedded", agents=["neural"], scenarios=2, items=4, resamples=100, max_turns=40,
        self_play=8, epochs=1, hidden_size=8, chats=[str(path)], channels=["normal"],
        output_dir=str(tmp_path / "run"),
    )  # fmt: skip
    assert cocoa(run).cell("turns", "neural").n == 2
    saved = json.loads((tmp_path / "run" / "neural" / "vocabulary.json").read_text())
    assert "want" in saved["words"] and "Name (chats)" in saved["schema"]
    assert set(load_schema("embedded").values) < set(saved["schema"])


@pytest.mark.shared
def test_deal_or_no_deal(shared):
    folder = shared / "dealornodeal"
    chats = read_chats([folder / "val.json", folder / "test.json"])
    assert len(chats.dialogues) > 800 and chats.selections == 0 < chats.other_selections
    assert chats.schema.values["Name"] == ("ball", "book", "hat")
    some = chats.dialogues[:60]
    torch.manual_seed(0)
    policy = make_policy(some, chats.schema, 16)
    trainer = GraphAgentTrainer(policy.model, list(examples_of(policy, some)), 3, 16, 0.01)
    losses = [row["validation_loss"] for row in trainer.train() if "validation_loss" in row]
    assert losses[-1] < losses[0]


class Counting:
    """Answers by the text it reads, and counts its batches."""

    name = signature = "counting"

    def __init__(self):
        self.batches = []

    def stream(self, passages):
        rows = list(passages)
        self.batches.append(len(rows))
        for number, row in enumerate(rows):
            text = f"{row.id} {len(row.context)}" if len(row.context) < 5 else "SELECT 1"
            yield number, answer(row, text, self)


def test_responders_answer_all_scenarios_in_batches_as_they_answer_one(tmp_path):
    scenarios = make_scenarios(load_schema("embedded"), 4, items=4)
    alone, together = Counting(), Counting()
    expected = [
        play(scenario, [ResponderAgent(scenario, side, alone) for side in (0, 1)], max_turns=8)
        for scenario in scenarios
    ]
    games = [
        moves(scenario, [ResponderAgent(scenario, side, together) for side in (0, 1)], max_turns=8)
        for scenario in scenarios
    ]
    assert play_together(games, act_in_batch) == expected
    assert together.batches[0] == 4 and sum(together.batches) == len(alone.batches)
