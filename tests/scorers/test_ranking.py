import logging
from dataclasses import replace

import numpy as np
import pytest
import torch

from dialeval.dialogues import BadInput, Passage, Turn, to_passages
from dialeval.dialogues.encoding import Encoded, input_format
from dialeval.models.adapters import add_lora
from dialeval.models.tokenizers import bpe_tokenizer
from dialeval.scorers import ranking
from dialeval.scorers.neural import NeuralScorer
from dialeval.scorers.ranking import (
    Pack,
    pack,
    packed_batch,
    prefix_scores_at,
    score_prefixes,
    score_responses,
)
from tests.closeness import assert_close

PLAIN = replace(input_format("dialogrpt"), max_length=None, cut_left=False, name="plain")


def alone(scorer, passages) -> np.ndarray:
    """Each passage in a batch of its own."""
    return np.concatenate([scorer([passage]) for passage in passages])


def one_by_one(scorer, passage) -> np.ndarray:
    """The score of every prefix of a response, as a response of its own."""
    words = passage.response.split()
    return scorer(
        [replace(passage, response=" ".join(words[:n])) for n in range(1, len(words) + 1)]
    )


def backbone_calls(scorer) -> list[torch.Size]:
    """Shapes that the backbone is asked to read from now on."""
    seen = []
    scorer.model.backbone.register_forward_pre_hook(
        lambda _, __, kwargs: seen.append(kwargs["input_ids"].shape), with_kwargs=True
    )
    return seen


@pytest.mark.parametrize(
    ("kind", "form"),
    [("gpt2", form) for form in ("dialogrpt", "att", "words", PLAIN)]
    + [(kind, "att") for kind in ("llama", "qwen2", "gpt_neox", "bert")]
    + [("hierarchical", "words")],
)
def test_packed_responses_score_as_they_do_alone(tiny_scorer, invented, kind, form):
    scorer = tiny_scorer(kind, form)
    passages = invented(contexts=4, responses=4)
    expected = alone(scorer, passages)
    assert np.ptp(scorer.margins(passages)) > 0.1
    assert_close(score_responses(scorer, passages), expected)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_both_kinds_of_attention_take_the_mask(tiny_scorer, invented, attention):
    scorer = tiny_scorer("gpt2", "att", attention=attention)
    assert scorer.model.backbone.config._attn_implementation == attention
    passages = invented(contexts=3, responses=4)
    assert_close(score_responses(scorer, passages), alone(scorer, passages))


@pytest.mark.parametrize("max_tokens", [1, 40, 8192])
def test_any_budget_of_tokens_gives_the_same(tiny_scorer, invented, max_tokens):
    scorer = tiny_scorer("gpt2", "att", max_tokens=max_tokens)
    passages = invented(contexts=4, responses=6)
    assert_close(score_responses(scorer, passages), alone(scorer, passages))


def test_contexts_are_read_once(tiny_scorer, invented):
    scorer = tiny_scorer("gpt2", PLAIN)
    passages = invented(contexts=4, responses=5)
    seen = backbone_calls(scorer)
    score_responses(scorer, passages)
    assert sum(shape[0] for shape in seen) == 4


def test_responses_that_cut_the_context_are_scored_apart(tiny_scorer):
    scorer = tiny_scorer("gpt2", replace(PLAIN, max_length=12, cut_left=True))
    context = (Turn("A", "w1 w2 w3 w4 w5 w6 w7"),)
    responses = ["w8", "w9 w10", "w11 w12 w13 w14 w15 w16", " ".join(f"w{n}" for n in range(20))]
    passages = [Passage(context, response) for response in responses]
    assert_close(score_responses(scorer, passages), alone(scorer, passages))


def test_empty_responses_and_contexts_are_scored_all_the_same(tiny_scorer):
    context = (Turn("A", "w1 w2"),)
    passages = [Passage(c, text) for c in (context, ()) for text in ("w3 w4", "", "w5", " ")]
    for form in ("dialogrpt", "att", "words"):
        scorer = tiny_scorer("gpt2", form)
        scores = score_responses(scorer, passages)
        assert_close(scores, alone(scorer, passages))
    assert score_responses(tiny_scorer(), []).shape == (0,)


