"""Which settings have an effect: one that was given and would be ignored is refused.

A field's metadata may have `needs`, the conditions under which the setting is read:

- `{"task": ("rating",)}`: another setting has one of these values
- `{"model": Except("gpt2")}`: it has another value than these
- `{"scores": SET}`, `{"llm|url": SET}`: it, or one of several, is set at all
- `{}`: it is never read; the help text says what is
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any

from dialeval.errors import BadInput

SET = None
"""The condition that a setting has a value."""
Needs = Mapping[str, "Collection[str] | Except | None"]
Flag = Callable[[str], str]


@dataclass(frozen=True)
class Except:
    """The condition that a setting has another value than these."""

    values: tuple[str, ...]


def flag_of(name: str) -> str:
    """The usual option of a setting."""
    return f"--{name.replace('_', '-')}"


def needs_of(*schemas: type) -> dict[str, Needs]:
    """The conditions of all fields of some dataclasses, by the name of the field."""
    return {
        item.name: item.metadata["needs"]
        for schema in schemas
        for item in fields(schema)
        if "needs" in item.metadata
    }


def check_needs(
    given: Collection[str],
    values: Mapping[str, Any],
    needs: Mapping[str, Needs],
    flag: Flag = flag_of,
) -> None:
    """Refuse a setting that was given although its conditions do not hold.

    Args:
        given (`Collection[str]`):
            Names of the settings that the user gave.
        values (`Mapping`):
            Values of all settings, given or not.
        needs (`Mapping`):
            Conditions by the name of the setting.
        flag (`Callable`, *optional*):
            The option of a setting, for the message.

    Raises:
        BadInput: Names the setting and what it is for.

    Examples:
        >>> needs = {"opponent": {"task": ("better",)}}
        >>> check_needs(["opponent"], {"task": "better"}, needs)
        >>> check_needs(["opponent"], {"task": "real"}, needs)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        dialeval.errors.BadInput: --opponent would be ignored: it is for --task better, not ...
    """
    for name in sorted(needs.keys() & set(given)):
        if not needs[name]:
            raise BadInput(f"{flag(name)} would be ignored.", hint="Leave it out.")
        for key, condition in needs[name].items():
            if not _holds(key, condition, values):
                purpose = _purpose(key, condition, values, flag)
                message = f"{flag(name)} would be ignored: {purpose}."
                raise BadInput(message, hint="Leave it out, or change what it depends on.")


def choosers(needs: Needs) -> set[str]:
    """Names of the settings that conditions are about."""
    return {name for key in needs for name in key.split("|")}


def _holds(key: str, condition: Any, values: Mapping[str, Any]) -> bool:
    names = key.split("|")
    if not any(name in values for name in names):
        return True  # a recipe that has no such setting
    if condition is SET:
        return any(values.get(name) for name in names)
    value = values[key]
    if value in (None, ""):  # nothing is chosen yet
        return True
    return value not in condition.values if isinstance(condition, Except) else value in condition


def _purpose(key: str, condition: Any, values: Mapping[str, Any], flag: Flag) -> str:
    """What a setting is for, and what was chosen."""
    names = key.split("|")
    if condition is SET:
        return f"it is for {enumeration([flag(name) for name in names])}"
    value = values[key]
    if isinstance(condition, Except):
        return f"it is not for {flag(key)} {value}"
    return f"it is for {flag(key)} {enumeration(list(condition))}, not {value}"


def check_taken(
    given: Collection[str],
    kind: str,
    chosen: Mapping[str, Collection[str] | None],
    others: Mapping[str, Collection[str] | None],
    flag: Flag = flag_of,
) -> None:
    """Refuse an option that none of what was chosen takes.

    Args:
        given (`Collection[str]`):
            Names of the options that the user gave, of those that only some take.
        kind (`str`):
            What is chosen, such as `"responder"`.
        chosen (`Mapping`):
            Options of what was chosen, by its name; `None` where they are not known.
        others (`Mapping`):
            Options of all that can be chosen, for the message.
        flag (`Callable`, *optional*):
            The option of a setting, for the message.

    Raises:
        BadInput: Names the option, what was chosen, and what takes the option.

    Examples:
        >>> takes = {"parrot": {"seed"}, "endpoint": {"seed", "concurrency"}}
        >>> chosen = {"parrot": takes["parrot"]}
        >>> check_taken(["concurrency"], "responder", chosen, takes)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        dialeval.errors.BadInput: --concurrency would be ignored by the responder parrot. ...
    """
    if any(takes is None for takes in chosen.values()):
        return
    taken = {name for takes in chosen.values() for name in takes or ()}
    for name in sorted(set(given) - taken):
        takers = [other for other, takes in others.items() if takes is not None and name in takes]
        by = (
            f" by the {kind} {enumeration(list(chosen), 'and')}"
            if chosen
            else f": there is no {kind}"
        )
        hint = f"Leave it out; it is for {enumeration(takers)}." if takers else "Leave it out."
        raise BadInput(f"{flag(name)} would be ignored{by}.", hint=hint)


def enumeration(names: list[str], word: str = "or") -> str:
    """Names in a sentence.

    Examples:
        >>> enumeration(["a", "b", "c"])
        'a, b or c'
    """
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
