"""What gives a system away: planted cues come first, and equal sides have none."""

import random

import pytest

from dialeval.dialogues import Passage, Turn, to_passages
from dialeval.metrics.cue_results import Cue
from dialeval.protocols.evaluation.cue_marks import lexical_spans, marked, trait_spans
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


def test_too_few_dialogues_give_no_cues_and_no_error():
    rows = to_passages(people(10))
    assert cues_of({"bot": rows}, rows, {}, 0) == ()


def test_phrases_and_closers_and_spans():
    assert phrases_of("a, b c") == ["b c"]
    assert closer_of("see you !") == ["you !"] and closer_of("yes") == []
    assert lexical_spans("no no no", ["no", "no"]) == [(0, 5)]
    assert trait_spans("so , yes .", "space before punctuation") == [(2, 4), (8, 10)]
    assert marked("plain", []).parts == ("plain",)
