"""The public functions: ten lines from two lists to a verdict."""

import json

import pandas
import pytest

import dialeval
from dialeval.dialogues import BadInput

TOPICS = ["coffee", "music", "trains", "rain", "films", "books", "cats", "bread", "maths", "games"]
CONTEXTS = [f"What do you think of {topic}, part {n}?" for n in range(4) for topic in TOPICS]
HUMAN = [f"I like {text.split()[5]} a lot number {i}." for i, text in enumerate(CONTEXTS)]
SYSTEM = [f"as an assistant i have no opinion {i}" for i, _ in enumerate(CONTEXTS)]
FAST = {"evaluators": "svm-unigram", "folds": 2, "seeds": 1, "curve": (), "length_matched": False}


@pytest.fixture(scope="module")
def results():
    return dialeval.evaluate(HUMAN, {"my-bot": SYSTEM}, contexts=CONTEXTS, **FAST)


def test_two_lists_give_a_verdict_a_table_a_frame_and_a_page(results):
    [verdict] = results.verdicts
    assert (verdict.system, verdict.evaluator) == ("my-bot", "svm-unigram")
    assert "my-bot" in str(results)
    assert results.get("adversuc", "my-bot", "svm-unigram").value < 0.1
    frame = results.to_pandas()
    assert {"metric", "system", "evaluator", "value", "low", "high", "n"} <= set(frame.columns)
    assert len(frame) == len(results.results)
    assert "my-bot" in results._repr_html_()


def test_every_shape_of_the_same_data_gives_the_same_numbers(results):
    chats = {
        name: [
            [{"role": "user", "content": context}, {"role": "assistant", "content": text}]
            for context, text in zip(CONTEXTS, texts, strict=True)
        ]
        for name, texts in (("human", HUMAN), ("bot", SYSTEM))
    }
    frames = {
        name: pandas.DataFrame({"context": CONTEXTS, "response": texts})
        for name, texts in (("human", HUMAN), ("bot", SYSTEM))
    }
    expected = results.get("adversuc", "my-bot", "svm-unigram").value
    for data in (chats, frames):
        again = dialeval.evaluate(data["human"], {"my-bot": data["bot"]}, **FAST)
        assert again.get("adversuc", "my-bot", "svm-unigram").value == expected


def test_an_output_folder_gets_the_files_and_is_read_again(tmp_path, results):
    again = dialeval.evaluate(
        HUMAN, {"my-bot": SYSTEM}, contexts=CONTEXTS, output_dir=tmp_path / "run", **FAST
    )
    assert {"results.json", "scores.parquet", "report.html"} <= {
        path.name for path in (tmp_path / "run").iterdir()
    }
    loaded = dialeval.EvaluationResults.load(tmp_path / "run")
    assert loaded.to_dict() == again.to_dict()
    assert json.loads((tmp_path / "run" / "results.json").read_text())["schema_version"] == 2


def test_live_systems_are_specifications_and_functions():
    results = dialeval.evaluate(
        HUMAN,
        {"echo": lambda turns: turns[-1], "nothing": "constant:No."},
        contexts=CONTEXTS,
        **FAST,
    )
    assert {verdict.system for verdict in results.verdicts} == {"echo", "nothing"}


def test_a_function_that_returns_no_text_is_named():
    with pytest.raises(BadInput, match=r"broken returned None for the context of passage 0"):
        dialeval.evaluate(HUMAN, {"broken": lambda turns: None}, contexts=CONTEXTS, **FAST)


def test_systems_without_names_are_refused():
    with pytest.raises(BadInput, match="systems need names"):
        dialeval.evaluate(HUMAN, SYSTEM and [SYSTEM], contexts=CONTEXTS, **FAST)


def test_perturb_edits_contexts_and_keeps_responses():
    passages = dialeval.perturb(
        ["Yes."] * 2, "add-negation", contexts=["I like tea.", "He can swim."]
    )
    texts = [turns[0]["text"] for turns in passages["context"]]
    assert texts == ["I don't like tea.", "He can't swim."]
    assert passages["response"][:] == ["Yes.", "Yes."]


def test_robustness_measures_a_function():
    from dialeval.api import robustness

    contexts = [f"I like {topic} number {n}." for n in range(2) for topic in TOPICS]
    results = robustness(
        ["Me too."] * len(contexts),
        {"echo": lambda turns: turns[-1]},
        ["add-negation"],
        contexts=contexts,
        resamples=100,
    )
    assert {result.system for result in results.results} >= {"echo"}
    assert results.to_pandas().shape[0] == len(results.results)


def test_train_discriminator_saves_one_that_scores(tmp_path):
    scorer = dialeval.train_discriminator(
        HUMAN * 2, SYSTEM * 2, contexts=[f"{text} {n}" for n in "ab" for text in CONTEXTS],
        model="svm-unigram", output_dir=tmp_path / "discriminator",
    )  # fmt: skip
    passages = dialeval.to_passages(
        dialeval.Passage((dialeval.Turn("A", CONTEXTS[0]),), text) for text in (HUMAN[0], SYSTEM[0])
    )
    human, machine = scorer(passages)
    assert human > machine
    again = dialeval.load_evaluator(tmp_path / "discriminator")
    assert again(passages).tolist() == [human, machine]
