"""The readers on real corpora: the counts of the data's own README, and formats guessed right."""

import os
from collections import Counter
from pathlib import Path

import pytest

from dialeval.dialogues.formats import Head, format_of, formats
from dialeval.dialogues.readers.chitchat import chitchat_path
from dialeval.dialogues.sources import BadInput, Source

BESIDE = Path(__file__).resolve().parents[2].parent / "shared" / "data"
DATA = Path(os.environ.get("DIALEVAL_SHARED_DATA", BESIDE))

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"no corpora in {DATA}"),
]

COUNTS = [
    # path, format, dialogues, replies
    ("dailydialog/dialogues_train.txt", "dailydialog", 11_118, 0),
    ("dailydialog/dialogues_validation.txt", "dailydialog", 1_000, 0),
    ("dailydialog/dialogues_test.txt", "dailydialog", 1_000, 0),
    ("switchboard/train", "switchboard", 1_115, 0),
    ("switchboard/val", "switchboard", 21, 0),
    ("switchboard/test", "switchboard", 19, 0),
    ("switchboard/val/2347.txt", "switchboard", 1, 0),
    ("dstc7", "dstc7", 1_000, 10_000),
    ("dstc7/dstc7-task2-context.tsv", "dstc7", 1_000, 10_000),
    ("empathetic_outputs/mime.txt", "outputs", 5_255, 4 * 5_255),
    ("empathetic_outputs/moel.txt", "outputs", 5_255, 5 * 5_255),
    ("multirefeval/multireftest.json", "multiref", 6_740, 6 * 6_740 - 1),  # one is empty
    ("multirefeval/test.tgt", "lines", 6_740, 6_740),
    # The README says 2,170 contexts, but both files hold the same 1,028.
    ("dailydialogpp/dev.json", "dailydialogpp", 1_028, 15 * 1_028),
    ("dailydialogpp/test-v1.0.json", "dailydialogpp", 1_028, 15 * 1_028),
    ("li2017", "li", 3 * 256, 3 * 3 * 256),
    ("li2017/decoded_dev.txt", "li", 256, 256),
    ("ubuntu_irc/train.jsonl", "threads", 3_753, 0),
    ("ubuntu_irc/dev.jsonl", "threads", 157, 0),
    ("ubuntu_irc/test.jsonl", "threads", 263, 0),
    ("ubuntu_udc/dialogues_small.json", "ubuntu-json", 2_002, 0),
    ("dealornodeal/val.json", "cocoa", 422, 0),
    ("dealornodeal/test.json", "cocoa", 402, 0),
    ("dealornodeal/fair.txt", "fair", 12_234, 0),
    ("meena_chats/human.txt", "transcript", 95, 0),
    ("meena_chats/meena.txt", "transcript", 93, 0),
    ("meena_chats/mitsuku.txt", "transcript", 100, 0),
    ("rated/dailydialog-gupta.jsonl", "passages", 500, 500),
    ("rated/dailydialog-zhao.jsonl", "passages", 900, 900),
    ("rated/fed-turn.jsonl", "passages", 375, 375),
    ("rated/persona-zhao.jsonl", "passages", 900, 900),
]


def read(path, name=None):
    return list(format_of(path, name).read(Source(path)))


@pytest.mark.parametrize(("path", "name", "dialogues", "replies"), COUNTS)
def test_corpus_is_recognised_and_complete(path, name, dialogues, replies):
    assert format_of(DATA / path).name == name
    corpus = read(DATA / path)
    assert len(corpus) == dialogues
    assert sum(len(dialogue.replies) for dialogue in corpus) == replies
    assert all(turn.text.strip() for dialogue in corpus for turn in dialogue.turns)


@pytest.mark.parametrize(
    "name",
    ["README.md", "gold_responses.tsv", "human_evaluation.tsv", "human-eval-per-judge.tsv"],
)
def test_what_holds_no_dialogues_is_not_taken_for_a_corpus(name):
    path = DATA / (name if name == "README.md" else f"dstc7/dstc7-task2-{name}")
    with pytest.raises(BadInput, match="no format fits"):
        format_of(path)


def test_every_call_of_switchboard_is_recognised():
    heads = map(Head, (DATA / "switchboard").rglob("*.txt"))
    assert all(formats()["switchboard"].recognise(head) for head in heads)


def test_dstc7_has_ten_rated_systems_a_context():
    dialogues = read(DATA / "dstc7")
    authors = Counter(reply.author for dialogue in dialogues for reply in dialogue.replies)
    assert set(authors.values()) == {1_000}
    assert len(authors) == 10
    assert {"human", "random", "TeamG"} <= set(authors)
    assert all("rating" in reply.extra for dialogue in dialogues for reply in dialogue.replies)


def test_model_outputs_of_two_papers_answer_the_same_questions():
    mime, moel = (read(DATA / f"empathetic_outputs/{name}.txt") for name in ("mime", "moel"))
    for one, other in zip(mime, moel, strict=True):
        assert (one.id, one.turns, one.replies[0]) == (other.id, other.turns, other.replies[0])
    assert len({dialogue.replies[0].id for dialogue in mime}) == 5_255
    assert len({dialogue.id for dialogue in mime}) == 2_542  # contexts of one turn: conversations


def test_dailydialogpp_files_are_the_same_data():
    dev, test = (
        sorted(read(DATA / f"dailydialogpp/{name}"), key=lambda dialogue: dialogue.replies[0].id)
        for name in ("dev.json", "test-v1.0.json")
    )
    assert dev == test
    assert len({dialogue.turns for dialogue in dev}) == 1_027


def test_multiref_keeps_the_system_aligned():
    dialogues = read(DATA / "multirefeval/multireftest.json")
    lines = (DATA / "multirefeval/hredf.txt").read_text(encoding="utf-8").splitlines()
    assert [dialogue.replies[-1].text for dialogue in dialogues] == [line.strip() for line in lines]
    assert len({dialogue.id for dialogue in dialogues}) == 1_000


def test_fair_dialogues_stand_there_twice():
    views = Counter(dialogue.id for dialogue in read(DATA / "dealornodeal/fair.txt"))
    assert len(views) == 6_313
    assert Counter(views.values())[2] == 5_913


def test_li_sources_are_the_same_for_all_authors():
    dialogues = read(DATA / "li2017")
    assert Counter(dialogue.extra["split"] for dialogue in dialogues) == dict.fromkeys(
        ("train", "dev", "test"), 256
    )
    assert all(len(dialogue.replies) == 3 for dialogue in dialogues)


def test_chitchat_is_complete():
    try:
        path = chitchat_path()
    except BadInput as error:
        pytest.skip(str(error))
    assert format_of(path).name == "chitchat"
    dialogues = read(path)
    assert len(dialogues) == 7_168
    assert sum(dialogue.units for dialogue in dialogues) == 258_145
    assert all(turn.text for dialogue in dialogues for turn in dialogue.turns)