def test_temperature_adapters_and_stored_passages(tiny_scorer, invented):
    scorer = tiny_scorer("gpt2", "att", temperature=2.5)
    adapted = add_lora(scorer.model)
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    scorer = NeuralScorer(
        adapted, scorer.tokenizer, scorer.input_format, temperature=2.5, device="cpu"
    )
    passages = invented(contexts=3, responses=4)
    expected = alone(scorer, passages)
    assert_close(score_responses(scorer, passages), expected)
    stored = to_passages(passages)
    assert_close(score_responses(scorer, stored), expected)


def test_a_cache_is_filled_and_used(tiny_scorer, invented, tmp_path):
    passages = [*invented(contexts=3, responses=4), *invented(contexts=2, responses=1, seed=1)]
    scorer = tiny_scorer("gpt2", "att", cache=tmp_path / "scores")
    expected = score_responses(scorer, passages)
    assert len(scorer.cache) == len(passages)
    again = tiny_scorer("gpt2", "att", cache=tmp_path / "scores")
    seen = backbone_calls(again)
    np.testing.assert_array_equal(score_responses(again, passages), expected)
    np.testing.assert_array_equal(again(passages), expected)
    assert not seen


def test_scores_that_are_not_numbers_are_refused(tiny_scorer, invented):
    scorer = tiny_scorer("gpt2", PLAIN)
    torch.nn.init.constant_(scorer.model.score.weight, float("nan"))
    for function in (score_responses, score_prefixes):
        with pytest.raises(BadInput, match="not numbers"):
            function(scorer, invented(contexts=1, responses=2))


def test_a_packed_row_by_hand():
    batch = packed_batch([Pack([5, 6], [[7, 8], [], [9]], [0, 1, 2]), Pack([4], [[3]], [3])], 0)
    assert batch["input_ids"].tolist() == [[5, 6, 7, 8, 9], [4, 3, 0, 0, 0]]
    assert batch["position_ids"].tolist() == [[0, 1, 2, 3, 2], [0, 1, 0, 0, 0]]
    assert batch["row"].tolist() == [0, 0, 0, 1]
    assert batch["column"].tolist() == [3, 1, 4, 1]
    assert batch["allowed"][0, 0].int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 0, 0, 1],
    ]


def test_packs_keep_to_their_size():
    encoded = [Encoded([1, 2, number, number], 2) for number in range(5)] + [Encoded([3], 1)]
    packs = list(pack(encoded, most=6))
    assert [p.rows for p in packs] == [[0, 1], [2, 3], [4], [5]]
    assert [len(p) for p in packs] == [6, 6, 4, 1]
    assert [p.rows for p in pack(encoded, most=1)] == [[0], [1], [2], [3], [4], [5]]


def test_a_window_at_a_time_gives_the_same(tiny_scorer, invented, monkeypatch):
    scorer = tiny_scorer("gpt2", "att")
    passages = invented(contexts=5, responses=3)
    expected = score_responses(scorer, passages)
    monkeypatch.setattr(ranking, "_WINDOW", 4)
    assert_close(score_responses(scorer, passages), expected)


@pytest.mark.parametrize("form", ["dialogrpt", PLAIN, replace(PLAIN, response_start="bos")])
@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_prefixes_score_as_they_do_alone(tiny_scorer, invented, kind, form):
    scorer = tiny_scorer(kind, form, temperature=1.5)
    passages = invented(contexts=4, responses=1)
    for scores, passage in zip(score_prefixes(scorer, passages), passages, strict=True):
        assert_close(scores, one_by_one(scorer, passage))


@pytest.mark.parametrize("cut_left", [False, True])
@pytest.mark.parametrize("start", [None, "bos"])
@pytest.mark.parametrize("max_context", [None, 6])
def test_prefixes_of_rows_that_are_cut_too(tiny_scorer, invented, cut_left, start, max_context):
    form = replace(
        PLAIN, start=start, max_length=15, cut_left=cut_left, max_context=max_context,
        max_response=17,
    )  # fmt: skip
    scorer = tiny_scorer("gpt2", form)
    passages = invented(contexts=4, responses=1, longest=20)
    for scores, passage in zip(score_prefixes(scorer, passages), passages, strict=True):
        kept = one_by_one(scorer, passage)[:17]
        assert_close(scores, kept)


