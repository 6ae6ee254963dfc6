"""A system's file that repeats human turns, or is the human file."""

import pytest

from dialeval.dialogues import BadInput, Cut, Dialogue, to_passages
from dialeval.protocols.evaluation import align

TURNS = 7


def conversations(end, count=20):
    """Conversations whose turns are the human's, up to the last ones."""
    return to_passages(
        passage
        for number in range(count)
        for passage in Cut()(
            Dialogue.from_texts(
                [f"turn {at} of {number}{end if at in (5, 6) else ''}" for at in range(TURNS)],
                id=f"d{number}",
            )
        )
    )


def named(passages, name):
    return passages.map(lambda row: {"author": name}, keep_in_memory=True)


def test_repeated_human_turns_are_not_the_systems():
    human, bot = conversations(""), named(conversations(" !"), "bot")
    data = align(human, {"bot": bot}, max_identical=0.2)
    assert len(data.human) == 40  # the last two of six replies in each of 20 dialogues
    assert all(text.endswith("!") for text in data.systems["bot"]["response"])
    assert "bot repeats 80 human turns before its own replies" in data.warnings[0]


def test_the_human_file_as_a_system_is_refused():
    human = conversations("")
    with pytest.raises(BadInput, match="120 of 120 replies of bot are identical") as error:
        align(human, {"bot": named(human, "bot")}, max_identical=0.2)
    assert "--responses last" in error.value.hint


def test_a_few_identical_replies_are_chance():
    human = conversations("")
    changed = human.map(
        lambda row, at: {"response": row["response"] + ("" if at % 10 == 0 else "!")},
        with_indices=True,
        keep_in_memory=True,
    )
    data = align(human, {"bot": named(changed, "bot")}, max_identical=0.2)
    assert len(data.human) == 120
    assert any("12 of bot's 120 responses are identical" in text for text in data.warnings)
