"""Dialogues: what a conversation is, how corpora are read, cut, split and paired."""

from dialeval.dialogues.authors import authors, by_author
from dialeval.dialogues.cutting import FILTERS, Cut, Filters
from dialeval.dialogues.formats import Format, find_format, format_of, formats, reader
from dialeval.dialogues.pair_tables import PAIR_FEATURES
from dialeval.dialogues.pairing import SCENARIOS, Pairing, pair_folds
from dialeval.dialogues.reading import (
    ReadOptions,
    ReadReport,
    read,
    read_dialogues,
    read_passages,
)
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.splits import (
    PARTS,
    SeenDialogues,
    folds,
    overlap,
    part_of,
    select,
    split,
    warn_if_seen,
)
from dialeval.dialogues.storage import (
    FEATURES,
    Passages,
    atomic_write,
    iterate,
    to_passages,
    write_passages,
)
from dialeval.dialogues.tokens import count_tokens, tokens
from dialeval.dialogues.types import Dialogue, Passage, Reply, Turn

__all__ = [
    "FEATURES",
    "FILTERS",
    "PAIR_FEATURES",
    "PARTS",
    "SCENARIOS",
    "BadInput",
    "Cut",
    "Dialogue",
    "Filters",
    "Format",
    "Pairing",
    "Passage",
    "Passages",
    "ReadOptions",
    "ReadReport",
    "Reply",
    "SeenDialogues",
    "Source",
    "Turn",
    "atomic_write",
    "authors",
    "by_author",
    "count_tokens",
    "find_format",
    "folds",
    "format_of",
    "formats",
    "iterate",
    "overlap",
    "pair_folds",
    "part_of",
    "read",
    "read_dialogues",
    "read_passages",
    "reader",
    "select",
    "split",
    "to_passages",
    "tokens",
    "warn_if_seen",
    "write_passages",
]
