"""Adversarial training: who learns what from whom, controls, guards, and when it stops."""

import json
import logging
import math

import numpy as np
import pytest
import torch

from dialeval.dialogues import BadInput
from dialeval.responders.decoding import TemperatureMixture
from dialeval.settings.adversarial import AdversarialConfig
from dialeval.training.adversarial_state import GENERATOR
from dialeval.training.baselines import GroupBaseline, MeanBaseline, carried
from dialeval.training.policy import Drawn, draw_responses, leave_one_out
from tests.closeness import assert_close
from tests.training.adversarial_worker import tiny_trainer
from tests.training.game_worker import attacker, judge, talk, weights
from tests.training.test_policy import lstm

OBJECTIVES = ("reinforce", "regs-mc", "regs-partial")


class Tea:
    """A reward: the share of "tea" among four words."""

    name, higher_is_human = "tea", True

    def __call__(self, passages):
        return np.array([text.split().count("tea") / 4 for text in passages["response"]])


def changed(before, model) -> bool:
    return any(not torch.equal(before[name], value) for name, value in model.named_parameters())


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("make", [attacker, lstm], ids=["gpt2", "lstm"])
def test_a_toy_reward_rises_and_the_policy_reaches_it(make, objective):
    trainer = tiny_trainer(
        generator=make(), scorer=Tea(), objective=objective, adversarial_batch=8, responses=3,
        baseline="leave-one-out", teacher_forcing="none", policy_learning_rate=0.03,
        iterations=25, validate_every=25, d_steps=0,
    )  # fmt: skip
    list(trainer.train())
    first, last = trainer.records
    assert first["reward"] < 0.3
    assert last["reward"] > 0.75
    assert last["kl"] > first["kl"] == 0
    assert last["entropy"] < first["entropy"]


def test_a_discriminator_in_half_precision_is_trained_in_full():
    half = judge(1)
    half.model.bfloat16()
    trainer = tiny_trainer(scorer=half)
    assert {value.dtype for value in trainer.discriminator.model.parameters()} == {torch.float32}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_each_step_changes_only_its_side(objective):
    trainer = tiny_trainer(objective=objective)
    generator, scorer = trainer.generator.model, trainer.discriminator.model
    before = weights(generator), weights(scorer), weights(trainer.baseline.model)
    trainer.discriminator_step(0)
    assert changed(before[1], scorer)
    assert not changed(before[0], generator)
    before = weights(generator), weights(scorer), weights(trainer.baseline.model)
    trainer.generator_step(0)
    assert changed(before[0], generator)
    assert not changed(before[1], scorer)
    assert changed(before[2], trainer.baseline.model)
    assert all(
        value.grad is None for value in scorer.parameters() if value.grad is not None
    ) or all(not value.grad.any() for value in scorer.parameters() if value.grad is not None)


def test_the_discriminator_learns_to_recognise_the_generator():
    trainer = tiny_trainer(adversarial_batch=16, d_steps=1, discriminator_learning_rate=0.01)
    before = trainer.validate()
    for step in range(30):
        trainer.discriminator_step(step)
    after = trainer.validate()
    assert after.human_reward - after.reward > before.human_reward - before.reward + 0.1


def test_samples_for_several_d_steps_are_drawn_together(monkeypatch):
    trainer = tiny_trainer(adversarial_batch=6, d_steps=5)
    alone = [next(trainer.negatives([step])) for step in range(5)]
    sizes = []
    draw = trainer._draw_seeded
    monkeypatch.setattr(
        trainer,
        "_draw_seeded",
        lambda part, rows, *rest: sizes.append(len(rows)) or draw(part, rows, *rest),
    )
    monkeypatch.setattr("dialeval.training.adversarial._TOGETHER", 20)  # three steps of six
    assert list(trainer.negatives(range(5))) == alone
    assert sizes == [18, 12]
    rows = trainer._rows(1, 4)
    assert [p.context for p in alone[4]] == [p.context for p in trainer._passages("train", rows)]


