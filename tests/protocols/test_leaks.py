"""The leak check: planted leaks are found and named, and nothing else is."""

import io
import json
import math
import random
import re

import numpy as np
import pytest
from rich.console import Console

from dialeval._version import __version__
from dialeval.dialogues import (
    BadInput,
    Pairing,
    Passage,
    Turn,
    by_author,
    count_tokens,
    to_passages,
)
from dialeval.dialogues.normaliser import Normaliser, normalise_passages
from dialeval.dialogues.splits import position
from dialeval.dialogues.traits import CONTENT_TRAITS, FORMAT_TRAITS
from dialeval.protocols.leaks import find_leaks, normaliser_for
from dialeval.protocols.leaks.features import _scores
from dialeval.protocols.leaks.rows import Rows
from dialeval.reports.leaks import leak_tables, verdict

WORDS = (
    "we", "you", "saw", "came", "tea", "home", "late", "rain", "often", "never", "walk", "read",
    "green", "river", "music", "train", "seven", "friend", "garden", "maybe", "don't", "it's",
)  # fmt: skip
TESTS = len(FORMAT_TRAITS) + len(CONTENT_TRAITS) + 7


def sentence(rng: random.Random) -> str:
    """Like any other: small letters, 4 to 14 words, a comma, an end."""
    words = rng.choices(WORDS, k=rng.randint(4, 14))
    words[rng.randrange(len(words) - 1)] += ","
    return " ".join(words) + rng.choice(".?!")


def sentences(n: int = 240, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    return [sentence(rng) for _ in range(n)]


def side(texts, author: str, prefix: str = "q", per_dialogue: int = 1, context: bool = False):
    return to_passages(
        Passage(
            context=(Turn("A", f"question {number // 2}"),) if context else (),
            response=text,
            author=author,
            id=f"{prefix}{number}",
            dialogue_id=f"d{number // per_dialogue}",
        )
        for number, text in enumerate(texts)
    )


def compare(human, system, seed: int = 0, **options):
    return find_leaks(side(human, "human", **options), side(system, "bot", **options), seed)


def named(report, name: str):
    return next(leak for leak in (*report.format, *report.content) if leak.name == name)


def significant(leaks) -> set[str]:
    return {leak.name for leak in leaks if leak.significant}


def in_the_middle(piece: str):
    def plant(text: str) -> str:
        words = text.split()
        return " ".join([*words[:2], piece, *words[2:]])

    return plant


def cut_off(text: str) -> str:
    return " ".join(text.split()[:8])


def broken_off(text: str) -> str:
    """Stop long sentences at one of several lengths, always after an article."""
    words = text.split()
    return " ".join([*words[: 7 + len(words) % 3], "the"]) if len(words) > 9 else text


# What is planted in the system's responses, the traits that must show it, and part of the rule.
PLANTS = {
    "capitals": (
        str.upper,
        {"upper-case letters", "capital at the start"},
        "system if it starts with a capital",
    ),
    "initial": (
        str.capitalize,
        {"upper-case letters", "capital at the start"},
        "system if it starts with a capital",
    ),
    "spacing": (
        lambda text: re.sub(r"([,.?!])", r" \1", text),
        {"space before punctuation"},
        "system if there is a space before punctuation",
    ),
    "contractions": (
        lambda text: text.replace("don't", "do n't").replace("it's", "it 's"),
        {"split contractions"},
        "system if a contraction is split",
    ),
    "start": ("<s> {}".format, {"start marker"}, "system if it starts with <s>"),
    "end": ("{} [SEP]".format, {"end marker"}, "system if it ends with [SEP]"),
    "end of utterance": ("{} __eou__".format, {"end marker"}, "system if it ends with __eou__"),
    "glued": ("{}<|endoftext|>".format, {"end marker"}, "system if it ends with <|endoftext|>"),
    "unknown start": ("Bot: {}".format, {"start marker"}, "system if it starts with Bot:"),
    "unknown end": ("{} STOP".format, {"end marker"}, "system if it ends with STOP"),
    "unknown word": (
        in_the_middle("<unk>"),
        {"marker inside"},
        "system if it contains a marker such as <unk>",
    ),
    "no end": (lambda text: text[:-1], {"no final punctuation"}, "system if it ends without"),
    "cut off": (
        cut_off,
        {"maximal length", "no final punctuation"},
        "system if it breaks off at 8 words",
    ),
    "broken off": (
        broken_off,
        {"unfinished sentence", "no final punctuation"},
        "system if it breaks off after a word",
    ),
    "curly": (lambda text: text.replace("'", "\u2019"), {"typography"}, "system if it has curly"),
    "mojibake": (
        in_the_middle("cafÃ©"),
        {"broken encoding"},
        "system if it has UTF-8 read as another",
    ),
    "entity": (in_the_middle("&amp;"), {"HTML entities"}, "system if it has HTML entities"),
    "control": (in_the_middle("\x07x"), {"control characters"}, "system if it has control"),
    "outer space": (
        "{} ".format,
        {"outer white space"},
        "system if it starts or ends with white space",
    ),
    "inner space": (
        lambda text: text.replace(" ", "  ", 1),
        {"inner white space"},
        "system if it has double spaces",
    ),
    "no-break": (
        lambda text: text.replace(" ", "\u00a0", 1),
        {"inner white space"},
        "system if it has double spaces",
    ),
}


@pytest.mark.parametrize("per_dialogue", [1, 4])
def test_a_rule_that_is_always_right_is_not_certain_to_be(per_dialogue):
    texts = sentences(240)
    leak = named(
        compare(texts, [text.upper() for text in texts], per_dialogue=per_dialogue),
        "upper-case letters",
    )
    dialogues = 240 // per_dialogue / 2  # about half of them are tested
    assert (leak.accuracy, leak.high) == (1.0, 1.0)
    assert leak.low == pytest.approx(dialogues / (dialogues + 1.96**2), abs=0.02)


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("swapped", [False, True], ids=["system", "human"])
def test_a_planted_format_leak_is_found_named_and_fixed(plant, swapped):
    change, expected, rule = PLANTS[plant]
    plain, planted = sentences(seed=1), [change(text) for text in sentences(seed=2)]
    human, system = (planted, plain) if swapped else (plain, planted)
    report = compare(human, system)
    assert significant(report.format) == expected
    assert all(leak.accuracy > 0.7 and leak.low > 0.5 for leak in report.format if leak.significant)
    if swapped:
        rule = rule.replace("system if", "human if")
    assert any(rule in leak.rule for leak in report.format if leak.significant)
    hint = normaliser_for(report)
    sides = [normalise_passages(side(texts, "x"), hint) for texts in (human, system)]
    assert significant(find_leaks(*sides).format) == set()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            lambda text: " ".join(text.split()[:4]) + ".",
            {"length in tokens", "length in characters"},
        ),
        (lambda text: "i don't know.", {"repeated response", "vocabulary", "first word"}),
        (lambda text: f"maybe {text}", {"first word", "vocabulary"}),
        (lambda text: f"{text[:-1]} often.", {"last word", "vocabulary"}),
        (in_the_middle("\U0001f600"), {"foreign characters"}),
    ],
)
def test_a_planted_content_leak_is_found_and_is_not_called_format(change, expected):
    report = compare(sentences(seed=1), [change(text) for text in sentences(seed=2)])
    assert expected <= significant(report.content)
    assert significant(report.format) == set()


