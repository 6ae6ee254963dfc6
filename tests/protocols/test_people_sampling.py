"""Items for annotators: balanced, blind, from the replies that evaluators judge."""

import json
import sys
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from dialeval.commands import main
from dialeval.dialogues import (
    BadInput,
    Dialogue,
    Passage,
    Turn,
    iterate,
    to_passages,
    write_passages,
)
from dialeval.judgements import Judgement, read_judgements, write_judgements
from dialeval.judgements.items import read_items, write_items
from dialeval.judgements.project import Project
from dialeval.judgements.store import JudgementStore
from dialeval.protocols.people import (
    AnnotationData,
    attention_checks,
    chat_items,
    import_results,
    sample_items,
    write_tasks,
)
from dialeval.protocols.people.runs import data_of_run
from tests.conftest import talk
from tests.judgements.annotation import make_items


@pytest.fixture
def data():
    passages = talk(60, 5)
    return AnnotationData(
        passages,
        {"bot": {row.id: f"reply to {row.id}" for row in passages},
         "dull": {row.id: "i see ." if n % 3 else f"<unk> {n}" for n, row in enumerate(passages)}},
    )  # fmt: skip


def test_half_of_the_items_are_real_and_no_context_is_used_twice(data):
    only_bot = AnnotationData(data.passages, {"bot": data.systems["bot"]})
    items = sample_items(only_bot, "real", 100, 20)
    authors = Counter(item.candidates[0].author for item in items)
    assert authors == {"human": 50, "random": 50, "bot": 20}
    assert len({item.passage for item in items}) == 120
    by_id = {row.id: row for row in data.passages}
    for item in items:
        passage, [candidate] = by_id[item.passage], item.candidates
        assert [text for _, text in item.context] == [turn.text for turn in passage.context]
        assert (candidate.turns[0] == passage.response) == (candidate.author == "human")
        assert (item.truth == "real") == (candidate.author == "human")
        if candidate.author == "random":
            assert not candidate.turns[0].endswith(f"talk {passage.dialogue_id[1:]}")
        assert not any(word in item.id for word in ("human", "random", "bot"))
    assert items == sample_items(only_bot, "real", 100, 20)
    assert items != sample_items(only_bot, "real", 100, 20, seed=1)


def test_repeats_and_unknown_words_are_not_shown(data):
    with pytest.raises(BadInput, match="dull has 1 replies without repeats"):
        sample_items(AnnotationData(data.passages, {"dull": data.systems["dull"]}), "real", 20, 5)


def test_pairs_and_ratings(data):
    items = sample_items(data, "human", 20)
    assert Counter(item.candidates[0].author for item in items) == {"bot": 10, "dull": 10}
    assert {item.candidates[1].author for item in items} == {"human"}
    assert {item.truth for item in items} == {"lose"}
    items = sample_items(data, "better", 15)
    assert {tuple(c.author for c in item.candidates) for item in items} == {("bot", "dull")}
    items = sample_items(data, "better", 15, opponent="human")
    assert Counter(tuple(c.author for c in item.candidates) for item in items) == {
        ("bot", "human"): 15, ("dull", "human"): 15,
    }  # fmt: skip
    items = sample_items(data, "rating", 30)
    assert Counter(item.candidates[0].author for item in items) == {
        "human": 10, "bot": 10, "dull": 10,
    }  # fmt: skip
    assert len({item.passage for item in items}) == 10


def test_the_default_sample_fits_to_few_contexts(data):
    few = AnnotationData(data.passages[:60], data.systems)
    items = sample_items(few, "real", fit=True)
    counts = Counter(item.candidates[0].author for item in items)
    assert counts["human"] == counts["random"] == 16  # of 60, 28 are left to the two systems
    assert counts["bot"] == 7 and counts["dull"] == 1  # dull has only one reply
    assert len({item.passage for item in items}) == len(items)
    with pytest.raises(BadInput, match="one per item"):  # what is asked for is not changed
        sample_items(few, "real")


