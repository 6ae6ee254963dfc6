"""Gradients of REINFORCE and REGS against the enumeration of every response of a toy vocabulary."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from dialeval.dialogues import Passage, Turn
from dialeval.models.tokenizers import word_tokenizer
from dialeval.responders.generators import Generator
from dialeval.responders.prompts import PromptFormat
from dialeval.training.adversarial_state import GENERATOR
from dialeval.training.policy import Drawn, policy_backward
from dialeval.training.rollouts import prefix_rewards, roll_out
from tests.training.adversarial_worker import tiny_trainer

LENGTH = 3
PASSAGE = Passage((Turn("A", "b c"),), "a", id="0", dialogue_id="0")


def toy() -> Generator:
    """Seven tokens, of which one ends a response."""
    torch.manual_seed(3)
    words = word_tokenizer(["a b c"], 7)
    ids = {"bos_token_id": words.bos_token_id, "eos_token_id": words.eos_token_id}
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 16}
    shape = GPT2Config(vocab_size=len(words), initializer_range=0.6, **sizes, **ids)
    return Generator(GPT2LMHeadModel(shape), words, PromptFormat())


class Tree:
    """Every response, and differentiable probabilities of tokens after every prefix."""

    def __init__(self, generator: Generator):
        self.end = generator.end_ids[-1]
        self.prompt = generator.prompts(generator.tokenizer, [PASSAGE])[0].ids
        self.model = deepcopy(generator.model).double().eval()
        self.next: dict[tuple[int, ...], torch.Tensor] = {}
        self.responses: list[tuple[int, ...]] = []
        self.grow(())

    def grow(self, prefix: tuple[int, ...]) -> None:
        logits = self.model(torch.tensor([[*self.prompt, *prefix]])).logits[0, -1]
        self.next[prefix] = logits.softmax(-1)
        for token in range(len(logits)):
            longer = (*prefix, token)
            if token == self.end or len(longer) == LENGTH:
                self.responses.append(longer)
            else:
                self.grow(longer)

    def probability(self, prefix: tuple[int, ...]) -> torch.Tensor:
        factors = [self.next[prefix[:at]][token] for at, token in enumerate(prefix)]
        return torch.stack(factors).prod() if factors else torch.tensor(1.0).double()

    def gradients(self, objective: torch.Tensor) -> dict[str, torch.Tensor]:
        named = dict(self.model.named_parameters())
        gradients = torch.autograd.grad(objective, named.values(), retain_graph=True)
        return dict(zip(named, gradients, strict=True))


def score(response: str) -> float:
    """An arbitrary number between 0 and 1 for each text."""
    return float(np.random.default_rng([ord(letter) for letter in f"{response}."]).random())


class Scores:
    name, higher_is_human = "toy", True

    def __call__(self, passages):
        return np.array([score(text) for text in passages["response"]])


@pytest.fixture(scope="module")
def setup():
    generator = toy()
    tree = Tree(generator)
    decode = generator.tokenizer.batch_decode
    texts = decode([list(ids) for ids in tree.responses], skip_special_tokens=True)
    drawn = Drawn(
        [PASSAGE.with_response(text.strip(), "toy") for text in texts],
        [tree.prompt] * len(texts),
        [list(ids) for ids in tree.responses],
        np.ones(len(texts), bool),
        np.ones(len(texts)),
        1,
    )
    chances = np.array([tree.probability(ids).item() for ids in tree.responses])
    assert chances.sum() == pytest.approx(1)
    assert len(chances) == 1 + 6 + 36 * 7
    return generator, tree, drawn, chances


def text_score(generator: Generator, ids) -> float:
    return score(generator.tokenizer.decode(list(ids), skip_special_tokens=True).strip())


def expected_update(generator, drawn, chances, advantages) -> dict[str, torch.Tensor]:
    """The trainer's gradient, averaged over all responses with their probabilities."""
    weighted = [advantage * p for advantage, p in zip(advantages, chances, strict=True)]
    generator.model.zero_grad()
    policy_backward(generator, drawn, weighted, 1)
    named = generator.model.named_parameters()
    return {name: value.grad.clone() for name, value in named if value.grad is not None}


def agree(actual, reference, sign=-1.0, atol=2e-5) -> None:
    assert max(gradient.abs().max() for gradient in reference.values()) > 0.01
    for name, gradient in actual.items():
        torch.testing.assert_close(
            gradient.double(), sign * reference[name], rtol=0, atol=atol, msg=name
        )


