"""What a discriminator looks at: planted habits are found, and the page shows them."""

import sys

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score

from dialeval.commands import main
from dialeval.dialogues import BadInput, Passage, Turn, to_passages, write_passages
from dialeval.metrics.analysis_results import AnalysisResults
from dialeval.protocols.analysis import bruni
from dialeval.protocols.analysis.decisions import Decisions, decide, with_random_replies
from dialeval.protocols.analysis.errors import reliability_curve
from dialeval.protocols.analysis.kannan import rankings, sample_responses
from dialeval.protocols.analysis.study import analyse
from dialeval.reports.analysis import analysis_tables, render_analysis
from dialeval.responders.language import GeneratorResponder
from dialeval.responders.task import likelihoods
from dialeval.scorers import Decision, save_scorer
from dialeval.scorers.linear import SvmScorer
from dialeval.settings.analysis import AnalysisRun
from tests.conftest import talk
from tests.responders.conftest import WORDS, _build

QUICK = AnalysisRun(resamples=50, steps=4, pictures=1)
SCRIPT = "<script>alert(1)</script>"


class LengthLover:
    """A discriminator that takes long responses for human, whatever they say."""

    name, higher_is_human, decision, signature = "long", True, Decision(0.5), "disc:long"

    def __call__(self, passages):
        sizes = np.array([len(text.split()) for text in passages["response"]])
        return np.clip(sizes / 12, 0, 1)


def passages(count: int = 200, seed: int = 0) -> list[Passage]:
    """Humans write "well" and a mark at the end; the bot thanks, in lower case."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        words = rng.choice(WORDS, rng.integers(2, 10)).tolist()
        is_human = number % 2 == 0
        text = " ".join(["Well", *words]) + "!" if is_human else " ".join(["thank", "you", *words])
        context = (Turn("A", f"{rng.choice(WORDS)} {number} {SCRIPT}"),)
        author = "human" if is_human else "bot"
        rows.append(Passage(context, text, author, str(number), f"d{number // 4}"))
    return rows


def test_a_lover_of_length_is_recognised():
    results = analyse(LengthLover(), passages(), QUICK)
    [all_rows, *_] = results.select("length_correlation")
    assert all_rows.value > 0.95 and all_rows.details["p_value"] < 1e-9
    decisions = decide(LengthLover(), passages())
    assert results.get("accuracy", "", "long").value == pytest.approx(decisions.correct.mean())
    expected = average_precision_score(decisions.human, decisions.scores)
    assert results.get("average_precision", "", "long").value == pytest.approx(expected)
    short, long = (
        next(row for row in results.bins if row.name == name) for name in ("4–6", "7–10")
    )
    assert short.score < long.score
    assert not results.select("cosine_gap") and not results.select("attention_on_response")
    assert {picture.method for picture in results.pictures} == {"occlusion"}


class Refuser(LengthLover):
    """A discriminator that takes everything for a machine's."""

    name = "no"

    def __call__(self, passages):
        return np.zeros(len(passages))


