"""Passages at rest: round trips, and files that appear whole or not at all."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from dialeval.dialogues import (
    FEATURES,
    BadInput,
    Passage,
    Turn,
    atomic_write,
    iterate,
    read_passages,
    select,
    to_passages,
    write_passages,
)
from dialeval.dialogues.storage import PassageFile, batches, encode

PASSAGES = [
    Passage(
        context=(Turn("A", 'he said "no", then\nleft'), Turn("B", "[really]\t?")),
        response="ça va — 你好 😀",
        author="bot, the 2nd",
        id=f"p{number}",
        dialogue_id="d",
        corpus="c",
        language="fr",
        speaker="A",
        source_dialogue_id="other",
        following="and then?",
        extra={"rating": "3.5"},
    )
    for number in range(3)
] + [Passage((Turn("A", "hi"),), "hello", id="q", dialogue_id="q", speaker="B")]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "tsv", "parquet"])
def test_every_format_gives_back_what_was_written(ending, tmp_path):
    path = write_passages(to_passages(PASSAGES), tmp_path / f"passages.{ending}")
    assert list(iterate(read_passages(path))) == PASSAGES


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_an_empty_cell_is_an_empty_answer(ending, tmp_path):
    silent = Passage((Turn("A", "hi"),), "", "bot", id="q", extra={"empty": True})
    path = write_passages(to_passages([silent]), tmp_path / f"passages.{ending}")
    assert [passage.response for passage in iterate(read_passages(path))] == [""]
    write_passages(to_passages([replace(silent, extra={})]), path)
    with pytest.raises(BadInput, match="the response of 'bot' is empty"):
        read_passages(path)
    assert [p.response for p in iterate(read_passages(path, allow_empty=True))] == [""]


def test_the_schema_is_fixed_and_the_table_is_mapped_from_disk():
    passages = to_passages(PASSAGES)
    assert passages.features == FEATURES
    assert passages.cache_files


def test_no_passages_are_a_table_too():
    empty = to_passages([])
    assert empty.features == FEATURES and list(iterate(empty)) == []


def test_a_file_appears_only_when_it_is_complete(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_write(path) as file:
        file.write("half of the ne")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_unknown_endings_and_folders_are_refused(tmp_path):
    with pytest.raises(BadInput, match=r"ending '.xlsx'.*one of .jsonl, .csv, .tsv, .parquet"):
        write_passages(to_passages(PASSAGES), tmp_path / "out.xlsx")
    with pytest.raises(BadInput, match="found a directory"):
        write_passages(to_passages(PASSAGES), tmp_path)


def test_selected_rows_can_be_iterated():
    assert [passage.id for passage in iterate(to_passages(PASSAGES).select([3, 0]))] == ["q", "p0"]


@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_batches_are_of_one_size_however_the_table_came_about(size):
    whole = to_passages(PASSAGES)
    views = {
        "file": (whole, ["p0", "p1", "p2", "q"]),
        "slice": (whole.select(range(1, 4)), ["p1", "p2", "q"]),
        "picked": (whole.select([3, 1, 1]), ["q", "p1", "p1"]),
        "filtered": (select(whole, np.array([1, 0, 1, 1], dtype=bool)), ["p0", "p2", "q"]),
        "renamed": (whole.rename_columns({"id": "corpus", "corpus": "id"}), ["c", "c", "c", ""]),
    }
    for name, (view, ids) in views.items():
        parts = list(batches(view, size))
        assert [id for batch in parts for id in batch["id"].to_pylist()] == ids, name
        assert all(batch.num_rows == size for batch in parts[:-1]), name


@pytest.mark.parametrize("parts", [1, 3])
def test_batches_of_a_small_table_are_what_datasets_gives(parts):
    with PassageFile() as file:
        for part in range(parts):
            file.write(encode([Passage((Turn("A", f"hi {part}"),), str(n)) for n in range(4)]))
    table = file.dataset()
    for rows in (table, table.select([3, 0, 2]), table.select(range(1, 4))):
        read = pa.Table.from_batches(list(batches(rows, 2)))
        assert read.to_pylist() == rows.with_format("arrow")[:].to_pylist()
        assert [len(batch) for batch in batches(rows, 2)] == [2] * (len(rows) // 2) + [1] * (
            len(rows) % 2
        )