def trainer_of(generator, **settings):
    return tiny_trainer(
        generator=generator, scorer=Scores(), response_tokens=LENGTH, d_steps=0, **settings
    )


def randomise(trainer) -> None:
    """A critic whose values differ from history to history and prefix to prefix."""
    torch.manual_seed(5)
    for value in trainer.baseline.model.parameters():
        torch.nn.init.normal_(value, std=0.7)


def true_gradient(generator, tree) -> dict[str, torch.Tensor]:
    """That of the expected reward, differentiated through the probability of each response."""
    return tree.gradients(
        sum(tree.probability(ids) * text_score(generator, ids) for ids in tree.responses)
    )


@pytest.mark.parametrize("baseline", ["none", "critic", "mean"])
def test_reinforce_is_the_gradient_of_the_expected_reward(setup, baseline):
    generator, tree, drawn, chances = setup
    trainer = trainer_of(generator, objective="reinforce", baseline=baseline)
    if baseline == "critic":
        randomise(trainer)
    if baseline == "mean":
        trainer.baseline.mean[:] = 0.4
    rewards, valid = trainer.rewards(drawn, np.zeros(len(drawn), int), 0)
    advantages = trainer.advantages(drawn, rewards, valid)
    if baseline != "none":
        assert not np.allclose(advantages[0], rewards[0])
    agree(expected_update(generator, drawn, chances, advantages), true_gradient(generator, tree))


def test_a_kl_penalty_is_part_of_the_objective(setup):
    generator, tree, drawn, chances = setup
    trainer = trainer_of(generator, objective="reinforce", baseline="none", kl_weight=0.3)
    torch.manual_seed(1)
    trainer.before.model = deepcopy(trainer.before.model)
    for value in trainer.before.model.parameters():
        value.data += 0.2 * torch.randn_like(value)
    before = Tree(trainer.before)
    rewards, valid = trainer.rewards(drawn, np.zeros(len(drawn), int), 0)
    update = expected_update(generator, drawn, chances, trainer.advantages(drawn, rewards, valid))
    objective = 0.0
    for ids in tree.responses:
        p, q = tree.probability(ids), before.probability(ids).detach()
        objective = objective + p * (text_score(generator, ids) - 0.3 * (p.log() - q.log()))
    agree(update, tree.gradients(objective))


def expected_over_tree(tree, value) -> torch.Tensor:
    """Eq. 3 in expectation: each token's probability times a value of the prefix it completes."""
    total = 0.0
    for prefix, chances in tree.next.items():
        reached = tree.probability(prefix).detach()
        for token, chance in enumerate(chances):
            total = total + reached * chance * value((*prefix, token))
    return total


@pytest.mark.parametrize("reads", ["state", "prefix", "history"])
def test_regs_with_partial_sequences_is_equation_three(setup, reads):
    generator, tree, drawn, chances = setup
    trainer = trainer_of(generator, objective="regs-partial", critic_reads=reads)
    randomise(trainer)
    rewards, valid = trainer.rewards(drawn, np.zeros(len(drawn), int), 0)
    for ids, reward in zip(tree.responses, rewards, strict=True):
        values = [text_score(generator, ids[: size + 1]) for size in range(len(ids))]
        np.testing.assert_allclose(reward, values)
    advantages = trainer.advantages(drawn, rewards, valid)
    baseline = {
        ids[: at + 1]: reward[at] - advantage[at]
        for ids, reward, advantage in zip(tree.responses, rewards, advantages, strict=True)
        for at in range(len(ids))
    }
    assert len({round(value, 6) for value in baseline.values()}) > (0 if reads == "history" else 4)
    # What depends on the state alone leaves the expectation as it is; b(x, Y_t) does not.
    kept = baseline if reads == "prefix" else {}
    reference = tree.gradients(
        expected_over_tree(tree, lambda ids: text_score(generator, ids) - kept.get(ids, 0.0))
    )
    agree(expected_update(generator, drawn, chances, advantages), reference)


