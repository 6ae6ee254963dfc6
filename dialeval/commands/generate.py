"""`dialeval generate`: contexts answered by a model, an endpoint, or a simple responder."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from dialeval.commands.console import out, say
from dialeval.commands.data import options as o

SIMPLE = ("parrot", "random", "next", "constant", "retrieval", "stored", "endpoint")


def generate(
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Generator: smollm2, a folder, a .gguf, a Hub name."),
    ] = None,
    responder: Annotated[
        str | None, typer.Option(help=f"In place of a model: {', '.join(SIMPLE)}.")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="Files whose contexts are answered; chitchat.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write: .jsonl, .csv, .tsv, .parquet")
    ] = Path("generated.jsonl"),
    decoding: Annotated[
        str, typer.Option("--decoding", "-d", help="Strategy; `--decoding list` shows them all.")
    ] = "sampling",
    set: Annotated[
        list[str] | None,
        typer.Option(help="Setting of the strategy, such as temperature=0.7. Repeatable."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Contexts at most, drawn with the seed; 20 without --data.")
    ] = None,
    n: Annotated[int, typer.Option("-n", help="Answers to each context.")] = 1,
    max_new_tokens: Annotated[int, typer.Option(help="Tokens of an answer at most.")] = 40,
    backward: Annotated[str | None, typer.Option(help="Model of p(s|t), for mmi-backward.")] = None,
    language_model: Annotated[str | None, typer.Option(help="Of p(t), for mmi-penalty.")] = None,
    chat_template: Annotated[str | None, typer.Option(help="auto, none, or a Jinja file.")] = None,
    system_prompt: Annotated[
        str | None, typer.Option(help="What a chat model is told first.")
    ] = None,
    adapter: Annotated[str | None, typer.Option(help="LoRA adapter of the model.")] = None,
    pool: Annotated[
        list[str] | None,
        typer.Option(help="Files of human replies for random and retrieval; the data by default."),
    ] = None,
    text: Annotated[str, typer.Option(help="What `constant` always says.")] = "I don't know.",
    answers: Annotated[list[str] | None, typer.Option(help="Files of `stored`.")] = None,
    url: Annotated[
        str, typer.Option(help="OpenAI-compatible server of `endpoint`.")
    ] = "http://localhost:8000/v1",
    concurrency: Annotated[int, typer.Option(help="Requests to the endpoint at once.")] = 8,
    api_key_env: Annotated[
        str, typer.Option(help="Environment variable that holds the endpoint's key.")
    ] = "OPENAI_API_KEY",
    name: Annotated[
        str | None, typer.Option(help="What to call the author of the answers.")
    ] = None,
    seed: o.Seed = 0,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, mps; best first.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Tokens of a batch.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace what another run wrote.")] = False,
    format: o.Format = None,
    skip_bad: o.SkipBad = False,
    context_turns: o.ContextTurns = None,
    filter: o.Filter = "none",
    column: o.Column = None,
    turn_separator: o.Separator = None,
) -> None:
    """Answer contexts. A run that was stopped goes on when the same command is given again.

    With no options it lets SmolLM2 answer 20 contexts of the embedded corpus.
    """
    if decoding == "list":
        return _show_decodings()
    from accelerate import Accelerator

    from dialeval.dialogues import BadInput
    from dialeval.reports.generation import samples_table
    from dialeval.responders.journal import generate as run
    from dialeval.responders.language import warnings

    if responder and responder not in SIMPLE:
        raise BadInput(f"Unknown responder {responder!r}.", hint=f"Choose {', '.join(SIMPLE)}.")
    accelerator = Accelerator(cpu=device == "cpu")
    limit = limit or (20 if data is None else None)
    options = o.read_options(
        format, skip_bad, None, column, turn_separator, context_turns, filter=filter,
        allow_empty=True,
    )  # fmt: skip
    found, _ = o.read_files(data or ["chitchat"], options)
    asked = contexts(found, limit, seed)
    if responder in (None, "endpoint"):
        settings = dict(setting(each) for each in set or [])
        common = {"n": n, "seed": seed, "name": name or ""}
    if responder is None:
        who = model_responder(
            model or "smollm2", decoding, settings, device=device, chat_template=chat_template,
            system_prompt=system_prompt, adapter=adapter, backward=backward,
            language_model=language_model, max_new_tokens=max_new_tokens, max_tokens=max_tokens,
            progress=accelerator.is_main_process, **common,
        )  # fmt: skip
    elif responder == "endpoint":
        from dialeval.responders.endpoint import EndpointResponder

        if not model:
            raise BadInput("the endpoint has to be told which model.", hint="Name it: --model.")
        common |= {"max_tokens": max_new_tokens, "concurrency": concurrency, **settings}
        common |= {"system_prompt": system_prompt, "api_key_env": api_key_env}
        who = EndpointResponder(url, model, **common)
    else:
        people = o.read_files(pool, options)[0] if pool else found
        stored = o.read_files(answers, options)[0] if answers else None
        who = simple_responder(responder, people, stored, text, seed, name)
    say(f"[bold]{who.name}[/] answers {len(asked):,} contexts")
    done = run(who, asked, output, accelerator, overwrite)
    if accelerator.is_main_process:
        out.print(samples_table(output, 6))
        for warning in warnings(getattr(who, "counts", Counter())):
            say(f"[yellow]{warning}[/]")
        again = f", {done.found_done:,} of them done before" if done.found_done else ""
        say(f"{done.contexts:,} contexts{again}, {done.answers:,} answers: [bold]{output}[/]")
        say(f"[dim]{done.signature}[/]")


def contexts(passages: Any, limit: int | None, seed: int) -> list[Any]:
    """One passage for each context, so many at most, drawn with the seed."""
    import numpy as np

    from dialeval.dialogues import iterate
    from dialeval.dialogues.splits import row_hashes

    keys = row_hashes(passages, ["id", "context"])
    _, first = np.unique(keys, return_index=True)
    first.sort()
    if limit is not None and limit < len(first):
        first = np.sort(np.random.default_rng(seed).choice(first, limit, replace=False))
    return list(iterate(passages.select(first)))


def model_responder(
    model: str,
    strategy: str = "sampling",
    settings: dict[str, Any] | None = None,
    *,
    device: str | None = None,
    chat_template: str | None = None,
    system_prompt: str | None = None,
    adapter: str | None = None,
    backward: str | None = None,
    language_model: str | None = None,
    **options: Any,
) -> Any:
    """A generator with a strategy by its name; `options` are those of `GeneratorResponder`."""
    from dialeval.responders.decoding import decoding
    from dialeval.responders.generators import load_generator
    from dialeval.responders.language import GeneratorResponder

    chosen = decoding(strategy, **(settings or {}))
    generator = load_generator(model, chat_template, system_prompt, adapter, device)
    say(f"Loaded [bold]{generator.name}[/] on {generator.model.device}, {generator.model.dtype}")
    helpers = {
        key: load_generator(path, device=device)
        for key, path in (("backward", backward), ("language_model", language_model))
        if path
    }
    return GeneratorResponder(generator, chosen, **{"progress": True, **options}, **helpers)


def simple_responder(
    kind: str, pool: Any, stored: Any, text: str, seed: int, name: str | None
) -> Any:
    from dialeval.dialogues import BadInput, by_author
    from dialeval.responders.retrieval import RetrievalResponder
    from dialeval.responders.simple import (
        ConstantResponder,
        NextResponder,
        ParrotResponder,
        RandomResponder,
    )
    from dialeval.responders.stored import StoredResponder

    if kind == "stored":
        if stored is None:
            raise BadInput("no file of stored answers.", hint="Name it with --answers.")
        return StoredResponder(stored, name)
    named = {"name": name} if name else {}
    makers = {
        "parrot": lambda: ParrotResponder("random", seed=seed, **named),
        "random": lambda: RandomResponder(by_author(pool, "human"), seed, **named),
        "next": lambda: NextResponder(**named),
        "constant": lambda: ConstantResponder(text, **named),
        "retrieval": lambda: RetrievalResponder(by_author(pool, "human"), **named),
    }
    return makers[kind]()


def setting(text: str) -> tuple[str, Any]:
    """`name=value`, the value a number, yes or no, or a word."""
    import json

    from dialeval.dialogues import BadInput

    key, sign, value = text.partition("=")
    if not sign:
        raise BadInput(f"expected name=value, found {text!r}.", hint="Say --set temperature=0.7")
    try:
        found = json.loads(value.lower())
    except json.JSONDecodeError:
        return key, value
    return key, tuple(found) if isinstance(found, list) else found


def _show_decodings() -> None:
    from rich.markup import escape
    from rich.table import Table

    from dialeval.responders.decoding import DECODINGS

    table = Table("name", "what it does", "settings and their defaults")
    for name, strategy in DECODINGS.items():
        told = repr(strategy).partition("(")[2].removesuffix(")")
        table.add_row(name, (strategy.__doc__ or "").split("\n")[0], escape(told))
    out.print(table)
