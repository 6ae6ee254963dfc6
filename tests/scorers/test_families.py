"""Features that are computed once, their solvers, and the towers that were fitted in advance."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import multivariate_normal
from sklearn.linear_model import LogisticRegression, Ridge

from dialeval.dialogues import Pairing, Passage, Turn, iterate, to_passages
from dialeval.scorers import load_scorer, save_scorer
from dialeval.scorers.bilinear import DAMPING, bilinear_model, fit_bilinear
from dialeval.scorers.families import FAMILIES, FeatureStore, texts_of_pairs, unseen_families
from dialeval.scorers.gaussian import SHRINKAGE, GaussianRows, fit_gaussian
from dialeval.scorers.likelihoods import ContextLikelihood
from dialeval.scorers.linear_features import Fold
from dialeval.scorers.linear_solvers import TrainingSet, fit_family, logistic_regression
from dialeval.scorers.matching import (
    DIRECTIONS,
    PATH,
    TOWERS,
    Matcher,
    default_matcher,
    lexical_features,
)
from dialeval.scorers.registry import CONTEXT_FAMILIES
from dialeval.scorers.row_cache import FitCache, RowCache
from dialeval.scorers.stack import STACK, StackScorer
from tests.scorers.test_stack import Letters, halves, passages


class Counted:
    """Rows of features, counting what is computed."""

    def __init__(self, sparse: bool = False):
        self.keys: list[str] = []
        self.sparse = sparse

    def __call__(self, keys: list[str]):
        self.keys += keys
        rows = np.array([[len(key), key.count("a")] for key in keys], dtype=float)
        return csr_matrix(rows) if self.sparse else rows


@pytest.mark.parametrize("sparse", [False, True])
def test_a_row_is_computed_once_and_returned_in_order(sparse):
    counted = Counted(sparse)
    cache = RowCache(counted)
    cache(["a", "bb"])
    rows = cache(["ccc", "a", "a"])
    rows = rows.toarray() if sparse else rows
    assert rows.tolist() == [[3, 0], [1, 1], [1, 1]]
    assert counted.keys == ["a", "bb", "ccc"]


def test_rows_that_could_not_be_computed_are_not_taken_for_others():
    fails = iter([False, True, False])

    def compute(keys):
        if next(fails):
            raise ValueError("try again")
        return np.array([[len(key)] for key in keys])

    cache = RowCache(compute)
    assert cache(["a"]).tolist() == [[1]]
    with pytest.raises(ValueError, match="try again"):
        cache(["four"])
    assert cache(["four", "a"]).tolist() == [[4], [1]]


def test_a_full_cache_starts_again_and_a_call_that_is_too_large_is_not_kept():
    counted = Counted()
    cache = RowCache(counted, limit=3)
    cache(["a", "bb"])
    assert cache(["bb", "ccc", "dddd"])[:, 0].tolist() == [2, 3, 4]
    assert len(cache) == 3
    assert cache([*"abcde", "a"])[:, 1].tolist() == [1, 0, 0, 0, 0, 1]
    assert len(cache) == 0


def made_rows(n: int, width: int) -> tuple[np.ndarray, np.ndarray, list[Fold]]:
    rng = np.random.default_rng(3)
    rows, labels = rng.normal(2, 3, (n, width)), np.arange(n) % 2
    rows[:, 0] += labels * 2
    part = np.arange(n) // 2 % 3
    left_out = rng.random(n) < 0.1  # rows that neither teach nor are held out in a fold
    return rows, labels, [Fold((part != k) & ~left_out, part == k) for k in range(3)]


@pytest.mark.parametrize(("n", "width"), [(60, 5), (30, 40)])  # by columns, and by rows
def test_ridge_values_equal_those_of_separate_fits(n, width):
    rows, labels, folds = made_rows(n, width)
    everything = TrainingSet(np.arange(n), labels, folds)
    ((model, values),) = fit_family(rows, [everything], 0.5)
    standard = (rows - rows.mean(0)) / rows.std(0)
    for fold in folds:
        ridge = Ridge(alpha=0.5 * fold.learn.sum(), fit_intercept=False)
        ridge.fit(standard[fold.learn], 2 * labels[fold.learn] - 1)
        np.testing.assert_allclose(
            values[fold.held_out], ridge.predict(standard[fold.held_out]), rtol=1e-4, atol=3e-4
        )
    ridge = Ridge(alpha=0.5 * n, fit_intercept=False).fit(standard, 2 * labels - 1)
    np.testing.assert_allclose(model(rows), ridge.predict(standard), rtol=1e-4, atol=3e-4)


@pytest.mark.parametrize(("n", "width"), [(60, 5), (30, 40)])
def test_sparse_ridge_equals_scikit_learns_on_features_as_they_are(n, width):
    rows, labels, folds = made_rows(n, width)
    rows = np.where(np.random.default_rng(0).random((n, width)) < 0.3, rows, 0)
    empty = np.zeros((n, 2))  # two features that no row has
    matrix = csr_matrix(np.hstack([empty, rows]).astype(np.float32))
    ((model, values),) = fit_family(matrix, [TrainingSet(np.arange(n), labels, folds)], 0.5)
    for fold in folds:
        ridge = Ridge(alpha=0.5 * fold.learn.sum())
        ridge.fit(rows[fold.learn], 2 * labels[fold.learn] - 1)
        expected = ridge.predict(rows[fold.held_out])
        np.testing.assert_allclose(values[fold.held_out], expected, atol=1e-2)
    ridge = Ridge(alpha=0.5 * n).fit(rows, 2 * labels - 1)
    np.testing.assert_allclose(model(matrix), ridge.predict(rows), atol=1e-2)
    assert model.columns is not None and 0 not in model.columns and model.width == width + 2


def test_constant_features_and_finished_columns_do_no_harm():
    """In single precision, rounding errors of a constant would otherwise count as its variation."""
    rows, labels, folds = made_rows(60, 5)
    constant = np.full((60, 2), 0.1) * [1, 1e4]
    everything = TrainingSet(np.arange(60), labels, folds)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ((plain, values),) = fit_family(rows.astype(np.float32), [everything], 1e-3)
        wide = np.hstack([rows, constant]).astype(np.float32)
        ((model, others),) = fit_family(wide, [everything], 1e-3)
    assert (model.weights[5:] == 0).all()
    np.testing.assert_allclose(model.weights[:5], plain.weights, rtol=1e-3)
    np.testing.assert_allclose(others, values, atol=1e-3)


def shrunk(rows: np.ndarray) -> np.ndarray:
    covariance = np.cov(rows.T)
    share = max(SHRINKAGE, rows.shape[1] / (rows.shape[1] + len(rows)))
    return (1 - share) * covariance + share * np.diag(np.diag(covariance))


def test_gaussian_models_are_log_ratios_of_densities():
    rng = np.random.default_rng(1)
    rows, labels = rng.normal(size=(400, 4)), np.arange(400) % 2
    rows[:, 2] += labels * rows[:, 0]
    human, machine = rows[labels == 1], rows[labels == 0]
    density = multivariate_normal(human.mean(0), shrunk(human))
    other = multivariate_normal(machine.mean(0), shrunk(machine))
    expected = density.logpdf(rows) - other.logpdf(rows)
    numbers, features = np.arange(len(rows)), GaussianRows(rows, rows[:, 0], "test", FitCache())
    every = TrainingSet(numbers, labels, [])
    model, _ = fit_gaussian(features, every, human_only=False)
    np.testing.assert_allclose(model(rows), expected, atol=1e-3)
    context = multivariate_normal(human.mean(0)[:2], shrunk(human)[:2, :2])
    response = multivariate_normal(human.mean(0)[2:], shrunk(human)[2:, 2:])
    expected = density.logpdf(rows) - context.logpdf(rows[:, :2]) - response.logpdf(rows[:, 2:])
    model, _ = fit_gaussian(features, every, human_only=True)
    np.testing.assert_allclose(model(rows), expected, atol=1e-3)


def test_mutual_information_reads_human_pairs_only():
    rng = np.random.default_rng(2)
    rows, labels = rng.normal(size=(200, 4)), np.arange(200) % 2
    rows_of_others = rows.copy()
    rows_of_others[labels == 0] = 9.0
    one, values = TrainingSet(np.arange(200), labels, []), []
    for matrix in (rows, rows_of_others):
        features = GaussianRows(matrix, np.arange(200), "test", FitCache())
        values.append(fit_gaussian(features, one, human_only=True)[0](rows).tolist())
    assert values[0] == values[1]


def test_gaussians_of_the_same_human_pairs_are_fitted_once_and_others_anew():
    rng = np.random.default_rng(3)
    labels, cache = np.arange(60) % 2, FitCache()
    folds = [Fold(np.arange(60) // 2 % 3 != at, np.arange(60) // 2 % 3 == at) for at in range(3)]
    one = TrainingSet(np.arange(60), labels, folds)
    human = rng.normal(size=(60, 4))
    counts = []
    for system in range(2):  # the human rows are the same, the machine's are others
        rows = np.where(labels[:, None] == 1, human, rng.normal(size=(60, 4)) + system)
        names = np.where(labels == 1, np.arange(60), 1000 * (1 + system) + np.arange(60))
        features = GaussianRows(rows, names, "towers", cache)
        alone = GaussianRows(rows, names, "towers", FitCache())
        for human_only in (True, False):
            model, values = fit_gaussian(features, one, human_only)
            expected, values_alone = fit_gaussian(alone, one, human_only)
            assert values.tolist() == values_alone.tolist()
            assert model(rows).tolist() == expected(rows).tolist()
        counts.append(len(cache))
    assert counts == [12, 16]  # associations, human and machine densities; then machine ones
    GaussianRows(rows, names, "topics", cache).density(np.arange(9))
    assert len(cache) == 17  # other features of the same pairs


@pytest.mark.parametrize("shift", [0.0, 1.0, 30.0])
def test_newton_gives_scikit_learns_logistic_regression(shift):
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 2, 150)
    features = rng.normal(size=(150, 3)) + shift * labels[:, None]  # the last one is separable
    model = logistic_regression(features, labels)
    expected = LogisticRegression(tol=1e-10, max_iter=1_000).fit(features, labels)
    np.testing.assert_allclose(model.weights, expected.coef_[0], atol=1e-4)
    np.testing.assert_allclose(model.intercept, expected.intercept_[0], atol=1e-3)


def test_texts_of_stored_pairs_equal_those_of_passages():
    pairs = Pairing("human_random")(passages(count=20))
    rows = [(tuple(turn["text"] for turn in row["context"]), row["response"]) for row in pairs]
    assert texts_of_pairs(pairs) == rows
    assert texts_of_pairs(pairs.select([3, 1])) == [rows[3], rows[1]]


def test_lexical_features_read_marks_openings_words_and_pairs():
    names = lexical_features("Well. Where are you?")
    for name in ("end ?", "open well", "last where", "last2 where are", "end-last ? where",
                 "close you", "asks 1", "word are", "pair where are"):  # fmt: skip
        assert name in names
    assert lexical_features("")[:2] == ["end 0", "open "]


def test_the_towers_are_small_and_survive_saving(tmp_path):
    assert PATH.stat().st_size <= 400_000
    matcher = default_matcher()
    states = np.random.default_rng(0).normal(0, 0.05, (3, 4, 384)).astype(np.float16)
    texts = ["Where is it?", "In the kitchen.", ""]
    outputs = matcher(texts, states)
    assert outputs.shape == (3, len(TOWERS), matcher.width) and np.isfinite(outputs).all()
    matcher.save(tmp_path / "towers.safetensors")
    again = Matcher.load(tmp_path / "towers.safetensors")(texts, states)
    np.testing.assert_allclose(again, outputs, atol=0.02 * np.abs(outputs).max())


def test_the_towers_prefer_an_answer_to_the_question_that_was_asked():
    """By their lexical part: the states are the same for all texts."""
    matcher, states = default_matcher(), np.tile(default_matcher().tensors["mean"], (2, 1))
    question = matcher(["Where are you from?", "Thank you so much!"], states)[:, 0]
    answer = matcher(["From Germany, you?", "You are welcome."], states)[:, 2]
    scores = question @ answer.T
    assert scores[0, 0] + scores[1, 1] > scores[0, 1] + scores[1, 0]


class Stub:
    """A language model that finds responses likely that repeat a word of the context."""

    signature = "stub"

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, rows: list[Passage]) -> np.ndarray:
        self.calls += len(rows)
        context = [{word for turn in row.context for word in turn.text.split()} for row in rows]
        return np.array([-5.0 + 2 * bool(words & set(row.response.split()))
                         for row, words in zip(rows, context, strict=True)])  # fmt: skip


def test_likelihoods_are_computed_once_and_read_from_disk_later(tmp_path):
    pairs = [(("do you like tea",), "tea please"), (("hello",), "no"), (("hello",), "no")]
    stub = Stub()
    rows = ContextLikelihood(stub, tmp_path / "scores.txt")(pairs)
    assert rows.tolist() == [[-3, -5, 2], [-5, -5, 0], [-5, -5, 0]]
    assert stub.calls == 4  # two pairs, two responses alone
    again = Stub()
    assert ContextLikelihood(again, tmp_path / "scores.txt")(pairs).tolist() == rows.tolist()
    assert again.calls == 0


def test_a_stack_with_likelihoods_uses_them(tmp_path):
    train, test = map(Pairing("human_random", seed=2), halves(passages(count=200)))
    store = FeatureStore(Letters(), ContextLikelihood(Stub(), tmp_path / "scores.txt"))
    scorer = StackScorer.fit(train, families=("ngrams", "likelihood"), store=store)
    assert scorer.weights()["likelihood"] > 0
    labels = np.asarray(test["label"]) == 1
    # Answers to a question of the same kind share its words too, so some stay hidden.
    assert ((scorer(test) >= 0.5) == labels).mean() > 0.65
    alone = StackScorer.fit(train, families=("ngrams",), store=store)
    assert ((alone(test) >= 0.5) == labels).mean() < 0.6


def test_contexts_of_other_speakers_make_no_difference():
    turns = (Turn("A", "Hi"), Turn("B", "Hello"))
    others = tuple(Turn("X", turn.text) for turn in turns)
    assert texts_of_pairs([Passage(turns, "Bye")]) == texts_of_pairs([Passage(others, "Bye")])


@pytest.mark.parametrize("sparse", [False, True])
def test_training_sets_that_are_fitted_together_equal_those_fitted_alone(sparse):
    rng = np.random.default_rng(5)
    dense = np.where(rng.random((40, 6)) < 0.5, rng.normal(size=(40, 6)), 0).astype("f4")
    sets = []
    for rows in (np.arange(30), np.arange(10, 40), np.repeat(np.arange(10), 3)):
        part = rows // 2 % 3
        folds = [Fold(part != k, part == k) for k in range(3)]
        sets.append(TrainingSet(rows, rows % 2, folds))
    together = fit_family(csr_matrix(dense) if sparse else dense, sets, 0.1)
    for one, (model, values) in zip(sets, together, strict=True):
        alone = dense[one.rows]
        separate = TrainingSet(np.arange(len(alone)), one.labels, one.folds)
        matrix = csr_matrix(alone) if sparse else alone
        ((expected, expected_values),) = fit_family(matrix, [separate], 0.1)
        np.testing.assert_allclose(model(alone), expected(alone), rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(values, expected_values, rtol=1e-3, atol=1e-4)


def test_towers_are_left_out_on_the_corpus_that_they_were_fitted_to():
    rows = [replace(passage, corpus="other") for passage in iterate(passages())]
    other, mixed = to_passages(rows), to_passages([*rows, replace(rows[0], corpus="chitchat")])
    assert unseen_families(STACK, [other]) == list(STACK)
    left = ["ngrams", "vectors", "crossed", "flow", "style"]
    assert unseen_families(STACK, [other, mixed]) == left


def test_towers_compute_in_single_precision_what_they_would_in_double():
    texts, rng = ["Where is it?", "", "On the table, I think."], np.random.default_rng(0)
    towers = default_matcher()
    states = rng.standard_normal((3, 4, 384)).astype(np.float32)
    double = Matcher(
        {name: tensor.astype(np.float64) for name, tensor in towers.tensors.items()},
        towers.lexical.names,
    )
    outputs = towers(texts, states)
    assert outputs.dtype == np.float32  # else every fit on them takes twice the time
    np.testing.assert_allclose(outputs, double(texts, states), rtol=1e-4, atol=1e-4)


def test_the_split_of_context_and_response_and_the_shrinkage_are_those_given():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(300, 5)) @ rng.normal(size=(5, 5))
    covariance = 0.4 * np.cov(rows.T) + 0.6 * np.diag(np.diag(np.cov(rows.T)))
    joint = multivariate_normal(rows.mean(0), covariance).logpdf(rows)
    context = multivariate_normal(rows.mean(0)[:3], covariance[:3, :3]).logpdf(rows[:, :3])
    response = multivariate_normal(rows.mean(0)[3:], covariance[3:, 3:]).logpdf(rows[:, 3:])
    features = GaussianRows(rows, np.arange(300), "test", FitCache(), split=3, shrinkage=0.6)
    one = TrainingSet(np.arange(300), np.ones(300, int), [])
    model, _ = fit_gaussian(features, one, human_only=True)
    np.testing.assert_allclose(model(rows), joint - context - response, atol=1e-3)


def test_a_bilinear_form_is_ridge_on_all_products_of_white_features():
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(400, 5))
    context, _ = np.linalg.qr(rows[:, :3] - rows[:, :3].mean(0))
    response, _ = np.linalg.qr(rows[:, 3:] - rows[:, 3:].mean(0))
    white = np.sqrt(400) * np.hstack([context, response])  # covariances of each side are 1
    labels = np.arange(400) % 2
    white_signs = 2.0 * labels - 1
    # By loops: the mean of label times product, over (1 + damping) of both sides.
    expected = [
        sum(
            np.mean(white_signs * white[:, i] * white[:, j]) * row[i] * row[j]
            for i in range(3)
            for j in (3, 4)
        )
        / (1 + DAMPING) ** 2
        for row in white
    ]
    model = bilinear_model(white + 7.0, labels, 3)  # the means are subtracted
    np.testing.assert_allclose(model(white + 7.0), expected, atol=1e-9)


def test_a_bilinear_form_recognises_which_response_goes_with_which_context():
    rng = np.random.default_rng(7)
    context, noise = rng.normal(size=(600, 3)), rng.normal(size=(600, 2))
    labels, part = np.arange(600) % 2, np.arange(600) // 2 % 3
    response = np.where(labels[:, None] == 1, context[:, [2, 0]], 0) + noise
    constant = np.full((600, 1), 3.0)
    rows = np.hstack([context, constant, response]).astype(np.float32)
    folds = [Fold(part != at, part == at) for at in range(3)]
    model, values = fit_bilinear(rows, TrainingSet(np.arange(600), labels, folds), 4)
    assert ((values > 0) == (labels == 1)).mean() > 0.62  # the best possible is about .66
    assert np.isfinite(model.matrix).all() and (model.matrix[3] == 0).all()
    coins = TrainingSet(np.arange(600), rng.integers(0, 2, 600), folds)
    _, values = fit_bilinear(rows, coins, 4)
    assert abs(((values > 0) == (coins.labels == 1)).mean() - 0.5) < 0.07


class States(Letters):
    """Letters, with invented states that depend on the text alone."""

    name = "states"

    def states(self, texts) -> np.ndarray:
        """Of the shape that MiniLM's have."""
        seeds = [sum(map(ord, text)) for text in texts]
        return np.stack([np.random.default_rng(seed).normal(0, 0.05, (4, 384)) for seed in seeds])


