"""The mutual friends task: scenarios, rules, channels, agents, and a whole tiny run."""

import json
from collections import Counter
from random import Random

import numpy as np
import pytest
import torch

from dialeval.dialogues import BadInput
from dialeval.metrics.cocoa_results import (
    ENTITIES_ONLY,
    READS_WORDS,
    SELDOM,
    SELECTIONS,
    UNDECIDED,
    CocoaResults,
    attention_verdict,
)
from dialeval.protocols.cocoa import Act, Scenario, cocoa, load_schema, make_scenarios, play
from dialeval.protocols.cocoa.agents import ResponderAgent, RuleAgent, entropy, rule_agents
from dialeval.protocols.cocoa.channels import confusing_entity, kept_entities, make_channel
from dialeval.protocols.cocoa.entities import EntityLinker
from dialeval.protocols.cocoa.neural import (
    NeuralAgent,
    NeuralPolicy,
    examples_of,
    make_policy,
    neural_agents,
)
from dialeval.protocols.cocoa.study import _read_lines
from dialeval.reports.cocoa import write_cocoa_report
from dialeval.responders.simple import ConstantResponder
from dialeval.settings.cocoa import CocoaRun
from dialeval.training.graph_agent import GraphAgentTrainer

SCHEMA = load_schema("embedded")
NAMES = ("Name", "Hobby")
SMALL = Scenario(
    NAMES,
    (
        (("anna", "chess"), ("ben", "chess"), ("clara", "baking")),
        (("anna", "rowing"), ("ben", "chess"), ("leo", "rowing")),
    ),
    "small",
)


def test_scenarios_have_one_shared_item_and_repeat_with_their_seed():
    scenarios = make_scenarios(SCHEMA, 30, items=6, seed=3)
    for scenario in scenarios:
        assert len(set(scenario.kbs[0]) & set(scenario.kbs[1])) == 1
        assert [len(set(kb)) for kb in scenario.kbs] == [6, 6]
        for kb in scenario.kbs:
            for item in kb:
                pairs = zip(scenario.attributes, item, strict=True)
                assert all(value in SCHEMA.values[name] for name, value in pairs)
    assert make_scenarios(SCHEMA, 30, items=6, seed=3) == scenarios
    assert len({scenario.attributes for scenario in scenarios}) > 5
    assert {len(s.kbs[0]) for s in make_scenarios(SCHEMA, 40, items=0)} <= set(range(5, 13))


def test_the_dirichlet_makes_some_values_frequent():
    """With alpha .3 to 3 over 2n candidates the most frequent value is far above uniform."""
    scenarios = make_scenarios(SCHEMA, 60, items=8)
    shares = [
        max(Counter(item[0] for item in kb).values()) / len(kb)
        for scenario in scenarios
        for kb in scenario.kbs
    ]
    assert np.mean(shares) > 0.25 and min(shares) < 0.3


def test_scenarios_without_exactly_one_shared_item_are_refused():
    with pytest.raises(BadInput, match="'bad' has 0 items that both agents know"):
        Scenario(NAMES, ((("anna", "chess"),), (("ben", "chess"),)), "bad")
    with pytest.raises(BadInput, match="has 2 items"):
        Scenario(NAMES, (SMALL.kbs[0], SMALL.kbs[0][:2]), "two")
    tiny = load_schema("embedded").__class__({"Name": ("anna",), "Hobby": ("chess", "rowing")})
    with pytest.raises(BadInput, match="no scenario of 10 items"):
        make_scenarios(tiny, 1, 10, 2)
    with pytest.raises(BadInput, match="only 2 attributes"):
        make_scenarios(tiny, 1, 2, 3)


def test_a_schema_is_read_in_the_original_format(write):
    content = {
        "values": {"person": ["Anna", "Ben"], "hobby": ["Chess"]},
        "attributes": [{"name": "Name", "value_type": "person", "unique": False},
                       {"name": "Hobby", "value_type": "hobby"}],
    }  # fmt: skip
    path = write("schema.json", json.dumps(content))
    assert load_schema(str(path)).values == {"Name": ("anna", "ben"), "Hobby": ("chess",)}
    with pytest.raises(BadInput, match="expected a schema"):
        load_schema(str(write("none.json", "{}")))


