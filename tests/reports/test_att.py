"""The report of the attack-defence game: its words, tables, page, progress, and several seeds."""

import copy
import io
import json
from html.parser import HTMLParser

import pytest
from rich.console import Console

from dialeval.reports.att import (
    GameProgress,
    att_summary_table,
    att_table,
    held_out_table,
    write_att_report,
    write_att_summary,
)
from dialeval.reports.att_rows import compared, curve, setting, verdict
from dialeval.reports.att_summary import summarise

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


def row(metric: str, system: str, evaluator: str, value: float | None) -> dict:
    details = {} if value is None else {"probability": value - 0.1, "hvm": value - 0.02}
    if "worst" in system and value is not None:
        details |= {"attacker": "GAN turn 3", "pool": 25}
    ends = (None, None) if value is None else (round(value - 0.04, 4), round(value + 0.03, 4))
    names = {"metric": metric, "system": system, "evaluator": evaluator, "value": value}
    return {**names, "low": ends[0], "high": ends[1], "n": 300, "signature": "", "details": details}


def record(turn: int, accuracy: float, low: float) -> dict:
    pairwise = {"0": 0.9, str(turn): accuracy, "x": low}
    measured = {t: {"pairwise": v, "probability": v - 0.1, "hvm": v} for t, v in pairwise.items()}
    fooled = accuracy < 0.5
    return {
        "turn": turn, "attack_steps": 100 if fooled else 3000, "accuracy": accuracy,
        "stopped": "fooled" if fooled else "budget", "probability": accuracy - 0.1,
        "hvm": accuracy, "low": low, "high": 0.9, "watched": low, "measured": measured,
        "most_frequent": {"response": "i don't know .", "share": 0.6 if turn == 2 else 0.2},
        "empty": 0.01 * turn, "unfinished": 0.125, "defence_steps": 200, "defended": 0.725,
    }  # fmt: skip


def invent(seed: int = 0, shift: float = 0.0, turns: int = 6) -> dict:
    """What a study writes; `shift` is added to every number of ATT."""
    more = {"ATT": shift}

    def rows(metric, values):
        return [
            row(metric, name, each, value if value is None else value + more.get(each, 0))
            for name, own in values.items()
            for each, value in zip(DEFENDERS, own, strict=True)
        ]

    games = {
        "ATT": [
            record(t, 0.45 + 0.05 * t + shift, 0.4 + 0.05 * t + shift) for t in range(1, turns + 1)
        ],
        "GAN": [record(t, 0.48, 0.3) for t in range(1, turns)],
        "ND": [record(t, 0.4, 0.35) for t in range(1, turns + 1)],
    }
    scores = {name: 0.5 + 0.05 * place for place, name in enumerate(DEFENDERS)}
    low, high = (dict.fromkeys(DEFENDERS, score) for score in (0.1, 0.625))
    replies = [
        {"attacker": "Parrot", "response": "why does it rain ?", "scores": low},
        {"attacker": "ATT turn 3", "response": "", "scores": high},
    ]
    pool = {
        f"{game} turn {t}": {name: 2 * each - 0.75 + 0.02 * t for name, each in scores.items()}
        for game in ("ATT", "GAN")
        for t in range(1, turns)
    }
    return {
        "results": rows("pairwise_accuracy", VALUES) + rows("held_out_accuracy", FRESH),
        "defenders": DEFENDERS, "attackers": list(VALUES), "games": games,
        "pool": {**pool, "attack on SL": dict.fromkeys(DEFENDERS, 0.77)},
        "examples": [{"context": ["why does it rain ?", "tell me"], "human": "clouds are full .",
                      "human_scores": scores, "responses": replies}],
        "components": {"generator": {"perplexity": 41.52431}, "HvR": {"test": {"right": 0.8125}}},
        "memory": {"peak_mib": 912, "parameters": 3100000, "trainable": 3100000},
        "minutes": {"generator": 2.1, "ATT": 4.0},
        "warnings": ["ND, turn 2: the attacker collapsed."],
        "settings": {"seed": seed, "c_low": 0.5, "c_high": 0.7, "max_validated": 12,
                     "generator": f"runs/{seed}/generator", "data": ["chitchat"]},
        "versions": {"dialeval": "0.1.0"}, "signature": f"att|seed:{seed}|v:0.1.0",
    }  # fmt: skip


