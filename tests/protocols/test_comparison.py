"""Systems compared by context, against brute force, statsmodels and numbers computed by hand."""

import json
import logging
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from scipy.stats import norm, t
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar
from statsmodels.stats.multitest import multipletests

from dialeval.dialogues import BadInput
from dialeval.metrics import adversuc
from dialeval.metrics.evaluation_results import EvaluationResults, FormatLeak
from dialeval.metrics.results import Result, signature
from dialeval.protocols.comparison import (
    assert_metrics,
    check_run,
    compare_runs,
    detectable_difference,
    run_names,
    signature_parts,
)
from dialeval.reports.comparison import (
    comparison_tables,
    groups_sentence,
    write_comparison,
)


def rows(system, human, machine, evaluator="svm", first=0, size=1, author="human"):
    """Rows of scores.parquet: for each context the decisions on both sides."""
    for number, both in enumerate(zip(human, machine, strict=True), first):
        for label, predicted in zip((1, 0), both, strict=True):
            yield {
                "system": system,
                "evaluator": evaluator,
                "scenario": "human_machine",
                "id": f"c{number}",
                "dialogue_id": f"d{number // size}",
                "label": label,
                "predicted_human": bool(predicted),
                "response": f"{author} {number}" if label else f"{system} {number}",
            }


def result(metric="adversuc", system="bot", evaluator="svm", value=0.3, **others):
    how = signature(metric=metric, evaluator=evaluator, system=system, folds=5, seed=0)
    names = {"metric": metric, "system": system, "evaluator": evaluator, "value": value}
    numbers = {"low": 0.2, "high": 0.4, "n": 80, "signature": how, "details": {}}
    return Result.from_dict({**names, **numbers, **others})


@pytest.fixture
def write_run(tmp_path):
    """Write a run folder of invented decisions and give its path."""

    def write(name, *systems, results=(), leaks=()):
        folder, table = tmp_path / name, [row for system in systems for row in system]
        evaluated = dict.fromkeys((row["system"], row["evaluator"]) for row in table)
        numbers = list(results) or [result(system=one, evaluator=two) for one, two in evaluated]
        EvaluationResults(results=tuple(numbers), leaks=tuple(leaks)).save(folder)
        if table:
            parquet.write_table(pa.Table.from_pylist(table), folder / "scores.parquet")
        return folder

    return write


def coins(seed, share, n):
    return (np.random.default_rng(seed).random(n) < share).astype(int)


def test_the_difference_of_four_contexts_by_hand(write_run):
    a = rows("a", human=[1, 1, 1, 0], machine=[1, 1, 0, 1])
    b = rows("b", human=[1, 1, 0, 1], machine=[0, 0, 0, 0])
    (pair,) = compare_runs([write_run("x", a, b)]).pairs
    # a: (0+1)/2, (0+1)/2, (0+0)/2, (1+1)/2 = 2/4; b: 0, 0, (1+0)/2, 0 = .5/4
    assert (pair.first, pair.first_adversuc, pair.second_adversuc) == ("a", 0.5, 0.125)
    assert pair.difference == 0.375
    assert (pair.machine_side, pair.human_side) == (0.375, 0.0)
    assert pair.human_changed == 2
    # every one of the 16 ways to swap the systems, and how often the sum is as far from 0
    gaps = [0.5, 0.5, -0.5, 1.0]
    sums = [abs(np.dot(signs, gaps)) for signs in product((1, -1), repeat=4)]
    assert pair.p == np.mean([total >= 1.5 for total in sums]) == 0.5
    assert pair.mcnemar == {"p": 0.25, "only_first": 3, "only_second": 0}
    assert (pair.n, pair.dialogues, pair.first_left_out, pair.second_left_out) == (4, 4, 0, 0)