def test_the_last_reward_of_regs_mc_is_the_responses_own_score():
    trainer = tiny_trainer(objective="regs-mc", scorer=Tea(), d_steps=0)
    rows = trainer._rows(GENERATOR, 0)
    drawn = trainer._draw("train", rows, [0])
    rewards, _ = trainer.rewards(drawn, rows, 0)
    assert [reward[-1] for reward in rewards] == [
        p.response.split().count("tea") / 4 for p in drawn.passages
    ]
    released = tiny_trainer(objective="regs-mc", scorer=Tea(), d_steps=0, preset="released")
    previous, _ = released.rewards(drawn, rows, 0)
    for one, other in zip(rewards, previous, strict=True):
        np.testing.assert_array_equal(one[:-1], other[:-1])
        assert len(one) == 1 or other[-1] == one[-2]


def test_one_random_prefix_or_all_of_them_train_the_partial_discriminator(monkeypatch):
    seen = []
    for partial in ("one", "all"):
        trainer = tiny_trainer(objective="regs-partial", partial=partial, adversarial_batch=4)
        scorer = trainer.discriminator
        form = scorer.input_format

        def watch(tokenizer, passages, form=form):
            seen.append([passage.response for passage in passages])
            return form(tokenizer, passages)

        monkeypatch.setattr(scorer, "input_format", watch)
        trainer.discriminator_step(0)
    human = [p.response for p in trainer._passages("train", trainer._rows(1, 0))]
    one, every = seen
    assert len(one) == 8
    assert all(whole.startswith(cut) for whole, cut in zip(human, one[:4], strict=True))
    assert any(whole != cut for whole, cut in zip(human, one[:4], strict=True))
    assert len(every) > 12
    for response in human:
        words = response.split()
        assert {" ".join(words[: at + 1]) for at in range(len(words))} <= set(every)


def test_partial_rewards_are_scores_of_the_prefixes():
    trainer = tiny_trainer(objective="regs-partial", dropout=0.0)
    rows = trainer._rows(GENERATOR, 0)
    drawn = trainer._draw("train", rows, [0])
    rewards, _ = trainer.rewards(drawn, rows, 0)
    scorer = trainer.discriminator
    complete = scorer(drawn.passages)
    for row, reward in enumerate(rewards):
        assert len(reward) == len(drawn.responses[row])
        assert_close(reward[-1], complete[row])
    assert np.std(np.concatenate(rewards)) > 0


def test_teacher_forcing_lowers_perplexity_and_may_be_weighted_by_the_reward():
    results = {}
    for kind in ("none", "likelihood", "reward"):
        trainer = tiny_trainer(
            teacher_forcing=kind, scorer=Tea(), d_steps=0, baseline="mean", iterations=12,
            policy_learning_rate=0.01, adversarial_batch=16, validate_every=12,
        )  # fmt: skip
        list(trainer.train())
        results[kind] = trainer.records[-1]["perplexity"]
    assert results["likelihood"] < 0.8 * results["none"]


def test_human_responses_with_a_reward_below_the_baseline_are_left_out(monkeypatch):
    trainer = tiny_trainer(teacher_forcing="reward", scorer=Tea(), d_steps=0, baseline="mean")
    trainer.baseline.mean[:] = 0.2
    given = []
    monkeypatch.setattr(
        "dialeval.training.adversarial.policy_backward",
        lambda generator, drawn, advantages, *_, **__: given.append((drawn, advantages)) or 0.0,
    )
    rows = np.arange(20)
    trainer._teacher_forcing(rows, trainer._draw("train", rows, [0]), [np.zeros(1)] * 20, 20, 0)
    [(human, advantages)] = given
    scores = np.array([p.response.split().count("tea") / 4 for p in human.passages])
    np.testing.assert_allclose(advantages, np.maximum(scores - 0.2, 0))
    assert (advantages == 0).any() and (advantages > 0).any()
    assert [p.author for p in human.passages] == ["human"] * 20


@pytest.mark.parametrize("control", ["constant", "shuffled", "length"])
def test_controls_do_not_depend_on_what_is_said(control):
    scorer = Tea() if control == "shuffled" else None
    trainer = tiny_trainer(control=control, scorer=scorer or judge(1), adversarial_batch=16)
    rows = trainer._rows(GENERATOR, 0)
    drawn = trainer._draw("train", rows, [0])
    rewards = [reward[-1] for reward in trainer.rewards(drawn, rows, 0)[0]]
    if control == "constant":
        assert set(rewards) == {1.0}
    elif control == "length":
        assert rewards == [len(ids) / 4 for ids in drawn.responses]
    else:
        true = Tea()({"response": [p.response for p in drawn.passages]})
        assert sorted(rewards) == sorted(true) and rewards != true.tolist()


