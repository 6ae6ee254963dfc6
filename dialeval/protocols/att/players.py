"""The players before the games: data, the generator, pretrained HvM, and frozen HvR."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator

from dialeval.dialogues import (
    BadInput,
    Cut,
    Filters,
    Pairing,
    Passages,
    ReadOptions,
    by_author,
    iterate,
    read,
    split,
    to_passages,
    write_passages,
)
from dialeval.dialogues.encoding import input_format
from dialeval.dialogues.splits import row_hashes, subsample
from dialeval.dialogues.types import text_hash
from dialeval.metrics.game_results import Component
from dialeval.metrics.training_results import TrainingResults
from dialeval.models import load_dialogrpt
from dialeval.models.adapters import add_lora
from dialeval.models.embedding import PrefilledEmbedder
from dialeval.models.loading import from_pretrained
from dialeval.models.sharing import discriminator_on
from dialeval.protocols.att.negatives import (
    NEAR_COPY,
    fit_relevance,
    negative_pairs,
    training_pairs,
)
from dialeval.protocols.att.settings import NEGATIVES, RANDOM, AttRun
from dialeval.responders.base import respond
from dialeval.responders.decoding import decoding
from dialeval.responders.generators import Generator, load_generator
from dialeval.responders.language import GeneratorResponder
from dialeval.scorers import load_scorer, save_scorer
from dialeval.scorers.embedding import EmbeddingScorer
from dialeval.scorers.neural import NeuralScorer
from dialeval.training import (
    DiscriminatorConfig,
    DiscriminatorTrainer,
    GeneratorConfig,
)
from dialeval.training.checkpoints import last_complete, save_weights
from dialeval.training.game_settings import GameConfig
from dialeval.training.game_state import set_trainable, trainable
from dialeval.training.generator import GeneratorRun, train_generator, with_lora
from dialeval.training.output import is_trained
from dialeval.training.pairs import pair_accuracy

OnProgress = Callable[[dict[str, Any]], Any]
_RANKER = "dialogrpt:"
_PARTS = {"generator": 0.45, "train": 0.35, "validation": 0.1, "test": 0.1}


def make_parts(run: AttRun, config: GameConfig) -> dict[str, Passages]:
    """Human passages for the generator, the game, its validation and the final test.

    No dialogue is in two parts. Each part is cut to its size in the settings, and validation and
    test to one passage per dialogue, so that their passages are independent.
    """
    filters = Filters(
        min_response=run.min_response, max_response=run.max_response, max_context=run.max_context
    )
    passages, _ = read(run.data, ReadOptions(cut=Cut(run.context_turns), filters=filters))
    parts = split(by_author(passages, "human"), _PARTS, text_hash(["att"]) % 2**31)
    limits = {
        "generator": run.generator_passages,
        "train": run.game_contexts,
        "validation": config.validation_contexts * 2,
        "test": run.test_contexts,
    }
    for name, limit in limits.items():
        rows = np.random.default_rng(0).permutation(len(parts[name]))
        if name in ("validation", "test"):  # a random passage per dialogue, not always its first
            dialogues = row_hashes(parts[name], ["dialogue_id"])[rows]
            rows = rows[np.sort(np.unique(dialogues, return_index=True)[1])]
        parts[name] = parts[name].select(np.sort(rows[:limit] if limit > 0 else rows))
        if not len(parts[name]):
            hint = "Give more dialogues, or relax the limits on their length."
            raise BadInput(f"no dialogue is left for {name}.", run.data[0], hint=hint)
    return parts


def make_generator(
    run: AttRun, config: GameConfig, passages: Passages, folder: Path, on_progress: OnProgress
) -> tuple[Generator, Component]:
    """The generator that every attack starts from: the one in the settings, or a trained one.

    Args:
        run (`AttRun`):
            Settings of the study.
        config (`GameConfig`):
            Settings of the game.
        passages (`Passages`):
            Human passages to train it on.
        folder (`Path`):
            Where a trained one is saved; it is loaded if it is there.
        on_progress (`Callable`):
            Called with the numbers of each step.

    Returns:
        `tuple[Generator, Component]`: The generator and its quality.
    """
    if run.generator:
        generator = load_generator(run.generator, device="cpu", dtype=torch.float32)
        return generator, Component(source=str(run.generator))
    if not is_trained(folder):
        _train_generator(run, config, passages, folder, on_progress)
    results = TrainingResults.load(folder)
    test = results.get("perplexity")
    perplexity = test.value if test else float("nan")
    component = Component(perplexity=perplexity, parameters=results.parameters)
    return load_generator(folder, device="cpu"), component


def _train_generator(
    run: AttRun, config: GameConfig, passages: Passages, folder: Path, on_progress: OnProgress
) -> None:
    on_progress({"stage": "Training the generator"})
    data = folder.with_name("generator.jsonl")
    accelerator = Accelerator()
    if accelerator.is_main_process:
        write_passages(passages, data)
    accelerator.wait_for_everyone()
    shape = GeneratorRun(
        data=[str(data)], model="gpt2", tokenizer="bpe", vocab_size=run.generator_vocabulary,
        hidden_size=run.generator_width, layers=run.generator_layers, heads=4, dropout=0.1,
        positions=run.max_context + 2 * config.max_new_tokens, context_turns=run.context_turns,
        min_response=1, max_response=None, max_eval_passages=300, samples=3,
        output_dir=str(folder), resume=last_complete(folder / "checkpoint") is not None,
    )  # fmt: skip
    steps = GeneratorConfig(
        epochs=1, batch_size=16, learning_rate=2e-3, warmup_steps=100, max_grad_norm=1.0,
        loss_on="all", seed=config.seed,
    )  # fmt: skip
    train_generator(
        shape, steps, lambda numbers: on_progress({"stage": "generator", **numbers}), accelerator
    )


def build_players(generator: Generator, tune: str = "full") -> tuple[Generator, Any]:
    """The generator ready for training, and a discriminator with the same initial backbone.

    With `lora` both share one frozen backbone and have separate adapters, so that a new attacker
    is a new adapter, and only one backbone is in memory.
    """
    if tune == "full":
        return generator, discriminator_on(generator.model)
    discriminator = add_lora(discriminator_on(generator.model, shared=True))
    generator.model = with_lora(generator.model)
    return generator, discriminator


def make_hvr(
    run: AttRun, config: GameConfig, parts: dict[str, Passages], generator: Generator,
    folder: Path, on_progress: OnProgress,
) -> tuple[Any, Component]:  # fmt: skip
    """The frozen discriminator HvR: the one in the settings, or one trained on human vs. random.

    Args:
        run (`AttRun`):
            Settings of the study.
        config (`GameConfig`):
            Settings of the game.
        parts (`dict[str, Passages]`):
            Result of `make_parts`.
        generator (`Generator`):
            Provides the backbone of a transformer.
        folder (`Path`):
            Where a trained one is saved; it is loaded if it is there.
        on_progress (`Callable`):
            Called as training begins.

    Returns:
        `tuple[Scorer, Component]`: HvR and its accuracy on validation pairs.
    """
    if not run.hvr and not (folder / "scorer.json").is_file():
        on_progress({"stage": f"Training HvR, human vs. {', '.join(run.hvr_negatives)}"})
        scorer = _train_hvr(run, config, parts, generator)
        if Accelerator().is_main_process:
            save_scorer(scorer, folder)
    Accelerator().wait_for_everyone()
    scorer = _load_discriminator(run.hvr or str(folder), "dialogrpt")
    if hasattr(scorer, "embed"):
        scorer.embed = PrefilledEmbedder(_context_texts(parts))
    return scorer, _hvr_component(scorer, parts["validation"], config.seed)


def _hvr_component(scorer: Any, human: Passages, seed: int) -> Component:
    """HvR's accuracy against random replies, and against each kind of hard negatives."""
    tables = {
        kind: negative_pairs(kind, human, human, seed) for kind in (*NEGATIVES[1:], NEAR_COPY)
    }
    accuracies = {
        kind: _accuracy(scorer, pairs).pairwise_accuracy
        for kind, pairs in tables.items()
        if len(pairs)
    }
    against_random = _accuracy(scorer, negative_pairs(RANDOM, human, human, seed))
    return replace(against_random, by_negative=accuracies)


