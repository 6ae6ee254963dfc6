"""The trainers with weights that FSDP2 divides between CPU processes (gloo).

accelerate launch --config_file recipes/accelerate/fsdp.yaml -m tests.training.fsdp_worker FOLDER
... FOLDER kinds           further models
... recipes/NAME.py ...    a recipe with its arguments

Accelerate takes FSDP on GPUs only: on a CPU it reports MULTI_CPU and ignores the launch config.
[`take_fsdp`] changes that one word of its state; everything else is Accelerate's own code.
"""

import json
import runpy
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from accelerate.utils import DistributedType
from safetensors.torch import save_file
from transformers import (
    BertConfig,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from dialeval.dialogues.encoding import input_format
from dialeval.models import (
    DISCRIMINATORS,
    Seq2SeqConfig,
    Seq2SeqGenerator,
    TransformerDiscriminator,
    TransformerDiscriminatorConfig,
)
from dialeval.models.adapters import add_lora, freeze_backbone
from dialeval.responders.generators import save_generator
from dialeval.scorers import save_scorer
from dialeval.training import (
    DiscriminatorConfig,
    DiscriminatorTrainer,
    GeneratorConfig,
    GeneratorTrainer,
)
from dialeval.training.generator import samples, with_lora
from dialeval.training.networks import RECURRENT
from tests.training.game_worker import attacker, judge, talk, tokenizer
from tests.training.update_worker import (
    discriminator_update,
    generator_update,
    pairs,
    write_updates,
)

FAST: dict[str, Any] = {"epochs": 2, "batch_size": 5, "checkpoint_every": 2, "patience": 0}
ADAM = {"optimizer": "adam", "learning_rate": 0.01}
SGD = {"optimizer": "sgd", "learning_rate": 0.5}
RUNS: dict[str, dict[str, Any]] = {
    "discriminator": SGD, "generator": SGD, "hierarchical": SGD, "lora-discriminator": SGD,
    "lora-generator": SGD, "adam-discriminator": ADAM, "adam-generator": ADAM,
}  # fmt: skip
KINDS = (
    "attention", "concat", "rnn", "bert", "head", "llama-generator", "untied-generator",
    "seq2seq-generator", "t5-generator",
)  # fmt: skip
"""Further models, which a slow test trains."""
BROKEN_AFTER = 6
"""Numbers of a training that is interrupted: it is then in its second epoch."""


def take_fsdp() -> None:
    """Let Accelerate divide weights between CPU processes as it does between GPUs."""
    PartialState(cpu=True)
    PartialState._shared_state["distributed_type"] = DistributedType.MULTI_GPU


def make_trainer(name: str, checkpoint: Path | None = None) -> Any:
    """A trainer of an untrained model without dropout."""
    settings = {**FAST, **RUNS.get(name, SGD)}
    torch.manual_seed(0)
    if "generator" in name:
        generator = attacker(0, 0.0)
        generator.model = _generator(name.removesuffix("generator"), generator.model)
        config = GeneratorConfig(**settings)
        return GeneratorTrainer(generator, talk(16), config, checkpoint=checkpoint)
    model = _discriminator(name, judge(1, 0.0).model)
    form = input_format("words" if name in (*RECURRENT, "bert") else "att")
    return DiscriminatorTrainer(
        model, tokenizer(), form, DiscriminatorConfig(**settings), checkpoint=checkpoint
    )


def _generator(kind: str, gpt2: Any) -> Any:
    """A generator: GPT-2, with adapters, or another architecture."""
    words = tokenizer()
    ids = {f"{name}_token_id": getattr(words, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    if kind == "seq2seq-":
        sizes = {"hidden_size": 8, "embedding_size": 8, "dropout": 0.0}
        return Seq2SeqGenerator(Seq2SeqConfig(vocab_size=len(words), copy=True, **sizes, **ids))
    if kind == "t5-":
        sizes = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
        start = {"decoder_start_token_id": words.bos_token_id, "dropout_rate": 0.0}
        return T5ForConditionalGeneration(T5Config(vocab_size=len(words), **sizes, **start, **ids))
    if kind in ("llama-", "untied-"):
        config = LlamaConfig(
            vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=32, tie_word_embeddings=kind == "llama-", **ids,
        )  # fmt: skip
        return LlamaForCausalLM(config)
    return with_lora(gpt2) if kind == "lora-" else gpt2


def _discriminator(kind: str, gpt2: Any) -> Any:
    """A discriminator: on GPT-2, with adapters, or another architecture."""
    words = tokenizer()
    if kind in RECURRENT:
        config = RECURRENT[kind](
            vocab_size=len(words), hidden_size=8, embedding_size=8, dropout=0.0, max_turns=3,
            eos_token_id=words.eos_token_id, pad_token_id=words.pad_token_id,
        )  # fmt: skip
        return DISCRIMINATORS[type(config)](config)
    if kind == "bert":
        backbone = BertConfig(
            vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        )  # fmt: skip
        return TransformerDiscriminator(TransformerDiscriminatorConfig(backbone, "mean", False))
    if kind == "head":
        freeze_backbone(gpt2)
    return add_lora(gpt2) if "lora" in kind else gpt2


def share_of_process(trainer: Any) -> dict[str, float]:
    """The share of weights, and of the optimizer's tensors, that this process has."""
    state = trainer.optimizer.optimizer.state.values()
    tensors = {
        "weights": list(trainer.prepared.unwrapped.parameters()),
        "optimizer": [value for values in state for value in values.values() if value.dim()],
    }
    return {
        name: sum(_local_size(value) for value in values) / sum(value.numel() for value in values)
        for name, values in tensors.items()
        if values
    }


def _local_size(tensor: Any) -> int:
    return (tensor.to_local() if hasattr(tensor, "to_local") else tensor).numel()


def train(trainer: Any) -> Any:
    """The progress of a training, from its start or its checkpoint."""
    if isinstance(trainer, GeneratorTrainer):
        return trainer.train(talk(6, seed=1))
    return trainer.train(pairs(), pairs(8, seed=1))


def with_samples(trainer: Any) -> list[dict[str, Any]]:
    """All progress of a training, with what a process has of it; a generator answers too."""
    numbers = []
    for progress in train(trainer):
        progress |= {f"share of {k}": v for k, v in share_of_process(trainer).items()}
        if "perplexity" in progress:
            drawn = samples(trainer.generator, talk(2, seed=1), 2)
            progress["samples"] = [sample["generator"] for sample in drawn]
        numbers.append(dict(progress))
    return numbers


def write_run(name: str, folder: Path, checkpoint: Path | None = None) -> None:
    """Train, and write the numbers, the weights, the model, and what it says of some passages."""
    trainer = make_trainer(name, checkpoint)
    numbers = {"sharded": trainer.prepared.is_sharded, "progress": with_samples(trainer)}
    if isinstance(trainer, DiscriminatorTrainer):
        numbers["scores"] = trainer.scorer(pairs(8, seed=1)).tolist()
    folder.mkdir(parents=True, exist_ok=True)
    if trainer.accelerator.is_main_process:
        weights = {key: value.clone() for key, value in trainer.plain.state_dict().items()}
        save_file(weights, folder / "weights.safetensors")
        (folder / "numbers.json").write_text(json.dumps(numbers), "utf-8")
        if name in ("discriminator", "hierarchical"):
            save_scorer(trainer.scorer, folder / "model")
        elif name == "generator":
            save_generator(trainer.generator, folder / "model")
    trainer.accelerator.wait_for_everyone()


def interrupt(name: str, checkpoint: Path) -> None:
    """Begin a training and leave its checkpoint."""
    list(islice(train(make_trainer(name, checkpoint)), BROKEN_AFTER))


def main(folder: Path) -> None:
    """All runs; those with Adam also interrupted and resumed."""
    for name in RUNS:
        write_run(name, folder / name)
        if name.startswith("adam"):
            interrupt(name, folder / "left" / name)
            interrupt(name, folder / "checkpoints" / name)
            write_run(name, folder / f"{name}-resumed", folder / "checkpoints" / name)
    updates = {"generator": generator_update, "discriminator": discriminator_update}
    write_updates(updates, folder / "updates.safetensors")


if __name__ == "__main__":
    torch.set_num_threads(1)
    take_fsdp()
    target = Path(sys.argv[1])
    if target.suffix == ".py":  # a recipe with its arguments
        sys.argv = sys.argv[1:]
        runpy.run_path(str(target), run_name="__main__")
    elif sys.argv[2:] == ["kinds"]:
        for kind in KINDS:
            write_run(kind, target / kind)
    else:
        main(target)
