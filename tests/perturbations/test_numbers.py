import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialeval.perturbations import replay
from dialeval.perturbations.lexicon import names
from dialeval.perturbations.numbers import NameSwap, NumberSwap


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("Meet me at 3 pm.", r"Meet me at ([1-9]|1[0-2]) pm\."),
        ("at 9am sharp", r"at ([1-9]|1[0-2])am sharp"),
        ("at 10:30", r"at ([1-9]|1[0-2]):30"),
        ("at 09:15", r"at (0[1-9]|1[0-2]):15"),
        ("a 9:12 train", r"a ([1-7]|9|10|12):12 train"),
        ("an 8-hour day and a third time", r"an 8-hour day and a (fourth|fifth|sixth|seventh|ninth|"
         r"tenth) time"),
        ("come at 11", r"come at ([2-9]|1[02])"),
        ("100 % true", r"[2-9]0 % true"),
        ("at two-thirty", r"at \w+-(fifteen|twenty|forty|fifty)"),
        ("at 8 : 15 .", r"at ([1-9]|1[0-2]) : [0-5][05] \."),
        ("It is 17:05", r"It is (1[3-9]|2[0-3]):05"),
        ("in 1998", r"in (19[789]\d|20[01]\d)"),
        ("200 people", r"[2-9]00 people"),
        ("It costs $4,500.", r"It costs \$[2-9],[1-9]00\."),
        ("$ 2.48", r"\$ [2-9]\.[1-9][1-9]"),
        ("50% off", r"[2-9]0% off"),
        ("on the 24th", r"on the ([12]?1st|[12]?2nd|[12]?3rd|([4-9]|1\d|2[04-8])th)"),
        ("three dogs", r"(two|four|five|six|seven|eight|nine|ten|eleven|twelve) dogs"),
        ("Twenty-five", r"(Thirty|Forty|Fifty|Sixty|Seventy|Eighty|Ninety)-(two|three|four|six|"
         r"seven|eight|nine)"),
        ("twenty five", r"\w+ty (two|three|four|six|seven|eight|nine)"),
        ("a three-star hotel", r"a (two|four|five|six|seven|eight|nine|ten|eleven|twelve)-star "
         r"hotel"),
        ("kernel 2.6.8", r"kernel 2\.6\.[2-79]"),
        ("on 127.0.0.1:8080", r"on 127\.0\.0\.1:[2-79]0[1-9]0"),
        ("the 3.5th one", r"the [24-9]\.[1-9]th one"),
        ("at 10:30th", r"at ([1-9]|1[0-2]):30th"),
    ],
)  # fmt: skip
def test_numbers_become_others_of_the_same_form(text, pattern):
    for seed in range(40):
        perturbed = NumberSwap()(text, seed)
        assert perturbed != text
        assert re.fullmatch(pattern, perturbed), perturbed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 dog",
        "one of us",
        "no numbers",
        "x86 ubuntu",
        "http://a.b/3",
        "*high five* , open 24/7",
        "a fifty-fifty chance , or 50-50",
    ],
)
def test_text_without_numbers_has_no_edits(text):
    assert NumberSwap().edits(text, Random(0)) == []


def test_names_keep_their_gender_and_each_mention_its_name():
    for seed in range(20):
        perturbed = NameSwap()("Tom told Mary that Tom is in New York.", seed)
        first, second, third, city = re.fullmatch(
            r"(\w+) told (\w+) that (\w+) is in (.+)\.", perturbed
        ).groups()
        assert first == third != "Tom"
        assert first in names("male") and second in names("female") and second != "Mary"
        assert city in names("city") and city != "New York"


@pytest.mark.parametrize(
    "text", ["", "tom", "tomorrow", "Tommyknockers", "www.Paris.com", "I will."]
)
def test_words_that_are_not_names_are_not_edited(text):
    assert NameSwap().edits(text, Random(0)) == []


def test_no_name_stands_in_two_lists():
    listed = [name for kind in ("female", "male", "city") for name in names(kind)]
    assert len(listed) == len(set(listed))


PIECES = "1 7 0 00 1,000 3.5 12:30 99:99 1/2 3rd 1st 2 : 30 pm one ten 1998 ٣ ²"
NUMBERS = st.lists(st.sampled_from([*PIECES.split(), "9" * 30]), max_size=12).map(" ".join)
GLUED = st.lists(st.sampled_from([*"0123456789.,:/", "th", "am"]), max_size=9).map("".join)


@given(NUMBERS | GLUED | st.text(), st.integers(0, 3))
def test_edits_replay_and_are_deterministic(text, seed):
    for strategy in (NumberSwap(), NameSwap()):
        edits = strategy.edits(text, Random(seed))
        assert edits == strategy.edits(text, Random(seed))
        assert all(edit.before != edit.after for edit in edits)
        replay(text, edits)