def test_a_validation_reports_the_reward_that_is_trained_on():
    trainer = tiny_trainer(control="length", scorer=judge(1))
    record = trainer.validate()
    assert record.reward == pytest.approx(record.length / 4)  # of 4 tokens
    human = trainer._human(np.arange(20))
    assert trainer.reward.of_complete(human, trainer.config).tolist() == [
        len(ids) / 4 for ids in human.responses
    ]


def test_a_constant_reward_with_a_group_baseline_teaches_nothing():
    trainer = tiny_trainer(
        control="constant", responses=2, baseline="group", teacher_forcing="none", d_steps=0
    )
    before = weights(trainer.generator.model)
    trainer.generator_step(0)
    assert not changed(before, trainer.generator.model)


def drawn_of(lengths: list[int], n: int) -> Drawn:
    count = len(lengths)
    ids = [list(range(size)) for size in lengths]
    return Drawn(list(range(count)), ids, ids, np.ones(count, bool), np.ones(count), n)


def test_baselines_by_hand():
    rewards = [np.array([0.2, 0.4]), np.array([0.8]), np.array([1.0, 0.0]), np.array([0.0, 0.6])]
    np.testing.assert_allclose(carried(rewards)[1], [0.8, 0.8])
    drawn = drawn_of([2, 1, 2, 2], 2)
    group = GroupBaseline().values(drawn, rewards)
    np.testing.assert_allclose(np.concatenate(group), [0.5, 0.6, 0.5, 0.5, 0.3, 0.5, 0.3])
    others = GroupBaseline(leave_out=True).values(drawn, rewards)
    np.testing.assert_allclose(np.concatenate(others), [0.8, 0.8, 0.2, 0.0, 0.6, 1.0, 0.0])
    np.testing.assert_allclose(leave_one_out(np.array([1.0, 0.0, 0.5]), 3), [0.25, 0.75, 0.5])
    running = MeanBaseline(2)
    running.learn(drawn, rewards, np.ones(4, bool))
    np.testing.assert_allclose(running.mean, [0.5, 1 / 3, (0.4 + 0.8 + 0.0 + 0.6) / 4])
    running.learn(drawn, [np.ones(2)] * 4, np.array([True, False, False, False]))
    np.testing.assert_allclose(running.mean, [0.55, 0.9 / 3 + 0.1, 0.9 * 0.45 + 0.1])


def test_the_critic_learns_the_reward_of_prefixes():
    trainer = tiny_trainer(
        objective="regs-partial", scorer=Tea(), d_steps=0, critic_reads="prefix",
        critic_learning_rate=0.02, adversarial_batch=16, critic_size=16,
    )  # fmt: skip
    losses = []
    for step in range(40):
        drawn = trainer._draw("train", trainer._rows(GENERATOR, step), [step])
        rewards, valid = trainer.rewards(drawn, trainer._rows(GENERATOR, step), step)
        losses.append(trainer.baseline.learn(drawn, rewards, valid)["critic_loss"])
    assert np.mean(losses[-5:]) < 0.4 * np.mean(losses[:5])


def test_whitened_advantages_have_mean_zero_and_unit_variance():
    trainer = tiny_trainer(objective="regs-partial", whiten=True, adversarial_batch=8)
    rows = trainer._rows(GENERATOR, 0)
    drawn = trainer._draw("train", rows, [0])
    flat = np.concatenate(trainer.advantages(drawn, *trainer.rewards(drawn, rows, 0)))
    assert abs(flat.mean()) < 1e-9 and flat.std() == pytest.approx(1)


def test_whitening_counts_every_token_that_a_penalty_makes_different():
    trainer = tiny_trainer(whiten=True, kl_weight=0.5, adversarial_batch=8)
    for weight in trainer.generator.model.parameters():  # away from the first generator
        weight.data += 0.05 * torch.randn_like(weight)
    rows = trainer._rows(GENERATOR, 0)
    drawn = trainer._draw("train", rows, [0])
    advantages = trainer.advantages(drawn, *trainer.rewards(drawn, rows, 0))
    assert any(np.ptp(row) > 1e-6 for row in advantages)
    flat = np.concatenate(advantages)
    assert abs(flat.mean()) < 1e-9 and flat.std() == pytest.approx(1)


