"""Train discriminators in an attack-defence game, with its baselines (Gao et al., 2021).

accelerate launch recipes/att.py
accelerate launch recipes/att.py --config recipes/configs/att_gao2021.yaml
accelerate launch recipes/att.py --external smollm2 bot=my-bot@http://localhost:8000/v1
accelerate launch recipes/att.py --seed 1 --output_dir runs/att_1
python recipes/att.py --summarise runs/att runs/att_1 runs/att_2
"""

import sys
from pathlib import Path

from accelerate import PartialState
from rich.text import Text

from dialeval.config import parse_config, plain_errors
from dialeval.dialogues import BadInput
from dialeval.protocols.att import AttRun, external_attackers, play_att
from dialeval.reports.att import (
    GameProgress,
    att_summary_table,
    att_table,
    held_out_table,
    load_summary,
    write_att_report,
    write_att_summary,
)
from dialeval.terminal import SafeConsole
from dialeval.training.cores import use_cores
from dialeval.training.game_settings import GameConfig

DEFAULT = Path(__file__).parent / "configs" / "att_default.yaml"


def main(run: AttRun, config: GameConfig) -> None:
    """Play all games, and print the tables."""
    with GameProgress() as progress:
        externals = external_attackers(run.external, config.max_new_tokens, config.seed)
        results = play_att(run, config, progress, **externals)
    if PartialState().is_main_process:
        console = SafeConsole()
        console.print(att_table(results))
        console.print(held_out_table(results))
        console.print(Text(results.signature, style="dim"), soft_wrap=True)
        console.print(f"Report: {write_att_report(run.output_dir)}")


def summarise(folders: list[str]) -> None:
    """Summarise runs with several seeds in one table and one page."""
    try:
        summary = load_summary(folders)
    except ValueError as error:  # reports raise no BadInput
        raise BadInput(str(error)) from None
    page = write_att_summary(summary, Path(folders[0]).parent / "att_summary")
    SafeConsole().print(att_summary_table(summary))
    SafeConsole().print(f"Report: {page}")


if __name__ == "__main__":
    plain_errors()
    use_cores()
    argv = sys.argv[1:]
    if argv[:1] == ["--summarise"]:
        summarise(argv[1:])
    else:
        if "--config" not in argv:
            argv = ["--config", str(DEFAULT), *argv]
        main(*parse_config(AttRun, GameConfig, argv=argv))
