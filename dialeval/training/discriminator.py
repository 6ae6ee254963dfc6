"""From a corpus to a judge: read, split, pair, train, calibrate, test, save."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import Accelerator
from accelerate.utils import set_seed

from dialeval._version import __version__
from dialeval.dialogues import (
    FILTERS,
    BadInput,
    Cut,
    Pairing,
    Passages,
    ReadOptions,
    atomic_write,
    by_author,
    read,
    split,
)
from dialeval.dialogues.encoding import InputFormat, input_format
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.storage import texts_of
from dialeval.dialogues.types import text_hash
from dialeval.metrics.calibration import threshold_for_accuracy
from dialeval.metrics.significance import bootstrap_ratios
from dialeval.models import DISCRIMINATORS, TransformerDiscriminator
from dialeval.models.adapters import add_lora, freeze_backbone, merge_lora
from dialeval.models.packages import minilm_path
from dialeval.models.tokenizers import bpe_tokenizer, word_tokenizer
from dialeval.scorers import Decision, is_human, save_scorer
from dialeval.scorers.baselines import LengthScorer, ResponseOnlyScorer, ShuffledContextScorer
from dialeval.scorers.calibration import calibrate
from dialeval.scorers.linear import SvmScorer
from dialeval.scorers.neural import NeuralScorer
from dialeval.scorers.representation import NeuralRepresentation
from dialeval.scorers.zeroshot import ZeroShotScorer
from dialeval.training import DiscriminatorConfig, DiscriminatorTrainer

RECURRENT = {config.model_type.removeprefix("dialeval-"): config for config in DISCRIMINATORS}
PARTS = {"train": 0.8, "validation": 0.1, "test": 0.1}
CHECKPOINT = "checkpoint"


@dataclass
class DiscriminatorRun:
    """What is trained, on what, and where the results go."""

    data: list[str] = field(
        default_factory=lambda: ["chitchat"],
        metadata={"help": "Corpus files; several are trained on together and reported apart."},
    )
    scenario: str = field(
        default="human_random", metadata={"help": "Which two classes; see `dialeval data pair`."}
    )
    machine: str | None = field(
        default=None, metadata={"help": "File with the system's responses, where they are apart."}
    )
    system: str | None = field(
        default=None, metadata={"help": "Name of the system, of a file with several authors."}
    )
    model: str = field(
        default="transformer",
        metadata={
            "help": "hierarchical, concat, attention, rnn, transformer, svm-unigram, svm-response "
            "(its words alone), svm-features, zero-shot or length."
        },
    )
    backbone: str | None = field(
        default=None, metadata={"help": "Of transformer: minilm, a folder, or a name on the Hub."}
    )
    tune: str = field(default="full", metadata={"help": "Of transformer: full, lora or head."})
    tokenizer: str = field(
        default="words", metadata={"help": "words, bpe, or a folder or name on the Hub."}
    )
    vocab_size: int = field(default=25_000, metadata={"help": "Words, or merges of bpe."})
    input_format: str | None = field(
        default=None, metadata={"help": "words, dialogrpt, att, encoder or chat."}
    )
    max_length: int | None = field(
        default=None, metadata={"help": "Tokens read at most; the oldest context gives way."}
    )
    calibration: str = field(
        default="temperature", metadata={"help": "temperature, isotonic or none, on validation."}
    )
    forward: str | None = field(
        default=None, metadata={"help": "Model of p(t|s), for svm-features and zero-shot."}
    )
    backward: str | None = field(
        default=None, metadata={"help": "Model of p(s|t), for svm-features."}
    )
    measure: str = field(
        default="fast-detectgpt",
        metadata={"help": "Of zero-shot: log-probability, log-rank, entropy, fast-detectgpt."},
    )
    hidden_size: int = field(default=128, metadata={"help": "Width of recurrent models."})
    dropout: float = field(default=0.2, metadata={"help": "Of recurrent models."})
    context_turns: int = field(default=2, metadata={"help": "Turns of context."})
    filter: str = field(default="none", metadata={"help": "none, li or bruni."})
    max_pairs: int = field(default=1_500, metadata={"help": "Training pairs at most; -1 is all."})
    max_eval_pairs: int = field(
        default=2_000, metadata={"help": "Validation and test pairs at most; -1 is all."}
    )
    output_dir: str = field(default="runs/discriminator", metadata={"help": "Where it goes."})
    resume: bool = field(default=False, metadata={"help": "Go on from the last checkpoint."})
    log_with: str | None = field(
        default=None, metadata={"help": "Tracker of Accelerate: tensorboard, wandb, trackio, all."}
    )


def train_discriminator(
    run: DiscriminatorRun,
    config: DiscriminatorConfig,
    on_progress: Callable[[dict[str, Any]], Any] = lambda _: None,
    pairs: dict[str, Passages] | None = None,
) -> dict[str, Any]:
    """Train, calibrate, test and save a discriminator; gives the numbers that were saved.

    Args:
        tell (`Callable`, *optional*):
            Told the numbers of each step and each validation.
        pairs (`dict[str, Passages]`, *optional*):
            Pairs for `train`, `validation` and `test`, in place of those of the run's data.
    """
    set_seed(config.seed)
    accelerator = Accelerator(log_with=run.log_with, project_dir=run.output_dir)
    accelerator.init_trackers("dialeval-discriminator", config=_plain(run, config))
    pairs = pairs or make_pairs(run, config.seed)
    if run.model in FITTED:
        scorer, training = FITTED[run.model](run, config, pairs), {}
    else:
        scorer, training = _train_network(run, config, accelerator, pairs, on_progress)
    results = {
        "signature": scorer.signature,
        "results": [
            row
            for name, judge in _judges(scorer, pairs["train"], config.seed).items()
            for row in evaluate_judge(name, judge, pairs["test"], config.seed)
        ],
        "training": signature(run, config, len(pairs["train"]) // 2),
        **training,
    }
    if accelerator.is_main_process:
        _save(scorer, results, Path(run.output_dir))
    accelerator.wait_for_everyone()
    accelerator.end_training()
    return results


def _train_network(
    run: DiscriminatorRun,
    config: DiscriminatorConfig,
    accelerator: Accelerator,
    pairs: dict[str, Passages],
    on_progress: Callable[[dict[str, Any]], Any],
) -> tuple[NeuralScorer, dict[str, Any]]:
    model, tokenizer, format = build(run, pairs["train"])
    format = format.limited(run.max_length)
    checkpoint = Path(run.output_dir) / CHECKPOINT
    if checkpoint.exists() and not run.resume:
        raise BadInput(
            "an earlier run left a checkpoint here.",
            run.output_dir,
            hint="Go on with --resume, or choose another --output-dir.",
        )
    trainer = DiscriminatorTrainer(model, tokenizer, format, config, accelerator, checkpoint)
    history = []
    for numbers in trainer.train(pairs["train"], pairs["validation"]):
        on_progress(numbers)
        accelerator.log({k: v for k, v in numbers.items() if k != "total"}, step=numbers["step"])
        if "validation_loss" in numbers:
            history.append(numbers)
    scorer = trainer.scorer
    scorer.name = run.model
    if run.tune == "lora":
        scorer.model = merge_lora(trainer.plain)
    calibration = calibrate(scorer, pairs["validation"], config.loss == "pairwise", run.calibration)
    told = {"calibration": calibration, "history": history}
    scorer.training = {
        "signature": signature(run, config, len(pairs["train"]) // 2),
        "prefixes": config.prefixes,
        "settings": _plain(run, config),
        **told,
    }
    return scorer, told


def _svm(name: str, **settings: Any) -> Callable[..., SvmScorer]:
    def fit(run: DiscriminatorRun, config: DiscriminatorConfig, pairs: dict[str, Passages]):
        return SvmScorer.fit(pairs["train"], seed=config.seed, name=name, **settings)

    return fit


def _svm_features(
    run: DiscriminatorRun, config: DiscriminatorConfig, pairs: dict[str, Passages]
) -> SvmScorer:
    """Unigrams, the hierarchical network's vector out of fold, and likelihoods both ways.

    The paper's "SVM + neural + multi-lex features" (Li et al., 2017, sec. 4.3). Likelihoods are
    left out where no model is named for them.
    """
    network = replace(run, model="hierarchical")

    def represent(some: Passages) -> NeuralRepresentation:
        set_seed(config.seed)  # folds begin at the same weights, so that dimensions agree
        model, tokenizer, format = build(network, pairs["train"])
        trainer = DiscriminatorTrainer(model, tokenizer, format.limited(run.max_length), config)
        for _ in trainer.train(some, pairs["validation"]):
            pass
        trainer.scorer.accelerator = None
        return NeuralRepresentation(trainer.scorer)

    named = {"forward": run.forward, "backward": run.backward}
    likelihoods = {
        way: (ZeroShotScorer.from_pretrained(path, "log-probability", turned=way == "backward"))
        for way, path in named.items()
        if path
    }
    return SvmScorer.fit(pairs["train"], config.seed, likelihoods, represent, name="svm-features")


def _zero_shot(
    run: DiscriminatorRun, config: DiscriminatorConfig, pairs: dict[str, Passages]
) -> ZeroShotScorer:
    """A language model's measure, with a threshold chosen on the validation pairs."""
    scorer = ZeroShotScorer.from_pretrained(run.forward or "smollm2", run.measure)
    labels, scores = np.asarray(pairs["validation"]["label"]), scorer(pairs["validation"])
    threshold, missed = threshold_for_accuracy(scores, labels, scorer.higher_is_human)
    scorer.decision = Decision(threshold, "validation", missed, len(labels))
    return scorer


