"""Settings of studies with people."""

from dataclasses import dataclass, field

from dialeval.errors import BadInput


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
        if not 0 <= self.required <= 1:
            raise BadInput(f"the required accuracy lies in [0, 1], but got {self.required}.")
        if self.resamples < 1:
            raise BadInput(f"the bootstrap needs 1 draw or more, but got {self.resamples}.")
