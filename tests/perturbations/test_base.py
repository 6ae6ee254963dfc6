"""The contract: replaying the log of a strategy gives its text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialeval.dialogues import BadInput
from dialeval.perturbations import Edit, replay


@given(st.lists(st.tuples(st.text(max_size=4), st.text(max_size=4), st.text(max_size=4))))
def test_replay_puts_each_replacement_in_its_place(parts):
    text = "".join(kept + before for kept, before, _ in parts)
    edits, at = [], 0
    for kept, before, after in parts:
        edits.append(Edit(at + len(kept), before, after))
        at += len(kept) + len(before)
    assert replay(text, edits) == "".join(kept + after for kept, _, after in parts)


@pytest.mark.parametrize(
    "log", [[Edit(0, "x", "y")], [Edit(2, "c", "d"), Edit(0, "a", "b")], [Edit(9, "a", "b")]]
)
def test_a_log_that_does_not_fit_is_refused(log):
    with pytest.raises(BadInput, match="does not fit the text"):
        replay("abc", log)
