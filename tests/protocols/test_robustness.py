"""Robustness: hand-computed effects, verdicts, similarities; runs that stop and resume."""

import json
from dataclasses import dataclass, replace
from random import Random
from zlib import crc32

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from dialeval.dialogues import BadInput, Passage, Turn, to_passages
from dialeval.metrics import actent
from dialeval.metrics.paired import paired_bootstrap
from dialeval.metrics.robustness_results import RobustnessResults
from dialeval.models.tokenizers import word_tokenizer
from dialeval.perturbations import Edit, Perturbation, perturbation
from dialeval.protocols.robustness import (
    Answers,
    RobustnessRun,
    collect_answers,
    fit_evaluator,
    make_cases,
    robustness,
    second_draw,
    stored_answers,
    stored_case,
    verdict,
)
from dialeval.protocols.robustness.effects import bleu_loss_of, effects, loss_of, mean_of
from dialeval.protocols.robustness.evaluators import evaluator_changes
from dialeval.protocols.robustness.measuring import Measures, lexicon_for, technical_share
from dialeval.protocols.robustness.similarity import (
    MeanEmbedding,
    cosine,
    text_similarity,
    unrelated_distance,
)
from dialeval.responders.base import answer, respond
from dialeval.responders.decoding import Greedy, Sampling
from dialeval.responders.endpoint import EndpointResponder
from dialeval.responders.generators import Generator
from dialeval.responders.language import GeneratorResponder
from dialeval.responders.prompts import PromptFormat
from dialeval.responders.simple import ParrotResponder, RandomResponder
from dialeval.run_folder import RunFolder
from dialeval.scorers.base import Decision
from dialeval.settings.robustness import SKIPS


def embed(texts):
    """A vector of word counts: 64 buckets."""
    counts = np.zeros((len(texts), 64))
    for row, text in enumerate(texts):
        for word in text.lower().split():
            counts[row, crc32(word.encode()) % 64] += 1
    return counts


embed.name = "counts"


def talk(n: int = 24) -> list[Passage]:
    return [
        Passage(
            (Turn("A", f"did you like the tea number {row} ?"), Turn("B", f"i like tea {row}")),
            f"then you should drink tea {row}",
            id=f"p{row}",
            dialogue_id=f"d{row // 2}",
            speaker="A",
        )
        for row in range(n)
    ]


@dataclass(frozen=True)
class Echo:
    """A system that repeats the words of the last turn, without those it ignores."""

    name: str = "echo"
    ignores: tuple[str, ...] = ()

    @property
    def signature(self) -> str:
        return f"{self.name}|{self.ignores}"

    def stream(self, passages):
        for index, passage in enumerate(passages):
            words = [w for w in passage.context[-1].text.split() if w not in self.ignores]
            yield index, answer(passage, " ".join(words), self)


@dataclass(frozen=True)
class Replace(Perturbation):
    """Replaces one word by another."""

    old: str = "like"
    new: str = "hate"

    @property
    def name(self):
        return f"{self.old}-{self.new}"

    @property
    def kind(self):
        return "should_change" if self.new == "hate" else "should_not_change"

    def edits(self, text: str, rng: Random):
        at = f" {text} ".find(f" {self.old} ")
        return [Edit(at, self.old, self.new)] if at >= 0 else []


HATE, LOVE = Replace(), Replace("like", "enjoy")


def study(folder, systems, strategies=(HATE, LOVE), passages=None, evaluators=(), **settings):
    settings = {"resamples": 500, "output_dir": str(folder), **settings}
    run = RobustnessRun(**settings)
    return robustness(passages or talk(), systems, strategies, run, evaluators, embed)


@pytest.fixture(autouse=True)
def without_minilm(monkeypatch):
    tokenizer = word_tokenizer(["i like hate enjoy tea drink you should then did the number ?"])
    torch.manual_seed(0)
    words = MeanEmbedding("tiny", tokenizer, torch.randn(len(tokenizer), 5))
    monkeypatch.setattr(MeanEmbedding, "minilm", classmethod(lambda cls: words))


def one(results, metric, strategy, system="echo"):
    rows = results.select(metric, system, evaluator="")
    (row,) = [row for row in rows if row.details["strategy"] == strategy]
    return row


# Verdicts


