"""Pages and tables of training with rewards: numbers, curves, and text that is never markup."""

from dialeval.metrics.adversarial_results import AdversarialResults, PolicyRecord
from dialeval.metrics.regs_results import RegsExample, RegsResults, SystemReply
from dialeval.metrics.results import Result
from dialeval.reports.adversarial import render_study, render_training
from dialeval.reports.adversarial.progress import validation_line
from dialeval.reports.adversarial.study_rows import answer, sentences, summarise_regs

EVIL = "<script>alert(1)</script>"


def record(iteration: int, reward: float = 0.3, **numbers: float) -> PolicyRecord:
    values = {"accuracy": 0.8, "length": 9.5, "entropy": 3.2, "kl": 0.4, "distinct_1": 0.5,
              "distinct_2": 0.8, "perplexity": 90.0}  # fmt: skip
    return PolicyRecord(iteration, reward, 0.7, **{**values, **numbers})


def success(system: str, value: float, metric: str = "adversuc") -> Result:
    return Result(metric, system, "svm", value, value - 0.02, value + 0.02, 300, "made")


def study(method: float = 0.4) -> RegsResults:
    values = {"pre-trained": 0.2, "more likelihood": 0.21, "REGS-MC": method}
    rows = [success(name, value) for name, value in values.items()]
    rows += [success(name, 0.9, "machine_vs_random") for name in values]
    rows.append(Result("perplexity", "pre-trained", "", 88.0, float("nan"), float("nan"), 9, ""))
    example = RegsExample((EVIL, "hi"), EVIL, (SystemReply("REGS-MC", EVIL),))
    return RegsResults(
        results=tuple(rows), systems=tuple(values), methods=("REGS-MC",), evaluators=("svm",),
        records={"REGS-MC": (record(0), record(10, 0.5))}, stopped={"REGS-MC": "budget"},
        discriminators={"REGS-MC": {"accuracy": 0.9, "low": 0.8, "high": 0.95, "n": 100}},
        examples=(example,), likelihood_steps=12, minutes={"REGS-MC": 2.0}, warnings=(EVIL,),
    )  # fmt: skip


def test_the_study_is_one_page_with_everything_escaped():
    page = render_study(study())
    assert EVIL not in page and page.count("&lt;script&gt;") == 4
    for part in ("AdverSuc, svm", ".400", ".380–.420", "12 updates", "88.0", ".900 [.800–.950]"):
        assert part in page
    assert page.count('<svg class="plot') == 8
    assert "REGS-MC, minutes since the last start" in page
    assert "an evaluator is right in 60 of 100 cases" in page  # a bar for each system first
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")


def test_the_training_is_one_page_with_everything_escaped():
    results = AdversarialResults(
        results=(), objective="regs-mc", reward=EVIL, records=(record(0), record(1)),
        stopped="perplexity", samples=({"context": EVIL, "human": "a", "generator": "b"},),
    )  # fmt: skip
    page = render_training(results)
    assert EVIL not in page and "last ones below it" in page
    again = AdversarialResults.from_dict(results.to_dict())
    assert again.to_dict() == results.to_dict() and again.records[1].iteration == 1


def test_above_is_said_only_where_intervals_do_not_overlap():
    text, scope = sentences(study())
    assert "above pre-trained (.200) and above more likelihood (.210)" in text
    assert "another training" in scope
    text, scope = sentences(study(0.22))
    assert "not clearly different from pre-trained" in text
    text, scope = sentences(study(0.1))
    assert "below pre-trained" in text


def test_the_answer_is_yes_only_where_both_baselines_are_beaten():
    assert answer(study()) == "Yes: REGS-MC is harder to detect than both baselines."
    for value in (0.22, 0.1):
        assert answer(study(value)).startswith("Not shown")


def test_runs_with_several_seeds_are_summarised(tmp_path):
    for seed, value in enumerate((0.3, 0.5)):
        study(value).save(tmp_path / str(seed))
    columns, rows = summarise_regs([str(tmp_path / "0"), str(tmp_path / "1")])
    spread = rows["REGS-MC"][[column.metric for column in columns].index("adversuc")]
    assert (spread.mean, spread.low, spread.high, spread.n) == (0.4, 0.3, 0.5, 2)


def test_a_validation_is_one_line():
    numbers = {"objective": "regs-mc", "step": 5, "total": 9, "record": vars(record(5))}
    line = validation_line(numbers)
    assert line.startswith("regs-mc, round 5 of 9: reward .300, discriminator accuracy .800")
    assert "perplexity 90.0" in line and "\n" not in line
