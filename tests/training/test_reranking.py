"""Reranking-RL: the reward and the gradient by hand, and a reward that rises."""

import numpy as np
import pytest
import torch

from dialeval.dialogues import BadInput
from dialeval.responders.likelihood import response_log_probs, summed_log_probs
from dialeval.settings.against import AgainstConfig
from dialeval.training import GeneratorConfig, GeneratorTrainer
from dialeval.training.greedy import greedy_responses
from dialeval.training.likelihood import encoded
from dialeval.training.reranking import Reranking
from tests.closeness import assert_close
from tests.training.test_likelihood import make, weights
from tests.training.test_robust import PASSAGES, TRAIN, tokenizer  # noqa: F401

ROWS = np.array([3, 8, 11])


@pytest.mark.parametrize("over", ["responses", "tokens"])
def test_the_reward_is_minus_the_log_probability_given_other_contexts(over, tokenizer):  # noqa: F811
    generator = make("seq2seq", tokenizer)
    reranking = Reranking(generator, TRAIN, AgainstConfig(rl_contexts=2, rl_over=over), 8)
    responses = [encoded(generator, [PASSAGES[row]])[1][0] for row in ROWS]
    others = reranking.other_contexts(ROWS, step=4)
    for row, group in zip(ROWS, others, strict=True):
        assert len(group) == 2 and PASSAGES[row].id not in {item.id for item in group}
    expected = []
    for response, group in zip(responses, others, strict=True):
        prompts = encoded(generator, group)[0]
        sums, sizes = response_log_probs(generator.model, 0, prompts, [response] * 2)
        expected.append(-(sums / sizes if over == "tokens" else sums).mean())
    assert reranking.rewards(responses, others).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["gpt2", "seq2seq"])
def test_the_gradient_is_that_of_the_self_critical_loss(kind, tokenizer):  # noqa: F811
    generator = make(kind, tokenizer)
    reranking = Reranking(generator, TRAIN, AgainstConfig(rl_weight=0.7), 8)
    numbers = reranking.backward(ROWS, step=2, divisor=5.0)
    gradient = torch.cat([value.grad.flatten() for value in generator.model.parameters()])
    drawn = drawn_by(reranking, generator)
    others = reranking.other_contexts(ROWS, 2)
    greedy = greedy_responses(generator, drawn.prompts, 8)
    sampled, baseline = (reranking.rewards(rows, others) for rows in (drawn.responses, greedy))
    assert numbers == {
        "reward": pytest.approx(sampled.mean()), "greedy_reward": pytest.approx(baseline.mean()),
    }  # fmt: skip
    assert np.abs(sampled - baseline).max() > 0.1
    generator.model.zero_grad()
    log_probs = summed_log_probs(generator.model, generator.pad_id, drawn.prompts, drawn.responses)
    loss = (torch.from_numpy(baseline - sampled) * log_probs).sum() * 0.7 / 5.0
    loss.backward()
    expected = torch.cat([value.grad.flatten() for value in generator.model.parameters()])
    torch.testing.assert_close(gradient, expected, rtol=1e-3, atol=1e-6)


def drawn_by(reranking, generator):
    from dialeval.responders.decoding import TemperatureMixture
    from dialeval.responders.task import mixed_seed
    from dialeval.training.policy import draw_responses

    passages = [PASSAGES[row] for row in ROWS]
    seeds = [mixed_seed(mixed_seed(0, 2), int(row)) for row in ROWS]
    return draw_responses(generator, passages, seeds, TemperatureMixture((1.0,)), max_new_tokens=8)


def test_the_objective_is_mixed_with_the_likelihood(tokenizer):  # noqa: F811
    still = GeneratorConfig(
        epochs=1, batch_size=24, optimizer="sgd", schedule="constant", learning_rate=1.0,
        max_grad_norm=1e9,
    )  # fmt: skip

    def update(rl_weight):
        generator = make("seq2seq", tokenizer)
        trainer = GeneratorTrainer(generator, TRAIN, still)
        if rl_weight:
            trainer.reranking = Reranking(generator, TRAIN, AgainstConfig(rl_weight=rl_weight), 8)
        before = weights(generator.model)
        numbers = next(trainer.train(TRAIN))
        return before - weights(generator.model), numbers

    (likelihood, _), (mixed, numbers), (other, _) = (update(weight) for weight in (0, 0.5, 0.75))
    assert_close(numbers["loss"], update(0)[1]["loss"])
    reward = mixed - 0.5 * likelihood  # 0.5 * the gradient of L_RL
    torch.testing.assert_close(other, 0.25 * likelihood + 1.5 * reward, rtol=1e-3, atol=1e-5)


def test_the_reward_rises(tokenizer):  # noqa: F811
    generator = make("seq2seq", tokenizer)
    config = GeneratorConfig(
        epochs=12, batch_size=24, learning_rate=0.01, schedule="constant", patience=99
    )
    trainer = GeneratorTrainer(generator, TRAIN, config)
    against = AgainstConfig(rl_weight=0.9, rl_over="tokens")
    trainer.reranking = Reranking(generator, TRAIN, against, 8)
    rewards = [row["reward"] for row in trainer.train(TRAIN) if "reward" in row]
    plain = GeneratorTrainer(make("seq2seq", tokenizer), TRAIN, config)
    list(plain.train(TRAIN))
    without = Reranking(plain.generator, TRAIN, against, 8)
    numbers = without.backward(np.arange(24), 11, 24.0)
    assert rewards[-1] > numbers["reward"]  # likelihood alone makes responses more alike


def test_one_context_has_no_other(tokenizer):  # noqa: F811
    with pytest.raises(BadInput, match="needs other contexts"):
        Reranking(make("gpt2", tokenizer), TRAIN.select([0]), AgainstConfig())
