"""Train several evaluators on the same pairs, and compare their held-out accuracies.

python recipes/evaluators.py --data chitchat --max_pairs 1500
python recipes/evaluators.py --data FILE --scenario human_machine --system NAME --max_length 128
"""

from dataclasses import dataclass, field

from dialeval.config import parse_config, plain_errors
from dialeval.protocols.evaluator_comparison import COMPARED, compare_evaluators
from dialeval.reports.training import TrainingProgress, evaluators_table
from dialeval.terminal import SafeConsole
from dialeval.training import DiscriminatorConfig
from dialeval.training.cores import use_cores
from dialeval.training.discriminator_settings import DiscriminatorRun


@dataclass
class Choice:
    """Which evaluators are compared."""

    evaluators: list[str] = field(
        default_factory=lambda: list(COMPARED),
        metadata={"help": "By name: see `dialeval list evaluators`."},
    )


def main(choice: Choice, run: DiscriminatorRun, config: DiscriminatorConfig) -> None:
    """Train them one after the other, and print the table."""
    with TrainingProgress() as progress:
        compared = compare_evaluators(run, config, choice.evaluators, progress)
    SafeConsole().print(evaluators_table(compared))


if __name__ == "__main__":
    plain_errors()
    use_cores()
    main(*parse_config(Choice, DiscriminatorRun, DiscriminatorConfig))
