"""`dialeval perturb`: contexts edited by strategies, with what they did."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dialeval.commands.console import out, say
from dialeval.commands.data import options as o

EXAMPLES = 3


def perturb(
    data: Annotated[
        list[str] | None, typer.Argument(help="Files whose contexts are edited; chitchat.")
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option("--strategy", "-s", help="Strategy, or all. Repeatable; `list` shows them."),
    ] = None,
    preset: Annotated[
        str, typer.Option(help="Rates of the paper, or those of its released code: released.")
    ] = "paper",
    turns: o.Turns = "all",
    lexicon: o.Lexicon = None,
    set: o.StrategySetting = None,
    rate: Annotated[
        float | None, typer.Option(help="Make each edit with this probability only.")
    ] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="File of words: edits that bring in others are not made.")
    ] = None,
    compose: Annotated[
        bool, typer.Option("--compose", help="All strategies on one text, one after the other.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Who paraphrases: smollm2, a folder, a Hub name."),
    ] = None,
    floor: Annotated[
        float, typer.Option(help="Least likeness of a generated paraphrase; 0 takes them all.")
    ] = 0.9,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="File to write; several get their strategy's name."),
    ] = Path("perturbed.jsonl"),
    limit: Annotated[
        int | None, typer.Option(help="Passages at most, drawn with the seed; 500 without DATA.")
    ] = None,
    pass_languages: Annotated[
        bool,
        typer.Option("--pass-languages", help="Let languages a strategy does not know through."),
    ] = False,
    seed: o.Seed = 0,
    num_proc: Annotated[int, typer.Option(help="Processes that edit.")] = 1,
    format: o.Format = None,
    skip_bad: o.SkipBad = False,
    context_turns: o.ContextTurns = None,
    filter: o.Filter = "none",
    column: o.Column = None,
    turn_separator: o.Separator = None,
) -> None:
    """Edit contexts and leave the responses alone; every edit stands in the file.

    With no options it tries every strategy on 500 passages of the embedded corpus.
    """
    from dialeval.dialogues import write_passages
    from dialeval.perturbations import perturb as run

    names = strategy or ["all"]
    if names == ["list"]:
        return _show_strategies()
    settings = settings_of(lexicon or [], set or [])
    if model:
        settings["generative-paraphrase"] |= _paraphraser(model, floor, seed)
    chosen = _wrapped(_strategies(names, preset, settings), rate, vocabulary, compose)
    options = o.read_options(
        format, skip_bad, None, column, turn_separator, context_turns, filter=filter,
        allow_empty=True,
    )  # fmt: skip
    found, _ = o.read_files(data or ["chitchat"], options)
    passages = _drawn(found, limit or (500 if data is None else None), seed)
    unsupported = "pass" if pass_languages else "refuse"
    results = []
    for each in chosen:
        done = run(
            passages, each, seed=seed, turns=turns_of(turns), num_proc=num_proc,
            unsupported=unsupported,
        )  # fmt: skip
        path = output if len(chosen) == 1 else _path_of(output, each.name)
        results.append((each, done, write_passages(done.passages, path)))
    _show(results, passages)


def _strategies(names: Sequence[str], preset: str, settings: dict[str, Any]) -> list[Any]:
    from dialeval.perturbations import perturbation, perturbations

    if "all" in names:
        return perturbations("all", preset, settings)
    if "generative-paraphrase" in names and not settings["generative-paraphrase"]:
        from dialeval.dialogues import BadInput

        hint = "Name it: --model smollm2."
        raise BadInput("generative-paraphrase has to be told which model.", hint=hint)
    return [perturbation(name, preset, **settings[name]) for name in dict.fromkeys(names)]


def settings_of(
    lexicons: Sequence[str], settings: Sequence[str]
) -> defaultdict[str, dict[str, Any]]:
    """Options by strategy, from `NAME=PATH` and `NAME.option=value`."""
    from dialeval.commands.generate import setting
    from dialeval.dialogues import BadInput

    found: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for pair in lexicons:
        name, sign, path = pair.partition("=")
        if not sign:
            hint = "Say --lexicon data-paraphrase=ppdb-2.0-s-all"
            raise BadInput(f"expected STRATEGY=PATH, found {pair!r}.", hint=hint)
        found[name]["lexicon"] = path
    for pair in settings:
        key, value = setting(pair)
        name, dot, option = key.rpartition(".")  # a name may be package.module:Class
        if not dot:
            hint = "Say --set random-swap.words_per_swap=3"
            raise BadInput(f"expected STRATEGY.OPTION=VALUE, found {pair!r}.", hint=hint)
        found[name][option] = value
    return found


def _wrapped(chosen: list[Any], rate: float | None, vocabulary: Path | None, compose: bool) -> list:
    """The strategies composed, restricted and thinned, as was asked for."""
    from dialeval.perturbations import Composed, Restricted, Thinned

    if compose and len(chosen) > 1:
        chosen = [Composed(tuple(chosen))]
    if vocabulary:
        chosen = [Restricted(each, str(vocabulary)) for each in chosen]
    if rate is not None:
        chosen = [Thinned(each, rate) for each in chosen]
    return chosen


def _paraphraser(model: str, floor: float, seed: int) -> dict[str, Any]:
    """A generator that puts things into other words, and a sentence encoder that checks it."""
    from dialeval.commands.generate import load_and_say
    from dialeval.perturbations.generative import INSTRUCTION

    asked = {"system_prompt": INSTRUCTION, "seed": seed, "max_new_tokens": 60}
    found = {"paraphrase": load_and_say(model, decoding="greedy", **asked)}
    if floor <= 0:
        return found
    from dialeval.models.embedding import MiniLm

    embed = MiniLm()

    def minilm(texts: Sequence[str], others: Sequence[str]) -> Any:
        return (embed(texts) * embed(others)).sum(-1)

    return {**found, "similarity": minilm, "floor": floor}


def turns_of(text: str) -> str | tuple[int, ...]:
    from dialeval.dialogues import BadInput

    if text in ("all", "last"):
        return text
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise BadInput(f"Unknown turns {text!r}.", hint="Say all, last, or 0,-1.") from None


def _drawn(passages: Any, limit: int | None, seed: int) -> Any:
    """So many passages at most, in their order."""
    from random import Random

    if limit is None or limit >= len(passages):
        return passages
    return passages.select(sorted(Random(seed).sample(range(len(passages)), limit)))


def _path_of(output: Path, name: str) -> Path:
    return output.with_name(f"{output.stem}.{name}{output.suffix}")


def _show(results: Sequence[tuple[Any, Any, Path]], passages: Any) -> None:
    """A row and some examples for each strategy, and where the passages are."""
    from rich.table import Table

    table = Table(title=f"{len(passages):,} passages", title_justify="left")
    for name in ("strategy", "kind"):
        table.add_column(name, no_wrap=True)
    for name in ("coverage", "edits a passage", "other language"):
        table.add_column(name, justify="right")
    for strategy, done, _ in results:
        share = done.edits / max(1, len(passages))
        kind = strategy.kind.replace("_", "-")
        numbers = (f"{done.coverage:.1%}", f"{share:.2f}", f"{done.foreign:,}")
        table.add_row(strategy.name, kind, *numbers)
    out.print(table)
    for strategy, done, path in results:
        out.print(f"\n[bold]{strategy.name}[/]", soft_wrap=True)
        for example in _examples(passages, done.passages, EXAMPLES):
            out.print(f"  {example}", soft_wrap=True)
        for fate, number in getattr(strategy, "counts", {}).items():
            say(f"paraphrases {fate}: {number:,}")
        say(f"[bold]{path}[/] [dim]{_escaped(done.strategy)}[/]")


def _examples(before: Any, after: Any, most: int) -> list[str]:
    """The shortest of the first edited turns, with what was taken out and put in."""
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
    return [_marked(*pair) for pair in short]


def _marked(text: str, log: Sequence[Any]) -> str:
    """A text with its edits, as `[-old-]{+new+}`."""
    parts, end = [], 0
    for start, before, after in log:
        parts.append(_escaped(text[end:start]))
        parts += [f"[red]{_escaped(f'[-{before}-]')}[/]"] if before else []
        parts += [f"[green]{_escaped('{+' + after + '+}')}[/]"] if after else []
        end = start + len(before)
    return "".join((*parts, _escaped(text[end:])))


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _show_strategies() -> None:
    from dataclasses import fields

    from rich.table import Table

    from dialeval.perturbations.registry import required_options, strategies

    table = Table("name", "kind", "languages", "what it does", "options")
    for name, cls in strategies().items():
        lacking = required_options(cls)
        options = [f"{f.name}!" if f.name in lacking else f.name for f in fields(cls) if f.init]
        told = (cls.__doc__ or "").split("\n")[0]
        kind, known = cls.kind.replace("_", "-"), ", ".join(cls.languages or ("any",))
        table.add_row(name, kind, known, told, ", ".join(options))
    out.print(table)
    say("An option with ! has to be given: by --lexicon, --set or --model.")
