"""`dialeval selfchat`: two responders continue conversations."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dialeval.commands.console import out, say
from dialeval.commands.data import options as o
from dialeval.commands.generate import ModelSettings, contexts, load_and_say, option
from dialeval.commands.settings import with_settings
from dialeval.settings.checks import check_settings
from dialeval.settings.inputs import InputSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dialeval.dialogues import Dialogue


@dataclass(frozen=True)
class SelfChatJob:
    """Who chats, from which contexts, and where the chats are written."""

    one: str = field(
        default="smollm2",
        metadata=option(
            "First speaker: parrot, smollm2, a folder, a .gguf file, a Hub name, model@http://host/v1."
        ),
    )
    two: str | None = field(
        default=None, metadata=option("Second speaker; the same as the first by default.")
    )
    data: list[str] | None = field(
        default=None, metadata=option("Files with the first turns; the embedded corpus by default.")
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


@with_settings(job=SelfChatJob, settings=ModelSettings, inputs=InputSettings)
def selfchat(job: SelfChatJob, settings: ModelSettings, inputs: InputSettings) -> None:
    """Let two responders chat, starting from contexts of a corpus; one chat per line."""
    from dialeval.reports.generation import chat_table
    from dialeval.responders.selfchat import self_chat

    options = o.read_options(inputs, side="human")
    passages, _ = o.read_files(job.data or ["chitchat"], options)
    first = load_and_say(job.one, pool=passages, **settings.options())
    second = first
    if job.two and job.two != job.one:
        second = load_and_say(job.two, pool=passages, **settings.options())
    chats = list(self_chat(first, second, contexts(passages, job.limit, settings.seed), job.turns))
    _write(chats, job.output)
    out.print(chat_table(chats[:3]))
    say(f"{len(chats):,} conversations: [bold]{job.output}[/]")
    say(f"[dim]{first.signature}[/]" + (f"\n[dim]{second.signature}[/]" if job.two else ""))


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
