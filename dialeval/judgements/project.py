"""What annotators are asked: task, instructions, scales, and the limits of a project."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from dialeval.errors import BadInput
from dialeval.judgements.tables import PAIR_TASKS, TASKS
from dialeval.saved import from_saved

MOST_POINTS = 9  # one key each


@dataclass(frozen=True)
class Scale:
    """A scale with anchors at both ends.

    Args:
        name (`str`):
            Its name.
        low, high (`str`):
            What the lowest and the highest point mean.
        points (`int`, *optional*, defaults to 5):
            Number of points, from 1.
    """

    name: str
    low: str = "low"
    high: str = "high"
    points: int = 5

    def __post_init__(self) -> None:
        if not 2 <= self.points <= MOST_POINTS:
            message = f"a scale has 2 to {MOST_POINTS} points, but {self.name!r} has {self.points}."
            raise BadInput(message)

    @classmethod
    def parse(cls, text: str) -> "Scale":
        """A scale as the command line writes it: `NAME:LOW:HIGH:POINTS`, all but the name optional.

        Examples:
            >>> Scale.parse("fluency:broken:natural:7")
            Scale(name='fluency', low='broken', high='natural', points=7)
        """
        name, *rest = (part.strip() for part in text.split(":"))
        try:
            points = int(rest.pop()) if len(rest) == 3 else 5
        except ValueError:
            raise BadInput(f"expected NAME:LOW:HIGH:POINTS, but got {text!r}.") from None
        if not name or len(rest) > 2:
            raise BadInput(f"expected NAME:LOW:HIGH:POINTS, but got {text!r}.")
        low, high = (*rest, *("low", "high")[len(rest) :])
        return cls(name, low, high, points)


DEFAULT_SCALES = (
    Scale("relevance", "does not fit the context", "fits the context well"),
    Scale("fluency", "broken language", "natural language"),
)

INSTRUCTIONS = {
    "real": "You see the beginning of a conversation and one continuation. Was this really the "
    "next thing that was said, or was it put there instead of the real one?",
    "human": "You see the beginning of a conversation and two replies. One was written by a human, "
    "the other by a computer. Which one was written by the human?",
    "better": "You see the beginning of a conversation and two continuations. Which one is better? "
    "If you cannot decide, choose the tie.",
    "rating": "You see the beginning of a conversation and a reply. Rate the reply on each scale.",
}


@dataclass(frozen=True)
class Project:
    """Settings of an annotation project, kept in its database.

    Args:
        task (`str`):
            One of `TASKS`.
        title, instructions (`str`, *optional*):
            What annotators read; the task's own text by default.
        scales (`tuple[Scale, ...]`, *optional*):
            Scales of the task `rating`.
        per_item (`int`, *optional*, defaults to 3):
            Annotators per item.
        min_items, max_items (`int`, *optional*):
            Items that one annotator is asked to judge at least, and may judge at most.
        required (`float`, *optional*, defaults to 0.9):
            Accuracy on test questions below which an annotator is stopped.
        test_every (`int`, *optional*, defaults to 8):
            One of so many questions is a test question, as long as there are any.
        test_min (`int`, *optional*, defaults to 5):
            Test questions after which the accuracy counts.
        seed (`int`, *optional*, defaults to 0):
            Seed of the order of items.
    """

    task: str
    title: str = ""
    instructions: str = ""
    scales: tuple[Scale, ...] = ()
    per_item: int = 3
    min_items: int = 10
    max_items: int = 150
    required: float = 0.9
    test_every: int = 8
    test_min: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise BadInput(f"unknown task {self.task!r}.", hint=f"Choose from {', '.join(TASKS)}.")
        if self.task == "rating" and not self.scales:
            object.__setattr__(self, "scales", DEFAULT_SCALES)
        names = [scale.name for scale in self.scales]
        if len(set(names)) < len(names):
            raise BadInput(f"two scales have the same name: {', '.join(names)}.")
        if self.per_item < 1 or self.max_items < 1:
            raise BadInput("an item needs an annotator, and an annotator an item.")

    @property
    def text(self) -> str:
        """The instructions that are shown."""
        return self.instructions or INSTRUCTIONS[self.task]

    @property
    def fields(self) -> dict[str, tuple[str, ...]]:
        """Answers that are allowed, by scale; the scale is `""` where there is one question."""
        if self.task == "rating":
            return {
                scale.name: tuple(str(point) for point in range(1, scale.points + 1))
                for scale in self.scales
            }
        if self.task == "real":
            return {"": ("real", "fake")}
        return {"": ("first", "second", "tie") if self.task == "better" else ("first", "second")}

    @property
    def is_pair(self) -> bool:
        """Whether two candidates are compared."""
        return self.task in PAIR_TASKS

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "Project":
        """A project from such a dictionary."""
        known = {item.name: row[item.name] for item in fields(cls) if item.name in row}
        known["scales"] = tuple(from_saved(Scale, scale) for scale in row.get("scales", ()))
        return cls(**known)
