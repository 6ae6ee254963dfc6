"""The whole study: train the players, play every game, and set all attackers on all defenders."""

import json
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

from dialeval._version import __version__
from dialeval.dialogues import BadInput, Passage, Passages, atomic_write, iterate
from dialeval.metrics.results import plain, results_to_json, signature
from dialeval.models.adapters import merge_lora
from dialeval.protocols.att.external import answers_of
from dialeval.protocols.att.players import (
    OnProgress,
    build_players,
    make_generator,
    make_hvm,
    make_hvr,
    make_parts,
)
from dialeval.protocols.att.settings import GAMES, WITHOUT_HVR, AttRun, game_config
from dialeval.protocols.att.tables import Arena
from dialeval.scorers import save_scorer
from dialeval.training.defender import Defender
from dialeval.training.game import AttackDefenceGame, set_trainable, trainable
from dialeval.training.game_settings import GameConfig

_FRESH_SEED = 1_000  # seeds of fresh attackers, which no game has


def play_att(
    run: AttRun, config: GameConfig, on_progress: OnProgress = lambda _: None, **externals: Any
) -> dict[str, Any]:
    """Play everything, and give what was written to `results.json`.

    Args:
        tell (`Callable`, *optional*):
            Told the numbers of each step, and each stage as it begins.
        externals (`Responder`):
            Attackers from elsewhere, by the name they have in the table.
    """
    return AttStudy(run, config, on_progress).play(externals)