@pytest.mark.parametrize(
    ("low", "high", "should_stay", "should_move"),
    [
        (0.0, 0.1, "stable", "over-stable"),
        (-0.4, -0.2, "stable", "over-stable"),
        (0.11, 0.3, "over-sensitive", "responsive"),
        (0.0, 0.11, "inconclusive", "inconclusive"),
        (0.1, 0.3, "inconclusive", "inconclusive"),
        (float("nan"), float("nan"), "inconclusive", "inconclusive"),
    ],
)
def test_a_verdict_needs_the_whole_interval_on_one_side_of_the_margin(
    low, high, should_stay, should_move
):
    assert verdict("should_not_change", low, high, 0.1) == should_stay
    assert verdict("should_change", low, high, 0.1) == should_move


def test_few_dialogues_are_inconclusive():
    assert verdict("should_change", 0.5, 0.6, 0.1, dialogues=9) == "inconclusive"
    assert verdict("should_change", 0.5, 0.6, 0.1, dialogues=10) == "responsive"


PAPER = {  # Niu and Bansal (2018), Tables 2 and 3: Activity and Entity F1 of N-train + A-test
    "VHRED": ((5.94, 3.52), {
        "random-swap": (6.10, 3.42), "stopword-dropout": (5.49, 3.44),
        "data-paraphrase": (5.38, 3.18), "generative-paraphrase": (4.25, 2.48),
        "grammar-errors": (5.60, 3.09), "add-negation": (6.06, 3.42), "antonym": (5.85, 3.56),
    }, {"random-swap"}),
    "Reranking-RL": ((5.67, 3.73), {
        "random-swap": (5.49, 3.56), "stopword-dropout": (5.51, 4.09),
        "data-paraphrase": (5.28, 3.07), "generative-paraphrase": (4.47, 2.63),
        "grammar-errors": (5.33, 3.25), "add-negation": (5.61, 3.79), "antonym": (5.68, 3.70),
    }, {"stopword-dropout"}),
}  # fmt: skip


def test_the_margin_of_losses_agrees_with_13_of_the_papers_14_verdicts():
    agreed, differ = 0, []
    for system, (normal, rows, robust) in PAPER.items():
        for strategy, scores in rows.items():
            worst = max(1 - new / old for new, old in zip(scores, normal, strict=True))
            changing = strategy in ("add-negation", "antonym")
            kind = "should_change" if changing else "should_not_change"
            computed = verdict(kind, worst, worst, RobustnessRun().loss_margin)
            published = "over-stable" if changing else (
                "stable" if strategy in robust else "over-sensitive")  # fmt: skip
            agreed += computed == published
            differ += [(system, strategy)] if computed != published else []
    assert agreed == 13 and differ == [("Reranking-RL", "random-swap")]


# Effects


def test_the_mean_and_its_interval_are_those_of_the_paired_bootstrap():
    rng = np.random.default_rng(0)
    first, second, groups = rng.random(60), rng.random(60), np.repeat(np.arange(20), 3)
    effect = effects({"mean": mean_of(first - second)}, groups, resamples=2_000)["mean"]
    wanted = paired_bootstrap(first, second, groups, resamples=2_000)
    assert (effect.value, effect.low, effect.high, effect.p) == pytest.approx(
        (wanted["difference"], wanted["low"], wanted["high"], wanted["p"])
    )
    assert (effect.n, effect.dialogues) == (60, 20)


def test_a_loss_is_relative_to_the_mean():
    normal, after = np.array([0.5, 1.0, np.nan, 0.5]), np.array([0.5, 0.4, 1.0, 0.5])
    effect = effects({"loss": loss_of(normal, after)}, list("abcd"), resamples=50)["loss"]
    assert effect.value == pytest.approx(1 - 1.4 / 2.0) and effect.n == 3


def test_the_loss_of_bleu_is_that_of_the_corpus():
    import sacrebleu

    from dialeval.metrics.overlap import bleu_counts

    gold = ["we went to the old house on the hill", "she reads a book by the sea at night"]
    normal = ["we went to the old house by the hill", "she reads a book by the sea all night"]
    after = ["we went to a new house on the hill", "he reads a book by the sea at noon"]
    counts = [bleu_counts(texts, gold) for texts in (normal, after)]
    effect = effects({"loss": bleu_loss_of(*counts)}, ["a", "b"], resamples=50)["loss"]
    scores = [sacrebleu.corpus_bleu(texts, [gold]).score for texts in (normal, after)]
    assert effect.value == pytest.approx(1 - scores[1] / scores[0])


