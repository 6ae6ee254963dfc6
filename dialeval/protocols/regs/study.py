"""The whole study: pre-train, train with every reward, evaluate by independent evaluators."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import broadcast_object_list, set_seed

from dialeval._version import __version__
from dialeval.dialogues import Passages, iterate
from dialeval.metrics.adversarial_results import PolicyRecord
from dialeval.metrics.regs_results import RegsResults
from dialeval.metrics.results import Result, from_plain, plain, signature
from dialeval.protocols.regs.players import OnProgress, Players, make_parts
from dialeval.protocols.regs.settings import LIKELIHOOD, OBJECTIVE_OF, PRETRAINED, RegsRun
from dialeval.protocols.regs.systems import answers_of, evaluate_systems, examples
from dialeval.run_folder import RunFolder
from dialeval.settings.adversarial import AdversarialConfig
from dialeval.settings.training import GeneratorConfig, GeneratorRun
from dialeval.training.adversarial import AdversarialTrainer
from dialeval.training.adversarial_measures import warnings_of
from dialeval.training.adversarial_reward import RewardFactory
from dialeval.training.adversarial_state import compute_seconds
from dialeval.training.checkpoints import save_weights
from dialeval.training.game_state import set_trainable, trainable
from dialeval.training.generator import make_accelerator
from dialeval.training.likelihood import Examples, GeneratorTrainer
from dialeval.training.output import only_training
from dialeval.training.prepared import refuse_sharding

WEIGHTS, DONE = "generator.safetensors", "done.json"
_PROBED = 8  # likelihood steps whose duration is measured


@only_training
def train_regs(
    run: RegsRun,
    training: GeneratorConfig,
    config: AdversarialConfig,
    on_progress: OnProgress = lambda _: None,
) -> RegsResults:
    """Train a generator with every method and evaluate all of them.

    Args:
        run (`RegsRun`):
            Data, players, methods and the output folder.
        training (`GeneratorConfig`):
            Settings of the pre-training, and the seed.
        config (`AdversarialConfig`):
            Settings of the training with rewards; each method sets its objective.
        on_progress (`Callable`, *optional*):
            Called with the numbers of each step, and with each stage as it begins.

    Returns:
        `RegsResults`: Everything that was written to `results.json`.
    """
    return RegsStudy(run, training, config, on_progress)()


class RegsStudy:
    """One study in one folder; stages that are done are not repeated.

    Args:
        run (`RegsRun`):
            Data, players, methods and the output folder.
        training (`GeneratorConfig`):
            Settings of the pre-training, and the seed.
        config (`AdversarialConfig`):
            Settings of the training with rewards.
        on_progress (`Callable`, *optional*):
            Called with the numbers of each step, and with each stage as it begins.
    """

    def __init__(
        self,
        run: RegsRun,
        training: GeneratorConfig,
        config: AdversarialConfig,
        on_progress: OnProgress = lambda _: None,
    ):
        self.run, self.training, self.config, self.on_progress = run, training, config, on_progress
        self.folder = Path(run.output_dir)
        shape = GeneratorRun(output_dir=run.output_dir, log_with=run.log_with)
        self.accelerator = make_accelerator(shape, training)
        refuse_sharding(self.accelerator, "adversarial training")
        settings = plain(run.settings(training, config))
        RunFolder(self.folder, "settings.json").begin(settings, run.resume, self.accelerator)
        self.minutes: dict[str, float] = {}
        self.done: dict[str, dict[str, Any]] = {}

    def __call__(self) -> RegsResults:
        """Run every stage in order; returns what was written to `results.json`."""
        results = self._run()
        self.accelerator.wait_for_everyone()
        self.accelerator.end_training()
        return results

    def _run(self) -> RegsResults:
        set_seed(self.training.seed)
        with self._timed("pre-training"):
            self.generator = self.players.generator()
            self.backward = self.players.backward()
        self.initial = _copy(self.generator.model)
        for name in [*self.run.methods, *map(control_name, self.run.controls)]:
            with self._timed(name):
                self._train(name)
        with self._timed(LIKELIHOOD):
            self._train_on_by_likelihood()
        with self._timed("evaluation"):
            results = self._evaluate()
        if self.accelerator.is_main_process:
            results.save(self.folder)
        return results

    @cached_property
    def parts(self) -> dict[str, Passages]:
        """Human passages for training, validation and the table."""
        with self._timed("reading"):
            return make_parts(self.run, self.config)

    @cached_property
    def players(self) -> Players:
        """The pre-trained models."""
        return Players(
            self.run, self.training, self.config, self.parts, self.folder / "players",
            self.accelerator, self.on_progress,
        )  # fmt: skip

    # Training

    def _train(self, name: str) -> None:
        """Train the generator by one method, unless that is done."""
        folder = self.folder / "methods" / name.replace(" ", "_")
        if not (folder / DONE).is_file():
            set_trainable(self.generator.model, self.initial)
            config = replace(self.method_config(name), backward=self.backward)
            reward, quality = RewardFactory(
                self.generator, self.parts, config, self.training, self.folder / "reward",
                self.on_progress,
            )()  # fmt: skip
            self.on_progress({"stage": f"Training with rewards: {name}"})
            trainer = AdversarialTrainer(
                self.generator, reward, self.parts["train"], self.parts["validation"], config,
                self.training, folder, self.accelerator,
            )  # fmt: skip
            for numbers in trainer.train():
                self.on_progress({**numbers, "objective": name})
                self._log(name, numbers)
            state = {
                "records": trainer.records, "stopped": trainer.stopped, "reward": reward.name,
                "seconds": trainer.seconds, "rounds": trainer.iteration,
                "quality": asdict(quality) if quality else {},
            }  # fmt: skip
            self._finish(folder, state)
        self.done[name] = json.loads((folder / DONE).read_text(encoding="utf-8"))

    def _log(self, name: str, numbers: Mapping[str, Any]) -> None:
        """Write the numbers of a round and of its validation to the tracker."""
        values = {**numbers, **numbers.get("record", {})}
        logged = {
            f"{name}/{key}": value
            for key, value in values.items()
            if isinstance(value, int | float) and key not in ("step", "total", "iteration")
        }
        self.accelerator.log(logged, step=numbers["step"])

    def method_config(self, name: str) -> AdversarialConfig:
        """Settings of a method, or of REINFORCE with the reward of a control."""
        if name in OBJECTIVE_OF:
            return replace(self.config, objective=OBJECTIVE_OF[name])
        reward = next(value for value in self.run.controls if control_name(value) == name)
        return replace(self.config, objective="reinforce", reward=reward)

    def _finish(self, folder: Path, state: Mapping[str, Any]) -> None:
        if self.accelerator.is_main_process:
            save_weights(trainable(self.generator.model), folder / WEIGHTS)
            RunFolder(folder).write_json(DONE, plain(state))
        self.accelerator.wait_for_everyone()

    def _train_on_by_likelihood(self) -> None:
        """The baseline: the pre-trained generator with more likelihood steps, same compute."""
        folder = self.folder / "methods" / "likelihood"
        if not (folder / DONE).is_file():
            set_trainable(self.generator.model, self.initial)
            steps = self._likelihood_steps(folder)
            self.on_progress({"stage": f"More likelihood training: {steps} updates"})
            settings = replace(
                self.training, max_steps=steps, epochs=10_000, patience=10_000, warmup_steps=0,
                learning_rate=self.run.likelihood_learning_rate,
            )  # fmt: skip
            trainer = GeneratorTrainer(
                self.generator, self.parts["train"], settings, self.accelerator,
                folder / "checkpoint",
            )  # fmt: skip
            for numbers in trainer.train(self.parts["validation"]):
                self.on_progress({"stage": LIKELIHOOD, **numbers})
            self._finish(folder, {"steps": steps})
        self.likelihood_steps = json.loads((folder / DONE).read_text(encoding="utf-8"))["steps"]

    def _likelihood_steps(self, folder: Path) -> int:
        """Updates that take as long as the slowest method did; decided once."""
        if self.run.likelihood_steps > 0:
            return self.run.likelihood_steps
        cache = RunFolder(folder)
        longest = max((state["seconds"] for state in self.done.values()), default=60.0)
        steps = cache.cached_json("likelihood_steps", lambda: self._steps_in(longest))
        # Processes differ in pace, and would wait for each other with different numbers.
        return int(broadcast_object_list([steps])[0])

    def _steps_in(self, seconds: float) -> int:
        trainer = GeneratorTrainer(
            self.generator, self.parts["train"], replace(self.training, patience=0),
            self.accelerator,
        )  # fmt: skip
        start = None
        for number, _ in enumerate(trainer.train(self.parts["validation"])):
            start = start or compute_seconds(
                self.accelerator.device
            )  # the first step also compiles and allocates
            if number == _PROBED:
                break
        assert start is not None
        pace = (compute_seconds(self.accelerator.device) - start) / _PROBED
        set_trainable(self.generator.model, self.initial)
        return max(1, round(seconds / max(pace, 1e-6)))

    # Evaluation

    def weights_of(self, system: str) -> dict[str, torch.Tensor] | Path:
        """Weights of a system's generator."""
        if system == LIKELIHOOD:
            return self.folder / "methods" / "likelihood" / WEIGHTS
        if system in self.done:
            return self.folder / "methods" / system.replace(" ", "_") / WEIGHTS
        return self.initial  # the pre-trained one, with any decoding

    @property
    def systems(self) -> list[str]:
        """Rows of the table."""
        decodings = [decoding_name(name) for name in self.run.decodings]
        return [PRETRAINED, LIKELIHOOD, *self.done, *decodings]

    def _evaluate(self) -> RegsResults:
        human = list(iterate(self.parts["test"]))
        answers = {name: answers_of(self, name, human) for name in self.systems}
        evaluation = evaluate_systems(self, answers)
        results = [*evaluation.results, *self._perplexities()]
        records = {
            name: tuple(from_plain(PolicyRecord, record) for record in state["records"])
            for name, state in self.done.items()
        }
        warnings = [
            f"{name}, round {rows[-1].iteration}: {text}"
            for name, rows in records.items()
            for text in warnings_of(rows[-1], self.done[name]["reward"])
        ]
        return RegsResults(
            results=tuple(results),
            systems=tuple(self.systems),
            methods=tuple(self.done),
            evaluators=tuple(dict.fromkeys(r.evaluator for r in evaluation.select("adversuc"))),
            records=records,
            stopped={name: state["stopped"] for name, state in self.done.items()},
            discriminators={name: state["quality"] for name, state in self.done.items()},
            examples=examples(human, answers, self.training.seed),
            likelihood_steps=self.likelihood_steps,
            minutes=self.minutes,
            warnings=(*evaluation.warnings, *warnings),
            settings=plain(self.run.settings(self.training, self.config)),
            signature=self.signature,
        )

    def _perplexities(self) -> list[Result]:
        """Perplexity of human test responses under each trained generator."""
        results = []
        test = Examples(self.generator, self.parts["test"])
        trainer = GeneratorTrainer(
            self.generator, self.parts["test"], self.training, self.accelerator
        )
        for system in [PRETRAINED, LIKELIHOOD, *self.done]:
            set_trainable(self.generator.model, self.weights_of(system))
            value, nan = trainer.validate(test)["perplexity"], float("nan")
            results.append(
                Result("perplexity", system, "", value, nan, nan, len(test), self.signature)
            )
        return results

    @property
    def signature(self) -> str:
        """The settings that affect the numbers, in one line."""
        run, config = self.run, self.config
        return signature(
            regs=config.preset, data=",".join(Path(name).stem for name in run.data),
            ctx=run.context_turns, rounds=config.iterations, d=config.d_steps, g=config.g_steps,
            batch=config.adversarial_batch, baseline=config.baseline,
            teacher=config.teacher_forcing, contexts=run.test_contexts, seed=self.training.seed,
            v=__version__,
        )  # fmt: skip

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.minutes[stage] = (time.perf_counter() - start) / 60


def control_name(reward: str) -> str:
    """Name of a control in the table."""
    return f"REINFORCE, {reward} reward"


def decoding_name(name: str) -> str:
    """Name of the pre-trained generator with another decoding."""
    return f"{PRETRAINED}, {name}"


def _copy(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in trainable(model).items()}
