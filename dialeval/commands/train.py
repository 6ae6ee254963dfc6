"""`dialeval train`: a discriminator from a corpus, with defaults that work."""

from typing import Annotated

import typer

from dialeval.commands.console import out, say
from dialeval.commands.data.options import check_files
from dialeval.commands.given import Given
from dialeval.commands.settings import with_settings
from dialeval.scorers.registry import EVALUATORS
from dialeval.settings.evaluators import EVALUATOR_SETTINGS
from dialeval.settings.training import DiscriminatorConfig, DiscriminatorRun

Config = Annotated[
    str,
    typer.Option(
        help="Name of a shipped config (default, tiny, li2017, bruni2017, kannan2016, gao2021) or "
        "a YAML file of settings; options on the command line win."
    ),
]


@with_settings("discriminator", run=DiscriminatorRun, settings=DiscriminatorConfig)
def train(
    run: DiscriminatorRun, settings: DiscriminatorConfig, given: Given, config: Config = "default"
) -> None:
    """Train a discriminator and report its held-out accuracy beside its baselines.

    With no options it fine-tunes a small pretrained encoder to distinguish human replies from
    random ones on the embedded corpus, in under five minutes on two cores.
    """
    takes = {name: entry.takes for name, entry in EVALUATORS.items()}
    chosen = {run.model: takes.get(run.model)}
    given.check_taken(EVALUATOR_SETTINGS, "evaluator", chosen, takes, by="model")
    if not run.column:
        check_files([*run.data, *([run.machine] if run.machine else [])])
    from dialeval.reports.training import TrainingProgress, results_table
    from dialeval.training.discriminator import train_discriminator

    with TrainingProgress() as progress:
        results = train_discriminator(run, settings, progress)
    out.print(results_table(results))
    say(f"Saved to [bold]{run.output_dir}[/]; use it with: dialeval score --discriminator DIR")
