"""The judge of frozen vectors: it reads the context, and no text twice."""

import numpy as np
import pytest

from dialeval.dialogues import BadInput, Pairing, Passage, Turn, split, to_passages
from dialeval.models.embedding import CachedEmbedder
from dialeval.scorers import is_human, load_scorer, save_scorer
from dialeval.scorers.embedding import EmbeddingScorer, features

TOPICS = [f"topic{number}" for number in range(12)]


class Bags:
    """A vector that says which topic a text is about; counts the texts it reads."""

    name = "bags"

    def __init__(self):
        self.read = []

    def __call__(self, texts):
        self.read += texts
        vectors = np.array([[topic in text.split() for topic in TOPICS] for text in texts], float)
        vectors += 0.01
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def pairs():
    human = to_passages(
        Passage((Turn("A", f"about {TOPICS[n % 12]} {n}"),), f"yes {TOPICS[n % 12]} {n}",
                id=str(n), dialogue_id=str(n))
        for n in range(600)
    )  # fmt: skip
    parts = split(human, {"train": 0.7, "test": 0.3})
    return {name: Pairing("human_random")(part) for name, part in parts.items()}


def test_it_tells_what_belongs_to_the_context(pairs):
    scorer = EmbeddingScorer.fit(pairs["train"], embed=CachedEmbedder(Bags()), strength=1.0)
    right = is_human(scorer, scorer(pairs["test"])) == (np.asarray(pairs["test"]["label"]) == 1)
    assert right.mean() > 0.9  # a random reply is on the topic in one of twelve cases


def test_no_text_is_read_twice(pairs):
    bags = Bags()
    embed = CachedEmbedder(bags)
    scorer = EmbeddingScorer.fit(pairs["train"], embed=embed)
    seen = len(bags.read)
    EmbeddingScorer.fit(pairs["train"], seed=1, embed=embed)
    scorer(pairs["train"])
    assert len(bags.read) == seen == len(set(bags.read))


def test_it_is_saved_without_its_embedder(pairs, tmp_path):
    embed = CachedEmbedder(Bags())
    scorer = EmbeddingScorer.fit(pairs["train"], embed=embed)
    folder = save_scorer(scorer, tmp_path / "judge")
    with pytest.raises(BadInput, match="embed="):
        load_scorer(folder)
    again = load_scorer(folder, embed=embed)
    np.testing.assert_allclose(again(pairs["test"]), scorer(pairs["test"]))
    assert again.signature == scorer.signature


def test_features_by_hand():
    vectors = {"hi\nyou": [1.0, 0.0], "you": [0.6, 0.8], "yes": [0.0, 1.0]}
    passage = Passage((Turn("A", "hi"), Turn("B", "you")), "yes")
    values = features([passage], lambda texts: np.array([vectors[text] for text in texts]))
    np.testing.assert_allclose(values, [[0, 1, 0, 0, 0, 0.8, 0, 0.8 * np.sqrt(2)]])


def test_nothing_to_score_gives_nothing(pairs):
    scorer = EmbeddingScorer.fit(pairs["train"], embed=CachedEmbedder(Bags()))
    assert scorer(pairs["test"].select([])).shape == (0,)