@pytest.mark.shared
def test_the_original_schema(shared):
    schema = load_schema(str(shared / "mutualfriends" / "schema.json"))
    assert schema.attributes[:3] == ["Name", "School", "Major"]
    assert len(make_scenarios(schema, 5)) == 5


class Scripted:
    """Says and selects what it is given, and remembers what it heard."""

    def __init__(self, *acts):
        self.acts, self.heard = list(acts), []

    def act(self):
        return self.acts.pop(0) if self.acts else Act("well")

    def observe(self, act):
        self.heard.append(act)


def test_a_dialogue_ends_when_both_last_selections_agree():
    ben, anna = Act(item=("ben", "chess")), Act(item=("anna", "chess"))
    agents = [Scripted(anna, ben), Scripted(Act("hello"), ben, ben)]
    dialogue = play(SMALL, agents, seed=1)
    assert dialogue.complete and dialogue.acts[-1][1] == ben
    assert dialogue.selections == sum(act.item is not None for _, act, _ in dialogue.acts)
    spoken = {speaker for speaker, _, _ in dialogue.acts}
    assert spoken == {0, 1}
    long = play(SMALL, [Scripted(), Scripted()], max_turns=46)
    assert not long.complete and long.turns == 46
    firsts = {play(SMALL, [Scripted(), Scripted()], seed=seed).acts[0][0] for seed in range(8)}
    assert firsts == {0, 1}


def test_selections_pass_the_channel_unchanged_and_words_do_not():
    agents = [Scripted(Act("i know anna"), Act(item=("ben", "chess"))) for _ in range(2)]
    play(SMALL, agents, lambda text, scenario, speaker, rng: "noise", max_turns=4)
    assert [act.text for act in agents[0].heard] == ["noise", ""]
    assert agents[0].heard[1].item == ("ben", "chess")


def test_channels():
    rng = Random(0)
    text = "do you have any friend with name anna who likes chess ?"
    kept = kept_entities(text, SMALL, 0, rng)
    assert "anna" in kept and "chess" in kept and not kept.startswith("do you have any")
    assert len(kept.split()) == len(text.split())
    # B knows anna, ben, leo and rowing, chess; shared are ben and chess.
    confused = confusing_entity(text, SMALL, 0, rng)
    assert confused == "do you have any friend with name leo who likes rowing ?"
    one_sided = make_channel("confusing-entity", "first")
    assert one_sided(text, SMALL, 1, rng) == text
    noise = make_channel("random-inputs")(text, SMALL, 0, rng)
    assert "anna" not in noise


def test_the_rule_agent_answers_asks_and_selects():
    linker = EntityLinker({name: SCHEMA.values[name] for name in NAMES})
    agent = RuleAgent(SMALL, 1, linker)
    agent.observe(Act("do you have any friend with hobby rowing ?"))
    assert agent.act().text == "yes , i have 2 with hobby rowing ."
    agent.observe(Act("do you have any friend with hobby baking ?"))
    assert agent.act().text == "no , i have no friend with hobby baking ."
    # names: 3 different, entropy 1.58; hobbies: 2 and 1, entropy .92: it asks about a name
    assert agent.act().text.startswith("do you have any friend with name")
    agent.observe(Act("yes , i have 1 with name ben ."))
    agent.observe(Act("yes , i have 2 with hobby chess ."))
    assert agent.act().item == ("ben", "chess")
    agent.observe(Act(item=("anna", "rowing")))
    assert agent.act().item == ("anna", "rowing")  # accepts what it knows
    assert entropy([2, 1]) == pytest.approx(0.918, abs=1e-3)


def test_denials_count_for_one_who_reads_words():
    linker = EntityLinker({name: SCHEMA.values[name] for name in NAMES})
    reader, deaf = (RuleAgent(SMALL, 0, linker, words=words) for words in (True, False))
    for agent in (reader, deaf):
        agent.observe(Act("no , i have no friend with hobby baking ."))
    assert reader.weights["clara", "baking"] < 0 < deaf.weights["clara", "baking"]


def completion(make, channel, scenarios):
    dialogues = [
        play(scenario, [make(scenario, side, 0) for side in (0, 1)], make_channel(channel))
        for scenario in scenarios
    ]
    return np.array([dialogue.complete for dialogue in dialogues])


