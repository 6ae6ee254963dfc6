"""`dialeval selfchat`: two responders go on with a conversation by themselves."""

from pathlib import Path
from typing import Annotated

import typer

from dialeval.commands.console import out, say
from dialeval.commands.data import options as o
from dialeval.commands.generate import contexts, model_responder, setting


def selfchat(
    one: Annotated[
        str, typer.Option(help="Who speaks first: smollm2, a folder, a .gguf, a Hub name, parrot.")
    ] = "smollm2",
    two: Annotated[str | None, typer.Option(help="Who answers; the same by default.")] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="Files whose contexts they begin with; chitchat.")
    ] = None,
    turns: Annotated[int, typer.Option(help="New turns; 3 in Li et al. (2017).")] = 3,
    limit: Annotated[int, typer.Option(help="Conversations at most, drawn with the seed.")] = 20,
    output: Annotated[Path, typer.Option("--output", "-o", help="File of JSON lines.")] = Path(
        "selfchat.jsonl"
    ),
    decoding: Annotated[
        str, typer.Option("--decoding", "-d", help="Strategy; see `generate --decoding list`.")
    ] = "sampling",
    set: Annotated[
        list[str] | None, typer.Option(help="Setting of the strategy, as name=value. Repeatable.")
    ] = None,
    max_new_tokens: Annotated[int, typer.Option(help="Tokens of a turn at most.")] = 40,
    chat_template: Annotated[str | None, typer.Option(help="auto, none, or a Jinja file.")] = None,
    system_prompt: Annotated[str | None, typer.Option(help="What both are told first.")] = None,
    seed: o.Seed = 0,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, mps; best first.")] = None,
    format: o.Format = None,
    context_turns: o.ContextTurns = None,
    filter: o.Filter = "none",
) -> None:
    """Let two responders talk, from contexts of a corpus; one chat a line, readable as `chat`."""
    import json

    from dialeval.dialogues import atomic_write
    from dialeval.reports.generation import chat_table
    from dialeval.responders.selfchat import self_chat
    from dialeval.responders.simple import ParrotResponder

    options = o.read_options(format, context_turns=context_turns, filter=filter)
    found, _ = o.read_files(data or ["chitchat"], options)
    settings = dict(setting(each) for each in set or [])

    def responder(name: str):
        if name == "parrot":
            return ParrotResponder("random", seed=seed)
        return model_responder(
            name, decoding, settings, device=device, chat_template=chat_template,
            system_prompt=system_prompt, max_new_tokens=max_new_tokens, seed=seed,
        )  # fmt: skip

    first = responder(one)
    second = first if two in (None, one) else responder(two)
    chats = list(self_chat(first, second, contexts(found, limit, seed), turns))
    with atomic_write(output) as file:
        for chat in chats:
            messages = [
                {"role": turn.speaker, "content": turn.text, "author": turn.author}
                for turn in chat.turns
            ]
            record = {"id": chat.id, "messages": messages, **chat.extra}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    out.print(chat_table(chats[:3]))
    say(f"{len(chats):,} conversations: [bold]{output}[/]")
    say(f"[dim]{first.signature}[/]" + (f"\n[dim]{second.signature}[/]" if two else ""))