def test_rows_of_states_and_products_have_the_turns_where_the_split_says():
    store = FeatureStore(States())
    pairs = [(("Where is it?", "In the box."), "Thanks."), (("Hi",), "Hello")]
    one = default_matcher().components(States().states(["In the box.", "Where is it?", "Thanks."]))
    assert one.shape == (3, sum(DIRECTIONS))
    rows, split = store.matrix("flow", pairs), store.split("flow")
    np.testing.assert_allclose(rows[0, : sum(DIRECTIONS)], one[0], atol=1e-5)
    np.testing.assert_allclose(rows[0, sum(DIRECTIONS) :][:40], one[1, :40], atol=1e-5)
    np.testing.assert_allclose(rows[0, split:], one[2], atol=1e-5)
    assert (rows[1, sum(DIRECTIONS) : split] == 0).all()  # no turn before the last one
    products, at = store.matrix("bilinear", pairs), store.split("bilinear")
    np.testing.assert_allclose(products[0, at - 72 : at], one[0, 56:], atol=1e-5)
    np.testing.assert_allclose(products[0, -72:], one[2, 56:], atol=1e-5)
    assert (products[1, 64:128] == 0).all()


def test_all_families_survive_saving(tmp_path):
    train, test = halves(Pairing("human_random")(passages()))
    scorer = StackScorer.fit(train, embed=States())
    assert list(scorer.models) == list(STACK)
    scorer = StackScorer(  # families that got no weight are to be seen too
        scorer.models, replace(scorer.combiner, weights=np.ones(len(STACK))), scorer.store, 1
    )
    save_scorer(scorer, tmp_path / "stack")
    loaded = load_scorer(tmp_path / "stack", embed=States())
    # Rows were computed in other batches, and Gaussian models are saved as quadratic functions:
    # both move the last bits.
    np.testing.assert_allclose(loaded(test), scorer(test), atol=3e-5)


def test_every_context_family_of_the_registry_exists():
    assert set(CONTEXT_FAMILIES) == set(STACK) - {"ngrams"} and set(STACK) <= set(FAMILIES)