def test_without_any_change_the_interval_depends_on_the_number_of_dialogues():
    few, many = (
        effects({"x": mean_of(np.zeros(n), (0.0, np.inf))}, range(n), resamples=50)["x"]
        for n in (12, 100)
    )
    assert few.low == many.low == 0
    z2 = 1.959964**2
    assert (few.high, many.high) == pytest.approx((z2 / (12 + z2), z2 / (100 + z2)), rel=1e-5)
    assert few.p == 1


def test_one_dialogue_has_no_interval_and_none_has_no_value():
    alone = effects({"x": mean_of(np.ones(3))}, ["a"] * 3)["x"]
    assert alone.value == 1 and np.isnan(alone.low)
    assert np.isnan(effects({"x": mean_of(np.zeros(0))}, [])["x"].value)


# Similarity


def test_the_mean_embedding_is_the_mean_of_the_tokens_rows():
    tokenizer = word_tokenizer(["a b c"])
    weight = torch.arange(2.0 * len(tokenizer)).reshape(-1, 2)
    vectors = MeanEmbedding("x", tokenizer, weight)(["a b b", "", "c"])
    ids = tokenizer("a b b", add_special_tokens=False)["input_ids"]
    assert len(ids) == 3
    np.testing.assert_allclose(vectors[0], weight[ids].mean(0).numpy())
    assert vectors[1].tolist() == [0, 0]
    assert MeanEmbedding("x", tokenizer, weight)([]).shape == (0, 2)


def test_cosines_by_hand():
    first, second = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 0.0]]), np.array([[4.0, 3.0]] * 3)
    assert cosine(first, second).tolist() == pytest.approx([0.96, 0.8, 0.0])


def test_equal_texts_have_similarity_1_and_an_empty_one_has_0():
    others = ["a  b ".replace("  ", " "), "", "", "a c"]
    similarity = text_similarity(embed, ["a b", "", "a", "a b"], others)
    assert similarity.tolist() == pytest.approx([1, 1, 0, 0.5])


def test_the_distance_of_unrelated_texts_is_the_mean_over_pairs_of_other_groups():
    texts, groups = ["a b", "a c", "d", "a a d", " "], ["x", "x", "y", "z", "z"]
    vectors = embed(texts)
    pairs = [
        1 - cosine(vectors[i : i + 1], vectors[j : j + 1])[0]
        for i in range(4) for j in range(4) if groups[i] != groups[j]
    ]  # fmt: skip
    assert unrelated_distance(embed, texts, groups) == pytest.approx(np.mean(pairs))
    assert unrelated_distance(embed, ["a", "b"], ["x", "x"]) is None
    assert unrelated_distance(embed, ["", ""], ["x", "y"]) is None


def test_movement_is_in_units_of_unrelated_replies():
    passages = talk(2)
    passages[1] = replace(passages[1], dialogue_id="other")
    answers = Answers("s", "s", ["a b", "c d"], {"x": ["a c", "c d"]})
    words = MeanEmbedding.minilm()
    measures = Measures(passages, answers, embed, words)
    assert measures.unit == pytest.approx(1.0)  # nothing is shared by the two replies
    assert measures.movement(answers.perturbed["x"]).tolist() == pytest.approx([0.5, 0.0])
    half = Measures(passages, replace(answers, normal=["a b", "a d"]), embed, words)
    assert half.unit == pytest.approx(0.5)
    assert half.movement(["a c", "a d"]).tolist() == pytest.approx([1.0, 0.0])


# Cases and answers


def test_unedited_contexts_are_not_answered_again(tmp_path):
    passages = [*talk(3), replace(talk(1)[0], context=(Turn("A", "hello"),), id="q")]
    case = make_cases(passages, [HATE])[0]
    assert case.edited.tolist() == [True] * 3 + [False] and case.coverage == 0.75

    class Counting(Echo):
        def stream(self, contexts):
            counts.append(len(contexts))
            return super().stream(contexts)

    counts = []
    answers = collect_answers(Counting(), passages, [case])
    assert counts == [4, 3]
    assert answers.perturbed[case.name][3] == answers.normal[3] == "hello"
    assert answers.perturbed[case.name][0] == "i hate tea 0" and answers.again is None


