"""Weights of words: a planted trigger comes out on top, and the sums are complete."""

import numpy as np
import pytest
import torch
from transformers import BertConfig

from dialeval.dialogues import BadInput, Passage, Turn, to_passages
from dialeval.dialogues.encoding import input_format
from dialeval.models import (
    AttentionConfig,
    AttentionDiscriminator,
    TransformerDiscriminator,
    TransformerDiscriminatorConfig,
)
from dialeval.models.batching import pad
from dialeval.models.tokenizers import word_tokenizer
from dialeval.scorers.attribution import attribute, has_attention, method_for
from dialeval.scorers.linear import SvmScorer
from dialeval.scorers.neural import NeuralScorer

WORDS = [f"w{number}" for number in range(30)]
TRIGGER = "zebra"


def planted(count: int, seed: int = 0) -> list[Passage]:
    """Random words; a human response contains the trigger at a random position."""
    rng = np.random.default_rng(seed)
    passages = []
    for number in range(count):
        context, words = rng.choice(WORDS, 4).tolist(), rng.choice(WORDS, 6).tolist()
        is_human = number % 2 == 0
        if is_human:
            words[rng.integers(6)] = TRIGGER
        author = "human" if is_human else "bot"
        turn = (Turn("A", " ".join(context)),)
        passages.append(
            Passage(turn, " ".join(words), author, id=str(number), dialogue_id=str(number))
        )
    return passages


def trained(model, form: str) -> NeuralScorer:
    """The model after a few steps on planted passages."""
    tokenizer = word_tokenizer([" ".join([*WORDS, TRIGGER])])
    passages = planted(256)
    rows = [one.ids for one in input_format(form)(tokenizer, passages)]
    labels = torch.tensor([passage.author == "human" for passage in passages]).long()
    batch = pad(rows, tokenizer.pad_token_id)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    model.train()
    for _ in range(300):
        loss = model(**batch, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < 0.1:  # a saturated network has no gradients
            break
    assert loss.item() < 0.1
    return NeuralScorer(model, tokenizer, input_format(form), device="cpu")


@pytest.fixture(scope="module")
def transformer() -> NeuralScorer:
    torch.manual_seed(0)
    shape = BertConfig(vocab_size=40, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                       num_attention_heads=4, max_position_embeddings=64,
                       attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0)  # fmt: skip
    config = TransformerDiscriminatorConfig(shape, pooling="mean", causal=False)
    return trained(TransformerDiscriminator(config), "words")


@pytest.fixture(scope="module")
def attention() -> NeuralScorer:
    torch.manual_seed(0)
    config = AttentionConfig(vocab_size=40, hidden_size=16, embedding_size=16, dropout=0.0,
                             eos_token_id=3, pad_token_id=0)  # fmt: skip
    return trained(AttentionDiscriminator(config), "words")


def top_word(weights) -> str:
    return weights.words[int(np.argmax(weights.weights))]


@pytest.mark.parametrize("method", ["integrated-gradients", "gradient-x-input"])
@pytest.mark.parametrize("name", ["transformer", "attention"])
def test_a_planted_trigger_comes_out_on_top(name, method, request):
    scorer = request.getfixturevalue(name)
    human = [row for row in planted(60, seed=1) if row.author == "human"]
    tops = [top_word(row) for row in attribute(scorer, human, method)]
    # Gradient times input is the rougher method: a saturated network has small gradients.
    wanted = 0.95 if method == "integrated-gradients" else 0.25
    assert np.mean([word == TRIGGER for word in tops]) >= wanted


def test_integrated_gradients_sum_to_the_difference_from_zero_vectors(transformer):
    [passage] = planted(1, seed=2)
    [weights] = attribute(transformer, [passage], steps=400)
    special = torch.tensor(transformer.tokenizer.all_special_ids)

    def without_words(module, given, vectors):
        return torch.where(torch.isin(given[0], special)[..., None], vectors, 0.0)

    [margin] = transformer.margins([passage])
    hook = transformer.model.backbone.get_input_embeddings().register_forward_hook(without_words)
    [baseline] = transformer.margins([passage])
    hook.remove()
    assert sum(weights.weights) == pytest.approx(margin - baseline, rel=0.03)
    assert abs(margin - baseline) > 1 and weights.method == "integrated-gradients"


def test_the_response_begins_where_the_input_format_puts_it(attention):
    [passage] = planted(1, seed=3)
    [weights] = attribute(attention, [passage], "attention")
    assert sum(weights.weights) == pytest.approx(1.0, abs=1e-5)
    response = [word for word in weights.words[weights.response_at :] if word in (*WORDS, TRIGGER)]
    assert response == passage.response.split()
    assert 0 < weights.response_mass < 1 and has_attention(attention)


def test_a_linear_scorer_has_exact_contributions():
    passages = planted(120)
    pairs = to_passages(passages).add_column("label", [int(p.author == "human") for p in passages])
    scorer = SvmScorer.fit(pairs, seed=0)
    machine = scorer.parts["classifier"].calibrated_classifiers_[0].estimator
    [passage] = planted(1, seed=4)
    [weights] = attribute(scorer, [passage])
    from dialeval.scorers.linear_features import feature_matrix

    matrix = feature_matrix(scorer.parts, to_passages([passage]), np.zeros((1, 0)))
    expected = machine.decision_function(matrix)[0] - machine.intercept_[0]
    assert sum(weights.weights) == pytest.approx(expected)
    assert top_word(weights) == TRIGGER and weights.method == "linear"
    assert list(weights.words[weights.response_at :]) == passage.response.split()


class Counting:
    """A scorer that counts a word."""

    name, higher_is_human = "counting", False

    def __call__(self, passages):
        return np.array([text.split().count("w1") for text in passages["response"]], dtype=float)


def test_any_scorer_is_explained_by_leaving_words_out():
    passage = Passage((Turn("A", "w1 w2"),), "w3 w1 w4")
    [weights] = attribute(Counting(), [passage])
    assert weights.words == ("w1", "w2", "w3", "w1", "w4") and weights.response_at == 2
    assert weights.weights == (0.0, 0.0, 0.0, -1.0, 0.0)  # a lower score is human here
    assert method_for(Counting()) == "occlusion"


def test_methods_that_do_not_fit_are_refused(transformer):
    with pytest.raises(BadInput, match="has no weights by attention"):
        attribute(transformer, planted(1), "attention")
    with pytest.raises(BadInput, match="Choose one of attention"):
        attribute(transformer, planted(1), "lime")
    with pytest.raises(BadInput, match="no weights by linear"):
        attribute(Counting(), planted(1), "linear")
