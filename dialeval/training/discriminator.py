"""Train a discriminator: read, split and pair a corpus, train, calibrate, test and save."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import Accelerator
from accelerate.utils import set_seed

from dialeval._version import __version__
from dialeval.dialogues import BadInput, Passages
from dialeval.dialogues.splits import row_hashes
from dialeval.files import remove_dir
from dialeval.metrics.intervals import interval
from dialeval.metrics.results import Result
from dialeval.metrics.training_results import StepProgress, TrainingResults
from dialeval.models.adapters import merge_lora
from dialeval.registry import unknown_name
from dialeval.scorers import is_human, save_scorer
from dialeval.scorers.base import Scorer
from dialeval.scorers.baselines import LengthScorer, ResponseOnlyScorer, ShuffledContextScorer
from dialeval.scorers.calibration import calibrate
from dialeval.scorers.fitting import FitContext
from dialeval.scorers.folders import SETTINGS
from dialeval.scorers.neural import NeuralScorer
from dialeval.scorers.registry import EVALUATORS, NETWORK, fit_function
from dialeval.scorers.seen import save_seen
from dialeval.training.discriminator_settings import DiscriminatorRun
from dialeval.training.networks import build_network, check_tune
from dialeval.training.output import check_finished, lasting, only_training
from dialeval.training.pairs import make_pairs, pair_parts
from dialeval.training.supervised import DiscriminatorConfig, DiscriminatorTrainer

CHECKPOINT = "checkpoint"
SVM_FOLDS = 5
OnProgress = Callable[[StepProgress], Any]


@only_training
def train_discriminator(
    run: DiscriminatorRun,
    config: DiscriminatorConfig,
    on_progress: OnProgress = lambda _: None,
    pairs: dict[str, Passages] | None = None,
) -> TrainingResults:
    """Train, calibrate, test and save a discriminator.

    Args:
        run (`DiscriminatorRun`):
            What is trained, on what, and where it is saved.
        config (`DiscriminatorConfig`):
            Settings of the trainer.
        on_progress (`Callable`, *optional*):
            Called with the numbers of each step and each validation.
        pairs (`dict[str, Passages]`, *optional*):
            Pairs for `train`, `validation` and `test`, in place of those of the run's data.

    Returns:
        `TrainingResults`: Held-out accuracies, as saved in `results.json`.
    """
    is_network = EVALUATORS.find(run.model).target == NETWORK
    check_tune(run)
    check_finished(run.output_dir, SETTINGS, _plain(run, config), run.overwrite)
    set_seed(config.seed)
    try:
        accelerator = Accelerator(log_with=run.log_with, project_dir=run.output_dir)
    except ValueError as error:
        raise BadInput(f"{error}.", hint="Give --log_with another tracker.") from None
    accelerator.init_trackers("dialeval-discriminator", config=_plain(run, config))
    pairs = pairs or make_pairs(run, config.seed)
    history: list[StepProgress] = []
    scorer: Scorer
    if is_network:
        scorer = _train_network(run, config, accelerator, pairs, on_progress, history)
    else:
        scorer = _fit(run, config, pairs)
    results = TrainingResults(
        results=tuple(_test(scorer, pairs, config.seed)),
        settings=_plain(run, config),
        signature=scorer.signature,
        training=signature(run, config, len(pairs["train"]) // 2),
        calibration=(getattr(scorer, "training", None) or {}).get("calibration") or {},
        history=tuple(history),
    )
    if accelerator.is_main_process:
        _save(scorer, results, Path(run.output_dir), [pairs["train"], pairs["validation"]])
    accelerator.wait_for_everyone()
    accelerator.end_training()
    return results


def train_on_passages(
    human: Passages | None = None,
    machine: Passages | None = None,
    *,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> TrainingResults:
    """Train a discriminator on passages that are in memory already.

    Args:
        human (`Passages`, *optional*):
            Human responses; the data of the settings by default.
        machine (`Passages`, *optional*):
            A system's responses on the same contexts; without them the discriminator learns to
            distinguish human responses from random ones.
        on_progress (`Callable`, *optional*):
            Called with the numbers of each step and each validation.
        settings:
            Settings of [`DiscriminatorRun`] and [`DiscriminatorConfig`].

    Returns:
        `TrainingResults`: Held-out accuracies, as saved in `results.json`.
    """
    names = {item.name: schema for schema in _SCHEMAS for item in fields(schema)}
    unknown = [name for name in settings if name not in names]
    if unknown:
        raise unknown_name("setting", unknown[0], names)
    if machine is not None:
        settings = {"scenario": "human_machine", **settings}
    run, config = (
        schema(**{name: settings[name] for name in settings if names[name] is schema})
        for schema in _SCHEMAS
    )
    pairs = None if human is None else pair_parts(human, machine, run, config.seed)
    return train_discriminator(run, config, on_progress or (lambda _: None), pairs)


_SCHEMAS: tuple[type, type] = (DiscriminatorRun, DiscriminatorConfig)


def _fit(run: DiscriminatorRun, config: DiscriminatorConfig, pairs: dict[str, Passages]) -> Scorer:
    """An evaluator that is fitted at once."""
    context = FitContext(
        words=None, max_length=run.max_length, folds=SVM_FOLDS, validation=pairs["validation"]
    )
    fit = fit_function(run.model, run=run, config=config, forward=run.forward, measure=run.measure)
    return fit(pairs["train"], config.seed, context)


def _train_network(
    run: DiscriminatorRun,
    config: DiscriminatorConfig,
    accelerator: Accelerator,
    pairs: dict[str, Passages],
    on_progress: OnProgress,
    history: list[StepProgress],
) -> NeuralScorer:
    """A network, trained in steps with checkpoints; adds the validations to the history."""
    model, tokenizer, form = build_network(run, pairs["train"])
    checkpoint = Path(run.output_dir) / CHECKPOINT
    if checkpoint.exists() and not run.resume:
        raise BadInput(
            "an earlier run left a checkpoint here.",
            run.output_dir,
            hint="Continue it with --resume, or choose another --output-dir.",
        )
    trainer = DiscriminatorTrainer(
        model, tokenizer, form.limited(run.max_length), config, accelerator, checkpoint
    )
    for progress in trainer.train(pairs["train"], pairs["validation"]):
        on_progress(progress)
        logged = {name: value for name, value in progress.items() if name != "total"}
        accelerator.log(logged, step=progress["step"])
    history += trainer.checkpoints.history
    scorer = trainer.scorer
    scorer.name = run.model
    if run.tune == "lora":
        adapted: Any = trainer.plain
        scorer.model = merge_lora(adapted)
    calibration = calibrate(scorer, pairs["validation"], config.loss == "pairwise", run.calibration)
    scorer.training = {
        "signature": signature(run, config, len(pairs["train"]) // 2),
        "prefixes": config.prefixes or config.all_prefixes,
        "settings": _plain(run, config),
        "calibration": calibration,
        "history": history,
    }
    return scorer


def _test(scorer: Scorer, pairs: Mapping[str, Passages], seed: int) -> list[Result]:
    """Held-out accuracies of a discriminator, and of baselines that do not read the context."""
    evaluators: dict[str, Any] = {
        scorer.name: scorer,
        "response only": ResponseOnlyScorer(scorer),
        "shuffled context": ShuffledContextScorer(scorer, seed),
        "length only": LengthScorer.fit(pairs["train"]),
    }
    return [
        result
        for name, evaluator in evaluators.items()
        for result in held_out_accuracy(name, evaluator, pairs["test"], seed)
    ]


def held_out_accuracy(name: str, evaluator: Scorer, pairs: Passages, seed: int) -> list[Result]:
    """Accuracy on held-out pairs with its interval over dialogues, in all and for each corpus.

    Args:
        name (`str`):
            Name of the evaluator in tables.
        evaluator (`Scorer`):
            The evaluator.
        pairs (`Passages`):
            Labelled pairs that it was not trained on.
        seed (`int`):
            Seed of the bootstrap.

    Returns:
        `list[Result]`: One for all pairs, then one per corpus where there are several.
    """
    scores, labels = evaluator(pairs), np.asarray(pairs["label"])
    correct = is_human(evaluator, scores) == (labels == 1)
    dialogue = row_hashes(pairs, ["dialogue_id"])
    corpora = np.asarray(pairs["corpus"])
    groups = {"": np.ones(len(labels), dtype=bool)}
    if len(np.unique(corpora)) > 1:
        groups |= {str(corpus): corpora == corpus for corpus in np.unique(corpora)}
    return [
        _accuracy(name, corpus, correct[rows], dialogue[rows], evaluator.signature, seed)
        for corpus, rows in groups.items()
    ]


def _accuracy(
    name: str, corpus: str, correct: np.ndarray, dialogue: np.ndarray, signature: str, seed: int
) -> Result:
    low, high = interval(correct, dialogue.tolist(), seed=seed)
    return Result(
        "accuracy", "", name, float(correct.mean()), low, high, len(correct), signature,
        {"corpus": corpus},
    )  # fmt: skip


def signature(run: DiscriminatorRun, config: DiscriminatorConfig, pairs: int) -> str:
    """Data, scenario and seed of a training, in one line.

    Args:
        run (`DiscriminatorRun`):
            What is trained, on what.
        config (`DiscriminatorConfig`):
            Settings of the trainer.
        pairs (`int`):
            Number of training pairs.

    Returns:
        `str`: Facts separated by `|`.
    """
    data = ",".join(Path(name).stem for name in run.data)
    facts = [run.scenario, f"data:{data}", f"ctx:{run.context_turns}", f"pairs:{pairs}"]
    system = run.system or (Path(run.machine).stem if run.machine else "")
    facts += [f"system:{system}"] if system else []
    return "|".join([*facts, f"loss:{config.loss}", f"seed:{config.seed}", f"v:{__version__}"])


def _plain(run: DiscriminatorRun, config: DiscriminatorConfig) -> dict[str, Any]:
    """All settings that have a value, with lists as text."""
    settings = lasting({**asdict(run), **asdict(config)})
    return {
        name: ",".join(value) if isinstance(value, list) else value
        for name, value in settings.items()
        if value is not None
    }


def _save(scorer: Scorer, results: TrainingResults, folder: Path, seen: Sequence[Passages]) -> None:
    save_scorer(scorer, folder)
    save_seen(folder, seen)
    results.save(folder)
    remove_dir(folder / CHECKPOINT)
