"""`dialeval robustness`: does a system hold still when it should, and move when it must?"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dialeval.commands.console import out, say
from dialeval.commands.data import options as o

STRATEGIES = (
    "random-swap", "stopword-dropout", "data-paraphrase", "grammar-errors", "add-negation",
    "antonym",
)  # fmt: skip
"""Those of the paper that need nothing."""
LIMIT = 60
_POOL = 300  # passages that a judge is fitted on


def robustness(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="Who answers: smollm2, a folder, a .gguf, a Hub name, parrot, "
            "constant, retrieval. Repeatable.",
        ),
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="Files of contexts and human replies; chitchat.")
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy",
            "-s",
            help="Strategy, or all. Repeatable; `dialeval perturb -s list` shows them.",
        ),
    ] = None,
    stored: Annotated[
        list[str] | None,
        typer.Option(
            help="In place of a model: normal=FILE and STRATEGY=FILE with its replies, again=FILE "
            "for a second draw, NAME:should-change=FILE for a strategy of your own. Repeatable.",
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="What to call the stored system.")] = "stored",
    output_dir: o.OutputDir = Path("runs/robustness"),
    limit: Annotated[
        int | None,
        typer.Option(help=f"Contexts at most, drawn with the seed; {LIMIT} without --data."),
    ] = None,
    decoding: Annotated[
        str, typer.Option("--decoding", "-d", help="Of the models; what samples gets a floor.")
    ] = "greedy",
    max_new_tokens: Annotated[int, typer.Option(help="Tokens of an answer at most.")] = 30,
    evaluator: Annotated[
        list[str] | None,
        typer.Option(
            help="Judge that is perturbed itself: embedding (fitted here), a saved one's folder "
            "or Hub name, zero-shot, or none. Repeatable."
        ),
    ] = None,
    measure: Annotated[
        str,
        typer.Option(
            help="What verdicts go by: movement, changed, activity_f1, entity_f1, bleu, chrf, "
            "likelihood."
        ),
    ] = "movement",
    margin: Annotated[
        float, typer.Option(help="Movement or share of changed replies that counts as none.")
    ] = 0.1,
    loss_margin: Annotated[
        float, typer.Option(help="Share lost against the reference that counts as none.")
    ] = 0.05,
    actent: Annotated[
        bool | None,
        typer.Option("--actent/--no-actent", help="Activity and Entity F1; by the data."),
    ] = None,
    actent_lexicon: Annotated[
        Path | None, typer.Option(help="Folder of the released word lists, for --actent.")
    ] = None,
    skip: Annotated[
        str, typer.Option(help="References left out of these F1s: none, released, no-activity.")
    ] = "none",
    likelihood: Annotated[
        bool, typer.Option(help="Likelihood of the reference, for models that run here.")
    ] = True,
    preset: Annotated[str, typer.Option(help="Rates of the strategies: paper or released.")] = (
        "paper"
    ),
    turns: o.Turns = "all",
    lexicon: o.Lexicon = None,
    set: o.StrategySetting = None,
    resamples: Annotated[int, typer.Option(help="Of the paired bootstrap.")] = 100_000,
    seed: o.Seed = 0,
    overwrite: o.Overwrite = False,
    format: o.Format = None,
    skip_bad: o.SkipBad = False,
    context_turns: o.ContextTurns = None,
) -> None:
    """Ask systems the same contexts, normal and perturbed: verdicts, tables, one report.html.

    With no options SmolLM2 answers 60 contexts of the embedded corpus under six strategies. The
    same command again goes on where it was stopped.
    """
    from dialeval.commands.perturb import settings_of, turns_of
    from dialeval.perturbations import perturbations
    from dialeval.protocols.robustness import RobustnessRun
    from dialeval.protocols.robustness import robustness as study

    run = RobustnessRun(
        measure=measure, margin=margin, loss_margin=loss_margin, actent=actent, skip=skip,
        likelihood=likelihood,
        lexicon=str(actent_lexicon) if actent_lexicon else None, turns=turns_of(turns),
        resamples=resamples, seed=seed, output_dir=str(output_dir), overwrite=overwrite,
    )  # fmt: skip
    options = o.read_options(format, skip_bad, context_turns=context_turns, allow_empty=True)
    if stored:
        _refuse_both(model, strategy)
        asked, strategies, systems = _stored(stored, name, data, options)
        pool = None
    else:
        names = strategy or list(STRATEGIES)
        chosen = "all" if "all" in names else list(dict.fromkeys(names))
        strategies = perturbations(chosen, preset, settings_of(lexicon or [], set or []))
        asked, pool = _contexts(data, options, limit, seed)  # after names, which may be misspelt
        systems = [
            _responder(each, pool, decoding, max_new_tokens, seed) for each in model or ["smollm2"]
        ]
    judges = _judges(evaluator, pool, asked, seed, output_dir)
    told = study(asked, systems, strategies, run, judges, on_progress=_say_who)
    show(told, output_dir)


def show(told: dict[str, Any], output_dir: Path) -> None:
    """Print the verdicts and tables, and write the report."""
    from rich.markup import escape

    from dialeval.reports.robustness import headlines, robustness_tables
    from dialeval.reports.robustness_html import write_robustness_report

    path = write_robustness_report(output_dir)
    for line in headlines(told):
        out.print(line)
    for table in robustness_tables(told):
        out.print()
        out.print(table)
    for warning in told["warnings"]:
        say(f"[yellow]{escape(warning)}[/]")
    numbers = escape(str(output_dir / "results.json"))
    say(f"Report: [bold]{escape(str(path))}[/], numbers: [bold]{numbers}[/]")
    say(f"[dim]{escape(told['signature'])}[/]")


def _say_who(name: str) -> None:
    from rich.markup import escape

    say(f"[bold]{escape(name)}[/] under perturbation")


def _refuse_both(model: list[str] | None, strategy: list[str] | None) -> None:
    from dialeval.dialogues import BadInput

    if model or strategy:
        hint = "Leave out --model and --strategy, or --stored."
        raise BadInput("stored replies come with their system and strategies.", hint=hint)


def _contexts(
    files: list[str] | None, options: Any, limit: int | None, seed: int
) -> tuple[list[Any], Any]:
    """Contexts to ask, and all human passages."""
    from dialeval.commands.generate import contexts
    from dialeval.dialogues import BadInput, by_author

    if limit is not None and limit < 1:
        raise BadInput(f"--limit counts contexts, so it is at least 1, but got {limit}.")
    limit = limit or (None if files else LIMIT)
    found = by_author(o.read_files(files or ["chitchat"], options)[0], "human")
    if not len(found):
        hint = "Give a file with contexts and human replies."
        raise BadInput("no human responses.", (files or [""])[0], hint=hint)
    return contexts(found, limit, seed), found


def _responder(text: str, pool: Any, decoding: str, tokens: int, seed: int) -> Any:
    """A responder whose answers depend on the words of a context, not on a draw by its hash."""
    from dialeval.commands.generate import load_and_say
    from dialeval.responders import parse_spec

    options = {"turn": -1} if parse_spec(text).kind == "parrot" else {}
    return load_and_say(
        text, seed=seed, decoding=decoding, max_new_tokens=tokens, pool=pool, **options
    )


def _stored(
    pairs: Sequence[str], name: str, data: list[str] | None, options: Any
) -> tuple[list[Any], list[Any], list[Any]]:
    """Contexts, cases and answers from files."""
    from dataclasses import replace

    from dialeval.dialogues import BadInput, by_author, iterate
    from dialeval.protocols.robustness import stored_answers

    options = replace(options, keep_duplicates=True)
    found = {}
    for pair in pairs:
        key, sign, path = pair.partition("=")
        if not sign or key in found:
            hint = "Say --stored normal=FILE --stored add-negation=FILE, each name once."
            raise BadInput(f"expected NAME=FILE, found {pair!r}.", hint=hint)
        found[key] = list(iterate(o.read_files([path], options)[0]))
    human = list(iterate(by_author(o.read_files(data, options)[0], "human"))) if data else None
    asked, cases, answers = stored_answers(name, found, human)
    return asked, cases, [answers]


def _judges(
    names: list[str] | None, pool: Any, asked: Sequence[Any], seed: int, folder: Path
) -> list[Any]:
    """Saved judges, and one fitted on the dialogues that are not asked."""
    from dialeval.dialogues import BadInput, to_passages

    judges = []
    for text in names or ["embedding"]:
        if text == "none":
            continue
        if text != "embedding":
            from dialeval.protocols.evaluation.frozen import evaluator_name, load_frozen

            judge = load_frozen(evaluator_name(text, ()), text.partition("=")[2] or text)
            say(judge.decide(to_passages(asked), folder / "thresholds.json"))
            judges.append(judge)
            continue
        try:
            judges.append(_fitted(pool, asked, seed))
        except BadInput as error:
            if names:
                raise
            say(f"[yellow]Without an evaluator: {error}[/]")
    return judges


def _fitted(pool: Any, asked: Sequence[Any], seed: int) -> Any:
    """The embedding judge, fitted on other dialogues than those it is asked about."""
    import numpy as np

    from dialeval.dialogues import BadInput
    from dialeval.dialogues.splits import sample_dialogues
    from dialeval.protocols.robustness import fit_judge

    if pool is None:
        hint = "Give a saved judge: --evaluator FOLDER."
        raise BadInput("stored replies leave no dialogues to fit a judge on.", hint=hint)
    mine = {each.dialogue_id for each in asked}
    others = np.flatnonzero([each not in mine for each in pool["dialogue_id"]])
    rest = pool.select(others)
    return fit_judge(sample_dialogues(rest, _POOL, seed) if len(rest) > _POOL else rest, seed)
