"""The wheel: built, installed in a fresh environment, and inspected there."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("dialeval", "cards", "recipes", "setup.cfg", "pyproject.toml", "README.md", "LICENSE")
ASK = """
import json, dialeval, dialeval.hub.cards as cards, dialeval.dialogues as dialogues
from dialeval.config import find_config
print(json.dumps({
    "file": dialeval.__file__,
    "metrics": dialeval.available(),
    "cards": cards.templates(),
    "formats": list(dialogues.formats()),
    "config": str(find_config("li2017", "discriminator")),
}))
"""


def run(*command, **options) -> str:
    # A checkout on the path would be imported instead of the wheel.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = list(map(str, command))
    done = subprocess.run(words, capture_output=True, text=True, env=environment, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def build(tree: Path, output: Path) -> Path:
    """A wheel of a copy of the sources, so that no build folder is left in the checkout."""
    build_wheel = ["wheel", "--no-deps", "--no-build-isolation", "--quiet", "-w", output, tree]
    run(sys.executable, "-m", "pip", *build_wheel)
    return next(output.glob("*.whl"))


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """The sources with a metric folder more than they have: nothing else says that it is there."""
    tree = tmp_path_factory.mktemp("tree")
    for name in SOURCES:
        source, target = ROOT / name, tree / name
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    planted = tree / "dialeval" / "planted"
    planted.mkdir()
    for name in ("planted.py", "app.py", "README.md", "requirements.txt"):
        (planted / name).write_text("")
    return tree


@pytest.fixture(scope="module")
def wheel(tree, tmp_path_factory) -> Path:
    return build(tree, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_every_source_file(wheel, tree):
    packed = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    package = {path for path in (tree / "dialeval").rglob("*") if "__pycache__" not in path.parts}
    expected = {path.relative_to(tree).as_posix() for path in package if path.is_file()}
    expected |= {f"dialeval/cards/{path.name}" for path in (tree / "cards").glob("*.*")}
    configs = (tree / "recipes" / "configs").glob("*.*")
    expected |= {f"dialeval/configs/{path.name}" for path in configs}
    assert packed == expected


def test_the_wheel_works_in_a_fresh_environment(wheel, tmp_path, tree):
    """The environment sees this one's libraries, but not this checkout."""
    venv.create(tmp_path / "fresh", with_pip=False)
    python = tmp_path / "fresh" / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--quiet", wheel)
    contents = json.loads(run(python, "-c", ASK, cwd=tmp_path))
    assert Path(contents["file"]).is_relative_to(site)
    assert "planted" in contents["metrics"]
    metric_folders = {
        p.parent.name for p in (tree / "dialeval").glob("*/*.py") if p.stem == p.parent.name
    }
    assert set(contents["metrics"]) == metric_folders
    whole = (path for path in (ROOT / "cards").glob("*.jinja") if path.name[0] != "_")
    assert contents["cards"] == sorted(path.name.split(".")[0] for path in whole)
    assert {"passages", "dailydialog", "chitchat"} <= set(contents["formats"])
    assert Path(contents["config"]).is_relative_to(site)
    assert "data" in run(tmp_path / "fresh" / "bin" / "dialeval", "--help", cwd=tmp_path)


@pytest.mark.slow
def test_the_wheel_installs_with_its_dependencies(wheel, tmp_path):
    venv.create(tmp_path / "fresh", with_pip=True)
    python = tmp_path / "fresh" / "bin" / "python"
    constraints = ROOT / "constraints.txt"
    run(python, "-m", "pip", "install", "--quiet", "--upgrade", "pip")
    run(python, "-m", "pip", "install", "--quiet", "-c", constraints, "torch")
    run(python, "-m", "pip", "install", "--quiet", "-c", constraints, wheel)
    assert "planted" in json.loads(run(python, "-c", ASK, cwd=tmp_path))["metrics"]
    assert "No broken requirements" in run(python, "-m", "pip", "check")
