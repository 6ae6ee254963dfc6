"""`dialeval generate` and `dialeval selfchat`, run as a user would."""

import json

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel
from typer.testing import CliRunner

from dialeval.commands import app
from dialeval.dialogues import BadInput, read, write_passages
from dialeval.models.tokenizers import word_tokenizer
from dialeval.responders.decoding import DECODINGS


@pytest.fixture
def data(human, tmp_path):
    return str(write_passages(human, tmp_path / "talk.jsonl"))


@pytest.fixture
def model(tmp_path):
    tokenizer = word_tokenizer([f"line {n} of talk" for n in range(60)])
    torch.manual_seed(0)
    shape = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64}
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    lm = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **shape, **ids))
    lm.save_pretrained(tmp_path / "lm")
    tokenizer.save_pretrained(tmp_path / "lm")
    return str(tmp_path / "lm")


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments))
    if done.exception:
        raise done.exception
    return done.output


def records(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").strip().split("\n")]


@pytest.mark.parametrize("decoding", [name for name in DECODINGS if name != "greedy"])
def test_every_strategy_answers_by_name(data, model, tmp_path, decoding):
    options = {"mmi-backward": ["--backward", model], "mmi-penalty": ["--language-model", model]}
    helpers = options.get(decoding, [])
    run("generate", "--model", model, "--data", data, "--limit", "6", "-n", "2", "--decoding",
        decoding, "--max-new-tokens", "5", *helpers)  # fmt: skip
    rows = records(tmp_path / "generated.jsonl")
    assert len(rows) == 12
    assert [row["hypothesis"] for row in rows] == [0, 1] * 6
    assert {row["author"] for row in rows} == {"lm"}
    passages, _ = read("generated.jsonl")
    assert len(passages) == 12  # empty answers too


@pytest.mark.parametrize("responder", ["parrot", "random", "constant", "stored"])
def test_simple_responders_answer_by_name(data, tmp_path, responder):
    options = {"constant": ["--text", "so what?"], "stored": ["--answers", data]}
    run("generate", "--responder", responder, "--data", data, "--limit", "9",
        "--name", "they", *options.get(responder, []))  # fmt: skip
    rows = records(tmp_path / "generated.jsonl")
    assert len(rows) == 9
    if responder == "constant":
        assert {row["response"] for row in rows} == {"so what?"}
    if responder == "random":
        assert all(row["source_dialogue_id"] != row["dialogue_id"] for row in rows)


def test_the_limit_is_drawn_with_the_seed(data, tmp_path):
    chosen = []
    for seed in ("0", "0", "1"):
        run("generate", "--responder", "parrot", "--data", data, "--limit", "5", "--seed", seed,
            "--overwrite", "--output", "out.jsonl")  # fmt: skip
        chosen.append([row["id"] for row in records(tmp_path / "out.jsonl")])
    assert chosen[0] == chosen[1] != chosen[2]


def test_settings_reach_the_strategy(data, model):
    output = run("generate", "--model", model, "--data", data, "--limit", "2", "--set",
               "temperature=0.5", "--set", "top_k=3", "--max-new-tokens", "3")  # fmt: skip
    assert "temperature=0.5" in output.replace("\n", "")
    with pytest.raises(BadInput, match="no setting 'beams'"):
        run("generate", "--model", model, "--data", data, "--set", "beams=3")
    with pytest.raises(BadInput, match="name=value"):
        run("generate", "--model", model, "--data", data, "--set", "beams")


def test_unknown_names_list_the_choices(data):
    with pytest.raises(BadInput, match="parrot, random"):
        run("generate", "--responder", "oracle", "--data", data)
    with pytest.raises(BadInput, match="greedy, beam"):
        run("generate", "--decoding", "oracle", "--data", data)
    with pytest.raises(BadInput, match="--answers"):
        run("generate", "--responder", "stored", "--data", data)


def test_strategies_can_be_listed():
    output = run("generate", "--decoding", "list")
    assert all(name in output for name in DECODINGS)


def test_two_responders_chat(data, model, tmp_path):
    run("selfchat", "--one", "parrot", "--two", model, "--data", data, "--limit", "4", "--turns",
        "2", "--max-new-tokens", "4")  # fmt: skip
    rows = records(tmp_path / "selfchat.jsonl")
    assert len(rows) == 4
    authors = [turn["author"] for turn in rows[0]["messages"]]
    assert authors[rows[0]["context_turns"]] == "parrot"
    passages, _ = read("selfchat.jsonl")
    assert {"parrot", "human"} <= set(passages["author"])