class AttStudy:
    """One study in one folder; a stage that is done already is not done again."""

    def __init__(self, run: AttRun, config: GameConfig, on_progress: OnProgress = lambda _: None):
        self.run, self.config, self.on_progress = run, config, on_progress
        self.folder = Path(run.output_dir)
        self.accelerator = _accelerator(run)
        self._check_output_dir()
        self.minutes: dict[str, float] = {}
        self.weights: dict[str, dict[str, torch.Tensor]] = {}
        self.games: dict[str, list[dict[str, Any]]] = {}
        self.attackers: dict[str, Path] = {}

    def play(self, externals: dict[str, Any] | None = None) -> dict[str, Any]:
        """Every stage in order."""
        set_seed(self.config.seed)
        said = self._outside(externals or {})
        self._prepare()
        for method in self.run.methods:
            with self._timed(method):
                self._game(method)
        fresh = self._fresh_attacks()
        with self._timed("tables"):
            self.on_progress({"stage": "Setting all attackers on all defenders"})
            arena = Arena(self, said)
            results = arena.results(fresh)
        told = self._told(results, arena)
        if self.accelerator.is_main_process:
            with atomic_write(self.folder / "results.json") as file:
                file.write(json.dumps(told, ensure_ascii=False, indent=2) + "\n")
            self._describe_defenders(told)
        self.accelerator.wait_for_everyone()
        self.accelerator.end_training()
        return told

    @cached_property
    def parts(self) -> dict[str, Passages]:
        """Human passages of the generator, the game, its validation and the test, by part."""
        with self._timed("reading"):
            return make_parts(self.run, self.config)

    def _outside(self, externals: dict[str, Any]) -> dict[str, list[Passage]]:
        """Answers from elsewhere, asked for first: a server that is down is not found out late.

        They are kept as they come, because they may be slow or dear.
        """
        human, found = list(iterate(self.parts["test"])), {}
        with self._timed("attackers from elsewhere"):
            for name, responder in externals.items():
                self.on_progress({"stage": f"{name} answers the test contexts"})
                path = self.folder / "responses" / f"{name}.jsonl"
                found[name] = answers_of(responder, human, path, self.accelerator)
        return found

    def _prepare(self) -> None:
        """The players, trained or loaded."""
        run, config, place = self.run, self.config, self.folder / "components"
        self.components: dict[str, Any] = {}
        with self._timed("generator"):
            generator, self.components["generator"] = make_generator(
                run, config, self.parts["generator"], place / "generator", self.on_progress
            )
        with self._timed("HvR"):
            self.hvr, self.components["HvR"] = make_hvr(
                run, config, self.parts, generator, place / "hvr", self.on_progress
            )
        torch.manual_seed(config.seed)  # adapters and heads begin at random
        self.generator, model = build_players(generator, run.tune)
        with self._timed("HvM"):
            self.hvm, self.components["HvM"] = make_hvm(
                run, config, self.parts, self.generator, model, place / "hvm", self.on_progress
            )
        self.beginning = _copied(self.generator.model)
        self.sl = _copied(self.hvm.model)

    def defender(self, method: str) -> Defender:
        """A method's judge, with the weights it has by now."""
        set_trainable(self.hvm.model, self.weights.get(method, self.sl))
        hvr = None if method in WITHOUT_HVR else self.hvr
        combine = "softmin" if self.run.preset == "released" else "geometric"
        return Defender(self.hvm, hvr, combine)

    def _game(self, method: str) -> None:
        """Play a method's game, keep its defender and its attackers."""
        if method in GAMES:
            settings = game_config(self.config, method, self.run.preset)
            game = self._new_game(method, settings, self.folder / "games" / method, method)
            for numbers in game.play():
                self._log(numbers)
            self.games[method] = game.records
            turns = (each["turn"] for each in game.records)
            self.attackers |= {f"{method} turn {t}": game.attacker_path(t) for t in turns}
        self.weights[method] = _copied(self.hvm.model) if method in GAMES else self.sl
        if self.accelerator.is_main_process:
            self._save_defender(method)

    def _fresh_attacks(self) -> dict[str, list[Path]]:
        """New attackers, whose seeds no game had, against every frozen defender."""
        found: dict[str, list[Path]] = {}
        with self._timed("fresh attackers"):
            for method in self.run.methods:
                for number in range(self.run.fresh_attackers):
                    self.on_progress({"stage": f"Fresh attacker {number + 1} on frozen {method}"})
                    found.setdefault(method, []).append(self._fresh_attack(method, number))
        if "SL" in found:  # one attack on frozen SL belongs to everyone's pool
            self.attackers["frozen SL"] = found["SL"][0]
        return found

    def _fresh_attack(self, method: str, number: int) -> Path:
        """One attack; at temperature 1 for every defender, so that all meet the same attackers."""
        settings = replace(
            game_config(self.config, "ATT", self.run.preset),
            seed=self.config.seed + _FRESH_SEED * (number + 1),
            temperatures=[1.0],
            max_turns=1,
        )
        place = self.folder / "fresh" / f"{method}_{number + 1}"
        game = self._new_game(method, settings, place, f"fresh on {method}")
        for numbers in game.attack_once():
            self._log(numbers)
        return game.attacker_path(1)

    def _new_game(
        self, method: str, settings: GameConfig, folder: Path, name: str
    ) -> AttackDefenceGame:
        set_trainable(self.generator.model, self.beginning)
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

    def _log(self, numbers: dict[str, Any]) -> None:
        self.on_progress({**numbers, "max_turns": self.config.max_turns})
        kept = {k: v for k, v in numbers.items() if isinstance(v, int | float) and k != "total"}
        named = {f"{numbers['game']}/{numbers['phase']}/{k}": v for k, v in kept.items()}
        self.steps = getattr(self, "steps", 0) + 1
        self.accelerator.log(named, step=self.steps)

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

    def _describe_defenders(self, told: dict[str, Any]) -> None:
        """Lay each defender's own numbers beside it, for its card."""
        for method in self.run.methods:
            met = ", and of attackers that were trained against it" if method in GAMES else ""
            settings = {**told["settings"], "scenario": "human_machine",
                        "system": f"a generator{met}"}  # fmt: skip
            own = [row for row in told["results"] if row["evaluator"] == method]
            about = {"results": own, "settings": settings, "signature": self.signature}
            with atomic_write(self.folder / "defenders" / method / "results.json") as file:
                file.write(json.dumps(about, ensure_ascii=False, indent=2) + "\n")

    @property
    def signature(self) -> str:
        """How these numbers came about, in one line."""
        run, config = self.run, self.config
        data = ",".join(Path(name).stem for name in run.data)
        return signature(
            att=run.preset, data=data, ctx=run.context_turns, tune=run.tune,
            turns=config.max_turns, attack=config.attack_steps, defence=config.defence_steps,
            n=config.hypotheses, contexts=run.game_contexts, seed=config.seed, v=__version__,
        )  # fmt: skip

    def _told(self, results: list[Any], arena: Arena) -> dict[str, Any]:
        told = json.loads(results_to_json(results, **self.run.settings(self.config)))
        models = (self.generator.model, self.hvm.model)
        every = {id(p): p for model in models for p in model.parameters()}
        return plain(
            {
                **told,
                "defenders": self.run.methods,
                "attackers": arena.rows,
                "games": self.games,
                "pool": arena.pool,
                "examples": arena.examples(),
                "components": self.components,
                "memory": {
                    "peak_mib": peak_mib(),
                    "parameters": sum(p.numel() for p in every.values()),
                    "trainable": sum(p.numel() for p in every.values() if p.requires_grad),
                },
                "minutes": self.minutes,
                "warnings": _warnings(self.games),
                "signature": self.signature,
            }
        )

    def _check_output_dir(self) -> None:
        """Take the folder, or go on with what is there if it was made with these settings."""
        path, own = self.folder / "settings.json", plain(self.run.settings(self.config))
        if path.is_file():
            found = json.loads(path.read_text(encoding="utf-8"))
            other = sorted(k for k in {*own, *found} if own.get(k) != found.get(k))
            if other or not self.run.resume:
                raise BadInput(
                    f"another study has begun here, with other {', '.join(other)}."
                    if other
                    else "a study has begun here.",
                    self.folder,
                    hint="Choose another --output_dir."
                    if other
                    else "Go on with --resume true, or choose another --output_dir.",
                )
        self.accelerator.wait_for_everyone()  # nobody writes before everybody has looked
        if self.accelerator.is_main_process and not path.is_file():
            with atomic_write(path) as file:
                json.dump(own, file, indent=2)
        self.accelerator.wait_for_everyone()

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.minutes[stage] = (time.perf_counter() - start) / 60


def peak_mib() -> float:
    """The most memory that this process ever held, in MiB."""
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _copied(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: each.detach().clone() for name, each in trainable(model).items()}


def _accelerator(run: AttRun) -> Accelerator:
    try:
        found = Accelerator(log_with=run.log_with, project_dir=run.output_dir)
    except ValueError as error:
        raise BadInput(f"{error}.", hint="Give --log_with another tracker.") from None
    if run.log_with and not found.log_with:
        hint = "Install it, or leave out --log_with."
        raise BadInput(f"the tracker {run.log_with!r} is not installed.", hint=hint)
    found.init_trackers("dialeval-att")
    return found


def _warnings(games: dict[str, list[dict[str, Any]]]) -> list[str]:
    """What a reader should know about attackers that went astray."""
    return [
        f"{name}, turn {each['turn']}: the attacker collapsed; {most['share']:.0%} of its "
        f"responses are {most['response'][:80]!r}."
        for name, records in games.items()
        for each in records
        if (most := each["most_frequent"])["share"] > 0.5
    ]
