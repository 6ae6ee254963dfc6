"""`dialeval generate`: responses of a model, a server, or a simple responder to contexts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialeval.commands.console import out, say
from dialeval.commands.data import options as o
from dialeval.commands.given import Given
from dialeval.commands.live import LIVE, check_live
from dialeval.commands.settings import with_settings
from dialeval.settings.checks import check_settings
from dialeval.settings.inputs import InputSettings
from dialeval.settings.live import LiveSettings

if TYPE_CHECKING:
    from dialeval.dialogues import Passage, Passages, ReadOptions
    from dialeval.responders import Responder
    from dialeval.responders.journal import GenerationSummary


def option(help: str, *flags: str) -> dict[str, Any]:
    """Metadata of a dataclass field that becomes a command-line option."""
    return {"help": help, "flags": flags}


@dataclass(frozen=True)
class ModelSettings(LiveSettings):
    """Settings of responders that `generate` and `selfchat` share."""

    settings: list[str] | None = field(
        default=None,
        metadata=option("Setting of the strategy, such as temperature=0.7. Repeatable.", "--set"),
    )
    chat_template: str | None = field(default=None, metadata=option("auto, none, or a Jinja file."))
    device: str | None = field(
        default=None, metadata=option("cpu, cuda, cuda:1, mps; the best available by default.")
    )
    seed: int = field(default=0, metadata=option("Seed of every hash and draw."))
    trust_remote_code: bool = field(
        default=False,
        metadata=option("Run the code that a model's repository brings; read it first."),
    )

    def options(self) -> dict[str, Any]:
        """Keyword arguments of `load_responder`."""
        options = super().options()
        given = dict(map(setting, self.settings or []))
        return {**options, "settings": {**options["settings"], **given}}


@dataclass(frozen=True)
class GenerationSettings(ModelSettings):
    """All settings of a responder."""

    n: int = field(default=1, metadata=option("Responses per context.", "-n"))
    name: str | None = field(
        default=None, metadata=option("Name of the responder: the author of its responses.")
    )
    backward: str | None = field(
        default=None,
        metadata={
            "help": "Model of p(s|t), for mmi-backward.",
            "needs": {"decoding": ("mmi-backward",)},
        },
    )
    language_model: str | None = field(
        default=None,
        metadata={
            "help": "Model of p(t), for mmi-penalty.",
            "needs": {"decoding": ("mmi-penalty",)},
        },
    )
    adapter: str | None = field(default=None, metadata=option("LoRA adapter of the model."))
    max_tokens: int | None = field(default=None, metadata=option("Tokens of a batch."))


@dataclass(frozen=True)
class GenerationJob:
    """Which responder responds to which contexts, and where the responses are written."""

    model: str | None = field(
        default=None,
        metadata=option(
            "smollm2 (the default), a folder, a .gguf file, a Hub name, or model@http://host/v1.",
            "--model",
            "--system",
            "-m",
        ),
    )
    responder: str | None = field(
        default=None,
        metadata=option(
            "In place of a model: parrot, random, next, constant, retrieval, stored, endpoint, or "
            "package.module:Class; `dialeval list responders` prints all."
        ),
    )
    data: list[str] | None = field(
        default=None, metadata=option("Files with the contexts; the embedded corpus.")
    )
    output: Path = field(
        default=Path("generated.jsonl"),
        metadata=option("File to write: .jsonl, .csv, .tsv, .parquet", "--output", "-o"),
    )
    limit: int | None = field(
        default=None,
        metadata=option("Maximum number of contexts, drawn with the seed; 20 without --data."),
    )
    pool: list[str] | None = field(
        default=None,
        metadata=option("Files of human replies for random and retrieval; the data by default."),
    )
    text: str | None = field(
        default=None, metadata=option('Text of `constant`; "I don\'t know." by default.')
    )
    answers: list[str] | None = field(
        default=None, metadata=option("Files of responses, for `stored`.")
    )
    url: str = field(
        default="http://localhost:8000/v1",
        metadata=option("OpenAI-compatible server of `endpoint`."),
    )
    overwrite: bool = field(default=False, metadata=option("Replace the output of another run."))

    def __post_init__(self) -> None:
        check_settings(self)


_OF_RESPONDERS = (
    *LIVE, "settings", "chat_template", "device", "trust_remote_code", "n", "backward",
    "language_model", "adapter", "max_tokens", "pool",
)  # fmt: skip
"""Options that only some responders take."""


@with_settings(job=GenerationJob, settings=GenerationSettings, inputs=InputSettings)
def generate(
    job: GenerationJob, settings: GenerationSettings, inputs: InputSettings, given: Given
) -> None:
    """Respond to contexts. If a run was stopped, the same command resumes it.

    Without options, SmolLM2 responds to 20 contexts of the embedded corpus.
    """
    if settings.decoding == "list":
        _print_decodings()
        return
    _check_used(job)
    on_cpu = {"device"} if settings.device == "cpu" else set()  # where anything runs
    names = [name for name in _OF_RESPONDERS if name not in on_cpu]
    check_live(given, [job.responder or job.model or "smollm2"], names)
    options = o.read_options(inputs, allow_empty=True, side="human")
    run_generation(job, settings, options)


def run_generation(job: GenerationJob, settings: GenerationSettings, options: ReadOptions) -> None:
    """Read the contexts, load the responder, and write and print its responses.

    Args:
        job (`GenerationJob`):
            Responder, contexts and output.
        settings (`GenerationSettings`):
            Of the responder.
        options (`ReadOptions`):
            How files are read.

    Returns:
        `None`: The responses are in `job.output`.
    """
    _check_responder(job)
    o.check_exist([*(job.data or []), *(job.pool or []), *(job.answers or [])])
    from accelerate import Accelerator

    from dialeval.responders.journal import generate as write_responses

    accelerator = Accelerator(cpu=settings.device == "cpu")
    passages, _ = o.read_files(job.data or ["chitchat"], options)
    questions = contexts(passages, job.limit or (None if job.data else 20), settings.seed)
    pool = o.read_files(job.pool, options)[0] if job.pool else passages
    responder = load_and_say(
        job.responder or job.model or "smollm2",
        pool=pool,
        progress=accelerator.is_main_process,
        **settings.options(),
        **_source(job, options),
    )
    say(f"[bold]{responder.name}[/] responds to {len(questions):,} contexts")
    summary = write_responses(responder, questions, job.output, accelerator, job.overwrite)
    if accelerator.is_main_process:
        _print_summary(responder, summary)


def load_and_say(spec: str, **options: Any) -> Responder:
    """Load a responder; a model that runs here is printed with its device.

    Args:
        spec (`str`):
            Any specification that `load_responder` knows.
        options:
            As in `load_responder`.

    Returns:
        `Responder`: With a progress bar, if it has one.
    """
    from dialeval.responders import load_responder

    responder = load_responder(spec, **{"progress": True, **options})
    generator = getattr(responder, "generator", None)
    if generator is not None:
        device, dtype = generator.model.device, generator.model.dtype
        say(f"Loaded [bold]{generator.name}[/] on {device}, {dtype}")
    return responder


def contexts(passages: Passages, limit: int | None, seed: int) -> list[Passage]:
    """One passage per context.

    Args:
        passages (`Passages`):
            Perhaps with several responses to one context.
        limit (`int` or `None`):
            Maximum number of contexts.
        seed (`int`):
            Of the draw, if there are more.

    Returns:
        `list[Passage]`: In the order of the passages.
    """
    import numpy as np

    from dialeval.dialogues import iterate
    from dialeval.dialogues.splits import row_hashes

    keys = row_hashes(passages, ["id", "context"])
    _, first = np.unique(keys, return_index=True)
    first.sort()
    if limit is not None and limit < len(first):
        first = np.sort(np.random.default_rng(seed).choice(first, limit, replace=False))
    return list(iterate(passages.select(first)))


def setting(text: str) -> tuple[str, Any]:
    """Parse `name=value`; the value becomes a number, a boolean, a tuple or a string."""
    import json

    from dialeval.dialogues import BadInput

    key, sign, value = text.partition("=")
    if not sign:
        hint = "For example --set temperature=0.7"
        raise BadInput(f"expected name=value, but got {text!r}.", hint=hint)
    try:
        parsed = json.loads(value.lower())
    except (ValueError, RecursionError):
        return key, value
    return key, tuple(parsed) if isinstance(parsed, list) else parsed


def _check_responder(job: GenerationJob) -> None:
    """Refuse what cannot be loaded before anything is read."""
    from dialeval.dialogues import BadInput
    from dialeval.registry import unknown_name
    from dialeval.responders import RESPONDERS, parse_spec

    _check_used(job)
    if not job.responder:
        return
    if parse_spec(job.responder).kind == "generator":
        raise unknown_name("responder", job.responder, RESPONDERS)
    if job.responder == "endpoint" and not job.model:
        hint = "Give --model, or --model NAME@URL without --responder."
        raise BadInput("the endpoint needs the name of its model.", hint=hint)
    if job.responder == "stored" and not job.answers:
        raise BadInput("no file of stored responses.", hint="Give it with --answers.")


def _check_used(job: GenerationJob) -> None:
    """Refuse what the responder would ignore."""
    from dialeval.dialogues import BadInput

    readers = {"text": ("constant",), "answers": ("stored",), "url": ("endpoint",)}
    usual = GenerationJob()
    for name, responders in readers.items():
        if getattr(job, name) != getattr(usual, name) and job.responder not in responders:
            message = f"--{name} is only for --responder {' or '.join(responders)}."
            raise BadInput(message, hint=f"Leave out --{name}, or choose that responder.")
    if job.model and job.responder and job.responder != "endpoint":
        message = f"--responder {job.responder} stands in for a model, but --model is given too."
        raise BadInput(message, hint="Leave out one of them.")


def _source(job: GenerationJob, options: ReadOptions) -> dict[str, Any]:
    """Options of a named responder."""
    if job.responder == "endpoint":
        return {"model": job.model, "url": job.url}
    if job.responder == "stored" and job.answers:
        return {"answers": o.read_files(job.answers, options)[0]}
    return {"text": job.text} if job.responder == "constant" else {}


def _print_summary(responder: Responder, summary: GenerationSummary) -> None:
    from dialeval.reports.generation import samples_table
    from dialeval.responders.language import warnings

    out.print(samples_table(summary.path, 6))
    for warning in warnings(getattr(responder, "counts", None) or Counter[str]()):
        say(f"[yellow]{warning}[/]")
    resumed = f", {summary.already_done:,} from an earlier run" if summary.already_done else ""
    numbers = f"{summary.contexts:,} contexts{resumed}, {summary.answers:,} responses"
    say(f"{numbers}: [bold]{summary.path}[/]")
    say(f"[dim]{summary.signature}[/]")


def _print_decodings() -> None:
    from rich.markup import escape
    from rich.table import Table

    from dialeval.responders.decoding import DECODINGS

    table = Table("name", "what it does", "settings and their defaults")
    for name, strategy in DECODINGS.items():
        defaults = repr(strategy).partition("(")[2].removesuffix(")")
        table.add_row(name, (strategy.__doc__ or "").split("\n")[0], escape(defaults))
    out.print(table)
