"""Reports of the attack-defence game: sentences, tables, page, progress, and several seeds."""

import io
import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from rich.console import Console

from dialeval.metrics.game_results import (
    AttackerReply,
    Component,
    FrequentReply,
    GameExample,
    GameResults,
    Memory,
    SetAccuracy,
    TurnRecord,
)
from dialeval.metrics.results import Result, to_plain
from dialeval.reports.att import (
    GameProgress,
    att_summary_table,
    att_table,
    held_out_table,
    load_summary,
    summarise,
    write_att_report,
    write_att_summary,
)
from dialeval.reports.att.ranks import rank_defenders
from dialeval.reports.att.rows import compare_with_hero, curve, verdict_sentences

DEFENDERS = ["SL", "SL+HvR", "GAN", "ND", "ATT"]
VALUES = {  # one number for each defender
    "Parrot": (0.97, 0.96, 0.82, 0.55, 0.965),
    "generator, greedy": (0.81, 0.83, 0.54, 0.63, 0.88),
    "generator, sampling": (0.46, 0.52, 0.48, 0.60, 0.695),
    "Adversarial G, worst": (0.31, 0.64, 0.41, 0.35, 0.66),
    "Adversarial G, own worst": (None, None, 0.58, 0.37, 0.71),
    "smollm2": (0.46, 0.50, 0.59, 0.55, 0.63),
}
FRESH = {
    "fresh attacker 1": (0.22, 0.45, 0.38, 0.33, 0.52),
    "fresh attacker 2": (0.18, 0.41, 0.44, 0.29, 0.61),
}
NASTY = '<script>alert(1)</script>"onmouseover="alert(2)\' [red]x[/] \x1b[31m'
VOID = {"meta", "br"}


NAN = float("nan")


def result(metric: str, system: str, evaluator: str, value: float | None) -> Result:
    if value is None:
        return Result(metric, system, evaluator, NAN, NAN, NAN, 300, "")
    details = {"probability": value - 0.1, "hvm": value - 0.02}
    if "worst" in system:
        details |= {"attacker": "GAN turn 3", "pool": 25}
    bounds = round(value - 0.04, 4), round(value + 0.03, 4)
    return Result(metric, system, evaluator, value, *bounds, 300, "", details)


def record(turn: int, accuracy: float, low: float) -> TurnRecord:
    pairwise = {"0": 0.9, str(turn): accuracy, "x": low}
    fooled = accuracy < 0.5
    return TurnRecord(
        turn=turn, attack_steps=100 if fooled else 3000, accuracy=accuracy,
        stopped="fooled" if fooled else "budget", probability=accuracy - 0.1, hvm=accuracy,
        low=low, high=0.9, watched=low,
        measured={name: SetAccuracy(value, value - 0.1, value) for name, value in pairwise.items()},
        most_frequent=FrequentReply("i don't know .", 0.6 if turn == 2 else 0.2),
        empty=0.01 * turn, unfinished=0.125, defence_steps=200, defended=0.725,
    )  # fmt: skip


def cells(metric: str, values: dict, shift: float = 0.0) -> tuple[Result, ...]:
    """A result for each attacker and defender; `shift` is added to those of ATT."""
    more = {"ATT": shift}
    return tuple(
        result(metric, name, defender, value if value is None else value + more.get(defender, 0))
        for name, row in values.items()
        for defender, value in zip(DEFENDERS, row, strict=True)
    )


