"""Train a generator: read and split a corpus, train, test, save and sample responses."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel, PreTrainedModel
from transformers.pytorch_utils import Conv1D

from dialeval._version import __version__
from dialeval.dialogues import (
    FILTERS,
    BadInput,
    Cut,
    Filters,
    Passage,
    Passages,
    ReadOptions,
    by_author,
    iterate,
    read,
    split,
    to_passages,
)
from dialeval.dialogues.columns import FIELDS, column_names
from dialeval.dialogues.splits import subsample
from dialeval.dialogues.storage import texts_of
from dialeval.dialogues.types import text_hash
from dialeval.files import remove_dir
from dialeval.metrics.results import Result
from dialeval.metrics.training_results import Sample, StepProgress, TrainingResults
from dialeval.models import Seq2SeqConfig, Seq2SeqGenerator, VhredConfig, VhredGenerator
from dialeval.models.loading import from_pretrained
from dialeval.models.tokenizers import bpe_tokenizer, word_tokenizer
from dialeval.responders import respond
from dialeval.responders.decoding import DECODINGS
from dialeval.responders.generators import SETTINGS, Generator, load_generator, save_generator
from dialeval.responders.language import GeneratorResponder
from dialeval.responders.prompts import PromptFormat
from dialeval.settings.against import AgainstConfig
from dialeval.settings.training import NEW, GeneratorConfig, GeneratorRun
from dialeval.training.against import against_facts, check_start, make_trainer
from dialeval.training.latent import check_turns, collapse_warning, has_latent, latent_numbers
from dialeval.training.likelihood import Examples, GeneratorTrainer
from dialeval.training.output import check_finished, lasting, only_training
from dialeval.training.pairs import warn_of_filtered

CHECKPOINT = "checkpoint"
PARTS = {"train": 0.9, "validation": 0.05, "test": 0.05}


@only_training
def train_generator(
    run: GeneratorRun,
    config: GeneratorConfig,
    on_progress: Callable[[StepProgress], Any] = lambda _: None,
    accelerator: Accelerator | None = None,
    parts: dict[str, Passages] | None = None,
    against: AgainstConfig | None = None,
) -> TrainingResults:
    """Train, test and save a generator.

    Args:
        run (`GeneratorRun`):
            What is trained, on what, and where it is saved.
        config (`GeneratorConfig`):
            Settings of the trainer.
        on_progress (`Callable`, *optional*):
            Called with the numbers of each step and each validation, the latter with samples.
        accelerator (`Accelerator`, *optional*):
            Of a larger run that continues afterwards; by default a new one, closed at the end.
        parts (`dict[str, Passages]`, *optional*):
            Passages for `train`, `validation` and `test`, in place of those of the run's data.
        against (`AgainstConfig`, *optional*):
            Perturbations to train against, and the reward of Reranking-RL; none by default.

    Returns:
        `TrainingResults`: Test perplexity and samples, as saved in `results.json`.
    """
    is_standalone = accelerator is None
    check_start(run, against)
    settings = {**asdict(run), **asdict(config), **asdict(against or AgainstConfig())}
    check_finished(run.output_dir, SETTINGS, settings, run.overwrite)
    checkpoint = Path(run.output_dir) / CHECKPOINT
    if checkpoint.exists() and not run.resume:
        raise BadInput(
            "an earlier run left a checkpoint here.",
            run.output_dir,
            hint="Continue it with --resume, or choose another --output-dir.",
        )
    set_seed(config.seed)
    accelerator = accelerator or make_accelerator(run, config)
    parts = make_parts(run, config.seed) if parts is None else directed(parts, run.direction)
    generator = build(run, parts["train"])
    against = against or AgainstConfig()
    trainer = make_trainer(generator, parts["train"], config, against, accelerator, checkpoint)
    for progress in trainer.train(parts["validation"]):
        if "perplexity" in progress:
            progress["samples"] = samples(generator, parts["validation"], run.samples)
        on_progress(progress)
        logged = {k: v for k, v in progress.items() if k not in ("total", "samples")}
        accelerator.log(logged, step=progress["step"])
    results = _results(run, config, trainer, parts, trainer.checkpoints.history, against)
    if accelerator.is_main_process:
        _save(generator, results, Path(run.output_dir))
    accelerator.wait_for_everyone()
    if is_standalone:
        accelerator.end_training()
    return results


def make_accelerator(run: GeneratorRun, config: GeneratorConfig) -> Accelerator:
    """A new accelerator with the tracker of the settings."""
    try:
        accelerator = Accelerator(log_with=run.log_with, project_dir=run.output_dir)
    except ValueError as error:
        raise BadInput(f"{error}.", hint="Give --log_with another tracker.") from None
    if run.log_with and not accelerator.log_with:  # Accelerate only warns
        hint = "Install it, or leave out --log_with."
        raise BadInput(f"the tracker {run.log_with!r} is not installed.", hint=hint)
    settings = {**asdict(run), **asdict(config)}
    texts = {k: ",".join(v) if isinstance(v, list) else v for k, v in settings.items()}
    tracked = {k: v for k, v in texts.items() if v is not None}
    accelerator.init_trackers("dialeval-generator", config=tracked)
    return accelerator


def make_parts(run: GeneratorRun, seed: int) -> dict[str, Passages]:
    """Passages for training, validation and test that share no dialogue; reversed if backward."""
    passages = read_human(run, run.data)
    salt = text_hash(["generator", str(seed)]) % 2**31  # see training.pairs
    parts = split(passages, PARTS, salt)
    empty = [name for name in PARTS if not len(parts[name])]
    if empty:
        hint = "Give more dialogues, or lower --min_response."
        raise BadInput(f"no dialogue is left for {', '.join(empty)}.", run.data[0], hint=hint)
    limits = dict.fromkeys(PARTS, run.max_eval_passages) | {"train": run.max_passages}
    parts = {name: subsample(parts[name], limit, seed) for name, limit in limits.items()}
    return directed(parts, run.direction)


def directed(parts: dict[str, Passages], direction: str) -> dict[str, Passages]:
    """Passages as a model of this direction learns from them: reversed if backward."""
    if direction != "backward":
        return parts
    return {name: to_passages(_reversed(part)) for name, part in parts.items()}


def read_human(run: GeneratorRun, files: list[str], against: Sequence[str] = ()) -> Passages:
    """Human passages of files, cut and filtered as the run says.

    Args:
        run (`GeneratorRun`):
            How they are read.
        files (`list[str]`):
            The files.
        against (`Sequence[str]`, *optional*):
            Files whose dialogues are left out, word for word.

    Returns:
        `Passages`: The human ones.
    """
    options = ReadOptions(
        cut=Cut(run.context_turns), filters=_filters(run), role=run.role, side="human",
        columns=column_names(run.column or [], FIELDS),
    )  # fmt: skip
    passages, report = read(files, options, against)
    rule = f"Filter {run.filter} and limits of length"
    warn_of_filtered(report, rule, "--filter none with wider limits")
    return by_author(passages, "human")


def _filters(run: GeneratorRun) -> Filters:
    """The limits of the preset and those of the run; of two, the stricter one."""
    preset = FILTERS[run.filter]
    limits: dict[str, Any] = {}
    for name, stricter in (("min_response", max), ("max_response", min), ("max_context", min)):
        values = [getattr(settings, name) for settings in (preset, run)]
        limits[name] = stricter((value for value in values if value is not None), default=None)
    return replace(preset, **limits)


def build(run: GeneratorRun, passages: Passages) -> Generator:
    """A new generator, or a pretrained one to continue from."""
    style = "none" if run.direction == "unconditional" else "turns"
    if run.model not in NEW:
        # Full precision: an update is often too small to change half-precision weights.
        loaded = load_generator(run.model, chat_template="none", device="cpu", dtype=torch.float32)
        loaded = replace(loaded, prompts=PromptFormat(style))
        loaded.model = with_lora(loaded.model) if run.tune == "lora" else loaded.model
        return loaded
    tokenizer = _tokenizer(run, passages)
    if run.model == "vhred":
        check_turns(passages, run.context_turns)
    make = {"gpt2": _gpt2, "seq2seq": _seq2seq, "vhred": _vhred}[run.model]
    limit = run.positions - 2 if run.model == "gpt2" else run.positions
    return Generator(make(run, tokenizer), tokenizer, PromptFormat(style).limited(limit), run.model)


def samples(generator: Generator, passages: Passages, count: int) -> list[Sample]:
    """The first contexts with the human response and the generator's.

    Args:
        generator (`Generator`):
            The generator.
        passages (`Passages`):
            Contexts with human responses.
        count (`int`):
            Number of contexts.

    Returns:
        `list[Sample]`: One per context.
    """
    chosen = list(iterate(passages.select(range(min(count, len(passages))))))
    if not chosen:
        return []
    generator.model.eval()
    limit = min(30, (generator.max_length or 100) // 2)
    answers = respond(GeneratorResponder(generator, DECODINGS["sampling"], 1, limit), chosen)
    return [
        Sample(context=p.context[-1].text, human=p.response, generator=a.response)
        for p, a in zip(chosen, answers, strict=True)
    ]


def _results(
    run: GeneratorRun,
    config: GeneratorConfig,
    trainer: GeneratorTrainer,
    parts: dict[str, Passages],
    history: list[StepProgress],
    against: AgainstConfig,
) -> TrainingResults:
    examples = Examples(trainer.generator, parts["test"])
    test, warnings = trainer.validate(examples), list(trainer.warnings)
    made = signature(run, config, len(parts["train"]), against)
    nan, n = float("nan"), len(parts["test"])
    numbers = {"perplexity": test["perplexity"], "loss": test["validation_loss"]}
    if has_latent(trainer.plain):
        latent = latent_numbers(trainer.plain, examples)
        numbers |= latent
        warnings += filter(None, [collapse_warning(latent, trainer.plain.config.latent_size)])
    return TrainingResults(
        results=tuple(
            Result(metric, "", "", value, nan, nan, n, made) for metric, value in numbers.items()
        ),
        warnings=tuple(warnings),
        settings=lasting({**asdict(run), **asdict(config), **asdict(against)}),
        signature=made,
        training=made,
        history=tuple(history),
        samples=tuple(samples(trainer.generator, parts["test"], run.samples)),
        parameters=sum(parameter.numel() for parameter in trainer.plain.parameters()),
    )


def signature(
    run: GeneratorRun, config: GeneratorConfig, passages: int, against: AgainstConfig | None = None
) -> str:
    """Model, data and seed of a training, in one line.

    Args:
        run (`GeneratorRun`):
            What is trained, on what.
        config (`GeneratorConfig`):
            Settings of the trainer.
        passages (`int`):
            Number of training passages.
        against (`AgainstConfig`, *optional*):
            What else it was trained for.

    Returns:
        `str`: Facts separated by `|`.
    """
    data = ",".join(Path(name).stem for name in run.data)
    model = Path(run.model).name if Path(run.model).is_dir() else run.model
    facts = [f"mle:{model}", run.direction, f"data:{data}", f"ctx:{run.context_turns}"]
    facts += [f"min:{run.min_response}", f"weights:{config.weighting}", f"n:{passages}"]
    facts += against_facts(against or AgainstConfig())
    return "|".join([*facts, f"seed:{config.seed}", f"v:{__version__}"])


def _reversed(passages: Passages) -> Iterator[Passage]:
    return (passage.reversed() for passage in iterate(passages) if passage.context)


def _tokenizer(run: GeneratorRun, passages: Passages) -> Any:
    if run.tokenizer not in ("bpe", "words"):
        hint = "Give bpe, words, a folder, or a name on the Hub."
        return from_pretrained(AutoTokenizer, run.tokenizer, what="tokenizer", hint=hint)
    make = bpe_tokenizer if run.tokenizer == "bpe" else word_tokenizer
    return make(texts_of(passages), run.vocab_size)


def _gpt2(run: GeneratorRun, tokenizer: Any) -> PreTrainedModel:
    names = ("resid_pdrop", "embd_pdrop", "attn_pdrop")
    dropout: dict[str, Any] = dict.fromkeys(names, run.dropout)
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_embd=run.hidden_size,
            n_layer=run.layers,
            n_head=run.heads,
            n_positions=run.positions,
            activation_function="gelu_pytorch_tanh",  # gelu_new in one pass
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            **dropout,
        )
    )


def _seq2seq(run: GeneratorRun, tokenizer: Any) -> PreTrainedModel:
    try:
        shape = Seq2SeqConfig(
            vocab_size=len(tokenizer),
            hidden_size=run.hidden_size,
            embedding_size=run.embedding_size,
            num_layers=run.layers,
            dropout=run.dropout,
            attention=run.attention,
            input_feeding=run.input_feeding,
            bidirectional=run.bidirectional,
            copy=run.copy,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    except ValueError as error:  # a model's file does not import dialeval's errors
        raise BadInput(str(error)) from None
    return Seq2SeqGenerator(shape)


def _vhred(run: GeneratorRun, tokenizer: Any) -> PreTrainedModel:
    """With `hidden_size` 512 and `embedding_size` 300 of the sizes of Niu and Bansal's code."""
    try:
        shape = VhredConfig(
            vocab_size=len(tokenizer),
            embedding_size=run.embedding_size or run.hidden_size,
            encoder_size=max(1, run.hidden_size // 2),
            context_size=run.hidden_size,
            hidden_size=run.hidden_size,
            attention_size=max(1, run.hidden_size // 2),
            latent_size=run.latent_size,
            dropout=run.dropout,
            word_drop=run.word_drop,
            latent=run.latent,
            copy=run.copy,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            unk_token_id=_unknown_id(tokenizer),
        )
    except ValueError as error:
        raise BadInput(str(error)) from None
    return VhredGenerator(shape)


def _unknown_id(tokenizer: Any) -> int:
    unknown = tokenizer.unk_token_id
    return int(tokenizer.pad_token_id if unknown is None else unknown)


def with_lora(model: PreTrainedModel) -> Any:
    """A language model with trainable adapters; its other weights are frozen."""
    from peft import LoraConfig, get_peft_model

    from dialeval.models.adapters import TARGETS

    names = {name.rpartition(".")[2] for name, _ in model.named_modules()}
    targets = next((list(family) for family in TARGETS if names.issuperset(family)), None)
    if targets is None:
        kind = model.config.model_type
        raise BadInput(f"LoRA is not supported for {kind!r} models.")
    transposed = any(isinstance(module, Conv1D) for module in model.modules())  # as GPT-2's are
    return get_peft_model(
        model, LoraConfig(r=8, lora_alpha=16, target_modules=targets, fan_in_fan_out=transposed)
    )


def _save(generator: Generator, results: TrainingResults, folder: Path) -> None:
    if hasattr(generator.model, "merge_and_unload"):
        adapted: Any = generator.model
        generator.model = adapted.merge_and_unload()
    generator.training = {"signature": results.signature, "settings": results.settings}
    save_generator(generator, folder)
    results.save(folder)
    remove_dir(folder / CHECKPOINT)