def test_an_agent_that_only_reads_entities_does_not_mind_random_words():
    scenarios = make_scenarios(SCHEMA, 60)
    rule, entities = rule_agents(SCHEMA), rule_agents(SCHEMA, words=False)
    assert completion(rule, "normal", scenarios).mean() > 0.95
    normal = completion(entities, "normal", scenarios)
    kept = completion(entities, "random-inputs-kept-entities", scenarios)
    confused = completion(entities, "confusing-entity", scenarios)
    assert abs(normal.mean() - kept.mean()) < 0.12
    assert confused.mean() < normal.mean() - 0.2


def test_a_responder_selects_by_row_number():
    agent = ResponderAgent(SMALL, 0, ConstantResponder("I think SELECT row 2!"))
    agent.observe(Act("hello"))
    assert agent.act().item == ("ben", "chess")
    assert "2 | ben | chess" in agent.prompt and "rowing" not in agent.prompt
    talker = ResponderAgent(SMALL, 1, ConstantResponder("select 9"))
    assert talker.act() == Act("select 9")  # there is no such row


@pytest.fixture(scope="module")
def policy():
    torch.manual_seed(0)
    scenarios = make_scenarios(SCHEMA, 60, items=5, attributes=2, seed=9)
    rule = rule_agents(SCHEMA)
    dialogues = [play(s, [rule(s, side, 0) for side in (0, 1)]) for s in scenarios]
    policy = make_policy(dialogues, SCHEMA, 32)
    examples = list(examples_of(policy, dialogues))
    losses = [
        row["validation_loss"]
        for row in GraphAgentTrainer(policy.model, examples, 4, 16, 0.01).train()
        if "validation_loss" in row
    ]
    return policy, losses


def test_the_neural_agent_learns_to_speak_and_to_select(policy):
    policy, losses = policy
    assert losses[-1] < 0.7 * losses[0]
    [scenario] = make_scenarios(SCHEMA, 1, items=5, attributes=2, seed=4)
    dialogue = play(scenario, [NeuralAgent(scenario, side, policy) for side in (0, 1)])
    again = play(scenario, [NeuralAgent(scenario, side, policy) for side in (0, 1)])
    assert dialogue == again
    texts = [act.text for _, act, _ in dialogue.acts if act.item is None]
    assert any("friend" in text for text in texts)
    for speaker, act, _ in dialogue.acts:
        assert act.item is None or act.item in scenario.kbs[speaker]


def test_a_policy_is_saved_and_loaded(policy, tmp_path):
    policy, _ = policy
    policy.save(tmp_path / "agent")
    loaded = NeuralPolicy.load(tmp_path / "agent")
    [scenario] = make_scenarios(SCHEMA, 1, items=5, attributes=2, seed=4)
    tensors = policy.graph(scenario, 0).tensors(policy.vocabulary)
    batch = {name: tensor[None] for name, tensor in tensors.items()}
    labels = torch.tensor([[6, 7, 3]])
    with torch.no_grad():
        pair = (item.model(**batch, labels=labels).logits for item in (policy, loaded))
        assert torch.equal(*pair)


@pytest.mark.parametrize(
    ("kept", "random", "verdict"),
    [(0.5, 0.01, ENTITIES_ONLY), (0.01, 0.01, READS_WORDS), (0.5, 0.5, SELECTIONS),
     (0.01, 0.5, UNDECIDED)],
)  # fmt: skip
def test_verdicts(kept, random, verdict):
    assert attention_verdict("bot", kept, random).verdict == verdict


@pytest.mark.parametrize(
    ("kept", "random", "falls", "verdict"),
    [(0.6, 0.08, (0.1, 0.5), UNDECIDED), (0.6, 0.01, (0.3, 0.5), UNDECIDED),
     (0.6, 0.01, (0.1, 0.5), ENTITIES_ONLY), (0.6, 0.5, (0.1, 0.1), SELECTIONS),
     (0.01, 0.01, (0.5, 0.5), READS_WORDS)],
)  # fmt: skip
def test_a_change_that_may_be_large_is_not_called_none(kept, random, falls, verdict):
    assert attention_verdict("bot", kept, random, *falls).verdict == verdict


@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_an_agent_that_never_completes_is_not_said_to_ignore_its_inputs(rate):
    assert attention_verdict("bot", 1.0, 1.0, rate, rate, rate).verdict == SELDOM