def completed(generator, tree) -> dict[tuple[int, ...], float]:
    """The expected score of every prefix under the policy."""
    values: dict[tuple[int, ...], float] = {}
    for ids in sorted(tree.responses, key=len, reverse=True):
        values[ids] = text_score(generator, ids)
    for prefix in sorted(tree.next, key=len, reverse=True):
        chances = tree.next[prefix].detach().numpy()
        values[prefix] = sum(p * values[(*prefix, token)] for token, p in enumerate(chances))
    return values


def test_regs_by_monte_carlo_search_is_the_gradient_of_the_expected_reward(setup):
    generator, tree, drawn, chances = setup
    values = completed(generator, tree)
    exact = [np.array([values[ids[: at + 1]] for at in range(len(ids))]) for ids in tree.responses]
    agree(expected_update(generator, drawn, chances, exact), true_gradient(generator, tree))


def test_roll_outs_estimate_the_expected_reward_of_each_prefix(setup):
    generator, tree, _, _ = setup
    values = completed(generator, tree)
    words = [[4, 5, 6], [6, 6, 4], [5, 4, tree.end]]
    count, n = len(words), 400
    passages = [PASSAGE.with_response(str(row), "toy") for row in range(count)]
    ones = np.ones(count)
    drawn = Drawn(passages, [tree.prompt] * count, words, ones.astype(bool), ones, 1)
    rollouts = roll_out(generator, drawn, range(count), n, LENGTH)

    def scorer(passages):
        return np.array([score(passage.response) for passage in passages])

    rewards = prefix_rewards(scorer, generator, drawn, rollouts)
    for ids, reward in zip(words, rewards, strict=True):
        for at in range(len(ids) - 1):
            assert reward[at] == pytest.approx(values[tuple(ids[: at + 1])], abs=4 * 0.5 / n**0.5)


@pytest.mark.parametrize("objective", ["reinforce", "regs-mc"])
def test_sampled_updates_average_to_the_gradient(setup, objective):
    """End to end: the mean over sampled batches points where the enumeration does."""
    generator, tree, _, _ = setup
    settings = {"objective": objective, "baseline": "leave-one-out", "responses": 60}
    trainer = trainer_of(generator, **settings, adversarial_batch=1, rollouts=2)
    trainer._passages = lambda part, rows: [PASSAGE] * len(rows)
    sums: dict[str, torch.Tensor] = {}
    for step in range(12):
        drawn = trainer._draw("train", np.zeros(1, int), [step], 60)
        rewards, valid = trainer.rewards(drawn, np.zeros(1, int), step)
        generator.model.zero_grad()
        policy_backward(generator, drawn, trainer.advantages(drawn, rewards, valid), 60)
        for name, value in generator.model.named_parameters():
            sums[name] = sums.get(name, 0) + value.grad
    reference = true_gradient(generator, tree)
    one, other = (
        torch.cat([g[name].flatten().double() for name in sums]) for g in (sums, reference)
    )
    assert torch.nn.functional.cosine_similarity(-one, other, dim=0) > 0.9
    assert (-one / 12).norm() == pytest.approx(other.norm().item(), rel=0.25)


@pytest.mark.parametrize("step", range(4))
def test_the_update_is_on_the_sampled_response_with_the_sign_of_the_advantage(setup, step):
    """By hand: the gradient of a logit is (p - 1[token is the sampled one]) times the advantage."""
    generator, _, _, _ = setup
    settings = {"objective": "reinforce", "baseline": "none", "teacher_forcing": "none"}
    trainer = trainer_of(generator, **settings, adversarial_batch=1, policy_learning_rate=1e-30)
    caught: dict[str, torch.Tensor] = {}
    head = generator.model.get_output_embeddings()
    hooks = [
        head.register_forward_hook(lambda _, __, logits: caught.update(logits=logits.detach()[0])),
        head.register_full_backward_hook(lambda _, __, grads: caught.update(gradient=grads[0][0])),
    ]
    try:
        trainer.generator_step(step)
    finally:
        for hook in hooks:
            hook.remove()
    row = trainer._rows(GENERATOR, step)
    drawn = trainer._draw("train", row, [GENERATOR, 0, step])
    [ids], [passage] = drawn.responses, drawn.passages
    expected = caught["logits"].softmax(-1)
    expected[torch.arange(len(ids)), ids] -= 1
    expected *= score(passage.response)  # more probable, as the reward is positive
    torch.testing.assert_close(caught["gradient"], expected, rtol=0, atol=1e-6)
    assert passage.response != trainer._passages("train", row)[0].response