FITTED: dict[str, Callable[..., Any]] = {
    "svm-unigram": _svm("svm-unigram"),
    "svm-response": _svm("svm-response", use_context=False),
    "svm-features": _svm_features,
    "zero-shot": _zero_shot,
    "length": lambda run, config, pairs: LengthScorer.fit(pairs["train"]),
}
"""Evaluators that are not trained by steps, each from the run, its settings and its pairs."""


def make_pairs(run: DiscriminatorRun, seed: int) -> dict[str, Passages]:
    """Training, validation and test pairs that share no dialogue, drawn inside each part."""
    if run.filter not in FILTERS:
        raise BadInput(f"Unknown filter {run.filter!r}.", hint=f"Choose {', '.join(FILTERS)}.")
    options = ReadOptions(cut=Cut(run.context_turns), filters=FILTERS[run.filter])
    passages, _ = read(run.data, options)
    machine = read(run.machine, options)[0] if run.machine else None
    if run.system:
        machine = by_author(passages if machine is None else machine, run.system)
    pairing = Pairing(run.scenario, seed=seed)
    # A salt of its own: a part that `dialeval data split` cut off with this very seed would
    # otherwise fall into one of these parts whole.
    salt = text_hash(["discriminator", str(seed)]) % 2**31
    parts = split(passages, PARTS, salt)
    others = split(machine, PARTS, salt) if machine is not None else dict.fromkeys(PARTS)
    empty = [name for name in PARTS if not len(parts[name])]
    if empty:
        hint = "Give more dialogues."
        raise BadInput(f"no dialogue is left for {', '.join(empty)}.", run.data[0], hint=hint)
    pairs = {name: pairing(parts[name], others[name]) for name in PARTS}
    limits = {"train": run.max_pairs, "validation": run.max_eval_pairs, "test": run.max_eval_pairs}
    return {name: _subsample(pairs[name], limit, seed) for name, limit in limits.items()}