def invent(seed: int = 0, shift: float = 0.0, turns: int = 6) -> GameResults:
    """Results of a study; `shift` is added to every number of ATT."""
    games = {
        "ATT": tuple(
            record(t, 0.45 + 0.05 * t + shift, 0.4 + 0.05 * t + shift) for t in range(1, turns + 1)
        ),
        "GAN": tuple(record(t, 0.48, 0.3) for t in range(1, turns)),
        "ND": tuple(record(t, 0.4, 0.35) for t in range(1, turns + 1)),
    }
    scores = {name: 0.5 + 0.05 * index for index, name in enumerate(DEFENDERS)}
    low, high = (dict.fromkeys(DEFENDERS, score) for score in (0.1, 0.625))
    replies = (
        AttackerReply("Parrot", "why does it rain ?", low),
        AttackerReply("ATT turn 3", "", high),
    )
    pool = {
        f"{game} turn {t}": {name: 2 * score - 0.75 + 0.02 * t for name, score in scores.items()}
        for game in ("ATT", "GAN")
        for t in range(1, turns)
    }
    context = ("why does it rain ?", "tell me")
    fresh = cells("held_out_accuracy", FRESH, shift)
    return GameResults(
        results=(*cells("pairwise_accuracy", VALUES, shift), *fresh),
        defenders=tuple(DEFENDERS), attackers=tuple(VALUES), games=games,
        pool={**pool, "attack on SL": dict.fromkeys(DEFENDERS, 0.77)},
        examples=(GameExample(context, "clouds are full .", scores, replies),),
        components={"generator": Component(perplexity=41.52431), "HvR": Component(0.8125, n=80)},
        memory=Memory(912, 3100000, 3100000),
        minutes={"generator": 2.1, "ATT": 4.0},
        warnings=("ND, turn 2: the attacker collapsed.",),
        settings={"seed": seed, "c_low": 0.5, "c_high": 0.7, "max_validated": 12,
                  "generator": f"runs/{seed}/generator", "data": ["chitchat"]},
        versions={"dialeval": "0.1.0"}, signature=f"att|seed:{seed}|v:0.1.0",
    )  # fmt: skip


def save(folder, results: GameResults):
    folder.mkdir(parents=True, exist_ok=True)
    results.save(folder)
    return folder


def change(results: GameResults, wanted, **values) -> GameResults:
    """The results with other values in the cells for which `wanted` holds."""
    new = (replace(cell, **values) if wanted(cell) else cell for cell in results.results)
    return replace(results, results=tuple(new))


class Page(HTMLParser):
    """The tags of a page, which all close, their attributes, and the text."""

    def __init__(self, path):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""
        self.feed(path.read_text(encoding="utf-8"))
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data if "style" not in self.open else ""

    def values(self, name) -> list[str]:
        return [value for attribute, value in self.attributes if attribute == name]


@pytest.fixture
def results() -> GameResults:
    return invent()


def shown(table, width: int = 110) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()


def test_the_sentences_name_the_best_defender_and_compare_att_with_the_others(results):
    first, second, third, fourth = verdict_sentences(results)
    assert first == (
        "On the worst of 25 attackers from one pool, ATT has the highest accuracy: .660 (95 % "
        "interval .620–.690)."
    )
    assert second == (
        "ATT (.660) is above every other defender: it is above SL (.310), GAN (.410) and ND (.350) "
        "with intervals that do not overlap; above SL+HvR (.640), but the intervals overlap."
    )
    assert "fresh attackers" in third and "ATT has the highest accuracy: .520" in third
    assert fourth == (
        "ATT (.520) is above every other defender: it is above SL (.180), SL+HvR (.410), GAN "
        "(.380) and ND (.290) with intervals that do not overlap."
    )


def test_the_sentences_say_when_att_does_not_win(results):
    worst = ("Adversarial G, worst", "ATT")
    results = change(
        results, lambda cell: (cell.system, cell.evaluator) == worst, value=0.41, low=0.39,
        high=0.45,
    )  # fmt: skip
    first, second, *_, last = verdict_sentences(results)
    assert "SL+HvR has the highest accuracy: .640" in first
    assert second == (
        "ATT (.410) is not above all other defenders: it is above SL (.310) and ND (.350) with "
        "intervals that do not overlap; equal to GAN (.410); below SL+HvR (.640) with intervals "
        "that do not overlap."
    )
    assert last.startswith("The two disagree: SL+HvR leads on the pool, ATT on fresh attackers.")


def test_a_tie_with_the_leader_is_no_disagreement(results):
    tied = ("SL+HvR", "held_out_accuracy")
    results = change(
        results, lambda cell: (cell.evaluator, cell.metric) == tied, value=0.52
    )  # as ATT's
    sentences = verdict_sentences(results)
    assert not any("disagree" in sentence for sentence in sentences)
    assert any("SL+HvR and ATT have the highest accuracy: .520 each." in one for one in sentences)


def test_unknown_intervals_count_as_overlapping():
    att, sl = (
        Result("pairwise_accuracy", "", name, value, low, NAN, 30, "")
        for name, value, low in (("ATT", 0.9, NAN), ("SL", 0.1, 0.0))
    )
    sentence = compare_with_hero({"ATT": att, "SL": sl})
    assert sentence.endswith("above SL (.100), but the intervals overlap.")
    assert compare_with_hero({"ATT": att}) == compare_with_hero({"SL": sl}) == ""


