"""Train a generator by REINFORCE and REGS, and compare it with likelihood (Li et al., 2017).

accelerate launch recipes/regs.py
accelerate launch recipes/regs.py --controls constant shuffled --output_dir runs/regs_controls
accelerate launch recipes/regs.py --seed 1 --output_dir runs/regs_1
accelerate launch recipes/regs.py --config recipes/configs/regs_paper.yaml
python recipes/regs.py --summarise runs/regs runs/regs_1 runs/regs_2
"""

import sys
from pathlib import Path

from accelerate import PartialState

from dialeval.config import parse_config, plain_errors
from dialeval.protocols.regs import RegsRun, train_regs
from dialeval.reports.adversarial import (
    AdversarialProgress,
    regs_summary_table,
    regs_table,
    write_regs_report,
)
from dialeval.settings.adversarial import AdversarialConfig
from dialeval.settings.training import GeneratorConfig
from dialeval.terminal import SafeConsole
from dialeval.training.cores import use_cores

DEFAULT = Path(__file__).parent / "configs" / "regs_default.yaml"


def main(run: RegsRun, training: GeneratorConfig, config: AdversarialConfig) -> None:
    """Train and evaluate all methods, and print the table."""
    with AdversarialProgress() as progress:
        results = train_regs(run, training, config, progress)
    if PartialState().is_main_process:
        console = SafeConsole()
        console.width = max(console.width, 120)
        console.print(regs_table(results))
        console.print(f"Report: {write_regs_report(run.output_dir)}")


def summarise(folders: list[str]) -> None:
    """One table of runs with several seeds: the mean and the range."""
    console = SafeConsole()
    console.width = max(console.width, 120)
    console.print(regs_summary_table(folders))


if __name__ == "__main__":
    plain_errors()
    use_cores()
    argv = sys.argv[1:]
    if argv[:1] == ["--summarise"]:
        summarise(argv[1:])
    else:
        if "--config" not in argv:
            argv = ["--config", str(DEFAULT), *argv]
        main(*parse_config(RegsRun, GeneratorConfig, AdversarialConfig, argv=argv))
