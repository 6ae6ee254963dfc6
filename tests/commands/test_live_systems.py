"""`name=model@http://host/v1` works wherever a command takes a system, and the seed arrives."""

import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dialeval.commands import app
from dialeval.dialogues import Passage, Turn, to_passages, write_passages
from dialeval.metrics.evaluation_results import EvaluationResults
from tests.responders.endpoint_server import completion, refusing, serving

WORDS = ["tea", "is", "cold", "now", "we", "bought", "a", "bike", "and", "you", "like", "it"]
QUICK = ("--human", "human.jsonl", "--evaluator", "svm-unigram")
FEW = ("--data", "human.jsonl", "--limit", "4")
COMMANDS = {
    "generate": ("generate", *FEW, "--output", "{seed}.jsonl", "--model"),
    "generate responder": ("generate", *FEW, "--output", "{seed}.jsonl", "--responder"),
    "generate system": ("generate", *FEW, "--output", "{seed}.jsonl", "--system"),
    "selfchat": ("selfchat", *FEW, "--turns", "1", "--output", "{seed}.jsonl", "--one"),
    "selfchat system": ("selfchat", *FEW, "--turns", "1", "--output", "{seed}.jsonl", "--system"),
    "evaluate": ("evaluate", *QUICK, "--folds", "2", "--seeds", "1", "-o", "{seed}", "--system"),
    "ere": ("ere", *QUICK, "--folds", "2", "-o", "{seed}", "--system"),
    "transfer": ("transfer", *QUICK, "-o", "{seed}", "--system", "parrot", "--system"),
    "robustness": ("robustness", *FEW, "-s", "random-swap", "--resamples", "100", "--evaluator",
                   "none", "--decoding", "sampling", "-o", "{seed}", "--system"),
}  # fmt: skip