def test_without_a_pool_no_worst_case_is_known():
    assert verdict_sentences(GameResults(results=())) == [
        "No pool of attackers was scored in this run: no worst case is known."
    ]


def test_the_range_of_a_curve_is_that_of_0_1_accuracies():
    point = curve([record(1, 0.5, 0.45)])[0]
    assert (point.turn, point.value, point.low, point.high) == (1, 0.5, 0.45, 0.9)
    other = replace(record(1, 0.5, 0.45), low=0.1, high=0.2)  # of the probability
    assert curve([other])[0] == point
    assert curve([TurnRecord(2, 0.5, low=0.3, high=0.6)])[0].low == 0.3
    assert curve([TurnRecord(2)]) == []


def test_the_terminal_shows_attackers_by_defenders_in_the_order_of_the_paper(results):
    results = replace(results, results=results.results[::-1])
    lines = [line.strip() for line in shown(att_table(results)).splitlines()]
    heads = lines[1].split()
    assert heads == ["attacker", *DEFENDERS]
    firsts = [line for line in lines if line.startswith(tuple(VALUES))]
    assert [line.split("  ")[0].strip() for line in firsts] == list(VALUES)
    assert firsts[0].split()[1:] == [".970", ".960", ".820", ".550", ".965"]
    assert firsts[4].split("worst")[1].split() == ["–", "–", ".580", ".370", ".710"]
    assert ".930–1.000" in lines[lines.index(firsts[0]) + 1]
    assert "is above every" in "".join(lines)


def test_a_defender_that_the_pool_fools_is_not_shown_as_robust(results):
    cells = [
        replace(results.results[0], system="SL", value=value, low=low, high=high)
        for value, low, high in ((0.2, 0.1, 0.3), (0.7, 0.55, 0.8))
    ]
    [line] = rank_defenders(["SL"], {"SL": cells[0]}, {"SL": cells[1]})
    assert line["tone"] == "apart" and "20 of 100, less than a random guess" in line["more"]
    [line] = rank_defenders(["SL"], {"SL": cells[1]}, {"SL": cells[1]})
    assert line["tone"] == "good" and "random guess" not in line["more"]


def test_the_best_of_a_row_is_bold(results):
    table = att_table(results)
    styles = [column._cells[0].style for column in table.columns[1:]]
    assert styles == ["bold", "", "", "", ""]  # Parrot, .97 of SL


def test_held_out_has_the_lowest_and_the_mean_of_each_defender(results):
    lines = [line.strip() for line in shown(held_out_table(results)).splitlines()]
    lowest, mean = (
        next(line for line in lines if line.startswith(name)) for name in ("low", "mean")
    )
    assert lowest.split()[1:] == [".180", ".410", ".380", ".290", ".520"]
    assert mean.split()[1:] == [".200", ".430", ".410", ".310", ".565"]


def test_the_lowest_of_the_fresh_has_the_interval_of_the_minimum(results):
    worst = Result("held_out_worst", "fresh", "ATT", 0.52, 0.4321, 0.6789, 300, "")
    known = replace(results, results=(*results.results, worst))
    assert ".432–.679" in shown(held_out_table(known))
    assert ".432–.679" not in shown(held_out_table(results))
    assert "(95 % interval .432–.679)" in " ".join(verdict_sentences(known))


@pytest.mark.parametrize(
    ("temperature", "sentence"),
    [("1", "at temperature 1 in every game"), ("lowest", "the lowest accuracy over these"),
     ("mixture", "lower than this")],
)  # fmt: skip
def test_the_page_says_at_which_temperature_a_game_is_measured(
    results, tmp_path, temperature, sentence
):
    settings = {**results.settings, "validation_temperature": temperature}
    page = Page(write_att_report(save(tmp_path, replace(results, settings=settings))))
    assert sentence in page.text


def test_the_page_shows_what_hvr_makes_of_copies_and_where_an_attack_was_lowest(results, tmp_path):
    hvr = Component(0.8125, n=80, by_negative={"copy": 0.9871, "near copy": 0.75})
    known = change(
        replace(results, components={"HvR": hvr}),
        lambda cell: cell.system == "fresh attacker 1",
        details={"step": 20, "steps": 30},
    )
    text = Page(write_att_report(save(tmp_path, known))).text
    assert "against copy" in text and "0.9871" in text and "against near copy" in text
    assert "step 20 of 30" in text


