"""Tables of every kind: odd columns are kept, damage is said with its row, formulas are inert."""

import datetime
import decimal
import gzip
import json

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from dialeval.dialogues import BadInput, iterate, read, to_passages, write_passages
from dialeval.dialogues.read_options import ReadOptions
from tests.conftest import talk


def test_columns_that_json_does_not_have_are_kept_as_text(tmp_path):
    path = tmp_path / "odd.parquet"
    columns = {
        "context": [["hi"]], "response": ["ok"], "at": [datetime.datetime(2020, 1, 2)],
        "price": [decimal.Decimal("1.50")], "raw": [b"\xffx"],
    }  # fmt: skip
    parquet.write_table(pa.table(columns), path)
    (passage,) = iterate(read(path)[0])
    assert passage.extra == {"at": "2020-01-02 00:00:00", "price": "1.50", "raw": "\ufffdx"}


def test_text_that_is_no_utf8_is_one_bad_row(tmp_path):
    path = tmp_path / "bad.parquet"
    raw = pa.array([b"fine", b"\xff\xfe", b"good"])
    text = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    parquet.write_table(pa.table({"context": [["a"], ["b"], ["c"]], "response": text}), path)
    with pytest.raises(BadInput, match=r"bad.parquet:2: this row cannot be read"):
        read(path)
    passages, report = read(path, ReadOptions(skip_bad=True))
    assert [passage.response for passage in iterate(passages)] == ["fine", "good"]
    assert len(report.problems) == 1


def test_an_open_quote_is_said_where_it_opens(tmp_path):
    path = tmp_path / "open.csv"
    path.write_text('context,response\nhi,ok\n"never closed,x\n' + "a,b\n" * 20)
    with pytest.raises(BadInput, match=r"open.csv:3: a quote opens in this row"):
        read(path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_utf16_gets_advice(tmp_path, encoding):
    path = tmp_path / "wide.csv"
    path.write_bytes("context,response\nhi,ok\n".encode(encoding))
    with pytest.raises(BadInput, match="iconv -f utf-16"):
        read(path)


@pytest.mark.parametrize("ending", ["csv", "tsv"])
@pytest.mark.parametrize(
    "text", ["=cmd|' /C calc'!A0", "+1", "-5 dollars", "@SUM(1)", "'tis", "ok"]
)
def test_formulas_are_inert_in_a_table_and_come_back(tmp_path, text, ending):
    passage = talk(1, 2)[0].with_response(text, "bot")
    path = write_passages(to_passages([passage]), tmp_path / f"out.{ending}")
    row = path.read_text("utf-8").splitlines()[1]
    assert not any(cell.strip('"').startswith(tuple("=+-@")) for cell in row.split("\t"))
    (again,) = iterate(read(path)[0])
    assert again.response == text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lambda data: gzip.compress(data)[:-20], "is truncated"),
        (lambda data: data, "expected gzip"),
        (lambda data: gzip.compress(data)[:20] + b"\0" * 40, "gzip"),
    ],
)
def test_damaged_gzip_is_said(tmp_path, content, message):
    path = tmp_path / "data.jsonl.gz"
    path.write_bytes(content(b'{"context": ["a"], "response": "b"}\n' * 200))
    with pytest.raises(BadInput, match=message):
        read(path)


@pytest.mark.parametrize(
    ("record", "left_out"),
    [
        ({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}],
          "response": "z"}, {"response": 1}),
        ({"context": ["hi"], "response": "yo", "extra": {"response": "evil", "kept": 1}},
         {"response": 1}),
    ],
)  # fmt: skip
def test_our_columns_win_and_the_clash_is_said(tmp_path, record, left_out):
    path = tmp_path / "clash.jsonl"
    path.write_text(json.dumps(record) + "\n")
    passages, report = read(path)
    written = write_passages(passages, tmp_path / "out.jsonl").read_text()
    assert json.loads(written)["response"] == "yo" and "evil" not in written
    assert report.clashes == left_out


def test_half_a_character_is_a_bad_record_with_its_line(tmp_path):
    path = tmp_path / "half.jsonl"
    good = '{"context": ["a"], "response": "b"}\n'
    path.write_text(good + good.replace('"b"', '"x \\ud83d"'))
    with pytest.raises(BadInput, match=r"half.jsonl:2: .*half a character"):
        read(path)
    assert len(read(path, ReadOptions(skip_bad=True))[0]) == 1
