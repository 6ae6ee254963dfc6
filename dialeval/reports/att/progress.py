"""Progress of a study of the attack-defence game in the terminal."""

from collections.abc import Mapping
from typing import Any, cast

from rich.markup import escape
from rich.text import Text

from dialeval.metrics.game_results import TurnRecord
from dialeval.metrics.results import from_plain
from dialeval.metrics.training_results import StepProgress
from dialeval.reports.format import NONE, finite, format_interval, format_share, one_line, plural
from dialeval.reports.training import TrainingProgress
from dialeval.terminal import SafeConsole

_SHOWN = ("loss", "reward", "accuracy")


class GameProgress(TrainingProgress):
    """Bars of the turn and the phase; call it with the numbers of each step of a study.

    Each attack and defence leaves a line when it is over; without a terminal only these lines are
    printed.
    """

    def __init__(self, console: SafeConsole | None = None):
        super().__init__(console)
        self.stage = ""

    def __enter__(self) -> "GameProgress":
        super().__enter__()
        self.turns = self.progress.add_task("", total=None, visible=False)
        return self

    def __call__(self, numbers: Mapping[str, Any]) -> None:
        """Show a stage, a step, or an attack or defence that is over."""
        if "stage" in numbers:
            self._prepare(numbers)
        elif numbers["phase"] == "attacked":
            self._print(_attack_line(numbers))
        elif numbers["phase"] == "defended":
            self._print(_defence_line(numbers))
        else:
            self._step(numbers)

    def _prepare(self, numbers: Mapping[str, Any]) -> None:
        """Announce a stage before the games, or show the numbers of its training."""
        rest = {name: value for name, value in numbers.items() if name != "stage"}
        if not rest and numbers["stage"] != self.stage:
            self.stage = numbers["stage"]
            self.validation = ""
            self._print(self.stage)
        self.progress.update(self.turns, visible=False)
        if "epoch" in rest:
            super().__call__(cast(StepProgress, rest))
        elif "total" in rest:
            words = "  ".join([escape(one_line(numbers["stage"])), *_measured(rest)])
            self.progress.update(
                self.task, description=words, completed=rest.get("step"), total=rest["total"]
            )

    def _step(self, numbers: Mapping[str, Any]) -> None:
        self.progress.update(
            self.turns,
            description=f"{escape(str(numbers['game']))}, {_turn(numbers)}",
            completed=numbers["turn"] - 1,
            total=numbers.get("max_turns"),
            visible=True,
        )
        self.progress.update(
            self.task,
            description="  ".join([numbers["phase"], *_measured(numbers)]),
            completed=numbers["step"],
            total=numbers.get("total"),
            visible=True,
        )

    def _print(self, line: str) -> None:
        self.console.print(Text(one_line(line)), soft_wrap=True)


def _turn(numbers: Mapping[str, Any]) -> str:
    most = numbers.get("max_turns")
    return f"turn {numbers['turn']}" + (f" of {most}" if most else "")


def _measured(numbers: Mapping[str, Any]) -> list[str]:
    values = {name: finite(numbers.get(name)) for name in _SHOWN}
    return [f"{name} {value:.3f}" for name, value in values.items() if value is not None]


def _record(numbers: Mapping[str, Any]) -> TurnRecord:
    return from_plain(TurnRecord, {"turn": numbers["turn"], **numbers["record"]})


def _attack_line(numbers: Mapping[str, Any]) -> str:
    """One line on an attack that is over."""
    record = _record(numbers)
    steps = f"{record.attack_steps} steps"
    outcomes = {"fooled": f"fooled the defender in {steps}", "budget": f"stopped after {steps}"}
    text = f"accuracy {format_share(record.accuracy)}"
    bounds = format_interval(record.low, record.high)
    if bounds != NONE:
        sets = plural(len(record.measured), "set") if record.measured else "all sets"
        text += f", {bounds} over {sets}"
    if record.collapsed:
        text += f"; collapsed: {format_share(record.most_frequent.share)} of its replies are equal"
    outcome = outcomes.get(record.stopped, f"ended after {steps}")
    return f"{numbers['game']}, {_turn(numbers)}: attack {outcome}; {text}"


def _defence_line(numbers: Mapping[str, Any]) -> str:
    """One line on a defence that is over; by then the game is one turn further."""
    record = _record(numbers)
    steps = NONE if record.defence_steps is None else record.defence_steps
    outcome = "not needed" if steps == 0 else f"of {steps} steps"
    turn = _turn({**numbers, "turn": record.turn})
    lowest = format_share(record.defended)
    return f"{numbers['game']}, {turn}: defence {outcome}; lowest accuracy {lowest}"