def test_a_name_is_not_printed_as_markup_or_control_characters(results):
    results = change(results, lambda _: True, system="[red]x[/] \x1b[31m")
    text = shown(att_table(results), 200) + shown(held_out_table(results), 200)
    assert text.count("[red]x[/] \ufffd[31m") == 2 and "\x1b" not in text


def test_the_page_has_every_part_in_order(results, tmp_path):
    page = Page(write_att_report(save(tmp_path, results)))
    order = ["summary", "figure-2", "table-2", "held-out", "pool", "attackers", "table-1",
             "components", "warnings", "settings", "signature"]  # fmt: skip
    ids = page.values("id")
    assert [name for name in ids if name in order] == order and len(ids) == len(set(ids))
    assert {link[1:] for link in page.values("href")} <= set(ids)
    assert page.values("role").count("img") == 5 + 1 + 3 + 3  # a bar for each defender first
    assert page.tags.count("caption") == page.tags.count("table")
    for text in ("ATT (.660) is above every other defender", ".970", "HvM .950 · P .870",
                 "by GAN turn 3", "clouds are full .", "(an empty reply)", "41.52", "0.8125",
                 "3,100,000", "6.1", "Minutes since the last start",
                 "the attacker collapsed.", "att|seed:0|v:0.1.0", "fooled in 5",
                 "c_high .7", "attack on SL"):  # fmt: skip
        assert text in page.text, text


def test_a_darker_cell_is_a_better_defender_and_a_missing_one_has_no_shade(results, tmp_path):
    page = Page(write_att_report(save(tmp_path, results)))
    styles = [style for style in page.values("style") if style.startswith("--shade")]
    shades = [float(style.split()[1].rstrip("%")) for style in styles]
    known = [value for row in VALUES.values() for value in row if value is not None]
    pairs = sorted(zip(known, shades[: len(known)], strict=True))
    assert [shade for _, shade in pairs] == sorted(shade for _, shade in pairs)
    assert pairs[0][1] < pairs[-1][1]
    assert page.values("title").count("not measured") == 30 - len(known)


def test_scores_above_the_humans_are_marked_as_fooled(results, tmp_path):
    page = Page(write_att_report(save(tmp_path, replace(results, games={}))))
    assert page.values("class").count("fooled") == 3  # .625 beats .5, .55, .6, not .65 and .7


def test_the_lowest_of_the_pool_is_marked_once_for_each_defender(tmp_path):
    pool = {"ATT turn 1": {"SL": 0.5, "ATT": 0.6}, "ND turn 12": {"SL": 0.4, "ATT": 0.7}}
    results = GameResults(results=(), defenders=("SL", "ATT"), pool=pool)
    html = write_att_report(save(tmp_path, results)).read_text()
    assert "<b>.40</b>" in html and "<b>.60</b>" in html
    assert "<b>.50</b>" not in html and "<b>.70</b>" not in html
    assert '<th scope="col">12</th>' in html


def test_the_page_is_self_contained(results, tmp_path):
    page = Page(write_att_report(save(tmp_path, results)))
    assert not {"link", "img", "iframe"} & set(page.tags)
    assert page.tags.count("script") == 1 and not page.values("src")  # the folds
    assert all(link.startswith("#") for link in page.values("href"))
    source = json.dumps(page.attributes) + page.text
    assert "http://" not in source and "https://" not in source and "url(" not in source
    [policy] = [text for text in page.values("content") if text.startswith("default-src 'none'; ")]
    assert "script-src 'sha256-" in policy and "unsafe-inline'; script" in policy


