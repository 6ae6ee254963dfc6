"""Robustness: hand-computed effects, verdicts, similarities; runs that stop and go on."""

import json
from dataclasses import dataclass, replace
from random import Random
from zlib import crc32

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from dialeval.dialogues import BadInput, Passage, Turn, to_passages
from dialeval.metrics.paired import paired_bootstrap
from dialeval.models.tokenizers import word_tokenizer
from dialeval.perturbations import Edit, Perturbation, perturbation
from dialeval.protocols.robustness import (
    Answers,
    RobustnessRun,
    answered,
    fit_judge,
    make_cases,
    robustness,
    second_draw,
    stored_answers,
    stored_case,
    verdict,
)
from dialeval.protocols.robustness.effects import bleu_loss_of, effects, loss_of, mean_of
from dialeval.protocols.robustness.judges import judge_changes
from dialeval.protocols.robustness.measuring import Measures, lexicon_for, technical_share
from dialeval.protocols.robustness.similarity import (
    MeanEmbedding,
    cosine,
    likeness,
    unrelated_distance,
)
from dialeval.responders.base import answer, respond
from dialeval.responders.decoding import Greedy, Sampling
from dialeval.responders.endpoint import EndpointResponder
from dialeval.responders.generators import Generator
from dialeval.responders.language import GeneratorResponder
from dialeval.responders.prompts import PromptFormat
from dialeval.responders.simple import ParrotResponder, RandomResponder
from dialeval.scorers.base import Decision


def embed(texts):
    """A vector of word counts: 64 buckets."""
    found = np.zeros((len(texts), 64))
    for row, text in enumerate(texts):
        for word in text.lower().split():
            found[row, crc32(word.encode()) % 64] += 1
    return found


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
class Says:
    """A system that repeats the words of the last turn that it attends to."""

    name: str = "echo"
    ignores: tuple[str, ...] = ()

    @property
    def signature(self) -> str:
        return f"{self.name}|{self.ignores}"

    def stream(self, passages):
        for place, passage in enumerate(passages):
            words = [w for w in passage.context[-1].text.split() if w not in self.ignores]
            yield place, answer(passage, " ".join(words), self)


@dataclass(frozen=True)
class Replace(Perturbation):
    """Puts one word in the place of another."""

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


def study(folder, systems, strategies=(HATE, LOVE), passages=None, judges=(), **settings):
    settings = {"resamples": 500, "output_dir": str(folder), **settings}
    run = RobustnessRun(**settings)
    return robustness(passages or talk(), systems, strategies, run, judges, embed)


@pytest.fixture(autouse=True)
def without_minilm(monkeypatch):
    tokenizer = word_tokenizer(["i like hate enjoy tea drink you should then did the number ?"])
    torch.manual_seed(0)
    found = MeanEmbedding("tiny", tokenizer, torch.randn(len(tokenizer), 5))
    monkeypatch.setattr(MeanEmbedding, "minilm", classmethod(lambda cls: found))


def one(told, metric, strategy, system="echo"):
    wanted = {"metric": metric, "system": system, "strategy": strategy, "evaluator": ""}
    found = [
        each for each in told["results"]
        if {name: {**each["details"], **each}[name] for name in wanted} == wanted
    ]  # fmt: skip
    assert len(found) == 1, found
    return found[0]


# Verdicts


@pytest.mark.parametrize(
    ("low", "high", "still", "moving"),
    [
        (0.0, 0.1, "holds still", "does not move"),
        (-0.4, -0.2, "holds still", "does not move"),
        (0.11, 0.3, "moves too much", "moves as it must"),
        (0.0, 0.11, "inconclusive", "inconclusive"),
        (0.1, 0.3, "inconclusive", "inconclusive"),
        (float("nan"), float("nan"), "inconclusive", "inconclusive"),
    ],
)
def test_a_verdict_needs_the_whole_interval_on_one_side_of_the_margin(low, high, still, moving):
    assert verdict("should_not_change", low, high, 0.1) == still
    assert verdict("should_change", low, high, 0.1) == moving


