"""Cards contain the given values, escaped, and refuse missing ones."""

import json
from dataclasses import replace

import jinja2
import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries
from markdown_it import MarkdownIt

from dialeval.dialogues import BadInput
from dialeval.hub.cards import render_card, templates
from dialeval.hub.eval_results import eval_results
from dialeval.hub.kinds import Item, recognise
from dialeval.hub.model_cards import card_of
from dialeval.hub.push import prepare

VALUES = {
    "parts": {"test": {"dialogues": 3, "passages": 9}},
    "shares": {"test": 1.0},
    "sources": {"<script>.txt": "dailydialog"},
    "dialogues": 4,
    "duplicate_dialogues": 1,
    "filtered": 0,
    "skipped": 0,
    "signature": "split|seed:0",
}
BAD = "</code><script>alert(1)</script> ![x](http://a/b.png) | `end` **bold**\n# Title"
ROW = {"metric": "accuracy", "evaluator": "hierarchical", "corpus": "", "value": 0.7123,
       "low": 0.69, "high": 0.73, "n": 84, "signature": "disc:h|seed:0"}  # fmt: skip
SCENARIO = {"adversuc": 0.41, "gold": 0.5}


@pytest.fixture
def discriminator(folders):
    """A saved discriminator without any results."""
    return recognise(folders["hierarchical"])


def with_run(item, rows=(), **settings):
    """The item with the results and settings of a run."""
    training = {"settings": {"data": "/home/ann/talk.txt", "scenario": "human_random", **settings}}
    results = {"results": list(rows), "signature": "disc:h", "training": "human_random|data:talk"}
    return replace(item, settings={**item.settings, "training": training}, results=results)


def test_a_card_contains_the_counts():
    card = render_card("dataset", **VALUES)
    assert "| `test` | 1 | 3 | 9 |" in card and "split|seed:0" in card
    assert card.startswith("---\ntags:")


def test_user_text_cannot_become_html():
    assert "<script>" not in render_card("dataset", **VALUES)


def test_a_missing_value_is_an_error():
    with pytest.raises(jinja2.UndefinedError, match="skipped"):
        render_card("dataset", **{key: VALUES[key] for key in VALUES if key != "skipped"})
    with pytest.raises(ValueError, match="Unknown card 'datset'. Choose one of dataset"):
        render_card("datset")


def test_templates_are_listed():
    assert templates() == ["dataset", "discriminator", "evaluation", "generator", "passages"]


def test_a_card_marks_what_was_not_measured(discriminator):
    card = card_of(discriminator, "me/discriminator")
    parts = {
        part.splitlines()[0]: part for part in card.split("\n## ") for part in part.split("\n### ")
    }
    for title in ("Evaluation", "Per system", "Calibration", "Reliability (ERE)"):
        assert "Not measured." in parts[title], title
    assert "not measured" in parts["Robustness and other metrics"] and "not recorded" in card
    assert "| hardware | not measured |" in card and "| hours of training | not measured |" in card
    assert "No licence is given" in card
    assert ModelCard(card).data.eval_results is None


def test_a_card_contains_what_was_measured(discriminator):
    rows = [
        ROW,
        {**ROW, "evaluator": "length only", "value": 0.55},
        {**ROW, "system": "parrot", "value": 0.9},
        {
            **ROW,
            "metric": "ere",
            "value": 0.21,
            "details": {"scenarios": {"human_human": SCENARIO}},
        },
        {**ROW, "metric": "over_sensitivity", "system": "random-swap", "value": 0.05},
    ]
    item = with_run(discriminator, rows)
    card = card_of(item, "me/discriminator", license="apache-2.0")
    assert "| all | 0.712 [0.690, 0.730] | 84 |" in card
    assert "| length only: a model that sees only the length | 0.550" in card
    assert "| parrot | accuracy | 0.900 [0.690, 0.730] | 84 |" in card
    assert "| human\\_human | 0.410 | 0.5 |" in card and "| 0.210 [" in card
    assert "| over\\_sensitivity | random-swap | 0.050 [0.690, 0.730] | 84 |\n\nSystems" in card
    assert "talk.txt" in card and "/home/ann" not in card
    assert "not proof of authorship" in card and "trust_remote_code=True" in card
    metadata = ModelCard(card).data
    assert metadata.license == "apache-2.0"
    assert {"dialeval", "discriminator"} <= set(metadata.tags)
    numbers = {(result.metric_name, result.metric_value) for result in metadata.eval_results}
    assert ("accuracy", 0.7123) in numbers and ("accuracy parrot", 0.9) in numbers
    assert not any(value == 0.55 for _, value in numbers)  # that is the baseline's


