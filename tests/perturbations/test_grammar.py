import json
from random import Random

import pytest

from dialeval.dialogues import BadInput
from dialeval.perturbations.confusions import (
    confusions,
    load_confusions,
    read_confusions,
    read_pairs,
    write_confusions,
)
from dialeval.perturbations.grammar import GrammarErrors

M2 = """S He like cake .
A 1 2|||R:VERB:SVA|||likes|||REQUIRED|||-NONE-|||0
A 2 3|||R:NOUN:NUM|||cakes|||REQUIRED|||-NONE-|||0
A 2 3|||R:OTHER|||biscuits|||REQUIRED|||-NONE-|||1

S All is well .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0

S He go to to school
A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0
A 3 4|||U:PREP||||||REQUIRED|||-NONE-|||0
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He doesn't like cakes.", "He don't like cake."),  # the paper's example
        ("She went home", "She go home"),
        ("Two men were walking", "Two man be walk"),
        ("Thanks , nice glasses", "Thanks , nice glasses"),  # their singular is another word
        ("I like tea", "I like tea"),
        ("Did you hear AM radio?", "Do you hear AM radio?"),
    ],
)
def test_the_rules_undo_inflection(text, expected):
    assert GrammarErrors(tagger="light")(text) == expected


def test_the_rate_is_a_share_of_the_words_that_can_go_wrong():
    text = "dogs and " * 500
    strategy = GrammarErrors(rate=0.2, tagger="light")
    assert len(strategy.edits(text, Random(0))) == pytest.approx(100, abs=30)


def test_an_m2_file_gives_one_pair_for_each_annotator(write):
    path = write("train.m2", M2)
    assert list(read_pairs(path)) == [
        ("He like cake .", "He likes cakes ."),
        ("He like cake .", "He like biscuits ."),
        ("All is well .", "All is well ."),
        ("He go to to school", "He goes to school"),
    ]
    assert read_confusions(path) == {
        "likes": {"like": 1},
        "cakes": {"cake": 1},
        "biscuits": {"cake": 1},
        "goes": {"go": 1},
    }


def test_parallel_files_and_tabbed_lines_give_pairs(write):
    source = write("dev.src", "He go\nI am\n")
    one, two = write("dev.ref0", "He goes\nI am\n"), write("dev.ref1", "He went\nI am\n")
    pairs = list(read_pairs(source, [one, two]))
    assert confusions(pairs) == {"goes": {"go": 1}, "went": {"go": 1}}
    tabbed = write("aesw.tsv", "He go .\tHe goes .\tmore\n")
    assert read_confusions(tabbed) == {"goes": {"go": 1}}


def test_phrases_of_as_many_words_are_taken_word_by_word():
    assert confusions([("He like cake", "He likes cakes"), ("He as well", "He too")]) == {
        "likes": {"like": 1},
        "cakes": {"cake": 1},
        "too": {"as well": 1},
    }


def test_insertions_and_rewriting_are_no_confusions():
    assert confusions([("I go home", "I go to home"), ("a b c d e f", "u v w x y z")]) == {}


def test_a_table_runs_from_right_to_wrong_and_survives_a_file(tmp_path):
    table = confusions([("He go .", "He goes .")] * 3)
    path = write_confusions(table, tmp_path / "table.json")
    assert load_confusions(str(path)) == table == {"goes": {"go": 3}}
    assert GrammarErrors(str(path), rules=False)("He goes . Goes ?") == "He go . Go ?"


def test_confusions_of_unlike_words_and_rare_ones_can_be_left_out(write):
    path = str(write("t.json", json.dumps({"know": {"knew": 9, "have": 9, "knwo": 1}})))
    assert load_confusions(path, 1, True) == {"know": {"knew": 9, "knwo": 1}}
    assert load_confusions(path, 2, False) == {"know": {"knew": 9, "have": 9}}
    with pytest.raises(BadInput, match="seen 10 times or more, but the table holds none"):
        load_confusions(path, 10)


def test_frequent_confusions_are_drawn_more_often_unless_uniform(write):
    path = str(write("t.json", json.dumps({"goes": {"go": 9, "going": 1}})))

    def share(**options):
        strategy = GrammarErrors(path, **options)
        return sum(strategy("goes", seed) == "go" for seed in range(400)) / 400

    assert share() == pytest.approx(0.9, abs=0.06)
    assert share(weighted=False) == pytest.approx(0.5, abs=0.1)


def test_longer_entries_come_first(write):
    path = str(write("t.json", json.dumps({"on the": ["in the"], "on": ["at"], "the": ["a"]})))
    assert GrammarErrors(path, alike=False)("on the table") == "in the table"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.json", '["a"]', "expected a JSON object such as"),
        ("t.json", '{"a": 3}', "expected a JSON object such as"),
        ("t.tsv", "no tab here\n", "t.tsv:1: expected a sentence before and after"),
        ("t.m2", "S a b\nA one 2|||x|||y\n", "t.m2:1: expected an edit `A start end"),
    ],
)
def test_other_files_are_refused_with_what_was_expected(write, name, content, message):
    with pytest.raises(BadInput, match=message):
        read_confusions(write(name, content))


def test_parallel_files_of_unequal_length_are_refused(write):
    with pytest.raises(BadInput, match="expected 2 lines, as in a.src, found 1"):
        list(read_pairs(write("a.src", "a\nb\n"), [write("a.ref", "a\n")]))


def test_neither_table_nor_rules_is_refused():
    with pytest.raises(BadInput, match="no table and no rules"):
        GrammarErrors(rules=False)
