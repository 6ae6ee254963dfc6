"""Tiny random judges and passages with several responses to a context."""

import random

import pytest
import torch
from transformers import BertConfig, GPT2Config, GPTNeoXConfig, LlamaConfig, Qwen2Config

from dialeval.dialogues import Passage, Turn
from dialeval.dialogues.encoding import InputFormat, input_format
from dialeval.models import (
    HierarchicalConfig,
    HierarchicalDiscriminator,
    TransformerDiscriminator,
    TransformerDiscriminatorConfig,
)
from dialeval.models.tokenizers import word_tokenizer
from dialeval.scorers.neural import NeuralScorer

WORDS = [f"w{number}" for number in range(40)]
_SIZES = {
    "vocab_size": 50, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 200, "bos_token_id": 2, "eos_token_id": 3,
    "pad_token_id": 0,
}  # fmt: skip
BACKBONES = {
    "gpt2": lambda: GPT2Config(
        vocab_size=50, n_embd=32, n_layer=2, n_head=4, n_positions=200, bos_token_id=2,
        eos_token_id=3,
    ),
    "llama": lambda: LlamaConfig(**_SIZES, num_key_value_heads=2),
    "qwen2": lambda: Qwen2Config(**_SIZES, num_key_value_heads=2),
    "gpt_neox": lambda: GPTNeoXConfig(**_SIZES),
    "bert": lambda: BertConfig(**_SIZES),
}  # fmt: skip


def build(kind: str = "gpt2", form: str | InputFormat = "dialogrpt", **options) -> NeuralScorer:
    """A random judge over invented words, whose scores are far from equal."""
    torch.manual_seed(0)
    if kind == "hierarchical":
        model = HierarchicalDiscriminator(HierarchicalConfig(vocab_size=50, hidden_size=16))
    else:
        causal = kind != "bert"
        shape = TransformerDiscriminatorConfig(
            BACKBONES[kind](), pooling=options.pop("pooling", "last" if causal else "mean"),
            causal=causal,
        )  # fmt: skip
        model = TransformerDiscriminator(shape)
        model.backbone.set_attn_implementation(options.pop("attention", "sdpa"))
    for name, parameter in model.named_parameters():
        torch.nn.init.normal_(parameter, std=1.0 if name.startswith(("score", "class")) else 0.3)
    form = input_format(form) if isinstance(form, str) else form
    return NeuralScorer(model, word_tokenizer([" ".join(WORDS)]), form, device="cpu", **options)


def invent(contexts: int, responses: int, longest: int = 12, seed: int = 0) -> list[Passage]:
    """Contexts of one to three turns, each with several responses, in a shuffled order."""
    rng = random.Random(seed)

    def say(most: int) -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, most)))

    passages = []
    for _ in range(contexts):
        context = tuple(Turn("AB"[turn % 2], say(longest)) for turn in range(rng.randint(1, 3)))
        passages += [Passage(context, say(longest)) for _ in range(responses)]
    rng.shuffle(passages)
    return passages


@pytest.fixture(scope="session")
def tiny_scorer():
    return build


@pytest.fixture(scope="session")
def invented():
    return invent