def tiny(decoding) -> GeneratorResponder:
    tokenizer = word_tokenizer([f"i like hate enjoy tea {' '.join(map(str, range(24)))}"])
    torch.manual_seed(0)
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    shape = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64, "initializer_range": 0.4}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **shape, **ids))
    return GeneratorResponder(Generator(model, tokenizer, PromptFormat(), "tiny"), decoding,
                              max_new_tokens=5)  # fmt: skip


def test_only_a_system_that_samples_answers_twice(tmp_path):
    assert second_draw(tiny(Greedy())) is None and second_draw(Echo()) is None
    sampling = tiny(Sampling())
    other = second_draw(sampling)
    assert (sampling.seed, other.seed) == (0, 1) and other.signature != sampling.signature
    results = study(tmp_path, [sampling])
    system = results.systems[0]
    assert system.samples and system.self_movement.value > 0.1
    raw = [json.loads(line)["movement"] for line in (tmp_path / "responses.jsonl").open()][:24]
    wanted = np.mean(raw) - system.self_movement.value
    assert one(results, "movement", HATE.name, "tiny").value == pytest.approx(wanted)


def test_simple_systems_that_sample_answer_twice_too():
    people = to_passages(talk())
    for responder in (ParrotResponder("random"), RandomResponder(people)):
        other = second_draw(responder)
        assert other.seed == responder.seed + 1
        assert respond(other, talk()) != respond(responder, talk())
    assert second_draw(ParrotResponder(-1)) is None
    endpoint = EndpointResponder("http://localhost:1", "m")
    assert second_draw(endpoint).seed == 1 and endpoint.seed == 0
    assert second_draw(replace(endpoint, temperature=0.0)) is None


def test_a_models_own_embeddings_and_likelihoods_are_used(tmp_path):
    from dialeval.responders.decoding import likelihoods

    responder = tiny(Greedy())
    results = study(tmp_path, [responder])
    assert results.systems[0].words == "tiny's own" and not results.systems[0].samples
    passages = talk()
    sums, lengths = likelihoods(responder.generator, passages)
    normal = one(results, "likelihood", "normal", "tiny")
    assert normal.value == pytest.approx(np.mean(sums / lengths))
    case = make_cases(passages, [HATE])[0]
    after, _ = likelihoods(responder.generator, list(case.passages))
    lost = one(results, "likelihood_loss", HATE.name, "tiny")
    assert lost.value == pytest.approx(np.mean((sums - after) / lengths), abs=1e-6)
    words = MeanEmbedding.of(responder.generator)
    texts, others = (
        ["\n".join(turn.text for turn in passage.context) for passage in rows]
        for rows in (passages, case.passages)
    )
    wanted = cosine(words(texts), words(others)).mean()
    similarity = one(results, "context_similarity_words", HATE.name, "tiny")
    assert similarity.value == pytest.approx(wanted)
    assert similarity.details["by"] == "tiny's own"


# Whole runs


def test_an_echo_moves_and_a_system_that_ignores_the_edits_does_not(tmp_path):
    deaf = Echo("deaf", ("like", "hate", "enjoy"))
    verdict = study(tmp_path, [Echo(), deaf], margin=0.15).verdict
    assert verdict("echo", HATE.name).verdict == "responsive"
    assert verdict("echo", LOVE.name).verdict == "over-sensitive"
    assert verdict("echo", LOVE.name).unchanged == 0
    # No reply of 24 in 12 dialogues changed: Wilson's bound, .24, is beyond the margin.
    assert verdict("deaf", HATE.name).verdict == verdict("deaf", LOVE.name).verdict
    assert verdict("deaf", LOVE.name).verdict == "inconclusive"
    assert verdict("deaf", LOVE.name).unchanged == 1
    more = study(tmp_path / "more", [deaf], passages=talk(80), margin=0.15)
    assert [row.verdict for row in more.verdicts] == ["over-stable", "stable"]


