"""The whole study: train the players, play every game, evaluate all attackers and defenders."""

import resource
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

from dialeval._version import __version__
from dialeval.dialogues import BadInput, Passage, Passages, iterate
from dialeval.metrics.game_results import Component, GameResults, Memory, TurnRecord
from dialeval.metrics.results import Result, from_plain, plain, signature
from dialeval.models.adapters import merge_lora
from dialeval.protocols.att.external import collect_responses
from dialeval.protocols.att.players import (
    OnProgress,
    build_players,
    make_generator,
    make_hvm,
    make_hvr,
    make_parts,
)
from dialeval.protocols.att.settings import GAMES, WITHOUT_HVR, AttRun, game_config
from dialeval.protocols.att.tables import FreshAttack, Matchups
from dialeval.run_folder import RunFolder
from dialeval.scorers import save_scorer
from dialeval.training.defender import Defender
from dialeval.training.game import AttackDefenceGame
from dialeval.training.game_settings import GameConfig
from dialeval.training.game_state import set_trainable, trainable
from dialeval.training.output import only_training
from dialeval.training.prepared import refuse_sharding

_FRESH_SEED = 1_000  # seeds of fresh attackers, which no game uses


@only_training
def play_att(
    run: AttRun, config: GameConfig, on_progress: OnProgress = lambda _: None, **externals: Any
) -> GameResults:
    """Play all games and evaluate all attackers and defenders.

    Args:
        run (`AttRun`):
            Players, data, sizes and the output folder.
        config (`GameConfig`):
            Settings of the game.
        on_progress (`Callable`, *optional*):
            Called with the numbers of each step, and with each stage as it begins.
        externals (`Responder`):
            External attackers, by their names in the table.

    Returns:
        `GameResults`: Everything that was written to `results.json`.
    """
    return AttStudy(run, config, on_progress).play(externals)


