"""`dialeval demo`: the main job on the embedded corpus, with nothing to download."""

import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from dialeval.commands.console import out, progress_bar, say
from dialeval.commands.data import options as o


def demo(
    output_dir: Annotated[
        Path, typer.Option("--output-dir", "-o", help="Folder for reports, pictures and data.")
    ] = Path("runs/demo"),
    seed: o.Seed = 0,
) -> None:
    """Show every step on the embedded corpus: data, leaks, systems, evaluation, robustness.

    The weights of SmolLM2 come in a Python package; without it the other systems are evaluated.
    """
    from dialeval.commands.data.options import read_files, read_options
    from dialeval.commands.data.split import write_parts
    from dialeval.dialogues import PARTS, Pairing, by_author, write_passages
    from dialeval.dialogues.readers.chitchat import chitchat_path
    from dialeval.dialogues.statistics import describe
    from dialeval.protocols.leaks import find_leaks
    from dialeval.reports.description import description_plot, description_tables
    from dialeval.reports.leaks import leak_tables

    out.rule("1  Human dialogues: read, cut into passages, described")
    options = read_options(format="chitchat")
    passages, report = read_files([str(chitchat_path())], options)
    description = describe(passages, report)
    out.print(description_tables(description))
    picture = description_plot(description, output_dir / "chitchat.png")

    out.rule("2  Three parts without a shared dialogue: generator, evaluator, test")
    parts = write_parts(passages, report, options, PARTS, seed, output_dir / "parts")

    out.rule("3  Human replies and random ones: does the format alone distinguish them?")
    pairs = Pairing("human_random", seed=seed)(parts["test"])
    write_passages(pairs, output_dir / "human_random.jsonl")
    leaks = find_leaks(by_author(pairs, "human"), by_author(pairs, "random"), seed=seed)
    out.print(*leak_tables(leaks), sep="\n")

    out.rule("4  Three systems respond: SmolLM2, a parrot, and a constant reply")
    systems = _answers(output_dir, parts["test"], seed)

    out.rule("5  Can they be distinguished from humans, and can that answer be trusted?")
    _evaluate(output_dir, systems, seed)

    out.rule("6  Does SmolLM2 change its replies when it should, and only then?")
    _perturb(output_dir, parts["test"], seed)
    pages = (output_dir / name / "report.html" for name in ("evaluation", "robustness"))
    shown = [str(path) for path in (*pages, picture) if path.is_file()]
    say(f"Everything is in [bold]{output_dir}[/]; look at [bold]{', '.join(shown)}[/]")


CONTEXTS = 120


def _answers(output_dir: Path, test: Any, seed: int) -> dict[str, Any]:
    """Human passages of the test part, and the responses of the systems, by name."""
    from dialeval.commands.generate import load_and_say
    from dialeval.dialogues import BadInput, ReadOptions, iterate, read, write_passages
    from dialeval.dialogues.splits import sample_dialogues
    from dialeval.reports.generation import samples_table
    from dialeval.responders.journal import generate

    human = sample_dialogues(test, CONTEXTS, seed, per_dialogue=2)  # the leak check needs many
    passages = list(iterate(human))
    responders = [load_and_say(name, seed=seed, pool=human) for name in ("parrot", "constant")]
    try:
        settings = {"top_p": 0.9}
        model = load_and_say("smollm2", settings=settings, max_new_tokens=128, seed=seed)
        responders.insert(0, model)
    except BadInput as error:
        say(f"[yellow]Without SmolLM2: {error}[/]")
    write_passages(human, output_dir / "systems" / "human.jsonl")
    responses = {"human": human}
    replies = {passage.id: passage.response for passage in passages}
    for responder in responders:
        path = output_dir / "systems" / f"{responder.name}.jsonl"
        summary = generate(responder, passages, path, overwrite=True)
        responses[responder.name] = read(str(summary.path), ReadOptions(keep_duplicates=True))[0]
    out.print(samples_table(output_dir / "systems" / f"{responders[0].name}.jsonl", 6, replies))
    return responses


def _evaluate(output_dir: Path, systems: dict[str, Any], seed: int) -> None:
    from dialeval.commands.evaluate import show
    from dialeval.protocols.evaluation import EvaluationRun, align, evaluate

    human = systems.pop("human")
    folder = output_dir / "evaluation"
    run = EvaluationRun(seeds=3, seed=seed, output_dir=str(folder), overwrite=True)
    data = replace(align(human, systems), command=_as_command(output_dir, systems))
    with progress_bar() as on_progress:
        results = evaluate(data, run, on_progress=on_progress)
    show(results, folder, "table")


def _as_command(output_dir: Path, systems: Iterable[str]) -> str:
    """The same evaluation as a command, from which the page derives the next one."""
    files = output_dir / "systems"
    words = ["dialeval", "evaluate", "--human", str(files / "human.jsonl")]
    for name in systems:
        words += ["--system", f"{name}={files / name}.jsonl"]
    return shlex.join([*words, "-o", f"{output_dir / 'evaluation'}-2"])


PERTURBED = 30
STRATEGIES = ("random-swap", "stopword-dropout", "add-negation", "antonym")


def _perturb(output_dir: Path, test: Any, seed: int) -> None:
    """SmolLM2's replies to normal and perturbed contexts, with a report."""
    from dialeval.commands.generate import contexts, load_and_say
    from dialeval.commands.robustness import show
    from dialeval.dialogues import BadInput
    from dialeval.perturbations import perturbations
    from dialeval.protocols.robustness import RobustnessRun, robustness

    try:
        model = load_and_say("smollm2", decoding="greedy", max_new_tokens=20, seed=seed)
    except BadInput as error:
        say(f"[yellow]Without SmolLM2 there is nothing to perturb: {error}[/]")
        return
    say("Its replies are cut at 20 tokens here, to save time.")
    folder = output_dir / "robustness"
    run = RobustnessRun(likelihood=False, seed=seed, output_dir=str(folder), overwrite=True)
    passages = contexts(test, PERTURBED, seed)
    show(robustness(passages, [model], perturbations(STRATEGIES), run), folder)
