"""Tiny random models and rows of tokens."""

import pytest
import torch
from transformers import BertConfig, GPT2Config, LlamaConfig

from dialeval.models import TransformerDiscriminator, TransformerDiscriminatorConfig

SHAPES = {
    "gpt2": lambda: GPT2Config(
        vocab_size=40, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=39,
        eos_token_id=39,
    ),
    "llama": lambda: LlamaConfig(
        vocab_size=40, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
    ),
    "bert": lambda: BertConfig(
        vocab_size=40, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=64,
    ),
}  # fmt: skip


def build(kind: str = "gpt2", **settings) -> TransformerDiscriminator:
    """A random discriminator with clearly different scores, in float64 on every CPU."""
    torch.manual_seed(0)
    encoder = kind == "bert"
    settings = {"pooling": "mean" if encoder else "last", "causal": not encoder, **settings}
    model = TransformerDiscriminator(TransformerDiscriminatorConfig(SHAPES[kind](), **settings))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model.double().eval()


def pad_rows(rows: list[list[int]], side: str, pad: int = 0) -> dict[str, torch.Tensor]:
    """Rows in one tensor, padded on one side, and the mask."""
    width = max(map(len, rows))

    def fill(values: list[int], value: int) -> list[int]:
        more = [value] * (width - len(values))
        return more + values if side == "left" else values + more

    return {
        "input_ids": torch.tensor([fill(row, pad) for row in rows]),
        "attention_mask": torch.tensor([fill([1] * len(row), 0) for row in rows]),
    }


@pytest.fixture(scope="session")
def tiny_transformer():
    return build


@pytest.fixture(scope="session")
def padded():
    return pad_rows


@pytest.fixture(params=SHAPES)
def transformer(request) -> TransformerDiscriminator:
    return build(request.param)
