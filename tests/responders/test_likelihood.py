"""Likelihoods of responses, against one token at a time, labels, and a table worked out by hand."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PretrainedConfig,
    PreTrainedModel,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.modeling_outputs import CausalLMOutput

from dialeval.dialogues import BadInput
from dialeval.responders.likelihood import mmi_scores, opening_token, rerank, response_log_probs
from tests.closeness import assert_close

SIZE, PAD, START, END = 23, 0, 1, 2
SPECIAL = {"pad_token_id": PAD, "bos_token_id": START, "eos_token_id": END}
LONGEST = 32
CAUSAL, BOTH = ("gpt2", "llama"), ("bart", "t5")


def tiny(kind: str) -> PreTrainedModel:
    """A random model far from flat, with dropout where it has any."""
    torch.manual_seed(3)
    if kind == "gpt2":
        shape = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": LONGEST}
        config = GPT2Config(vocab_size=SIZE, initializer_range=0.3, **shape, **SPECIAL)
        return GPT2LMHeadModel(config).eval()
    if kind == "llama":
        shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
        shape |= {"num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.3}
        return LlamaForCausalLM(LlamaConfig(vocab_size=SIZE, **shape, **SPECIAL)).eval()
    if kind == "bart":
        shape = {"d_model": 16, "max_position_embeddings": LONGEST, "init_std": 0.3}
        for side in ("encoder", "decoder"):
            shape |= {f"{side}_layers": 1, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 32}
        config = BartConfig(vocab_size=SIZE, decoder_start_token_id=END, **shape, **SPECIAL)
        return BartForConditionalGeneration(config).eval()
    shape = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
    config = T5Config(
        vocab_size=SIZE, decoder_start_token_id=PAD, initializer_factor=3.0, **shape, **SPECIAL
    )
    return T5ForConditionalGeneration(config).eval()


def some_rows(number: int, least: int, most: int, seed: int) -> list[list[int]]:
    """Rows of unequal length that hold every id, the padding's too."""
    random = np.random.default_rng(seed)
    return [
        random.integers(SIZE, size=random.integers(least, most)).tolist() for _ in range(number)
    ]


@torch.no_grad()
def one_token_at_a_time(model, context: list[int], response: list[int]) -> float:
    context = context or [model.config.bos_token_id]
    total = 0.0
    for at, token in enumerate(response):
        if model.config.is_encoder_decoder:
            before = [model.config.decoder_start_token_id, *response[:at]]
            inputs = {"input_ids": [context], "decoder_input_ids": [before]}
        else:
            inputs = {"input_ids": [context + response[:at]]}
        logits = model(**{name: torch.tensor(ids) for name, ids in inputs.items()}).logits[0, -1]
        total += float(logits.double().log_softmax(-1)[token])
    return total


@pytest.mark.parametrize("kind", CAUSAL + BOTH)
def test_sums_and_lengths_equal_reading_one_token_at_a_time(kind):
    model = tiny(kind)
    contexts = [[], *some_rows(11, 1, 14, seed=0), []]
    responses = [[*row, END] for row in some_rows(13, 0, 12, seed=1)]
    sums, lengths = response_log_probs(model, PAD, contexts, responses, batch_tokens=64)
    expected = [one_token_at_a_time(model, *pair) for pair in zip(contexts, responses, strict=True)]
    assert_close(sums, expected)
    assert lengths.tolist() == [len(response) for response in responses]
    assert np.std(sums / lengths) > 0.1  # responses differ, so the comparison says something


@pytest.mark.parametrize("kind", CAUSAL + BOTH)
def test_neither_batch_nor_padding_changes_a_sum(kind):
    model = tiny(kind)
    contexts, responses = some_rows(12, 0, 14, seed=2), some_rows(12, 1, 12, seed=3)
    alone = response_log_probs(model, PAD, contexts, responses, batch_tokens=1)[0]
    for pad, batch_tokens in ((PAD, 10**6), (SIZE - 1, 10**6), (None, 40)):
        sums = response_log_probs(model, pad, contexts, responses, batch_tokens)[0]
        assert_close(sums, alone)
    turned = response_log_probs(model, PAD, contexts[::-1], responses[::-1], 10**6)[0]
    assert_close(turned[::-1], alone)


@pytest.mark.parametrize("kind", BOTH)
def test_an_encoder_decoder_gives_the_loss_of_the_response_as_labels(kind):
    model = tiny(kind)
    context, response = [5, 6, 7], [8, 9, 10, END]
    loss = model(input_ids=torch.tensor([context]), labels=torch.tensor([response])).loss
    sums, lengths = response_log_probs(model, PAD, [context], [response])
    assert_close(-sums[0] / lengths[0], loss.item())


class Table(PreTrainedModel):
    """A language model that is a table: row a, column b holds p(b | a)."""

    config_class = PretrainedConfig

    def __init__(self, config: PretrainedConfig, table: list[list[float]]):
        super().__init__(config)
        self.table = nn.Parameter(torch.tensor(table).log())

    def forward(self, input_ids, attention_mask=None, **kwargs):
        return CausalLMOutput(logits=self.table[input_ids])