def test_difference_p_and_mcnemar_agree_with_independent_ones(write_run):
    n, size = 240, 3
    human = [coins(seed, 0.7, n) for seed in (1, 2)]
    machine = [coins(3, 0.5, n), coins(4, 0.3, n)]
    systems = [rows(s, h, m, size=size) for s, h, m in zip("ab", human, machine, strict=True)]
    (pair,) = compare_runs([write_run("x", *systems)], resamples=20_000).pairs
    gap = ((1 - human[0] + machine[0]) - (1 - human[1] + machine[1])) / 2
    assert pair.first == "a" and pair.difference == pytest.approx(gap.mean())
    assert pair.machine_side == pytest.approx((machine[0] - machine[1]).mean() / 2)
    assert pair.difference == pytest.approx(pair.machine_side + pair.human_side)

    units, rng = gap.reshape(-1, size).sum(1), np.random.default_rng(7)
    flipped = np.abs(rng.choice([-1, 1], (20_000, len(units))) @ units)
    assert pair.p == pytest.approx((flipped >= abs(units.sum()) - 1e-9).mean(), abs=0.01)
    draws = units[rng.integers(len(units), size=(20_000, len(units)))].sum(1) / n
    tails = norm.cdf(t.ppf([0.025, 0.975], len(units) - 1) * np.sqrt(80 / 79))  # of 80 dialogues
    expected = np.quantile(draws, tails)
    np.testing.assert_allclose([pair.low, pair.high], expected, atol=0.004)
    assert pair.dialogues == n // size

    counts = np.histogram2d(*machine, bins=2)[0]
    assert pair.mcnemar["p"] == pytest.approx(reference_mcnemar(counts, exact=True).pvalue)
    assert pair.mcnemar["only_first"] == counts[1, 0]


def test_clusters_widen_the_interval(write_run):
    a, b = np.repeat(coins(1, 0.6, 40), 5), np.repeat(coins(2, 0.4, 40), 5)
    widths = []
    for size in (1, 5):
        systems = [rows(s, [1] * 200, m, size=size) for s, m in (("a", a), ("b", b))]
        (pair,) = compare_runs([write_run(f"x{size}", *systems)]).pairs
        widths.append(pair.high - pair.low)
    assert widths[1] == pytest.approx(widths[0] * 5**0.5, rel=0.1)


def four_systems(evaluator="svm"):
    shares = {"a": 0.6, "b": 0.55, "c": 0.35, "d": 0.1}
    for seed, (system, share) in enumerate(shares.items()):
        yield rows(system, coins(9, 0.8, 150), coins(seed, share, 150), evaluator)


def test_holm_goes_over_the_pairs_of_one_evaluator(write_run):
    both = [*four_systems(), *four_systems("rnn")]
    comparison = compare_runs([write_run("x", *both)])
    assert len(comparison.pairs) == 12
    for evaluator in ("svm", "rnn"):
        pairs = [pair for pair in comparison.pairs if pair.evaluator == evaluator]
        expected = multipletests([pair.p for pair in pairs], method="holm")
        np.testing.assert_allclose([pair.p_holm for pair in pairs], expected[1])
        assert [pair.significant for pair in pairs] == expected[0].tolist()
        sizes = [pair.difference for pair in pairs]
        assert sizes == sorted(sizes, reverse=True) and min(sizes) >= 0
        assert 0 < sum(expected[0]) < 6  # some of both kinds, or the test says little


def test_groups_are_the_largest_sets_without_a_significant_difference(write_run):
    comparison = compare_runs([write_run("x", *four_systems())])
    apart = {frozenset((p.first, p.second)) for p in comparison.pairs if p.significant}

    def alike(names):
        return not any(frozenset(two) in apart for two in combinations(names, 2))

    sets = [set(s) for k in range(1, 5) for s in combinations("abcd", k) if alike(s)]
    largest = [group for group in sets if not any(group < other for other in sets)]
    assert sorted(map(sorted, comparison.groups["svm"])) == sorted(map(sorted, largest))
    assert comparison.groups["svm"][0][0] == max(comparison.systems, key=lambda s: s.adversuc).label


def test_a_system_may_be_in_two_groups():
    from types import SimpleNamespace as Some

    from dialeval.protocols.comparison.compare import indistinct_groups

    entries = [Some(label=s, ids=[0], successes=np.array([v])) for s, v in zip("abc", (3, 2, 1))]  # noqa: B905
    pairs = [Some(first="a", second="c", significant=True)]
    assert indistinct_groups(entries, pairs) == [["a", "b"], ["b", "c"]]
    sentence = groups_sentence(indistinct_groups(entries, pairs))
    assert sentence.endswith("not significantly different: a and b; b and c")
    assert groups_sentence(indistinct_groups(entries, [])).startswith("No difference")