def test_all_prefixes_in_parts_make_the_update_of_one_batch():
    updates = []
    for parts in (1, 3):
        trainer = tiny_trainer(
            objective="regs-partial", partial="all", dropout=0.0, adversarial_batch=5,
            training={"gradient_accumulation_steps": parts},
        )  # fmt: skip
        model = trainer.discriminator.model
        trainer.discriminator_optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        trainer.discriminator_step(0)
        updates.append([weight.detach().clone() for weight in model.parameters()])
    for one, other in zip(*updates, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-6)


def test_seconds_of_an_interrupted_training_are_added(tmp_path, monkeypatch):
    clock = iter(range(1_000))
    module = "dialeval.training.adversarial_state.compute_seconds"
    monkeypatch.setattr(module, lambda device: float(next(clock)))
    first = tiny_trainer(tmp_path)
    first.save()
    used = json.loads((tmp_path / "checkpoint" / "state.json").read_text("utf-8"))["seconds"]
    second = tiny_trainer(tmp_path)
    assert second.resume() and used > 0
    assert second.seconds == used + 1  # one tick since it began


def test_a_reward_that_never_varies_is_reported_with_its_share(caplog):
    trainer = tiny_trainer(scorer=lambda passages: np.full(len(passages), 0.3), d_steps=0,
                           iterations=2, validate_every=2)  # fmt: skip
    with caplog.at_level(logging.WARNING):
        list(trainer.train())
    assert trainer.records[-1]["constant_share"] == 1
    assert "did not vary within 100% of batches" in caplog.text


def test_responses_without_a_reward_are_left_out(caplog):
    def half(passages):
        return np.where(np.arange(len(passages)) % 2, np.nan, 0.7)

    trainer = tiny_trainer(scorer=half, d_steps=0, iterations=1, validate_every=1)
    with caplog.at_level(logging.WARNING):
        list(trainer.train())
    assert trainer.records[-1]["invalid"] == 2
    assert trainer.records[-1]["accuracy"] == 0.5  # ties, over pairs with both rewards
    assert "was not a number for 2 responses" in caplog.text
    assert all(torch.isfinite(value).all() for value in trainer.generator.model.parameters())
    trainer = tiny_trainer(scorer=lambda passages: np.full(len(passages), np.nan), d_steps=0)
    with pytest.raises(BadInput, match="not a number for any of 4 responses"):
        trainer.generator_step(0)


def test_a_gradient_that_is_not_a_number_leaves_the_weights(monkeypatch, caplog):
    trainer = tiny_trainer(teacher_forcing="none", scorer=Tea(), d_steps=0)
    before = weights(trainer.generator.model)
    monkeypatch.setattr(trainer, "advantages", lambda drawn, *_: [
        np.full(len(ids), math.inf) for ids in drawn.responses])  # fmt: skip
    with caplog.at_level(logging.WARNING):
        trainer.generator_step(0)
    assert trainer.skipped == 1 and "left out" in caplog.text
    assert not changed(before, trainer.generator.model)


def test_a_collapsed_generator_is_reported(monkeypatch, caplog):
    trainer = tiny_trainer()
    real = trainer._samples
    monkeypatch.setattr(
        trainer, "_samples", lambda rows: [(row[0], "i see", *row[2:]) for row in real(rows)]
    )
    with caplog.at_level(logging.WARNING):
        trainer._record()
    assert "the generator collapsed; 100% of its responses are 'i see'" in caplog.text


def test_it_stops_when_perplexity_explodes_and_goes_back(tmp_path, monkeypatch):
    trainer = tiny_trainer(tmp_path, max_perplexity=1.5, iterations=9, validate_every=1)
    kept, real = {}, trainer.validate

    def validate():
        record = real()
        if trainer.iteration == 2:
            kept.update(weights(trainer.generator.model))
        exploded = 1e6 if trainer.iteration > 2 else record.perplexity
        return type(record)(**{**vars(record), "perplexity": exploded})

    monkeypatch.setattr(trainer, "validate", validate)
    list(trainer.train())
    assert (trainer.iteration, trainer.stopped) == (3, "perplexity")
    assert not changed(kept, trainer.generator.model)


