"""`name=model@http://host/v1` works wherever a command takes a system, and the seed arrives."""

import random

import pytest
from typer.testing import CliRunner

from dialeval.commands import app
from dialeval.dialogues import Passage, Turn, to_passages, write_passages
from tests.responders.endpoint_server import serving

WORDS = ["tea", "is", "cold", "now", "we", "bought", "a", "bike", "and", "you", "like", "it"]
QUICK = ("--human", "human.jsonl", "--evaluator", "svm-unigram")
FEW = ("--data", "human.jsonl", "--limit", "4")
COMMANDS = {
    "generate": ("generate", *FEW, "--output", "{seed}.jsonl", "--model"),
    "generate responder": ("generate", *FEW, "--output", "{seed}.jsonl", "--responder"),
    "selfchat": ("selfchat", *FEW, "--turns", "1", "--output", "{seed}.jsonl", "--one"),
    "evaluate": ("evaluate", *QUICK, "--folds", "2", "--seeds", "1", "-o", "{seed}", "--system"),
    "ere": ("ere", *QUICK, "--folds", "2", "-o", "{seed}", "--system"),
    "transfer": ("transfer", *QUICK, "-o", "{seed}", "--system", "parrot", "--system"),
    "robustness": ("robustness", *FEW, "-s", "random-swap", "--resamples", "100", "--evaluator",
                   "none", "--decoding", "sampling", "-o", "{seed}", "-m"),
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
            assert {body["max_tokens"] for body in server.bodies} <= {30, 40}
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
