"""Two agents who must find their mutual friend, and what they hear (Niu and Bansal, 2018).

python recipes/cocoa.py
python recipes/cocoa.py --agents rule entities neural smollm2
python recipes/cocoa.py --agents bot=my-bot@http://localhost:8000/v1 --model_scenarios 20
"""

import sys
from pathlib import Path

from accelerate import PartialState

from dialeval.config import parse_config, plain_errors
from dialeval.protocols.cocoa import cocoa
from dialeval.reports.cocoa import cocoa_grids, describe_verdict, write_cocoa_report
from dialeval.reports.grids import rich_table
from dialeval.reports.robust import RobustProgress
from dialeval.settings.cocoa import CocoaRun
from dialeval.terminal import SafeConsole
from dialeval.training.cores import use_cores

DEFAULT = Path(__file__).parent / "configs" / "cocoa_default.yaml"


def main(run: CocoaRun) -> None:
    """Play everything, and print the tables."""
    with RobustProgress() as progress:
        results = cocoa(run, progress.show)
    if PartialState().is_main_process:
        console = SafeConsole()
        for grid in cocoa_grids(results):
            console.print(rich_table(grid))
        for verdict in results.verdicts:
            console.print(f"{verdict.agent} {describe_verdict(verdict)}", markup=False)
        console.print(f"Report: {write_cocoa_report(run.output_dir)}")


if __name__ == "__main__":
    plain_errors()
    use_cores()
    argv = sys.argv[1:]
    if "--config" not in argv:
        argv = ["--config", str(DEFAULT), *argv]
    main(*parse_config(CocoaRun, argv=argv))
