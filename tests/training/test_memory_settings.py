"""Accumulation, mixed precision and checkpointing: settings of every trainer, same updates."""

from itertools import islice

import numpy as np
import pytest
import torch

from dialeval.dialogues import BadInput, Pairing, iterate, to_passages
from dialeval.training import (
    DiscriminatorConfig,
    DiscriminatorTrainer,
    GeneratorConfig,
    GeneratorTrainer,
)
from dialeval.training.updates import enable_checkpointing, parts_of
from tests.training.game_worker import attacker, judge, talk, tiny_game

CHANGES = [
    {"gradient_accumulation_steps": 3}, {"gradient_checkpointing": True}, {"precision": "bf16"},
]  # fmt: skip


def flat(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([value.detach().flatten() for value in model.parameters()]).clone()


def generator_update(**settings) -> torch.Tensor:
    generator = attacker(0, 0.0)
    start = flat(generator.model)
    config = GeneratorConfig(
        batch_size=8, optimizer="sgd", learning_rate=1.0, schedule="constant", **settings
    )
    trainer = GeneratorTrainer(generator, talk(16), config)
    list(islice(trainer.train(talk(6, seed=1)), 1))
    return flat(generator.model) - start


def discriminator_update(**settings) -> torch.Tensor:
    scorer = judge(1, 0.0)
    start = flat(scorer.model)
    human = talk(16)
    machine = to_passages(p.with_response("no no", "bot") for p in iterate(human))
    pairs = Pairing("human_machine")(human, machine)
    config = DiscriminatorConfig(batch_size=8, optimizer="sgd", learning_rate=1.0, **settings)
    trainer = DiscriminatorTrainer(scorer.model, scorer.tokenizer, scorer.input_format, config)
    list(islice(trainer.train(pairs, pairs), 1))
    return flat(scorer.model) - start


def game_update(tmp_path, **settings) -> torch.Tensor:
    game = tiny_game(tmp_path, 0.0, attack_batch=6, defence_batch=6, **settings)
    sides = game.generator.model, game.defender.hvm.model
    start = torch.cat([flat(model) for model in sides])
    game.attacker_optimizer, game.defender_optimizer = (
        torch.optim.SGD(model.parameters(), lr=1.0) for model in sides
    )
    game._collect(0)
    game.attack_step()
    game._collect(1)
    game.defence_step()
    return torch.cat([flat(model) for model in sides]) - start


UPDATES = {"generator": generator_update, "discriminator": discriminator_update}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
@pytest.mark.parametrize("trainer", [*UPDATES, "game"])
def test_a_setting_that_saves_memory_makes_the_same_update(trainer, change, tmp_path):
    def update(folder: str, **settings) -> torch.Tensor:
        if trainer == "game":
            return game_update(tmp_path / folder, **settings)
        return UPDATES[trainer](**settings)

    plain, changed = update("plain"), update("changed", **change)
    assert plain.abs().max() > 1e-3
    if "precision" in change:  # bfloat16 has 8 bits of precision
        assert torch.nn.functional.cosine_similarity(plain, changed, dim=0) > 0.98
        assert not torch.equal(plain, changed)
    else:
        torch.testing.assert_close(plain, changed, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"precision": "fp8"}, "`precision` is one of no, bf16"),
        ({"gradient_accumulation_steps": 0}, "`gradient_accumulation_steps` is 1 or more"),
    ],
)
@pytest.mark.parametrize("config", [GeneratorConfig, DiscriminatorConfig])
def test_bad_settings_are_refused(config, settings, message):
    with pytest.raises(BadInput, match=message):
        config(**settings)


def test_all_prefixes_do_not_form_pairs():
    with pytest.raises(BadInput, match="do not form pairs"):
        DiscriminatorConfig(all_prefixes=True, loss="pairwise")


def test_activations_are_computed_again_without_dropout():
    """Layers whose activations are recomputed are in training mode, their dropout is not."""
    from dialeval.training.policy import policy_backward
    from tests.training.test_policy import given, gradients

    generator = attacker(0, 0.5)
    drawn, advantages = given()
    policy_backward(generator, drawn, advantages, 5)
    plain = gradients(generator)
    enable_checkpointing(generator.model)
    policy_backward(generator, drawn, advantages, 5)
    for name, gradient in gradients(generator).items():
        torch.testing.assert_close(gradient, plain[name], rtol=0, atol=1e-5)
    assert not any(module.training for module in generator.model.modules())


def test_parts_are_never_empty():
    assert [len(part) for part in parts_of(np.arange(2), 5)] == [1, 1]
