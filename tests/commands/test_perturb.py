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


def turns(number: int) -> list[str]:
    """The turns of a context before it is edited."""
    return [f"{text} ({number})" for text in TEXTS]


@pytest.fixture
def data(tmp_path):
    passages = [
        Passage(
            tuple(Turn("AB"[index], text) for index, text in enumerate(turns(number))),
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
    rows = records(tmp_path / "out.jsonl")
    assert len(rows) == 12
    for number, record in enumerate(rows):
        logs = [[Edit(*edit) for edit in log] for log in record["perturbation"]["edits"]]
        assert texts(record) == list(map(replay, turns(number), logs)) != turns(number)
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
    assert texts(record)[0] == turns(0)[0] and texts(record)[1] != turns(0)[1]
    run(data, "-s", "random-swap", "--set", "random-swap.words_per_swap=2", "--turns", "0")
    (record, *_) = records(tmp_path / "perturbed.jsonl")
    assert len(record["perturbation"]["edits"][0]) in (3, 4)
    assert texts(record)[1] == turns(0)[1]


def test_a_lexicon_a_vocabulary_and_a_rate_are_used(data, tmp_path, write):
    pairs, words = write("pairs.txt", "tea coffee\nbike boat\n"), write("words.txt", "boat\n")
    run(data, "-s", "data-paraphrase", "--lexicon", f"data-paraphrase={pairs}",
        "--set", "data-paraphrase.agree=false", "--vocabulary", str(words))  # fmt: skip
    (record, *_) = records(tmp_path / "perturbed.jsonl")
    assert texts(record) == [turns(0)[0], turns(0)[1].replace("bike", "boat")]
    run(data, "-s", "stopword-dropout", "--rate", "0")
    assert texts(records(tmp_path / "perturbed.jsonl")[0]) == turns(0)


def test_composed_strategies_write_one_file(data, tmp_path):
    run(data, "-s", "stopword-dropout", "-s", "data-paraphrase", "--compose")
    (record, *_) = records(tmp_path / "perturbed.jsonl")
    assert texts(record)[1] == "we purchased you bicycle , you not like it ? (0)"


def test_edits_depend_on_the_seed_but_not_on_processes(data, tmp_path):
    contexts = []
    for more in ([], ["--num-proc", "2"], ["--seed", "5"]):
        run(data, "-s", "random-swap", *more)
        contexts.append([texts(record) for record in records(tmp_path / "perturbed.jsonl")])
    assert contexts[0] == contexts[1] != contexts[2]


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
        (["-s", "generative-paraphrase"], "needs a model"),
        (["-s", "all", "--lexicon", "swap=x"], "unknown strategy 'swap'"),
    ],
)
def test_bad_arguments_say_what_to_do(data, arguments, message):
    with pytest.raises(BadInput, match=message):
        run(data, *arguments)


def test_a_limit_below_one_is_refused(data):
    with pytest.raises(BadInput, match="at least 1, but got -1"):
        run(data, "--strategy", "random-swap", "--limit", "-1")
