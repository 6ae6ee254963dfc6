"""Audits: planted shares, bounds from one known sample, groups, checks and bad input."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest
from datasets import concatenate_datasets

import dialeval
from dialeval.dialogues import BadInput, Passage, Turn, to_passages
from dialeval.metrics.audit_results import (
    AT_MOST,
    FIT,
    KNOWN_ONLY,
    NEITHER,
    SHARE,
    UNLIKE,
    AuditResults,
)
from dialeval.protocols.audit import audit
from dialeval.protocols.audit.groups import known_people
from dialeval.protocols.audit.samples import make_sample
from dialeval.reports.audit import audit_page, to_text
from dialeval.settings.audit import AuditRun

COMMON = [
    "i",
    "you",
    "we",
    "it",
    "was",
    "nice",
    "and",
    "then",
    "maybe",
    "so",
    "to",
    "the",
    "old",
    "a",
    "in",
    "my",
    "day",
]
MACHINE = ["certainly", "assist", "furthermore", "delve", "happy", "however", "provide"]


def replies(count, share, seed, name, workers=0, machine_words=MACHINE, words=COMMON):
    """Dialogues of two replies; the first `share` of them use a machine's words."""
    rng = random.Random(seed)
    passages = []
    for number in range(count):
        is_machine = number < share * count
        for at in range(2):
            words_used = [
                rng.choice(machine_words)
                if rng.random() < (0.3 if is_machine else 0.03)
                else rng.choice(words)
                for _ in range(8)
            ]
            extra = {"worker": f"w{number * workers // count:02d}"} if workers else {}
            key = f"{name}-{number}"
            context = (Turn("A", " ".join(rng.choice(words) for _ in range(6))),)
            passages.append(
                Passage(context, " ".join(words_used), "human", f"{key}#{at}", key, extra=extra)
            )
    return to_passages(passages)


@pytest.fixture(scope="module")
def known():
    return replies(150, 0, 1, "reference"), replies(150, 1, 2, "machine")


def audited(folder, data, reference=None, machine=None, **settings):
    settings = {"seeds": 1, "folds": 3, "resamples": 500, **settings}
    return audit(data, reference, machine, AuditRun(output_dir=str(folder), **settings))


@pytest.mark.parametrize("share", [0, 0.2, 0.5])
def test_the_interval_covers_a_planted_share(share, known, tmp_path):
    results = audited(tmp_path, replies(200, share, 3, "data"), *known)
    number = results.results[0]
    assert results.kind == SHARE and number.metric == "machine_share"
    assert number.low <= share <= number.high and number.high - number.low < 0.25
    assert all(check.passed for check in results.checks)
    assert AuditResults.load(tmp_path) == results
    assert ("nothing shows that there are any" in results.text) == (share == 0)


def test_a_machine_file_alone_gives_an_upper_bound(known, tmp_path):
    results = audited(tmp_path, replies(300, 0.2, 3, "data"), machine=known[1])
    assert results.kind == AT_MOST and 0.2 <= results.results[0].high < 0.6
    assert "At most" in results.text and "no estimate" in results.text


def test_a_reference_alone_does_not_call_anything_a_machine(known, tmp_path):
    results = audited(tmp_path, replies(300, 0.5, 3, "data"), reference=known[0])
    assert results.kind == UNLIKE and 0.05 < results.results[0].low <= 0.5
    assert "unlike the reference" in results.text and "nothing shows why" in results.text


def test_workers_with_machine_replies_stand_out_and_others_do_not(known, tmp_path):
    reference = replies(200, 0, 5, "reference", workers=20)
    results = audited(
        tmp_path, replies(300, 0.1, 3, "data", workers=20), reference, known[1], by="worker"
    )
    assert {group.name for group in results.groups if group.stands_out} == {"w00", "w01"}
    assert all(group.share > 0.7 for group in results.groups[:2])
    assert all(group.high < 0.5 for group in results.groups[2:])
    q_values = [group.q_value for group in results.groups]
    assert q_values == sorted(q_values)
    assert "w00" in to_text(results)


