"""Where the numbers of a run go besides its folder."""

from dataclasses import dataclass, field
from importlib.util import find_spec

from dialeval.errors import BadInput
from dialeval.settings.usage import SET

TRACKERS = {
    "trackio": ("trackio",),
    "wandb": ("wandb",),
    "mlflow": ("mlflow",),
    "tensorboard": ("tensorboard", "tensorboardX"),
}
"""Trackers of Accelerate, and the packages of which one is needed."""


@dataclass(frozen=True)
class TrackingSettings:
    """Tracking."""

    log_with: str | None = field(
        default=None,
        metadata={"help": f"Also log the numbers with a tracker: {', '.join(TRACKERS)}."},
    )
    project: str = field(
        default="dialeval",
        metadata={
            "help": "Name of the tracker's project, for --log-with.",
            "needs": {"log_with": SET},
        },
    )

    def __post_init__(self) -> None:
        if self.log_with is None:
            return
        if self.log_with not in TRACKERS:
            hint = f"Choose from {', '.join(TRACKERS)}."
            raise BadInput(f"unknown tracker {self.log_with!r}.", hint=hint)
        if not any(find_spec(package) for package in TRACKERS[self.log_with]):
            hint = f"pip install {TRACKERS[self.log_with][0]}, or leave out --log-with."
            raise BadInput(f"the tracker {self.log_with!r} is not installed.", hint=hint)
        if not self.project.strip():
            raise BadInput("--project is empty.", hint="Name a project, or leave it out.")