def test_numbers_against_the_reference_by_hand(tmp_path):
    from sacrebleu import sentence_chrf

    results = study(tmp_path, [Echo()])
    normal, after = (
        [sentence_chrf(f"i {verb} tea {row}", [passage.response]).score / 100
         for row, passage in enumerate(talk())]
        for verb in ("like", "hate")
    )  # fmt: skip
    assert one(results, "chrf", "normal").value == pytest.approx(np.mean(normal))
    assert one(results, "chrf", HATE.name).value == pytest.approx(np.mean(after))
    lost = one(results, "chrf_loss", HATE.name)
    assert lost.value == pytest.approx(1 - sum(after) / sum(normal))
    assert lost.details["margin"] == 0.05 and lost.low <= lost.value <= lost.high


def test_verdicts_can_go_by_another_measure(tmp_path):
    verdicts = study(tmp_path, [Echo()], measure="changed").verdicts
    assert {row.measure for row in verdicts} == {"changed"}
    assert [row.effect for row in verdicts] == [1, 1]
    missing = study(tmp_path / "b", [Echo()], measure="likelihood")
    assert missing.verdicts == () and "likelihood could not be measured" in missing.warnings[0]


def test_activity_and_entity_f1_come_with_technical_talk(tmp_path):
    texts = ("how do i install the driver ?", "mount the disk"), ("boot from usb", "try the bios")
    passages = [
        Passage((Turn("A", context),), response, id=f"{row}", dialogue_id=f"{row}")
        for row in range(12) for context, response in texts[row % 2 : row % 2 + 1]
    ]  # fmt: skip
    assert technical_share(passages) == 1 and technical_share(talk()) == 0
    results = study(tmp_path, [Echo()], [Replace("the", "a")], passages)
    assert results.settings["actent"] == "embedded"
    # The echo installs and boots, the human mounts and tries: no activity in common.
    assert one(results, "activity_f1", "normal").value == 0
    assert one(results, "activity_f1_loss", "the-a").details["verdict"] == "inconclusive"
    without = study(tmp_path / "no", [Echo()], [Replace("the", "a")], passages, actent=False)
    assert without.settings["actent"] is None
    assert lexicon_for(talk(), True, None)[0].name == "embedded"
    with pytest.raises(BadInput, match="is missing"):
        lexicon_for(talk(), None, str(tmp_path))


def test_selectivity_compares_both_kinds_on_the_same_contexts(tmp_path):
    picky = Echo("picky", ("enjoy", "like"))  # only reacts to hate
    results = study(tmp_path, [picky])
    rows = map(json.loads, (tmp_path / "responses.jsonl").open())
    wanted = np.mean([row["movement"] for row in rows if row["strategy"] == HATE.name])
    selectivity = results.systems[0].selectivity
    assert selectivity.value == pytest.approx(wanted) and selectivity.low > 0


def test_results_and_responses_are_written(tmp_path):
    results = study(tmp_path, [Echo()])
    assert RobustnessResults.load(tmp_path).to_dict() == results.to_dict()
    rows = [json.loads(line) for line in (tmp_path / "responses.jsonl").open(encoding="utf-8")]
    assert len(rows) == 2 * 24
    first = rows[0]
    assert first["response"] == "i like tea 0" and first["perturbed_response"] == "i hate tea 0"
    assert first["edits"] == [[[8, "like", "hate"]], [[2, "like", "hate"]]]
    assert [strategy.coverage for strategy in results.strategies] == [1, 1]
    assert results.settings["evaluators"] == {}


def test_the_worst_examples_come_first(tmp_path):
    passages = talk()
    passages[5] = replace(passages[5], context=(Turn("A", "like"),))  # its whole reply changes
    examples = study(tmp_path, [Echo()], passages=passages, examples=2).examples
    worst = [example for example in examples if example.strategy == LOVE.name]
    assert len(worst) == 2 and worst[0].id == "p5"
    least = [example.movement for example in examples if example.strategy == HATE.name]
    assert least[0] == min(least)


def test_a_stopped_run_resumes_with_the_same_results(tmp_path):
    class Failing(Echo):
        def stream(self, passages):
            for index, passage in super().stream(passages):
                left[0] -= 1
                if left[0] < 0:
                    raise RuntimeError("power cut")
                yield index, passage

    whole = study(tmp_path / "whole", [Echo()])
    left = [30]  # all normal contexts, then some
    with pytest.raises(RuntimeError):
        study(tmp_path / "torn", [Failing()])
    assert not (tmp_path / "torn" / "results.json").exists()
    left[0] = (24 - 5) + 24  # one of the six answers to the first strategy was not written yet
    again = study(tmp_path / "torn", [Failing()])
    assert left[0] == 0
    assert again.to_dict() == whole.to_dict()