def test_prefixes_take_one_pass(tiny_scorer, invented):
    scorer = tiny_scorer("gpt2", PLAIN)
    passages = invented(contexts=4, responses=1)
    seen = backbone_calls(scorer)
    score_prefixes(scorer, passages)
    assert len(seen) == 1 and seen[0][0] == 4


@pytest.mark.parametrize("kind", ["bert", "hierarchical"])
def test_models_that_look_ahead_read_each_prefix_as_a_response(tiny_scorer, invented, kind):
    scorer = tiny_scorer(kind, "words")
    passages = invented(contexts=3, responses=1)
    for scores, passage in zip(score_prefixes(scorer, passages), passages, strict=True):
        assert_close(scores, one_by_one(scorer, passage))


def test_marks_around_the_response_are_not_prefixes(tiny_scorer):
    passages = [Passage((Turn("A", "w1 w2"),), text) for text in ("w3 w4 w5", "", "w6")]
    for form in ("words", "att", "dialogrpt"):
        assert [len(s) for s in score_prefixes(tiny_scorer("gpt2", form), passages)] == [3, 0, 1]
    long = Passage((Turn("A", "w1"),), " ".join(["w2"] * 50))
    assert len(score_prefixes(tiny_scorer("gpt2", "att"), [long])[0]) == 30


def test_a_warning_is_given_once(tiny_scorer, caplog):
    passage = Passage((Turn("A", "w1 w2"),), "w3 w4")
    with caplog.at_level(logging.WARNING):
        score_prefixes(tiny_scorer("gpt2", PLAIN, training={"prefixes": True}), [passage])
    assert not caplog.messages
    scorer = tiny_scorer("gpt2", "att")
    for _ in range(2):
        score_prefixes(scorer, [passage])
    assert len(caplog.messages) == 2
    assert "a token after each response" in caplog.messages[0]
    assert "not trained on prefixes" in caplog.messages[1]


def test_prefixes_of_another_tokenizer_are_found_by_characters(tiny_scorer):
    scorer = tiny_scorer("gpt2", PLAIN)
    passage = Passage((Turn("A", "w1 w2"),), "  w3 w14 w5 ")
    first, second, third = score_prefixes(scorer, [passage])[0]
    empty = scorer([replace(passage, response="")])[0]
    places = [0, 3, 4, 5, 7, 8, 9, 11, 12]  # w3 ends at 4, w14 at 8, w5 at 11
    scores = prefix_scores_at(scorer, [passage], [places])[0]
    expected = [empty, empty, first, first, first, second, second, third, third]
    assert_close(scores, expected)


def test_its_own_pieces_map_to_themselves(tiny_scorer):
    scorer = tiny_scorer("gpt2", PLAIN)
    texts = ["low lower lowest", "new newer newest naïve"]
    scorer.tokenizer = bpe_tokenizer(texts * 3, merges=12)
    scorer.model.backbone.resize_token_embeddings(len(scorer.tokenizer))
    passages = [Passage((Turn("A", texts[0]),), texts[1]), Passage((), "low\tnew  est")]
    rows = scorer.tokenizer([p.response for p in passages], return_offsets_mapping=True)
    token_ends = [[end for _, end in pairs] for pairs in rows["offset_mapping"]]
    by_token = score_prefixes(scorer, passages)
    for scores, at_ends, end in zip(
        by_token, prefix_scores_at(scorer, passages, token_ends), token_ends, strict=True
    ):
        last = [max(n for n, other in enumerate(end) if other == offset) for offset in end]
        np.testing.assert_array_equal(at_ends, scores[last])


def test_offsets_that_do_not_fit_are_refused(tiny_scorer):
    scorer = tiny_scorer("gpt2", PLAIN)
    with pytest.raises(BadInput, match="offsets for 1 passages, but got 2"):
        prefix_scores_at(scorer, [Passage((), "w1")], [[1], [1]])
    assert prefix_scores_at(scorer, [], []) == []