def test_what_cannot_be_sampled_is_explained(data):
    with pytest.raises(BadInput, match="needs 300 contexts, one per item, but there are 240"):
        sample_items(AnnotationData(data.passages), "real")
    with pytest.raises(BadInput, match="needs the replies of a system"):
        sample_items(AnnotationData(data.passages), "human")
    with pytest.raises(BadInput, match="Choose one of bot, dull, human"):
        sample_items(data, "better", opponent="bott")
    with pytest.raises(BadInput, match="unknown task"):
        sample_items(data, "guess")


def test_attention_checks_have_shuffled_words(data):
    checks = attention_checks(data, "human", 5)
    assert len(checks) == 5 and all(item.test and item.truth == "lose" for item in checks)
    for item in checks:
        scrambled, human = (row.turns[0] for row in item.candidates)
        assert scrambled != human and sorted(scrambled.split()) == sorted(human.split())
    assert attention_checks(data, "rating") == []


def test_attention_checks_of_the_task_real_have_both_answers(data):
    items = sample_items(AnnotationData(data.passages), "real", 60)
    used = {item.passage for item in items}
    checks = attention_checks(data, "real", 10, used=used)
    assert Counter(item.truth for item in checks) == {"real": 5, "fake": 5}
    assert not {item.id for item in checks} & {item.id for item in items}
    by_id = {row.id: row for row in data.passages}
    for item in checks:
        [candidate], passage = item.candidates, by_id[item.passage]
        assert (candidate.turns[0] == passage.response) == (item.truth == "real")
        assert item.truth == "fake" or passage.id not in used
    # Where all contexts are in use, no real reply is shown a second time.
    everything = set(by_id)
    assert {item.truth for item in attention_checks(data, "real", used=everything)} == {"fake"}


def test_real_checks_are_replies_that_clearly_belong_to_their_context():
    def passage(key, reply):
        turns = (Turn("A", "my red car broke down near the harbour yesterday"),)
        return Passage(turns, reply, id=key, dialogue_id=key)

    clear = passage("clear", "oh no , did someone tow the car from the harbour ?")
    unrelated = [passage(f"other {n}", f"i would rather have {n} cups of tea") for n in range(20)]
    parrot = passage("parrot", "my red car broke down near the harbour")
    checks = attention_checks(AnnotationData([*unrelated, parrot, clear]), "real", 10)
    assert [item.passage for item in checks if item.truth == "real"] == ["clear"]


def test_chats_with_the_same_beginning_are_compared():
    def chat(number, name):
        texts = [f"start {number}", *(f"{name} {number}.{turn}" for turn in range(5))]
        return Dialogue.from_texts(texts, extra={"context_turns": 1})

    chats = {name: [chat(number, name) for number in range(4)] for name in ("a", "b")}
    items = chat_items(chats, items=3)
    assert len(items) == 3
    for item in items:
        number = item.context[0][1].split()[1]
        assert item.candidates[0].turns == tuple(f"a {number}.{turn}" for turn in range(3))
    with pytest.raises(BadInput, match="no beginning in common"):
        chat_items({"a": [chat(1, "a")], "b": [chat(2, "b")]})


# Crowd platforms


