"""The options of live systems: one that no responder of a command takes is refused."""

from collections.abc import Sequence
from dataclasses import fields

from dialeval.commands.given import Given
from dialeval.settings.live import LiveSettings

LIVE = tuple(item.name for item in fields(LiveSettings))
_PASSED_AS = {"temperature": "settings", "second_system_prompt": "system_prompt"}
"""The argument of a responder that a setting is passed as."""


def check_live(given: Given, specs: Sequence[str], names: Sequence[str] = LIVE) -> None:
    """Refuse an option that was given although no responder takes it.

    Args:
        given (`Given`):
            What the user gave.
        specs (`Sequence[str]`):
            Specifications of responders.
        names (`Sequence[str]`, *optional*):
            Options that only some responders take; those of live systems by default.

    Raises:
        BadInput: Names the option, the responders, and those that take it.
    """
    if not given.names() & set(names):
        return  # loading responders takes seconds
    from dialeval.responders import parse_spec
    from dialeval.responders.registry import RESPONDERS, accepted_options

    parsed = [parse_spec(spec) for spec in specs]
    chosen = {spec.kind: _taken(accepted_options(spec), names) for spec in parsed}
    others = {
        name: _taken(accepted_options(name), names)
        for name, entry in RESPONDERS.items()
        if entry.source == "dialeval"
    }
    given.check_taken(names, "responder", chosen, others)


def _taken(accepted: frozenset[str] | None, names: Sequence[str]) -> set[str] | None:
    """The options that reach a responder through one of its arguments."""
    if accepted is None:
        return None
    return {name for name in names if _PASSED_AS.get(name, name) in accepted}
