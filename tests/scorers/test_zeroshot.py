"""Zero-shot measures, against a loop over single tokens in double precision."""

import logging
import math

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from dialeval.dialogues import BadInput, Passage, Turn, to_passages
from dialeval.scorers import Decision, is_human, load_scorer, save_scorer
from dialeval.scorers.zeroshot import MEASURES, ZeroShotScorer
from tests.closeness import assert_close

LONGEST = 96
PASSAGES = [
    Passage((Turn("A", "hi"),), "hello there"),
    Passage((Turn("A", "how are you?"), Turn("B", "fine, and you?")), "no"),
    Passage((Turn("A", "it rains"), Turn("B", "again"), Turn("A", "so what")), "bring a coat then"),
    Passage((Turn("A", "où est-ce ?"),), "là-bas, près de l’église"),
    Passage((Turn("A", "x"),), "y"),
]


def byte_tokenizer(**special) -> PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {token: i for i, token in enumerate(["<pad>", "<eos>", "<s>", *alphabet])}
    core = Tokenizer(models.BPE(vocab, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=core, **special)


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer(pad_token="<pad>", eos_token="<eos>")


@pytest.fixture(scope="module")
def model(tokenizer):
    torch.manual_seed(0)
    shape = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": LONGEST}
    shape |= {"bos_token_id": 1, "eos_token_id": 1}
    # Wide weights, so that distributions are far from flat.
    config = GPT2Config(vocab_size=len(tokenizer), initializer_range=0.3, **shape)
    return GPT2LMHeadModel(config).eval()


@torch.no_grad()
def by_loop(model, tokenizer, passage: Passage, measure: str) -> float:
    """The measure with one forward pass a token, and plain Python arithmetic."""
    ids = []
    for turn in passage.context:
        ids += [*tokenizer(turn.text)["input_ids"], tokenizer.eos_token_id]
    response = tokenizer(passage.response)["input_ids"]
    total = {"log p": 0.0, "log rank": 0.0, "entropy": 0.0, "mean": 0.0, "variance": 0.0}
    for token in response:
        logits = model(torch.tensor([ids])).logits[0, -1].double()
        log_p = [float(value) for value in logits - logits.logsumexp(0)]
        mean = sum(math.exp(value) * value for value in log_p)
        total["log p"] += log_p[token]
        ranked = sorted(range(len(log_p)), key=lambda at: -log_p[at])
        total["log rank"] += math.log(ranked.index(token) + 1)
        total["entropy"] += -mean
        total["mean"] += mean
        total["variance"] += sum(math.exp(value) * value**2 for value in log_p) - mean**2
        ids.append(token)
    if measure == "fast-detectgpt":
        return (total["log p"] - total["mean"]) / math.sqrt(total["variance"])
    name = {"log-probability": "log p", "log-rank": "log rank", "entropy": "entropy"}[measure]
    return total[name] / len(response)


@pytest.mark.parametrize("measure", MEASURES)
def test_measures_agree_with_a_loop_over_tokens(model, tokenizer, measure):
    scores = ZeroShotScorer(model, tokenizer, measure)(PASSAGES)
    expected = [by_loop(model, tokenizer, passage, measure) for passage in PASSAGES]
    assert_close(scores, expected)
    assert len(np.unique(scores)) == len(PASSAGES)


@pytest.mark.parametrize("measure", MEASURES)
def test_scores_do_not_depend_on_batches(model, tokenizer, measure, monkeypatch):
    passages = PASSAGES * 4
    expected = ZeroShotScorer(model, tokenizer, measure, max_tokens=100_000)(passages)
    alone = ZeroShotScorer(model, tokenizer, measure, max_tokens=1)(passages)
    assert_close(alone, expected)
    monkeypatch.setattr("dialeval.scorers.zeroshot._POSITIONS", 3)
    monkeypatch.setattr("dialeval.scorers.zeroshot._WINDOW", 7)
    pieces = ZeroShotScorer(model, tokenizer, measure, max_tokens=120)(to_passages(passages))
    assert_close(pieces, expected)


def test_a_model_without_a_known_head_gives_the_same(model, tokenizer, monkeypatch):
    expected = ZeroShotScorer(model, tokenizer)(PASSAGES)
    monkeypatch.setattr(model, "get_output_embeddings", lambda: None)
    assert_close(ZeroShotScorer(model, tokenizer)(PASSAGES), expected)


def test_the_model_is_left_as_it_was(model, tokenizer):
    ZeroShotScorer(model, tokenizer)(PASSAGES)
    assert model(torch.tensor([[5, 6, 7]])).logits.shape == (1, 3, len(tokenizer))


@torch.no_grad()
def test_a_models_own_words_look_like_a_machines(model, tokenizer):
    """Greedy continuations against random letters: each measure knows which is the machine."""
    rng = np.random.default_rng(0)
    letters = tokenizer("abcdefghijklmnopqrstuvwxyz")["input_ids"]
    greedy, noise = [], []
    for number in range(8):
        context = (Turn("A", f"talk number {number}"),)
        ids = [*tokenizer(context[0].text)["input_ids"], tokenizer.eos_token_id]
        for _ in range(20):
            ids.append(letters[int(model(torch.tensor([ids])).logits[0, -1, letters].argmax())])
        greedy.append(Passage(context, tokenizer.decode(ids[-20:]), "bot"))
        noise.append(Passage(context, tokenizer.decode(rng.choice(letters, 20))))
    for measure in ("log-probability", "log-rank", "fast-detectgpt"):
        scorer = ZeroShotScorer(model, tokenizer, measure)
        gap = scorer(noise).mean() - scorer(greedy).mean()
        assert (gap > 0) == scorer.higher_is_human, measure


def test_each_measure_says_which_way_it_points(model, tokenizer):
    declared = {name: ZeroShotScorer(model, tokenizer, name).higher_is_human for name in MEASURES}
    assert declared == {
        "log-probability": False,
        "log-rank": True,
        "entropy": True,
        "fast-detectgpt": False,
    }
    turned = ZeroShotScorer(model, tokenizer, "entropy", higher_is_human=False)
    assert turned.higher_is_human is False
    chosen = ZeroShotScorer(model, tokenizer, "log-probability", decision=Decision(-2.0))
    assert is_human(chosen, np.array([-3.0, -1.0])).tolist() == [True, False]


def test_short_responses_are_mentioned_once(model, tokenizer, caplog):
    scorer = ZeroShotScorer(model, tokenizer, "entropy", name="lm")
    with caplog.at_level(logging.WARNING):
        scorer(PASSAGES)
        scorer(PASSAGES)
    assert caplog.text.count("5 of the first 5 responses are shorter than 50 tokens: lm is") == 1
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        ZeroShotScorer(model, tokenizer)([Passage((Turn("A", "hi"),), "long " * 10 + "!")])
    assert not caplog.text


def test_long_passages_lose_their_oldest_words(model, tokenizer, caplog):
    scorer = ZeroShotScorer(model, tokenizer, "log-probability")
    response = "r" * 20
    room = LONGEST - len(response) - 1
    old = Passage((Turn("A", "x" * 40), Turn("B", "y" * room)), response)
    new = Passage((Turn("A", "z" * 50), Turn("B", "y" * room)), response)
    with caplog.at_level(logging.WARNING):
        first, second = scorer([old, new])
        assert first == second
        assert "were cut" not in caplog.text
        scorer([Passage((Turn("A", "hi"),), "r" * 200)])
        assert "1 of the first 1 responses are longer than the model" in caplog.text
    longer, longest = scorer([Passage((Turn("A", "hi"),), "r" * n) for n in (LONGEST - 1, 200)])
    assert longer == longest


def test_an_empty_response_is_scored_as_silence(model, tokenizer, caplog):
    scorer = ZeroShotScorer(model, tokenizer, "log-probability")
    with caplog.at_level(logging.WARNING):
        score = scorer([Passage((Turn("A", "hi"),), " ")])[0]
    ids = [*tokenizer("hi")["input_ids"], tokenizer.eos_token_id]
    log_probs = model(torch.tensor([ids])).logits[0, -1].log_softmax(-1)
    assert_close(score, log_probs[tokenizer.eos_token_id].item())
    assert "are empty" in caplog.text
    assert scorer([]).shape == (0,)


def test_turns_end_with_a_newline_where_there_is_no_end_token(model, tokenizer):
    plain = byte_tokenizer()
    assert plain.eos_token_id is None
    scorer = ZeroShotScorer(model, plain, "log-probability")
    newline = plain("\n")["input_ids"]
    row = scorer._encode(PASSAGES[1:2])[0]
    turns = [[*plain(turn.text)["input_ids"], *newline] for turn in PASSAGES[1].context]
    assert row.ids == [*turns[0], *turns[1], *plain("no")["input_ids"]]
    assert len(row.ids) - row.response_at == 2
    assert np.isfinite(scorer(PASSAGES)).all()


def test_broken_weights_are_reported(tokenizer):
    shape = {"n_embd": 8, "n_layer": 1, "n_head": 1, "n_positions": 64}
    broken = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **shape))
    torch.nn.init.constant_(broken.transformer.ln_f.weight, math.nan)
    with pytest.raises(BadInput, match="not numbers. Run it in float32"):
        ZeroShotScorer(broken, tokenizer)(PASSAGES[:1])


