"""`dialeval panel`: do several evaluators, and optionally an LLM judge, rank systems alike?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from dialeval.commands.console import out, progress_bar, say
from dialeval.commands.data import options as o
from dialeval.commands.given import Given
from dialeval.commands.live import check_live
from dialeval.commands.settings import with_settings
from dialeval.saved import expecting
from dialeval.settings.checks import MOST
from dialeval.settings.inputs import InputSettings
from dialeval.settings.live import MAX_NEW_TOKENS
from dialeval.settings.usage import SET, Needs

_OF_LLM: Needs = {"llm|url|model": SET}


@with_settings(
    needs={
        "human": _OF_LLM,
        "limit": _OF_LLM,
        "samples": _OF_LLM,
        "temperature": {**_OF_LLM, "samples": SET},
        "max_new_tokens": _OF_LLM,
        "chat_template": _OF_LLM,
        "concurrency": _OF_LLM,
        "api_key_env": _OF_LLM,
        "inputs": {**_OF_LLM, "human": SET},
    },
    inputs=InputSettings,
)
def panel(
    inputs: InputSettings,
    given: Given,
    run: Annotated[Path, typer.Argument(help="Output folder of `dialeval evaluate`.")],
    evaluator: Annotated[
        list[str] | None, typer.Option(help="Evaluators of the panel; all by default. Repeatable.")
    ] = None,
    llm: Annotated[
        str | None,
        typer.Option(
            help="Add an LLM judge: smollm2, a folder, a .gguf, a Hub name, model@http://host/v1."
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
        int, typer.Option(min=1, help="Contexts that an LLM judges, in both orders each.")
    ] = 200,
    samples: Annotated[
        int,
        typer.Option("--samples", "-k", min=0, help="Answers to each question; 0: probabilities."),
    ] = 0,
    temperature: Annotated[float, typer.Option(help="Temperature of sampled answers.")] = 1.0,
    max_new_tokens: Annotated[
        int, typer.Option(help="Tokens of a written answer.")
    ] = MAX_NEW_TOKENS,
    chat_template: Annotated[str | None, typer.Option(help="auto, or a Jinja file.")] = None,
    concurrency: Annotated[int, typer.Option(help="Requests to the server at once.")] = 8,
    api_key_env: Annotated[
        str, typer.Option(help="Environment variable that holds the server's key.")
    ] = "OPENAI_API_KEY",
    resamples: Annotated[
        int, typer.Option(min=1, max=MOST, help="Resamples of the bootstrap over dialogues.")
    ] = 10_000,
    seed: o.Seed = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, unrounded.")] = False,
) -> None:
    """Compare the rankings of a run's evaluators: Kendall's tau, and what all agree on.

    An LLM judges which of two replies a human wrote. Its answers are cached in the run folder.
    """
    from dialeval.protocols.panel import panel as compare
    from dialeval.reports.panel import panel_tables
    from dialeval.run_folder import RunFolder

    judgements = []
    if llm or url or model:
        check_live(given, [llm or "endpoint"], ("chat_template", "concurrency", "api_key_env"))
        server = {"url": url, "model": model, "concurrency": concurrency, "key": api_key_env}
        asker = make_asker(llm, chat_template, server, max_new_tokens, samples, temperature, seed)
        options = o.read_options(inputs, allow_empty=True, side="human")
        judgements.append(_judge_run(asker, run, human, options, limit, seed))
    with expecting("the results of an evaluation", run):
        result = compare(run, judgements, evaluator or (), resamples=resamples, seed=seed)
    path = RunFolder(run).write_json("panel.json", result.to_dict())
    if json:
        print(path.read_text("utf-8"), end="")
        return
    for part in panel_tables(result):
        out.print(part)
    say(f"Numbers: [bold]{path}[/]")


def make_asker(
    llm: str | None,
    chat_template: str | None,
    server: dict[str, Any],
    max_new_tokens: int,
    samples: int,
    temperature: float,
    seed: int,
) -> Any:
    """The model that answers: one in this process, or a server."""
    from dialeval.dialogues import BadInput
    from dialeval.protocols.llm_judge import EndpointAsker, GeneratorAsker
    from dialeval.responders import parse_spec
    from dialeval.responders.registry import load_responder

    url, model = server["url"], server["model"]
    is_server = not llm or parse_spec(llm).kind == "endpoint"
    if llm and (url or model):
        raise BadInput("only one LLM can be given.", hint="Give --llm, or --url and --model.")
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


def _judge_run(
    asker: Any, run: Path, human: list[str] | None, options: Any, limit: int, seed: int
) -> Any:
    """The LLM's verdicts on the run's systems."""
    from rich.markup import escape

    from dialeval.dialogues import BadInput, by_author
    from dialeval.protocols.llm_judge import LlmJudge, judge_systems
    from dialeval.protocols.panel import run_contests

    if not human:
        raise BadInput(
            "an LLM judge reads the contexts, which a run does not keep.",
            hint="Give the run's human passages: --human FILE (chitchat for the embedded ones).",
        )
    passages = by_author(o.read_files(human, options)[0], "human")
    contests, warnings = run_contests(run, passages, limit, seed)
    for warning in warnings:
        say(f"[yellow]{escape(warning)}[/]")
    with progress_bar() as on_progress:
        return judge_systems(LlmJudge(asker, run / "cache"), contests, seed, on_progress)
