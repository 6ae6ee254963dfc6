"""A cache with room gives what transformers' own gives."""

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from dialeval.responders.kv_cache import PreallocatedLayer, repeat_preallocated
from tests.closeness import assert_close

CONFIGS = {
    "gpt2": GPT2Config(
        vocab_size=30, n_embd=16, n_layer=2, n_head=2, n_positions=64, initializer_range=0.3
    ),
    "llama": LlamaConfig(
        vocab_size=30, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, initializer_range=0.3,
    ),
}  # fmt: skip


@pytest.fixture(params=CONFIGS)
def model(request):
    torch.manual_seed(0)
    kind = {"gpt2": GPT2LMHeadModel, "llama": LlamaForCausalLM}[request.param]
    return kind(CONFIGS[request.param]).eval()


@pytest.fixture
def read(model):
    """A new cache of three contexts of 5 tokens."""
    ids = torch.arange(15).view(3, 5)
    return lambda: model(ids, use_cache=True).past_key_values


@torch.no_grad()
def continued(model, cache, tokens, change=None):
    """Logits of tokens that are read one by one."""
    logits = []
    for step, token in enumerate(tokens.T):
        if change is not None and step == 2:
            change(cache)
        logits.append(model(token[:, None], past_key_values=cache).logits)
    return torch.cat(logits, 1)


@pytest.mark.parametrize("ahead", [0, 2, 9])
def test_logits_are_those_of_a_plain_cache(model, read, ahead):
    tokens = torch.arange(36).view(6, 6) % 30
    plain, roomy = read(), read()
    plain.batch_repeat_interleave(2)
    repeat_preallocated(roomy, 2, ahead)
    assert all(isinstance(layer, PreallocatedLayer) for layer in roomy.layers)
    expected = continued(model, plain, tokens)
    assert_close(continued(model, roomy, tokens), expected)
    assert roomy.get_seq_length() == plain.get_seq_length() == 11


@pytest.mark.parametrize(
    "change",
    [
        lambda cache: cache.reorder_cache(torch.tensor([5, 0, 1, 1, 2, 3])),
        lambda cache: cache.crop(-1),
        lambda cache: cache.batch_select_indices(torch.tensor([1, 0, 3, 2, 5, 4])),
    ],
    ids=["reorder", "crop", "select"],
)
def test_rows_and_tokens_can_be_exchanged_in_between(model, read, change):
    tokens = torch.arange(36).view(6, 6) % 30
    plain, roomy = read(), read()
    plain.batch_repeat_interleave(2)
    repeat_preallocated(roomy, 2, 9)
    expected = continued(model, plain, tokens, change)
    logits = continued(model, roomy, tokens, change)
    assert_close(logits, expected)


@torch.no_grad()
def test_nothing_is_copied_while_there_is_room(model, read):
    roomy = read()
    repeat_preallocated(roomy, 2, 3)
    places = [layer.keys.data_ptr() for layer in roomy.layers]
    continued(model, roomy, torch.arange(18).view(6, 3))
    assert [layer.keys.data_ptr() for layer in roomy.layers] == places