def test_the_order_of_rows_systems_and_folders_does_not_matter(write_run):
    one, two, three, _ = (list(system) for system in four_systems())
    shuffled = [two[row] for row in np.random.default_rng(0).permutation(len(two))]
    first = compare_runs([write_run("1/x", one, two), write_run("1/y", three)])
    again = compare_runs([write_run("2/y", three), write_run("2/x", shuffled, one)])
    assert first.to_dict() == again.to_dict()


def test_only_contexts_that_both_answered_count(write_run):
    a = rows("a", [1] * 30, [1] * 30)
    b = rows("b", [1] * 30, [0] * 10 + [1] * 20, first=20)
    comparison = compare_runs([write_run("x", a), write_run("y", b)])
    (pair,) = comparison.pairs
    assert (pair.n, pair.first_left_out, pair.second_left_out) == (10, 20, 20)
    assert pair.difference == 0.5  # all ten of a were predicted human, none of b
    assert "10 contexts in common, 20 and 20 left out" in " ".join(comparison.notes)


def test_an_id_with_another_human_response_is_another_context(write_run):
    first = write_run("x", rows("a", [1] * 20, [1] * 20))
    mixed = [*rows("b", [1] * 8, [0] * 8), *rows("b", [1] * 12, [0] * 12, first=8, author="woman")]
    comparison = compare_runs([first, write_run("y", mixed)])
    assert comparison.pairs[0].n == 8
    assert "12 ids have another human response" in comparison.notes[0]
    with pytest.raises(BadInput, match="no common contexts.*same --human file"):
        compare_runs([first, write_run("z", rows("b", [1] * 9, [0] * 9, author="woman"))])


def test_same_names_of_two_runs_get_different_labels(write_run):
    runs = [write_run(n, rows("bot", [1] * 20, [b] * 20)) for n, b in (("a", 0), ("b", 1))]
    (pair,) = compare_runs(runs).pairs
    assert (pair.first, pair.second) == ("b/bot", "a/bot")
    assert list(run_names(["p/a", "q/a"])) == ["p/a", "q/a"]
    with pytest.raises(BadInput, match="given twice"):
        compare_runs([runs[0], runs[0]])


def test_evaluators_with_other_settings_give_a_warning(write_run, caplog):
    a = write_run("a", rows("bot", [1] * 20, [0] * 20))
    how = signature(metric="adversuc", evaluator="svm", system="new", folds=2, seed=0, note="x|y")
    b = write_run(
        "b", rows("new", [1] * 20, [1] * 20), results=[result(system="new", signature=how)]
    )
    with caplog.at_level(logging.WARNING):
        comparison = compare_runs([a, b])
    assert comparison.warnings == [
        "svm was not set up the same way everywhere: folds is 5 for bot; 2 for new.",
        "svm was not set up the same way everywhere: note is unknown for bot; x|y for new.",
    ]
    assert caplog.messages == comparison.warnings
    assert comparison.pairs[0].evaluators_differ == ("folds", "note")
    assert signature_parts(how)["note"] == "x|y"


def test_equal_evaluators_give_no_warning(write_run):
    comparison = compare_runs([write_run("x", *four_systems())])
    assert not comparison.warnings and not comparison.notes
    assert all(
        pair.evaluators_differ == () and pair.human_changed == 0 for pair in comparison.pairs
    )


def test_a_ranked_system_with_a_format_leak_is_named_once(write_run):
    leaks = [
        FormatLeak("spaced", "casing", "system if it starts in lower case", 0.7, 0.6, 0.8),
        FormatLeak("spaced", "space", "system if there is a space before .", 0.96, 0.9, 0.99),
    ]
    names = [(system, judge) for system in ("spaced", "clean") for judge in ("svm", "lstm")]
    table = [rows(*name[:1], [1] * 20, [0, 1] * 10, name[1]) for name in names]
    numbers = [result(system=system, evaluator=judge) for system, judge in names]
    numbers.append(result("adversuc_normalised", "spaced", "svm", value=0.45))
    comparison = compare_runs([write_run("x", *table, results=numbers, leaks=leaks)])
    (warning,) = comparison.warnings
    assert warning.startswith("spaced has a format leak") and "96 of 100" in warning
    by_name = {(row.label, row.evaluator): row for row in comparison.systems}
    assert by_name["spaced", "svm"].leak == leaks[1]
    assert by_name["spaced", "svm"].normalised == 0.45
    assert by_name["spaced", "lstm"].normalised is None
    assert by_name["clean", "svm"].leak is None
    page = write_comparison(comparison, Path("page.html")).read_text("utf-8")
    assert "format leak: one rule alone is right in 96, the evaluator in 55 after norm" in page
    assert page.count("one rule alone is right in 96") == 2  # in the ranking of each evaluator


