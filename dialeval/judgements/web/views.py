"""What the pages show: never who wrote a reply, and every text escaped."""

import re
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from dialeval.judgements.assignment import Progress
from dialeval.judgements.items import Item
from dialeval.judgements.project import Project
from dialeval.judgements.store import JudgementStore

_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
TITLES = {
    "real": "Is this the real reply?",
    "human": "Which reply was written by a human?",
    "better": "Which one is better?",
    "rating": "Rate the reply",
}
POSITIONS = ("left", "right")
"""Answers to a pair as the page sends them: what was shown first, and what second."""


def render(name: str, view: dict[str, Any]) -> str:
    """A template of this package filled with values; all of them are escaped."""
    return _environment().get_template(name).render(view)


@cache
def _environment() -> Environment:
    return Environment(
        loader=FunctionLoader(
            lambda name: files("dialeval.judgements.web").joinpath(name).read_text("utf-8")
        ),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: _CONTROL.sub("\ufffd", value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def project_view(project: Project) -> dict[str, Any]:
    """Title and instructions."""
    return {
        "title": project.title or TITLES[project.task],
        "instructions": project.text,
        "task": project.task,
        "min_items": project.min_items,
    }


def item_view(store: JudgementStore, annotator: str, item: Item) -> dict[str, Any]:
    """One item as an annotator sees it, in the order drawn for them.

    Args:
        store (`JudgementStore`):
            The project.
        annotator (`str`):
            Who sees it.
        item (`Item`):
            The item.

    Returns:
        `dict[str, Any]`: Values of the template.
    """
    candidates = list(item.candidates)
    if item.swapped(annotator):
        candidates.reverse()
    speakers = {name: f"speaker {'AB'[number % 2]}" for number, name in enumerate(_speakers(item))}
    return {
        "item": item.id,
        "context": [
            {"text": text, "speaker": speakers[speaker], "side": _side(speakers[speaker])}
            for speaker, text in item.context
        ],
        "candidates": [
            {"turns": [*_turns(item, row.turns)], "value": position, "key": number}
            for number, (position, row) in enumerate(
                zip(POSITIONS[: len(candidates)], candidates, strict=True), 1
            )
        ],
        "choices": _choices(store.project),
        "scales": store.project.scales if store.project.task == "rating" else (),
    }


def to_answers(
    store: JudgementStore, annotator: str, item: Item, form: dict[str, str]
) -> dict[str, str]:
    """The answers of a form as the store has them: pairs in the item's own order.

    Args:
        store (`JudgementStore`):
            The project.
        annotator (`str`):
            Who sent it.
        item (`Item`):
            What it is about.
        form (`dict[str, str]`):
            Its fields.

    Returns:
        `dict[str, str]`: One answer per scale.
    """
    if store.project.task == "rating":
        return {
            scale.name: form.get(f"scale-{number}", "")
            for number, scale in enumerate(store.project.scales)
        }
    answer = form.get("answer", "")
    if store.project.is_pair and answer in POSITIONS:
        first = (answer == "left") != item.swapped(annotator)
        answer = "first" if first else "second"
    return {"": answer}


def progress_view(progress: Progress) -> dict[str, Any]:
    """Numbers of the progress bar."""
    left = progress.seconds_left
    minutes = None if left is None else max(1, round(left / 60))
    return {
        "done": progress.done,
        "total": progress.total,
        "percent": round(100 * progress.done / max(1, progress.total)),
        "time_left": "" if minutes is None else f"about {minutes} min left",
        "last": progress.last,
        "stopped": progress.stopped,
    }


def _choices(project: Project) -> list[dict[str, Any]]:
    """Buttons below the item."""
    if project.task == "real":
        return [
            {"value": "real", "key": 1, "label": "Real"},
            {"value": "fake", "key": 2, "label": "Not the real one"},
        ]
    if project.task == "better":
        return [{"value": "tie", "key": 3, "label": "Tie"}]
    return []


def _speakers(item: Item) -> list[str]:
    return list(dict.fromkeys(speaker for speaker, _ in item.context))


def _turns(item: Item, turns: tuple[str, ...]) -> list[dict[str, str]]:
    """Turns of a candidate, by speakers who alternate after the last turn of the context."""
    last = _speakers(item).index(item.context[-1][0]) if item.context else 1
    sides = [f"speaker {'AB'[(last + 1 + number) % 2]}" for number in range(len(turns))]
    return [
        {"text": text, "speaker": side, "side": _side(side)}
        for text, side in zip(turns, sides, strict=True)
    ]


def _side(speaker: str) -> str:
    return "a" if speaker.endswith("A") else "b"
