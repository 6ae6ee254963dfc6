"""Datasets on the Hub, by name."""

from collections.abc import Iterator

from dialeval.dialogues.formats import reader
from dialeval.dialogues.readers.tables import table_record
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue


@reader(
    "hub",
    example="hub:owner/name:test   (or owner/name; columns as in `passages` or `chat`)",
    recognise=lambda head: False,
    whole=False,
)
def read_hub(source: Source) -> Iterator[Dialogue]:
    """A dataset on the Hub, streamed: `hub:owner/name` and, after a colon, a split."""
    name, _, split = str(source.path).removeprefix("hub:").partition(":")
    for number, record in enumerate(_rows(name, split), 1):
        with source.record(number):
            yield table_record(record, source)


def _rows(name: str, split: str):
    from datasets import load_dataset

    try:
        parts = load_dataset(name, streaming=True)
    except Exception as error:
        raise BadInput(
            f"the dataset cannot be loaded: {error}.",
            f"hub:{name}",
            remedy="Check the name, the network and `hf auth whoami`; or give a local file.",
        ) from None
    if split in parts:
        return parts[split]
    if not split and len(parts) == 1:
        return next(iter(parts.values()))
    raise BadInput(
        f"it has the splits {', '.join(parts)}, not {split or 'just one'!r}.",
        f"hub:{name}",
        remedy=f"Name one, for example hub:{name}:{next(iter(parts))}",
    )
