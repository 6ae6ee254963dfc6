"""Fixtures: everything is small, invented, and offline."""

import os
import tempfile

os.environ.update(  # read when Hugging Face libraries are imported
    HF_HOME=tempfile.mkdtemp(prefix="dialeval-tests-"),
    HF_HUB_OFFLINE="1",
    HF_EVALUATE_OFFLINE="1",
    HF_DATASETS_DISABLE_PROGRESS_BARS="1",
    OMP_NUM_THREADS="1",  # tiny models lose more by waiting for threads than they gain
)
os.environ.pop("DIALEVAL_QUIET", None)

import json
from pathlib import Path

import pytest

from dialeval.dialogues import Passage, Passages, Turn, to_passages

SHARED = Path(
    os.environ.get("DIALEVAL_SHARED_DATA")
    or Path(__file__).resolve().parents[2] / "shared" / "data"
)


def pytest_collection_modifyitems(items):
    """Skip what needs corpora that are not beside this checkout."""
    if not SHARED.is_dir():
        for item in items:
            if "shared" in item.keywords:
                item.add_marker(pytest.mark.skip(reason=f"no corpora in {SHARED}"))


@pytest.fixture(scope="session")
def shared() -> Path:
    return SHARED


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def talk(dialogues: int = 60, turns: int = 6) -> list[Passage]:
    """Invented passages: every utterance is distinct and says where it stands."""
    return [
        Passage(
            context=tuple(
                Turn("AB"[at % 2], f"line {at} of talk {number}")
                for at in range(max(0, turn - 2), turn)
            ),
            response=f"line {turn} of talk {number}",
            id=f"t{number}#{turn}",
            dialogue_id=f"t{number}",
            speaker="AB"[turn % 2],
            following=f"line {turn + 1} of talk {number}" if turn + 1 < turns else None,
        )
        for number in range(dialogues)
        for turn in range(1, turns)
    ]


@pytest.fixture
def human() -> Passages:
    return to_passages(talk())


@pytest.fixture
def machine() -> Passages:
    return to_passages(passage.with_response(f"reply to {passage.id}", "bot") for passage in talk())


@pytest.fixture
def write(tmp_path):
    """Write records as JSON lines, or text as it is, and give the path."""

    def write_file(name: str, content) -> Path:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        else:
            path.write_text("".join(json.dumps(record) + "\n" for record in content), "utf-8")
        return path

    return write_file