class AttStudy:
    """One study in one folder; stages that are done are not repeated.

    Args:
        run (`AttRun`):
            Players, data, sizes and the output folder.
        config (`GameConfig`):
            Settings of the game.
        on_progress (`Callable`, *optional*):
            Called with the numbers of each step, and with each stage as it begins.
    """

    def __init__(self, run: AttRun, config: GameConfig, on_progress: OnProgress = lambda _: None):
        self.run, self.config, self.on_progress = run, config, on_progress
        self.folder = Path(run.output_dir)
        self.accelerator = _accelerator(run)
        refuse_sharding(self.accelerator, "the game")
        settings = plain(run.settings(config))
        RunFolder(self.folder, "settings.json").begin(settings, run.resume, self.accelerator)
        self.steps = 0
        self.minutes: dict[str, float] = {}
        self.weights: dict[str, dict[str, torch.Tensor]] = {}
        self.components: dict[str, Component] = {}
        self.games: dict[str, tuple[TurnRecord, ...]] = {}
        self.attackers: dict[str, Path] = {}

    def play(self, externals: dict[str, Any] | None = None) -> GameResults:
        """Run every stage in order; returns what was written to `results.json`."""
        results = self._play(externals or {})
        self.accelerator.wait_for_everyone()
        self.accelerator.end_training()
        return results

    def _play(self, externals: dict[str, Any]) -> GameResults:
        set_seed(self.config.seed)
        responses = self._external_responses(externals)
        self._prepare()
        for method in self.run.methods:
            with self._timed(method):
                self._game(method)
        fresh = self._fresh_attacks()
        with self._timed("tables"):
            self.on_progress({"stage": "Scoring all attackers with all defenders"})
            matchups = Matchups(self, responses)
            cells = matchups.results(fresh)
        results = self._results(cells, matchups)
        if self.accelerator.is_main_process:
            results.save(self.folder)
            self._save_defender_results(results)
        return results

    @cached_property
    def parts(self) -> dict[str, Passages]:
        """Human passages of the generator, the game, its validation and the test, by part."""
        with self._timed("reading"):
            return make_parts(self.run, self.config)

    def _external_responses(self, externals: dict[str, Any]) -> dict[str, list[Passage]]:
        """Responses of external attackers, collected first so that a server error is seen early.

        They are written as they come, because they may be slow or expensive.
        """
        human, responses = list(iterate(self.parts["test"])), {}
        with self._timed("external attackers"):
            for name, responder in externals.items():
                self.on_progress({"stage": f"{name} answers the test contexts"})
                path = self.folder / "responses" / f"{name}.jsonl"
                responses[name] = collect_responses(responder, human, path, self.accelerator)
        return responses

    def _prepare(self) -> None:
        """Train or load the players."""
        run, config, folder = self.run, self.config, self.folder / "components"
        with self._timed("generator"):
            generator, self.components["generator"] = make_generator(
                run, config, self.parts["generator"], folder / "generator", self.on_progress
            )
        with self._timed("HvR"):
            self.hvr, self.components["HvR"] = make_hvr(
                run, config, self.parts, generator, folder / "hvr", self.on_progress
            )
        torch.manual_seed(config.seed)  # adapters and heads have random initial weights
        self.generator, model = build_players(generator, run.tune)
        with self._timed("HvM"):
            self.hvm, self.components["HvM"] = make_hvm(
                run, config, self.parts, self.generator, model, folder / "hvm", self.on_progress
            )
        self.initial = _copy_trainable(self.generator.model)
        self.sl = _copy_trainable(self.hvm.model)

    def defender(self, method: str) -> Defender:
        """A method's defender, with its current weights."""
        set_trainable(self.hvm.model, self.weights.get(method, self.sl))
        hvr = None if method in WITHOUT_HVR else self.hvr
        combine = "softmin" if self.run.preset == "released" else "geometric"
        return Defender(self.hvm, hvr, combine)

    def _game(self, method: str) -> None:
        """Play a method's game, and save its defender and its attackers."""
        if method in GAMES:
            settings = game_config(self.config, method, self.run.preset)
            game = self._new_game(method, settings, self.folder / "games" / method, method)
            for numbers in game.play():
                self._log(numbers)
            records = tuple(from_plain(TurnRecord, record) for record in game.records)
            self.games[method] = records
            for record in records:
                path = game.attacker_path(record.turn)
                self.attackers[f"{method} turn {record.turn}"] = path
        self.weights[method] = _copy_trainable(self.hvm.model) if method in GAMES else self.sl
        if self.accelerator.is_main_process:
            self._save_defender(method)

    def _fresh_attacks(self) -> dict[str, list[FreshAttack]]:
        """New attackers, with seeds that no game used, against every frozen defender."""
        attacks: dict[str, list[FreshAttack]] = {}
        with self._timed("fresh attackers"):
            for method in self.run.methods:
                for number in range(self.run.fresh_attackers):
                    self.on_progress({"stage": f"Fresh attacker {number + 1} on frozen {method}"})
                    attacks.setdefault(method, []).append(self._fresh_attack(method, number))
        if "SL" in attacks:  # one attack on frozen SL is in the common pool
            self.attackers["frozen SL"] = attacks["SL"][0].path
        return attacks

    def _fresh_attack(self, method: str, number: int) -> FreshAttack:
        """One attack, at temperature 1 for every defender, so that the attackers are comparable.

        It does not stop at c_low: how low an attacker can bring a defender is what is measured.
        """
        settings = replace(
            game_config(self.config, "ATT", self.run.preset),
            seed=self.config.seed + _FRESH_SEED * (number + 1),
            temperatures=[1.0],
            validation_temperature="1",
            attack_until="budget",
            max_turns=1,
        )
        folder = self.folder / "fresh" / f"{method}_{number + 1}"
        game = self._new_game(method, settings, folder, f"fresh on {method}")
        for numbers in game.attack_once():
            self._log(numbers)
        return FreshAttack(game.attacker_path(1), from_plain(TurnRecord, game.records[0]))

    def _new_game(
        self, method: str, settings: GameConfig, folder: Path, name: str
    ) -> AttackDefenceGame:
        set_trainable(self.generator.model, self.initial)
        return AttackDefenceGame(
            settings,
            self.generator,
            self.defender(method),
            self.parts["train"],
            self.parts["validation"],
            folder,
            self.accelerator,
            name,
        )

    def _log(self, numbers: Mapping[str, Any]) -> None:
        self.on_progress({**numbers, "max_turns": self.config.max_turns})
        prefix = f"{numbers['game']}/{numbers['phase']}"
        logged = {
            f"{prefix}/{name}": value
            for name, value in numbers.items()
            if isinstance(value, int | float) and name != "total"
        }
        self.steps += 1
        self.accelerator.log(logged, step=self.steps)

    def _save_defender(self, method: str) -> None:
        scorer = self.defender(method).scorer(method)
        neural = getattr(scorer, "first", scorer)
        model = neural.model
        if hasattr(model, "merge_and_unload"):
            import copy

            neural.model = merge_lora(copy.deepcopy(model))
        neural.training = {"signature": self.signature, "method": method}
        save_scorer(scorer, self.folder / "defenders" / method)
        neural.model = model

    def _save_defender_results(self, results: GameResults) -> None:
        """Save each defender's results in its folder, for its card."""
        for method in self.run.methods:
            trained = ", and of attackers that were trained against it" if method in GAMES else ""
            settings = {**results.settings, "scenario": "human_machine",
                        "system": f"a generator{trained}"}  # fmt: skip
            GameResults(
                results=tuple(results.select(evaluator=method)),
                defenders=(method,),
                settings=settings,
                signature=self.signature,
            ).save(self.folder / "defenders" / method)

    @property
    def signature(self) -> str:
        """The settings that affect the numbers, in one line."""
        run, config = self.run, self.config
        data = ",".join(Path(name).stem for name in run.data)
        return signature(
            att=run.preset, data=data, ctx=run.context_turns, tune=run.tune,
            turns=config.max_turns, attack=config.attack_steps, defence=config.defence_steps,
            n=config.hypotheses, contexts=run.game_contexts, seed=config.seed, v=__version__,
        )  # fmt: skip

    def _results(self, cells: list[Result], matchups: Matchups) -> GameResults:
        return GameResults(
            results=tuple(cells),
            defenders=tuple(self.run.methods),
            attackers=tuple(matchups.attackers),
            games=self.games,
            pool=matchups.pool,
            examples=matchups.examples(),
            components=self.components,
            memory=_memory(self.generator.model, self.hvm.model),
            minutes=self.minutes,
            warnings=tuple(_warnings(self.games)),
            settings=self.run.settings(self.config),
            signature=self.signature,
        )

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.minutes[stage] = (time.perf_counter() - start) / 60