def _load_discriminator(name: str, format: str) -> Any:
    """A saved scorer, or with the prefix `dialogrpt:` a ranker with the weights of DialogRPT."""
    if not name.startswith(_RANKER):
        return load_scorer(name)
    from transformers import AutoTokenizer

    name = name.removeprefix(_RANKER)
    tokenizer = from_pretrained(AutoTokenizer, name, what="tokenizer")
    return NeuralScorer(load_dialogrpt(name), tokenizer, input_format(format), Path(name).name)


def _train_hvr(
    run: AttRun, config: GameConfig, parts: dict[str, Passages], generator: Generator
) -> Any:
    kinds, share, seed = run.hvr_negatives, run.hvr_hard_share, config.seed
    source = parts["generator"]
    human = subsample(source, run.hvr_pairs, [seed, 17])
    if run.hvr_kind == "embedding" and len(kinds) > 1:
        return fit_relevance(kinds, human, source, share, seed)
    pairs = training_pairs(kinds, human, source, share, seed)
    if run.hvr_kind == "embedding":
        return EmbeddingScorer.fit(pairs, seed, name="HvR")
    validation = negative_pairs(RANDOM, parts["validation"], source, seed)
    torch.manual_seed(seed)  # the head has random initial weights, whatever was drawn before
    model = discriminator_on(generator.model)
    settings = _sl_config(run, config)
    trainer = DiscriminatorTrainer(model, generator.tokenizer, input_format("att"), settings)
    for _ in trainer.train(pairs, validation):
        pass
    trainer.scorer.accelerator, trainer.scorer.name = None, "HvR"
    return trainer.scorer