def test_silence_is_called_silence_and_not_repetition():
    report = compare(sentences(seed=1), [""] * 240)
    assert named(report, "empty response").accuracy == 1.0
    assert "repeated response" not in significant(report.content)
    assert significant(report.format) == set()


def test_two_sides_alike_show_nothing():
    report = compare(sentences(seed=1), sentences(seed=2))
    assert significant((*report.format, *report.content)) == set()


def test_false_alarms_are_rare():
    alarms = 0
    for number in range(25):
        report = compare(sentences(160, 2 * number), sentences(160, 2 * number + 1), seed=number)
        alarms += bool(significant((*report.format, *report.content)))
    assert alarms <= 3  # one in 20 would be 1.25; more than 3 has a chance of 3 %


def test_identical_files_are_at_chance_in_everything():
    texts = sentences()
    report = compare(texts, texts)
    for leak in (*report.format, *report.content):
        assert leak.accuracy == 0.5 and leak.low < 0.5 < leak.high
        assert (leak.p_value, leak.p_holm) == (1.0, 1.0)
        assert leak.human == leak.system and not leak.significant


def test_the_p_value_of_a_one_sided_trait_is_a_coin_for_each_pair_that_has_it():
    texts = sentences(seed=2)
    report = compare(
        sentences(seed=1), [f"<s> {t}" if i % 9 == 0 else t for i, t in enumerate(texts)]
    )
    leak = named(report, "start marker")
    having = round(leak.system * report.test_dialogues)
    assert having > 8 and leak.human == 0
    assert leak.p_value == pytest.approx(0.5**having)
    assert leak.accuracy == pytest.approx(0.5 + leak.system / 2)
    assert leak.p_holm == pytest.approx(leak.p_value * TESTS)
    assert leak.low < leak.accuracy < leak.high < leak.low + 0.2


