"""`dialeval perturb`: edit contexts with perturbation strategies."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from dialeval.commands.console import out, say
from dialeval.commands.data import options as o
from dialeval.commands.settings import with_settings
from dialeval.settings.inputs import InputSettings
from dialeval.settings.usage import SET

EXAMPLES = 3
PARAPHRASE = "generative-paraphrase"


@with_settings(needs={"floor": {"model": SET}}, inputs=InputSettings)
def perturb(
    inputs: InputSettings,
    data: Annotated[
        list[str] | None, typer.Argument(help="Files with contexts to edit; chitchat by default.")
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option("--strategy", "-s", help="Strategy, or all; `list` prints them. Repeatable."),
    ] = None,
    preset: Annotated[
        str, typer.Option(help="Rates of the paper, or of its released code: paper or released.")
    ] = "paper",
    turns: o.Turns = "all",
    lexicon: o.Lexicon = None,
    set: o.StrategySetting = None,
    rate: Annotated[
        float | None, typer.Option(help="Probability of making each edit; 1 by default.")
    ] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="File of words; edits that insert other words are skipped.")
    ] = None,
    compose: Annotated[
        bool, typer.Option("--compose", help="Apply all strategies to one text, in order.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", help="Model of generative-paraphrase: smollm2, a folder, a Hub name."
        ),
    ] = None,
    floor: Annotated[
        float, typer.Option(help="Minimum similarity of a generated paraphrase; 0 accepts all.")
    ] = 0.9,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Output file; with several strategies, one file each.",
        ),
    ] = Path("perturbed.jsonl"),
    limit: Annotated[
        int | None, typer.Option(help="Maximum number of passages, sampled; 500 without DATA.")
    ] = None,
    pass_languages: Annotated[
        bool,
        typer.Option("--pass-languages", help="Leave passages in unsupported languages unchanged."),
    ] = False,
    seed: o.Seed = 0,
    num_proc: Annotated[int, typer.Option(help="Number of processes.")] = 1,
) -> None:
    """Edit the contexts of passages, not the responses; the output file has every edit.

    Without options it applies every strategy to 500 passages of the embedded corpus.
    """
    from dialeval.dialogues import BadInput, write_passages
    from dialeval.perturbations import perturb as run

    names = strategy or ["all"]
    if names == ["list"]:
        return _show_strategies()
    if limit is not None and limit < 1:
        raise BadInput(f"--limit is a number of passages of at least 1, but got {limit}.")
    if model and not {"all", PARAPHRASE}.intersection(names):
        hint = f"Add --strategy {PARAPHRASE}, or leave out --model."
        raise BadInput(f"--model would be ignored: it is for {PARAPHRASE}.", hint=hint)
    settings = settings_of(lexicon or [], set or [], names)
    if model:
        settings[PARAPHRASE] |= _paraphraser(model, floor, seed)
    strategies = _wrap(_load_strategies(names, preset, settings), rate, vocabulary, compose)
    options = o.read_options(inputs, allow_empty=True)
    passages, _ = o.read_files(data or ["chitchat"], options)
    passages = _sample(passages, limit or (500 if data is None else None), seed)
    results = []
    for one in strategies:
        perturbed = run(
            passages, one, seed=seed, turns=turns_of(turns), num_proc=num_proc,
            unsupported="pass" if pass_languages else "refuse",
        )  # fmt: skip
        path = output if len(strategies) == 1 else _path_of(output, one.name)
        results.append((one, perturbed, write_passages(perturbed.passages, path)))
    _show(results, passages)


def _load_strategies(names: Sequence[str], preset: str, settings: dict[str, Any]) -> list[Any]:
    from dialeval.perturbations import perturbation, perturbations

    if "all" in names:
        return perturbations("all", preset, settings)
    if PARAPHRASE in names and not settings[PARAPHRASE]:
        from dialeval.dialogues import BadInput

        raise BadInput("generative-paraphrase needs a model.", hint="Give --model smollm2.")
    return [perturbation(name, preset, **settings[name]) for name in dict.fromkeys(names)]


def settings_of(
    lexicons: Sequence[str], settings: Sequence[str], names: Sequence[str]
) -> defaultdict[str, dict[str, Any]]:
    """Options by strategy, from `NAME=PATH` and `NAME.option=value`.

    Args:
        lexicons, settings (`Sequence[str]`):
            What `--lexicon` and `--set` gave.
        names (`Sequence[str]`):
            The strategies that are applied, or `all`.

    Returns:
        `defaultdict`: Options by the name of the strategy.

    Raises:
        BadInput: One of them cannot be read, or is for a strategy that is not applied.
    """
    from dialeval.commands.generate import setting
    from dialeval.dialogues import BadInput

    options: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for pair in lexicons:
        name, sign, path = pair.partition("=")
        if not sign:
            hint = "Use --lexicon data-paraphrase=ppdb-2.0-s-all"
            raise BadInput(f"expected STRATEGY=PATH, but got {pair!r}.", hint=hint)
        options[name]["lexicon"] = path
    for pair in settings:
        key, value = setting(pair)
        name, dot, option = key.rpartition(".")  # a name may be package.module:Class
        if not dot:
            hint = "Use --set random-swap.words_per_swap=3"
            raise BadInput(f"expected STRATEGY.OPTION=VALUE, but got {pair!r}.", hint=hint)
        options[name][option] = value
    unused = [] if "all" in names else [name for name in options if name not in names]
    if unused:
        hint = f"Add --strategy {unused[0]}, or leave them out."
        raise BadInput(f"settings of {unused[0]} would be ignored: it is not applied.", hint=hint)
    return options


def _wrap(
    strategies: list[Any], rate: float | None, vocabulary: Path | None, compose: bool
) -> list[Any]:
    """The strategies, composed, restricted and thinned according to the options."""
    from dialeval.perturbations import Composed, Restricted, Thinned

    if compose and len(strategies) > 1:
        strategies = [Composed(tuple(strategies))]
    if vocabulary:
        strategies = [Restricted(strategy, str(vocabulary)) for strategy in strategies]
    if rate is not None:
        strategies = [Thinned(strategy, rate) for strategy in strategies]
    return strategies


def _paraphraser(model: str, floor: float, seed: int) -> dict[str, Any]:
    """A generator that paraphrases, and a sentence encoder that checks the paraphrases."""
    from dialeval.commands.generate import load_and_say
    from dialeval.perturbations.generative import INSTRUCTION

    responder = load_and_say(
        model, decoding="greedy", system_prompt=INSTRUCTION, seed=seed, max_new_tokens=60
    )
    if floor <= 0:
        return {"paraphrase": responder}
    from dialeval.models.embedding import MiniLm

    embed = MiniLm()

    def minilm(texts: Sequence[str], others: Sequence[str]) -> Any:
        return (embed(texts) * embed(others)).sum(-1)

    return {"paraphrase": responder, "similarity": minilm, "floor": floor}


def turns_of(text: str) -> Literal["all", "last"] | tuple[int, ...]:
    """The turns to edit, from `all`, `last`, or indices such as `0,-1`."""
    from dialeval.dialogues import BadInput

    if text in ("all", "last"):
        return cast(Literal["all", "last"], text)
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise BadInput(f"Unknown turns {text!r}.", hint="Use all, last, or 0,-1.") from None


def _sample(passages: Any, limit: int | None, seed: int) -> Any:
    """A random sample of at most `limit` passages, in their order."""
    from random import Random

    if limit is None or limit >= len(passages):
        return passages
    return passages.select(sorted(Random(seed).sample(range(len(passages)), limit)))


def _path_of(output: Path, name: str) -> Path:
    return output.with_name(f"{output.stem}.{name}{output.suffix}")


def _show(results: Sequence[tuple[Any, Any, Path]], passages: Any) -> None:
    """Print a row and some examples for each strategy, and the path of its output."""
    from rich.table import Table

    table = Table(title=f"{len(passages):,} passages", title_justify="left")
    for name in ("strategy", "kind"):
        table.add_column(name, no_wrap=True)
    for name in ("coverage", "edits per passage", "other language"):
        table.add_column(name, justify="right")
    for strategy, perturbed, _ in results:
        edits = perturbed.edits / max(1, len(passages))
        kind = strategy.kind.replace("_", "-")
        numbers = (f"{perturbed.coverage:.1%}", f"{edits:.2f}", f"{perturbed.foreign:,}")
        table.add_row(strategy.name, kind, *numbers)
    out.print(table)
    for strategy, perturbed, path in results:
        out.print(f"\n[bold]{strategy.name}[/]", soft_wrap=True)
        for example in _examples(passages, perturbed.passages, EXAMPLES):
            out.print(f"  {example}", soft_wrap=True)
        for outcome, count in getattr(strategy, "counts", {}).items():
            say(f"paraphrases {outcome}: {count:,}")
        say(f"[bold]{path}[/] [dim]{_escape(perturbed.strategy)}[/]")


def _examples(before: Any, after: Any, most: int) -> list[str]:
    """Some short turns among the first edited ones, with deletions and insertions marked."""
    from itertools import islice

    from dialeval.dialogues import iterate
    from dialeval.perturbations import edit_log

    pairs = zip(iterate(before), iterate(after), strict=True)
    edited = (
        (turn.text, log)
        for old, new in pairs
        for turn, log in zip(old.context, edit_log(new), strict=True)
        if log
    )
    short = sorted(islice(edited, 8 * most), key=lambda pair: len(pair[0]))[most : 2 * most]
    return [_mark_edits(*pair) for pair in short]


def _mark_edits(text: str, log: Sequence[Any]) -> str:
    """A text with its edits, as `[-old-]{+new+}`."""
    parts, end = [], 0
    for start, before, after in log:
        parts.append(_escape(text[end:start]))
        parts += [f"[red]{_escape(f'[-{before}-]')}[/]"] if before else []
        parts += [f"[green]{_escape('{+' + after + '+}')}[/]"] if after else []
        end = start + len(before)
    return "".join((*parts, _escape(text[end:])))


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _show_strategies() -> None:
    from dataclasses import fields

    from rich.table import Table

    from dialeval.perturbations.registry import required_options, strategies

    table = Table("name", "kind", "languages", "what it does", "options")
    for name, cls in strategies().items():
        required = required_options(cls)
        names = [field.name for field in fields(cast(Any, cls)) if field.init]
        options = ", ".join(f"{option}!" if option in required else option for option in names)
        summary = (cls.__doc__ or "").split("\n")[0]
        languages = ", ".join(cls.languages or ("any",))
        table.add_row(name, cls.kind.replace("_", "-"), languages, summary, options)
    out.print(table)
    say("Options with ! are required: give them with --lexicon, --set or --model.")