def save(folder, told: dict):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(told))
    return folder


class Page(HTMLParser):
    """What a browser would find: tags that close, their attributes, and the text."""

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
        return [value for each, value in self.attributes if each == name]


@pytest.fixture
def told() -> dict:
    return copy.deepcopy(invent())


def shown(table, width: int = 110) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()


def test_the_verdict_names_the_best_with_its_interval_and_says_whom_att_is_above(told):
    first, second, third, fourth = verdict(told)
    assert first == (
        "Before the worst of 25 attackers from one pool, ATT is right most often: in .660 of all "
        "pairs (95 % interval .620–.690)."
    )
    assert second == (
        "ATT (.660) is above every other defender: it is above SL (.310), GAN (.410) and ND (.350) "
        "with intervals that lie apart; above SL+HvR (.640), but the intervals do not lie apart."
    )
    assert "trained afresh" in third and "ATT is right most often: in .520" in third
    assert fourth == (
        "ATT (.520) is above every other defender: it is above SL (.180), SL+HvR (.410), GAN "
        "(.380) and ND (.290) with intervals that lie apart."
    )


def test_the_verdict_says_when_att_does_not_win(told):
    for each in told["results"]:
        if each["evaluator"] == "ATT" and each["system"] == "Adversarial G, worst":
            each |= {"value": 0.41, "low": 0.39, "high": 0.45}
    first, second, *_, last = verdict(told)
    assert "SL+HvR is right most often: in .640" in first
    assert second == (
        "ATT (.410) is not above all the others: it is above SL (.310) and ND (.350) with "
        "intervals that lie apart; level with GAN (.410); below SL+HvR (.640) with intervals that "
        "lie apart."
    )
    assert last.startswith("The two disagree: SL+HvR leads on the pool, ATT on fresh attackers.")


def test_a_tie_with_the_leader_is_no_disagreement(told):
    for each in told["results"]:
        if each["evaluator"] == "SL+HvR" and each["metric"] == "held_out_accuracy":
            each["value"] = 0.52  # as ATT's
    assert not any("disagree" in each for each in verdict(told))


def test_intervals_that_are_not_known_do_not_lie_apart():
    cells = {"ATT": {"value": 0.9, "low": None, "high": None}, "SL": {"value": 0.1, "low": 0.0}}
    assert compared(cells).endswith("above SL (.100), but the intervals do not lie apart.")
    assert compared({"ATT": {"value": 0.9}}) == compared({"SL": {"value": 0.9}}) == ""


def test_without_a_pool_the_verdict_says_that_no_worst_case_is_known():
    assert verdict({"results": [], "defenders": []}) == [
        "No pool of attackers was scored in this run, so no worst case is known."
    ]


def test_the_curve_takes_its_range_from_0_1_accuracies(told):
    point = curve([record(1, 0.5, 0.45)])[0]
    assert point == {"turn": 1, "value": 0.5, "low": 0.45, "high": 0.9}
    other = {**record(1, 0.5, 0.45), "low": 0.1, "high": 0.2}  # of the probability
    assert curve([other])[0] == point
    assert curve([{"turn": 2, "accuracy": 0.5, "low": 0.3, "high": 0.6}])[0]["low"] == 0.3
    assert curve([{"turn": 2, "accuracy": None}]) == []


def test_a_setting_is_found_among_others():
    assert setting({"settings": {"a": 1, "game": {"c_high": 0.7}}}, "c_high") == 0.7
    assert setting({}, "c_high") is None