def test_several_responses_to_a_context_are_averaged(write_run):
    a = [*rows("a", [1] * 8, [1] * 8), *rows("a", [1] * 8, [0] * 8)]
    (pair,) = compare_runs([write_run("x", a, rows("b", [1] * 8, [0] * 8))]).pairs
    assert (pair.n, pair.first_adversuc, pair.difference) == (8, 0.25, 0.25)
    assert pair.mcnemar is None


def test_other_scenarios_and_references_are_left_alone(write_run):
    other = [{**row, "scenario": "machine_random"} for row in rows("b", [0] * 9, [1] * 9)]
    coin = rows("b", [0] * 9, [1] * 9, "coin"), rows("a", [0] * 9, [1] * 9, "coin")
    folder = write_run("x", rows("a", [1] * 9, [1] * 9), rows("b", [1] * 9, [0] * 9), other, *coin)
    assert {pair.evaluator for pair in compare_runs([folder]).pairs} == {"svm"}
    assert compare_runs([folder], ["coin"]).pairs[0].difference == 0
    assert compare_runs([folder]).pairs[0].difference == 0.5


def test_a_system_has_the_interval_of_its_run_if_it_is_about_the_same_contexts(write_run):
    a, b = list(rows("a", [1] * 8, [1, 1, 0, 0] * 2)), list(rows("b", [1] * 8, [0] * 8))
    numbers = [result(system="a", value=0.25), result(system="b", value=0.3)]  # b: 0 here
    first, second = compare_runs([write_run("x", a, b, results=numbers)]).systems
    assert (first.adversuc, first.low, first.high) == (0.25, 0.2, 0.4)
    assert (second.adversuc, second.low, second.high) == (0.0, None, None)


def test_contexts_with_one_side_are_counted(write_run):
    alone = [row for row in rows("a", [1] * 3, [1] * 3, first=9) if row["label"]]
    comparison = compare_runs(
        [write_run("x", rows("a", [1] * 9, [1] * 9), alone, rows("b", [1] * 9, [0] * 9))]
    )
    assert comparison.pairs[0].n == 9
    assert "a, evaluated by svm: 3 contexts without" in comparison.notes[0]


def test_the_detectable_difference_is_found_four_times_in_five():
    rng, n = np.random.default_rng(0), 300
    spread = rng.choice([-0.5, 0, 0.5], n)
    least = detectable_difference(spread, np.arange(n))
    assert least == pytest.approx(
        (norm.ppf(0.975) + norm.ppf(0.8)) * spread.std() / n**0.5, rel=0.01
    )
    chances = [1 / 3 - least, 1 / 3, 1 / 3 + least]  # differ by `least` in the mean
    drawn = rng.choice([-0.5, 0, 0.5], (4_000, n), p=chances)
    significant = np.abs(drawn.mean(1)) / (drawn.std(1, ddof=1) / n**0.5) > norm.ppf(0.975)
    assert significant.mean() == pytest.approx(0.8, abs=0.03)


def test_dialogues_that_are_correlated_detect_less():
    differences = np.repeat(np.random.default_rng(1).choice([-0.5, 0.5], 50), 4)
    alone = detectable_difference(differences, np.arange(200))
    assert detectable_difference(differences, np.arange(200) // 4) == pytest.approx(
        2 * alone, rel=0.02
    )


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("results.json", "results.json: no such file.*output-dir"),
        ("scores.parquet", "no scores.parquet"),
    ],
)
def test_a_folder_that_is_no_run_is_named(write_run, file, message):
    folder = write_run("x", *four_systems())
    (folder / file).unlink()
    with pytest.raises(BadInput, match=message):
        compare_runs([folder])
    (folder / file).write_text("[1")
    with pytest.raises(BadInput, match="expected (JSON|a Parquet file)"):
        compare_runs([folder])


def test_missing_columns_and_rows_without_a_metric_are_named(write_run):
    folder = write_run("x", *four_systems())
    table = parquet.read_table(folder / "scores.parquet").drop_columns(["predicted_human", "id"])
    parquet.write_table(table, folder / "scores.parquet")
    with pytest.raises(BadInput, match="the columns id, predicted_human are missing"):
        compare_runs([folder])
    (folder / "results.json").write_text(
        '{"schema_version": 2, "protocol": "evaluation", "results": [{"value": 1}]}'
    )
    with pytest.raises(BadInput, match="A result needs metric, system"):
        compare_runs([folder])


