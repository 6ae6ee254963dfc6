"""How files become passages, and counts of what was read and left out."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from dialeval.dialogues.cutting import Cut, Filters
from dialeval.dialogues.roles import add_counts, add_names
from dialeval.dialogues.tokens import count_tokens
from dialeval.dialogues.types import Dialogue
from dialeval.errors import BadInput


@dataclass(frozen=True)
class ReadOptions:
    """How files become passages.

    Args:
        format (`str`, *optional*):
            Name of the format; guessed from the file by default.
        skip_bad (`bool`, *optional*, defaults to `False`):
            Skip bad records and list them, instead of stopping at the first.
        author (`str`, *optional*):
            Author of all responses; overrides the file.
        role (`str`, *optional*):
            Whose turns are the responses: `"user"`, `"assistant"`, the name of a speaker, or
            `"any"`. The other turns are context.
        side (`str`, *optional*):
            What the file was given as: `"human"`, or the name of a system. Responses whose author
            is not stated by the file are by this one. Where several roles could be meant and
            `role` is not given, the file is refused.
        columns (`dict[str, str]`, *optional*):
            Our column names to those of a table.
        answers (`dict[str, str]`, *optional*):
            Authors to the columns of their answers, where one table has those of all.
        turn_separator (`str`, *optional*):
            What separates the turns where a table holds a context in one cell.
        allow_empty (`bool`, *optional*, defaults to `False`):
            Keep responses without words: a system may have answered with nothing.
        keep_duplicates (`bool`, *optional*, defaults to `False`):
            Keep dialogues that occur in the corpus more than once.
        keep_equal_replies (`bool`, *optional*, defaults to `False`):
            Keep equal replies to equal contexts, as a system may give them; whole dialogues that
            occur more than once are still left out.
        num_proc (`int`, *optional*, defaults to 1):
            Processes that parse. Files are divided by lines where the format allows it.
    """

    format: str | None = None
    cut: Cut = field(default_factory=Cut)
    filters: Filters = field(default_factory=Filters)
    skip_bad: bool = False
    author: str | None = None
    role: str | None = None
    side: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    turn_separator: str | None = None
    allow_empty: bool = False
    keep_duplicates: bool = False
    keep_equal_replies: bool = False
    num_proc: int = 1


@dataclass
class ReadReport:
    """Counts from reading; `turns` and `tokens` are histograms over dialogues and turns.

    `speakers` has the turns of each speaker, `roles` the responses of each role where the source
    names roles only, `skipped` the messages that are no turns, by kind, and `notes` says how files
    were understood. `clashes` has the extra columns that were left out because a column of ours has
    the name, `separated` the contexts that had the separator of turns.
    """

    formats: dict[str, str] = field(default_factory=dict)
    dialogues: int = 0
    too_short: int = 0
    duplicate_dialogues: int = 0
    seen_elsewhere: int = 0
    filtered: int = 0
    passages: int = 0
    units: int = 0
    whole: bool = False
    turns: Counter = field(default_factory=Counter)
    tokens: Counter = field(default_factory=Counter)
    speakers: Counter[str] = field(default_factory=Counter)
    roles: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    notes: dict[str, None] = field(default_factory=dict)
    clashes: Counter[str] = field(default_factory=Counter)
    separated: Counter[str] = field(default_factory=Counter)
    problems: list[BadInput] = field(default_factory=list)

    def observe(self, dialogue: Dialogue) -> None:
        """Count a dialogue and its turns."""
        self.dialogues += 1
        self.too_short += not dialogue.replies and len(dialogue.turns) < 2
        self.units += dialogue.units
        self.turns[len(dialogue.turns)] += 1
        self.tokens.update(count_tokens(turn.text) for turn in dialogue.turns)
        spoken = dialogue.replies or dialogue.turns
        add_names(self.speakers, (item.speaker for item in spoken if item.speaker))

    def add_speakers(self, counts: Mapping[str, int]) -> None:
        """Count responses by speakers, in the order of their first."""
        add_counts(self.speakers, counts)

    def add(self, other: "ReadReport") -> None:
        """Add the counts of another part of the same corpus."""
        for name in ("dialogues", "too_short", "units"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("turns", "tokens", "speakers", "roles", "skipped", "clashes", "separated"):
            getattr(self, name).update(getattr(other, name))
        self.notes |= other.notes
        self.problems += other.problems