def test_a_corpus_too_small_for_its_batch_is_refused():
    with pytest.raises(BadInput, match="the train part has 20 contexts, but a batch needs 21"):
        tiny_trainer(adversarial_batch=21)


def test_a_folder_of_another_configuration_is_refused(tmp_path):
    list(tiny_trainer(tmp_path, iterations=1).train())
    with pytest.raises(BadInput, match="other settings: d_steps, rollouts"):
        list(tiny_trainer(tmp_path, iterations=1, d_steps=1, rollouts=3).train())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "magic"}, "`objective` is one of likelihood, reinforce"),
        ({"baseline": "group"}, "compares the responses to a context, but `responses` is 1"),
        ({"rollouts": 0}, "`rollouts` is 1 or more"),
        ({"kl_weight": -1.0}, "`kl_weight` is 0 or more"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(BadInput, match=message):
        AdversarialConfig(**settings)


def test_a_reward_that_returns_something_else_is_refused():
    trainer = tiny_trainer(scorer=lambda passages: np.zeros(3), d_steps=0)
    with pytest.raises(BadInput, match=r"returned an array of shape \(3,\) for 4 responses"):
        trainer.generator_step(0)


def test_adapters_are_trained_and_the_reference_is_the_model_without_them():
    from dialeval.training.generator import with_lora

    generator = attacker()
    torch.manual_seed(0)
    generator.model = with_lora(generator.model)
    trainer = tiny_trainer(
        generator=generator, scorer=Tea(), d_steps=0, objective="regs-mc", adversarial_batch=8,
        responses=3, baseline="leave-one-out", policy_learning_rate=0.05, kl_weight=0.01,
        iterations=4, validate_every=2,
    )  # fmt: skip
    base = {n: v.clone() for n, v in generator.model.named_parameters() if not v.requires_grad}
    list(trainer.train())
    assert not changed(base, type("Part", (), {"named_parameters": lambda _: (
        (n, v) for n, v in generator.model.named_parameters() if n in base)})())  # fmt: skip
    assert trainer.records[0]["kl"] == pytest.approx(0, abs=1e-5)
    assert abs(trainer.records[-1]["kl"]) > 1e-3


PLAIN = TemperatureMixture((1.0,))


@pytest.mark.parametrize("training", [
    {"gradient_accumulation_steps": 3}, {"gradient_checkpointing": True}, {"precision": "bf16"},
])  # fmt: skip
def test_memory_settings_make_the_same_update(training):
    updates = []
    for settings in ({}, training):
        trainer = tiny_trainer(
            dropout=0.0, training={"optimizer": "sgd", "max_grad_norm": 0.0, **settings},
            policy_learning_rate=1.0, adversarial_batch=6, objective="regs-partial",
            baseline="mean",
        )  # fmt: skip
        trainer.discriminator_step(0)
        trainer.generator_step(0)
        updates.append(weights(trainer.generator.model))
    start = weights(attacker(0, 0.0).model)
    moves = [torch.cat([(update[n] - start[n]).flatten() for n in start]) for update in updates]
    if "precision" in training:  # bfloat16 has 8 bits of precision
        assert torch.nn.functional.cosine_similarity(*moves, dim=0) > 0.98
        assert not torch.equal(*moves)
    else:
        torch.testing.assert_close(*moves, rtol=0, atol=1e-5)
    assert moves[1].abs().max() > 1e-3


def test_models_without_gradient_checkpointing_say_so():
    with pytest.raises(BadInput, match="do not support gradient checkpointing"):
        tiny_trainer(generator=lstm(), training={"gradient_checkpointing": True})


def test_responses_are_drawn_from_the_policy_as_it_is():
    trainer = tiny_trainer()
    rows = trainer._rows(GENERATOR, 0)
    drawn = trainer._draw("train", rows, [7])
    seeds = [trainer._seed([7, row]) for row in rows.tolist()]
    again = draw_responses(trainer.generator, trainer._passages("train", rows), seeds, PLAIN, 1, 4)
    assert drawn.responses == again.responses
    assert len(talk(20)) == 20
