"""`dialeval train`: a discriminator from a corpus, with defaults that work."""

from typing import Annotated

import typer

from dialeval.commands.console import out, say

DEFAULTS = {
    "filter": "bruni",
    "max_eval_pairs": 750,
    "optimizer": "adamw",
    "learning_rate": 1e-4,
    "schedule": "linear",
    "warmup_steps": 20,
    "max_grad_norm": 1.0,
    "batch_size": 16,
    "epochs": 2,
}
"""Settings of recipes/configs/discriminator_default.yaml, which is not in the wheel."""


def train(
    context: typer.Context,
    config: Annotated[
        str | None, typer.Option(help="YAML file of settings; see recipes/configs.")
    ] = None,
) -> None:
    """Train a discriminator. Any setting of recipes/discriminator.py may follow, as --name value.

    With no settings at all it fine-tunes a small pretrained encoder to tell human replies from
    random ones on the embedded corpus, in under five minutes on two cores.
    """
    from dialeval.config import parse_config
    from dialeval.reports.training import TrainingProgress, results_table
    from dialeval.training import DiscriminatorConfig
    from dialeval.training.discriminator import DiscriminatorRun, train_discriminator

    defaults = [word for name, value in DEFAULTS.items() for word in (f"--{name}", str(value))]
    argv = ["--config", config] if config else defaults
    run, settings = parse_config(DiscriminatorRun, DiscriminatorConfig, argv=[*argv, *context.args])
    with TrainingProgress() as progress:
        results = train_discriminator(run, settings, progress)
    out.print(results_table(results))
    say(f"Saved to [bold]{run.output_dir}[/]; use it with: dialeval score --discriminator DIR")