def test_few_dialogues_conclude_nothing():
    assert verdict("should_change", 0.5, 0.6, 0.1, dialogues=9) == "inconclusive"
    assert verdict("should_change", 0.5, 0.6, 0.1, dialogues=10) == "moves as it must"


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
    agreed, apart = 0, []
    for system, (normal, rows, robust) in PAPER.items():
        for strategy, found in rows.items():
            worst = max(1 - new / old for new, old in zip(found, normal, strict=True))
            changing = strategy in ("add-negation", "antonym")
            kind = "should_change" if changing else "should_not_change"
            said = verdict(kind, worst, worst, RobustnessRun().loss_margin)
            theirs = "does not move" if changing else (
                "holds still" if strategy in robust else "moves too much")  # fmt: skip
            agreed += said == theirs
            apart += [(system, strategy)] if said != theirs else []
    assert agreed == 13 and apart == [("Reranking-RL", "random-swap")]


# Effects


def test_the_mean_and_its_interval_are_those_of_the_paired_bootstrap():
    rng = np.random.default_rng(0)
    first, second, groups = rng.random(60), rng.random(60), np.repeat(np.arange(20), 3)
    found = effects({"mean": mean_of(first - second)}, groups, resamples=2_000)["mean"]
    wanted = paired_bootstrap(first, second, groups, resamples=2_000)
    assert (found.value, found.low, found.high, found.p) == pytest.approx(
        (wanted["difference"], wanted["low"], wanted["high"], wanted["p"])
    )
    assert (found.n, found.dialogues) == (60, 20)


def test_a_loss_is_the_share_of_the_mean_that_is_gone():
    normal, after = np.array([0.5, 1.0, np.nan, 0.5]), np.array([0.5, 0.4, 1.0, 0.5])
    found = effects({"loss": loss_of(normal, after)}, list("abcd"), resamples=50)["loss"]
    assert found.value == pytest.approx(1 - 1.4 / 2.0) and found.n == 3


def test_the_loss_of_bleu_is_that_of_the_corpus():
    import sacrebleu

    from dialeval.metrics.overlap import bleu_counts

    gold = ["we went to the old house on the hill", "she reads a book by the sea at night"]
    normal = ["we went to the old house by the hill", "she reads a book by the sea all night"]
    after = ["we went to a new house on the hill", "he reads a book by the sea at noon"]
    counts = [bleu_counts(texts, gold) for texts in (normal, after)]
    found = effects({"loss": bleu_loss_of(*counts)}, ["a", "b"], resamples=50)["loss"]
    scores = [sacrebleu.corpus_bleu(texts, [gold]).score for texts in (normal, after)]
    assert found.value == pytest.approx(1 - scores[1] / scores[0])


def test_no_change_at_all_is_known_only_as_well_as_there_are_dialogues():
    few, many = (
        effects({"x": mean_of(np.zeros(n), (0.0, np.inf))}, range(n), resamples=50)["x"]
        for n in (12, 100)
    )
    assert few.low == many.low == 0
    z2 = 1.959964**2
    assert (few.high, many.high) == pytest.approx((z2 / (12 + z2), z2 / (100 + z2)), rel=1e-5)
    assert few.p == 1


def test_one_dialogue_has_no_interval_and_none_has_nothing():
    alone = effects({"x": mean_of(np.ones(3))}, ["a"] * 3)["x"]
    assert alone.value == 1 and np.isnan(alone.low)
    assert np.isnan(effects({"x": mean_of(np.zeros(0))}, [])["x"].value)


# Similarity


def test_the_mean_embedding_is_the_mean_of_the_tokens_rows():
    tokenizer = word_tokenizer(["a b c"])
    weight = torch.arange(2.0 * len(tokenizer)).reshape(-1, 2)
    found = MeanEmbedding("x", tokenizer, weight)(["a b b", "", "c"])
    ids = tokenizer("a b b", add_special_tokens=False)["input_ids"]
    assert len(ids) == 3
    np.testing.assert_allclose(found[0], weight[ids].mean(0).numpy())
    assert found[1].tolist() == [0, 0]
    assert MeanEmbedding("x", tokenizer, weight)([]).shape == (0, 2)


def test_cosines_by_hand():
    first, second = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 0.0]]), np.array([[4.0, 3.0]] * 3)
    assert cosine(first, second).tolist() == pytest.approx([0.96, 0.8, 0.0])


