"""Logs of inspect_ai, in archives as its versions write them: deflated, or with Zstandard."""

import json
import struct
import zipfile
import zlib

import pyarrow as pa
import pytest

from dialeval.dialogues import BadInput, ReadOptions, iterate, read
from dialeval.dialogues.formats import format_of
from dialeval.dialogues.readers import inspect_logs

LONG = "A long answer, which is kept apart from the messages. " * 3
HEADER = {
    "version": 2,
    "status": "success",
    "eval": {"task": "desk", "model": "mockllm/model", "dataset": {"samples": 2}},
    "results": {"total_samples": 2},
}


def sample(number: int) -> dict:
    """A sample as inspect_ai 0.3.285 writes it, without its events."""
    return {
        "id": number,
        "epoch": 1,
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": f"Question {number}?", "source": "input"},
            {"role": "assistant", "content": "", "tool_calls": [{"function": "look"}]},
            {"role": "tool", "content": "nothing"},
            {
                "role": "assistant",
                "content": [
                    {"type": "reasoning", "reasoning": "hmm"},
                    {"type": "text", "text": "attachment://ab12"},
                ],
            },
        ],
        "attachments": {"ab12": f"{number} {LONG}"},
    }


def members(header: str = "header.json") -> dict[str, bytes]:
    values = {"samples/7_epoch_1.json": sample(7), "samples/8_epoch_1.json": sample(8)}
    contents = {header: HEADER, "summaries.json": [], **values}
    return {name: json.dumps(value).encode() for name, value in contents.items()}


def zstandard_archive(path, contents: dict[str, bytes], damage: int = 0) -> None:
    """A zip archive whose members are compressed with method 93 (APPNOTE 4.4.5), by hand."""
    codec, local, central = pa.Codec("zstd"), b"", b""
    for name, content in contents.items():
        packed = codec.compress(content, asbytes=True)
        sizes = struct.pack("<III", zlib.crc32(content) ^ damage, len(packed), len(content))
        common = struct.pack("<HHHHH", 63, 0, 93, 0, 33) + sizes + struct.pack("<HH", len(name), 0)
        central += b"PK\x01\x02" + struct.pack("<H", 63) + common
        central += struct.pack("<HHHII", 0, 0, 0, 0, len(local)) + name.encode()
        local += b"PK\x03\x04" + common + name.encode() + packed
    count = len(contents)
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(central), len(local), 0)
    path.write_bytes(local + central + b"PK\x05\x06" + end)


def deflated_archive(path, contents: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def check(path) -> None:
    assert format_of(path).name == "inspect"
    rows = list(iterate(read(path, ReadOptions(role="assistant"))[0]))
    assert [[turn.text for turn in row.context] for row in rows] == [
        ["Question 7?"], ["Question 8?"],
    ]  # fmt: skip
    assert [row.response for row in rows] == [f"7 {LONG}", f"8 {LONG}"]
    assert {row.author for row in rows} == {"mockllm/model"}
    assert {row.corpus for row in rows} == {"desk"}
    assert {row.dialogue_id for row in rows} == {"7-1", "8-1"}


@pytest.mark.parametrize("header", ["header.json", "_journal/start.json"])
@pytest.mark.parametrize("write_archive", [deflated_archive, zstandard_archive])
def test_samples_of_an_archive_become_conversations(tmp_path, write_archive, header):
    path = tmp_path / "log.eval"
    write_archive(path, members(header))
    check(path)


@pytest.mark.parametrize("indent", [None, 2])
def test_samples_of_a_json_log_become_conversations(write, indent):
    log = {**HEADER, "samples": [sample(7), sample(8)]}
    check(write("log.json", json.dumps(log, indent=indent)))


def test_damaged_archives_are_one_sentence(tmp_path, monkeypatch):
    path = tmp_path / "log.eval"
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(BadInput, match="which is a zip archive, but"):
        read(path)
    deflated_archive(path, {"other.json": b"{}"})
    with pytest.raises(BadInput, match="with a header and samples, found none"):
        read(path)
    zstandard_archive(path, members(), damage=1)
    with pytest.raises(BadInput, match="checksum is wrong"):
        read(path)
    deflated_archive(path, members() | {"samples/7_epoch_1.json": b'{"messages": '})
    with pytest.raises(BadInput, match=r"samples/7_epoch_1.json in the log cannot be read"):
        read(path)
    monkeypatch.setattr(inspect_logs, "MOST_BYTES", 10)
    with pytest.raises(BadInput, match="too much to read"):
        read(path)


def test_a_bad_sample_can_be_skipped(tmp_path):
    path = tmp_path / "log.eval"
    zstandard_archive(path, members() | {"samples/7_epoch_1.json": b"[]"})
    passages, counts = read(path, ReadOptions(role="assistant", skip_bad=True))
    assert [row.dialogue_id for row in iterate(passages)] == ["8-1"]
    assert len(counts.problems) == 1
