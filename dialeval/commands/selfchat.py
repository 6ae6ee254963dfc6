"""`dialeval selfchat`: two responders continue conversations."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dialeval.commands.console import out, say
from dialeval.commands.data import options as o
from dialeval.commands.generate import ModelSettings, contexts, load_and_say, option
from dialeval.commands.given import Given
from dialeval.commands.live import LIVE, check_live
from dialeval.commands.settings import with_settings
from dialeval.errors import BadInput
from dialeval.settings.checks import check_settings
from dialeval.settings.inputs import InputSettings
from dialeval.settings.live import read_prompt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dialeval.dialogues import Dialogue, Passages


@dataclass(frozen=True)
class SelfChatJob:
    """Who chats, from which contexts, and where the chats are written."""

    system: list[str] | None = field(
        default=None,
        metadata=option(
            "First and second speaker, as --one and --two. Repeatable: --system sim=... "
            "--system bot=...",
        ),
    )
    one: str | None = field(
        default=None,
        metadata=option(
            "First speaker: smollm2 (the default), parrot, a folder, a .gguf file, a Hub name, "
            "model@http://host/v1."
        ),
    )
    two: str | None = field(
        default=None, metadata=option("Second speaker; the same as the first by default.")
    )
    second_system_prompt: str | None = field(
        default=None,
        metadata=option("System prompt of the second speaker; --system-prompt by default."),
    )
    data: list[str] | None = field(
        default=None, metadata=option("Files with the first turns; the embedded corpus by default.")
    )
    openings: bool = field(
        default=False,
        metadata=option(
            "Start from the first turn of each dialogue, for whole conversations.", "--openings"
        ),
    )
    turns: int = field(default=3, metadata=option("New turns; 3 in Li et al. (2017)."))
    limit: int = field(
        default=20, metadata=option("Maximum number of conversations, drawn with the seed.")
    )
    output: Path = field(
        default=Path("selfchat.jsonl"), metadata=option("File of JSON lines.", "--output", "-o")
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.system and (self.one or self.two):
            hint = "Give --system once or twice, or --one and --two."
            raise BadInput("the speakers are given twice.", hint=hint)
        if self.system and len(self.system) > 2:
            raise BadInput(f"two systems chat, but got {len(self.system)}.")

    def speakers(self) -> tuple[str, str]:
        """Specifications of the first and the second speaker."""
        if self.system:
            return self.system[0], self.system[-1]
        first = self.one or "smollm2"
        return first, self.two or first


_OF_MODELS = ("settings", "chat_template", "trust_remote_code")


@with_settings(job=SelfChatJob, settings=ModelSettings, inputs=InputSettings)
def selfchat(
    job: SelfChatJob, settings: ModelSettings, inputs: InputSettings, given: Given
) -> None:
    """Let two responders chat, starting from contexts of a corpus; one chat per line.

    Whole conversations of a user simulator and a bot, for `dialeval evaluate --human real.jsonl
    --system sim=sim.jsonl --role user`: dialeval selfchat --system bot=model@http://host/v1
    --system sim=other@http://host/v1 --data real.jsonl --openings --turns 7 --output sim.jsonl
    """
    from dialeval.protocols.evaluation.systems import check_sources
    from dialeval.reports.generation import chat_table
    from dialeval.responders.selfchat import self_chat

    names = [*LIVE, *_OF_MODELS, *(() if settings.device == "cpu" else ("device",))]
    check_live(given, job.speakers(), names)
    check_live(given, job.speakers()[1:], ("second_system_prompt",))
    check_sources(job.data or [], job.speakers())
    options = o.read_options(inputs, side="human", role=inputs.role or "any")
    passages, _ = o.read_files(job.data or ["chitchat"], options)
    starts = openings(passages) if job.openings else passages
    specs, loaded = job.speakers(), {**settings.options(), "pool": passages}
    prompt = read_prompt(job.second_system_prompt)
    first = second = load_and_say(specs[0], **loaded)
    if specs[1] != specs[0] or prompt:
        different = {"system_prompt": prompt} if prompt else {}
        second = load_and_say(specs[1], **(loaded | different))
    chats = list(self_chat(first, second, contexts(starts, job.limit, settings.seed), job.turns))
    _write(chats, job.output)
    out.print(chat_table(chats[:3]))
    say(f"{len(chats):,} conversations: [bold]{job.output}[/]")
    for signature in dict.fromkeys((first.signature, second.signature)):
        say(f"[dim]{signature}[/]")


def openings(passages: Passages) -> Passages:
    """The first passage of each dialogue, whose context is how it begins."""
    import numpy as np

    from dialeval.dialogues.splits import row_hashes

    _, first = np.unique(row_hashes(passages, ["dialogue_id"]), return_index=True)
    return passages.select(np.sort(first))


def _write(chats: Sequence[Dialogue], path: Path) -> None:
    """Write one chat per line, in the `chat` format."""
    import json

    from dialeval.files import atomic_write

    with atomic_write(path) as file:
        for chat in chats:
            messages = [
                {"role": turn.speaker, "content": turn.text, "author": turn.author}
                for turn in chat.turns
            ]
            record = {"id": chat.id, "messages": messages, **chat.extra}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