class Embedder(Refuser):
    """The same with a vector for every text, of which there are two."""

    def embed(self, texts):
        numbers = [int(text.split()[1]) // 4 for text in texts]
        return np.array([[1.0, number % 2] for number in numbers])


def test_a_discriminator_that_calls_everything_a_machine_is_right_in_half_of_the_cases():
    rows = passages(40)
    bots = [row.with_response(f"{row.response} {n}", "bot") for row in rows for n in range(5)]
    results = analyse(Refuser(), [*rows[::2], *bots], QUICK)
    accuracy = results.get("accuracy", "", "no")
    assert accuracy.value == 0.5 and accuracy.low < 0.5 < accuracy.high


def test_cosines_of_one_dialogue_are_one_piece_of_evidence():
    def width(dialogue_of):
        human = [
            Passage((Turn("A", f"a {4 * (n // 20)}"),), "b 0", "human", str(n), dialogue_of(n))
            for n in range(200)
        ]
        rows = [*human, *(row.with_response(row.context[0].text, "bot") for row in human)]
        [gap] = bruni.cosine_results(Embedder(), decide(Embedder(), rows), 0, "")
        assert gap.details["sides"] == "true" and gap.low < gap.value < gap.high
        return gap.high - gap.low

    assert width(lambda n: f"d{n // 20}") > 2 * width(lambda n: f"d{n}")


def test_planted_words_openers_and_formats_are_found():
    results = analyse(LengthLover(), passages(), QUICK)
    features = {(row.kind, row.feature): row for row in results.features if row.sides == "data"}
    assert features["word", "thank"].z < 0 < features["word", "well"].z
    assert features["opener", "thank you"].machine == 100
    assert features["format", "ends with !"].log_odds > 0
    assert features["format", "all lower-case"].log_odds < 0
    examples = features["word", "well"].examples
    assert len(examples) == 3 and all(text.startswith("Well") for text in examples)
    # Words that both sides use alike do not come out.
    assert not [key for key in features if key[0] == "word" and key[1] in WORDS[1:]]


def test_words_explain_the_author_but_not_a_lover_of_length():
    results = analyse(LengthLover(), passages(), QUICK)
    by_target = {row.system: row.value for row in results.select("bag_of_words")}
    assert by_target["truth"] == 1.0 and by_target["decisions"] < 0.95


def test_human_passages_alone_meet_random_replies():
    human = talk(40, 5)
    results = analyse(LengthLover(), human, QUICK)
    assert "random replies stand for the machine" in results.warnings[0]
    assert results.get("accuracy", "", "long").n == 2 * len(human)
    negatives = with_random_replies(human)
    assert len(negatives) == len(human)
    assert sorted(row.response for row in negatives) == sorted(row.response for row in human)
    for row in negatives:
        assert not row.response.endswith(f"talk {row.dialogue_id[1:]}")


def test_words_cannot_tell_human_replies_from_the_same_replies_elsewhere():
    """Every reply is human in its dialogue and random in another: at best a guess."""
    rng = np.random.default_rng(0)
    human = [
        Passage((Turn("A", "hi"),), " ".join(rng.choice(WORDS, 8)), id=str(n), dialogue_id=f"d{n}")
        for n in range(300)
    ]
    results = analyse(LengthLover(), human, QUICK)
    [truth] = results.select("bag_of_words", "truth")
    assert truth.value == pytest.approx(0.5, abs=0.08)


def test_passages_without_humans_are_refused():
    bots = [row for row in passages(20) if row.author == "bot"]
    with pytest.raises(BadInput, match="found those of bot"):
        analyse(LengthLover(), bots, QUICK)


def test_rankings_by_discriminator_and_likelihood():
    responder = GeneratorResponder(_build("gpt2"), n=12, max_new_tokens=4, seed=1)
    contexts = [row for row in passages(12) if row.author == "human"]
    groups = sample_responses(responder, contexts)
    assert len(groups) == 6 and all(len({p.response for p in g}) == len(g) for g in groups)

    class Likelihood(LengthLover):
        """Scores as the generator does."""

        def __call__(self, table):
            from dialeval.dialogues import iterate

            return likelihoods(responder.generator, list(iterate(table)))[0]

    tables, overall, equal = rankings(Likelihood(), responder, groups)
    assert np.allclose(overall, 1.0) and all(np.allclose(row, 1.0) for row in equal)
    assert tables[0].by_discriminator == tables[0].by_likelihood
    tables, overall, _ = rankings(LengthLover(), responder, groups)
    group = next(row for row in groups if len(row) >= 3)
    sizes = [len(row.response.split()) for row in group]
    expected = spearmanr(sizes, likelihoods(responder.generator, group)[0]).statistic
    assert overall[0] == pytest.approx(expected)
    assert not tables  # all responses of one length get the same score
    results = analyse(LengthLover(), passages(40), QUICK, responder)
    assert results.select("rank_correlation")


def test_the_page_shows_text_as_text_and_the_results_are_saved(tmp_path):
    results = analyse(LengthLover(), passages(), QUICK)
    results.save(tmp_path)
    assert AnalysisResults.load(tmp_path).to_dict() == results.to_dict()
    page = render_analysis(AnalysisResults.load(tmp_path))
    assert SCRIPT not in page and "&lt;script&gt;" in page
    for title in ("What long looks at", "What it reads: words", "Where it errs"):
        assert title in page
    assert page.count("<svg") == 3 and page.count("<figure") >= 6
    assert len(analysis_tables(results)) >= 6


def test_the_command(tmp_path, monkeypatch, capsys):
    rows = passages(120)
    pairs = to_passages(rows).add_column("label", [int(p.author == "human") for p in rows])
    save_scorer(SvmScorer.fit(pairs), tmp_path / "svm")
    write_passages(to_passages(passages(80, seed=1)), tmp_path / "d.jsonl")
    words = ["analyse", "-d", tmp_path / "svm", "--data", tmp_path / "d.jsonl", "--resamples", 20,
             "-o", tmp_path / "out"]  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["dialeval", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    printed = capsys.readouterr()
    assert "accuracy" in printed.out and "thank" in printed.out and "report.html" in printed.err
    assert "exact weights" in (tmp_path / "out" / "report.html").read_text().lower()


def test_scores_that_fall_with_humans_are_no_probabilities():
    rows = passages(20)
    human = np.array([row.author == "human" for row in rows])
    scores = np.where(human, 0.1, 0.9)
    decisions = Decisions(rows, scores, scores < 0.5, human, higher_is_human=False)
    assert reliability_curve(decisions) is None
