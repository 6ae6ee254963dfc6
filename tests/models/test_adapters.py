import json

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file
from torch.nn import functional as F
from transformers import DistilBertConfig

from dialeval.dialogues import BadInput
from dialeval.models import TransformerDiscriminator, TransformerDiscriminatorConfig
from dialeval.models.adapters import (
    add_lora,
    freeze_backbone,
    load_lora,
    lora_targets,
    merge_lora,
    save_lora,
)

ROWS = [[3, 4, 5, 6], [7, 8, 9], [10, 11, 12, 13, 14]]


@pytest.fixture
def batch(padded):
    return {**padded(ROWS, "right"), "labels": torch.tensor([1, 0, 1])}


def logits(model, batch) -> torch.Tensor:
    with torch.no_grad():
        return model.eval()(**batch).logits


def trained(model, batch, steps: int = 3):
    torch.manual_seed(0)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    model.train()
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(**batch).logits, batch["labels"]).backward()
        optimizer.step()
    return model.eval()


def test_adapters_change_nothing_at_the_start(transformer, batch):
    before = logits(transformer, batch)
    torch.testing.assert_close(logits(add_lora(transformer), batch), before)


def test_head_and_adapters_train_and_the_backbone_does_not(transformer, batch):
    before = {name: value.clone() for name, value in transformer.state_dict().items()}
    model = trained(add_lora(transformer), batch)
    learns = {name for name, value in model.named_parameters() if value.requires_grad}
    assert all("lora_" in name or ".score." in name for name in learns)
    assert all(value.grad is not None for name, value in model.named_parameters() if name in learns)
    base = model.get_base_model()
    assert not torch.equal(base.score.weight, before["score.weight"])
    kept = {
        name.replace(".base_layer.", "."): value
        for name, value in base.state_dict().items()
        if name.startswith("backbone.") and "lora_" not in name
    }
    assert all(torch.equal(value, before[name]) for name, value in kept.items())


@pytest.mark.parametrize("local", [False, True])
def test_a_saved_adapter_reloads_to_equal_logits(transformer, batch, tmp_path, local):
    if local:  # its folder may go away, so the base is written all the same
        transformer.save_pretrained(tmp_path / "origin")
        transformer = TransformerDiscriminator.from_pretrained(tmp_path / "origin")
    model = trained(add_lora(transformer, r=4), batch)
    save_lora(model, tmp_path / "lora").rename(tmp_path / "moved")
    again = load_lora(tmp_path / "moved")
    assert isinstance(again, PeftModel)
    assert torch.equal(logits(again, batch), logits(model, batch))
    assert not any(value.requires_grad for value in again.parameters())


def test_the_head_is_in_the_adapter_file(transformer, batch, tmp_path):
    untrained = transformer.score.weight.detach().clone()
    model = trained(add_lora(transformer), batch)
    save_lora(model, tmp_path)
    stored = load_file(tmp_path / "adapter_model.safetensors")
    head = stored["base_model.model.score.weight"]
    assert torch.equal(head, model.get_base_model().score.weight)
    assert not torch.equal(head, untrained)
    base = load_file(tmp_path / "base" / "model.safetensors")
    assert torch.equal(base["score.weight"], untrained)


def test_training_continues_after_loading(transformer, batch, tmp_path):
    save_lora(trained(add_lora(transformer), batch), tmp_path)
    again = load_lora(tmp_path, trainable=True)
    before = logits(again, batch)
    assert not torch.equal(logits(trained(again, batch), batch), before)


def test_a_merged_model_is_plain_and_equal(transformer, batch, tmp_path):
    model = trained(add_lora(transformer), batch)
    expected = logits(model, batch)
    merged = merge_lora(model)
    assert type(merged) is TransformerDiscriminator
    torch.testing.assert_close(logits(merged, batch), expected, atol=1e-5, rtol=0)
    assert all(value.requires_grad for value in merged.parameters())
    merged.save_pretrained(tmp_path)
    again = TransformerDiscriminator.from_pretrained(tmp_path)
    torch.testing.assert_close(logits(again, batch), expected, atol=1e-5, rtol=0)


def test_a_base_from_the_hub_is_kept_by_name(tiny_transformer, batch, tmp_path):
    base = tiny_transformer()
    base.config.name_or_path = base.name_or_path = "someone/ranker"
    save_lora(add_lora(base), tmp_path)
    settings = json.loads((tmp_path / "adapter_config.json").read_text())
    assert settings["base_model_name_or_path"] == "someone/ranker"
    assert not (tmp_path / "base").exists()


def test_an_adapter_without_its_base_says_so(tiny_transformer, tmp_path):
    with pytest.raises(BadInput, match="no adapter_config.json"):
        load_lora(tmp_path)
    add_lora(tiny_transformer()).save_pretrained(tmp_path / "peft")  # base_model_name_or_path: null
    with pytest.raises(BadInput, match="base of these adapters is missing"):
        load_lora(tmp_path / "peft")


def test_layers_are_chosen_by_architecture(tiny_transformer):
    assert lora_targets(tiny_transformer("gpt2")) == ("c_attn", "c_proj", "c_fc")
    assert "gate_proj" in lora_targets(tiny_transformer("llama"))
    assert lora_targets(tiny_transformer("bert")) == ("query", "key", "value", "dense")
    adapted = [name for name, _ in add_lora(tiny_transformer("bert")).named_modules()]
    assert not [name for name in adapted if "pooler" in name and "lora" in name]


def test_an_unknown_architecture_wants_its_layers_named():
    shape = DistilBertConfig(vocab_size=40, dim=16, hidden_dim=16, n_layers=1, n_heads=2)
    model = TransformerDiscriminator(TransformerDiscriminatorConfig(shape, "mean", causal=False))
    with pytest.raises(BadInput, match="distilbert.*target_modules"):
        add_lora(model)
    assert add_lora(model, target_modules=["q_lin"]).peft_config["default"].target_modules == {
        "q_lin"
    }


def test_only_the_head_of_a_frozen_backbone_trains(transformer, batch):
    before = {name: value.clone() for name, value in transformer.state_dict().items()}
    model = trained(freeze_backbone(transformer), batch)
    changed = {n for n, value in model.state_dict().items() if not torch.equal(value, before[n])}
    assert changed == {"score.weight"}