def make_hvm(
    run: AttRun, config: GameConfig, parts: dict[str, Passages], generator: Generator, model: Any,
    folder: Path, on_progress: OnProgress,
) -> tuple[NeuralScorer, Component]:  # fmt: skip
    """HvM trained to distinguish human replies from the generator's, or the one in the settings.

    Args:
        run (`AttRun`):
            Settings of the study.
        config (`GameConfig`):
            Settings of the game.
        parts (`dict[str, Passages]`):
            Result of `make_parts`.
        generator (`Generator`):
            The generator before any attack.
        model (`PreTrainedModel`):
            Untrained discriminator, from `build_players`.
        folder (`Path`):
            Where its weights are saved; they are loaded if they are there.
        on_progress (`Callable`):
            Called with the numbers of each step.

    Returns:
        `tuple[NeuralScorer, Component]`: HvM and its accuracy on validation pairs.

    Raises:
        BadInput: It is at chance, so that an attacker could learn nothing from it.
    """
    if run.hvm:
        scorer = _load_discriminator(run.hvm, "att")
        scorer.model = add_lora(scorer.model) if run.tune == "lora" else scorer.model
    else:
        scorer = NeuralScorer(model, generator.tokenizer, input_format("att"), "HvM", device="cpu")
    answers = {
        name: _answers(run, generator, parts[name], limit, config, folder / f"{name}.jsonl")
        for name, limit in (("train", run.sl_pairs), ("validation", -1))
    }
    pairs = {name: Pairing("human_machine")(*both) for name, both in answers.items()}
    weights = folder / "hvm.safetensors"
    if not run.hvm and not weights.is_file():
        on_progress({"stage": "Training HvM, human vs. generator"})
        _train_hvm(scorer, pairs, _sl_config(run, config), folder, on_progress)
    if not run.hvm:
        set_trainable(scorer.model, weights)
    scorer.model.eval()
    component = _accuracy(scorer, pairs["validation"])
    _refuse_chance(component, run)
    return scorer, component


def _train_hvm(
    scorer: NeuralScorer, pairs: dict[str, Passages], settings: DiscriminatorConfig, folder: Path,
    on_progress: OnProgress,
) -> None:  # fmt: skip
    trainer = DiscriminatorTrainer(
        scorer.model,
        scorer.tokenizer,
        scorer.input_format,
        settings,
        checkpoint=folder / "checkpoint",
    )
    for numbers in trainer.train(pairs["train"], pairs["validation"]):
        on_progress({"stage": "HvM", **numbers})
    if trainer.accelerator.is_main_process:
        save_weights(trainable(trainer.plain), folder / "hvm.safetensors")
    trainer.accelerator.wait_for_everyone()


def _sl_config(run: AttRun, config: GameConfig) -> DiscriminatorConfig:
    return DiscriminatorConfig(
        loss="pairwise", epochs=run.sl_epochs, batch_size=config.defence_batch,
        learning_rate=run.sl_learning_rate, max_grad_norm=1.0, patience=1, seed=config.seed,
    )  # fmt: skip


def _answers(
    run: AttRun, generator: Generator, human: Passages, limit: int, config: GameConfig, path: Path
) -> tuple[Passages, Passages]:
    """Human passages, and the generator's replies to their contexts, which are cached."""
    human = subsample(human, limit, [config.seed, 17])
    accelerator = Accelerator()
    if accelerator.is_main_process and not path.is_file():
        responder = GeneratorResponder(
            generator, decoding(run.sl_decoding), 1, config.max_new_tokens, config.seed, "generator"
        )
        write_passages(to_passages(respond(responder, list(iterate(human)))), path)
    accelerator.wait_for_everyone()
    # As written: two contexts with the same text may get the same reply.
    return human, read(path, ReadOptions(keep_duplicates=True, allow_empty=True))[0]


def _context_texts(parts: dict[str, Passages]) -> list[str]:
    """Every context text that the embedding scorer encodes."""
    return [
        text
        for name in ("train", "validation", "test")
        for passage in iterate(parts[name])
        for text in ("\n".join(t.text for t in passage.context), passage.context[-1].text)
    ]


def _accuracy(scorer: Any, pairs: Passages) -> Component:
    """Share of pairs in which the human response scores higher, with its interval."""
    scores = scorer.margins(pairs) if hasattr(scorer, "margins") else scorer(pairs)
    return Component(*pair_accuracy(scores, pairs))


def _refuse_chance(hvm: Component, run: AttRun) -> None:
    if hvm.low <= 0.5:
        raise BadInput(
            f"HvM is at chance before the game: {hvm.pairwise_accuracy:.3f} "
            f"[{hvm.low:.3f}, {hvm.high:.3f}] of {hvm.n} validation pairs.",
            run.hvm or "",
            hint="Train it on more pairs (--sl_pairs, --sl_epochs), or give a better --hvm.",
        )
