"""Roll-outs from prefixes, against `generate` for one prefix at a time with the same noise."""

import numpy as np
import pytest
import torch
from transformers import GPTBigCodeConfig, GPTBigCodeForCausalLM

from dialeval.dialogues import BadInput
from dialeval.responders.decoding import TemperatureMixture
from dialeval.responders.generators import Generator
from dialeval.responders.processors import RowNoise, RowTemperature
from dialeval.responders.prompts import PromptFormat
from dialeval.responders.task import mixed_seed, truncate_at_end
from dialeval.training.policy import draw_responses
from dialeval.training.rollouts import Rollouts, prefix_rewards, roll_out
from tests.training.game_worker import attacker, tokenizer
from tests.training.test_policy import MAKERS, passages_of

MIXED = TemperatureMixture((0.7, 1.0, 3.0))


def drawn_by(generator, contexts: int = 5, n: int = 2, new: int = 7):
    return draw_responses(generator, passages_of(contexts), range(contexts), MIXED, n, new)


def one_by_one(generator, drawn, seeds, n: int, new: int) -> list[list[int]]:
    """The same roll-outs, each by a `generate` that reads context and prefix again."""
    rows = []
    for row, (prompt, response) in enumerate(zip(drawn.prompts, drawn.responses, strict=True)):
        for size in range(1, len(response)):
            noise = [mixed_seed(mixed_seed(seeds[row], size), copy) for copy in range(n)]
            warm = RowTemperature([drawn.temperatures[row]] * n)
            inputs = {"max_new_tokens": new - size, "do_sample": False}
            if generator.is_encoder_decoder:
                start = generator.model.generation_config.decoder_start_token_id
                inputs["decoder_input_ids"] = torch.tensor([[start, *response[:size]]] * n)
                inputs["input_ids"] = torch.tensor([prompt] * n)
                width = size + 1
            else:
                inputs["input_ids"] = torch.tensor([[*prompt, *response[:size]]] * n)
                width = len(prompt) + size
            inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
            processors = [warm, RowNoise(noise, width)]
            ids = generator.model.generate(**inputs, logits_processor=processors)[:, width:]
            rows += [[*response[:size], *new_ids] for new_ids, _ in truncate_at_end(ids, generator)]
    return rows


@pytest.mark.parametrize("max_rows", [3, 1000])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_rollouts_are_those_of_single_prefixes(make, max_rows):
    generator = make()
    drawn = drawn_by(generator)
    seeds = list(range(100, 100 + len(drawn)))
    rollouts = roll_out(generator, drawn, seeds, 3, 7, max_rows)
    expected = one_by_one(generator, drawn, seeds, 3, 7)
    assert rollouts.ids == expected
    assert len(rollouts) == 3 * sum(len(ids) - 1 for ids in drawn.responses) > 50
    assert len({len(ids) for ids in rollouts.ids}) > 2  # some end early


@pytest.mark.parametrize("make", [attacker, MAKERS["lstm"]])
def test_responses_are_read_in_groups_that_fit_into_memory(make, monkeypatch):
    generator = make()
    drawn = drawn_by(generator)
    together = roll_out(generator, drawn, range(len(drawn)), 3, 7)
    monkeypatch.setattr("dialeval.training.rollouts.MAX_LOGITS", 500)
    assert roll_out(generator, drawn, range(len(drawn)), 3, 7).ids == together.ids


def test_rollouts_that_ended_do_not_run_past_the_last_position():
    torch.manual_seed(0)
    words, new = tokenizer(), 26
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 4 + new}
    shape = GPTBigCodeConfig(
        vocab_size=len(words), initializer_range=0.3, eos_token_id=words.eos_token_id, **sizes
    )
    generator = Generator(GPTBigCodeForCausalLM(shape), words, PromptFormat())
    drawn = drawn_by(generator, new=new)
    assert max(map(len, drawn.prompts)) == 4  # cut, so that the whole response fits
    assert max(map(len, drawn.responses)) > 10
    rollouts = roll_out(generator, drawn, range(len(drawn)), 1, new)
    assert rollouts.ids == one_by_one(generator, drawn, range(len(drawn)), 1, new)


def test_rollouts_do_not_depend_on_the_batch():
    generator = attacker()
    drawn = drawn_by(generator, 4, 1)
    together = roll_out(generator, drawn, range(4), 2, 7)
    for row in range(4):
        alone = draw_responses(generator, passages_of(4)[row : row + 1], [row], MIXED, 1, 7)
        rollouts = roll_out(generator, alone, [row], 2, 7)
        where = np.flatnonzero(together.response == row)
        assert rollouts.ids == [together.ids[at] for at in where]


def test_responses_of_one_token_have_no_rollouts():
    generator = attacker()
    drawn = drawn_by(generator, new=1)
    assert len(roll_out(generator, drawn, range(len(drawn)), 5, 1)) == 0
    rewards = prefix_rewards(
        lambda passages: np.arange(len(passages)), generator, drawn,
        roll_out(generator, drawn, range(len(drawn)), 5, 1),
    )  # fmt: skip
    assert [reward.tolist() for reward in rewards] == [[row] for row in range(len(drawn))]


def test_the_reward_of_a_prefix_is_the_mean_of_its_rollouts_and_the_last_its_own_score():
    generator = attacker()
    words = generator.tokenizer.convert_tokens_to_ids(["tea", "rain", "cat"])
    drawn = drawn_by(generator, 1, 1)
    tea, rain, cat = words
    drawn.responses = [[tea, rain]]
    drawn.passages = [drawn.passages[0].with_response("tea rain", "bot")]
    rollouts = Rollouts(np.array([0, 0]), np.array([1, 1]), [[tea, cat], [tea, rain]])
    scored = []

    def score(passages):
        scored.extend(passage.response for passage in passages)
        return np.array([{"tea rain": 0.9, "tea cat": 0.1}[p.response] for p in passages])

    rewards = prefix_rewards(score, generator, drawn, rollouts)
    np.testing.assert_allclose(rewards[0], [0.5, 0.9])
    assert scored == ["tea rain", "tea cat"]  # the same text is scored once


def test_another_encoder_decoder_is_refused():
    generator = attacker()
    drawn = drawn_by(generator)
    generator.model.config.is_encoder_decoder = True
    with pytest.raises(BadInput, match="Monte-Carlo search needs a causal model"):
        roll_out(generator, drawn, range(len(drawn)), 2, 7)