def test_nothing_that_a_user_or_model_wrote_becomes_markup(results, tmp_path):
    def nasty(value):
        if isinstance(value, dict):
            return {key: nasty(item) for key, item in value.items()}
        if isinstance(value, list):
            return [nasty(item) for item in value]
        return NASTY if isinstance(value, str) else value

    content = nasty(results.to_dict())
    content |= {"protocol": "game", "settings": {NASTY: NASTY}, "pool": {NASTY: {NASTY: 0.5}}}
    content |= {"games": {NASTY: content["games"]["ATT"]}, "components": {NASTY: {"source": NASTY}}}
    for row in content["results"]:
        row["metric"] = "pairwise_accuracy"
    folder = save(tmp_path / "run", GameResults.from_dict(content))
    for path in (write_att_report(folder), write_att_summary(load_summary([folder]), tmp_path)):
        page = Page(path)
        assert page.tags.count("script") == 1 and "\x1b" not in page.text
        assert not [name for name, _ in page.attributes if name.startswith("on")]
        assert "<script>alert(1)</script>" in page.text


FIELDS = ("attackers", "games", "pool", "examples", "components", "memory", "minutes", "warnings",
          "settings", "versions", "signature")  # fmt: skip


@pytest.mark.parametrize("missing", [*([name] for name in FIELDS), FIELDS])
def test_a_page_leaves_out_what_is_missing(results, tmp_path, missing):
    content = results.to_dict()
    for name in missing:
        del content[name]
    page = Page(write_att_report(save(tmp_path, GameResults.from_dict(content))))
    ids = page.values("id")
    assert ("figure-2" in ids, "attackers" in ids) == ("games" not in missing,) * 2
    assert ("pool" in ids, "table-1" in ids) == ("pool" not in missing, "examples" not in missing)
    assert {link[1:] for link in page.values("href")} <= set(ids)
    assert ".970" in page.text


def test_a_page_without_any_result_says_so(tmp_path):
    results = GameResults(results=(), defenders=("SL",))
    page = Page(write_att_report(save(tmp_path, results)))
    assert "There are no results." in page.text and "held-out" not in page.values("id")


def test_column_headers_link_to_the_glossary(results, tmp_path):
    page = Page(write_att_report(save(tmp_path, results)))
    assert page.values("href").count("#glossary-pairwise-accuracy") >= 2 * len(DEFENDERS)
    assert "glossary-pairwise-accuracy" in page.values("id")


def test_a_folder_without_results_is_refused_with_a_hint(tmp_path):
    with pytest.raises(ValueError, match="no such file.*Run `accelerate launch recipes/att.py`"):
        write_att_report(tmp_path)


def progress(*steps: dict, terminal: bool = False) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100, color_system=None)
    with GameProgress(console) as on_progress:
        for numbers in steps:
            on_progress(numbers)
        if terminal:
            on_progress.progress.refresh()
    return console.file.getvalue()


STEP = {"game": "ATT", "turn": 3, "phase": "attack", "step": 20, "total": 100, "loss": 0.5,
        "reward": 0.25, "max_turns": 40}  # fmt: skip


def test_each_attack_and_defence_leaves_one_plain_line():
    done = {"game": "ATT", "turn": 3, "phase": "attacked", "step": 100, "total": 1, "max_turns": 40,
            "record": to_plain(record(3, 0.44, 0.4))}  # fmt: skip
    held = {**done, "turn": 4, "phase": "defended"}
    collapsed = replace(record(3, 0.6, 0.55), most_frequent=FrequentReply("", 0.75))
    stopped = {**done, "record": to_plain(collapsed)}
    text = progress(STEP, done, held, stopped, {**held, "record": {"defence_steps": 0}})
    assert text.splitlines() == [
        "ATT, turn 3 of 40: attack fooled the defender in 100 steps; accuracy .440, .400–.900 over "
        "3 sets",
        "ATT, turn 3 of 40: defence of 200 steps; lowest accuracy .725",
        "ATT, turn 3 of 40: attack stopped after 3000 steps; accuracy .600, .550–.900 over 3 sets; "
        "collapsed: .750 of its replies are equal",
        "ATT, turn 4 of 40: defence not needed; lowest accuracy –",
    ]


def test_a_terminal_shows_turn_phase_and_numbers():
    text = progress(STEP, {**STEP, "accuracy": 0.625, "phase": "defence"}, terminal=True)
    assert "ATT, turn 3 of 40" in text
    other = progress({"stage": "Scoring [pool]", "step": 3, "total": 25}, terminal=True)
    assert "Scoring [pool]" in other
    assert "defence  loss 0.500  reward 0.250  accuracy 0.625" in text


