"""A study of the attack-defence game for the terminal: its progress, and its tables at the end."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from dialeval.reports.att_html import write_att_report
from dialeval.reports.att_rows import LOWEST, MEAN, held_out, over_attackers, table_two, verdict
from dialeval.reports.att_summary import write_att_summary
from dialeval.reports.evaluation_rows import NONE, between, number, one_line, share
from dialeval.reports.training import TrainingProgress

__all__ = [
    "GameProgress",
    "att_summary_table",
    "att_table",
    "held_out_table",
    "write_att_report",
    "write_att_summary",
]

Cell = tuple[float | None, str]  # a number and what stands below it


def att_table(results: Mapping[str, Any]) -> Table:
    """Table 2: the accuracy of each defender on each attacker, with its interval."""
    grid = table_two(results)
    rows = [(name, [_cell(grid.cell(name, each)) for each in grid.defenders])
            for name in grid.attackers]  # fmt: skip
    table = _table("Accuracy of the defenders (Table 2)", grid.defenders, rows)
    told = [*verdict(results), one_line(results.get("signature"))]
    table.caption = Text("\n".join(one_line(each) for each in told if each))
    return table


def held_out_table(results: Mapping[str, Any]) -> Table:
    """The accuracy of each frozen defender on attackers that were trained after the games."""
    grid = held_out(results)
    rows = [(name, [_cell(grid.cell(name, each)) for each in grid.defenders])
            for name in grid.attackers]  # fmt: skip
    over = over_attackers(grid)
    rows += [(name, [_cell(over[name].get(each, {})) for each in grid.defenders])
             for name in (LOWEST, MEAN) if rows]  # fmt: skip
    return _table("Fresh attackers on frozen defenders", grid.defenders, rows, last=2)


def att_summary_table(summary: Mapping[str, Any]) -> Table:
    """Table 2 and held-out accuracy over several runs: the mean, and the range below it."""
    defenders = summary["defenders"]
    parts = [summary["table"], summary.get("held_out") or {}]
    rows = [(name, [_spread(own.get(each)) for each in defenders])
            for part in parts for name, own in part.items()]  # fmt: skip
    title = f"Accuracy of the defenders, mean and range of {summary['runs']} runs"
    table = _table(title, defenders, rows, last=len(parts[1]))
    table.caption = Text("\n".join(one_line(each) for each in summary.get("verdict") or ()))
    return table


def _cell(result: Mapping[str, Any]) -> Cell:
    return number(result, "value"), between(result).strip(NONE)


def _spread(found: Mapping[str, float] | None) -> Cell:
    if not found:
        return None, ""
    return found["mean"], f"{share(found['low'])}–{share(found['high'])}"


def _table(
    title: str, heads: Sequence[str], rows: Iterable[tuple[str, list[Cell]]], last: int = 0
) -> Table:
    """Attackers by defenders, the best of a row bold; the last rows stand apart."""
    rows = list(rows)
    table = Table(box=box.SIMPLE_HEAD, title=title, show_edge=False)
    table.title_justify = table.caption_justify = "left"
    table.add_column("attacker", overflow="fold", min_width=11)  # "Adversarial" in one piece
    for head in heads:
        table.add_column(Text(one_line(head)), justify="right", no_wrap=True)
    for place, (name, cells) in enumerate(rows):
        if last and place == len(rows) - last:
            table.add_section()
        top = max((value for value, _ in cells if value is not None), default=None)
        table.add_row(Text(one_line(name)), *(_shown(*each, top) for each in cells))
    return table


def _shown(value: float | None, below: str, top: float | None) -> Text:
    text = Text(share(value), style="bold" if value is not None and value == top else "")
    return text.append(f"\n{below}", style="not bold dim") if below else text


class GameProgress(TrainingProgress):
    """Bars of the turn and the phase; call it with the numbers of each step of a study.

    A line stays for each attack and defence that is over, and all that is shown where there is
    no terminal are those lines.
    """

    def __init__(self, console: Console | None = None):
        super().__init__(console)
        self.stage = ""

    def __enter__(self) -> "GameProgress":
        super().__enter__()
        self.turns = self.progress.add_task("", total=None, visible=False)
        return self

    def __call__(self, numbers: dict[str, Any]) -> None:
        if "stage" in numbers:
            self._prepare(numbers)
        elif numbers["phase"] == "attacked":
            self._print(_attacked(numbers))
        elif numbers["phase"] == "defended":
            self._print(_defended(numbers))
        else:
            self._step(numbers)

    def _prepare(self, numbers: Mapping[str, Any]) -> None:
        """Announce a stage before the games; numbers of its training go to its bar."""
        rest = {name: each for name, each in numbers.items() if name != "stage"}
        if not rest and numbers["stage"] != self.stage:
            self.stage, self.said = numbers["stage"], ""
            self._print(self.stage)
        self.progress.update(self.turns, visible=False)
        if "epoch" in rest:
            super().__call__(rest)
        elif "total" in rest:
            words = "  ".join([escape(one_line(numbers["stage"])), *_measured(rest)])
            done = {"completed": rest.get("step"), "total": rest["total"]}
            self.progress.update(self.task, description=words, **done)

    def _step(self, numbers: Mapping[str, Any]) -> None:
        turn, most = numbers["turn"], numbers.get("max_turns")
        place = f"{escape(str(numbers['game']))}, {_turn(numbers)}"
        self.progress.update(
            self.turns, description=place, completed=turn - 1, total=most, visible=True
        )
        words = [numbers["phase"], *_measured(numbers)]
        done, total = numbers["step"], numbers.get("total")
        self.progress.update(
            self.task, description="  ".join(words), completed=done, total=total, visible=True
        )

    def _print(self, line: str) -> None:
        self.console.print(Text(one_line(line)), soft_wrap=True)


def _turn(numbers: Mapping[str, Any]) -> str:
    most = numbers.get("max_turns")
    return f"turn {numbers['turn']}" + (f" of {most}" if most else "")


def _measured(numbers: Mapping[str, Any]) -> list[str]:
    forms = {"loss": ".3f", "reward": ".3f", "accuracy": ".3f"}
    known = {name: number(numbers, name) for name in forms}
    return [f"{name} {each:{forms[name]}}" for name, each in known.items() if each is not None]


def _attacked(numbers: Mapping[str, Any]) -> str:
    """One line on an attack that is over."""
    record = numbers.get("record") or {}
    steps = f"{record.get('attack_steps', numbers.get('step'))} steps"
    end = {"fooled": f"fooled the defender in {steps}", "budget": f"gave up after {steps}"}
    now = number(record, "accuracy")
    told = f"accuracy {share(number(numbers, 'accuracy') if now is None else now)}"
    if between(record) != NONE:
        sets = len(record.get("measured") or ())
        told += f", {between(record)} over " + (f"{sets} sets" if sets else "all sets")
    frequent = record.get("most_frequent") or {}
    if (number(frequent, "share") or 0) > 0.5:
        told += f"; collapsed: {share(frequent['share'])} of its replies are the same"
    how = end.get(record.get("stopped"), f"ended after {steps}")
    return f"{numbers['game']}, {_turn(numbers)}: attack {how}; {told}"


def _defended(numbers: Mapping[str, Any]) -> str:
    """One line on a defence that is over."""
    record = numbers.get("record") or {}
    steps, lowest = record.get("defence_steps"), share(number(record, "defended"))
    how = "not needed" if steps == 0 else f"of {NONE if steps is None else steps} steps"
    turn = {**numbers, "turn": record.get("turn", numbers["turn"])}  # the game is a turn further
    return f"{numbers['game']}, {_turn(turn)}: defence {how}; lowest accuracy {lowest}"
