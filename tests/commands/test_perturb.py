"""`dialeval perturb`, run as a user would."""

import json

import pytest
import typer
from typer.testing import CliRunner

from dialeval.commands.perturb import perturb
from dialeval.dialogues import BadInput, Passage, Turn, to_passages, write_passages
from dialeval.perturbations import Edit, available, replay

app = typer.Typer()
app.command()(perturb)
TEXTS = ("I think that the tea is cold now", "we bought you a bike , do you not like it ?")


def said(number: int) -> list[str]:
    """What stands in a context before it is edited."""
    return [f"{text} ({number})" for text in TEXTS]


@pytest.fixture
def data(tmp_path):
    passages = [
        Passage(
            tuple(Turn("AB"[at], text) for at, text in enumerate(said(number))),
            "the answer",
            id=f"p{number}",
            dialogue_id=f"d{number}",
        )
        for number in range(12)
    ]
    return str(write_passages(to_passages(passages), tmp_path / "talk.jsonl"))


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments))
    if done.exception:
        raise done.exception
    return done.output


def records(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").strip().split("\n")]


def texts(record: dict) -> list[str]:
    return [turn["content"] for turn in record["context"]]


def test_passages_are_written_with_their_edits(data, tmp_path):
    shown = run(data, "--strategy", "stopword-dropout", "-o", "out.jsonl")
    found = records(tmp_path / "out.jsonl")
    assert len(found) == 12
    for number, record in enumerate(found):
        logs = [[Edit(*each) for each in log] for log in record["perturbation"]["edits"]]
        assert texts(record) == list(map(replay, said(number), logs)) != said(number)
        assert record["response"] == "the answer"
    assert "100.0%" in shown and "should-not-change" in shown
    assert "[- the-]" in shown


def test_several_strategies_write_a_file_each_and_all_is_every_one(data, tmp_path):
    run(data, "-s", "random-swap", "-s", "add-negation")
    assert sorted(path.name for path in tmp_path.glob("perturbed*")) == [
        "perturbed.add-negation.jsonl",
        "perturbed.random-swap.jsonl",
    ]
    shown = run(data, "-s", "all", "--limit", "3", "--output", "all/p.jsonl")
    made = {path.name.split(".")[1] for path in (tmp_path / "all").iterdir()}
    assert made == {name for name in available() if name in shown} >= {"antonym", "random-swap"}
    assert len(records(tmp_path / "all/p.antonym.jsonl")) == 3


def test_turns_presets_and_settings_reach_the_strategy(data, tmp_path):
    run(data, "-s", "random-swap", "--preset", "released", "--turns", "last")
    (record, *_) = records(tmp_path / "perturbed.jsonl")
    assert record["perturbation"]["strategy"] == "RandomSwap(words_per_swap=3, by_gap=True)"
    assert texts(record)[0] == said(0)[0] and texts(record)[1] != said(0)[1]
    run(data, "-s", "random-swap", "--set", "random-swap.words_per_swap=2", "--turns", "0")
    (record, *_) = records(tmp_path / "perturbed.jsonl")
    assert len(record["perturbation"]["edits"][0]) in (3, 4)
    assert texts(record)[1] == said(0)[1]


def test_a_lexicon_a_vocabulary_and_a_rate_are_used(data, tmp_path, write):
    pairs, known = write("pairs.txt", "tea coffee\nbike boat\n"), write("words.txt", "boat\n")
    run(data, "-s", "data-paraphrase", "--lexicon", f"data-paraphrase={pairs}",
        "--set", "data-paraphrase.agree=false", "--vocabulary", str(known))  # fmt: skip
    (record, *_) = records(tmp_path / "perturbed.jsonl")
    assert texts(record) == [said(0)[0], said(0)[1].replace("bike", "boat")]
    run(data, "-s", "stopword-dropout", "--rate", "0")
    assert texts(records(tmp_path / "perturbed.jsonl")[0]) == said(0)


def test_composed_strategies_write_one_file(data, tmp_path):
    run(data, "-s", "stopword-dropout", "-s", "data-paraphrase", "--compose")
    (record, *_) = records(tmp_path / "perturbed.jsonl")
    assert texts(record)[1] == "we purchased you bicycle , you not like it ? (0)"


def test_the_seed_and_processes_do_as_they_say(data, tmp_path):
    found = []
    for more in ([], ["--num-proc", "2"], ["--seed", "5"]):
        run(data, "-s", "random-swap", *more)
        found.append([texts(record) for record in records(tmp_path / "perturbed.jsonl")])
    assert found[0] == found[1] != found[2]


def test_the_list_names_every_strategy():
    shown = run("-s", "list")
    assert all(name[:10] in shown for name in available())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-s", "swap"], "unknown strategy 'swap'"),
        (["-s", "random-swap", "--turns", "first"], "Unknown turns 'first'"),
        (["-s", "random-swap", "--lexicon", "path"], "expected STRATEGY=PATH"),
        (["-s", "random-swap", "--set", "x=3"], "expected STRATEGY.OPTION=VALUE"),
        (["-s", "generative-paraphrase"], "has to be told which model"),
        (["-s", "all", "--lexicon", "swap=x"], "unknown strategy 'swap'"),
    ],
)
def test_bad_arguments_say_what_to_do(data, arguments, message):
    with pytest.raises(BadInput, match=message):
        run(data, *arguments)