def test_the_folder_of_another_run_is_refused(tmp_path):
    study(tmp_path, [Echo()])
    study(tmp_path, [Echo()], margin=0.3)  # the same replies, other verdicts
    study(tmp_path, [Echo(), Echo("other")])
    with pytest.raises(BadInput, match="had the system other, which this one leaves out"):
        study(tmp_path, [Echo()])
    with pytest.raises(BadInput, match="other contexts, strategies or settings"):
        study(tmp_path, [Echo(), Echo("other")], [HATE])
    with pytest.raises(BadInput, match="the system other had another signature"):
        study(tmp_path, [Echo(), Echo("other", ("tea",))])
    assert len(study(tmp_path, [Echo()], [HATE], overwrite=True).verdicts) == 1
    (tmp_path / "results.json").rename(tmp_path / "x")
    (tmp_path / "run.json").unlink()
    (tmp_path / "x").rename(tmp_path / "results.json")
    with pytest.raises(BadInput, match="it is not a robustness run"):
        study(tmp_path, [Echo()])


def test_invalid_settings_are_refused(tmp_path):
    with pytest.raises(BadInput, match="one of movement"):
        RobustnessRun(measure="beauty")
    with pytest.raises(BadInput, match="one of none, released"):
        RobustnessRun(skip="all")
    with pytest.raises(BadInput, match="share from 0 to 1"):
        RobustnessRun(margin=2)
    with pytest.raises(BadInput, match="between 0 and 1"):
        RobustnessRun(level=1.0)
    assert SKIPS == actent.SKIPS
    with pytest.raises(BadInput, match="two strategies are called"):
        study(tmp_path, [Echo()], [HATE, HATE])
    with pytest.raises(BadInput, match="two systems are called 'echo'"):
        study(tmp_path / "b", [Echo(), Echo()])
    with pytest.raises(BadInput, match="got 24, 0 and 2"):
        study(tmp_path / "c", [])


def test_a_strategy_with_nothing_to_edit_gives_a_warning(tmp_path):
    results = study(tmp_path, [Echo()], [Replace("zebra", "horse"), HATE])
    assert "zebra-horse had nothing to edit in 24 contexts." in results.warnings
    assert [row.strategy for row in results.verdicts] == [HATE.name]


def test_two_processes_do_not_write_to_one_folder(tmp_path):
    study(tmp_path, [Echo()])
    with RunFolder(tmp_path).lock(), pytest.raises(BadInput, match="another process"):
        study(tmp_path, [Echo()])


@pytest.mark.parametrize("times", [0, 2])
def test_a_damaged_set_of_replies_is_refused_with_its_file(tmp_path, times):
    passages = talk(3)
    cases = make_cases(passages, [HATE])
    collect_answers(Echo(), passages, cases, tmp_path)
    [path] = (tmp_path / "systems").rglob("normal.jsonl")
    path.write_text(times * path.read_text("utf-8"), "utf-8")
    with pytest.raises(BadInput, match=rf"normal.jsonl: .*{3 * times} responses to 3 contexts"):
        collect_answers(Echo(), passages, cases, tmp_path)


# Stored replies


def files(passages=None):
    passages = passages or talk()
    case = make_cases(passages, [HATE])[0]
    answers = collect_answers(Echo(), passages, [case])
    return tuple(
        [passage.with_response(text, "echo") for passage, text in zip(*pair, strict=True)]
        for pair in ((passages, answers.normal), (case.passages, answers.perturbed[case.name]))
    )


def test_stored_replies_give_the_numbers_of_a_live_system(tmp_path):
    normal, after = files()
    passages, cases, answers = stored_answers(
        "echo", {"normal": normal, f"{HATE.name}:should-change": after[::-1]}, talk()
    )
    stored = study(tmp_path / "stored", [answers], cases, passages)
    live = study(tmp_path / "live", [Echo()], [HATE])
    for metric in ("movement", "chrf", "chrf_loss", "context_similarity_words"):
        assert one(stored, metric, HATE.name).value == one(live, metric, HATE.name).value
    assert cases[0].edits[0][1] == (Edit(2, "like", "hate"),)


