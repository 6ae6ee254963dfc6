"""Settings of studies with people."""

from dataclasses import dataclass, field

from dialeval.errors import BadInput
from dialeval.settings.checks import check_settings


@dataclass(frozen=True)
class StudySettings:
    """Settings of a study of judgements."""

    required: float = field(
        default=0.9,
        metadata={"help": "Accuracy on test questions that an annotator needs to be counted."},
    )
    resamples: int = field(default=1_000, metadata={"help": "Bootstrap draws of items."})
    seed: int = field(default=0, metadata={"help": "Random seed."})

    def __post_init__(self) -> None:
        check_settings(self)
        if not 0 <= self.required <= 1:
            raise BadInput(f"the required accuracy lies in [0, 1], but got {self.required}.")


@dataclass(frozen=True)
class AnnotationRun:
    """Settings of an annotation project."""

    task: str = field(
        default="real",
        metadata={
            "help": "What annotators do: real (real or not), human (which was written by a human), "
            "better (which is better, with ties), rating (on scales).",
            "choices": ("real", "human", "better", "rating"),
        },
    )
    items: int | None = field(
        default=None,
        metadata={
            "help": "Items, half of them real for the task real; by default 300 (Bruni and "
            "Fernández, 2017), and 200 for the other tasks (Li et al., 2017; for better per pair)."
        },
    )
    generated: int = field(
        default=30,
        metadata={
            "least": 0,
            "help": "For the task real: items of each system, without repeats and unknown words.",
            "needs": {"task": ("real",)},
        },
    )
    per_item: int = field(default=3, metadata={"help": "Annotators per item."})
    min_items: int = field(
        default=10,
        metadata={"least": 0, "help": "Items that an annotator is asked to judge at least."},
    )
    max_items: int = field(
        default=150, metadata={"help": "Items that one annotator may judge at most."}
    )
    required: float = field(
        default=0.9,
        metadata={"help": "Accuracy on test questions below which an annotator is stopped."},
    )
    tests: str = field(
        default="10",
        metadata={
            "flags": ("--test-questions",),
            "help": "File of items with a known answer, or how many attention checks to make: "
            "shuffled words, and for the task real also true replies; 0 for none.",
        },
    )
    opponent: str | None = field(
        default=None,
        metadata={
            "help": "For the task better: compare every system with this one only.",
            "needs": {"task": ("better",)},
        },
    )
    scales: tuple[str, ...] = field(
        default=(),
        metadata={
            "flags": ("--scale",),
            "help": "For the task rating: NAME:LOW:HIGH:POINTS with anchors; by default relevance "
            "and fluency with 5 points. Repeatable.",
            "needs": {"task": ("rating",)},
        },
    )
    title: str = field(default="", metadata={"help": "Heading of the page."})
    instructions: str = field(default="", metadata={"help": "Text that annotators read first."})
    seed: int = field(default=0, metadata={"help": "Random seed."})
    output_dir: str = field(
        default="runs/annotation",
        metadata={"flags": ("--output-dir", "-o"), "help": "Folder of the project."},
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if not 0 <= self.required <= 1:
            raise BadInput(f"the required accuracy lies in [0, 1], but got {self.required}.")

    @property
    def sample_size(self) -> int:
        """Items to sample."""
        return self.items or (300 if self.task == "real" else 200)
