"""The recipes about people and tables of evaluators run on tiny inputs, with known answers."""

import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from dialeval.dialogues import Passage, Turn, to_passages, write_passages
from dialeval.errors import BadInput
from dialeval.judgements import Judgement
from dialeval.models.tokenizers import word_tokenizer
from dialeval.protocols.people import MetricScores, read_scores
from dialeval.protocols.people.scores import matrices
from dialeval.protocols.people.systems import (
    RatedSystems,
    SystemScorer,
    labelled,
    simple_baselines,
)
from dialeval.responders.task import mean_likelihoods
from dialeval.scorers.base import Decision
from dialeval.scorers.folders import save_scorer
from dialeval.scorers.linear import SvmScorer
from dialeval.scorers.registry import fit_function

RECIPES = Path(__file__).resolve().parents[1] / "recipes"
WORDS = ("tea", "rain", "chess", "trains", "cats", "bread", "snow")


@pytest.fixture
def run_recipe(monkeypatch, tmp_path, capsys):
    """Run a recipe in a folder of its own; returns what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(name: str, *arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", [str(RECIPES / name), *map(str, arguments)])
        monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # recipes replace it
        runpy.run_path(str(RECIPES / name), run_name="__main__")
        return capsys.readouterr().out

    return run


def replies(count: int = 60, start: int = 0) -> list[Passage]:
    return [
        Passage(
            (Turn("A", f"do you like {WORDS[n % 7]} {n} ?"),),
            f"yes {WORDS[n % 7]} {WORDS[n % 5]} are fine",
            id=f"c{n}",
            dialogue_id=f"d{n}",
        )
        for n in range(start, start + count)
    ]


def rated_corpus() -> list[Passage]:
    """Humans, a robot that everyone recognises, and one that copies the human replies."""
    rows = replies()
    rated = {"bot": ("beep boop {}", 1.0), "twin": ("{}", 5.0), "half": ("beep {}", 3.0)}
    for name, (text, rating) in rated.items():
        for n, row in enumerate(replies()):
            reply = row.with_response(text.format(row.response), name)
            rows.append(replace(reply, extra={"rating": rating + 0.1 * (n % 3)}))
    return rows


class Planted:
    """Says "machine" to what begins with "beep", and notes which dialogues it was trained on."""

    name, higher_is_human, decision = "planted", True, Decision()

    def __init__(self, pairs):
        self.dialogues = set(pairs["dialogue_id"])

    def __call__(self, passages):
        assert not self.dialogues & set(passages["dialogue_id"])  # never its own training data
        return np.array([0.1 if text.startswith("beep") else 0.9 for text in passages["response"]])


def test_scores_of_systems_are_cross_fitted():
    data = RatedSystems.of(rated_corpus(), number=3)
    scorer = SystemScorer(data, shared=None)
    fit = lambda pairs, seed, shared: Planted(pairs)  # noqa: E731
    errors, scores = scorer.adversarial(fit, data.systems["bot"])
    assert errors.tolist() == [0.0] * 60 and scores.tolist() == [0.1] * 60
    errors, scores = scorer.adversarial(fit, data.systems["twin"])
    assert errors.tolist() == [0.5] * 60 and scores.tolist() == [0.9] * 60
    relevance = scorer.relevance(fit)
    assert {name: set(row) for name, row in relevance.items()} == {
        "bot": {0.1}, "half": {0.1}, "twin": {0.9},
    }  # fmt: skip
    assert len(RatedSystems.of(rated_corpus(), number=3, limit=12).human) == 12


def test_an_evaluator_of_relevance_never_sees_a_reply_of_the_fold_that_it_scores():
    people = [replace(row, response=f"{row.response} {row.id}") for row in replies()]
    bot = [row.with_response("beep", "bot") for row in people]
    data = RatedSystems.of([*people, *bot], number=3)
    fold_of = {row.response: number for row, number in zip(data.human, data.fold, strict=True)}
    seen = []

    def fit(pairs, seed, shared):
        assert sorted(pairs["label"]) == [0] * (len(pairs) // 2) + [1] * (len(pairs) // 2)
        seen.append({fold_of[text] for text in pairs["response"]})
        return Planted(pairs)

    SystemScorer(data, shared=None).relevance(fit)
    assert len(seen) == 3 and all(len(folds) == 2 for folds in seen)


def test_what_cannot_be_compared_is_explained():
    with pytest.raises(BadInput, match="but got those of human"):
        RatedSystems.of(replies())
    with pytest.raises(BadInput, match="everyone replied to 0 contexts"):
        others = [row.with_response("no", "bot") for row in replies(5, start=100)]
        RatedSystems.of([*replies(5), *others])


def test_baselines_by_hand():
    [row] = replies(1)
    data = RatedSystems(
        [row], {"twin": [row], "bot": [row.with_response("no", "bot")]}, np.zeros(1)
    )
    vectors = {row.response: [0.6, 0.8], "no": [1.0, 0.0]}
    columns = simple_baselines(
        data,
        embed=lambda texts: np.array([vectors[text] for text in texts]),
        likelihood=lambda rows: np.array([-float(len(row.response)) for row in rows]),
    )
    assert columns["length"] == {"twin": [5.0], "bot": [1.0]}
    assert columns["bleu"]["twin"] == pytest.approx(100.0) and columns["bleu"]["bot"] == 0.0
    assert columns["chrf"]["twin"] == pytest.approx(100.0) and columns["chrf"]["bot"] < 5.0
    assert columns["distinct_2"] == {"twin": [4 / 5], "bot": [0.0]}  # bigrams per token
    assert columns["similarity"] == {"twin": [pytest.approx(1.0)], "bot": [pytest.approx(0.6)]}
    assert columns["likelihood"] == {"twin": [-float(len(row.response))], "bot": [-2.0]}
    assert "similarity" not in simple_baselines(data)


def test_people_writes_a_table_that_agreement_reads(run_recipe, tmp_path):
    write_passages(to_passages(rated_corpus()), tmp_path / "rated.jsonl")
    run_recipe("people.py", "--data", "rated.jsonl", "--evaluators", "svm-unigram", "surface",
               "--folds", 2, "--similarity", "false")  # fmt: skip
    metrics = {row.name: row for row in read_scores(tmp_path / "scores.csv")}
    assert list(metrics) == [
        "length", "distinct_2", "bleu", "chrf", "adversuc_svm-unigram", "p_human_svm-unigram",
        "relevance_svm-unigram", "adversuc_surface", "p_human_surface",
    ]  # fmt: skip
    means = {
        name: np.mean([metrics["adversuc_svm-unigram"].values[f"c{n}", name] for n in range(60)])
        for name in ("bot", "twin")
    }
    assert means["bot"] < 0.05 and means["twin"] == pytest.approx(0.5)  # a copy is a coin flip
    # Readers write "random" where judgements may say "Random".
    value = metrics["length"].of(Judgement("ann", "c0", 3.0, system="Bot"))
    assert value == metrics["length"].values["c0", "bot"]
    scores, *_ = matrices({("c0", "Bot"): 3.0}, metrics["length"])
    assert scores.tolist() == [[value]]


def test_networks_can_be_fitted_to_the_pairs():
    data = RatedSystems.of(rated_corpus(), number=2)
    pairs = labelled(data.human, data.systems["bot"])
    assert pairs["label"][:4] == [1, 0, 1, 0] and pairs["pair"][:4] == [0, 0, 1, 1]
    fit = fit_function("rnn")
    success, scores = SystemScorer(data).adversarial(fit, data.systems["bot"])
    assert set(success) <= {0.0, 0.5, 1.0} and ((scores > 0) & (scores < 1)).all()


def test_rated_correlates_length_and_bleu(run_recipe, tmp_path):
    contexts = [["hi .", f"what about {word} ?"] for word in WORDS]
    rows = [
        {"context": context, "response": "yes " * (n + 1), "ratings": str(n + 1)}
        for context in contexts
        for n in range(3)
    ]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    corpus = [f"Hi. __eou__ What about {word}? __eou__ yes yes yes yes __eou__" for word in WORDS]
    (tmp_path / "corpus.txt").write_text("\n".join(corpus))
    printed = run_recipe("rated.py", "--data", "mine.jsonl", "--references", "corpus.txt")
    cells = {
        row[0]: row[1:]
        for line in printed.splitlines()
        if len(row := [cell.strip() for cell in line.strip("│ ").split("│")]) == 5
    }
    assert cells["length"] == ["+1.000", "+1.000", "+1.000 to +1.000", "21"]
    assert cells["BLEU"][1] == "+1.000" and cells["BLEU"][3] == "21"
    (tmp_path / "bad.jsonl").write_text('{"context": ["hi"], "response": "yo"}\n')
    with pytest.raises(BadInput, match=r"bad.jsonl:1: expected a rated reply, but KeyError"):
        run_recipe("rated.py", "--data", "bad.jsonl")


def test_rated_numbers_discriminators_of_one_name_and_turns_their_scores():
    class Constant:
        name = "svm"

        def __init__(self, higher):
            self.higher_is_human = higher

        def __call__(self, passages):
            return np.ones(len(passages))

    rated = runpy.run_path(str(RECIPES / "rated.py"))
    scores = rated["scores_by_name"]([Constant(True), Constant(False)], replies(2))
    assert {name: values.tolist() for name, values in scores.items()} == {
        "svm 1": [1.0, 1.0], "svm 2": [-1.0, -1.0]
    }  # fmt: skip


def test_low_scores_that_mean_human_correlate_with_ratings():
    ratings = {(f"i{n}", "bot"): float(n) for n in range(4)}
    values = {key: -value for key, value in ratings.items()}
    scores, rated, *_ = matrices(ratings, MetricScores("lower", values, higher_is_human=False))
    assert scores.tolist() == rated.tolist()


def test_a_parrot_gives_no_likelihoods():
    with pytest.raises(BadInput, match="'parrot' gives no likelihoods"):
        mean_likelihoods("parrot", replies(1))


def test_copies_of_the_reference_are_compared_with_nothing(monkeypatch):
    rated = runpy.run_path(str(RECIPES / "rated.py"))
    corpus = [Passage((Turn("A", "hello"), Turn("B", "how are you ?")), "i am fine , thanks")]
    rows = [
        Passage((Turn("A", "How are you?"),), text)
        for text in ("I am fine, thanks!", "i am fine , mate")
    ]
    unknown = Passage((Turn("A", "who is it ?"),), "i am fine , mate")
    references = rated["references_of"]([*rows, unknown], corpus)
    assert references == {1: ["i am fine , thanks"]}
    planted = {"i am fine , mate": [0.6, 0.8], "i am fine , thanks": [0.0, 1.0]}
    embedder = lambda: lambda texts: np.array([planted[text] for text in texts])  # noqa: E731
    monkeypatch.setitem(rated["reference_scores"].__globals__, "CachedEmbedder", embedder)
    scores = rated["reference_scores"]([*rows, unknown], references)
    assert scores.keys() == {"BLEU", "chrF", "similarity"}
    for values in scores.values():
        assert np.isnan(values).tolist() == [True, False, True]
    assert 30 < scores["BLEU"][1] < 100 and 30 < scores["chrF"][1] < 100
    assert scores["similarity"][1] == pytest.approx(0.8)


def test_ratings_ranks_systems_as_people_do(run_recipe, tmp_path):
    write_passages(to_passages(rated_corpus()), tmp_path / "rated.jsonl")
    printed = run_recipe("ratings.py", "--data", "rated.jsonl", "--evaluators", "svm-unigram",
                         "--seeds", 1, "--output_dir", "run")  # fmt: skip
    [line] = [line for line in printed.splitlines() if "svm-unigram" in line and " 3 " in line]
    value = float([cell.strip() for cell in line.split("│")][4])
    assert value > 0.8  # twin is rated best and passes, both robots are recognised
    assert (tmp_path / "run" / "report.html").is_file()


def test_bruni_prints_a_table_per_kind_of_negative(run_recipe, tmp_path):
    rows = replies(80)
    random = [row.with_response("beep boop", "random") for row in rows]
    adversarial = [row.with_response(row.response, "adversarial") for row in rows]
    save_scorer(SvmScorer.fit(labelled(rows, random)), tmp_path / "svm")
    write_passages(to_passages([*rows, *random, *adversarial]), tmp_path / "all.jsonl")
    printed = run_recipe("bruni.py", "--data", "all.jsonl", "--discriminators", "svm",
                         "--items", 40)  # fmt: skip
    lines = [line for line in printed.splitlines() if "svm" in line]
    first, second = ([cell.strip() for cell in line.split("│")] for line in lines)
    assert first[2] == "1.000" and set(first[4:10]) == {"1.000"}
    # Copies of the human replies are all taken for real: half right, recall 1 and 0.
    assert (second[2], second[5], second[8]) == ("0.500", "1.000", "0.000")


def test_decodings_and_evaluators_print_their_tables(run_recipe, tmp_path):
    write_passages(to_passages(replies(120)), tmp_path / "train.jsonl")
    write_passages(to_passages(replies(30, start=500)), tmp_path / "test.jsonl")
    tokenizer = word_tokenizer([" ".join(WORDS), "do you like yes are fine ?"])
    torch.manual_seed(0)
    shape = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64}
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **shape, **ids)).save_pretrained("lm")
    tokenizer.save_pretrained("lm")
    printed = run_recipe("decodings.py", "--generator", "lm", "--train", "train.jsonl", "--test",
                         "test.jsonl", "--decodings", "greedy", "sampling", "--evaluators",
                         "svm-unigram", "--max_new_tokens", 4, "--train_contexts", 60,
                         "--test_contexts", 20)  # fmt: skip
    assert "greedy" in printed and "sampling" in printed
    rows = json.loads((tmp_path / "runs" / "decodings" / "decodings.json").read_text())
    assert [(row["decoding"], row["n"]) for row in rows] == [("greedy", 40), ("sampling", 40)]
    printed = run_recipe("evaluators.py", "--data", "train.jsonl", "--evaluators", "svm-unigram",
                         "length", "--output_dir", "run")  # fmt: skip
    assert "svm-unigram" in printed and "length" in printed


def test_prefixes_compares_both_kinds_of_training(run_recipe, tmp_path):
    write_passages(to_passages(rated_corpus()), tmp_path / "rated.jsonl")
    printed = run_recipe("prefixes.py", "--data", "rated.jsonl", "--system", "bot", "--epochs", 2,
                         "--learning_rate", 0.01, "--optimizer", "adam")  # fmt: skip
    rows = [[cell.strip() for cell in line.strip("│ ").split("│")] for line in printed.splitlines()]
    rows = [row for row in rows if row[0] in ("one", "all")]
    assert [row[:2] for row in rows] == [["one", "1"], ["one", "2"], ["all", "1"], ["all", "2"]]
    for row in rows:
        assert float(row[4]) == pytest.approx(float(row[3]) - float(row[2]), abs=0.0011)
    assert float(rows[3][2]) < float(rows[2][2])  # it learns what it sees


def test_the_loss_of_prefixes_by_hand():
    def margins(rows):
        return np.array([2.0 if row.response == "a" else -1.0 for row in rows])

    trainer = SimpleNamespace(plain=torch.nn.Identity(), scorer=SimpleNamespace(margins=margins))
    loss = runpy.run_path(str(RECIPES / "prefixes.py"))["prefix_loss"]
    rows = [Passage((Turn("A", "x"),), text) for text in ("a b", "a")]
    value, accuracy = loss(trainer, rows, np.array([1, 0]))
    first = (np.log1p(np.exp(-2)) + np.log1p(np.exp(1))) / 2  # two prefixes of a human reply
    assert value == pytest.approx((first + np.log1p(np.exp(2))) / 2)
    assert accuracy == pytest.approx((0.5 + 0.0) / 2)
