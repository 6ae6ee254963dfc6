"""What a corpus looks like, counted by hand."""

import io
from collections import Counter

import numpy as np
import pytest

from dialeval.dialogues import read
from dialeval.dialogues.statistics import describe, summary
from dialeval.reports.description import description_plot, description_tables


@pytest.fixture
def description(write):
    responses = [("1", "yes", "human"), ("2", "yes", "human"), ("3", "no , no", "human")]
    rows = [
        {"id": id, "dialogue_id": id, "context": [f"a {id}"], "response": text, "author": author}
        for id, text, author in [*responses, ("1", "[bold]", "bot")]
    ]
    return describe(*read(write("own.jsonl", rows)))


def test_authors_lengths_and_repetition(description):
    human, bot = description.authors
    assert (human.name, human.responses, human.distinct) == ("human", 3, 2)
    assert human.frequent[0] == ("yes", 2)
    assert human.lengths == {1: 2, 3: 1} and human.tokens.mean == pytest.approx(5 / 3)
    assert (bot.name, bot.responses, bot.empty) == ("bot", 1, 0)
    assert description.passages == 4 and description.turn_tokens.mean == 2


def test_summary_agrees_with_numpy():
    values = np.random.default_rng(0).poisson(9, 501)
    result = summary(Counter(values.tolist()))
    assert result.mean == pytest.approx(values.mean()) and result.sd == pytest.approx(values.std())
    assert [result.q1, result.median, result.q3] == [
        np.percentile(values, share, method="inverted_cdf") for share in (25, 50, 75)
    ]
    assert (result.n, result.min, result.max) == (501, values.min(), values.max())


def test_what_users_wrote_is_not_markup(write):
    from rich.console import Console

    rows = [{"id": id, "context": [f"a {id}"], "response": "[bold]"} for id in "12"]
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(description_tables(describe(*read(write("own.jsonl", rows)))))
    assert "[bold]" in console.export_text()


def test_the_picture_is_a_picture(description, tmp_path):
    path = description_plot(description, tmp_path / "new" / "picture.png")
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.shared
def test_real_corpora_have_the_numbers_of_their_readme(shared):
    folder = shared / "dailydialog"
    parts = {name: f"dialogues_{name}.txt" for name in ("train", "validation", "test")}
    counts = {name: read(folder / file)[1].dialogues for name, file in parts.items()}
    assert counts == {"train": 11_118, "validation": 1_000, "test": 1_000}
    _, report = read(folder / parts["test"], against=[folder / parts["train"]])
    assert report.seen_elsewhere == 93
    _, report = read(folder / parts["validation"], against=[folder / parts["train"]])
    assert report.seen_elsewhere == 69  # one of the 68 texts stands there twice
