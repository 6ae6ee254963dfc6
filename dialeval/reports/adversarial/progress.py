"""Progress of training with rewards in the terminal: a bar per phase, a line per validation."""

from collections.abc import Mapping
from typing import Any, cast

from rich.markup import escape
from rich.text import Text

from dialeval.metrics.training_results import StepProgress
from dialeval.reports.format import finite, format_share, one_line
from dialeval.reports.training import TrainingProgress
from dialeval.terminal import SafeConsole

_SHOWN = {"reward": "reward", "loss": "loss", "discriminator_loss": "D loss"}


class AdversarialProgress(TrainingProgress):
    """A bar with the remaining time of each phase; call it with the numbers of each step.

    Every stage and every validation leaves a line; without a terminal only these are printed.
    """

    def __init__(self, console: SafeConsole | None = None):
        super().__init__(console)
        self.stage = ""

    def __enter__(self) -> "AdversarialProgress":
        super().__enter__()
        return self

    def __call__(self, numbers: Mapping[str, Any]) -> None:
        """Show a stage, a step of a stage, a round, or a validation."""
        if "stage" in numbers:
            self._stage(numbers)
            return
        if "record" in numbers:
            self._print(validation_line(numbers))
        words = [escape(str(numbers.get("objective", "")))]
        for name, label in _SHOWN.items():
            value = finite(numbers.get(name))
            if value is not None:
                words.append(f"{label} {value:.3f}")
        self.progress.update(
            self.task, description="  ".join(words), completed=numbers["step"],
            total=numbers["total"],
        )  # fmt: skip

    def _stage(self, numbers: Mapping[str, Any]) -> None:
        rest = {name: value for name, value in numbers.items() if name != "stage"}
        if not rest and numbers["stage"] != self.stage:
            self.stage, self.validation = numbers["stage"], ""
            self._print(self.stage)
            self.progress.reset(self.task, description=escape(self.stage), total=None)
        elif "epoch" in rest:
            super().__call__(cast(StepProgress, rest))
        elif "total" in rest:
            words = escape(one_line(str(numbers["stage"])))
            self.progress.update(
                self.task, description=words, completed=rest.get("step"), total=rest["total"]
            )

    def _print(self, line: str) -> None:
        self.console.print(Text(one_line(line)), soft_wrap=True)


def validation_line(numbers: Mapping[str, Any]) -> str:
    """One line on a validation."""
    record = numbers["record"]
    shares = {"reward": record["reward"], "discriminator accuracy": record["accuracy"],
              "distinct-2": record["distinct_2"]}  # fmt: skip
    parts = [f"{name} {format_share(value)}" for name, value in shares.items()]
    others = {"perplexity": "perplexity", "kl": "KL", "entropy": "entropy", "length": "tokens"}
    parts += [
        f"{label} {value:.1f}"
        for name, label in others.items()
        if (value := finite(record[name])) is not None
    ]
    start = f"{numbers.get('objective', '')}, round {numbers['step']} of {numbers['total']}"
    return f"{start}: {', '.join(parts)}"
