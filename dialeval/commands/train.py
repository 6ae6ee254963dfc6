"""`dialeval train`: a discriminator from a corpus, with defaults that work."""

from typing import Annotated

import typer

from dialeval.commands.console import out, say


def train(
    context: typer.Context,
    config: Annotated[
        str | None, typer.Option(help="YAML file of settings; see recipes/configs.")
    ] = None,
) -> None:
    """Train a discriminator. Any setting of recipes/discriminator.py may follow, as --name value.

    With no settings at all it trains Li et al.'s hierarchical evaluator to tell human replies from
    random ones on the embedded corpus.
    """
    from dialeval.config import parse_config
    from dialeval.protocols.discriminator import DiscriminatorRun, train_discriminator
    from dialeval.reports.training import TrainingProgress, results_table
    from dialeval.training import DiscriminatorConfig

    argv = [*(["--config", config] if config else []), *context.args]
    run, settings = parse_config(DiscriminatorRun, DiscriminatorConfig, argv=argv)
    with TrainingProgress() as progress:
        results = train_discriminator(run, settings, progress)
    out.print(results_table(results))
    say(f"Saved to [bold]{run.output_dir}[/]; use it with: dialeval score --discriminator DIR")
