"""Drawing responses and their loss, against one response at a time."""

from copy import copy, deepcopy

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from dialeval.dialogues import BadInput, Passage, iterate
from dialeval.models import Seq2SeqConfig, Seq2SeqGenerator
from dialeval.responders.decoding import TemperatureMixture
from dialeval.responders.generators import Generator
from dialeval.responders.prompts import PromptFormat
from dialeval.training.policy import Drawn, draw_responses, group_advantages, policy_backward
from tests.closeness import tolerance
from tests.training.game_worker import attacker, talk, tokenizer

PLAIN = TemperatureMixture((1.0,))


def lstm() -> Generator:
    torch.manual_seed(0)
    words = tokenizer()
    ids = {"bos_token_id": words.bos_token_id, "eos_token_id": words.eos_token_id}
    sizes = {"hidden_size": 12, "num_layers": 1, "dropout": 0.5, "init_range": 0.5}
    model = Seq2SeqGenerator(Seq2SeqConfig(vocab_size=len(words), **sizes, **ids))
    return Generator(model, words, PromptFormat())


def llama() -> Generator:
    torch.manual_seed(0)
    words = tokenizer()
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.3}
    config = LlamaConfig(vocab_size=len(words), **sizes, **heads, eos_token_id=words.eos_token_id)
    return Generator(LlamaForCausalLM(config), words, PromptFormat())


def eager() -> Generator:
    generator = attacker(0)
    generator.model.set_attn_implementation("eager")
    return generator


MAKERS = {"gpt2": attacker, "gpt2-eager": eager, "llama": llama, "lstm": lstm}


@pytest.fixture(params=MAKERS)
def generator(request) -> Generator:
    return MAKERS[request.param]()


def passages_of(count: int) -> list[Passage]:
    return list(iterate(talk(count)))


def given(n: int = 3) -> tuple[Drawn, np.ndarray]:
    """Responses of 1 to 6 tokens to contexts of 1 to 7, of which two are the same, and weights."""
    rng = np.random.default_rng(3)
    sizes = [4, 1, 7, 2]
    contexts = [rng.integers(4, 20, size).tolist() for size in sizes]
    contexts.append(list(contexts[0]))
    prompts = [context for context in contexts for _ in range(n)]
    responses = [rng.integers(3, 20, 1 + row % 6).tolist() for row in range(len(prompts))]
    temperatures = np.repeat([0.3, 1.0, 10.0, 100.0, 1.0], n)
    passages = list(range(len(prompts)))  # what they say does not matter here
    advantages = rng.normal(size=len(prompts))
    advantages[2] = 0.0
    drawn = Drawn(passages, prompts, responses, np.ones(len(prompts), bool), temperatures, n)
    return drawn, advantages


def log_prob(generator: Generator, prompt: list[int], response: list[int], temperature: float):
    """log P(response | prompt) by one forward pass over one row."""
    model = generator.model
    if generator.is_encoder_decoder:
        start = model.generation_config.decoder_start_token_id
        before = torch.tensor([[start, *response[:-1]]])
        logits = model(input_ids=torch.tensor([prompt]), decoder_input_ids=before).logits[0]
    else:
        logits = model(torch.tensor([[*prompt, *response]])).logits[0, len(prompt) - 1 : -1]
    chosen = torch.log_softmax(logits / temperature, -1)
    return chosen.gather(1, torch.tensor(response)[:, None]).sum()


Gradients = dict[str, torch.Tensor]


def expected(generator, drawn, advantages, divisor, by_length=False, at_temperature=False):
    """Loss, gradients and the sum of their absolute terms, one response at a time in float64."""
    double = copy(generator)
    double.model = deepcopy(generator.model).double().eval()
    double.model.zero_grad()
    loss, total, size = 0.0, {}, {}
    for row, (prompt, response) in enumerate(zip(drawn.prompts, drawn.responses, strict=True)):
        temperature = drawn.temperatures[row] if at_temperature else 1.0
        value = log_prob(double, prompt, response, temperature) * advantages[row]
        term = -value / (len(response) if by_length else 1) / divisor
        term.backward()
        loss += term.item()
        for name, gradient in gradients(double).items():
            total[name] = total.get(name, 0) + gradient
            size[name] = size.get(name, 0) + gradient.abs()
    return loss, total, size