def peak_mib() -> float:
    """Peak memory of this process, in MiB."""
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _copy_trainable(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in trainable(model).items()}


def _memory(*models: torch.nn.Module) -> Memory:
    """Peak memory, and parameters of models that may share some."""
    parameters = {id(weight): weight for model in models for weight in model.parameters()}
    trained = sum(weight.numel() for weight in parameters.values() if weight.requires_grad)
    return Memory(peak_mib(), sum(weight.numel() for weight in parameters.values()), trained)


def _accelerator(run: AttRun) -> Accelerator:
    try:
        accelerator = Accelerator(log_with=run.log_with, project_dir=run.output_dir)
    except ValueError as error:
        raise BadInput(f"{error}.", hint="Give --log_with another tracker.") from None
    if run.log_with and not accelerator.log_with:
        hint = "Install it, or leave out --log_with."
        raise BadInput(f"the tracker {run.log_with!r} is not installed.", hint=hint)
    accelerator.init_trackers("dialeval-att")
    return accelerator


def _warnings(games: Mapping[str, tuple[TurnRecord, ...]]) -> list[str]:
    """Turns in which the attacker gives the same reply to most contexts."""
    return [
        f"{name}, turn {record.turn}: the attacker collapsed; {record.most_frequent.share:.0%} of "
        f"its responses are {record.most_frequent.response[:80]!r}."
        for name, records in games.items()
        for record in records
        if record.collapsed
    ]
