"""Train a discriminator that distinguishes human responses from others.

accelerate launch recipes/discriminator.py --config recipes/configs/discriminator_default.yaml
accelerate launch recipes/discriminator.py --seed 1 \
    --config recipes/configs/discriminator_li2017.yaml
"""

from accelerate import PartialState

from dialeval.config import parse_config, plain_errors
from dialeval.reports.training import TrainingProgress, results_table
from dialeval.terminal import SafeConsole
from dialeval.training import DiscriminatorConfig
from dialeval.training.cores import use_cores
from dialeval.training.discriminator import DiscriminatorRun, train_discriminator


def main(run: DiscriminatorRun, config: DiscriminatorConfig) -> None:
    """Train, and print the table."""
    with TrainingProgress() as progress:
        results = train_discriminator(run, config, progress)
    if PartialState().is_main_process:
        SafeConsole().print(results_table(results))


if __name__ == "__main__":
    plain_errors()
    use_cores()
    main(*parse_config(DiscriminatorRun, DiscriminatorConfig))
