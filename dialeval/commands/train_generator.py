"""`dialeval train-generator`: a generator from a corpus, with defaults that work."""

from typing import Annotated

import typer

from dialeval.commands.console import out, say, say_warnings
from dialeval.commands.settings import with_settings
from dialeval.settings.against import AgainstConfig
from dialeval.settings.training import GeneratorConfig, GeneratorRun

Config = Annotated[
    str,
    typer.Option(
        help="Name of a shipped config (default, tiny, li2017, bruni2017, backward, unconditional, "
        "paraphraser, vhred) or a YAML file of settings; options on the command line win."
    ),
]


@with_settings("generator", run=GeneratorRun, settings=GeneratorConfig, against=AgainstConfig)
def train_generator(
    run: GeneratorRun,
    settings: GeneratorConfig,
    against: AgainstConfig,
    config: Config = "default",
) -> None:
    """Train a generator and report its perplexity, with sample responses.

    With no options it trains a small GPT-2 from scratch on the embedded corpus, in under ten
    minutes on two cores. With --against it continues to train a generator on contexts that
    strategies perturb, such as --model DIR --against random-swap,add-negation.
    """
    from dialeval.reports.training import TrainingProgress, generator_table
    from dialeval.training.generator import train_generator as train

    with TrainingProgress() as progress:
        results = train(run, settings, progress, against=against)
    out.print(generator_table(results))
    say_warnings(results.warnings)
    say(f"Saved to [bold]{run.output_dir}[/]; use it with: dialeval generate --model DIR")