def test_what_cannot_be_compared_is_refused(write_run):
    one = write_run("x", rows("a", [1] * 9, [1] * 9), rows("a", [1] * 9, [1] * 9, "coin"))
    with pytest.raises(BadInput, match="Unknown evaluator 'gpt'. Choose one of coin, svm"):
        compare_runs([one], ["gpt"])
    with pytest.raises(BadInput, match="only one system per evaluator: a"):
        compare_runs([one])
    with pytest.raises(BadInput, match="no evaluator but coin or length"):
        compare_runs([write_run("y", rows("a", [1] * 9, [1] * 9, "coin"))])


def test_few_resamples_give_a_note_and_one_dialogue_has_no_interval(write_run):
    systems = [rows(s, [1] * 9, [t] * 9, size=9) for s, t in (("a", 1), ("b", 0))]
    comparison = compare_runs([write_run("x", *systems)], resamples=9)
    assert "9 resamples cannot show a p-value of 0.05" in comparison.notes[0]
    assert not comparison.pairs[0].significant and comparison.pairs[0].detectable is None
    content = comparison.to_dict()
    assert content["pairs"][0]["low"] is None and json.dumps(content, allow_nan=False)
    assert comparison_tables(comparison)


DETAILS = {"auroc": 0.9, "balanced": True, "parts": {"x": {"adversuc": 0.4, "n": 7}}}
RESULTS = [
    result(system="bot", value=0.3, details=DETAILS),
    result(system="bad", value=0.1, low=0.05, high=0.25),
    result(system="bot", evaluator="coin", value=0.5),
    result("ere", "bot", value=0.1, low=0.05, high=0.21),
    result("ere", "bad", value=None, low=None, high=None, n=3),
    result("human_vs_random", "", value=0.8, details={"gap": 0.2, "gap_low": 0.1, "gap_high": 0.3}),
    result("distinct_1", "bot", "", 0.4, low=None, high=None),
    result("distinct_1", "human", "", 0.6, low=None, high=None),
    result("distinct_1", "bad", "", 0.2, low=None, high=None),
]


def outcomes(folder, *limits, **options):
    return {
        (check.system, check.evaluator): check.passed
        for check in check_run(folder, *limits, **options)
    }


def test_conditions_hold_for_every_system_and_real_evaluator(write_run):
    folder = write_run("x", results=RESULTS)
    assert outcomes(folder, {"adversuc": 0.2}) == {("bot", "svm"): True, ("bad", "svm"): False}
    assert outcomes(folder, {"adversuc": 0.1}) == {("bot", "svm"): True, ("bad", "svm"): True}
    assert outcomes(folder, None, {"adversuc": 0.1}, systems=["bad"]) == {("bad", "svm"): True}
    assert outcomes(folder, {"human_vs_random": 0.7}, systems=["bot"]) == {("", "svm"): True}
    assert outcomes(folder, {"distinct_1": 0.3}) == {("bot", ""): True, ("bad", ""): False}
    assert outcomes(folder, {"distinct_1": 0.3}, systems=["human"]) == {("human", ""): True}
    coin = outcomes(folder, {"adversuc": 0.4}, systems=["bot"], evaluators=["coin"])
    assert coin == {("bot", "coin"): True}


def test_relevance_is_required_of_the_evaluators_that_measure_it(write_run):
    rows = [result("adversuc", "bot", name) for name in ("stack", "surface")]
    folder = write_run("x", results=[*rows, result("relevance", "bot", "stack", 0.7)])
    assert outcomes(folder, {"relevance": 0.6}) == {("bot", "stack"): True}
    assert outcomes(folder, {"relevance": 0.8}) == {("bot", "stack"): False}
    (named,) = check_run(folder, {"relevance": 0.6}, evaluators=["surface"])
    assert named.status == "not measured"