def test_the_terminal_shows_attackers_by_defenders_in_the_order_of_the_paper(told):
    told["results"].reverse()
    lines = [line.strip() for line in shown(att_table(told)).splitlines()]
    heads = lines[1].split()
    assert heads == ["attacker", *DEFENDERS]
    firsts = [line for line in lines if line.startswith(tuple(VALUES))]
    assert [line.split("  ")[0].strip() for line in firsts] == list(VALUES)
    assert firsts[0].split()[1:] == [".970", ".960", ".820", ".550", ".965"]
    assert firsts[4].split("worst")[1].split() == ["–", "–", ".580", ".370", ".710"]
    assert ".930–1.000" in lines[lines.index(firsts[0]) + 1]
    assert "att|seed:0|v:0.1.0" in shown(att_table(told)) and "is above every" in "".join(lines)


def test_the_best_of_a_row_is_bold(told):
    table = att_table(told)
    styles = [column._cells[0].style for column in table.columns[1:]]
    assert styles == ["bold", "", "", "", ""]  # Parrot, .97 of SL


def test_held_out_has_the_lowest_and_the_mean_of_each_defender(told):
    lines = [line.strip() for line in shown(held_out_table(told)).splitlines()]
    lowest, mean = (
        next(line for line in lines if line.startswith(each)) for each in ("low", "mean")
    )
    assert lowest.split()[1:] == [".180", ".410", ".380", ".290", ".520"]
    assert mean.split()[1:] == [".200", ".430", ".410", ".310", ".565"]


def test_a_name_cannot_reach_the_terminal_as_markup_or_control(told):
    told["results"] = [{**each, "system": "[red]x[/] \x1b[31m"} for each in told["results"]]
    text = shown(att_table(told), 200) + shown(held_out_table(told), 200)
    assert text.count("[red]x[/] \ufffd[31m") == 2 and "\x1b" not in text


def test_the_page_has_every_part_in_order(told, tmp_path):
    page = Page(write_att_report(save(tmp_path, told)))
    order = ["summary", "figure-2", "table-2", "held-out", "pool", "attackers", "table-1",
             "components", "warnings", "settings", "signature"]  # fmt: skip
    ids = page.values("id")
    assert [each for each in ids if each in order] == order and len(ids) == len(set(ids))
    assert {link[1:] for link in page.values("href")} <= set(ids)
    assert page.values("role").count("img") == 1 + 3 + 3
    assert page.tags.count("caption") == page.tags.count("table")
    for text in ("ATT (.660) is above every other defender", ".970", "HvM .950 · P .870",
                 "by GAN turn 3", "clouds are full .", "(an empty reply)", "41.52", "test right",
                 "3,100,000", "6.1", "the attacker collapsed.", "att|seed:0|v:0.1.0", "fooled in 5",
                 "c_high .7", "attack on SL"):  # fmt: skip
        assert text in page.text, text


def test_a_darker_cell_is_a_better_defender_and_a_missing_one_has_no_shade(told, tmp_path):
    page = Page(write_att_report(save(tmp_path, told)))
    shades = [float(each.split()[1].rstrip("%")) for each in page.values("style")]
    known = [value for own in VALUES.values() for value in own if value is not None]
    pairs = sorted(zip(known, shades[: len(known)], strict=True))
    assert [shade for _, shade in pairs] == sorted(shade for _, shade in pairs)
    assert pairs[0][1] < pairs[-1][1]
    assert page.values("title").count("not measured") == 30 - len(known)


def test_scores_above_the_humans_are_marked_as_fooled(told, tmp_path):
    told["games"] = {}
    page = Page(write_att_report(save(tmp_path, told)))
    assert page.values("class").count("fooled") == 3  # .625 beats .5, .55, .6, not .65 and .7


