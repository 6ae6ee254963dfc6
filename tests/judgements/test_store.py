"""The database: nothing lost, nothing counted twice, even coverage, test questions."""

import multiprocessing
import sqlite3
from collections import Counter

import pytest

from dialeval.errors import BadInput
from dialeval.judgements import (
    annotator_quality,
    assignment,
    read_judgements,
    write_judgements,
)
from dialeval.judgements.items import Candidate, Item, read_items, write_items
from dialeval.judgements.project import Project, Scale
from dialeval.judgements.store import JudgementStore
from tests.judgements.annotation import make_items, make_store


def work(store, name, count=None, answer="real"):
    """Answer until there is nothing left, or so many times; gives the items."""
    items = []
    store.identities.register([name])
    while (count is None or len(items) < count) and (item := store.assignment.next_item(name)):
        assert store.answer(name, item.id, {"": answer(item) if callable(answer) else answer})
        items.append(item.id)
    return items


def test_every_item_gets_its_annotators_and_everyone_another_order(tmp_path):
    store = make_store(tmp_path, count=20)
    orders = [work(store, name) for name in ("ann", "bob", "cy")]
    assert all(sorted(order) == sorted(store.items) for order in orders)
    assert len({tuple(order) for order in orders}) == 3
    assert work(store, "dan") == []  # three annotators have answered everything


def test_coverage_is_even_at_any_time(tmp_path):
    store = make_store(tmp_path, count=12, max_items=5)
    for name in "abcdef":
        assert len(work(store, name)) == 5
        counts = Counter(row.item for row in store.judgements())
        assert max(counts.values()) - min(counts.get(item, 0) for item in store.items) <= 1


def test_an_annotator_returns_to_the_item_that_was_shown(tmp_path):
    store = make_store(tmp_path)
    store.identities.register(["ann", "bob"])
    item = store.assignment.next_item("ann")
    assert JudgementStore(store.path).assignment.next_item("ann") == item
    assert store.assignment.next_item("bob") != item  # he is looking at it


def test_an_item_left_open_is_given_to_others_later(tmp_path, monkeypatch):
    store = make_store(tmp_path, count=1, per_item=1)
    store.identities.register(["ann", "bob"])
    item = store.assignment.next_item("ann")
    assert store.assignment.next_item("bob") is None
    monkeypatch.setattr(assignment, "RESERVED_SECONDS", -1)
    assert store.assignment.next_item("bob") == item
    assert store.answer("bob", item.id, {"": "real"})
    assert store.assignment.next_item("ann") is None  # others have covered it since
    assert store.answer("ann", item.id, {"": "fake"})  # but an answer is never refused


def test_an_answer_counts_once_and_the_first_one_stays(tmp_path):
    store = make_store(tmp_path)
    store.identities.register(["ann"])
    item = store.assignment.next_item("ann")
    assert store.answer("ann", item.id, {"": "real"})
    assert not store.answer("ann", item.id, {"": "fake"})
    [row] = store.judgements()
    assert (row.item, row.answer, row.truth) == (item.id, "real", item.truth)
    with pytest.raises(sqlite3.IntegrityError), store.database.writing() as db:
        db.execute(
            "INSERT INTO answers (annotator, item, scale, answer, at) "
            "VALUES ('ann', ?, '', 'x', 0)",
            (item.id,),
        )


def test_undo_takes_back_the_last_answer_once(tmp_path):
    store = make_store(tmp_path)
    first, second = work(store, "ann", 2)
    assert not store.undo("ann", first)  # not the last one
    assert store.undo("ann", second) and not store.undo("ann", second)
    assert [row.item for row in store.judgements()] == [first]
    assert store.assignment.next_item("ann").id == second
    assert store.answer("ann", second, {"": "fake"})
    assert {row.item: row.answer for row in store.judgements()}[second] == "fake"