def test_the_card_of_an_evaluation_has_the_reliability_error_that_was_measured(tmp_path):
    rows = [{**ROW, "metric": name, "system": "bot"} for name in ("adversuc", "ere_three")]
    run = Item(tmp_path, "evaluation", "evaluation", results={"results": rows})
    card = card_of(run, "me/run")
    assert "over three scenarios, without next turns" in card and "get 0.25" not in card
    assert card.count("Not measured.") == 2  # the two controls, but not the error
    assert "### Evaluator reliability error: 0 is perfect" in card_of(
        replace(run, results={"results": rows[:1]}), "me/run"
    )


def test_text_from_users_and_models_stays_text(discriminator, folders):
    item = with_run(
        discriminator, [{**ROW, "system": BAD, "signature": BAD}], data=BAD, machine=BAD
    )
    item = replace(item, results={**item.results, "signature": BAD, "training": BAD})
    generator = recognise(folders["gpt2"])
    sample = {"context": BAD, "human": BAD, "generator": BAD}
    writes = replace(generator, results={"samples": [sample], "signature": BAD})
    for card in (card_of(item, "me/discriminator", license=BAD), card_of(writes, "me/gpt2")):
        assert "<script>" not in card.split("\n---\n", 1)[1]
        tokens = MarkdownIt("commonmark").enable("table").parse(card.split("\n---\n", 1)[1])
        inline = [child for token in tokens for child in token.children or []]
        assert not any(child.type in ("image", "html_inline", "link_open") for child in inline)
        assert not any(token.type == "html_block" for token in tokens)
        titles = [tokens[at + 1].content for at, t in enumerate(tokens) if t.type == "heading_open"]
        assert "Title" not in titles
        assert isinstance(yaml.safe_load(card.split("---\n")[1]), dict)


def test_results_become_files_that_huggingface_hub_reads(discriminator):
    item = with_run(discriminator, [ROW, {**ROW, "evaluator": "length only", "value": 0.55}])
    assert eval_results(item) == {}  # a local file has no name on the Hub
    ((path, content),) = eval_results(item, "me/talk").items()
    assert path == ".eval_results/me--talk.yaml"
    (entry,) = parse_eval_result_entries(yaml.safe_load(content))
    assert (entry.dataset_id, entry.task_id, entry.value) == ("me/talk", "accuracy", 0.7123)
    assert "[0.6900, 0.7300], n 84, disc:h|seed:0" in entry.notes
    assert list(eval_results(with_run(discriminator, [ROW], data="hub:me/talk:train"))) == [path]


def test_results_of_another_run_are_added(folders, tmp_path):
    other = tmp_path / "results.json"
    other.write_text(json.dumps({"results": [{**ROW, "evaluator": "mine", "system": "bot"}]}))
    _, contents = prepare(folders["svm"], "me/svm", results=[other], evaluator="mine")
    assert "| bot | accuracy | 0.712" in contents.files["README.md"].decode()
    assert contents.read("results.json")["results"][0]["evaluator"] == "svm"
    with pytest.raises(
        BadInput, match="no results of evaluator 'svm', only of mine. Pass its name .* --evaluator"
    ):
        prepare(folders["svm"], "me/svm", results=[tmp_path / "results.json"])


def test_an_edited_card_is_kept_and_a_librarys_is_not(folders, tmp_path):
    import shutil

    for name in ("svm", "lora"):
        shutil.copytree(folders[name], tmp_path / name)
    edited = "---\ntags:\n- dialeval\n---\nMy own words."
    (tmp_path / "svm" / "README.md").write_text(edited)
    _, contents = prepare(tmp_path / "svm", "me/svm")
    assert contents.files["README.md"] == tmp_path / "svm" / "README.md"
    assert "Model Card for Model ID" in (tmp_path / "lora" / "README.md").read_text()
    _, contents = prepare(tmp_path / "lora", "me/lora")
    assert b"LoRA adapter" in contents.files["README.md"]
    assert contents.read("adapter_config.json")["base_model_name_or_path"] == "me/lora"


@pytest.mark.parametrize(
    ("protocol", "command"), [("evaluation", "compare"), ("unpaired", "report")]
)
def test_the_card_of_an_evaluation_names_a_command_that_reads_it(tmp_path, protocol, command):
    rows = [
        {**ROW, "metric": metric, "evaluator": "stack"} for metric in ("ere", "human_vs_random")
    ]
    results = {"results": rows, "protocol": protocol}
    card = card_of(Item(tmp_path, "evaluation", "evaluation", results=results), "me/run")
    assert f"dialeval {command} runs/pulled" in card
    assert "| all | stack |" in card and "| human | stack |" in card
    assert "indistinguishable" not in card
