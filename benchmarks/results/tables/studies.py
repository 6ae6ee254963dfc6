"""Tables of the recipes: ATT, REGS, training against perturbations, CoCoA."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.results.store import Cell, Number, TableParts
from benchmarks.results.tables.cells import number, p_cell
from dialeval.config import parse_config
from dialeval.metrics.robustness_results import NORMAL

if TYPE_CHECKING:
    from dialeval.metrics.cocoa_results import CocoaResults
    from dialeval.metrics.regs_results import RegsResults
    from dialeval.metrics.results import Result
    from dialeval.metrics.robust_results import RobustResults, TargetRow

CONFIGS = Path(__file__).parents[3] / "recipes" / "configs"
DEFENDERS = ("SL", "SL+HvR", "GAN", "ND", "ATT")
COCOA_METRICS = {"completion_rate": "completion", "turns": "turns", "selections": "selections"}
"""Metrics of the table of mutual friends, and their headings."""
ROBUST_COLUMNS = (
    "N-train + A-test", "A-train + A-test", "N-train + N-test", "A-train + N-test", "attack",
    "verdict", "against more epochs",
)  # fmt: skip
"""Columns of Table 2, what a strategy does to N-train, and what training against it does."""
REGS_METRICS = {"adversuc": "AdverSuc", "machine_vs_random": "vs random", "ere": "ERE"}
"""Metrics of the table of REGS, and their headings."""


def recipe_settings(config: str, folder: Path, seed: int, *classes: type, **changes: Any) -> Any:
    """Settings of a recipe, so that a stopped run is resumed.

    Args:
        config (`str`):
            Name of its config.
        folder (`Path`):
            Folder of the run.
        seed (`int`):
            Seed.
        classes (`type`):
            Dataclasses of the settings.
        changes:
            Settings that replace those of the config.

    Returns:
        `tuple`: One object per class.
    """
    argv = ["--config", str(CONFIGS / f"{config}.yaml"), "--output_dir", str(folder)]
    if any(item.name == "resume" for cls in classes for item in fields(cls)):
        argv += ["--resume", "true"]
    argv += [part for name, value in changes.items() for part in (f"--{name}", str(value))]
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
        run, game = recipe_settings(config, work / str(seed), seed, AttRun, GameConfig)
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
            One study per seed; those after the first start from its pre-trained generator.

    Returns:
        `TableParts`: A part per seed.
    """
    from dialeval.protocols.regs import RegsRun, train_regs
    from dialeval.settings.adversarial import AdversarialConfig
    from dialeval.settings.training import GeneratorConfig

    players = work / str(seeds[0]) / "players"

    def settings(seed: int) -> Any:
        given = {name: players / name for name in ("generator", "backward")}
        return recipe_settings(
            config, work / str(seed), seed, RegsRun, GeneratorConfig, AdversarialConfig,
            **(given if seed != seeds[0] else {}),
        )  # fmt: skip

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


def robust(
    data: Path,
    work: Path,
    config: str,
    seeds: Sequence[int],
    targets: Sequence[Sequence[str]] = ((),),
) -> TableParts:
    """Training against perturbations (Niu and Bansal, 2018, Tables 2, 4 and 9).

    Args:
        data, work (`Path`):
            Folders of corpora and of runs.
        config (`str`):
            Config of the recipe.
        seeds (`Sequence[int]`):
            One study per seed.
        targets (`Sequence[Sequence[str]]`, *optional*):
            Generators that share a study, on the same perturbed contexts; those of the config in
            one study by default.

    Returns:
        `TableParts`: A part per seed and study.
    """
    from dialeval.protocols.robust import robust as train_robust
    from dialeval.settings.against import AgainstConfig
    from dialeval.settings.robust import RobustRun
    from dialeval.settings.training import GeneratorConfig

    def rows(seed: int, names: Sequence[str]) -> list[list[Cell]]:
        folder = work / str(seed) / "+".join(names)
        made = recipe_settings(config, folder, seed, RobustRun, GeneratorConfig, AgainstConfig)
        run = replace(made[0], targets=list(names)) if names else made[0]
        return robust_rows(train_robust(run, *made[1:]), seed)

    parts = {
        ", ".join([f"seed {seed}", *names]): lambda s=seed, n=names: rows(s, n)
        for seed in seeds
        for names in targets
    }
    return TableParts(["seed", "generator", "strategy", *ROBUST_COLUMNS], parts)


def robust_rows(results: "RobustResults", seed: int) -> list[list[Cell]]:
    """The rows of Table 2 of each generator by the measure of the run, with the verdicts."""
    from dialeval.reports.robust.rows import cell_keys, format_value, row_names

    rows: list[list[Cell]] = []
    for target in results.targets:
        for name, title in row_names(results).items():
            cells = [
                None
                if key is None
                else format_value(results.cell(results.measure, target.name, *key))
                for key in cell_keys(name)
            ]
            rows.append(
                [str(seed), target.name, title, *cells, *_verdict_cells(results, target, name)]
            )
    return rows


def _verdict_cells(results: "RobustResults", target: "TargetRow", name: str) -> list[Cell]:
    """What a strategy does to a generator, and what training against it does."""
    verdict = results.verdict(target.name, name)
    if verdict is not None:
        attack = verdict.attack
        effect = Number(attack.value, attack.low, attack.high)
        return [effect, verdict.verdict, verdict.against_control]
    if name != NORMAL:
        return [None, None, None]
    gain = target.context_gain
    return [
        None,
        f"own minus another context: {gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]",
        None,
    ]


def cocoa(
    data: Path,
    work: Path,
    config: str,
    agents: Sequence[str],
    scenarios: int,
    seed: int = 0,
    changes: Mapping[str, Mapping[str, int]] | None = None,
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
        changes (`Mapping[str, Mapping]`, *optional*):
            Other settings by the name of an agent, for slow ones.

    Returns:
        `TableParts`: A part per agent.
    """
    from dialeval.protocols.cocoa import cocoa as play_cocoa
    from dialeval.settings.cocoa import CocoaRun

    def rows(agent: str) -> list[list[Cell]]:
        [run] = recipe_settings(config, work / agent, seed, CocoaRun)
        given: dict[str, Any] = {"scenarios": scenarios, **(changes or {}).get(agent, {})}
        return cocoa_rows(play_cocoa(replace(run, agents=[agent], **given)), agent)

    columns = ["agent", "hears", "scenarios", *COCOA_METRICS.values(), "p of the completion rate"]
    return TableParts(columns, {agent: lambda a=agent: rows(a) for agent in agents})


def cocoa_rows(results: "CocoaResults", agent: str) -> list[list[Cell]]:
    """A row per way of perturbing what an agent hears."""
    by_channel: dict[str, dict[str, Result]] = {}
    for row in results.select(system=agent):
        by_channel.setdefault(str(row.details["channel"]), {})[row.metric] = row
    return [
        [agent, channel, f"{row['completion_rate'].n:,}",
         *(number(row.get(metric)) for metric in COCOA_METRICS),
         p_cell(row["completion_rate"].details.get("p"))]
        for channel, row in by_channel.items()
    ]  # fmt: skip