def test_stages_are_announced_once_and_their_numbers_shown():
    trained = {"stage": "generator", "epoch": 0, "validation_loss": 2.0, "perplexity": 7.4}
    step = {"stage": "generator", "epoch": 0, "step": 1, "total": 9, "loss": 2.5}
    text = progress({"stage": "Training [HvR]"}, {"stage": "Training [HvR]"}, step, trained)
    assert text.count("Training [HvR]") == 1
    assert "epoch 1: validation loss 2.0000, perplexity 7.4" in text


@pytest.mark.parametrize(("name", "value"), [("DIALEVAL_QUIET", "1"), ("LOCAL_RANK", "1")])
def test_quiet_and_other_processes_print_nothing(monkeypatch, capsys, name, value):
    monkeypatch.setenv(name, value)
    with GameProgress() as on_progress:
        on_progress({"stage": "Training HvR"})
        on_progress({**STEP, "phase": "attacked", "record": to_plain(record(3, 0.44, 0.4))})
    assert capsys.readouterr() == ("", "")


def test_several_seeds_become_mean_and_range(tmp_path):
    runs = (invent(0), invent(1, 0.03, turns=4), invent(2, -0.12))
    summary = load_summary([save(tmp_path / str(run.settings["seed"]), run) for run in runs])
    worst = summary.table["Adversarial G, worst"]
    assert to_plain(worst["ATT"]) == pytest.approx(
        {"mean": 0.63, "low": 0.54, "high": 0.69, "n": 3}
    )
    assert to_plain(worst["SL"]) == pytest.approx({"mean": 0.31, "low": 0.31, "high": 0.31, "n": 3})
    assert "SL" not in summary.table["Adversarial G, own worst"]
    fresh = summary.held_out["lowest of the fresh attackers"]["ATT"]
    assert to_plain(fresh) == pytest.approx({"mean": 0.49, "low": 0.4, "high": 0.55, "n": 3})
    points = {point.turn: point for point in summary.curves["ATT"]}
    assert (points[4].accuracy.n, points[5].accuracy.n) == (3, 2)
    assert points[1].accuracy.mean == pytest.approx(0.47)
    assert points[1].accuracy.low == pytest.approx(0.38)
    assert points[1].lowest.mean == pytest.approx(0.42)
    assert summary.verdict[:2] == [
        "On the worst attacker of the pool, SL+HvR has the highest mean accuracy over 3 runs: .640 "
        "[.640–.640].",
        "ATT (.630 [.540–.690]) is above SL (.310 [.310–.310]) in 3 of 3, SL+HvR (.640 "
        "[.640–.640]) in 2 of 3, GAN (.410 [.410–.410]) in 3 of 3 and ND (.350 [.350–.350]) in 3 "
        "of 3 runs.",
    ]
    text = Page(write_att_summary(summary, tmp_path / "all")).text
    assert json.loads((tmp_path / "all" / "summary.json").read_text()) == to_plain(summary)
    assert ".540–.690" in text and "seeds 0, 1, 2" in text and "in 2 of 3, GAN" in text
    table = shown(att_summary_table(summary), 120)
    assert ".540–.690" in table and "lowest of the fresh attackers" in table


def test_one_run_is_a_summary_too_and_parts_may_be_missing(tmp_path):
    results = GameResults(results=invent().results[:5], defenders=tuple(DEFENDERS))
    summary = summarise({"a": results})
    assert summary.curves == summary.held_out == {} and summary.verdict == []
    page = write_att_summary(summary, tmp_path)
    assert "No worst case was measured in these runs." in Page(page).text
    assert "figure-2" not in Page(page).values("id")


def test_runs_with_other_settings_are_refused_by_name():
    changes = {"c_high": 0.8, "output_dir": "b", "resume": True, "lora": 8}
    other = replace(invent(1), settings={**invent(1).settings, **changes})
    with pytest.raises(ValueError, match=r"b: .* of a, .* c_high \(0.7, here 0.8\), lora \(None"):
        summarise({"a": invent(0), "b": other})
    with pytest.raises(ValueError, match="differ") as error:
        summarise({"a": invent(0), "b": other})
    names = ("seed (", "output_dir", "resume", "generator")
    assert not [name for name in names if name in str(error)]


def test_one_seed_twice_and_no_run_at_all_are_refused():
    with pytest.raises(ValueError, match="different seeds, but got 3, 3"):
        summarise({"a": invent(3), "b": invent(3)})
    with pytest.raises(ValueError, match="got none"):
        summarise({})