def test_a_file_for_a_crowd_platform_is_blind_and_its_results_come_back(tmp_path):
    items = make_items("human", 30)
    store = JudgementStore.create(tmp_path / "j.db", Project("human"), items)
    rows = read_csv(write_tasks(store, tmp_path / "tasks.csv"))
    assert list(rows[0]) == ["item", "task", "context", "left", "right"]
    assert "bot" not in (tmp_path / "tasks.csv").read_text()
    lefts = ["person" in row["left"] for row in rows]
    assert any(lefts) and not all(lefts)
    lines = ["WorkerId,Input.item,Answer.answer,WorkTimeInSeconds"]
    lines += [f"W{n},{row['item']},{'left' if 'person' in row['left'] else 'right'},9"
              for row in rows for n in (1, 2)]  # fmt: skip
    (tmp_path / "results.csv").write_text("\n".join(lines))
    assert import_results(store, tmp_path / "results.csv") == (60, 0)
    assert import_results(store, tmp_path / "results.csv") == (0, 60)  # nothing twice
    judged = store.judgements()
    assert {row.answer for row in judged} == {"lose"} and judged[0].seconds == 9.0
    assert len({row.annotator for row in judged}) == 2
    bad = write_judgements([Judgement("w", "i0", "win"), Judgement("w", "no", "win")],
                           tmp_path / "bad.jsonl")  # fmt: skip
    with pytest.raises(BadInput, match="about 'no' does not fit"):
        import_results(store, bad)
    assert len(store.judgements()) == 60  # all or nothing


@pytest.mark.parametrize("name", ["score", "label", "Answer.answer"])
def test_ratings_come_back_with_one_scale_a_row(tmp_path, write, name):
    store = JudgementStore.create(tmp_path / "j.db", Project("rating"), make_items("rating", 2))
    path = write("results.csv", f"WorkerId,item,scale,{name}\nW1,i0,fluency,5\nW1,i1,fluency,2\n")
    assert import_results(store, path) == (2, 0)
    assert {(row.item, row.scale): row.answer for row in store.judgements()} == {
        ("i0", "fluency"): 5.0, ("i1", "fluency"): 2.0,
    }  # fmt: skip


def test_ratings_come_back_with_a_column_per_scale(tmp_path, write):
    items = make_items("rating", 2)
    store = JudgementStore.create(tmp_path / "j.db", Project("rating"), items)
    path = write("results.csv", "WorkerId,item,relevance,fluency\nW1,i0,4,5\nW1,i1,1,2\n")
    assert import_results(store, path) == (4, 0)
    assert {(row.item, row.scale): row.answer for row in store.judgements()} == {
        ("i0", "relevance"): 4.0, ("i0", "fluency"): 5.0,
        ("i1", "relevance"): 1.0, ("i1", "fluency"): 2.0,
    }  # fmt: skip


def read_csv(path):
    import csv

    with path.open(newline="") as file:
        return list(csv.DictReader(file))