def table(**special) -> Table:
    rows = [[0.25, 0.25, 0.5], [0.5, 0.25, 0.25], [0.125, 0.75, 0.125]]
    return Table(PretrainedConfig(**special), rows)


def test_a_table_gives_what_was_worked_out_by_hand():
    contexts, responses = [[0, 1], [2], []], [[0, 2], [1, 1, 0], [2]]
    sums, lengths = response_log_probs(table(bos_token_id=0), None, contexts, responses)
    by_hand = [0.5 * 0.5, 0.75 * 0.25 * 0.5, 0.5]  # p(0|1) p(2|0), p(1|2) p(1|1) p(0|1), p(2|0)
    assert_close(np.exp(sums), by_hand)
    assert lengths.tolist() == [2, 3, 1]


def test_an_unconditional_text_opens_with_bos_or_else_with_eos():
    assert opening_token(table(bos_token_id=1, eos_token_id=2)) == 1
    assert opening_token(table(eos_token_id=[2, 1])) == 2
    sums, _ = response_log_probs(table(eos_token_id=2), None, [[]], [[1]])
    assert_close(sums[0], math.log(0.75))  # p(1 | 2)
    with pytest.raises(BadInput, match="no token to start a text"):
        response_log_probs(table(), None, [[]], [[1]])


def test_a_model_in_training_is_read_without_dropout_and_goes_on_training():
    model = tiny("gpt2")
    expected = response_log_probs(model, PAD, [[4, 5]], [[6, 7, 8]])[0]
    model.train()
    assert response_log_probs(model, PAD, [[4, 5]], [[6, 7, 8]])[0] == pytest.approx(expected)
    assert model.training and model.transformer.h[0].training


def test_what_cannot_be_read_is_said():
    model = tiny("gpt2")
    with pytest.raises(BadInput, match="but got 1 and 2"):
        response_log_probs(model, PAD, [[3]], [[4], [5]])
    with pytest.raises(BadInput, match="response 1 has no tokens. Put the end token last."):
        response_log_probs(model, PAD, [[3], [3]], [[4], []])
    with pytest.raises(BadInput, match="reads 32 tokens, but got a row of 33"):
        response_log_probs(model, PAD, [[3] * 30], [[4] * 3])
    assert [array.tolist() for array in response_log_probs(model, PAD, [], [])] == [[], []]


def test_an_encoder_decoder_has_room_for_context_and_response_each():
    model = tiny("bart")
    sums, _ = response_log_probs(model, PAD, [[3] * 30], [[4] * 30])
    assert np.isfinite(sums).all()
    with pytest.raises(BadInput, match="but got a row of 33"):
        response_log_probs(model, PAD, [[3] * 33], [[4]])


def test_mutual_information_weighs_means_over_tokens_of_both_directions():
    forward, backward = [-6.0, -2.0, -8.0], [-4.0, -9.0, -1.0]
    lengths = [3, 2, 4], [4, 3, 2]
    assert mmi_scores(forward, backward, *lengths).tolist() == [-1.5, -2.0, -1.25]
    assert mmi_scores(forward, backward, *lengths, weight=0).tolist() == [-2.0, -1.0, -2.0]
    assert mmi_scores(forward, backward, *lengths, weight=1).tolist() == [-1.0, -3.0, -0.5]
    assert mmi_scores(forward, backward, *lengths, weight=0.25).tolist() == [-1.75, -1.5, -1.625]


def test_mutual_information_refuses_what_makes_no_mean():
    with pytest.raises(BadInput, match="weight from 0 to 1, but got 1.5"):
        mmi_scores([-1.0], [-1.0], [1], [1], weight=1.5)
    with pytest.raises(BadInput, match="lengths of 1 or more"):
        mmi_scores([-1.0], [-1.0], [1], [0])
    with pytest.raises(BadInput, match="one number per response"):
        mmi_scores([-1.0, -2.0], [-1.0], [1, 1], [1, 1])


def test_reranking_gives_the_best_of_each_group_whatever_the_order():
    random = np.random.default_rng(0)
    scores, groups = random.integers(5, size=200).astype(float), random.integers(40, size=200)
    expected = []
    for group in sorted(set(groups.tolist())):
        rows = [row for row in range(200) if groups[row] == group]
        expected.append(max(rows, key=lambda row: (scores[row], -row)))  # the first of equals
    assert rerank(scores, groups).tolist() == expected


def test_reranking_refuses_what_cannot_be_ordered():
    with pytest.raises(BadInput, match="1 of 2 scores are not numbers"):
        rerank([0.0, float("nan")], [0, 0])
    with pytest.raises(BadInput, match="one group per score"):
        rerank([0.0, 1.0], [0])
    assert rerank([float("-inf"), float("-inf")], ["a", "b"]).tolist() == [0, 1]


def test_mutual_information_prefers_the_reply_that_fits_the_context():
    # Forward: the dull reply is likelier; backward: only the other one tells the context.
    dull, apt = math.log(0.5), math.log(0.4)
    scores = mmi_scores([dull, apt], [math.log(0.1), math.log(0.3)], [1, 1], [1, 1])
    assert rerank(scores, [0, 0]).tolist() == [1]
    assert rerank([dull, apt], [0, 0]).tolist() == [0]
