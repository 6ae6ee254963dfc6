"""The stack: three families of features, combined by what each is worth on held-out dialogues."""

import numpy as np
import pytest

from dialeval.dialogues import Pairing, Passage, Passages, Turn, split, to_passages
from dialeval.scorers import load_scorer, save_scorer
from dialeval.scorers.crossed import crossed_features, turn_words
from dialeval.scorers.families import FeatureStore, texts_of_pairs
from dialeval.scorers.linear_features import dialogue_numbers
from dialeval.scorers.stack import StackScorer, _combine

THINGS = ("tea", "rain", "music", "bread", "trains", "books", "cats", "maths")
ANSWERS = {"Do you like": "Yes, I do like", "Where is the": "In the kitchen with"}


class Letters:
    """A sentence encoder that ignores case: counts of letters, of length 1."""

    name = "letters"

    def __call__(self, texts) -> np.ndarray:
        counts = np.array([[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts])
        return (counts / np.maximum(1, np.linalg.norm(counts, axis=1, keepdims=True))).astype("f4")


def passages(shout: bool = False, count: int = 120) -> Passages:
    """Questions of two kinds with answers that fit, in capitals where asked for."""
    rows = []
    for number in range(count):
        thing, kind = THINGS[number % 8], list(ANSWERS)[number // 8 % 2]
        text = f"{ANSWERS[kind]} {thing} number {number}."
        rows.append(
            Passage(
                (Turn("A", f"{kind} {thing} {number}?"),),
                text.upper() if shout else text,
                "bot" if shout else "human",
                id=str(number),
                dialogue_id=f"d{number}",
            )
        )
    return to_passages(rows)


def accuracy(scorer: StackScorer, pairs: Passages) -> float:
    return float(((scorer(pairs) >= 0.5) == (np.asarray(pairs["label"]) == 1)).mean())


def halves(rows: Passages) -> tuple[Passages, Passages]:
    parts = split(rows, {"train": 0.5, "test": 0.5}, 1)
    return parts["train"], parts["test"]


def test_a_system_that_shouts_human_replies_is_recognised_by_their_case():
    train, test = halves(Pairing("human_machine")(passages(), passages(shout=True)))
    scorer = StackScorer.fit(train, embed=Letters())
    assert accuracy(scorer, test) == 1
    without = StackScorer.fit(train, embed=Letters(), families=("vectors",))
    assert accuracy(without, test) == 0.5  # the encoder cannot see it


def test_answers_to_another_question_are_recognised_by_crossed_words():
    train, test = map(Pairing("human_random", seed=2), halves(passages(count=400)))
    alone = StackScorer.fit(train, embed=Letters(), families=("ngrams",))
    crossed = StackScorer.fit(train, embed=Letters(), families=("ngrams", "crossed"))
    assert accuracy(alone, test) < 0.6  # random replies are human replies
    # Half of the random replies answer a question of the same kind, which nothing gives away.
    assert accuracy(crossed, test) > accuracy(alone, test) + 0.1
    assert crossed.weights()["crossed"] > 0


def test_a_saved_stack_loads_to_equal_scores(tmp_path):
    train, test = halves(Pairing("human_machine")(passages(), passages(shout=True)))
    scorer = StackScorer.fit(train, embed=Letters(), name="mine")
    save_scorer(scorer, tmp_path / "stack")
    loaded = load_scorer(tmp_path / "stack", embed=Letters())
    assert loaded(test).tolist() == scorer(test).tolist()
    assert loaded.signature == scorer.signature
    assert "families:ngrams+vectors+crossed|vectors:letters" in scorer.signature
    with pytest.raises(ValueError, match="it needs vectors of 'letters'"):
        load_scorer(tmp_path / "stack")


def test_the_same_seed_gives_the_same_scores_and_no_passages_no_scores():
    train, test = map(Pairing("human_random"), halves(passages()))
    first, second = (StackScorer.fit(train, 3, Letters())(test) for _ in range(2))
    assert first.tolist() == second.tolist()
    assert StackScorer.fit(train, embed=Letters())(test.select([])).shape == (0,)


def test_scores_do_not_depend_on_the_company_of_a_passage():
    train, test = map(Pairing("human_random"), halves(passages()))
    scorer = StackScorer.fit(train, embed=Letters())
    alone = [scorer(test.select([row]))[0] for row in range(5)]
    np.testing.assert_allclose(scorer(test)[:5], alone, rtol=1e-6)


def test_crossed_features_read_the_last_sentence_marks_overlap_and_the_turn_before():
    features = crossed_features(("I bought tea.", "Nice! Where is it?"), "It is tea, I think.")
    for name in ("question where is|it", "marks ?|.", "previous-overlap 1", "overlap 0",
                 "word where|is", "previous i|it", "previous-end .|it"):  # fmt: skip
        assert name in features, name
    assert "first-turn" in crossed_features(("Hello",), "Hi")
    assert crossed_features((), "")  # nothing to cross, but no error


def test_long_turns_are_cut_to_a_few_function_words_and_lengths_are_in_steps():
    many = turn_words(" ".join(["i you he she it we they me him her us them my your"] * 3))
    assert len(many.function) == 12
    lengths = [int(turn_words("word " * count).length) for count in (1, 2, 3, 5, 8, 11, 20)]
    assert lengths == sorted(lengths) and len(set(lengths)) >= 6


def test_the_surface_family_sees_case_spacing_and_marks():
    rows = [Passage((), text) for text in ("Fine.", "fine.", "Fine .", "Fine", "FINE.")]
    matrix = FeatureStore(Letters()).matrix("ngrams", texts_of_pairs(rows)).toarray()
    assert len({row.tobytes() for row in matrix}) == 5


def blank(pairs: Passages) -> Passages:
    return pairs.map(lambda row: {**row, "context": []}, load_from_cache_file=False)


def test_without_contexts_only_the_response_is_read_and_nothing_else_is_computed():
    train, test = halves(Pairing("human_machine")(passages(), passages(shout=True)))
    twin = StackScorer.fit(blank(train), embed=Letters())
    assert list(twin.models) == ["ngrams", "response"]
    assert accuracy(twin, blank(test)) == 1
    assert twin(test).tolist() == twin(blank(test)).tolist()  # blind to contexts it is given later


def test_the_matching_family_needs_an_encoder_with_states():
    train, _ = halves(Pairing("human_random")(passages()))
    assert "matching" not in StackScorer.fit(train, embed=Letters()).models
    with pytest.raises(ValueError, match="no features are left of matching"):
        StackScorer.fit(train, embed=Letters(), families=("matching",))
    with pytest.raises(ValueError, match="unknown family of features: 'words'"):
        StackScorer.fit(train, embed=Letters(), families=("words",))


def test_where_nothing_separates_the_classes_every_response_gets_one_half():
    values = np.random.default_rng(0).normal(size=(200, 2))
    labels, dialogues = np.arange(200) % 2, np.arange(200) // 2
    values[:, 0] -= 3 * labels  # the wrong way round on held-out dialogues
    values[:, 1] -= values[labels == 1, 1].mean() * labels - values[labels == 0, 1].mean() * labels
    model = _combine(values, labels, dialogues)
    assert model.weights.tolist() == [0, 0] and model.intercept == 0


def test_the_strongest_of_many_families_needs_more_evidence_than_one_alone():
    """Against a brute-force count: how often noise gets a weight, with one family and with nine."""
    rng, labels, dialogues = np.random.default_rng(3), np.arange(120) % 2, np.arange(120) // 2
    for families in (1, 9):
        noise = rng.normal(size=(400, 120, families))
        used = [_combine(values, labels, dialogues).weights.any() for values in noise]
        assert 0.005 < np.mean(used) < 0.06, families
    signal = np.stack([labels + rng.normal(size=120), *rng.normal(size=(8, 120))], 1)
    assert _combine(signal, labels, dialogues).weights[0] > 0


def test_weights_of_families_are_never_negative():
    rng = np.random.default_rng(1)
    labels, dialogues = np.arange(400) % 2, np.arange(400) // 2
    signal = labels + rng.normal(size=400)
    values = np.stack([signal, signal + 0.1 * rng.normal(size=400) - 0.05 * labels], 1)
    weights = _combine(values, labels, dialogues).weights
    assert (weights >= 0).all() and weights[0] > 0


def test_dialogues_are_numbered_alike_where_their_ids_are_equal():
    ids = ["b", "a", "b", "c", "a"]
    numbers = dialogue_numbers(to_passages(Passage((), "hi", dialogue_id=name) for name in ids))
    assert numbers.tolist() == [0, 1, 0, 2, 1]
