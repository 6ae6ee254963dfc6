"""`dialeval train-generator`: a generator from a corpus, with defaults that work."""

from typing import Annotated

import typer

from dialeval.commands.console import out, say

DEFAULTS = {
    "vocab_size": 3_000,
    "hidden_size": 192,
    "layers": 3,
    "positions": 96,
    "context_turns": 1,
    "loss_on": "all",
    "max_passages": 56_000,
    "max_eval_passages": 500,
    "batch_size": 16,
    "epochs": 1,
    "learning_rate": 2e-3,
    "warmup_steps": 100,
    "max_grad_norm": 1.0,
}
"""Settings of recipes/configs/generator_default.yaml, which is not in the wheel."""


def train_generator(
    context: typer.Context,
    config: Annotated[
        str | None, typer.Option(help="YAML file of settings; see recipes/configs.")
    ] = None,
) -> None:
    """Train a generator. Any setting of recipes/generator.py may follow, as --name value.

    With no settings it trains a small GPT-2 from nothing on the embedded corpus, in under ten
    minutes on two cores.
    """
    from dialeval.config import parse_config
    from dialeval.reports.training import TrainingProgress, generator_table
    from dialeval.training import GeneratorConfig
    from dialeval.training.generator import GeneratorRun
    from dialeval.training.generator import train_generator as train

    defaults = [word for name, value in DEFAULTS.items() for word in (f"--{name}", str(value))]
    argv = ["--config", config] if config else defaults
    run, settings = parse_config(GeneratorRun, GeneratorConfig, argv=[*argv, *context.args])
    with TrainingProgress() as progress:
        results = train(run, settings, progress)
    out.print(generator_table(results))
    say(f"Saved to [bold]{run.output_dir}[/]; use it with: dialeval generate --model DIR")
