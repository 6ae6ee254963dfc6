"""The support vector machine: what it learns, what it must not see, and how it is kept."""

import json
import logging

import numpy as np
import pytest
import skops.io

from dialeval.dialogues import BadInput, Pairing, Passage, Turn, select, split, to_passages
from dialeval.protocols.evaluation.folds import concatenate_pairs
from dialeval.scorers import load_scorer, save_scorer
from dialeval.scorers.linear import MODEL, SvmScorer
from dialeval.scorers.linear_features import SvmSettings, make_folds
from dialeval.scorers.words import WordCache

FILLER = tuple("abcdefghijklmnop")


def chatter(dialogues: int = 80, human: str = "well", machine: str = "sorry"):
    """Pairs whose authors each have a word of their own, in four responses of five."""
    rng = np.random.default_rng(0)

    def words(marker: str) -> str:
        drawn = [*rng.choice(FILLER, 6), marker if rng.random() < 0.8 else "hm"]
        return " ".join(rng.permutation(drawn))

    people, machines = [], []
    for number in range(dialogues):
        for turn in range(3):
            context = (Turn("A", words("hm")), Turn("B", words("hm")))
            made = {"id": f"{number}#{turn}", "dialogue_id": f"d{number}"}
            people.append(Passage(context, words(human), **made))
            machines.append(Passage(context, words(machine), author="bot", **made))
    return Pairing()(to_passages(people), to_passages(machines))


@pytest.fixture(scope="module")
def parts():
    return split(chatter(), {"train": 0.7, "test": 0.3})


@pytest.fixture(scope="module")
def scorer(parts):
    return SvmScorer.fit(parts["train"])


def accuracy(scores, pairs) -> float:
    return float(((scores >= 0.5) == np.array(pairs["label"])).mean())


class Peek:
    """A scorer that knows the author, more or less."""

    higher_is_human = True

    def __init__(self, name: str = "peek", noise: float = 1.0):
        self.name, self.noise = name, noise

    def __call__(self, passages):
        # Noise from the text, so that a passage has one number wherever it stands.
        noise = [np.random.default_rng(len(p["response"])).normal() for p in passages]
        return np.array([p["author"] == "human" for p in passages]) + self.noise * np.array(noise)


def test_a_planted_word_is_found_on_other_dialogues(scorer, parts):
    scores = scorer(parts["test"])
    assert accuracy(scores, parts["test"]) > 0.85
    assert ((scores > 0) & (scores < 1)).all()


def test_probabilities_are_calibrated(scorer, parts):
    scores, labels = scorer(parts["test"]), np.array(parts["test"]["label"])
    sure = scores > 0.9
    assert sure.sum() > 20
    assert labels[sure].mean() > 0.85
    assert np.square(scores - labels).mean() < 0.15


def test_nothing_is_learnt_where_nothing_differs():
    parts = split(chatter(human="hm", machine="hm"), {"train": 0.7, "test": 0.3})
    scorer = SvmScorer.fit(parts["train"])
    assert 0.35 < accuracy(scorer(parts["test"]), parts["test"]) < 0.65


def test_a_word_of_the_context_is_not_that_word_of_the_response(scorer):
    neutral = Passage((Turn("A", "hm"),), "hm")
    spoken = Passage((Turn("A", "hm"),), "hm well")
    heard = Passage((Turn("A", "hm well"),), "hm")
    score, in_response, in_context = scorer([neutral, spoken, heard])
    assert in_response > score + 0.1
    assert abs(in_context - score) < 0.01  # "well" is never in a context of the training data


def test_context_can_be_left_out(parts):
    scorer = SvmScorer.fit(parts["train"], use_context=False)
    first, second = (Passage((Turn("A", text),), "well hm") for text in ("a b c", "d e f"))
    scores = scorer([first, second])
    assert scores[0] == scores[1]
    assert "unigrams:response|" in scorer.signature
    assert len(np.unique(SvmScorer.fit(parts["train"])([first, second]))) == 2


def test_scores_do_not_depend_on_batches(scorer, parts, monkeypatch):
    expected = scorer(parts["test"])
    monkeypatch.setattr("dialeval.scorers.linear.BATCH", 7)
    assert scorer(parts["test"]) == pytest.approx(expected, abs=1e-12)
    assert scorer(to_passages([])).shape == (0,)


def test_fitting_again_gives_the_same(scorer, parts):
    again = SvmScorer.fit(parts["train"])
    assert np.array_equal(again(parts["test"]), scorer(parts["test"]))