def gradients(generator: Generator) -> Gradients:
    named = generator.model.named_parameters()
    copies = {name: value.grad.clone() for name, value in named if value.grad is not None}
    generator.model.zero_grad()
    return copies


def agree(actual: Gradients, reference: Gradients, size: Gradients) -> None:
    """Fail where gradients differ by more than rounding, given the size of the terms they sum."""
    assert actual.keys() == reference.keys()
    assert max(gradient.abs().max() for gradient in reference.values()) > 0.01
    for name, gradient in actual.items():
        atol = tolerance(size[name].max().item())
        torch.testing.assert_close(
            gradient.double(), reference[name].double(), rtol=0, atol=atol, msg=name
        )


@pytest.mark.parametrize("batch_tokens", [1, 30, 10_000])
@pytest.mark.parametrize("average_over", ["responses", "tokens"])
@pytest.mark.parametrize("at_temperature", [False, True])
def test_the_gradient_is_that_of_single_responses(
    generator, average_over, at_temperature, batch_tokens
):
    drawn, advantages = given()
    settings = {"average_over": average_over, "at_temperature": at_temperature}
    loss = policy_backward(generator, drawn, advantages, 5, batch_tokens=batch_tokens, **settings)
    by_length = average_over == "tokens"
    reference = expected(generator, drawn, advantages, 5, by_length, at_temperature)
    assert loss == pytest.approx(reference[0], abs=tolerance(np.abs(advantages).sum()))
    agree(gradients(generator), *reference[1:])


def test_gradients_add_up_over_calls(generator):
    drawn, advantages = given()
    policy_backward(generator, drawn, advantages, 5)
    policy_backward(generator, drawn, advantages, 5)
    halved = {name: gradient / 2 for name, gradient in gradients(generator).items()}
    agree(halved, *expected(generator, drawn, advantages, 5)[1:])


@pytest.mark.parametrize("word", ["yes", "house"])
def test_padding_does_not_matter(generator, word):
    drawn, advantages = given()
    generator.tokenizer.pad_token = word
    policy_backward(generator, drawn, advantages, 5)
    agree(gradients(generator), *expected(generator, drawn, advantages, 5)[1:])


def test_dropout_is_off_in_the_loss(generator):
    drawn, advantages = given()
    generator.model.train()
    policy_backward(generator, drawn, advantages, 5)
    agree(gradients(generator), *expected(generator, drawn, advantages, 5)[1:])


def test_without_advantages_or_tokens_there_is_no_gradient(generator):
    drawn, advantages = given()
    assert policy_backward(generator, drawn, np.zeros(len(drawn)), 5) == 0
    assert not gradients(generator)
    drawn.responses = [[] for _ in drawn.responses]
    assert policy_backward(generator, drawn, advantages, 5) == 0


@pytest.mark.parametrize("distinct_first", [False, True])
@pytest.mark.parametrize("make", [attacker, lstm])
def test_contexts_are_answered_together_as_alone(make, distinct_first):
    generator, passages = make(), passages_of(6)
    decoding = TemperatureMixture(distinct_first=distinct_first)
    together = draw_responses(generator, passages, range(6), decoding, 3, 5)
    alone = [
        draw_responses(generator, [passage], [seed], decoding, 3, 5)
        for seed, passage in enumerate(passages)
    ]
    assert together.responses == [ids for drawn in alone for ids in drawn.responses]
    assert together.prompts == [ids for drawn in alone for ids in drawn.prompts]
    for name in ("finished", "temperatures"):
        separate = np.concatenate([getattr(drawn, name) for drawn in alone])
        np.testing.assert_array_equal(getattr(together, name), separate)
    assert len({tuple(ids) for ids in together.responses}) > 6
    if distinct_first:
        firsts = np.array([ids[0] for ids in together.responses]).reshape(6, 3)
        assert all(len(set(row)) == 3 for row in firsts.tolist())


