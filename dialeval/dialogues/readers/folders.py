"""Folders: conversations in files of any format, and datasets saved to disk."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dialeval.dialogues.formats import Format, Head, format_of, reader
from dialeval.dialogues.readers.tables import table_record
from dialeval.dialogues.readers.turns import has_turns, read_turn_rows
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, text_hash

_SUFFIXES = (
    ".json", ".jsonl", ".ndjson", ".txt", ".log", ".md", ".csv", ".tsv", ".parquet", ".eval",
)  # fmt: skip
_NOT_CONVERSATIONS = ("users.json", "channels.json", "integration_logs.json", "dataset_infos.json")
_SAVED = ("dataset_info.json", "state.json")


def conversation_files(folder: Path) -> Iterator[Path]:
    """Files of a folder and its subfolders that may have conversations, sorted by name."""
    for path in sorted(folder.rglob("*")):
        is_hidden = any(part.startswith((".", "__")) for part in path.relative_to(folder).parts)
        name = path.name.removesuffix(".gz").lower()
        is_candidate = name.endswith(_SUFFIXES) and path.name not in _NOT_CONVERSATIONS
        if is_candidate and not is_hidden and path.is_file():
            yield path


@reader(
    "folder",
    example="(a folder of files in the other formats, one or more conversations each)",
    recognise=lambda head: False,  # what no other format takes
)
def read_folder(source: Source) -> Iterator[Dialogue]:
    """Folder: its files and those of its subfolders, each in the format that it looks like."""
    unknown: list[str] = []
    seen: set[int] = set()
    names: dict[str, int] = {}
    for path in conversation_files(source.path):
        format = _format(path)
        if format is None:
            unknown.append(path.name)
            continue
        names[format.name] = names.get(format.name, 0) + 1
        prefix = path.relative_to(source.path).as_posix().removesuffix(".gz").rpartition(".")[0]
        for dialogue in format.read(source.inside(path)):
            yield _with_unique_id(dialogue, prefix, seen)
    if not names:
        message = "expected files with conversations, found none."
        raise BadInput(message, source.path, hint="See: dialeval data formats")
    counts = ", ".join(
        f"{count:,} file{'' if count == 1 else 's'} as {name}" for name, count in names.items()
    )
    source.note(f"{source.path.name}: read {counts}.")
    if unknown:
        source.note(f"Files in no known format were left out: {_list(unknown)}.")


def _format(path: Path) -> Format | None:
    try:
        return format_of(path)
    except BadInput:
        return None


def _with_unique_id(dialogue: Dialogue, prefix: str, seen: set[int]) -> Dialogue:
    """The dialogue, with the name of its file in an id that another file has too."""
    digest = text_hash([dialogue.id])
    if digest in seen and not dialogue.replies:
        dialogue = replace(dialogue, id=f"{prefix}/{dialogue.id}")
        digest = text_hash([dialogue.id])
    seen.add(digest)
    return dialogue


def _list(names: list[str], most: int = 3) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _is_saved(head: Head) -> bool:
    return "dataset_dict.json" in head.names or set(_SAVED) <= head.names


@reader(
    "saved-dataset",
    example="(a folder of `Dataset.save_to_disk`, with columns of `passages`, `chat` or `turns`)",
    recognise=_is_saved,
    whole=False,
)
def read_saved_dataset(source: Source) -> Iterator[Dialogue]:
    """Dataset of `datasets` saved to disk: memory-mapped, with the columns of a table."""
    from datasets import DatasetDict, load_from_disk

    try:
        data = load_from_disk(str(source.path))
    except Exception as error:  # the library raises anything about a damaged folder
        message = f"the dataset cannot be loaded: {str(error).strip() or type(error).__name__}."
        raise BadInput(message, source.path, hint="Save it again.") from None
    if isinstance(data, DatasetDict):
        if len(data) != 1:
            raise BadInput(
                f"it has the splits {', '.join(data)}.",
                source.path,
                hint=f"Give one of them: {source.path}/{next(iter(data))}",
            )
        data = next(iter(data.values()))
    if has_turns(data.column_names, source.columns):
        yield from read_turn_rows(lambda _: enumerate(data, 1), source)
        return
    for number, record in enumerate(data, 1):
        with source.record(number):
            yield table_record(record, source)