@pytest.fixture
def human(tmp_path, monkeypatch):
    """80 human passages, two per dialogue."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(0)

    def text() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(3, 9)))

    passages = [
        Passage((Turn("A", f"{text()} {row}"),), text(), id=f"p{row}", dialogue_id=f"d{row // 2}")
        for row in range(80)
    ]
    write_passages(to_passages(passages), tmp_path / "human.jsonl")


def invoke(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments))
    if done.exception:
        raise done.exception
    return done.output


@pytest.mark.parametrize("command", COMMANDS)
def test_a_server_is_a_system_and_gets_the_seed(human, command):
    seeds = []
    with serving() as server:
        for seed in ("0", "1"):
            server.bodies.clear()
            arguments = [part.format(seed=seed) for part in COMMANDS[command]]
            invoke(*arguments, f"bot=tiny@{server.url}", "--seed", seed)
            assert {body["model"] for body in server.bodies} == {"tiny"}
            assert {body["max_tokens"] for body in server.bodies} == {128}
            seeds.append({body["seed"] for body in server.bodies})
    assert seeds[0] and not seeds[0] & seeds[1]


def test_a_server_is_asked_by_the_panel(human):
    with serving() as server:
        invoke(
            "evaluate", *QUICK, "--folds", "2", "--seeds", "1", "-o", "run", "--system", "parrot"
        )
        files = ("--human", "human.jsonl", "--limit", "3", "--resamples", "20")
        invoke("panel", "run", "--llm", f"tiny@{server.url}", *files)
        bodies = list(server.bodies)
    assert {body["model"] for body in bodies} == {"tiny"} and len(bodies) == 3 * 2
    assert {body["temperature"] for body in bodies} == {0.0}  # greedy without --samples


EVALUATE = ("evaluate", *QUICK, "--folds", "2", "--seeds", "1", "-o", "run")


def test_a_newer_server_is_evaluated_and_cut_replies_are_counted(human, tmp_path):
    (tmp_path / "persona.txt").write_text("\ufeffYou are Bob.\n", "utf-8")
    with serving() as server:
        server.usual = refusing("max_tokens", "temperature", finish="length")
        output = invoke(
            *EVALUATE, "--system", f"bot=new@{server.url}", "--system-prompt", "persona.txt",
            "--temperature", "0", "--max-new-tokens", "9",
        )  # fmt: skip
        answered = [body for body in server.bodies if "max_completion_tokens" in body]
    assert {body["max_completion_tokens"] for body in answered} == {9}
    assert not any("max_tokens" in body for body in answered)
    system = {"role": "system", "content": "You are Bob."}
    assert all(body["messages"][0] == system for body in answered)
    cut = "80 of 80 replies were cut at the maximum length: raise --max-new-tokens"
    results = EvaluationResults.load("run")
    assert cut in results.verdicts[0].flags and f"bot: {cut}." in results.warnings
    careful = " ".join(output.partition("Careful")[2].partition("Next")[0].split())
    assert careful.count("were cut at the maximum length") == 1


def test_a_temperature_is_sent_only_if_it_is_given(human):
    with serving() as server:
        for given in ([], ["--temperature", "0.3"], ["--decoding", "greedy"]):
            output = ["--output", f"{len(given)}{given[-1:]}.jsonl"]
            invoke("generate", *FEW, *output, "--system", f"bot=m@{server.url}", *given)
        sent = [body.get("temperature") for body in server.bodies]
    assert sent == [None] * 4 + [0.3] * 4 + [0.0] * 4


def test_a_server_that_answers_every_prompt_alike_is_named(human, caplog):
    with serving() as server:
        server.usual = completion("Hello!")
        invoke(*EVALUATE, "--system", f"bot=tiny@{server.url}")
    warnings = EvaluationResults.load("run").warnings
    assert "bot gives the same response to every context: 'Hello!'." in warnings
    assert "bot answers all 80 prompts alike: 'Hello!'" in caplog.text


def test_two_servers_make_whole_dialogues_that_piles_are_made_of(human, caplog):
    real = [
        {"id": f"real{row}", "messages": [
            {"role": ("user", "assistant")[turn % 2], "content": f"{word} {turn} yes {row}"}
            for turn, word in enumerate(WORDS[:6])
        ]}
        for row in range(24)
    ]  # fmt: skip
    Path("real.jsonl").write_text("".join(json.dumps(record) + "\n" for record in real), "utf-8")
    with serving() as server:
        server.usual = completion(finish="length")
        invoke(
            "selfchat", "--system", f"bot=helper@{server.url}", "--system",
            f"sim=person@{server.url}", "--system-prompt", "Help.", "--second-system-prompt",
            "You are a person.", "--data", "real.jsonl", "--openings", "--turns", "5", "--limit",
            "24", "--output", "sim.jsonl",
        )  # fmt: skip
        prompts = {body["model"]: body["messages"][0]["content"] for body in server.bodies}
    assert prompts == {"helper": "Help.", "person": "You are a person."}
    assert "120 of 120 replies were cut" in caplog.text
    chats = [json.loads(line) for line in Path("sim.jsonl").read_text("utf-8").splitlines()]
    assert {turn["content"] for chat in chats for turn in chat["messages"][:1]} == {
        f"tea 0 yes {row}" for row in range(24)
    }  # each starts as a real dialogue does
    assert [turn["author"] for turn in chats[0]["messages"]] == ["human", *["bot", "sim"] * 3][:6]
    output = invoke(
        "evaluate", "--human", "real.jsonl", "--system", "sim=sim.jsonl", "--role", "user",
        "--evaluator", "svm-unigram", "--folds", "2", "--seeds", "1", "-o", "piles",
    )  # fmt: skip
    assert "compared as two piles" in output and "sim" in output


@pytest.mark.parametrize(
    ("prompt", "message"), [("nowhere.txt", "no such file"), ("empty.txt", "is empty")]
)
def test_a_system_prompt_that_cannot_be_read_is_refused(human, tmp_path, prompt, message):
    (tmp_path / "empty.txt").touch()
    with pytest.raises(Exception, match=message):
        invoke("generate", *FEW, "--system", "m@http://127.0.0.1:9", "--system-prompt", prompt)
