"""Progress of a study of training against perturbations."""

from dialeval.metrics.training_results import StepProgress
from dialeval.reports.training import TrainingProgress
from dialeval.terminal import SafeConsole


class RobustProgress(TrainingProgress):
    """A bar for each training; call it with the name of a training and its progress."""

    def __init__(self, console: SafeConsole | None = None):
        super().__init__(console)
        self.title = ""

    def __enter__(self) -> "RobustProgress":
        super().__enter__()
        return self

    def show(self, title: str, numbers: StepProgress | None) -> None:
        """Print the name of a training that begins, or move its bar."""
        if numbers is None:
            self.title, self.validation = title, ""
            self.console.print(title, highlight=False, markup=False)
        elif "loss" in numbers or "perplexity" in numbers:
            self(numbers)