def test_the_lowest_of_the_pool_is_marked_once_for_each_defender(tmp_path):
    pool = {"ATT turn 1": {"SL": 0.5, "ATT": 0.6}, "ND turn 12": {"SL": 0.4, "ATT": 0.7}}
    told = {"results": [], "defenders": ["SL", "ATT"], "pool": pool}
    html = write_att_report(save(tmp_path, told)).read_text()
    assert "<b>.40</b>" in html and "<b>.60</b>" in html
    assert "<b>.50</b>" not in html and "<b>.70</b>" not in html
    assert '<th scope="col">12</th>' in html


def test_the_page_is_self_contained(told, tmp_path):
    page = Page(write_att_report(save(tmp_path, told)))
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert all(link.startswith("#") for link in page.values("href"))
    source = json.dumps(page.attributes) + page.text
    assert "http://" not in source and "https://" not in source and "url(" not in source
    assert "default-src 'none'; style-src 'unsafe-inline'" in page.values("content")


def test_nothing_that_a_user_or_model_wrote_becomes_markup(told, tmp_path):
    def nasty(value):
        if isinstance(value, dict):
            return {key: nasty(each) for key, each in value.items()}
        if isinstance(value, list):
            return [nasty(each) for each in value]
        return NASTY if isinstance(value, str) else value

    told = nasty(told) | {"settings": {NASTY: NASTY}, "pool": {NASTY: {NASTY: 0.5}}}
    told["games"] = {NASTY: nasty(told["games"]["ATT"])}
    told["components"] = {NASTY: {NASTY: NASTY}}
    for each in told["results"]:
        each["metric"] = "pairwise_accuracy"
    folder = save(tmp_path / "run", told)
    for path in (write_att_report(folder), write_att_summary([folder], tmp_path / "all")):
        page = Page(path)
        assert "script" not in page.tags and "\x1b" not in page.text
        assert not [name for name, _ in page.attributes if name.startswith("on")]
        assert "<script>alert(1)</script>" in page.text


KEYS = ("attackers", "games", "pool", "examples", "components", "memory", "minutes", "warnings",
        "settings", "versions", "signature")  # fmt: skip


@pytest.mark.parametrize("missing", [*([each] for each in KEYS), KEYS])
def test_a_page_leaves_out_what_is_missing(told, tmp_path, missing):
    for name in missing:
        del told[name]
    page = Page(write_att_report(save(tmp_path, told)))
    ids = page.values("id")
    assert ("figure-2" in ids, "attackers" in ids) == ("games" not in missing,) * 2
    assert ("pool" in ids, "table-1" in ids) == ("pool" not in missing, "examples" not in missing)
    assert {link[1:] for link in page.values("href")} <= set(ids)
    assert ".970" in page.text


def test_a_page_without_any_result_says_so(tmp_path):
    page = Page(write_att_report(save(tmp_path, {"results": [], "defenders": ["SL"]})))
    assert "There are no results." in page.text and "held-out" not in page.values("id")


def test_a_folder_without_results_is_refused_with_the_remedy(tmp_path):
    with pytest.raises(ValueError, match="found no file. Run `accelerate launch recipes/att.py`"):
        write_att_report(tmp_path)


def progress(*steps: dict, terminal: bool = False) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100, color_system=None)
    with GameProgress(console) as on_progress:
        for each in steps:
            on_progress(each)
        if terminal:
            on_progress.progress.refresh()
    return console.file.getvalue()


STEP = {"game": "ATT", "turn": 3, "phase": "attack", "step": 20, "total": 100, "loss": 0.5,
        "reward": 0.25, "max_turns": 40}  # fmt: skip


