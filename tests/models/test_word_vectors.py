"""Vectors of words for networks: main directions, and fixed in training."""

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2Model

from dialeval.dialogues import Pairing, Passage, Turn, to_passages
from dialeval.errors import BadInput
from dialeval.models import word_vectors as module
from dialeval.models.tokenizers import word_tokenizer
from dialeval.models.word_vectors import word_vectors
from dialeval.settings.training import DiscriminatorRun
from dialeval.training import networks

WORDS = [f"w{number}" for number in range(60)]


def planted(texts):
    """Two directions with much variance, four with hardly any."""
    rng = np.random.default_rng(0)
    known = dict(zip(WORDS, rng.normal(size=(60, 6)) * [9, 9, 0.1, 0.1, 0.1, 0.1], strict=True))
    return np.array([known.get(text, np.zeros(6)) for text in texts]) + 4.0


def test_the_main_directions_keep_distances():
    vectors = word_vectors(WORDS, 2, planted)
    assert vectors.shape == (60, 2) and vectors.dtype == np.float32
    assert vectors.std() == pytest.approx(1.0, rel=1e-5)
    np.testing.assert_allclose(vectors.mean(0), 0, atol=1e-6)
    full = planted(WORDS)
    distances = [np.linalg.norm(table[:, None] - table[None], axis=-1) for table in (full, vectors)]
    kept = distances[0] > 5
    ratio = distances[1][kept] / distances[0][kept]
    assert ratio.std() / ratio.mean() < 0.02


def test_more_numbers_than_the_encoder_has_are_refused():
    with pytest.raises(BadInput, match="6 numbers, but 7 are needed"):
        word_vectors(WORDS, 7, planted)


def test_a_backbone_in_half_precision_is_trained_in_full(tmp_path):
    words = word_tokenizer([" ".join(WORDS)])
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": len(words)}
    GPT2Model(GPT2Config(**sizes)).bfloat16().save_pretrained(tmp_path)
    words.save_pretrained(tmp_path)
    run = DiscriminatorRun(model="transformer", backbone=str(tmp_path))
    model, *_ = networks.build_network(run, to_passages([]))
    assert {value.dtype for value in model.parameters()} == {torch.float32}


def test_a_network_has_the_vectors_of_its_words_and_leaves_them(monkeypatch):
    monkeypatch.setattr(
        networks, "word_vectors", lambda words, size: module.word_vectors(words, size, planted)
    )
    human = to_passages(
        Passage((Turn("A", f"w{n} w{n + 1}"),), f"w{n + 2}", id=f"{n}", dialogue_id=f"{n}")
        for n in range(50)
    )
    run = DiscriminatorRun(
        model="hierarchical", hidden_size=4, embedding_size=3, word_vectors="minilm"
    )
    model, tokenizer, _ = networks.build_network(run, Pairing("human_random")(human))
    words = tokenizer.get_vocab()
    expected = word_vectors(sorted(words, key=words.__getitem__), 3, planted)
    torch.testing.assert_close(model.embedding.weight.data, torch.from_numpy(expected))
    assert not model.embedding.weight.requires_grad
    assert all(value.requires_grad for value in model.words.parameters())