def test_equal_texts_are_as_near_as_can_be_and_silence_is_near_nothing():
    found = likeness(embed, ["a b", "", "a", "a b"], ["a  b ".replace("  ", " "), "", "", "a c"])
    assert found.tolist() == pytest.approx([1, 1, 0, 0.5])


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
    said = Answers("s", "s", ["a b", "c d"], {"x": ["a c", "c d"]})
    words = MeanEmbedding.minilm()
    measures = Measures(passages, said, embed, words)
    assert measures.unit == pytest.approx(1.0)  # nothing is shared by the two replies
    assert measures.movement(said.perturbed["x"]).tolist() == pytest.approx([0.5, 0.0])
    half = Measures(passages, replace(said, normal=["a b", "a d"]), embed, words)
    assert half.unit == pytest.approx(0.5)
    assert half.movement(["a c", "a d"]).tolist() == pytest.approx([1.0, 0.0])


# Cases and answers


def test_unedited_contexts_are_not_asked_again(tmp_path):
    passages = [*talk(3), replace(talk(1)[0], context=(Turn("A", "hello"),), id="q")]
    case = make_cases(passages, [HATE])[0]
    assert case.edited.tolist() == [True] * 3 + [False] and case.coverage == 0.75

    class Counting(Says):
        def stream(self, some):
            asked.append(len(some))
            return super().stream(some)

    asked = []
    found = answered(Counting(), passages, [case])
    assert asked == [4, 3]
    assert found.perturbed[case.name][3] == found.normal[3] == "hello"
    assert found.perturbed[case.name][0] == "i hate tea 0" and found.again is None


def tiny(decoding) -> GeneratorResponder:
    tokenizer = word_tokenizer([f"i like hate enjoy tea {' '.join(map(str, range(24)))}"])
    torch.manual_seed(0)
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    shape = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64, "initializer_range": 0.4}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **shape, **ids))
    return GeneratorResponder(Generator(model, tokenizer, PromptFormat(), "tiny"), decoding,
                              max_new_tokens=5)  # fmt: skip


def test_only_a_system_that_samples_answers_twice(tmp_path):
    assert second_draw(tiny(Greedy())) is None and second_draw(Says()) is None
    sampling = tiny(Sampling())
    other = second_draw(sampling)
    assert (sampling.seed, other.seed) == (0, 1) and other.signature != sampling.signature
    told = study(tmp_path, [sampling])
    system = told["systems"][0]
    assert system["samples"] and system["self_movement"]["value"] > 0.1
    raw = [json.loads(line)["movement"] for line in (tmp_path / "responses.jsonl").open()][:24]
    wanted = np.mean(raw) - system["self_movement"]["value"]
    assert one(told, "movement", HATE.name, "tiny")["value"] == pytest.approx(wanted)


def test_simple_systems_that_draw_answer_twice_too():
    people = to_passages(talk())
    for responder in (ParrotResponder("random"), RandomResponder(people)):
        other = second_draw(responder)
        assert other.seed == responder.seed + 1
        assert respond(other, talk()) != respond(responder, talk())
    assert second_draw(ParrotResponder(-1)) is None
    asked = EndpointResponder("http://localhost:1", "m")
    assert second_draw(asked).seed == 1 and asked.seed == 0
    assert second_draw(replace(asked, temperature=0.0)) is None


def test_a_models_own_embeddings_and_likelihoods_are_used(tmp_path):
    from dialeval.responders.decoding import likelihoods

    responder = tiny(Greedy())
    told = study(tmp_path, [responder])
    assert told["systems"][0]["words"] == "tiny's own" and not told["systems"][0]["samples"]
    passages = talk()
    sums, lengths = likelihoods(responder.generator, passages)
    assert one(told, "likelihood", "normal", "tiny")["value"] == pytest.approx(
        np.mean(sums / lengths)
    )
    case = make_cases(passages, [HATE])[0]
    after, _ = likelihoods(responder.generator, list(case.passages))
    lost = one(told, "likelihood_loss", HATE.name, "tiny")
    assert lost["value"] == pytest.approx(np.mean((sums - after) / lengths), abs=1e-6)
    own = MeanEmbedding.of(responder.generator)
    texts = ["\n".join(turn.text for turn in each.context) for each in passages]
    others = ["\n".join(turn.text for turn in each.context) for each in case.passages]
    wanted = cosine(own(texts), own(others)).mean()
    near = one(told, "context_similarity_words", HATE.name, "tiny")
    assert near["value"] == pytest.approx(wanted) and near["details"]["by"] == "tiny's own"


# Whole runs