def test_each_attack_and_defence_leaves_one_plain_line():
    done = {"game": "ATT", "turn": 3, "phase": "attacked", "step": 100, "total": 1, "max_turns": 40,
            "record": record(3, 0.44, 0.4)}  # fmt: skip
    held = {**done, "turn": 4, "phase": "defended"}
    given_up = {**done, "record": {**record(3, 0.6, 0.55), "most_frequent": {"share": 0.75}}}
    text = progress(STEP, done, held, given_up, {**held, "record": {"defence_steps": 0}})
    assert text.splitlines() == [
        "ATT, turn 3 of 40: attack fooled the defender in 100 steps; accuracy .440, .400–.900 over "
        "3 sets",
        "ATT, turn 3 of 40: defence of 200 steps; lowest accuracy .725",
        "ATT, turn 3 of 40: attack gave up after 3000 steps; accuracy .600, .550–.900 over 3 sets; "
        "collapsed: .750 of its replies are the same",
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
        on_progress({**STEP, "phase": "attacked", "record": record(3, 0.44, 0.4)})
    assert capsys.readouterr() == ("", "")


def test_several_seeds_become_mean_and_range(tmp_path):
    runs = (invent(0), invent(1, 0.03, turns=4), invent(2, -0.12))
    folders = [save(tmp_path / str(each["settings"]["seed"]), each) for each in runs]
    page = write_att_summary(folders, tmp_path / "all")
    summary = json.loads((tmp_path / "all" / "summary.json").read_text())
    worst = summary["table"]["Adversarial G, worst"]
    assert worst["ATT"] == pytest.approx({"mean": 0.63, "low": 0.54, "high": 0.69, "n": 3})
    assert worst["SL"] == pytest.approx({"mean": 0.31, "low": 0.31, "high": 0.31, "n": 3})
    assert "SL" not in summary["table"]["Adversarial G, own worst"]
    fresh = summary["held_out"]["lowest of the fresh attackers"]["ATT"]
    assert fresh == pytest.approx({"mean": 0.49, "low": 0.4, "high": 0.55, "n": 3})
    curve_of = {each["turn"]: each for each in summary["curves"]["ATT"]}
    assert (curve_of[4]["n"], curve_of[5]["n"]) == (3, 2)
    assert curve_of[1]["mean"] == pytest.approx(0.47) and curve_of[1]["low"] == pytest.approx(0.38)
    assert curve_of[1]["lowest"]["mean"] == pytest.approx(0.42)
    assert summary["verdict"][:2] == [
        "Before the worst attacker of the pool, SL+HvR is right most often over 3 runs: in .640 "
        "[.640–.640] of all pairs.",
        "ATT (.630 [.540–.690]) is above SL (.310 [.310–.310]) in 3 of 3, SL+HvR (.640 "
        "[.640–.640]) in 2 of 3, GAN (.410 [.410–.410]) in 3 of 3 and ND (.350 [.350–.350]) in 3 "
        "of 3 runs.",
    ]
    text = Page(page).text
    assert ".540–.690" in text and "seeds 0, 1, 2" in text and "in 2 of 3, GAN" in text
    table = shown(att_summary_table(summary), 120)
    assert ".540–.690" in table and "lowest of the fresh attackers" in table


def test_one_run_is_a_summary_too_and_parts_may_be_missing(tmp_path):
    told = {"results": invent()["results"][:5], "defenders": DEFENDERS}
    summary = summarise({"a": told})
    assert summary["curves"] == summary["held_out"] == {} and summary["verdict"] == []
    page = write_att_summary([save(tmp_path / "a", told)], tmp_path)
    assert "No worst case was measured in these runs." in Page(page).text
    assert "figure-2" not in Page(page).values("id")


def test_runs_of_other_settings_are_refused_by_name():
    other = invent(1)
    other["settings"] |= {"c_high": 0.8, "output_dir": "b", "resume": True, "lora": 8}
    with pytest.raises(ValueError, match=r"b: .* of a, .* c_high \(0.7, here 0.8\), lora \(None"):
        summarise({"a": invent(0), "b": other})
    with pytest.raises(ValueError, match="differ") as found:
        summarise({"a": invent(0), "b": other})
    assert not [
        name for name in ("seed (", "output_dir", "resume", "generator") if name in str(found)
    ]


def test_one_seed_twice_and_no_run_at_all_are_refused():
    with pytest.raises(ValueError, match="different seeds, found 3, 3"):
        summarise({"a": invent(3), "b": invent(3)})
    with pytest.raises(ValueError, match="found none"):
        summarise({})
