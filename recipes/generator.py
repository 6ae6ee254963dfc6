"""Train a generator by maximum likelihood: forward, backward, unconditional, or a paraphraser.

accelerate launch recipes/generator.py --config recipes/configs/generator_default.yaml
accelerate launch recipes/generator.py --config recipes/configs/generator_li2017.yaml --seed 1
accelerate launch recipes/generator.py --config recipes/configs/generator_paraphraser.yaml --data F
"""

from accelerate import PartialState

from dialeval.config import parse_config, plain_errors
from dialeval.reports.training import TrainingProgress, generator_table
from dialeval.settings.against import AgainstConfig
from dialeval.terminal import SafeConsole
from dialeval.training import GeneratorConfig
from dialeval.training.cores import use_cores
from dialeval.training.generator import GeneratorRun, train_generator


def main(run: GeneratorRun, config: GeneratorConfig, against: AgainstConfig) -> None:
    """Train, and print test perplexity and samples."""
    with TrainingProgress() as progress:
        results = train_generator(run, config, progress, against=against)
    if PartialState().is_main_process:
        SafeConsole().print(generator_table(results))


if __name__ == "__main__":
    plain_errors()
    use_cores()
    main(*parse_config(GeneratorRun, GeneratorConfig, AgainstConfig))
