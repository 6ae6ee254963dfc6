"""Which options the user gave, on the command line or in a YAML file; defaults are none of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import typer

from dialeval.errors import BadInput
from dialeval.settings.usage import Needs, check_needs, check_taken, choosers, flag_of


@dataclass(frozen=True)
class Given:
    """The options that the user gave.

    Args:
        on_line (`frozenset[str]`, *optional*):
            Names of those on the command line.
        in_file (`frozenset[str]`, *optional*):
            Names of the settings in the file of `--config`.
        flags (`Mapping`, *optional*):
            The option of each parameter, such as `--scale` for `scales`.
    """

    on_line: frozenset[str] = frozenset()
    in_file: frozenset[str] = frozenset()
    flags: Mapping[str, str] = field(default_factory=dict)

    def flag(self, name: str) -> str:
        """The option of a setting."""
        return self.flags.get(name) or flag_of(name)

    def names(self, by: Collection[str] = ()) -> frozenset[str]:
        """Names of the given settings, where these settings decide which ones are read.

        A file has settings that go together: if the command line replaces the one that decides,
        those of the file are no longer what the user asked for.
        """
        return self.on_line if self.on_line.intersection(by) else self.on_line | self.in_file

    def check_needs(self, values: Mapping[str, Any], needs: Mapping[str, Needs]) -> None:
        """Refuse a given setting whose conditions do not hold: see [`check_needs`]."""
        names = [name for name in needs if name in self.names(choosers(needs[name]))]
        check_needs(names, values, needs, self.flag)

    def check_taken(
        self,
        names: Collection[str],
        kind: str,
        chosen: Mapping[str, Collection[str] | None],
        others: Mapping[str, Collection[str] | None],
        by: str = "",
    ) -> None:
        """Refuse one of these settings if nothing that was chosen takes it: see [`check_taken`].

        Args:
            names (`Collection[str]`):
                Settings that only some choices take.
            kind (`str`):
                What is chosen, such as `"responder"`.
            chosen, others (`Mapping`):
                Settings that are taken, by the name of a choice.
            by (`str`, *optional*):
                The setting that chooses.
        """
        given = self.names([by]) & set(names)
        check_taken(given, kind, chosen, others, self.flag)

    def refuse(self, names: Collection[str], reason: str, hint: str = "Leave it out.") -> None:
        """Refuse these settings, of which none has an effect here.

        Args:
            names (`Collection[str]`):
                Names of the settings.
            reason (`str`):
                Why they have none, to complete "--limit would be ignored: ".
            hint (`str`, *optional*):
                What to do about it.

        Raises:
            BadInput: One of them was given.
        """
        for name in sorted(self.names() & set(names)):
            raise BadInput(f"{self.flag(name)} would be ignored: {reason}.", hint=hint)


def given_options(context: typer.Context | None, file: Collection[str] = ()) -> Given:
    """The options of a running command.

    Args:
        context (`typer.Context`, *optional*):
            Of the command line; nothing is given where a command is called from Python.
        file (`Collection[str]`, *optional*):
            Names of the settings that a file has.

    Returns:
        `Given`: With the flags of all options.
    """
    if context is None:
        return Given()
    flags = {item.name or "": max(item.opts, key=len) for item in context.command.params}
    sources = {name: context.get_parameter_source(name) for name in flags}
    on_line = {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    return Given(frozenset(on_line), frozenset(file), flags)