def test_a_whole_run_resumes_and_writes_its_page(tmp_path):
    run = CocoaRun(
        schema="embedded", agents=["rule", "<b>bot"], scenarios=5, model_scenarios=3, items=4,
        resamples=100, max_turns=10, output_dir=str(tmp_path / "run"),
    )  # fmt: skip
    models = {"<b>bot": lambda s, side, seed: ResponderAgent(s, side, ConstantResponder("<i>"))}
    results = cocoa(run, models=models)
    assert results.cell("completion_rate", "<b>bot").n == 3
    assert results.cell("turns", "rule", "random-inputs").details["p"] <= 1
    assert {row.agent for row in results.verdicts} == {"rule", "<b>bot"}
    assert cocoa(run).results == results.results  # nothing is played again
    page = write_cocoa_report(run.output_dir).read_text("utf-8")
    assert "<b>bot" not in page and "<i>" not in page and "&lt;b&gt;bot" in page
    assert CocoaResults.load(run.output_dir).verdicts == results.verdicts
    with pytest.raises(BadInput, match="another run wrote here: it had items 4"):
        cocoa(CocoaRun(**{**vars(run), "items": 5}), models=models)


def test_language_models_speak_in_short_utterances(tmp_path, monkeypatch):
    given = []

    def load(name, **options):
        given.append((name, options["max_new_tokens"]))
        return ConstantResponder("select 1")

    monkeypatch.setattr("dialeval.responders.registry.load_responder", load)
    run = CocoaRun(
        schema="embedded", agents=["some-model"], scenarios=2, items=4, channels=["normal"],
        resamples=100, max_turns=4, model_tokens=7, output_dir=str(tmp_path / "run"),
    )  # fmt: skip
    cocoa(run)
    assert given == [("some-model", 7)]
    with pytest.raises(BadInput, match="`model_tokens` is 1 or more"):
        CocoaRun(model_tokens=0)


def test_a_line_separator_in_an_utterance_ends_no_record(tmp_path):
    rows = [{"lines": [["A", "one\u2028two\x85", "three"]]}, {"lines": []}]
    path = tmp_path / "bot.normal.jsonl"
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")
    assert _read_lines(path) == rows


def test_another_number_of_scenarios_is_played_again(tmp_path):
    run = CocoaRun(
        schema="embedded", agents=["bot"], scenarios=5, model_scenarios=2, items=4,
        channels=["normal"], resamples=100, max_turns=4, output_dir=str(tmp_path / "run"),
    )  # fmt: skip
    models = {"bot": lambda s, side, seed: ResponderAgent(s, side, ConstantResponder("select 1"))}
    assert cocoa(run, models=models).cell("turns", "bot").n == 2
    more = CocoaRun(**{**vars(run), "model_scenarios": 3, "channels": ["normal", "random-inputs"]})
    results = cocoa(more, models=models)
    assert [results.cell("turns", "bot", name).n for name in more.channels] == [3, 3]


def test_the_weights_of_the_epoch_that_completes_most_are_kept():
    scenarios = make_scenarios(SCHEMA, 4, items=5, attributes=2, seed=9)
    rule = rule_agents(SCHEMA)
    dialogues = [play(s, [rule(s, side, 0) for side in (0, 1)]) for s in scenarios]
    policy = make_policy(dialogues, SCHEMA, 8)
    model, examples = policy.model, list(examples_of(policy, dialogues))
    weights, rates = [], iter([0.2, 0.9, 0.9, 0.1])

    def completion_rate():
        weights.append(model.output.weight.detach().clone())
        return next(rates)

    progress = list(
        GraphAgentTrainer(model, examples, 4, 16, completion_rate=completion_rate).train()
    )
    assert [row["completion_rate"] for row in progress if "completion_rate" in row][:2] == [
        0.2,
        0.9,
    ]
    assert torch.equal(model.output.weight, weights[2])  # of equal ones the later
    assert not torch.equal(model.output.weight, weights[3])


@pytest.mark.parametrize(
    "wrong", [{"channels": ["static"]}, {"side": "left"}, {"scenarios": 0}, {"items": 1}]
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(BadInput):
        CocoaRun(**wrong)


def test_agents_are_made_for_both_sides(policy):
    make = neural_agents(policy[0])
    assert isinstance(make(SMALL, 1, 0), NeuralAgent)
