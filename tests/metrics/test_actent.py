"""Activity and Entity F1 by hand, and on the released gold lines."""

import json

import numpy as np
import pytest

from dialeval.metrics.actent import actent_f1, counted_references, parse_actent, set_overlap
from dialeval.metrics.actent_lexicon import (
    embedded_lexicon,
    extract,
    plain_tags,
    read_lexicon,
)


def test_a_released_line_has_its_activities_and_entities_by_utterance():
    parsed = parse_actent(
        "past_tenses try_activity boot_activity usb_entity ls_cmd __eou__ "
        "no_tenses none_activity no_cmd __eou__"
    )
    assert [set(part.activities) for part in parsed.utterances] == [{"try", "boot"}, set()]
    assert [set(part.entities) for part in parsed.utterances] == [{"usb"}, set()]
    assert parsed.activities == {"try", "boot"} and parsed.entities == {"usb"}


def test_f1_by_hand():
    assert set_overlap({"a", "b"}, {"b", "c", "d"}) == pytest.approx((1 / 2, 1 / 3, 2 / 5))
    assert set_overlap({"a"}, {"a"}) == (1, 1, 1)
    assert set_overlap({"a"}, {"b"}) == (0, 0, 0)
    assert set_overlap(set(), set()) == (0, 0, 0)  # no true positive


GOLD = [
    "a_activity b_activity x_entity __eou__",  # counts under every rule
    "a_activity __eou__ none_activity y_entity __eou__",  # one of two utterances does nothing
    "none_activity z_entity __eou__",  # nothing is done at all
]


@pytest.mark.parametrize(
    ("skip", "expected"), [("none", [1, 1, 1]), ("released", [1, 0, 0]), ("no-activity", [1, 1, 0])]
)
def test_the_skip_rules_by_hand(skip, expected):
    assert counted_references(map(parse_actent, GOLD), skip).tolist() == expected


def test_the_macro_mean_by_hand():
    lines = ["a_activity x_entity w_entity __eou__", "a_activity y_entity __eou__", "z_entity"]
    replies, gold = [[parse_actent(line) for line in side] for side in (lines, GOLD)]
    result = actent_f1(replies, gold)
    # activities: 2·1/(1+2), 1, 0; entities: 2·1/(2+1), 1, 1
    assert result["activity_f1"] == pytest.approx((2 / 3 + 1 + 0) / 3)
    assert result["entity_f1"] == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert result["n"] == 3
    released = actent_f1(replies, gold, "released")
    assert (released["activity_f1"], released["n"]) == (pytest.approx(2 / 3), 1)
    assert np.isnan(released["rows"][1:]).all() and not np.isnan(released["rows"][0]).any()


def test_nothing_that_counts_has_no_mean():
    result = actent_f1([parse_actent("")], [parse_actent("none_activity __eou__")], "released")
    assert result["n"] == 0 and np.isnan(result["activity_f1"])


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="1 responses for 0 references"):
        actent_f1([parse_actent("a_activity")], [])
    with pytest.raises(ValueError, match="Choose one of none, released, no-activity"):
        counted_references([], "all")


@pytest.mark.shared
def test_the_released_skip_rule_keeps_9816_of_the_18920_gold_lines(shared):
    path = shared / "ubuntu_actent" / "actent_test_responses.txt"
    gold = [parse_actent(line) for line in path.read_text("utf-8").splitlines()]
    counts = [counted_references(gold, skip).sum() for skip in ("released", "no-activity")]
    assert (len(gold), *counts) == (18_920, 9_816, 12_194)
    perfect = actent_f1(gold, gold, "released")
    assert perfect["activity_f1"] == 1  # every counted line has an activity
    assert perfect["entity_f1"] == pytest.approx(5_370 / 9_816)  # but not always an entity


@pytest.mark.shared
def test_the_released_lists_can_be_read(shared):
    lexicon = read_lexicon(shared / "ubuntu_actent")
    assert len(set(lexicon.activities.values())) == 192 and len(lexicon.entities) == 6_022
    extracted = extract("I enabled the repo in synaptic", lexicon)
    assert extracted.activities == {"activate"}
    assert "synaptic" in extracted.entities


def test_activities_and_entities_are_extracted():
    extracted = extract(
        "I reinstalled grub2 and rebooted , then my WiFi crashed", embedded_lexicon()
    )
    assert extracted.activities == {"install", "boot", "break"}
    assert extracted.entities == {"grub", "wireless"}


def test_two_words_are_looked_up_before_single_words():
    extracted = extract("put the Live CD in", embedded_lexicon())
    assert extracted.entities == {"cd"}
    assert extract("a hard drive", embedded_lexicon()).entities == {"disk"}  # not drive


def test_addresses_and_paths_are_entities():
    extracted = extract("see http://a.example/x and edit /etc/fstab", embedded_lexicon())
    assert extracted.entities == {"<url>", "<path>"}


def test_a_noun_is_no_activity():
    assert extract("the update , my install", embedded_lexicon()).activities == set()
    assert plain_tags(["run", "the", "run"]) == ["VB", "VB", "NN"]


def test_a_tagger_decides_and_the_first_noun_counts_without_a_verb():
    nouns = lambda words: ["NN"] * len(words)  # noqa: E731
    assert extract("install update", embedded_lexicon(), nouns).activities == {"install"}
    last = lambda words: ["NN"] * (len(words) - 1) + ["VB"]  # noqa: E731
    assert extract("install update", embedded_lexicon(), last).activities == {"update"}


def test_an_utterance_ends_with_its_mark_or_line():
    extracted = extract("install it __eou__ ok __eou__", embedded_lexicon())
    assert [bool(part.activities) for part in extracted.utterances] == [True, False]
    assert len(extract("one\ntwo", embedded_lexicon()).utterances) == 2
    assert len(extract("", embedded_lexicon()).utterances) == 1


def test_a_verb_and_its_particle_are_one_activity():
    assert extract("I set up sshd", embedded_lexicon()).activities == {"install"}


def test_lists_by_path(tmp_path):
    (tmp_path / "activities_present_form.txt").write_text("\tfry\tfries\n\tbake\tbakes\n")
    (tmp_path / "activities_past_form.txt").write_text("\tfried\n\n")
    (tmp_path / "unigram2entity_dict.json").write_text(json.dumps({"Egg": "egg"}))
    extracted = extract("she fried an egg and bakes", read_lexicon(tmp_path))
    assert extracted.activities == {"fry", "bake"} and extracted.entities == {"egg"}


def test_lists_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"unigram2entity_dict.json is missing"):
        read_lexicon(tmp_path)
    (tmp_path / "activities_present_form.txt").write_text("fry\nbake\n")
    (tmp_path / "activities_past_form.txt").write_text("fried\n")
    (tmp_path / "unigram2entity_dict.json").write_text("{}")
    with pytest.raises(ValueError, match="has 2 rows and .* 1"):
        read_lexicon(tmp_path)