def test_the_page_says_what_it_cannot_show_and_escapes_names(known, tmp_path):
    data = replies(40, 0, 3, "data")
    rows = [
        {**row, "extra": json.dumps({"worker": "<script>" if number % 2 else "b"})}
        for number, row in enumerate(data.to_list())
    ]
    passages = data.from_list(rows, features=data.features)
    page = audit_page(audited(tmp_path, passages, *known, by="worker"))
    assert "must not be used as evidence against a person" in page
    assert "<script>" not in page.split("</style>")[1].split("<section")[1]
    assert "&lt;script&gt;" in page
    assert "https://" not in page


def test_data_that_are_no_mixture_fail_the_check(known, tmp_path):
    other = ["ship", "sail", "harbour", "captain", "wave", "storm", "anchor", "rope"]
    data = replies(200, 0.5, 3, "data", machine_words=other)
    rng = random.Random(0)
    rows = [
        {**row, "response": " ".join([rng.choice(MACHINE), *row["response"].split()[:7]])}
        for row in data.to_list()
    ]
    results = audited(tmp_path, data.from_list(rows, features=data.features), *known)
    fit = next(check for check in results.checks if check.name == FIT)
    assert not fit.passed and fit.text in results.warnings
    assert results.kind == KNOWN_ONLY


OTHER_MACHINE = ["ship", "sail", "harbour", "captain", "wave", "storm", "anchor", "rope"]


def test_replies_of_another_machine_are_noticed_and_no_share_is_given(known, tmp_path):
    data = replies(200, 0.3, 3, "data", machine_words=OTHER_MACHINE)
    results = audited(tmp_path, data, *known)
    check = next(check for check in results.checks if check.name == NEITHER)
    assert not check.passed and check.p_value <= 0.05
    assert check.value == pytest.approx(0.3, abs=0.12)
    assert results.kind == KNOWN_ONLY and np.isnan(results.share)
    assert results.results[0].metric == "known_machine_share"
    page, text = audit_page(results), to_text(results)
    saved = json.loads((tmp_path / "results.json").read_text())
    for output in (page, " ".join(text.split()), saved["text"]):
        assert "No share of machine-written replies can be given" in output
    assert AuditResults.load(tmp_path).kind == KNOWN_ONLY


def test_a_share_says_from_where_on_another_machine_is_noticed(known, tmp_path):
    results = audited(tmp_path, replies(200, 0.2, 3, "data"), *known)
    check = next(check for check in results.checks if check.name == NEITHER)
    assert check.passed and "at a share of about" in check.text
    assert results.kind == SHARE and results.share == results.results[0].value


def test_people_who_differ_are_compared_as_people_where_they_are_named(tmp_path):
    def crowd(name, seed):
        rng = random.Random(seed)
        rows = []
        for worker in range(16):
            words = rng.sample(COMMON, 9)  # everyone has their own words
            part = replies(12, 0, seed + worker, f"{name}{worker}", words=words)
            rows += [
                {**row, "extra": json.dumps({"worker": f"{name}{worker}"})}
                for row in part.to_list()
            ]
        return part.from_list(rows, features=part.features)

    machine = replies(150, 1, 2, "machine")
    results = audited(tmp_path, crowd("d", 100), crowd("r", 200), machine, by="worker")
    check = next(check for check in results.checks if check.name == NEITHER)
    assert check.passed and check.p_value > 0.05


def test_replies_without_a_name_are_not_of_one_person(tmp_path):
    named, unnamed = replies(60, 0, 1, "a", workers=12), replies(60, 0, 2, "b")
    sample = make_sample("reference", concatenate_datasets([named, unnamed]), "worker")
    assert sample.group_count == 12
    assert len(np.unique(sample.units(10))) == 12 + 60  # workers, and dialogues of nobody
    people = known_people(sample)
    assert (people[120:] == -1).all() and set(people[:120]) == set(range(12))
    few = make_sample(
        "reference", concatenate_datasets([replies(60, 0, 1, "a", 9), unnamed]), "worker"
    )
    assert known_people(few) is None and len(np.unique(few.units(10))) == 120
    data = replies(60, 0.5, 3, "data", workers=6)
    reference, machine = concatenate_datasets([named, unnamed]), replies(150, 1, 4, "machine")
    results = audited(tmp_path, data, reference, machine, by="worker")
    assert {group.name for group in results.groups if group.stands_out} == {"w00", "w01", "w02"}


