"""What gives a system away: planted cues come first, and equal sides have none."""

import random
from dataclasses import replace

import pytest

from dialeval.dialogues import BadInput, Passage, Turn, to_passages
from dialeval.metrics.cue_results import Cue
from dialeval.protocols.evaluation.cue_marks import lexical_spans, marked, trait_spans
from dialeval.protocols.evaluation.cue_traits import COPIED, copied_share
from dialeval.protocols.evaluation.cues import closer_of, cues_of, find_cues, phrases_of
from dialeval.protocols.leaks import find_leaks

WORDS = [f"w{number}" for number in range(80)]


def people(n: int = 240, seed: int = 0) -> list[Passage]:
    rng = random.Random(seed)
    context = (Turn("A", "hello"),)
    return [
        Passage(context, f"{' '.join(rng.choices(WORDS, k=8))}.", id=f"p{n}", dialogue_id=f"d{n}")
        for n in range(n)
    ]


def cues(edit, seed: int = 1) -> list[Cue]:
    """The cues of a system that edits the replies of other people."""
    human, others = people(), people(seed=seed)
    rng = random.Random(9)
    rows = [
        row.with_response(edit(other.response, rng), "bot")
        for row, other in zip(human, others, strict=True)
    ]
    sides = to_passages(human), to_passages(rows)
    return find_cues("bot", *sides, find_leaks(*sides))


def test_equal_sides_have_no_cue():
    assert cues(lambda text, rng: text) == []


def test_a_planted_phrase_comes_first_with_its_shares_and_marked_examples():
    def edit(text, rng):
        return f"as an ai {text}" if rng.random() < 0.6 else text

    first, *rest = cues(edit)
    assert "as an" in first.text or "an ai" in first.text or first.text in ("as", "an", "ai")
    assert first.side == "system" and first.human_share == 0 and first.p_holm < 0.001
    # One rule: the system has it in a share s, humans never: it is right in (1 + s) / 2 of cases.
    assert first.accuracy == pytest.approx((1 + first.system_share) / 2)
    assert first.low < first.accuracy < first.high and first.log_odds > 0
    assert len(first.examples) == 3
    assert all(example.parts[1].lower() == first.text for example in first.examples)
    assert all(example.text.startswith("as an ai") for example in first.examples)
    texts = [cue.text for cue in rest]
    assert "as an ai" not in texts and "as an" not in texts  # near duplicates are left out


def test_a_cue_adds_what_the_stronger_ones_miss():
    def edit(text, rng):
        first = rng.random() < 0.6
        has = {"zig": first, "zag": rng.random() < 0.4, "zog": first and rng.random() < 0.5}
        words = text.split()
        for index, word in zip((1, 3, 5), has, strict=True):
            words[index] = word if has[word] else words[index]
        return " ".join(words)

    by_text = {cue.text: cue for cue in cues(edit)}
    zig, zag, zog = (by_text[name] for name in ("zig", "zag", "zog"))
    assert next(iter(by_text)) == "zig"
    assert zig.gain == pytest.approx(zig.accuracy - 0.5)  # the strongest one adds to chance
    # zag is independent of zig: of the replies without zig it finds its share.
    missed = (1 - zig.system_share) * zag.system_share / 2
    assert zag.gain == pytest.approx(missed, abs=0.03)
    assert zog.accuracy > 0.6 and abs(zog.gain) < 0.01  # never without zig


def test_a_trait_of_the_format_has_a_gain_too():
    first = cues(lambda text, rng: text.replace(".", " ."))[0]
    assert first.kind == "format" and first.gain == pytest.approx(first.accuracy - 0.5)


def test_a_space_before_the_full_stop_is_the_cue_and_is_marked():
    first = cues(lambda text, rng: text.replace(".", " ."))[0]
    assert (first.kind, first.text) == ("format", "space before punctuation")
    assert first.accuracy > 0.99 and first.hint
    assert first.examples[0].parts[1] == " ."


def test_a_system_that_shouts_is_described_by_its_capitals_once():
    rows = cues(lambda text, rng: text.upper())
    assert [cue.text for cue in rows if cue.kind == "format"] == ["upper-case letters"]
    assert rows[0].measures == "share of upper-case letters"


def test_what_only_humans_use_is_a_cue_too():
    rows = cues(lambda text, rng: text.rstrip("."))
    sides = {cue.text: cue.side for cue in rows}
    assert sides["."] == "human"


def test_a_format_that_only_humans_have_is_shown_in_their_replies():
    human = [
        row.with_response(row.response.replace(".", " ." if number % 2 else "."), "human")
        for number, row in enumerate(people())
    ]
    bot = to_passages(row.with_response(row.response, "bot") for row in people(seed=1))
    rows = find_cues("bot", to_passages(human), bot, find_leaks(to_passages(human), bot))
    cue = next(cue for cue in rows if cue.text == "space before punctuation")
    assert cue.side == "human" and cue.human_share > cue.system_share == 0
    assert [example.parts[1] for example in cue.examples] == [" ."] * 3


def test_too_few_dialogues_give_no_cues_and_no_error():
    rows = to_passages(people(10))
    assert cues_of({"bot": rows}, rows, {}, 0) == ()


def test_phrases_and_closers_and_spans():
    assert phrases_of("a, b c") == ["b c"]
    assert closer_of("see you !") == ["you !"] and closer_of("yes") == []
    assert lexical_spans("no no no", ["no", "no"]) == [(0, 5)]
    assert trait_spans("so , yes .", "space before punctuation") == [(2, 4), (8, 10)]
    assert marked("plain", []).parts == ("plain",)


def answered(n: int, reply) -> tuple:
    """People with contexts of their own, and a system that replies to the last turn."""
    turns = people(n, seed=5)
    human = [
        replace(row, context=(Turn("A", turn.response),))
        for row, turn in zip(people(n), turns, strict=True)
    ]
    system = [row.with_response(reply(row.context[-1].text), "bot") for row in human]
    return to_passages(human), to_passages(system)


def test_a_parrot_is_given_away_by_repeating_a_turn():
    human, system = answered(240, lambda turn: turn)
    first = find_cues("bot", human, system, find_leaks(human, system))[0]
    assert first.text == COPIED and first.system_share == pytest.approx(1)
    assert first.accuracy > 0.99 and first.human_share < 0.2
    assert first.examples[0].parts[1:] == (first.examples[0].text.rstrip("."), ".")


def test_a_run_too_small_for_a_leak_check_still_shows_a_clear_cue():
    human, system = answered(34, lambda turn: "I don't know.")
    with pytest.raises(BadInput):
        find_leaks(human, system)
    texts = [cue.text for cue in cues_of({"bot": system}, human, {}, 0)]
    assert any("know" in text for text in texts)


def test_markdown_is_a_cue_and_is_marked():
    first = cues(lambda text, rng: f"**{text}**\n- yes")[0]
    named = {cue.text: cue for cue in cues(lambda text, rng: f"so {text} **yes** ok")}
    assert first.accuracy > 0.99
    assert named["Markdown"].examples[0].parts[1] == "**yes**" and named["Markdown"].hint


def test_a_marker_and_the_word_inside_it_are_one_cue():
    def edit(text, rng):
        return f"{text} <unk> so" if rng.random() < 0.5 else text

    texts = [cue.text for cue in cues(edit)]
    assert len({"marker inside", "<unk>", "unk", "<unk> so"} & set(texts)) == 1


def test_the_share_of_copied_words_is_counted_by_hand():
    assert copied_share("You do like it?", ["No", "Do you?"]) == 0.5
    assert copied_share("...", ["Do you?"]) == 0 == copied_share("yes", [])
