"""Training against perturbations as a study: cells and verdicts by hand, a whole tiny run."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from accelerate import Accelerator

from dialeval.dialogues import BadInput, iterate
from dialeval.dialogues.storage import texts_of
from dialeval.metrics.overlap import bleu, bleu_counts
from dialeval.metrics.robust_results import (
    ALL,
    CLEAN_ONLY,
    COSTS,
    HARMS,
    HELPS,
    HELPS_BOTH,
    MORE_EPOCHS,
    NO_EFFECT,
    NOT_MEASURED,
    Comparison,
    RobustExample,
    RobustResults,
    RobustVerdict,
    verdict_of,
)
from dialeval.models.tokenizers import word_tokenizer
from dialeval.protocols.robust import models, robust
from dialeval.protocols.robust.cells import CellStatistics, StrategyCells, average
from dialeval.protocols.robust.data import robust_parts, with_files
from dialeval.protocols.robust.models import shape_of
from dialeval.protocols.robust.replies import other_rows
from dialeval.protocols.robust.study import _Study
from dialeval.reports.robust import robust_grids, write_robust_report
from dialeval.reports.robust.rows import attack_text, headline
from dialeval.responders.decoding import likelihoods
from dialeval.responders.generators import load_generator, save_generator
from dialeval.settings.against import AgainstConfig
from dialeval.settings.robust import RobustRun
from dialeval.settings.training import GeneratorConfig
from dialeval.training.generator import build

UP, DOWN = Comparison(0.1, 0.05, 0.2, 0.01), Comparison(-0.1, -0.2, -0.05, 0.01)
NONE = Comparison(0.01, -0.1, 0.1, 0.6)
TINY = {
    "data": ["chitchat"], "hidden_size": 12, "latent_size": 3, "layers": 1, "heads": 2,
    "positions": 40, "vocab_size": 300, "pieces": 60, "max_passages": 60, "max_eval_passages": 12,
    "max_new_tokens": 5, "similarity": False, "resamples": 100,
}  # fmt: skip
CONFIG = GeneratorConfig(epochs=1, batch_size=30, learning_rate=0.01)
AGAINST = AgainstConfig("random-swap,stopword-dropout,add-negation", rl_weight=0.5)


@pytest.mark.parametrize(
    ("gain", "clean", "still", "changing"),
    [
        (UP, UP, HELPS_BOTH, CLEAN_ONLY), (UP, NONE, HELPS, HARMS), (UP, DOWN, COSTS, HARMS),
        (NONE, UP, CLEAN_ONLY, CLEAN_ONLY), (NONE, NONE, NO_EFFECT, NO_EFFECT),
        (NONE, DOWN, HARMS, HARMS), (DOWN, NONE, HARMS, HELPS), (DOWN, UP, HARMS, HELPS_BOTH),
    ],
)  # fmt: skip
def test_verdicts(gain, clean, still, changing):
    assert verdict_of("should_not_change", gain, clean) == still
    assert verdict_of("should_change", gain, clean) == changing


def test_a_cell_is_a_mean_and_a_difference_is_paired():
    statistics = CellStatistics([f"d{row // 2}" for row in range(40)], 500)
    rng = np.random.default_rng(0)
    first = {"chrf": rng.random(40)}
    second = {"chrf": first["chrf"] - 0.05}  # the same, a little lower everywhere
    assert statistics.values(first)["chrf"].value == pytest.approx(first["chrf"].mean())
    difference = statistics.differences(first, second)["chrf"]
    assert difference.value == pytest.approx(0.05) and difference.significant == 1
    other = {"chrf": rng.permutation(first["chrf"])}
    assert statistics.differences(first, other)["chrf"].significant == 0


def test_bleu_is_of_the_corpus_and_seeds_are_averaged():
    texts = [["a b c d e", "x y z"], ["a b c d f", "x y q"]]
    references = ["a b c d e", "x y z w"]
    tables = [{"bleu": bleu_counts(row, references), "chrf": np.array([1.0, 0.2])} for row in texts]
    tables[1]["chrf"] = np.array([0.5, 0.4])
    both = average(tables)
    assert both["chrf"].tolist() == pytest.approx([0.75, 0.3])
    value = CellStatistics(["a", "b"], 50).values(both)["bleu"].value
    counts = bleu_counts([*texts[0], *texts[1]], references * 2).sum(0)
    assert value == pytest.approx(float(bleu(counts)))


def test_the_four_cells_give_attack_gain_and_cost():
    ones = np.linspace(0.4, 0.6, 30)
    cells = StrategyCells(
        {"chrf": ones - 0.2}, {"chrf": ones - 0.05}, {"chrf": ones}, {"chrf": ones - 0.01}
    )
    statistics = CellStatistics([str(row) for row in range(30)], 200)
    [verdict] = cells.verdicts("vhred", "random-swap", "should_not_change", statistics)
    differences = [verdict.attack.value, verdict.gain.value, verdict.clean.value]
    assert differences == pytest.approx([-0.2, 0.15, -0.01])
    assert attack_text(verdict) == "worse" and verdict.verdict == COSTS
    assert verdict.against_control == NOT_MEASURED
    same = replace(cells, control_on_perturbed={"chrf": ones - 0.05},
                   control_on_normal={"chrf": ones - 0.01})  # fmt: skip
    [verdict] = same.verdicts("vhred", "random-swap", "should_not_change", statistics)
    assert verdict.verdict == COSTS and verdict.against_control == NO_EFFECT


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robust")
    run = RobustRun(**TINY, targets=["vhred", "reranking-rl"], output_dir=str(folder / "run"))
    return run, robust(run, CONFIG, AGAINST)


def test_every_cell_of_the_table_is_measured(finished):
    _, results = finished
    for target in ("vhred", "reranking-rl"):
        assert results.cell("likelihood", target).details["train"] == "normal"
        for name in ("random-swap", "stopword-dropout", "add-negation"):
            for train, test in (("normal", name), (name, name), (name, "normal")):
                cell = results.cell("likelihood", target, train, test)
                assert np.isfinite(cell.value) and 0 < cell.details["p"] <= 1
            assert results.verdict(target, name, "likelihood").against_control != NOT_MEASURED
        assert results.cell("bleu", target, ALL, "random-swap") is not None
        assert results.cell("bleu", target, MORE_EPOCHS, "add-negation") is not None
    normal = results.cell("likelihood", "vhred").value
    trained = results.cell("likelihood", "vhred", "random-swap").value
    assert trained != normal
    assert results.verdict("vhred", "add-negation").measure == results.measure == "bleu"


def test_a_run_is_read_from_its_folder_when_it_is_repeated(finished):
    run, results = finished
    again = robust(replace(run, resamples=100), CONFIG, AGAINST)
    assert [row.value for row in again.results] == [row.value for row in results.results]
    with pytest.raises(BadInput, match="another run wrote here: it had hidden_size 12"):
        robust(replace(run, hidden_size=16), CONFIG, AGAINST)


def test_the_gain_from_the_context_is_measured_and_its_lack_is_reported(finished):
    run, results = finished
    passages = list(iterate(robust_parts(run, 0)["test"]))
    model = load_generator(Path(run.output_dir) / "models" / "vhred" / "0" / "normal")
    gains = []
    for row, other in enumerate(other_rows([passage.dialogue_id for passage in passages])):
        assert passages[row].dialogue_id != passages[other].dialogue_id
        swapped = replace(passages[row], context=passages[other].context)
        (one, two), (size, _) = likelihoods(model, [passages[row], swapped])
        gains.append((one - two) / size)
    target = results.targets[0]
    assert target.context_gain.value == pytest.approx(np.mean(gains), abs=1e-6)
    unread = [row.name for row in results.targets if not row.reads_context]
    assert unread  # such small ones have not learnt it
    for name in unread:
        assert any(text.startswith(f"{name} does not measurably read") for text in results.warnings)


def test_a_collapsed_latent_variable_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "latent_numbers", lambda *_: {"kl": 0.02, "active_units": 0.0})
    run = RobustRun(**{**TINY, "output_dir": str(tmp_path), "hidden_size": 4})
    factory = models.ModelFactory(
        run, CONFIG, AGAINST, robust_parts(run, 0), Accelerator(), lambda *_: None
    )
    [warning] = load_generator(factory.base("vhred", 0)).training["warnings"]
    assert warning.startswith("The latent variable collapsed: 0.020 nats per response, 0 of 3")
    assert load_generator(factory.base("seq2seq", 0)).training["warnings"] == []


def test_dialogues_of_the_training_data_are_not_tested_on(tmp_path):
    lines = [f"how are you today number {n} ? __eou__ i am fine number {n} , thanks __eou__"
             for n in range(80)]  # fmt: skip
    (tmp_path / "train.txt").write_text("\n".join(lines[:70]))
    (tmp_path / "test.txt").write_text("\n".join(lines[60:]))
    data = [str(tmp_path / f"{name}.txt") for name in ("train", "test")]
    run = RobustRun(**{**TINY, "data": data[:1], "test_data": data[1:], "max_eval_passages": -1})
    parts = robust_parts(run, 0)
    assert sorted(parts["test"]["response"]) == [f"i am fine number {n} , thanks"
                                                 for n in range(70, 80)]  # fmt: skip


def test_a_target_in_half_precision_is_trained_in_full(tmp_path):
    run = RobustRun(**{**TINY, "output_dir": str(tmp_path / "run")})
    parts = robust_parts(run, 0)
    saved = build(shape_of(run, "gpt2"), parts["train"])
    saved.model.bfloat16()
    folder = save_generator(saved, tmp_path / "half")
    factory = models.ModelFactory(run, CONFIG, AGAINST, parts, Accelerator(), lambda *_: None)
    assert load_generator(folder).model.dtype == torch.bfloat16
    assert factory._generator(str(folder), str(folder)).model.dtype == torch.float32


def test_test_contexts_only_get_words_of_the_training_data():
    run = RobustRun(**TINY)
    study = _Study(run, CONFIG, AgainstConfig("add-negation"), None, None, None, {})
    study.parts = robust_parts(run, 0)
    [strategy] = study._strategies()
    tokenizer = word_tokenizer(texts_of(study.parts["train"]), run.vocab_size)
    known = {word.lower() for word in tokenizer.get_vocab()}
    assert (strategy.name, strategy.kind) == ("add-negation", "should_change")
    assert strategy._words == known and "the" in known
    study.run = replace(run, targets=["gpt2", "vhred-bpe"])  # pieces spell any word
    assert [type(item).__name__ for item in study._strategies()] == ["AddNegation"]


def test_the_report_escapes_and_has_every_table(finished):
    run, results = finished
    hostile = RobustExample("vhred", "random-swap", ("a",), ("b",), "c", "<script>", "d", "e", "f")
    replace(results, examples=(hostile,)).save(run.output_dir)
    page = write_robust_report(run.output_dir).read_text("utf-8")
    assert page.count("<script>") == 1 and "&lt;script&gt;" in page
    for text in ("N-train + A-test", "A-train + N-test", "more epochs, no perturbation"):
        assert text in page
    folder = write_robust_report(run.output_dir).parent
    assert "| random-swap |" in (folder / "table.md").read_text()
    assert r"\toprule" in (folder / "table.tex").read_text()
    loaded = RobustResults.load(folder)
    assert loaded.verdicts == results.verdicts
    assert json.loads((folder / "results.json").read_text())["protocol"] == "robust"
    results.save(run.output_dir)


def test_words_and_pieces_stand_side_by_side(finished):
    _, results = finished
    renamed = tuple(
        replace(row, name="vhred-bpe" if row.name != "vhred" else row.name)
        for row in results.targets
    )
    grids = robust_grids(replace(results, targets=renamed))
    [nine] = [grid for grid in grids if "Table 9" in grid.title]
    assert nine.heads == ("tested on", "vhred", "vhred-bpe")
    assert [row[0] for row in nine.rows] == ["Normal Input", "random-swap", "stopword-dropout"]


def test_targets_have_their_tokenizer_and_shape():
    run = RobustRun(**TINY)
    assert shape_of(run, "vhred").tokenizer == "words"
    pieces = shape_of(run, "vhred-bpe")
    assert (pieces.model, pieces.tokenizer, pieces.vocab_size) == ("vhred", "bpe", 60)
    assert shape_of(run, "reranking-rl").attention == "bahdanau"
    adapted = shape_of(replace(run, tune="lora"), "some/folder")
    assert (adapted.model, adapted.tune) == ("some/folder", "lora")
    assert shape_of(replace(run, tune="lora"), "gpt2").tune == "full"


def test_the_embedded_chats_stand_in_for_absent_threads(monkeypatch, tmp_path):
    monkeypatch.setenv("DIALEVAL_SHARED_DATA", str(tmp_path))
    run = with_files(RobustRun(test_data=["ubuntu"]))
    assert run.data == ["chitchat"] and run.test_data == []
    (tmp_path / "ubuntu_irc").mkdir()
    assert with_files(RobustRun()).data == [str(tmp_path / "ubuntu_irc" / "train.jsonl")]


def test_a_run_without_strategies_is_refused(tmp_path):
    with pytest.raises(BadInput, match="expected strategies to train against"):
        robust(RobustRun(**TINY, output_dir=str(tmp_path)), CONFIG, AgainstConfig())


@pytest.mark.parametrize(("seeds", "words"), [(1, "of one training"), (3, "mean of 3 trainings")])
def test_the_verdicts_say_how_many_trainings_they_rest_on(seeds, words):
    [verdicts, *_] = robust_grids(RobustResults(results=(), settings={"seeds": seeds}))
    assert words in verdicts.caption and "other seeds" in verdicts.caption


def test_a_change_that_is_not_seen_is_no_success_of_an_attack():
    none, up = Comparison(0.0, -0.4, 0.4, 0.9), Comparison(0.1, 0.05, 0.15, 0.01)
    row = RobustVerdict("gpt2", "antonym", "should_change", "bleu", none, up, none, HARMS)
    results = RobustResults(results=(), verdicts=(row,), measure="bleu")
    assert attack_text(row) == "no change seen"
    assert "0 of 1 strategies make it worse" in headline(results, "gpt2")
    unmeasured = replace(row, attack=Comparison(*[float("nan")] * 4))
    assert attack_text(unmeasured) == NOT_MEASURED