def test_unknown_measures_list_the_choices(model, tokenizer):
    with pytest.raises(BadInput, match="'perplexity'. Choose one of log-probability, log-rank"):
        ZeroShotScorer(model, tokenizer, "perplexity")


@pytest.mark.parametrize("measure", MEASURES)
def test_saved_and_loaded_scores_are_equal(model, tokenizer, measure, tmp_path):
    chosen = Decision(-1.5, "validation", 0.2, 40)
    scorer = ZeroShotScorer(model, tokenizer, measure, decision=chosen)
    folder = save_scorer(scorer, tmp_path / "zero")
    loaded = load_scorer(folder, device="cpu", max_tokens=64)
    assert_close(loaded(PASSAGES), scorer(PASSAGES))
    assert (loaded.name, loaded.signature) == (scorer.name, scorer.signature)
    assert loaded.higher_is_human == scorer.higher_is_human
    again = ZeroShotScorer.from_pretrained(folder, measure)
    assert_close(again(PASSAGES), scorer(PASSAGES))
    assert again.name == f"zero {measure}"


def test_a_folder_without_a_model_says_so(model, tokenizer, tmp_path):
    folder = save_scorer(ZeroShotScorer(model, tokenizer), tmp_path / "zero")
    (folder / "model.safetensors").unlink()
    with pytest.raises(BadInput, match="the language model cannot be loaded"):
        load_scorer(folder)


def test_a_backward_model_scores_the_question_given_the_answer(model, tokenizer, tmp_path):
    passages = [Passage((Turn("A", "hello"), Turn("B", "how are you")), "fine", speaker="A")]
    backward = ZeroShotScorer(model, tokenizer, "log-probability", turned=True)
    question = Passage((Turn("A", "fine"),), "how are you")
    expected = by_loop(model, tokenizer, question, "log-probability")
    assert_close(backward(passages)[0], expected)
    assert "(s|t)" in backward.signature
    again = load_scorer(save_scorer(backward, tmp_path / "backward"))
    assert_close(again(passages)[0], expected)
