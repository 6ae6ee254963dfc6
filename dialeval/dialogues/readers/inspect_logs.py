"""Logs of inspect_ai, as it documents them: a zip archive of JSON (`.eval`), or one JSON file.

The package itself is not needed. Members of newer archives are compressed with Zstandard, which
Python's `zipfile` knows from 3.14 on; pyarrow unpacks them.
"""

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import pyarrow as pa

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.json_stream import check_characters
from dialeval.dialogues.readers.messages import conversation
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue

MOST_BYTES = 1 << 30
"""Size of a sample from which on an archive is refused: it would not fit into memory."""
_ZSTANDARD = 93  # number of the method in the zip format
_LOCAL_HEADER = struct.Struct("<26xHH")  # lengths of the name and of further fields
_HEADERS = ("header.json", "_journal/start.json")  # the second of a run that did not finish
_SAMPLE = re.compile(r"samples/[^/]+\.json")
_ATTACHMENT = "attachment://"
_START = 1 << 20  # bytes of a JSON log in which its header is


def is_inspect_log(head: Head) -> bool:
    """Whether a file is a log of inspect_ai, by its name or by its outermost keys."""
    is_json = {"eval", "status", "version"} <= head.keys and "samples" in head.keys | head.fields
    return head.suffix == ".eval" or (is_json and head.suffix == ".json")


@reader(
    "inspect",
    example="(binary .eval, or .json, as inspect_ai writes them to `logs/`)",
    recognise=is_inspect_log,
)
def read_inspect(source: Source) -> Iterator[Dialogue]:
    """Logs of inspect_ai: the messages of each sample, one sample at a time."""
    with source.open() as file:
        is_archive = file.read(2) == b"PK"
        file.seek(0)
        if is_archive or source.path.suffix == ".eval":
            yield from _read_archive(file, source)
            return
        header = _json_header(file.read(_START).decode("utf-8-sig", "replace"))
    for number, sample in source.json_items("samples"):
        with source.record(number):
            yield _dialogue(sample, header, source)


def _read_archive(file: BinaryIO, source: Source) -> Iterator[Dialogue]:
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, OSError) as error:
        message = f"expected a log of inspect_ai, which is a zip archive, but {str(error).lower()}."
        raise BadInput(message, source.path, hint="Copy the log again.") from None
    members = {info.filename: info for info in archive.infolist()}
    start = next((members[name] for name in _HEADERS if name in members), None)
    samples = [info for name, info in members.items() if _SAMPLE.fullmatch(name)]
    if start is None or not samples:
        message = "expected a log of inspect_ai with a header and samples, found none."
        raise BadInput(message, source.path, hint="Copy the log again, or run the task again.")
    header = _json_member(file, archive, start)
    for number, info in enumerate(samples, 1):
        with source.record(number):
            yield _dialogue(_json_member(file, archive, info), header, source)


def _json_member(file: BinaryIO, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    if info.file_size > MOST_BYTES:
        raise BadInput(f"{info.filename} has {info.file_size:,} bytes, which is too much to read.")
    try:
        text = _member(file, archive, info).decode("utf-8")
        return check_characters(text, json.loads(text))
    except (ValueError, RecursionError, OSError, zlib.error, RuntimeError, zipfile.BadZipFile,
            NotImplementedError, struct.error) as error:  # fmt: skip
        reason = str(error).strip() or type(error).__name__
        raise BadInput(f"{info.filename} in the log cannot be read: {reason:.120}.") from None


def _member(file: BinaryIO, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The bytes of a member, never more than it says that it has."""
    if info.compress_type != _ZSTANDARD:
        with archive.open(info) as member:
            return member.read(info.file_size)
    file.seek(info.header_offset)
    name, further = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    file.seek(name + further, 1)
    packed = pa.BufferReader(file.read(info.compress_size))
    with pa.CompressedInputStream(packed, "zstd") as stream:
        content = stream.read(info.file_size)
    if zlib.crc32(content) != info.CRC:
        raise zipfile.BadZipFile("its checksum is wrong")
    return content


def _json_header(start: str) -> Mapping[str, Any]:
    """The part of a JSON log about its task and model, which is before its samples."""
    match = re.search(r'"eval"\s*:\s*', start)
    try:
        value = json.JSONDecoder().raw_decode(start, match.end())[0] if match else {}
    except (ValueError, RecursionError):
        value = {}
    return {"eval": value}


def _dialogue(sample: Any, header: Any, source: Source) -> Dialogue:
    facts = header.get("eval") if isinstance(header, Mapping) else None
    facts = facts if isinstance(facts, Mapping) else {}
    if not isinstance(sample, Mapping) or not isinstance(sample.get("messages"), list):
        raise BadInput('expected a sample with a list of "messages".')
    attachments = sample.get("attachments")
    attachments = attachments if isinstance(attachments, Mapping) else {}
    task = str(facts.get("task") or "")
    return conversation(
        [_resolved(message, attachments) for message in sample["messages"]],
        source,
        id=f"{sample.get('id')}-{sample.get('epoch', 1)}",
        machine=str(facts.get("model") or ""),
        corpus=task,
        extra={"task": task},
    )


def _resolved(value: Any, attachments: Mapping[str, Any]) -> Any:
    """A message whose long texts, which are kept apart, are in their places again."""
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return attachments.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, list):
        return [_resolved(item, attachments) for item in value]
    if isinstance(value, Mapping):
        return {key: _resolved(item, attachments) for key, item in value.items()}
    return value