def test_an_echo_moves_and_a_deaf_system_does_not(tmp_path):
    deaf = Says("deaf", ("like", "hate", "enjoy"))
    told = study(tmp_path, [Says(), deaf], margin=0.15)
    said = {(each["system"], each["strategy"]): each for each in told["verdicts"]}
    assert said["echo", HATE.name]["verdict"] == "moves as it must"
    assert said["echo", LOVE.name]["verdict"] == "moves too much"
    assert said["echo", LOVE.name]["unchanged"] == 0
    # No reply of 24 in 12 dialogues changed: Wilson's bound, .24, is beyond the margin.
    assert said["deaf", HATE.name]["verdict"] == said["deaf", LOVE.name]["verdict"]
    assert said["deaf", LOVE.name]["verdict"] == "inconclusive"
    assert said["deaf", LOVE.name]["unchanged"] == 1
    more = study(tmp_path / "more", [deaf], passages=talk(80), margin=0.15)
    assert [each["verdict"] for each in more["verdicts"]] == ["does not move", "holds still"]


def test_numbers_against_the_reference_by_hand(tmp_path):
    from sacrebleu import sentence_chrf

    told = study(tmp_path, [Says()])
    passages = talk()
    normal = [sentence_chrf(f"i like tea {row}", [each.response]).score / 100
              for row, each in enumerate(passages)]  # fmt: skip
    after = [sentence_chrf(f"i hate tea {row}", [each.response]).score / 100
             for row, each in enumerate(passages)]  # fmt: skip
    assert one(told, "chrf", "normal")["value"] == pytest.approx(np.mean(normal))
    assert one(told, "chrf", HATE.name)["value"] == pytest.approx(np.mean(after))
    lost = one(told, "chrf_loss", HATE.name)
    assert lost["value"] == pytest.approx(1 - sum(after) / sum(normal))
    assert lost["details"]["margin"] == 0.05 and lost["low"] <= lost["value"] <= lost["high"]


def test_verdicts_can_go_by_another_measure(tmp_path):
    told = study(tmp_path, [Says()], measure="changed")
    assert {each["measure"] for each in told["verdicts"]} == {"changed"}
    assert [each["effect"] for each in told["verdicts"]] == [1, 1]
    missing = study(tmp_path / "b", [Says()], measure="likelihood")
    assert (
        missing["verdicts"] == [] and "likelihood could not be measured" in missing["warnings"][0]
    )


def test_activity_and_entity_f1_come_with_technical_talk(tmp_path):
    texts = ("how do i install the driver ?", "mount the disk"), ("boot from usb", "try the bios")
    passages = [
        Passage((Turn("A", asked),), said, id=f"{row}", dialogue_id=f"{row}")
        for row in range(12) for asked, said in texts[row % 2 : row % 2 + 1]
    ]  # fmt: skip
    assert technical_share(passages) == 1 and technical_share(talk()) == 0
    told = study(tmp_path, [Says()], [Replace("the", "a")], passages)
    assert told["settings"]["actent"] == "embedded"
    # The echo installs and boots, the human mounts and tries; nothing is shared but nothing.
    assert one(told, "activity_f1", "normal")["value"] == 0
    assert one(told, "activity_f1_loss", "the-a")["details"]["verdict"] == "inconclusive"
    quiet = study(tmp_path / "no", [Says()], [Replace("the", "a")], passages, actent=False)
    assert quiet["settings"]["actent"] is None
    assert lexicon_for(talk(), True, None)[0].name == "embedded"
    with pytest.raises(BadInput, match="is missing"):
        lexicon_for(talk(), None, str(tmp_path))


def test_selectivity_compares_both_kinds_on_the_same_contexts(tmp_path):
    picky = Says("picky", ("enjoy", "like"))  # notices hate alone
    told = study(tmp_path, [picky])
    hate = [each for each in map(json.loads, (tmp_path / "responses.jsonl").open())
            if each["strategy"] == HATE.name]  # fmt: skip
    wanted = np.mean([each["movement"] for each in hate])
    found = told["systems"][0]["selectivity"]
    assert found["value"] == pytest.approx(wanted) and found["low"] > 0


def test_what_is_written_is_what_is_told(tmp_path):
    told = study(tmp_path, [Says()])
    assert json.loads((tmp_path / "results.json").read_text("utf-8")) == told
    rows = [json.loads(line) for line in (tmp_path / "responses.jsonl").open(encoding="utf-8")]
    assert len(rows) == 2 * 24
    first = rows[0]
    assert first["response"] == "i like tea 0" and first["perturbed_response"] == "i hate tea 0"
    assert first["edits"] == [[[8, "like", "hate"]], [[2, "like", "hate"]]]
    assert [each["coverage"] for each in told["strategies"]] == [1, 1]
    assert {"metric", "system", "evaluator", "value", "low", "high", "n", "signature"} <= set(
        told["results"][0]
    )


