"""Bad input ends a recipe with one line, anything else with its traceback."""

import subprocess
import sys

import pytest

SCRIPT = """
from dialeval.config import plain_errors
from dialeval.dialogues import BadInput

plain_errors()
raise {error}
"""


@pytest.mark.parametrize(
    ("error", "traceback"),
    [
        ("BadInput('expected words, found none.', 'a.txt', 3, 'Write some.')", False),
        ("KeyError('ours')", True),
    ],
)
def test_only_bad_input_hides_where_it_was_raised(error, traceback):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(error=error)], capture_output=True, text=True
    )
    assert done.returncode == (1 if traceback else 2)
    assert ("Traceback" in done.stderr) == traceback
    if not traceback:
        assert done.stderr.strip() == "Error: a.txt:3: expected words, found none. Write some."
