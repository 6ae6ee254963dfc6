"""Fixtures of the fault tests."""

import pytest

from tests.faults import harness


@pytest.fixture(scope="session")
def warm() -> None:
    """Everything heavy is imported, so that a forked command starts at once."""
    harness.warm_up()