def test_saved_and_loaded_scores_are_equal(scorer, parts, tmp_path):
    loaded = load_scorer(save_scorer(scorer, tmp_path / "svm"), device="cpu")
    assert np.array_equal(loaded(parts["test"]), scorer(parts["test"]))
    assert loaded.signature == scorer.signature
    assert (tmp_path / "svm" / MODEL).stat().st_size < 100_000


def test_untrusted_types_are_not_loaded(scorer, tmp_path):
    folder = save_scorer(scorer, tmp_path / "svm")
    skops.io.dump({"response": Peek()}, folder / MODEL)
    with pytest.raises(BadInput, match="never saves.*Do not use it"):
        load_scorer(folder)
    (folder / MODEL).write_bytes(b"PK something else")
    with pytest.raises(BadInput, match="could not read it.*Copy the whole folder"):
        load_scorer(folder)
    (folder / MODEL).unlink()
    with pytest.raises(BadInput, match="no model.skops here"):
        load_scorer(folder)


def test_one_class_is_refused(parts):
    ones = select(parts["train"], np.array(parts["train"]["label"]) == 1)
    with pytest.raises(BadInput, match="but the .* rows have 1. Give both classes"):
        SvmScorer.fit(ones)
    with pytest.raises(BadInput, match="column `label`.*Make pairs first"):
        SvmScorer.fit(parts["train"].remove_columns("label"))


def test_one_dialogue_is_too_few(parts):
    ids = np.array(parts["train"]["dialogue_id"])
    with pytest.raises(BadInput, match="too few dialogues.*Give more dialogues"):
        SvmScorer.fit(select(parts["train"], ids == ids[0]))


def test_a_part_that_was_split_off_with_the_same_seed_has_all_folds(parts):
    networks = Networks()
    part = split(parts["train"], {"small": 0.25, "rest": 0.75}, seed=0)["small"]
    SvmScorer.fit(part, represent_factory=networks, seed=0)
    assert len(networks.seen) == 5 + 1


def test_no_words_are_too_few(parts):
    with pytest.raises(BadInput, match="no words to learn from.*lower `min_count`"):
        SvmScorer.fit(parts["train"], min_count=10_000)


def test_other_scorers_numbers_help(parts, scorer):
    train, test = parts["train"], parts["test"]
    features = {"forward": Peek("lm-a", 0.3), "backward": Peek("lm-b", 0.3)}
    richer = SvmScorer.fit(train, features=features)
    assert accuracy(richer(test), test) > accuracy(scorer(test), test)
    assert "forward:lm-a|backward:lm-b" in richer.signature


def test_a_scorer_with_features_says_what_it_needs(parts, tmp_path, caplog):
    features = {"forward": Peek("lm-a"), "backward": Peek("lm-b")}
    scorer = SvmScorer.fit(parts["train"], features=features)
    folder = save_scorer(scorer, tmp_path / "svm")
    assert json.loads((folder / "scorer.json").read_text())["features"]["forward"] == "lm-a"
    with pytest.raises(BadInput, match="'backward' .by 'lm-b'. is missing.*features="):
        load_scorer(folder, features={"forward": Peek("lm-a")})
    backwards = dict(reversed(features.items()))  # columns keep their order all the same
    loaded = load_scorer(folder, features=backwards)
    assert np.array_equal(loaded(parts["test"]), scorer(parts["test"]))
    with caplog.at_level(logging.WARNING):
        load_scorer(folder, features={**features, "forward": Peek("gpt2")})
    assert "'forward' was 'lm-a' when the scorer was fitted, and is 'gpt2' now" in caplog.text


def test_features_must_be_numbers(parts):
    with pytest.raises(BadInput, match="'odd' is not a finite number"):
        SvmScorer.fit(parts["train"], features={"odd": lambda rows: np.full(len(rows), np.nan)})


class Networks:
    """Networks that know their own training rows by heart, and nothing else."""

    def __init__(self):
        self.seen = []

    def __call__(self, pairs):
        labels = {(p["id"], p["author"]): p["label"] for p in pairs}
        self.seen.append({p["dialogue_id"] for p in pairs})

        def represent(passages):
            known = [labels.get((p["id"], p["author"]), 0.5) for p in passages]
            return np.column_stack([known, np.ones(len(known))])

        return represent


