"""Settings of an analysis of a discriminator."""

from dataclasses import dataclass, field

from dialeval.errors import BadInput
from dialeval.settings.checks import check_settings


@dataclass(frozen=True)
class AnalysisRun:
    """Settings of the analysis."""

    contexts: int = field(
        default=100, metadata={"help": "Contexts that a generator answers (Kannan: 100)."}
    )
    samples: int = field(
        default=100, metadata={"help": "Responses that it samples to each (Kannan: 100)."}
    )
    max_new_tokens: int = field(default=20, metadata={"help": "Tokens of a sampled response."})
    pictures: int = field(
        default=3,
        metadata={"least": 0, "help": "Pictures of passages for each of the four outcomes."},
    )
    method: str | None = field(
        default=None,
        metadata={
            "help": "Weights of words: integrated-gradients, gradient-x-input, linear, occlusion; "
            "by default the most exact one for the discriminator."
        },
    )
    steps: int = field(
        default=50,
        metadata={
            "help": "Points of integrated gradients.",
            "needs": {"method": ("integrated-gradients",)},
        },
    )
    resamples: int = field(default=1_000, metadata={"help": "Bootstrap draws of dialogues."})
    seed: int = field(default=0, metadata={"help": "Random seed."})
    output_dir: str = field(
        default="runs/analysis",
        metadata={"flags": ("--output-dir", "-o"), "help": "Folder for the results."},
    )

    def __post_init__(self) -> None:
        check_settings(self)
        for name in ("contexts", "samples", "max_new_tokens", "steps", "resamples"):
            if getattr(self, name) < 1:
                option = name.replace("_", "-")
                raise BadInput(f"--{option} is at least 1, but got {getattr(self, name)}.")
