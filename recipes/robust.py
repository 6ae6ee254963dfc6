"""Train generators against perturbations, and test what it does (Niu and Bansal, 2018).

accelerate launch recipes/robust.py
accelerate launch recipes/robust.py --config recipes/configs/robust_paper.yaml
accelerate launch recipes/robust.py --targets vhred vhred-bpe --against grammar-errors --seeds 3
"""

import sys
from pathlib import Path

from accelerate import PartialState

from dialeval.config import parse_config, plain_errors
from dialeval.protocols.robust import robust
from dialeval.reports.grids import rich_table
from dialeval.reports.robust import RobustProgress, robust_grids, write_robust_report
from dialeval.settings.against import AgainstConfig
from dialeval.settings.robust import RobustRun
from dialeval.settings.training import GeneratorConfig
from dialeval.terminal import SafeConsole
from dialeval.training.cores import use_cores

DEFAULT = Path(__file__).parent / "configs" / "robust_default.yaml"


def main(run: RobustRun, config: GeneratorConfig, against: AgainstConfig) -> None:
    """Train and test everything, and print the tables."""
    with RobustProgress() as progress:
        results = robust(run, config, against, progress.show)
    if PartialState().is_main_process:
        console = SafeConsole()
        for grid in robust_grids(results):
            console.print(rich_table(grid))
        for warning in results.warnings:
            console.print(f"Warning: {warning}", style="yellow", markup=False)
        console.print(f"Report: {write_robust_report(run.output_dir)}")


if __name__ == "__main__":
    plain_errors()
    use_cores()
    argv = sys.argv[1:]
    if "--config" not in argv:
        argv = ["--config", str(DEFAULT), *argv]
    main(*parse_config(RobustRun, GeneratorConfig, AgainstConfig, argv=argv))
