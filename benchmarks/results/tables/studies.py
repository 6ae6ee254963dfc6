"""Tables of the recipes: ATT, REGS, training against perturbations, CoCoA."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.results.store import Cell, TableParts
from benchmarks.results.tables.cells import LONG, long_rows, number, p_cell
from dialeval.config import parse_config

if TYPE_CHECKING:
    from dialeval.metrics.cocoa_results import CocoaResults
    from dialeval.metrics.regs_results import RegsResults
    from dialeval.metrics.results import Result

CONFIGS = Path(__file__).parents[3] / "recipes" / "configs"
DEFENDERS = ("SL", "SL+HvR", "GAN", "ND", "ATT")
COCOA_METRICS = {"completion_rate": "completion", "turns": "turns", "selections": "selections"}
"""Metrics of the table of mutual friends, and their headings."""
REGS_METRICS = {"adversuc": "AdverSuc", "machine_vs_random": "vs random", "ere": "ERE"}
"""Metrics of the table of REGS, and their headings."""


def _settings(config: str, folder: Path, seed: int, *classes: type) -> Any:
    """Settings of a recipe: its config, with a folder and a seed; a stopped run is resumed."""
    argv = ["--config", str(CONFIGS / f"{config}.yaml"), "--output_dir", str(folder)]
    if any(item.name == "resume" for cls in classes for item in fields(cls)):
        argv += ["--resume", "true"]
    return parse_config(*classes, argv=[*argv, "--seed", str(seed)])


def att(
    data: Path, work: Path, config: str, seeds: Sequence[int], external: Sequence[str] = ()
) -> TableParts:
    """Every attacker against every defender (Gao et al., 2021, Table 2).

    Args:
        data, work (`Path`):
            Folders of corpora and of runs.
        config (`str`):
            Config of the recipe.
        seeds (`Sequence[int]`):
            One game per seed.
        external (`Sequence[str]`, *optional*):
            Attackers that are not trained.

    Returns:
        `TableParts`: A part per seed.
    """
    from dialeval.protocols.att import AttRun, external_attackers, play_att
    from dialeval.reports.att.rows import held_out, table_two
    from dialeval.training.game_settings import GameConfig

    def rows(seed: int) -> list[list[Cell]]:
        run, game = _settings(config, work / str(seed), seed, AttRun, GameConfig)
        others = external_attackers(external, game.max_new_tokens, seed)
        results = play_att(run, game, **others)
        return [
            [str(seed), attacker, *(number(grid.cell(attacker, name)) for name in DEFENDERS)]
            for grid in (table_two(results), held_out(results))
            for attacker in grid.attackers
        ]

    parts = {f"seed {seed}": lambda s=seed: rows(s) for seed in seeds}
    return TableParts(["seed", "attacker", *DEFENDERS], parts)


def regs(data: Path, work: Path, config: str, seeds: Sequence[int]) -> TableParts:
    """Decodings, likelihood, REINFORCE and REGS by every evaluator (Li et al., 2017, Table 3).

    Args:
        data, work (`Path`):
            Folders of corpora and of runs.
        config (`str`):
            Config of the recipe.
        seeds (`Sequence[int]`):
            One study per seed.

    Returns:
        `TableParts`: A part per seed.
    """
    from dialeval.protocols.regs import RegsRun, train_regs
    from dialeval.settings.adversarial import AdversarialConfig
    from dialeval.settings.training import GeneratorConfig

    def settings(seed: int) -> Any:
        return _settings(
            config, work / str(seed), seed, RegsRun, GeneratorConfig, AdversarialConfig
        )

    def rows(seed: int) -> list[list[Cell]]:
        return regs_rows(train_regs(*settings(seed)), seed, evaluators)

    evaluators = settings(seeds[0])[0].evaluators
    columns = [f"{metric}, {name}" for metric in REGS_METRICS.values() for name in evaluators]
    parts = {f"seed {seed}": lambda s=seed: rows(s) for seed in seeds}
    return TableParts(["seed", "system", *columns, "perplexity"], parts)


def regs_rows(results: "RegsResults", seed: int, evaluators: Sequence[str]) -> list[list[Cell]]:
    """A row per system of one study.

    Args:
        results (`RegsResults`):
            Results of the study.
        seed (`int`):
            Its seed.
        evaluators (`Sequence[str]`):
            Evaluators of the table.

    Returns:
        `list[list[Cell]]`: Cells in the order of the columns.
    """
    return [
        [
            str(seed), system,
            *(
                number(results.get(metric, system, name))
                for metric in REGS_METRICS for name in evaluators
            ),
            number(results.get("perplexity", system)),
        ]
        for system in results.systems
    ]  # fmt: skip


def robust(data: Path, work: Path, config: str, seed: int = 0) -> TableParts:
    """Training against perturbations (Niu and Bansal, 2018, Tables 2, 4 and 9).

    Args:
        data, work (`Path`):
            Folders of corpora and of runs.
        config (`str`):
            Config of the recipe.
        seed (`int`, *optional*, defaults to 0):
            Seed.

    Returns:
        `TableParts`: One part.
    """
    from dialeval.protocols.robust import robust as train_robust
    from dialeval.settings.against import AgainstConfig
    from dialeval.settings.robust import RobustRun
    from dialeval.settings.training import GeneratorConfig

    def rows() -> list[list[Cell]]:
        settings = _settings(config, work, seed, RobustRun, GeneratorConfig, AgainstConfig)
        return long_rows(train_robust(*settings).results)

    return TableParts(LONG, {f"seed {seed}": rows})


def cocoa(
    data: Path, work: Path, config: str, agents: Sequence[str], scenarios: int, seed: int = 0
) -> TableParts:
    """The mutual friends task under perturbed messages (Niu and Bansal, 2018, Table 8).

    Args:
        data, work (`Path`):
            Folders of corpora and of runs.
        config (`str`):
            Config of the recipe.
        agents (`Sequence[str]`):
            Agents.
        scenarios (`int`):
            Scenarios of each strategy.
        seed (`int`, *optional*, defaults to 0):
            Seed.

    Returns:
        `TableParts`: A part per agent.
    """
    from dataclasses import replace

    from dialeval.protocols.cocoa import cocoa as play_cocoa
    from dialeval.settings.cocoa import CocoaRun

    def rows(agent: str) -> list[list[Cell]]:
        [run] = _settings(config, work / agent, seed, CocoaRun)
        return cocoa_rows(play_cocoa(replace(run, agents=[agent], scenarios=scenarios)), agent)

    columns = ["agent", "hears", *COCOA_METRICS.values(), "p of the completion rate"]
    return TableParts(columns, {agent: lambda a=agent: rows(a) for agent in agents})


def cocoa_rows(results: "CocoaResults", agent: str) -> list[list[Cell]]:
    """A row per way of perturbing what an agent hears."""
    by_channel: dict[str, dict[str, Result]] = {}
    for row in results.select(system=agent):
        by_channel.setdefault(str(row.details["channel"]), {})[row.metric] = row
    return [
        [agent, channel, *(number(row.get(metric)) for metric in COCOA_METRICS),
         p_cell(row["completion_rate"].details.get("p"))]
        for channel, row in by_channel.items()
    ]  # fmt: skip