def test_representations_are_out_of_fold(parts, scorer):
    train, test = parts["train"], parts["test"]
    networks = Networks()
    neural = SvmScorer.fit(train, represent_factory=networks, folds=4)
    every = set(train["dialogue_id"])
    assert len(networks.seen) == 5
    assert networks.seen[-1] == every
    left_out = [every - seen for seen in networks.seen[:-1]]
    assert set().union(*left_out) == every
    assert sum(map(len, left_out)) == len(every)
    # Memory is worth nothing out of fold: the unigrams keep their weight.
    assert accuracy(neural(test), test) > 0.85
    assert "neural:2" in neural.signature


def borrowed() -> list[Passage]:
    """Dialogues in which each utterance has a word that is nowhere else."""
    rng = np.random.default_rng(0)
    return [
        Passage(
            (Turn("A", " ".join(rng.choice(FILLER, 4))),),
            f"w{number}x{turn} {rng.choice(FILLER)}",
            id=f"{number}#{turn}",
            dialogue_id=f"d{number}",
        )
        for number in range(60)
        for turn in range(3)
    ]


def test_replies_of_held_out_rows_are_not_learnt_from():
    pairs = Pairing("human_random")(to_passages(borrowed()))
    learnt = []

    def network(part):
        learnt.append(set(part["response"]))

        def represent(passages):
            if len(passages) < len(pairs):  # the fold that was held out
                assert not learnt[-1] & set(passages["response"])
            return np.zeros((len(passages), 1))

        return represent

    SvmScorer.fit(pairs, represent_factory=network)
    assert all(len(replies) > 50 for replies in learnt)


def test_folds_of_dialogues_that_share_no_reply_lose_no_row():
    """As in a cross-fit: random replies were drawn inside each of four parts."""
    human = to_passages(borrowed())
    part = np.array([int(name[1:]) % 4 for name in human["dialogue_id"]])
    draw = Pairing("human_random")
    closed = concatenate_pairs([draw(select(human, part == index)) for index in range(4)])
    rows = np.array([int(name[1:]) % 4 for name in closed["dialogue_id"]])
    folds = make_folds(closed, np.array(closed["label"]), SvmSettings(folds=4))
    assert sorted(set(rows[fold.held_out]).pop() for fold in folds) == [0, 1, 2, 3]
    assert all((fold.learn != fold.held_out).all() for fold in folds)
    # Drawn from all dialogues alike, nearly all hang together, and rows have to be left out.
    mixed = draw(human)
    for fold in make_folds(mixed, np.array(mixed["label"]), SvmSettings(folds=4)):
        assert (~fold.learn & ~fold.held_out).mean() > 0.1


def test_random_replies_do_not_invert_the_decision():
    """Each reply is human in one row and random in another: its words say nothing."""
    pairs = Pairing("human_random")(to_passages(borrowed()))
    scorer = SvmScorer.fit(pairs, use_context=False)
    slope = scorer.parts["classifier"].calibrated_classifiers_[0].calibrators[0].a_
    assert slope < 0.5  # of P = 1 / (1 + exp(a * margin + b)), which a leak makes large


def test_the_representation_is_given_again_at_load(parts, tmp_path):
    scorer = SvmScorer.fit(parts["train"], represent_factory=Networks())
    folder = save_scorer(scorer, tmp_path / "svm")
    with pytest.raises(BadInput, match="representation of 2 dimensions.*represent="):
        load_scorer(folder)
    loaded = load_scorer(folder, represent=scorer.represent)
    assert np.array_equal(loaded(parts["test"]), scorer(parts["test"]))
    wrong = load_scorer(folder, represent=lambda rows: np.zeros((len(rows), 3)))
    with pytest.raises(BadInput, match="function that the scorer was fitted with"):
        wrong(parts["test"])


def test_words_that_are_remembered_change_no_score(parts, tmp_path):
    plain = SvmScorer.fit(parts["train"], seed=0)
    words = WordCache()
    cached = SvmScorer.fit(parts["train"], seed=0, words=words)
    for name in ("context", "response"):
        assert plain.parts[name].vocabulary_ == cached.parts[name].vocabulary_
    rows = [*parts["test"]["response"][:], "unheard of words", ""]
    expected = plain.parts["response"].transform(rows)
    assert (words.matrix(cached.parts["response"], rows) != expected).nnz == 0
    np.testing.assert_allclose(cached(parts["test"]), plain(parts["test"]), atol=1e-12)
    again = load_scorer(save_scorer(cached, tmp_path / "cached"))
    np.testing.assert_allclose(again(parts["test"]), plain(parts["test"]), atol=1e-12)