def test_responses_to_a_context_share_its_temperature():
    passages = passages_of(20) * 2
    drawn = draw_responses(attacker(), passages, range(40), TemperatureMixture(), 3, 2)
    groups = drawn.temperatures.reshape(40, 3)
    assert (groups == groups[:, :1]).all()
    assert set(groups[:, 0]) == {0.3, 1.0, 10.0, 100.0}


def test_a_turn_can_share_one_temperature():
    decoding, passages = TemperatureMixture(per="turn"), passages_of(8)
    turns = [
        draw_responses(attacker(), passages, range(8), decoding, 1, 1, turn=turn).temperatures
        for turn in range(20)
    ]
    assert all(len(set(temperatures)) == 1 for temperatures in turns)
    assert len({temperatures[0] for temperatures in turns}) > 1


def test_dropout_is_off_in_sampling_and_training_mode_is_restored():
    generator, passages = attacker(dropout=0.5), passages_of(6)
    calm = draw_responses(generator, passages, range(6), PLAIN, 2, 5)
    assert not generator.model.training
    generator.model.train()
    again = draw_responses(generator, passages, range(6), PLAIN, 2, 5)
    assert again.responses == calm.responses
    assert generator.model.training


def test_a_model_that_fails_is_left_as_it_was(monkeypatch):
    generator = attacker()
    generator.model.train()
    monkeypatch.setattr(Generator, "generate", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        draw_responses(generator, passages_of(2), range(2), PLAIN)
    assert generator.model.training


def test_drawn_responses_keep_context_author_and_ids():
    generator, passages = attacker(), passages_of(8)
    drawn = draw_responses(generator, passages, range(8), PLAIN, 2, 6, author="someone")
    end = generator.tokenizer.eos_token_id
    assert len(drawn) == len(drawn.passages) == 16
    for row, (passage, ids) in enumerate(zip(drawn.passages, drawn.responses, strict=True)):
        source = passages[row // 2]
        assert (passage.id, passage.context) == (source.id, source.context)
        assert passage.author == "someone"
        words = generator.tokenizer.decode(ids, skip_special_tokens=True)
        assert passage.response == words.strip()
        assert drawn.finished[row] == (ids[-1] == end)
        assert end not in ids[:-1]
        assert len(ids) == 6 or drawn.finished[row]
    assert 0 < drawn.finished.sum() < 16


def test_prompts_leave_room_for_responses():
    generator, passages = attacker(), passages_of(2)
    drawn = draw_responses(generator, passages, range(2), PLAIN, 1, 61)
    assert max(map(len, drawn.prompts)) <= 64 - 61
    with pytest.raises(BadInput, match="`max_length` is at least 1"):
        draw_responses(generator, passages, range(2), PLAIN, 1, 64)


def test_advantages_by_hand():
    advantages = group_advantages(np.array([0.2, 0.4, 0.9, 1.0, 1.0, 1.0]), 3)
    np.testing.assert_allclose(advantages, [-0.3, -0.1, 0.4, 0, 0, 0], atol=1e-12)


@pytest.mark.parametrize("make", [attacker, lstm])
def test_a_reward_is_learned(make):
    generator = make()
    wanted = generator.tokenizer.convert_tokens_to_ids("tea")
    optimizer = torch.optim.Adam(generator.model.parameters(), lr=0.03)
    passages, shares = passages_of(8), []
    for step in range(40):
        seeds = [100 * step + row for row in range(8)]
        drawn = draw_responses(generator, passages, seeds, PLAIN, 4, 4)
        rewards = np.array([ids.count(wanted) / 4 for ids in drawn.responses])
        policy_backward(generator, drawn, group_advantages(rewards, 4), 8)
        optimizer.step()
        optimizer.zero_grad()
        shares.append(rewards.mean())
    assert np.mean(shares[:5]) < 0.3
    assert np.mean(shares[-5:]) > 0.8