def test_bounds_of_the_interval_can_be_tested(write_run):
    folder, bot = write_run("x", results=RESULTS), {"systems": ["bot"]}
    for bound, least, most in (("value", 0.3, 0.3), ("low", 0.2, 0.2), ("high", 0.4, 0.4)):
        assert outcomes(folder, {"adversuc": least}, bound=bound, **bot)["bot", "svm"]
        assert not outcomes(folder, {"adversuc": least + 0.01}, bound=bound, **bot)["bot", "svm"]
        assert outcomes(folder, None, {"adversuc": most}, bound=bound, **bot)["bot", "svm"]
    careful = {"bound": "conservative", **bot}
    assert not outcomes(folder, {"adversuc": 0.25}, **careful)["bot", "svm"]
    assert not outcomes(folder, None, {"ere": 0.2}, **careful)["bot", "svm"]
    assert outcomes(folder, {"human_vs_random.gap": 0.1}, **careful)["", "svm"]


@pytest.mark.parametrize(
    ("name", "options", "line"),
    [
        ("adversuc", {}, "pass: adversuc >= 0.2, bot, evaluated by svm: 0.300 (95 %: 0.200 to "
         "0.400), n = 80"),
        ("adversuc.auroc", {}, "pass: adversuc.auroc >= 0.2, bot, evaluated by svm: 0.900 (95 %: "
         "- to -), n = 80"),
        ("adversuc.parts.x.adversuc", {}, "0.400 (95 %: - to -), n = 7"),
        ("adversuc.auroc", {"bound": "low"}, "without an interval, so its low bound is unknown."),
        ("adversuc.balanced", {}, "it is true, not a number."),
        ("adversuc.f1", {}, "no 'f1' in the details. There are auroc, balanced, parts."),
        ("adversuc.auroc.x", {}, "no 'auroc.x' in the details."),
        ("advers", {}, "not measured: advers >= 0.2: the run has no metric 'advers'. It has "
         "adversuc,"),
        ("ere", {"systems": ["bad"]}, "not measured: ere >= 0.2, bad, evaluated by svm: it is "
         "null"),
        ("ere", {"evaluators": ["coin"]}, "bot, evaluated by coin: was not measured."),
    ],
)  # fmt: skip
def test_the_text_of_a_condition(write_run, name, options, line):
    options = {"systems": ["bot"], **options}
    (check,) = check_run(write_run("x", results=RESULTS), {name: 0.2}, **options)
    assert line in str(check)
    assert check.passed == str(check).startswith("pass")


def test_the_bounds_of_the_pairwise_accuracy_are_those_of_the_metric(write_run):
    scores = np.random.default_rng(0).random(60)
    details = adversuc(scores, [1, 0] * 30, pairs=[pair for pair in range(30) for _ in "ab"])
    folder = write_run("x", results=[result(system="bot", details=details)])
    (check,) = check_run(folder, None, {"adversuc.pairwise_accuracy": 0.9}, bound="conservative")
    assert (check.low, check.high) == (details["pairwise_low"], details["pairwise_high"])
    assert check.n == 30 and check.status == "passed"


def test_a_number_is_not_rounded_over_its_limit(write_run):
    folder = write_run("x", results=[result(value=0.19999)])
    assert "FAIL" in str(check_run(folder, {"adversuc": 0.2})[0])
    assert ": 0.19999 (" in str(check_run(folder, {"adversuc": 0.2})[0])


def test_assert_metrics_raises_the_same_lines(write_run):
    folder = write_run("x", results=RESULTS)
    assert_metrics(folder, min={"adversuc": 0.1}, max={"adversuc": 0.3})
    with pytest.raises(AssertionError) as error:
        assert_metrics(folder, min={"adversuc": 0.2}, max={"ere": 0.2})
    checks = check_run(folder, {"adversuc": 0.2}, {"ere": 0.2})
    assert str(error.value).splitlines() == [str(check) for check in checks]
    assert [check.passed for check in checks] == [False, True, False, True]


def test_conditions_that_make_no_sense_are_refused(write_run):
    folder = write_run("x", results=RESULTS)
    with pytest.raises(BadInput, match="Unknown system 'b'. Choose one of bad, bot, human"):
        check_run(folder, {"adversuc": 0.2}, systems=["b"])
    with pytest.raises(BadInput, match="Unknown evaluator 'rnn'. Choose one of coin, svm"):
        check_run(folder, {"adversuc": 0.2}, evaluators=["rnn"])
    with pytest.raises(BadInput, match="Unknown bound 'lower'. Choose one of value, low"):
        check_run(folder, {"adversuc": 0.2}, bound="lower")
    with pytest.raises(BadInput, match="no condition to check"):
        check_run(folder)