def test_time_is_what_the_page_measured_but_not_more_than_passed(tmp_path):
    store = make_store(tmp_path)
    store.identities.register(["ann"])
    for seconds in (1e5, 0.0, None):
        item = store.assignment.next_item("ann")
        store.answer("ann", item.id, {"": "real"}, seconds)
    times = [row.seconds for row in store.judgements()]
    assert times[0] < 60 and times[1] == 0.0 and 0 <= times[2] < 60
    progress = store.assignment.progress("ann")
    assert (progress.done, progress.total) == (3, 30) and progress.seconds_left >= 0


def test_careless_annotators_are_stopped_and_careful_ones_are_not(tmp_path):
    store = make_store(tmp_path, count=60, tests=10, test_every=4)
    careful = work(store, "ann", answer=lambda item: item.truth)
    assert len(careful) == 70 and sum(store.items[item].test for item in careful) == 10
    gaps = [index for index, item in enumerate(careful) if store.items[item].test]
    assert [index // 4 for index in gaps] == list(range(10))  # one in every block of four
    careless = work(store, "bob", answer="real")  # every other test question has another answer
    assert sum(store.items[item].test for item in careless) == 5
    assert store.assignment.progress("bob").stopped
    assert not store.undo("bob", careless[-1])
    assert store.assignment.next_item("bob") is None


def test_what_stopped_annotators_judged_is_judged_again(tmp_path):
    store = make_store(tmp_path, count=40, tests=10, test_every=4, per_item=1)
    careless = set(work(store, "bob", answer="real"))
    assert store.assignment.progress("bob").stopped
    assert store.assignment.progress("ann").total == 40
    careful = set(work(store, "ann", answer=lambda item: item.truth))
    assert careless & careful > set() and len(careful) == 50


def test_the_order_of_a_pair_is_random_and_answers_are_in_the_items_order(tmp_path):
    store = make_store(tmp_path, "better")
    shown = [item.swapped(name) for item in store.items.values() for name in "abcdefgh"]
    assert 0.4 < sum(shown) / len(shown) < 0.6
    store.identities.register(["ann"])
    item = store.assignment.next_item("ann")
    store.answer("ann", item.id, {"": "second"})
    [row] = store.judgements()
    assert (row.answer, row.system, row.opponent) == ("lose", "bot", "human")


def test_identical_replies_are_ties_that_nobody_judges(tmp_path):
    same = Item("same", (), (Candidate("a", ("yes",)), Candidate("b", ("yes",))))
    other = Item("other", (), (Candidate("a", ("yes",)), Candidate("b", ("no",))))
    store = JudgementStore.create(tmp_path / "j.db", Project("better"), [same, other])
    assert work(store, "ann", answer="tie") == ["other"]
    answers = Counter((row.item, row.answer) for row in store.judgements())
    assert answers == {("same", "tie"): 3, ("other", "tie"): 1}
    assert [row.item for row in store.judgements() if row.is_given] == ["other"]
    assert len(annotator_quality(store.judgements())) == 1


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_an_export_of_a_project_adds_nothing_to_it(tmp_path, ending):
    same = Item("same", (), (Candidate("a", ("yes",)), Candidate("b", ("yes",))))
    others = [Item(f"{n}", (), (Candidate("a", ("yes",)), Candidate("b", (f"{n}",)))) for n in "xy"]
    store = JudgementStore.create(tmp_path / "j.db", Project("better"), [same, *others])
    work(store, "ann", answer="first")
    before = store.judgements()
    exported = write_judgements(before, tmp_path / f"export.{ending}")
    assert store.import_judgements(read_judgements(exported)) == (0, len(before))
    assert store.judgements() == before
    copy = JudgementStore.create(tmp_path / "copy.db", Project("better"), [same, *others])
    assert copy.import_judgements(read_judgements(exported)) == (2, 3)
    assert [(row.item, row.answer) for row in copy.judgements()] == [
        (row.item, row.answer) for row in before
    ]


def test_ratings_need_every_scale(tmp_path):
    scales = (Scale("fluency", points=7), Scale("sense"))
    store = make_store(tmp_path, "rating", scales=scales)
    store.identities.register(["ann"])
    item = store.assignment.next_item("ann")
    with pytest.raises(BadInput, match="sense is missing"):
        store.answer("ann", item.id, {"fluency": "7"})
    with pytest.raises(BadInput, match="one of 1, 2, 3, 4, 5, but got '7'"):
        store.answer("ann", item.id, {"fluency": "7", "sense": "7"})
    assert store.answer("ann", item.id, {"fluency": "7", "sense": "2"})
    assert {row.scale: row.answer for row in store.judgements()} == {"fluency": 7.0, "sense": 2.0}


def test_only_shown_items_can_be_answered(tmp_path):
    store = make_store(tmp_path)
    store.identities.register(["ann"])
    with pytest.raises(BadInput, match="was not shown"):
        store.answer("ann", "i3", {"": "real"})
    with pytest.raises(BadInput, match="there is no item"):
        store.answer("ann", "nothing", {"": "real"})


def test_names_in_exports_are_hashed(tmp_path):
    store = make_store(tmp_path)
    work(store, "ann@example.org", 1)
    [row] = store.judgements()
    assert "ann" not in row.annotator and len(row.annotator) == 12
    assert row.annotator == JudgementStore(store.path).identities.pseudonym("ann@example.org")
    other = make_store(tmp_path / "other")
    assert row.annotator != other.identities.pseudonym("ann@example.org")


def _answer_all(arguments):
    path, name = arguments
    return work(JudgementStore(path), name)


def test_processes_that_write_at_once_lose_nothing(tmp_path):
    store = make_store(tmp_path, count=25, per_item=4)
    context = multiprocessing.get_context("fork")
    with context.Pool(4) as pool:
        orders = pool.map(_answer_all, [(store.path, name) for name in "abcd"])
    rows = store.judgements()
    assert len(rows) == sum(map(len, orders)) == len({(row.annotator, row.item) for row in rows})
    assert set(Counter(row.item for row in rows).values()) == {4}


def test_a_project_is_continued_and_another_one_is_refused(tmp_path):
    store = make_store(tmp_path)
    work(store, "ann", 3)
    again = make_store(tmp_path)
    assert len(again.judgements()) == 3
    with pytest.raises(BadInput, match="another annotation project is here"):
        make_store(tmp_path, count=31)
    with pytest.raises(BadInput, match="no annotation project here"):
        JudgementStore(tmp_path / "none.db")
    (tmp_path / "text.db").write_text("not a database, but some text that is long enough")
    with pytest.raises(BadInput, match="expected an annotation project"):
        JudgementStore(tmp_path / "text.db")


def test_items_are_checked_and_kept_in_files(tmp_path):
    items = make_items("better", 3)
    assert read_items(write_items(items, tmp_path / "items.jsonl")) == items
    with pytest.raises(BadInput, match="needs 1 candidate an item"):
        JudgementStore.create(tmp_path / "a.db", Project("real"), items)
    with pytest.raises(BadInput, match="two items have the id"):
        JudgementStore.create(tmp_path / "a.db", Project("better"), items * 2)
    assert not (tmp_path / "a.db").exists()
    with pytest.raises(BadInput, match="no items"):
        JudgementStore.create(tmp_path / "a.db", Project("better"), [])
    (tmp_path / "bad.jsonl").write_text('{"id": 1}\n')
    with pytest.raises(BadInput, match="bad.jsonl:1: expected an item"):
        read_items(tmp_path / "bad.jsonl")


@pytest.mark.parametrize("text", ["", "a:b:c:d", "a:b:c:d:5", "a:b:c:12"])
def test_bad_scales_are_refused(text):
    with pytest.raises(BadInput):
        Scale.parse(text)