def _subsample(pairs: Passages, limit: int, seed: int) -> Passages:
    """So many pairs, drawn at random; all of them where the limit is below 1."""
    numbers = np.asarray(pairs["pair"])
    if not 0 < limit < len(numbers) // 2:
        return pairs
    chosen = np.random.default_rng(seed).permutation(len(numbers) // 2)[:limit]
    return pairs.select(np.flatnonzero(np.isin(numbers, chosen)))


def build(run: DiscriminatorRun, pairs: Passages) -> tuple[Any, Any, InputFormat]:
    """A new model, its tokenizer, and how it reads."""
    if run.model == "transformer":
        return _transformer(run)
    if run.model not in RECURRENT:
        choices = ", ".join([*RECURRENT, *FITTED])
        raise BadInput(f"Unknown model {run.model!r}.", hint=f"Choose one of {choices}.")
    tokenizer = _tokenizer(run, pairs)
    config = RECURRENT[run.model](
        vocab_size=len(tokenizer),
        hidden_size=run.hidden_size,
        dropout=run.dropout,
        max_turns=run.context_turns + 1,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    return (
        DISCRIMINATORS[type(config)](config),
        tokenizer,
        input_format(run.input_format or "words"),
    )


def _transformer(run: DiscriminatorRun) -> tuple[Any, Any, InputFormat]:
    from transformers import AutoTokenizer

    name = minilm_path() if run.backbone in (None, "minilm") else run.backbone
    model = TransformerDiscriminator.from_backbone(str(name))
    tokenizer = AutoTokenizer.from_pretrained(name)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if run.tune == "lora":
        model = add_lora(model)
    elif run.tune == "head":
        freeze_backbone(model)
    elif run.tune != "full":
        raise BadInput(f"`tune` is full, lora or head, but got {run.tune!r}.")
    default = "att" if model.config.causal else "encoder"
    return model, tokenizer, input_format(run.input_format or default)


def _tokenizer(run: DiscriminatorRun, pairs: Passages) -> Any:
    if run.tokenizer == "words":
        return word_tokenizer(texts_of(pairs), run.vocab_size)
    if run.tokenizer == "bpe":
        return bpe_tokenizer(texts_of(pairs), run.vocab_size)
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(run.tokenizer)


def _judges(scorer: Any, pairs: Passages, seed: int) -> dict[str, Any]:
    """The judge, and the baselines that keep it honest."""
    return {
        scorer.name: scorer,
        "response only": ResponseOnlyScorer(scorer),
        "shuffled context": ShuffledContextScorer(scorer, seed),
        "length only": LengthScorer.fit(pairs),
    }


def evaluate_judge(name: str, judge: Any, pairs: Passages, seed: int) -> list[dict[str, Any]]:
    """Accuracy on held-out pairs with its interval over dialogues, in all and for each corpus."""
    scores, labels = judge(pairs), np.asarray(pairs["label"])
    right = is_human(judge, scores) == (labels == 1)
    dialogue = row_hashes(pairs, ["dialogue_id"])
    corpora = np.asarray(pairs["corpus"])
    groups = {"": np.ones(len(labels), dtype=bool)}
    if len(np.unique(corpora)) > 1:
        groups |= {corpus: corpora == corpus for corpus in np.unique(corpora)}
    return [
        _row(name, corpus, right[rows], dialogue[rows], judge.signature, seed)
        for corpus, rows in groups.items()
    ]


def _row(
    name: str, corpus: str, right: np.ndarray, dialogue: np.ndarray, signature: str, seed: int
) -> dict[str, Any]:
    _, unit = np.unique(dialogue, return_inverse=True)
    sums, sizes = np.bincount(unit, right), np.bincount(unit)
    drawn = bootstrap_ratios(sums[:, None], sizes, seed)[:, 0]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return {
        "metric": "accuracy",
        "evaluator": name,
        "corpus": corpus,
        "value": float(right.mean()),
        "low": float(low),
        "high": float(high),
        "n": len(right),
        "signature": signature,
    }


def signature(run: DiscriminatorRun, config: DiscriminatorConfig, pairs: int) -> str:
    """How a discriminator came about, in one line."""
    data = ",".join(Path(name).stem for name in run.data)
    facts = [run.scenario, f"data:{data}", f"ctx:{run.context_turns}", f"pairs:{pairs}"]
    facts += [f"system:{run.system or Path(run.machine).stem}"] if run.system or run.machine else []
    return "|".join([*facts, f"loss:{config.loss}", f"seed:{config.seed}", f"v:{__version__}"])


def _plain(run: DiscriminatorRun, config: DiscriminatorConfig) -> dict[str, Any]:
    settings = {**asdict(run), **asdict(config)}
    return {
        k: ",".join(v) if isinstance(v, list) else v for k, v in settings.items() if v is not None
    }


def _save(scorer: Any, results: dict[str, Any], folder: Path) -> None:
    save_scorer(scorer, folder)
    with atomic_write(folder / "results.json") as file:
        json.dump(results, file, ensure_ascii=False, indent=2)
        file.write("\n")
    shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)