def test_the_dialogue_is_the_unit_of_the_test():
    texts = sentences(1_200, seed=2)
    planted = [f"&amp; {t}" if i // 20 % 8 == 0 else t for i, t in enumerate(texts)]
    report = compare(sentences(1_200, seed=1), planted, per_dialogue=20)
    leak = named(report, "HTML entities")
    dialogues = round(leak.system * report.test_dialogues)  # complete or not at all
    assert report.train_dialogues + report.test_dialogues == 60
    assert 1 <= dialogues <= 8
    assert leak.p_value == pytest.approx(0.5**dialogues)


def test_half_of_the_dialogues_are_held_out_and_the_seed_moves_them():
    human, system = sentences(1_000, 1), sentences(1_000, 2)
    reports = [compare(human, system, seed=seed) for seed in (0, 0, 1)]
    assert reports[0] == reports[1]
    means = [[leak.human for leak in report.content] for report in reports]
    assert means[0] == means[1] != means[2]
    assert all(abs(report.test_dialogues - 500) < 80 for report in reports)


def test_a_part_made_by_data_split_with_the_same_seed_still_has_two_halves():
    part = [f"d{number}" for number in range(500) if position(f"d{number}", seed=0) < 0.5]
    sides = [
        to_passages(
            Passage((), text, id=name, dialogue_id=name)
            for name, text in zip(part, sentences(len(part), seed), strict=True)
        )
        for seed in (1, 2)
    ]
    report = find_leaks(*sides, seed=0)
    assert min(report.train_dialogues, report.test_dialogues) > len(part) / 3


def test_the_order_of_the_files_does_not_matter():
    human, system = side(sentences(seed=1), "human"), side(map(str.upper, sentences(seed=2)), "bot")
    shuffled = find_leaks(human, system.shuffle(seed=3)), find_leaks(human.shuffle(seed=4), system)
    for report in shuffled:
        for one, other in zip(find_leaks(human, system).format, report.format, strict=True):
            assert (one.accuracy, one.p_value, one.rule) == (
                other.accuracy,
                other.p_value,
                other.rule,
            )


def test_a_rule_can_say_between():
    rng = random.Random(0)
    human = [" ".join(rng.choices(WORDS, k=rng.choice([3, 4, 14, 15]))) for _ in range(240)]
    system = [" ".join(rng.choices(WORDS, k=rng.choice([8, 9]))) for _ in range(240)]
    leak = named(compare(human, system), "length in tokens")
    assert leak.rule == "system if 7 to 11 tokens"
    assert leak.accuracy == 1.0
    leak = named(compare(system, human), "length in tokens")
    assert leak.rule == "system if at most 6 tokens or more than 11 tokens"


def test_examples_are_caught_by_the_rule():
    human, system = sentences(seed=1), sentences(seed=2)
    planted = [f"<s> {t}" if i % 9 == 8 else t for i, t in enumerate(system)]
    leak = named(compare(human, planted), "start marker")
    assert leak.system_example.startswith("<s> ") and leak.system_example in planted
    assert leak.human_example in human
    swapped = named(compare(planted, human), "start marker")
    assert swapped.human_example == leak.system_example
    constant = named(compare(human, planted), "HTML entities")
    assert (constant.human_example, constant.system_example) == (None, None)
    assert constant.rule == "same on both sides"


def test_alpha_is_what_the_adjusted_p_value_is_held_against():
    human = side(sentences(seed=1), "human")
    system = side([f"<s> {t}" if i % 9 == 0 else t for i, t in enumerate(sentences(seed=2))], "bot")
    p = named(find_leaks(human, system), "start marker").p_holm
    assert 0 < p < 0.05
    assert named(find_leaks(human, system, alpha=p * 1.01), "start marker").significant
    assert not named(find_leaks(human, system, alpha=p * 0.99), "start marker").significant


def test_a_response_is_not_a_repeat_of_itself():
    triples = [text for text in sentences(80, 2) for _ in range(3)]
    leak = named(compare(sentences(seed=1), triples), "repeated response")
    assert leak.rule == "system if more than 0 other training responses with the same words"
    assert leak.human == 0 and leak.significant


def test_words_are_scored_with_other_dialogues():
    rows = Rows(
        human=np.arange(4),
        system=np.arange(4),
        paired=True,
        is_human=np.repeat([True, False], 4),
        dialogue=np.tile(np.arange(4, dtype=np.uint64), 2),
        train=np.tile([True, True, False, False], 2),
        fold=np.tile([True, False, True, False], 2),
    )
    alone = np.arange(8)  # each response has a unique word
    assert _scores(alone, alone, rows).tolist() == [0] * 8
    shared = np.array([1, 1, 1, 2, 2, 2, 1, 2])  # the human word 1, and the system's word 2
    assert np.sign(_scores(shared, alone, rows)).tolist() == [1, 1, 1, -1, -1, -1, 1, -1]


def test_unequal_samples_have_an_equal_say():
    human = [f"<s> {t}" if i % 10 < 3 else t for i, t in enumerate(sentences(800, 1))]
    system = [f"<s> {t}" if i % 10 < 7 else t for i, t in enumerate(sentences(160, 2))]
    report = find_leaks(side(human, "human", "h"), side(system, "bot", "s"))
    leak = named(report, "start marker")
    assert leak.rule == "system if it starts with <s>" and leak.significant
    assert 0.6 < leak.accuracy < 0.8


def test_traits_that_both_sides_have_are_no_leak_however_often_they_show():
    # All is spaced on both sides; but the system uses twice as many contractions and commas.
    def spaced(text):
        return re.sub(r"([,.?!])", r" \1", text.replace("don't", "do n't").replace("it's", "it 's"))

    human = [spaced(text.replace("don't", "not").replace(",", "")) for text in sentences(seed=1)]
    report = compare(human, [spaced(text) for text in sentences(seed=2)])
    assert significant(report.format) == set()


def test_canned_answers_are_not_taken_for_markers():
    report = compare(sentences(seed=1), ["i have no idea"] * 240)
    assert report.markers == ()
    opening = compare(sentences(seed=1), [f"never {text}" for text in sentences(seed=2)])
    assert opening.markers == ()  # the human side uses the word as well


def test_the_remedy_cuts_only_where_one_side_was_cut_off():
    human, system = ([t.replace(",", "") for t in sentences(seed=seed)] for seed in (1, 2))
    assert normaliser_for(compare(human, system)) == Normaliser()
    assert normaliser_for(compare(human, [f"{text} STOP" for text in system])).markers == ("STOP",)
    hint = normaliser_for(compare(human, [cut_off(text) for text in system]))
    assert hint.max_tokens == 7  # the last of 8 may be a piece of a word
    both = [normalise_passages(side(texts, "x"), hint) for texts in (human, map(cut_off, system))]
    longest = [max(map(count_tokens, side["response"])) for side in both]
    assert longest == [hint.max_tokens] * 2


def test_short_answers_are_not_cut_off():
    rng = random.Random(0)
    terse = compare(sentences(seed=1), [" ".join(rng.sample(WORDS, 3)) for _ in range(240)])
    assert not named(terse, "maximal length").significant
    assert terse.max_tokens is None
    whole = compare(sentences(seed=1), [cut_off(text) + "." for text in sentences(seed=2)])
    assert not named(whole, "maximal length").significant


def test_pairs_are_made_by_id_and_the_rest_left_out():
    human, system = side(sentences(300, 1), "human"), side(sentences(240, 2), "bot")
    report = find_leaks(human, system)
    assert report.paired and (report.human, report.system) == (240, 240)
    assert (report.human_left_out, report.system_left_out) == (60, 0)
    assert report.signature == (
        f"leaks|pairs:240|test:{report.test_dialogues}|seed:0|holm:{TESTS}|v:{__version__}"
    )


def test_pairs_are_made_by_context_where_ids_differ():
    human = side(sentences(241, 1), "human", "h", context=True)  # each context occurs twice
    system = side(map(str.upper, sentences(240, 2)), "bot", "s", context=True)
    report = find_leaks(human, system)
    assert report.paired and report.human == 240 and report.human_left_out == 1
    assert "upper-case letters" in significant(report.format)


def test_the_k_th_answer_goes_with_the_k_th_answer():
    def answers(prefix, texts):
        context = (Turn("A", "and?"),)
        return to_passages(
            Passage(context, text, id=f"{prefix}{at}", dialogue_id=f"d{at}")
            for at, text in enumerate(texts)
        )

    texts = sentences()
    report = find_leaks(answers("h", texts), answers("s", texts))
    assert {leak.p_value for leak in (*report.format, *report.content)} == {1.0}
    moved = find_leaks(answers("h", texts), answers("s", texts[1:] + texts[:1]))
    assert any(leak.p_value < 1.0 for leak in moved.content)


def test_what_does_not_pair_is_compared_as_two_samples():
    human = side(sentences(300, 1), "human", "h")
    system = side(
        [f"<s> {t}" if i % 4 == 0 else t for i, t in enumerate(sentences(250, 2))], "b", "s"
    )
    report = find_leaks(human, system)
    assert not report.paired and (report.human, report.system) == (300, 250)
    assert (report.human_left_out, report.system_left_out) == (0, 0)
    assert report.train_dialogues + report.test_dialogues == 550
    assert significant((*report.format, *report.content)) == {"start marker"}
    leak = named(report, "start marker")
    assert leak.accuracy == pytest.approx(0.5 + leak.system / 2)
    assert report.signature.startswith("leaks|unpaired:300+250|test:")
    alike = find_leaks(human, side(sentences(250, 3), "bot", "s"))
    assert significant((*alike.format, *alike.content)) == set()


def test_unpaired_dialogues_of_several_passages_are_units():
    human = side(sentences(600, 1), "human", "h", per_dialogue=5)
    system = side(map(str.upper, sentences(600, 2)), "bot", "s", per_dialogue=5)
    report = find_leaks(human, system)
    assert not report.paired and report.train_dialogues + report.test_dialogues == 240
    assert significant(report.format) == {"upper-case letters", "capital at the start"}


def test_passages_without_dialogue_ids_stand_for_themselves():
    def bare(texts, author):
        return to_passages(Passage((), text, author, id=f"q{at}") for at, text in enumerate(texts))

    report = find_leaks(bare(sentences(seed=1), "human"), bare(sentences(seed=2), "bot"))
    assert report.train_dialogues + report.test_dialogues == 240


def test_too_few_dialogues_say_what_to_do():
    with pytest.raises(
        BadInput, match=r"20 dialogues for training and 20 for the test.*got \d+ and \d+"
    ) as bad:
        compare(sentences(30, 1), sentences(30, 2))
    assert "Give more dialogues" in bad.value.hint
    with pytest.raises(BadInput, match="got"):
        compare(sentences(400, 1), sentences(400, 2), per_dialogue=20)
    with pytest.raises(BadInput, match="got 0 and 0"):
        find_leaks(to_passages([]), side(sentences(), "bot"))


def test_a_report_is_json_without_nan():
    report = compare(sentences(seed=1), [""] * 240)
    loaded = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert loaded["signature"] == report.signature
    assert [leak["name"] for leak in loaded["format"]] == [leak.name for leak in report.format]
    assert loaded["format"][0]["human_example"] is None
    assert loaded["paired"] is True and loaded["alpha"] == 0.05
    assert not any(math.isnan(leak["accuracy"]) for leak in loaded["content"])


def rendered(report, width: int = 100) -> str:
    console = Console(record=True, width=width, force_terminal=True, file=io.StringIO())
    for part in leak_tables(report):
        console.print(part)
    return console.export_text(styles=True)


def test_the_table_names_leaks_in_red_and_says_what_to_do():
    human = [f"[red]{text}" for text in sentences(seed=1)]
    report = compare(human, [f"<s> {text}" for text in sentences(seed=2)])
    text = rendered(report)
    assert verdict(report) in text
    assert verdict(report).startswith(
        "1 format leak: the start marker alone gives an accuracy of 1.000"
    )
    assert verdict(report).endswith("Run again with --normalise.")
    assert re.search(r"\x1b\[1;31mstart marker\x1b", text)
    assert re.search(r"\x1b\[31m[^\n]*<\.001", text)
    assert not re.search(r"\x1b\[\d*;?31mHTML", text)
    assert "[red]" in text  # what users wrote is not markup
    assert "fix: remove markers from both sides" in text
    assert "Format, fixable" in text and "Content, reported" in text and report.signature in text


def test_the_verdict_tells_content_and_nothing_apart():
    human, system = sentences(seed=1), sentences(seed=2)
    assert verdict(compare(human, system)).startswith("No leak found")
    short = compare(human, [" ".join(text.split()[:4]) + "." for text in system])
    assert re.match(
        r"No format leak\. \d content leaks?: the .* alone gives an accuracy of \.?\d",
        verdict(short),
    )
    assert "--normalise" not in verdict(short)
    unpaired = find_leaks(side(human, "human", "h"), side(system, "bot", "s"))
    assert "unpaired because no id and no context is shared" in " ".join(rendered(unpaired).split())


# Real data.


def multirefeval(shared, name: str, author: str):
    mapping = json.loads((shared / "multirefeval" / "test_duid_mapping.json").read_text("utf-8"))
    keys = {line: key for key, line in mapping.items()}
    lines = (shared / "multirefeval" / name).read_text("utf-8").splitlines()
    return to_passages(
        Passage((), text, author, id=keys[at], dialogue_id=keys[at].split("_")[0])
        for at, text in enumerate(lines, 1)
    )


def dstc7(shared, author: str):
    path = shared / "dstc7" / "dstc7-task2-system_responses.tsv"
    rows = [line.split("\t") for line in path.read_text("utf-8-sig").splitlines()[1:]]
    return to_passages(
        Passage((), text, name, id=key, dialogue_id=key)
        for name, key, text in rows
        if name == author
    )


@pytest.mark.shared
def test_markers_of_multirefeval_are_found_and_go(shared):
    human = multirefeval(shared, "test.tgt", "human")
    system = multirefeval(shared, "hredf.txt", "hred")
    report = find_leaks(human, system)
    assert report.human == 6740 and report.train_dialogues + report.test_dialogues == 1000
    assert significant(report.format) == {"start marker", "end marker"}
    start, end = named(report, "start marker"), named(report, "end marker")
    assert start.rule == "human if it starts with _go" and start.accuracy > 0.995
    assert end.rule == "human if it ends with _eos" and end.accuracy > 0.995
    assert max(start.p_holm, end.p_holm) < 1e-6
    hint = normaliser_for(report)
    level = find_leaks(normalise_passages(human, hint), normalise_passages(system, hint))
    assert significant(level.format) == set()
    assert named(level, "start marker").accuracy == 0.5
    assert named(level, "vocabulary").accuracy > 0.8  # the words still differ


@pytest.mark.shared
def test_random_human_replies_of_dstc7_do_not_leak(shared):
    # Not for every seed: 28 % of the human and 22 % of the random replies end without final
    # punctuation (sign test over all 1,000 pairs: p = .001), which some splits bring to light.
    report = find_leaks(dstc7(shared, "Human"), dstc7(shared, "Random"))
    assert report.human == 1000
    assert significant((*report.format, *report.content)) == set()
    assert all(abs(leak.accuracy - 0.5) < 0.05 for leak in (*report.format, *report.content))


@pytest.mark.shared
def test_false_alarms_are_rare_when_sides_of_real_pairs_are_swapped_by_a_coin(shared):
    human, other = dstc7(shared, "Human"), dstc7(shared, "Random")
    texts = dict(zip(other["id"], other["response"], strict=True))
    pairs = [(text, texts[key]) for key, text in zip(human["id"], human["response"], strict=True)]
    alarms = 0
    for seed in range(12):
        rng = random.Random(seed)
        swapped = [rng.sample(pair, 2) for pair in pairs]
        report = compare(*zip(*swapped, strict=True), seed=seed)
        alarms += bool(significant((*report.format, *report.content)))
    assert alarms <= 2


@pytest.mark.shared
@pytest.mark.parametrize(("system", "least"), [("Baseline", 0.95), ("TeamB", 0.8), ("TeamG", 0.7)])
def test_systems_of_dstc7_leak_content(shared, system, least):
    report = find_leaks(dstc7(shared, "Human"), dstc7(shared, system))
    assert {"vocabulary", "length in characters"} <= significant(report.content)
    assert named(report, "vocabulary").accuracy > least


def test_replies_borrowed_across_the_halves_do_not_tell():
    """Each word belongs to one dialogue, so a borrowed reply is recognised wherever it was seen."""
    human = to_passages(
        Passage((Turn("A", f"question {n}"),), f"w{n} x{n} y{n}", id=f"{n}#{t}", dialogue_id=f"{n}")
        for n in range(400)
        for t in range(3)
    )
    pairs = Pairing("human_random")(human)
    report = find_leaks(by_author(pairs, "human"), by_author(pairs, "random"))
    assert not significant(report.format + report.content)
    assert report.system_left_out > 100
    careless = pairs.remove_columns("source_dialogue_id").add_column(
        "source_dialogue_id", [None] * len(pairs), feature=pairs.features["source_dialogue_id"]
    )
    report = find_leaks(by_author(careless, "human"), by_author(careless, "random"))
    assert "vocabulary" in significant(report.content)  # the trap is real