def test_the_worst_examples_come_first(tmp_path):
    passages = talk()
    passages[5] = replace(passages[5], context=(Turn("A", "like"),))  # its whole reply changes
    told = study(tmp_path, [Says()], passages=passages, examples=2)
    worst = [each for each in told["examples"] if each["strategy"] == LOVE.name]
    assert len(worst) == 2 and worst[0]["id"] == "p5"
    least = [each for each in told["examples"] if each["strategy"] == HATE.name]
    assert least[0]["movement"] == min(each["movement"] for each in least)


def test_a_stopped_run_goes_on_and_ends_the_same(tmp_path):
    class Failing(Says):
        def stream(self, passages):
            for place, passage in super().stream(passages):
                left[0] -= 1
                if left[0] < 0:
                    raise RuntimeError("power cut")
                yield place, passage

    whole = study(tmp_path / "whole", [Says()])
    left = [30]  # all normal contexts, then some
    with pytest.raises(RuntimeError):
        study(tmp_path / "torn", [Failing()])
    assert not (tmp_path / "torn" / "results.json").exists()
    left[0] = (24 - 5) + 24  # of the six answers to the first strategy one was under way
    again = study(tmp_path / "torn", [Failing()])
    assert left[0] == 0
    assert again["results"] == whole["results"]


def test_the_folder_of_another_run_is_refused(tmp_path):
    study(tmp_path, [Says()])
    study(tmp_path, [Says()], margin=0.3)  # the same replies, read otherwise
    study(tmp_path, [Says(), Says("other")])
    with pytest.raises(BadInput, match="had the system other, which this one leaves out"):
        study(tmp_path, [Says()])
    with pytest.raises(BadInput, match="other contexts, strategies or settings"):
        study(tmp_path, [Says(), Says("other")], [HATE])
    with pytest.raises(BadInput, match="the system other answered otherwise"):
        study(tmp_path, [Says(), Says("other", ("tea",))])
    told = study(tmp_path, [Says()], [HATE], overwrite=True)
    assert len(told["verdicts"]) == 1
    (tmp_path / "results.json").rename(tmp_path / "x")
    (tmp_path / "run.json").unlink()
    (tmp_path / "x").rename(tmp_path / "results.json")
    with pytest.raises(BadInput, match="it is not one of robustness"):
        study(tmp_path, [Says()])


def test_what_makes_no_sense_is_refused(tmp_path):
    with pytest.raises(BadInput, match="Choose one of movement"):
        RobustnessRun(measure="beauty")
    with pytest.raises(BadInput, match="Choose one of none, released"):
        RobustnessRun(skip="all")
    with pytest.raises(BadInput, match="share from 0 to 1"):
        RobustnessRun(margin=2)
    with pytest.raises(BadInput, match="two strategies are called"):
        study(tmp_path, [Says()], [HATE, HATE])
    with pytest.raises(BadInput, match="two systems are called 'echo'"):
        study(tmp_path / "b", [Says(), Says()])
    with pytest.raises(BadInput, match="found 24, 0 and 2"):
        study(tmp_path / "c", [])


def test_a_strategy_with_nothing_to_edit_says_so(tmp_path):
    told = study(tmp_path, [Says()], [Replace("zebra", "horse"), HATE])
    assert "zebra-horse had nothing to edit in 24 contexts." in told["warnings"]
    assert [each["strategy"] for each in told["verdicts"]] == [HATE.name]


# Stored replies


def files(passages=None):
    passages = passages or talk()
    said = Says()
    case = make_cases(passages, [HATE])[0]
    answers = answered(said, passages, [case])
    normal = [each.with_response(text, "echo")
              for each, text in zip(passages, answers.normal, strict=True)]  # fmt: skip
    pairs = zip(case.passages, answers.perturbed[case.name], strict=True)
    after = [each.with_response(text, "echo") for each, text in pairs]
    return normal, after