def test_stored_replies_without_a_reference_are_compared_with_each_other_alone(tmp_path):
    normal, after = files()
    again = [passage.with_response(passage.response + " indeed", "echo") for passage in normal]
    passages, cases, answers = stored_answers(
        "echo", {"normal": normal, "again": again, "add-negation": after}
    )
    results = study(tmp_path, [answers], cases, passages)
    assert cases[0].kind == "should_change"
    assert results.systems[0].samples and not results.select("chrf")


def test_stored_replies_that_do_not_fit_are_refused():
    normal, after = files()
    with pytest.raises(BadInput, match="got normal"):
        stored_answers("x", {"normal": normal})
    with pytest.raises(BadInput, match="not known whether 'mine'"):
        stored_answers("x", {"normal": normal, "mine": after})
    with pytest.raises(BadInput, match="has 23 replies, normal 24"):
        stored_answers("x", {"normal": normal, "antonym": after[1:]})
    shorter = [replace(passage, context=passage.context[:1]) for passage in after]
    with pytest.raises(BadInput, match="has 2 turns, and 1"):
        stored_answers("x", {"normal": normal, "antonym": shorter})
    with pytest.raises(BadInput, match="Unknown kind"):
        stored_case("mine", "maybe", normal, after)


def test_stored_replies_without_common_ids_are_matched_by_line(caplog):
    normal, after = files()
    after = [replace(passage, id=f"other{row}") for row, passage in enumerate(after)]
    _, _, answers = stored_answers("x", {"normal": normal, "antonym": after})
    assert answers.perturbed["antonym"][3] == "i hate tea 3"
    assert "matched by line" in caplog.text


# Evaluators


class SharedWord:
    """High for a response that shares a word with its context, 0 if the context has `hate`."""

    name, higher_is_human, decision = "shared", True, Decision(0.5)
    signature = "evaluator:shared"

    def __call__(self, passages):
        return np.array([self._score(*pair) for pair in zip(
            passages["context"], passages["response"], strict=True)])  # fmt: skip

    def _score(self, context, response):
        words = {word for turn in context for word in turn["text"].split()}
        return 0.0 if "hate" in words else 0.9 if words & set(response.split()) else 0.2


def test_an_evaluator_is_perturbed_on_either_side():
    passages = talk()
    cases = make_cases(passages, [HATE, LOVE, Replace("drink", "drank")])
    rows = evaluator_changes(SharedWord(), passages, cases)
    changes = {(change.strategy, change.side): change for change in rows}
    hate = changes[HATE.name, "context"]
    assert hate.changed.value == 1 and hate.score_change.value == pytest.approx(-0.9)
    assert changes[LOVE.name, "context"].changed.value == 0
    assert (HATE.name, "response") not in changes  # no response has like
    assert changes["drink-drank", "response"].n == 24
    assert ("drink-drank", "context") not in changes


def test_changes_of_an_evaluator_are_in_the_results(tmp_path):
    results = study(tmp_path, [Echo()], evaluators=[SharedWord()], passages=talk(80))
    assert results.settings["evaluators"] == {"shared": "evaluator:shared"}
    changes = {row.details["strategy"]: row for row in results.evaluator_results}
    hate, love = changes[HATE.name], changes[LOVE.name]
    assert (hate.metric, hate.value) == ("over_stability", 0)
    assert hate.details["verdict"] == "responsive"
    assert (love.metric, love.value) == ("over_sensitivity", 0)
    assert love.details["verdict"] == "stable"  # none of 40 dialogues: at most .088


def test_the_default_evaluator_is_trained_on_random_replies():
    evaluator = fit_evaluator(to_passages(talk(60)), embed=embed)
    assert evaluator.name == "embedding" and evaluator.n == 120
    with pytest.raises(BadInput, match="10 passages of other dialogues are too few"):
        fit_evaluator(to_passages(talk(10)), embed=embed)


def test_strategies_of_the_package_run(tmp_path):
    strategies = [perturbation("add-negation"), perturbation("random-swap")]
    results = study(tmp_path, [Echo()], strategies)
    assert {row.name for row in results.strategies} == {"add-negation", "random-swap"}
