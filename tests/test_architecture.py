"""Rooms may only look downstairs, and every folder is a room or a metric module."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dialeval

PACKAGE = Path(dialeval.__file__).parent
MAY_IMPORT = {
    "dialogues": set(),
    "metrics": set(),
    "judgements": set(),
    "perturbations": {"dialogues"},
    "models": {"dialogues"},
    "responders": {"dialogues", "models"},
    "scorers": {"dialogues", "models", "metrics"},  # arithmetic is for everybody
    "training": {"dialogues", "models", "metrics", "responders", "scorers"},
    "protocols": {
        "dialogues", "metrics", "judgements", "perturbations", "models", "responders", "scorers",
        "training",
    },
    "reports": {"metrics", "judgements"},
    "hub": {"models", "scorers", "metrics", "cards"},
}  # fmt: skip
TOP_FLOOR = {"commands"}  # imports anything, and nothing imports it
FOLDERS = sorted(path for path in PACKAGE.iterdir() if path.is_dir() and path.name[0] not in "_.")
ROOMS = [path.name for path in FOLDERS if path.name in MAY_IMPORT]
METRICS = [path for path in FOLDERS if path.name not in MAY_IMPORT.keys() | TOP_FLOOR]


def imported_by(file: Path) -> set[str]:
    """Rooms that a file imports, at the top or inside a function."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0 or "models" in file.parts, f"relative import in {file}"
            names.add(node.module or "")
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    rooms = {name.split(".")[1] for name in names if name.startswith("dialeval.")}
    return rooms & (MAY_IMPORT.keys() | TOP_FLOOR | {"cards"})


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_below(room):
    for file in (PACKAGE / room).rglob("*.py"):
        assert imported_by(file) <= MAY_IMPORT[room] | {room}, file


def test_the_checker_sees_a_forbidden_import(tmp_path):
    for line in ("import dialeval.commands", "from dialeval import commands"):
        file = tmp_path / "x.py"
        file.write_text(f"def f():\n    {line}\n")
        assert imported_by(file) == {"commands"}


def test_every_metric_folder_is_a_complete_space():
    for folder in METRICS:
        files = {path.name for path in folder.iterdir() if path.is_file()}
        assert files == {f"{folder.name}.py", "README.md", "app.py", "requirements.txt"}, folder


def test_the_floor_plan_names_every_room_and_metric_folder():
    plan = (PACKAGE / "README.md").read_text(encoding="utf-8")
    for folder in FOLDERS:
        assert f"`{folder.name}/`" in plan, f"dialeval/README.md does not mention {folder.name}"


def test_there_is_no_drawer_for_everything():
    assert not [path for path in PACKAGE.rglob("*.py") if path.stem in ("utils", "helpers", "misc")]


@pytest.mark.parametrize("statement", ["import dialeval", "import dialeval.commands"])
def test_nothing_heavy_is_imported_before_it_is_needed(statement):
    code = f"{statement}; import sys; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"torch", "transformers", "evaluate", "datasets", "numpy", "pyarrow", "matplotlib"}
    assert not heavy & set(modules.stdout.split())


def test_every_name_of_the_lobby_can_be_had():
    for name in dialeval.__all__:
        assert getattr(dialeval, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'read_mind'"):
        dialeval.read_mind  # noqa: B018