# The command


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["dialeval", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code or 0


@pytest.fixture
def files(tmp_path):
    human = to_passages(talk(60, 5))
    bot = to_passages(row.with_response(f"reply to {row.id}", "bot") for row in talk(60, 5))
    return write_passages(human, tmp_path / "human.jsonl"), write_passages(
        bot, tmp_path / "b.jsonl"
    )


def test_the_command_makes_a_project_exports_and_continues(tmp_path, files, monkeypatch, capsys):
    human, bot = tmp_path / "human.jsonl", tmp_path / "b.jsonl"
    folder = tmp_path / "project"
    words = (human, "--system", f"bot={bot}", "--items", 40, "--generated", 8, "-o", folder)
    assert run(monkeypatch, "annotate", *words, "--prepare") == 0
    said_first = " ".join(capsys.readouterr().err.split())
    assert "48 items of the task real (20 human, 20 random, 8 bot), 10 test questi" in said_first
    assert len(read_items(folder / "items.jsonl")) == 58
    store = JudgementStore(folder / "judgements.db")
    store.identities.register(["ann", "bob", "cy"])
    for name in ("ann", "bob", "cy"):
        while item := store.assignment.next_item(name):
            store.answer(name, item.id, {"": item.truth})
    assert run(monkeypatch, "annotate", "-o", folder, "--export", tmp_path / "out.csv") == 0
    rows = read_judgements(tmp_path / "out.csv")
    assert Counter(row.test for row in rows)[False] == 3 * 48
    assert run(monkeypatch, "annotate", "-o", folder, "--export-tasks", tmp_path / "t.csv") == 0
    capsys.readouterr()
    options = ("--resamples", 20, "-o", tmp_path / "study", "--json")
    assert run(monkeypatch, "agreement", folder, *options) == 0
    results = json.loads(capsys.readouterr().out)
    people = [row for row in results["results"] if row["metric"] == "detection"]
    assert {row["system"]: row["value"] for row in people} == {"random": 1.0, "bot": 1.0}
    assert {row["n"] for row in people if row["system"] == "bot"} == {48, 16}  # balanced
    assert run(monkeypatch, "annotate", human, "-o", folder, "--items", 20, "--prepare") == 2
    assert "another annotation project is here" in capsys.readouterr().err


def test_people_and_evaluators_of_a_run_answer_the_same_questions(
    tmp_path, files, monkeypatch, capsys
):
    human, bot, folder = tmp_path / "human.jsonl", tmp_path / "b.jsonl", tmp_path / "project"
    words = ("--human", human, "--system", f"bot={bot}", "--evaluator", "svm-unigram")
    quick = ("--seeds", 1, "--folds", 2, "--no-length-matched", "-o", tmp_path / "run")
    assert run(monkeypatch, "evaluate", *words, *quick) == 0
    options = ("--from-run", tmp_path / "run", "--items", 40, "--generated", 10, "-o", folder)
    assert run(monkeypatch, "annotate", human, *options, "--prepare") == 0
    store = JudgementStore(folder / "judgements.db")
    replies = {row.id: row.response for row in iterate(to_passages(talk(60, 5)))}
    for item in store.items.values():
        if item.candidates[0].author == "human":
            assert item.candidates[0].turns == (replies[item.passage],)
    store.identities.register(["ann"])
    while item := store.assignment.next_item("ann"):
        store.answer("ann", item.id, {"": item.truth})
    capsys.readouterr()
    study = ("--run", tmp_path / "run", "--resamples", 20, "-o", tmp_path / "study", "--json")
    assert run(monkeypatch, "agreement", folder, *study) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    svm = {row["system"]: row for row in rows if row["evaluator"] == "svm-unigram"}
    assert svm["bot"]["value"] == 1.0 and svm["bot"]["n"] == 20  # "reply to" gives it away
    assert svm["random"]["n"] == 40


def test_items_of_a_file_and_wide_hosts_need_links(tmp_path, monkeypatch, capsys):
    path = write_items(make_items("better", 4), tmp_path / "items.jsonl")
    folder = tmp_path / "project"
    options = (path, "--task", "better", "-o", folder)
    assert run(monkeypatch, "annotate", *options, "--prepare") == 0
    assert run(monkeypatch, "annotate", "-o", folder, "--host", "0.0.0.0") == 2
    assert "annotators need a link" in capsys.readouterr().err
    monkeypatch.setattr("dialeval.judgements.web.server.serve", lambda *_, **__: None)
    links = ("--annotator", "ann", "--invite", "--public-url", "https://example.org/")
    assert run(monkeypatch, "annotate", "-o", folder, "--host", "0.0.0.0", *links) == 0
    printed = capsys.readouterr().out
    store = JudgementStore(folder / "judgements.db")
    assert f"ann: https://example.org/join/{store.identities.token('ann')}" in printed
    assert f"https://example.org/join/{store.identities.invitation()}" in printed
    assert run(monkeypatch, "annotate", "--required", 3) == 2


def test_a_run_of_two_piles_has_no_items_and_says_why(tmp_path):
    columns = ["scenario", "evaluator", "system", "id", "response"]
    row = {name: "response" for name in columns} | {"label": 1, "predicted_human": True}
    parquet.write_table(pa.Table.from_pylist([row]), tmp_path / "scores.parquet")
    with pytest.raises(BadInput, match="no contexts that both sides answer.*two piles"):
        data_of_run(tmp_path, to_passages(talk(3, 3)))
