"""Answer the same contexts with every decoding strategy of one generator, and evaluate them.

python recipes/decodings.py --generator runs/generator --train parts/evaluator.jsonl \\
    --test parts/test.jsonl --backward runs/backward --language_model runs/unconditional
"""

from dialeval.config import parse_config, plain_errors
from dialeval.protocols.decodings import DecodingsRun, compare_decodings
from dialeval.reports.generation import decodings_table
from dialeval.reports.training import TrainingProgress
from dialeval.terminal import SafeConsole
from dialeval.training import DiscriminatorConfig
from dialeval.training.cores import use_cores


def main(run: DecodingsRun, config: DiscriminatorConfig) -> None:
    """Generate, evaluate, and print the table."""
    with TrainingProgress() as progress:
        rows = compare_decodings(run, config, progress)
    console = SafeConsole()
    console.width = max(console.width, 110)
    console.print(decodings_table(rows))


if __name__ == "__main__":
    plain_errors()
    use_cores()
    main(*parse_config(DecodingsRun, DiscriminatorConfig))
