"""How a command reads its data: the same options for every command."""

from dataclasses import dataclass, field
from typing import Any

from dialeval.errors import BadInput
from dialeval.settings.usage import SET


def _option(help: str, *flags: str) -> dict[str, Any]:
    return {"help": help, "flags": flags}


_CHOICES = {"responses": ("every", "last", "one"), "filter": ("none", "li", "bruni")}


@dataclass(frozen=True)
class InputSettings:
    """Reading the data."""

    input_format: str | None = field(
        default=None,
        metadata=_option(
            "Format of the files; guessed by default. See: dialeval data formats",
            "--input-format", "--format", "-f",
        ),
    )  # fmt: skip
    role: str | None = field(
        default=None,
        metadata=_option(
            "Whose turns are the responses: user, assistant, the name of a speaker, or any. The "
            "other turns are context."
        ),
    )
    column: list[str] | None = field(
        default=None,
        metadata=_option("Name of a column in the file: response=reply. Repeatable."),
    )
    turn_separator: str | None = field(
        default=None,
        metadata=_option("Separator of turns, where a table has the context in one cell."),
    )
    skip_bad: bool = field(
        default=False, metadata=_option("Skip bad records, and list them.", "--skip-bad")
    )
    context_turns: int | None = field(
        default=None,
        metadata=_option(
            "Turns of context; 2 by default when dialogues are cut.", "--context-turns", "-k"
        ),
    )
    responses: str = field(
        default="every",
        metadata=_option("Which turns of a dialogue are responses: every, last or one."),
    )
    full_context: bool = field(
        default=False,
        metadata=_option("Only responses that have all -k turns before them.", "--full-context"),
    )
    filter: str = field(default="none", metadata=_option("Preset of a paper: none, li or bruni."))
    min_response: int | None = field(
        default=None, metadata=_option("Minimum number of tokens in a response.")
    )
    max_response: int | None = field(
        default=None, metadata=_option("Maximum number of tokens in a response.")
    )
    min_context: int | None = field(
        default=None, metadata=_option("Minimum number of tokens in a context.")
    )
    max_context: int | None = field(
        default=None, metadata=_option("Maximum number of tokens in a context.")
    )
    forbid: list[str] | None = field(
        default=None,
        metadata=_option("Drop pairs with this token, such as `<unk>`. Repeatable."),
    )
    keep_duplicates: bool = field(
        default=False, metadata=_option("Keep duplicate dialogues.", "--keep-duplicates")
    )
    num_proc: int = field(default=1, metadata=_option("Number of processes that parse."))

    def __post_init__(self) -> None:
        if self.num_proc < 1:
            raise BadInput(f"--num-proc is at least 1, but got {self.num_proc}.")
        for name in ("input_format", "role", "turn_separator"):
            text = getattr(self, name)
            if text == "" or (name != "turn_separator" and text is not None and text.isspace()):
                raise BadInput(f"--{name.replace('_', '-')} is empty.", hint="Leave it out.")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                hint = f"Choose one of {', '.join(choices)}."
                raise BadInput(f"Unknown {name} {getattr(self, name)!r:.60}.", hint=hint)
        for name in ("response", "context"):
            self._check_limits(name, getattr(self, f"min_{name}"), getattr(self, f"max_{name}"))

    @staticmethod
    def _check_limits(name: str, least: int | None, most: int | None) -> None:
        """Refuse numbers of tokens that no text has, or that leave only empty texts."""
        for option, value, lowest in ((f"--min-{name}", least, 0), (f"--max-{name}", most, 1)):
            if value is not None and value < lowest:
                raise BadInput(f"{option} is {lowest} or more, but got {value}.")
        if least is not None and most is not None and least > most:
            message = f"--min-{name} is {least}, more than --max-{name}, which is {most}."
            raise BadInput(message, hint="Then nothing is left: change one of them.")


@dataclass(frozen=True)
class RoleSettings(InputSettings):
    """Reading the data."""

    human_role: str | None = field(
        default=None, metadata=_option("Role of the human files, where it is not that of --role.")
    )
    system_role: list[str] | None = field(
        default=None,
        metadata=_option(
            "Role of the systems' files, where it is not that of --role; NAME=ROLE for one "
            "system. Repeatable."
        ),
    )

    def system_roles(self) -> tuple[str | None, dict[str, str]]:
        """The role of all systems, and those of some by name."""
        given = [text.rpartition("=") for text in self.system_role or []]
        named = {name: role for name, sign, role in given if sign}
        general = [role for _, sign, role in given if not sign]
        if len(general) > 1:
            raise BadInput(
                f"--system-role is given {len(general)} times without a name.",
                hint="Name the systems: --system-role bot=assistant --system-role sim=user",
            )
        return (general[0] if general else self.role), named


@dataclass(frozen=True)
class SidedInputSettings(RoleSettings):
    """Reading the data."""

    pairs: list[str] | None = field(
        default=None,
        metadata=_option(
            "One table for all: then --human and --system NAME=COLUMN name its columns. Repeatable."
        ),
    )
    context: str | None = field(
        default=None,
        metadata={
            "help": "With --pairs: the column of the context.",
            "needs": {"pairs": SET},
        },
    )
    max_identical: float = field(
        default=0.2,
        metadata=_option("Share of a system's replies that may be identical to the human's."),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.max_identical <= 1:
            message = f"--max-identical is between 0 and 1, but got {self.max_identical}."
            raise BadInput(message)
