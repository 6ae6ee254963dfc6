"""Train a generator with rewards: pre-train it and its discriminator, alternate, test, save."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from accelerate.utils import set_seed

from dialeval._version import __version__
from dialeval.dialogues import Passages
from dialeval.dialogues.types import TRAINED_AGAINST
from dialeval.files import last_complete, remove_dir
from dialeval.metrics.adversarial_results import AdversarialResults, PolicyRecord
from dialeval.metrics.results import Result, from_plain, plain
from dialeval.responders.generators import Generator, load_generator, save_generator
from dialeval.run_folder import RunFolder
from dialeval.scorers import save_scorer
from dialeval.settings.adversarial import AdversarialConfig
from dialeval.settings.training import NEW, GeneratorConfig, GeneratorRun
from dialeval.training.adversarial import AdversarialTrainer
from dialeval.training.adversarial_measures import WITHIN_LIMIT, warnings_of
from dialeval.training.adversarial_reward import DiscriminatorQuality, RewardFactory
from dialeval.training.adversarial_state import CHECKPOINT
from dialeval.training.generator import (
    build,
    make_accelerator,
    make_parts,
    samples,
    train_generator,
)
from dialeval.training.likelihood import Examples, GeneratorTrainer
from dialeval.training.output import is_trained, only_training
from dialeval.training.prepared import refuse_sharding
from dialeval.training.rewards import RewardSource

OnProgress = Callable[[dict[str, Any]], Any]
PRETRAINED, REWARD, MANIFEST = "pretrained", "reward", "settings.json"
_WITHOUT = ("output_dir", "resume", "overwrite", "log_with")


@only_training
def train_with_rewards(
    run: GeneratorRun,
    training: GeneratorConfig,
    config: AdversarialConfig,
    on_progress: OnProgress = lambda _: None,
    reward: Any = None,
) -> AdversarialResults:
    """Train a generator on the rewards of its samples, test it and save it.

    A new generator is pre-trained by likelihood first, and so is the discriminator (Li et al.,
    2017, sec. 3.3). An interrupted run resumes in its folder.

    Args:
        run (`GeneratorRun`):
            What is trained, on what, and where it is saved.
        training (`GeneratorConfig`):
            Settings of the pre-training, and the seed, precision and checkpoints of both.
        config (`AdversarialConfig`):
            Objective, reward and steps.
        on_progress (`Callable`, *optional*):
            Called with each stage, the numbers of each round, and the record of each validation.
        reward (`Scorer` or `Callable`, *optional*):
            From passages to one number each, in place of the reward that the settings name. One
            with a method `bind` gets the human passages of the run by part before it is used.

    Returns:
        `AdversarialResults`: As saved in `results.json`.
    """
    folder = Path(run.output_dir)
    accelerator = make_accelerator(run, training)
    refuse_sharding(accelerator, "adversarial training")
    settings = _settings(run, training, config)
    RunFolder(folder, MANIFEST).begin(settings, run.resume, accelerator, "training")
    set_seed(training.seed)
    parts = make_parts(run, training.seed)
    generator = make_generator(run, training, parts, folder, accelerator, on_progress)
    source, quality = _reward(reward, generator, parts, config, training, folder, on_progress)
    trainer = AdversarialTrainer(
        generator, source, parts["train"], parts["validation"], config, training, folder,
        accelerator,
    )  # fmt: skip
    against = _fingerprint(source)  # also of the weights before they were trained on
    on_progress({"stage": f"Training with rewards: {config.objective}"})
    for numbers in trainer.train():
        on_progress({**numbers})
        logged = {k: v for k, v in numbers.items() if isinstance(v, int | float) and k != "total"}
        accelerator.log(logged, step=numbers["step"])
    against |= _fingerprint(source, fresh=True)
    results = _results(run, training, trainer, parts["test"], quality)
    if accelerator.is_main_process:
        _save(trainer, results, folder, sorted(against))
    accelerator.wait_for_everyone()
    accelerator.end_training()
    return results


def _reward(
    reward: Any,
    generator: Generator,
    parts: dict[str, Passages],
    config: AdversarialConfig,
    training: GeneratorConfig,
    folder: Path,
    on_progress: OnProgress,
) -> tuple[RewardSource, DiscriminatorQuality | None]:
    """The given reward, or the one that the settings name."""
    if reward is None:
        return RewardFactory(generator, parts, config, training, folder / REWARD, on_progress)()
    if hasattr(reward, "bind"):
        reward.bind(parts)
    return RewardSource(reward), None


def make_generator(
    run: GeneratorRun,
    training: GeneratorConfig,
    parts: dict[str, Passages],
    folder: Path,
    accelerator: Accelerator,
    on_progress: OnProgress = lambda _: None,
) -> Generator:
    """The generator to begin with: a new one is pre-trained by likelihood in `folder`.

    Args:
        run (`GeneratorRun`):
            A new model, or the folder of one.
        training (`GeneratorConfig`):
            Settings of the pre-training.
        parts (`dict[str, Passages]`):
            Passages for training, validation and test.
        folder (`Path`):
            Where a pre-trained one is saved; it is loaded if it is there.
        accelerator (`Accelerator`):
            Of the run.
        on_progress (`Callable`, *optional*):
            Called with the numbers of each step.

    Returns:
        `Generator`: In evaluation mode, ready to be trained.
    """
    if run.model not in NEW:
        return build(run, parts["train"])
    target = folder / PRETRAINED
    if not is_trained(target):
        on_progress({"stage": "Pre-training the generator by likelihood"})
        resume = last_complete(target / CHECKPOINT) is not None
        first = replace(run, output_dir=str(target), resume=resume, log_with=None)
        train_generator(
            first, training, lambda numbers: on_progress({"stage": "generator", **numbers}),
            accelerator, parts,
        )  # fmt: skip
    return load_generator(target, device="cpu")


def _settings(
    run: GeneratorRun, training: GeneratorConfig, config: AdversarialConfig
) -> dict[str, Any]:
    settings = {**asdict(run), **asdict(training), **asdict(config)}
    return {name: plain(value) for name, value in settings.items() if name not in _WITHOUT}


def _fingerprint(source: RewardSource, fresh: bool = False) -> set[str]:
    """Fingerprints of the reward, by which an evaluation recognises it."""
    scorer = source.scorer
    if fresh and scorer is not None:
        vars(scorer).pop("_fingerprint", None)  # of the weights before the game
    value = getattr(scorer, "fingerprint", None)
    return {value} if isinstance(value, str) else set()


def _results(
    run: GeneratorRun,
    training: GeneratorConfig,
    trainer: AdversarialTrainer,
    test: Passages,
    quality: DiscriminatorQuality | None,
) -> AdversarialResults:
    generator, config = trainer.generator, trainer.config
    examples = Examples(generator, test)
    scored = GeneratorTrainer(generator, test, training, trainer.accelerator).validate(examples)
    made = signature(run, training, config, trainer.reward.name, len(trainer.human["train"]))
    nan = float("nan")
    numbers = {"perplexity": scored["perplexity"], "loss": scored["validation_loss"]}
    records = tuple(from_plain(PolicyRecord, record) for record in trainer.records)
    last = records[-1]
    return AdversarialResults(
        results=tuple(
            Result(metric, "", "", value, nan, nan, len(test), made)
            for metric, value in numbers.items()
        ),
        warnings=tuple(f"After round {last.iteration}: {text}"
                       for text in warnings_of(last, trainer.reward.name)),
        settings=_settings(run, training, config),
        signature=made,
        objective=config.objective,
        reward=trainer.reward.name,
        records=records,
        stopped=trainer.stopped,
        samples=tuple(samples(generator, test, run.samples)),
        discriminator=asdict(quality) if quality else {},
        parameters=sum(value.numel() for value in generator.model.parameters()),
    )  # fmt: skip


def signature(
    run: GeneratorRun,
    training: GeneratorConfig,
    config: AdversarialConfig,
    reward: str,
    passages: int,
) -> str:
    """Objective, reward, data and seed of a training, in one line.

    Args:
        run (`GeneratorRun`):
            What is trained, on what.
        training (`GeneratorConfig`):
            Seed.
        config (`AdversarialConfig`):
            Objective and baseline.
        reward (`str`):
            Name of the reward.
        passages (`int`):
            Number of training passages.

    Returns:
        `str`: Facts separated by `|`.
    """
    data = ",".join(Path(name).stem for name in run.data)
    facts = [config.objective, f"reward:{reward}", f"baseline:{config.baseline}"]
    facts += [f"rounds:{config.iterations}", f"d:{config.d_steps}", f"g:{config.g_steps}"]
    facts += [f"teacher:{config.teacher_forcing}", f"data:{data}", f"n:{passages}"]
    return "|".join([*facts, f"seed:{training.seed}", f"v:{__version__}"])


def _save(
    trainer: AdversarialTrainer, results: AdversarialResults, folder: Path, against: list[str]
) -> None:
    generator = trainer.generator
    if hasattr(generator.model, "merge_and_unload"):
        adapted: Any = generator.model
        generator.model = adapted.merge_and_unload()
    generator.training = {
        "signature": results.signature,
        "settings": dict(results.settings),
        TRAINED_AGAINST: against,
    }
    save_generator(generator, folder)
    if trainer.discriminator is not None:
        save_scorer(trainer.discriminator, folder / "discriminator")
    results.save(folder)
    remove_dir(folder / CHECKPOINT)
    (folder / WITHIN_LIMIT).unlink(missing_ok=True)
