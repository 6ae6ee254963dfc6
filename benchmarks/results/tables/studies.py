"""Tables of the recipes: ATT, REGS, training against perturbations, CoCoA, people."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.results.store import Cell, Number, TableParts
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


def people(
    data: Path,
    work: Path,
    corpus: str,
    judgements: str,
    evaluators: Sequence[str],
    limit: int,
    seed: int = 0,
) -> TableParts:
    """Correlation of evaluators and baselines with ratings, item and system level.

    Args:
        data, work (`Path`):
            Folders of corpora and of runs.
        corpus (`str`):
            Rated corpus inside `data`.
        judgements (`str`):
            File of single judgements inside `data`.
        evaluators (`Sequence[str]`):
            Names of evaluators.
        limit (`int`):
            Contexts at most; -1 for all.
        seed (`int`, *optional*, defaults to 0):
            Seed of folds and resamples.

    Returns:
        `TableParts`: One part.
    """
    from dialeval.judgements import read_judgements
    from dialeval.protocols.people import read_scores, study_judgements
    from dialeval.training.discriminator_settings import apply_settings
    from recipes.people import PeopleRun
    from recipes.people import main as score_systems

    def rows() -> list[list[Cell]]:
        work.mkdir(parents=True, exist_ok=True)
        scores = work / "scores.csv"
        run = PeopleRun(data=str(data / corpus), output=str(scores), limit=limit, seed=seed)
        score_systems(apply_settings(run, {"evaluators": list(evaluators)}))
        results = study_judgements(list(read_judgements(data / judgements)), read_scores(scores))
        return [
            row for row in long_rows(results.results)
            if isinstance(row[3], Number) and "correlation" in str(row[0])
        ]  # fmt: skip

    return TableParts(LONG, {corpus: rows})


def rated(
    data: Path,
    work: Path,
    corpus: str,
    files: Sequence[str],
    evaluators: Sequence[str],
    references: Sequence[str] = (),
    likelihood: str = "",
    **settings: Any,
) -> TableParts:
    """Correlation with the ratings of single replies, of evaluators that never saw the systems.

    Args:
        data, work (`Path`):
            Folders of corpora and of trained evaluators.
        corpus (`str`):
            Corpus of human dialogues inside `data`; evaluators learn human against random replies.
        files (`Sequence[str]`):
            Rated replies inside `data`.
        evaluators (`Sequence[str]`):
            Names of evaluators.
        references (`Sequence[str]`, *optional*):
            Corpora that the contexts are from, for BLEU.
        likelihood (`str`, *optional*):
            A local model for log p(reply | context).
        settings:
            Further settings of the trainer.

    Returns:
        `TableParts`: A part per file.
    """
    from benchmarks.results.tables.training import trained
    from dialeval.scorers import load_scorer
    from recipes.rated import correlations, read_known

    def rows(path: str) -> list[list[Cell]]:
        for evaluator in evaluators:
            trained(work, data / corpus, evaluator, settings)
        scorers = [load_scorer(work / name) for name in evaluators]
        known = read_known([str(data / name) for name in references])
        made = correlations(
            data / path, scorers, known, likelihood or None, settings.get("seed", 0)
        )
        return [
            [Path(path).stem, name, Number(first.value), Number(second.value, second.low,
             second.high, second.n), f"{second.n:,}"]
            for name, (first, second) in made.items()
        ]  # fmt: skip

    columns = ["replies", "metric", "Pearson", "Spearman", "n"]
    return TableParts(columns, {path: lambda p=path: rows(p) for path in files})
