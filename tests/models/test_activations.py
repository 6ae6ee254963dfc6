"""GELU in one pass: the same values, and only while the context lasts."""

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from dialeval.models.activations import fused_activations


def test_fused_activations_give_the_same_logits_and_leave_the_model_as_it_was():
    torch.manual_seed(0)
    shape = {
        "n_embd": 32,
        "n_layer": 2,
        "n_head": 2,
        "n_positions": 16,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    model = GPT2LMHeadModel(GPT2Config(vocab_size=50, **shape)).eval()
    ids = torch.arange(12)[None]
    plain = model(ids).logits
    with pytest.raises(RuntimeError, match="stop"), fused_activations(model):
        assert all("forward" in vars(block.mlp.act) for block in model.transformer.h)
        fused = model(ids).logits
        raise RuntimeError("stop")
    assert torch.allclose(fused, plain, atol=1e-5)
    assert not any("forward" in vars(block.mlp.act) for block in model.transformer.h)
