"""Names that stand for several files: patterns, and folders of shards."""

import json

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from dialeval.dialogues import BadInput, ReadOptions, iterate, read
from dialeval.dialogues.conversion import as_passages


@pytest.fixture
def shards(tmp_path):
    """A folder of three Parquet files with one passage each, out of order."""
    folder = tmp_path / "shards"
    folder.mkdir()
    for number in (2, 0, 1):
        row = {"id": f"q{number}", "context": ["hi"], "response": f"hello {number}"}
        parquet.write_table(pa.Table.from_pylist([row]), folder / f"part-{number}.parquet")
    return folder


def responses(passages):
    return [passage.response for passage in iterate(passages)]


@pytest.mark.parametrize("num_proc", [1, 2])
def test_patterns_and_folders_of_shards_are_read_in_the_order_of_their_names(shards, num_proc):
    (shards / "_SUCCESS").touch()
    for path in (str(shards / "*.parquet"), shards, str(shards.parent / "*" / "part-*")):
        passages, report = read(path, ReadOptions(num_proc=num_proc))
        assert responses(passages) == ["hello 0", "hello 1", "hello 2"]
        assert list(report.formats.values()) == ["parquet"] * 3
    assert len(as_passages(str(shards / "part-[01].parquet"), author="human")) == 2


def test_shards_of_json_lines_keep_equal_replies_as_a_single_file_does(tmp_path):
    record = {"context": ["hi"], "response": "hello"}
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(json.dumps(record))
    options = ReadOptions(keep_equal_replies=True, format=None)
    assert responses(read(tmp_path, options)[0]) == ["hello", "hello"]
    assert responses(read(tmp_path)[0]) == ["hello"]


def test_an_error_names_the_shard_and_its_row(shards):
    row = {"id": "q9", "context": [""], "response": "x"}
    parquet.write_table(pa.Table.from_pylist([row]), shards / "part-3.parquet")
    with pytest.raises(BadInput, match=r"part-3.parquet:1: turn 1 of the context is empty"):
        read(shards)


def test_a_pattern_that_no_file_fits_is_refused(tmp_path):
    with pytest.raises(BadInput, match="no file fits this pattern"):
        read(str(tmp_path / "*.parquet"))


def test_folders_of_conversations_are_read_as_before(tmp_path):
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    (tmp_path / "a.jsonl").write_text(json.dumps({"messages": messages}))
    assert list(read(tmp_path)[1].formats.values()) == ["folder"]
