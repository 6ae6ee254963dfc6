"""Records read as columns give the same passages, counts and errors as records one by one."""

import json
import random

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from dialeval.dialogues import BadInput, Cut, Filters, ReadOptions, count_tokens, read, reading
from dialeval.dialogues import blocks as blocks_module
from dialeval.dialogues.blocks import NotPlain
from dialeval.dialogues.readers import parquet as parquet_module
from dialeval.dialogues.token_counts import token_counts

WORDS = ["a", "don't", "w5", "<unk>", "…", "ß", "か漢", "!!!", "7", "x_y", "豈", "a'b5", "\u00a0É"]
CHARACTERS = "ab1 '’<>.!?,-_* \t\n\x0b\x1c@#か漢한豈é²٣ß…\u0301😀"
OPTIONS = [
    {},
    {"filters": Filters(min_response=2, max_context=9)},
    {"filters": Filters(forbidden=("<unk>", "a d")), "cut": Cut(context_turns=1)},
    {"author": "me", "allow_empty": True},
    {"side": "bot", "keep_duplicates": True},
    {"skip_bad": True},
    {"columns": {"speaker": "author"}},
    {"role": "user"},
]


def words(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(1, 5)))


def context_of(rng: random.Random, form: str) -> list:
    turns = [words(rng) for _ in range(rng.randint(1, 4))]
    if form == "role":
        roles = ["user", "assistant", "system"]
        return [{"role": rng.choice(roles), "content": text} for text in turns]
    if form == "speaker":
        return [{"speaker": rng.choice(["A", "B", ""]), "text": text} for text in turns]
    return turns


def records_of(rng: random.Random, count: int = 60) -> list[dict]:
    """Records of random shapes: with or without ids, authors, further columns."""
    form, columns = rng.choice(["text", "role", "speaker"]), []
    for name, values in (
        ("id", [f"q{number}" for number in range(count)]),
        ("id", list(range(count))),
        ("dialogue_id", ["d1", "d2", None]),
        ("author", ["human", "bot", None, ""]),
        ("corpus", ["", "c", None]),
        ("language", ["", "en"]),
        ("following", ["", "next one", None]),
        ("speaker", ["", "Z"]),
        ("rating", [1, 2.5, None, [1, {"a": 2}]]),
        ("when", ["2020-01-01"]),
        ("extra", [{"hypothesis": 3, "id": 5}, None, '{"k": 1}']),
    ):
        if rng.random() < 0.5:
            columns.append((name, values))
    records = []
    for number in range(count):
        record = {"context": context_of(rng, form), "response": words(rng)}
        for name, values in columns:
            is_id = name == "id"
            record[name] = values[number] if is_id else rng.choice(values)
        records.append(record)
    return records


def odd_lines(rng: random.Random, lines: list[str]) -> list[bytes]:
    """Some lines damaged, or of another shape."""
    raw = [line.encode() for line in lines]
    for _ in range(rng.choice([0, 0, 1, 3])):
        index = rng.randrange(len(raw))
        raw[index] = rng.choice(
            [
                b"",
                b" ",
                raw[index][:-1],
                raw[index] * 2,
                b"\xff" + raw[index],
                b'{"context": ["\\ud83d"], "response": "x"}',
                b'{"context": [], "response": "x"}',
                b'{"context": "one text", "response": "x"}',
                b'{"context": ["a", 1], "response": "x"}',
                b'{"context": [" "], "response": "x"}',
                b'{"context": ["a"], "response": ""}',
                b'{"context": ["a"], "response": 5}',
                b'{"context": ["a"], "id": true, "response": "b"}',
                b'{"context": ["a"], "author": 5, "response": "b"}',
                "\u00a0{}".encode(),
                b"[1]",
            ]
        )
    return raw


def outcome(path, options: dict):
    """The rows and the report, or the error."""
    try:
        passages, report = read(path, ReadOptions(**options))
    except BadInput as error:
        return str(error)
    fields = {**vars(report), "problems": [str(problem) for problem in report.problems]}
    return passages.to_list(), fields


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few records, so that a file has plain ones and others."""
    monkeypatch.setattr(blocks_module, "BATCH", 16)
    monkeypatch.setattr(parquet_module, "BATCH", 16)
    monkeypatch.setattr(parquet_module, "_READ", 4)


def refuse(*_):
    raise NotPlain


@pytest.mark.parametrize("seed", range(40))
def test_columns_and_single_records_are_read_alike(seed, tmp_path, monkeypatch, small_blocks):
    rng = random.Random(seed)
    records = records_of(rng)
    paths = [tmp_path / "own.jsonl"]
    lines = odd_lines(
        rng, [json.dumps(record, ensure_ascii=rng.random() < 0.5) for record in records]
    )
    mark = rng.choice([b"", b"\xef\xbb\xbf"])
    paths[0].write_bytes(mark + rng.choice([b"\n", b"\r\n"]).join(lines))
    try:
        parquet.write_table(pa.Table.from_pylist(records), tmp_path / "own.parquet")
        paths.append(tmp_path / "own.parquet")
    except (pa.ArrowException, TypeError):
        pass  # no table has values of several types in a column
    for path in paths:
        for options in OPTIONS:
            options = {**options, "format": "passages" if path == paths[0] else "parquet"}
            by_column = outcome(path, options)
            with monkeypatch.context() as patch:
                patch.setattr(reading, "plain_rows", refuse)
                assert outcome(path, options) == by_column, (path, options)


def test_plain_records_are_read_as_columns(tmp_path, monkeypatch, write):
    monkeypatch.setattr(reading._TaskReader, "_add_dialogues", refuse)
    records = [
        {"context": ["hi"], "response": "hello", "rating": 3},
        {"context": [{"role": "user", "content": "hi"}], "id": 7, "response": "hello you"},
        {"context": ["hi"], "response": "hi", "dialogue_id": "d", "author": "bot"},
    ]
    for record in records:
        path = write("own.jsonl", [record])
        parquet.write_table(pa.Table.from_pylist([record]), tmp_path / "own.parquet")
        assert len(read(path)[0]) == len(read(tmp_path / "own.parquet")[0]) == 1


@pytest.mark.parametrize("seed", range(5))
def test_tokens_of_columns_are_counted_as_those_of_single_texts(seed):
    rng = random.Random(seed)
    texts = ["".join(rng.choices(CHARACTERS, k=rng.randint(0, 12))) for _ in range(4_000)]
    column = pa.array(["", *texts, ""])
    assert token_counts(column).tolist() == [
        count_tokens(text or "") for text in column.to_pylist()
    ]
    assert token_counts(column[7:99]).tolist() == [count_tokens(text) for text in texts[6:98]]
    assert not len(token_counts(column[:0]))
