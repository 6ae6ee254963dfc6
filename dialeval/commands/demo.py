"""`dialeval demo`: the main job on the embedded corpus, with nothing to download."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dialeval.commands.console import out, say


def demo(
    output_dir: Annotated[
        Path, typer.Option("--output-dir", "-o", help="Where pictures and parts go.")
    ] = Path("runs/demo"),
    seed: Annotated[int, typer.Option(help="Seed of every hash and draw.")] = 0,
) -> None:
    """Read, describe and split 7,168 human chats, look for leaks, train a judge, let a model reply.

    The weights of SmolLM2 come in a Python package; without it the last step is left out.
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
    options = read_options("chitchat")
    passages, report = read_files([str(chitchat_path())], options)
    description = describe(passages, report)
    out.print(description_tables(description))
    picture = description_plot(description, output_dir / "chitchat.png")

    out.rule("2  Three parts that share no dialogue: for a generator, its judge, and the test")
    parts = write_parts(passages, report, options, PARTS, seed, output_dir / "parts")

    out.rule("3  Human replies against random ones: can they be told apart without reading?")
    pairs = Pairing("human_random", seed=seed)(parts["test"])
    write_passages(pairs, output_dir / "human_random.jsonl")
    found = find_leaks(by_author(pairs, "human"), by_author(pairs, "random"), seed=seed)
    out.print(*leak_tables(found), sep="\n")

    out.rule("4  A judge that reads: human or random reply? (a pretrained encoder, fine-tuned)")
    _train_judge(output_dir, seed)

    out.rule("5  A machine that answers: SmolLM2 beside the human replies it is measured against")
    _answer(output_dir, parts["test"], seed)
    say(f"Everything is in [bold]{output_dir}[/]; look at [bold]{picture}[/]")


def _train_judge(output_dir: Path, seed: int) -> None:
    """Train on the evaluator's part, briefly, and show the judge beside its baselines."""
    from dialeval.protocols.discriminator import DiscriminatorRun, train_discriminator
    from dialeval.reports.training import TrainingProgress, results_table
    from dialeval.training import DiscriminatorConfig

    run = DiscriminatorRun(
        data=[str(output_dir / "parts" / "evaluator.jsonl")],
        filter="bruni",
        max_pairs=800,
        max_eval_pairs=300,
        output_dir=str(output_dir / "judge"),
        resume=True,
    )
    config = DiscriminatorConfig(
        optimizer="adamw", learning_rate=1e-4, schedule="linear", warmup_steps=10, epochs=2,
        batch_size=16, max_grad_norm=1.0, seed=seed,
    )  # fmt: skip
    with TrainingProgress() as progress:
        results = train_discriminator(run, config, progress)
    out.print(results_table(results))


def _answer(output_dir: Path, test: Any, seed: int) -> None:
    """Let SmolLM2 answer some contexts of the test part, and let the judge read the answers."""
    from dialeval.commands.generate import contexts, model_responder
    from dialeval.dialogues import BadInput
    from dialeval.protocols.generation import generate
    from dialeval.reports.generation import samples_table
    from dialeval.responders.language import remarks

    settings = {"top_p": 0.9}
    try:
        responder = model_responder(
            "smollm2", "sampling", settings, {"seed": seed}, 30, None, None, None, None, None, None,
            None, True,
        )  # fmt: skip
    except BadInput as error:
        say(f"[yellow]Left out: {error}[/]")
        return
    asked = contexts(test, 24, seed)
    done = generate(responder, asked, output_dir / "smollm2.jsonl", overwrite=True)
    human = {passage.id: passage.response for passage in asked}
    out.print(samples_table(done.path, 8, human))
    for remark in remarks(responder.counts):
        say(f"[yellow]{remark}[/]")
