"""Datasets on the Hub, by name."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from dialeval.dialogues.columns import columns_of
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
    rows = iter(_rows(name, split))
    first = next(rows, None)
    if first is None:
        return
    source = replace(source, columns=columns_of(name, first, source.columns))
    for number, record in enumerate(chain([first], rows), 1):
        with source.record(number):
            yield table_record(record, source)


def _rows(name: str, split: str) -> Any:
    from datasets import load_dataset

    from dialeval.downloads import hub_error, with_retries

    try:
        parts = with_retries(lambda: load_dataset(name, streaming=True))
    except Exception as error:
        problem = hub_error(error.__cause__ or error, f"hub:{name}")
        hint = problem.hint or "Check the name, the network and `hf auth whoami`."
        message = f"the dataset cannot be loaded: {problem.message}"
        raise BadInput(message, problem.path, hint=f"{hint} Or give a local file.") from None
    if split in parts:
        return parts[split]
    if not split and len(parts) == 1:
        return next(iter(parts.values()))
    raise BadInput(
        f"it has the splits {', '.join(parts)}, not {split or 'just one'!r}.",
        f"hub:{name}",
        hint=f"Name one, for example hub:{name}:{next(iter(parts))}",
    )