def test_stored_replies_give_the_numbers_of_asking(tmp_path):
    normal, after = files()
    asked, cases, answers = stored_answers(
        "echo", {"normal": normal, f"{HATE.name}:should-change": after[::-1]}, talk()
    )
    told = study(tmp_path / "stored", [answers], cases, asked)
    live = study(tmp_path / "live", [Says()], [HATE])
    for metric in ("movement", "chrf", "chrf_loss", "context_similarity_words"):
        assert one(told, metric, HATE.name)["value"] == one(live, metric, HATE.name)["value"]
    assert cases[0].edits[0][1] == (Edit(2, "like", "hate"),)


def test_stored_replies_without_a_reference_are_compared_with_each_other_alone(tmp_path):
    normal, after = files()
    again = [each.with_response(each.response + " indeed", "echo") for each in normal]
    asked, cases, answers = stored_answers(
        "echo", {"normal": normal, "again": again, "add-negation": after}
    )
    told = study(tmp_path, [answers], cases, asked)
    assert cases[0].kind == "should_change"
    assert told["systems"][0]["samples"]
    assert not [each for each in told["results"] if each["metric"] == "chrf"]


def test_stored_replies_that_do_not_fit_are_refused():
    normal, after = files()
    with pytest.raises(BadInput, match="found normal"):
        stored_answers("x", {"normal": normal})
    with pytest.raises(BadInput, match="nobody says whether 'mine'"):
        stored_answers("x", {"normal": normal, "mine": after})
    with pytest.raises(BadInput, match="has 23 replies, normal 24"):
        stored_answers("x", {"normal": normal, "antonym": after[1:]})
    shorter = [replace(each, context=each.context[:1]) for each in after]
    with pytest.raises(BadInput, match="has 2 turns, and 1"):
        stored_answers("x", {"normal": normal, "antonym": shorter})
    with pytest.raises(BadInput, match="Unknown kind"):
        stored_case("mine", "maybe", normal, after)


def test_stored_replies_without_common_ids_are_matched_by_line(caplog):
    normal, after = files()
    after = [replace(each, id=f"other{row}") for row, each in enumerate(after)]
    _, _, answers = stored_answers("x", {"normal": normal, "antonym": after})
    assert answers.perturbed["antonym"][3] == "i hate tea 3"
    assert "matched by line" in caplog.text


# Evaluators


class Judge:
    """Takes for human what shares a word with its context, and never what says `hate`."""

    name, higher_is_human, decision, signature = "shared", True, Decision(0.5), "judge:shared"

    def __call__(self, passages):
        return np.array([self._score(*pair) for pair in zip(
            passages["context"], passages["response"], strict=True)])  # fmt: skip

    def _score(self, context, response):
        words = {word for turn in context for word in turn["text"].split()}
        return 0.0 if "hate" in words else 0.9 if words & set(response.split()) else 0.2


def test_a_judge_is_perturbed_on_either_side():
    passages = talk()
    cases = make_cases(passages, [HATE, LOVE, Replace("drink", "drank")])
    found = {(each.strategy, each.side): each for each in judge_changes(Judge(), passages, cases)}
    hate = found[HATE.name, "context"]
    assert hate.changed == 1 and hate.score_change[0] == pytest.approx(-0.9)
    assert found[LOVE.name, "context"].changed == 0
    assert (HATE.name, "response") not in found  # no response says like
    assert found["drink-drank", "response"].n == 24 and ("drink-drank", "context") not in found


def test_what_a_judge_does_stands_in_the_results(tmp_path):
    told = study(tmp_path, [Says()], judges=[Judge()], passages=talk(80))
    found = {each["details"]["strategy"]: each for each in told["results"] if each["evaluator"]}
    hate, love = found[HATE.name], found[LOVE.name]
    assert (hate["metric"], hate["value"]) == ("over_stability", 0)
    assert hate["details"]["verdict"] == "moves as it must"
    assert (love["metric"], love["value"]) == ("over_sensitivity", 0)
    assert love["details"]["verdict"] == "holds still"  # none of 40 dialogues: at most .088


def test_the_default_judge_learns_to_tell_random_replies():
    judge = fit_judge(to_passages(talk(60)), embed=embed)
    assert judge.name == "embedding" and judge.n == 120
    with pytest.raises(BadInput, match="10 passages of other dialogues are too few"):
        fit_judge(to_passages(talk(10)), embed=embed)


def test_strategies_of_the_package_run(tmp_path):
    told = study(tmp_path, [Says()], [perturbation("add-negation"), perturbation("random-swap")])
    assert {each["name"] for each in told["strategies"]} == {"add-negation", "random-swap"}