def test_other_contexts_are_named(known, tmp_path):
    data = replies(200, 0, 3, "data")
    rows = [
        {**row, "context": [{**row["context"][0], "text": "harbour ship captain storm"}]}
        for row in data.to_list()
    ]
    results = audited(tmp_path, data.from_list(rows, features=data.features), *known)
    shift = next(check for check in results.checks if "contexts" in check.name)
    assert not shift.passed and shift.value > 0.9


def test_contexts_that_cannot_be_compared_are_named(known, tmp_path):
    data = replies(60, 0, 3, "data")
    bare = to_passages(replace(passage, context=()) for passage in dialeval.iterate(data))
    results = audited(tmp_path, bare, *known)
    assert not any("contexts" in check.name for check in results.checks)
    assert any(
        text.startswith("The contexts of data and reference were not compared: fewer than 20")
        for text in results.warnings
    )


def test_what_is_missing_is_said(known, tmp_path):
    data = replies(30, 0, 3, "data")
    with pytest.raises(BadInput, match="do not show what a human") as error:
        audited(tmp_path, data)
    assert "--reference" in str(error.value) and "--machine" in str(error.value)
    with pytest.raises(BadInput, match="has 1 dialogue with 2 replies"):
        audited(tmp_path, replies(1, 0, 3, "data"), *known)
    with pytest.raises(BadInput, match="no reply of the data has a column 'worker'"):
        audited(tmp_path, data, *known, by="worker")
    with pytest.raises(BadInput, match="cannot distinguish the reference from the machine"):
        audited(tmp_path, data, known[0], replies(150, 0, 9, "more"))


def test_copies_of_the_reference_are_left_out_of_the_data(known, tmp_path):
    data = replies(60, 0, 3, "data")
    both = to_passages([*dialeval.iterate(data), *dialeval.iterate(known[0])])
    results = audited(tmp_path, both, *known)
    assert results.results[0].n == len(data)
    assert any("300 replies of the data are in the reference too" in t for t in results.warnings)


def test_more_folds_than_dialogues_are_as_many_folds_as_dialogues(tmp_path):
    data, human = replies(20, 0.5, 3, "data"), replies(20, 0, 1, "human")
    results = audited(tmp_path, data, human, replies(20, 1, 2, "machine"), folds=40)
    assert 0.2 < results.share < 0.8
    assert "20 folds, not 40: there are few dialogues." in results.warnings
    assert "|folds:20|" in results.signature


def test_an_evaluator_that_is_not_trained_is_refused(known, tmp_path):
    for name in ("zero-shot", str(tmp_path)):
        with pytest.raises(BadInput, match="is not trained here"):
            audited(tmp_path, known[0], known[0], known[1], evaluator=name)


def test_another_run_in_the_same_folder_is_refused(known, tmp_path):
    data = replies(30, 0, 3, "data")
    first = audited(tmp_path, data, *known)
    assert audited(tmp_path, data, *known) == first
    with pytest.raises(BadInput, match="it had another folds"):
        audited(tmp_path, data, *known, folds=2)


def test_lists_of_conversations_can_be_audited_from_python():
    def chats(passages, prefix):
        return [
            {"messages": [{"role": "user", "content": row["context"][0]["text"]},
                          {"role": "assistant", "content": row["response"]}],
             "id": f"{prefix}{number}", "worker": number % 3}
            for number, row in enumerate(passages.to_list())
        ]  # fmt: skip

    results = dialeval.audit(
        chats(replies(60, 0.5, 3, "data"), "d"), chats(replies(60, 0, 1, "r"), "r"),
        chats(replies(60, 1, 2, "m"), "m"), role="assistant", seeds=1, folds=3, by="worker",
    )  # fmt: skip
    assert results.results[0].low <= 0.5 <= results.results[0].high
    assert len(results.groups) == 3 and np.isclose(results.share, results.results[0].value)
