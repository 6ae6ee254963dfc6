"""`dialeval panel`: do several evaluators, and perhaps an LLM, rank systems alike?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from dialeval.commands.console import out, progress_bar, say
from dialeval.commands.data import options as o


def panel(
    run: Annotated[Path, typer.Argument(help="Output folder of `dialeval evaluate`.")],
    evaluator: Annotated[
        list[str] | None, typer.Option(help="Who sits on it; all by default. Repeatable.")
    ] = None,
    llm: Annotated[
        str | None,
        typer.Option(
            help="Adds a chat model: smollm2, a folder, a .gguf, a Hub name, model@http://host/v1."
        ),
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="Or one behind an OpenAI-compatible server; with --model.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The server's name for its model.")] = None,
    human: Annotated[
        list[str] | None, typer.Option(help="The run's files of human passages, for an LLM.")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, help="Contexts that an LLM is asked about, both orders each.")
    ] = 200,
    samples: Annotated[
        int, typer.Option("--samples", "-k", min=0, help="Answers to each question; 0: no draws.")
    ] = 0,
    temperature: Annotated[float, typer.Option(help="Of sampled answers.")] = 1.0,
    max_new_tokens: Annotated[int, typer.Option(help="Tokens of a written answer.")] = 32,
    chat_template: Annotated[str | None, typer.Option(help="auto, or a Jinja file.")] = None,
    concurrency: Annotated[int, typer.Option(help="Requests to the server at once.")] = 8,
    api_key_env: Annotated[
        str, typer.Option(help="Environment variable that holds the server's key.")
    ] = "OPENAI_API_KEY",
    resamples: Annotated[
        int, typer.Option(min=1, help="Of the bootstrap over dialogues.")
    ] = 10_000,
    seed: o.Seed = 0,
    json: Annotated[bool, typer.Option("--json", help="For programs, unrounded.")] = False,
    input_format: Annotated[
        str | None, typer.Option(help="Format of the human files; guessed by default.")
    ] = None,
    context_turns: o.ContextTurns = None,
    filter: o.Filter = "none",
    skip_bad: o.SkipBad = False,
) -> None:
    """Compare the rankings of a run's evaluators: Kendall's tau, and what all agree on.

    An LLM is asked which of two replies a human wrote. Its answers are kept in the run's cache.
    """
    from json import dump, dumps

    from dialeval.dialogues import atomic_write
    from dialeval.protocols.panel import panel as compare
    from dialeval.reports.transfer import panel_tables

    judged = []
    if llm or url or model:
        sampling = {"samples": samples, "temperature": temperature, "seed": seed}
        server = {"url": url, "model": model, "concurrency": concurrency, "key": api_key_env}
        asker = _asker(llm, chat_template, server, max_new_tokens, **sampling)
        options = o.read_options(
            input_format, skip_bad, context_turns=context_turns, filter=filter, allow_empty=True
        )
        judged.append(_judged(asker, run, human, options, limit, seed))
    found = compare(run, judged, evaluator or (), resamples=resamples, seed=seed)
    told = found.to_dict()
    with atomic_write(run / "panel.json") as file:
        dump(told, file, ensure_ascii=False, indent=2, allow_nan=False)
    if json:
        print(dumps(told, ensure_ascii=False, indent=2, allow_nan=False))
        return
    for part in panel_tables(found):
        out.print(part)
    say(f"Numbers: [bold]{run / 'panel.json'}[/]")


def _asker(
    llm: str | None,
    chat_template: str | None,
    server: dict[str, Any],
    max_new_tokens: int,
    samples: int,
    temperature: float,
    seed: int,
) -> Any:
    """Who is asked: a model here, or a server."""
    from dialeval.dialogues import BadInput
    from dialeval.protocols.llm_judge import EndpointAsker, GeneratorAsker
    from dialeval.responders import parse_spec
    from dialeval.responders.registry import load_responder

    url, model = server["url"], server["model"]
    is_server = not llm or parse_spec(llm).kind == "endpoint"
    if llm and (url or model):
        raise BadInput("one LLM at a time.", hint="Give --llm, or --url and --model.")
    if not llm and not (url and model):
        raise BadInput("a server needs an address and a model.", hint="Give --url and --model.")
    address = {} if llm else {"url": url, "model": model}
    responder: Any = load_responder(
        llm or "endpoint",
        seed=seed,
        max_new_tokens=max_new_tokens,
        n=max(1, samples),
        settings={"temperature": temperature if samples else 0.0} if is_server else None,
        chat_template=chat_template,
        concurrency=server["concurrency"],
        api_key_env=server["key"],
        **address,
    )
    if is_server:
        return EndpointAsker(responder)
    if not hasattr(responder, "generator"):
        hint = "Give smollm2, a folder, a .gguf file, a Hub name, or model@http://host/v1."
        raise BadInput(f"{responder.name} cannot answer questions.", hint=hint)
    return GeneratorAsker(responder.generator, samples, temperature, max_new_tokens, seed)


def _judged(
    asker: Any, run: Path, human: list[str] | None, options: Any, limit: int, seed: int
) -> Any:
    """What the LLM says about the run's systems."""
    from rich.markup import escape

    from dialeval.dialogues import BadInput, by_author
    from dialeval.protocols.llm_judge import LlmJudge, judge_systems
    from dialeval.protocols.panel import run_contests

    if not human:
        raise BadInput(
            "an LLM reads contexts, and a run does not keep them.",
            hint="Give the run's human passages: --human FILE (chitchat for the embedded ones).",
        )
    passages = by_author(o.read_files(human, options)[0], "human")
    contests, warnings = run_contests(run, passages, limit, seed)
    for warning in warnings:
        say(f"[yellow]{escape(warning)}[/]")
    with progress_bar() as on_progress:
        return judge_systems(LlmJudge(asker, run / "cache"), contests, seed, on_progress)
