"""A package that is written as docs/plugins.md says is installed, and all four kinds are used."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dialeval.dialogues import Passages, write_passages

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "plugins.md").read_text("utf-8")
ROOT = Path(__file__).resolve().parents[1]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> dict[str, str]:
    """The environment of a process that has the plug-in installed."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    (source / "my_package.py").write_text("\n".join(blocks("python")), "utf-8")
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "dialeval-example-plugin"\nversion = "0.1"\n'
        f'{blocks("toml")[0]}\n[tool.setuptools]\npy-modules = ["my_package"]\n'
    )
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--no-index", "--target", str(target), str(source)], check=True)
    path = os.pathsep.join([str(target), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "DIALEVAL_QUIET": "1"}


def dialeval(installed: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "-m", "dialeval", *arguments]
    run = subprocess.run(command, env=installed, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("evaluators", "shouting"),
        ("responders", "echo"),
        ("perturbations", "shout"),
        ("readers", "haiku"),
    ],
)
def test_the_plugin_is_listed_with_its_package(installed, kind, name):
    rows = {row["name"]: row for row in json.loads(dialeval(installed, "list", kind, "--json"))}
    assert rows[name]["source"] in ("dialeval-example-plugin", "my_package")
    assert len(rows) > 5


def test_a_registered_evaluator_and_responder_evaluate(installed, human: Passages):
    write_passages(human, "human.jsonl")
    dialeval(
        installed, "evaluate", "--human", "human.jsonl", "--system", "echo", "--evaluator",
        "shouting", "--folds", "2", "--seeds", "1", "--output-dir", "run",
    )  # fmt: skip
    results = json.loads(Path("run/results.json").read_text("utf-8"))
    [row] = [
        r for r in results["results"] if (r["metric"], r["evaluator"]) == ("adversuc", "shouting")
    ]
    assert row["system"] == "echo"
    assert row["value"] == 0  # an echo in capitals is always recognised


def test_a_class_is_named_by_its_module_without_registration(installed, human: Passages):
    write_passages(human, "human.jsonl")
    dialeval(
        installed, "evaluate", "--human", "human.jsonl", "--system", "bot=my_package:EchoResponder",
        "--evaluator", "my_package:ShoutingScorer", "--folds", "2", "--seeds", "1", "-o", "run",
    )  # fmt: skip
    results = json.loads(Path("run/results.json").read_text("utf-8"))
    assert "ShoutingScorer" in {row["evaluator"] for row in results["results"]} or any(
        "ShoutingScorer" in row["evaluator"] for row in results["results"]
    )
    assert "bot" in {row["system"] for row in results["results"]}


def test_a_registered_perturbation_edits_contexts(installed, human: Passages):
    write_passages(human, "human.jsonl")
    for name in ("shout", "my_package:Shout"):
        dialeval(
            installed, "perturb", "human.jsonl", "--strategy", name, "--limit", "5",
            "--output", "perturbed.jsonl",
        )  # fmt: skip
        record = json.loads(Path("perturbed.jsonl").read_text("utf-8").splitlines()[0])
        texts = [turn if isinstance(turn, str) else turn["content"] for turn in record["context"]]
        assert all(text.isupper() for text in texts)
        Path("perturbed.jsonl").unlink()


def test_a_registered_reader_is_recognised_and_named(installed):
    Path("poems.txt").write_text("old pond / a frog leaps in / sound of water\n" * 3)
    for options in ([], ["--format", "haiku"], ["--format", "my_package:read_haiku"]):
        text = dialeval(installed, "data", "describe", "poems.txt", "--json", "--no-png", *options)
        assert json.loads(text)["corpora"] == {"haiku": 1} or "haiku" in text


def test_a_saved_scorer_of_a_plugin_loads_where_the_plugin_is_installed(installed, human):
    code = (
        "import dialeval, my_package\n"
        "dialeval.save_scorer(my_package.ShoutingScorer(), 'saved')\n"
        "print(type(dialeval.load_evaluator('saved')).__name__)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], env=installed, capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["ShoutingScorer"]
    bare = {**installed, "PYTHONPATH": str(ROOT)}
    code = "import dialeval; dialeval.load_evaluator('saved')"
    run = subprocess.run([sys.executable, "-c", code], env=bare, capture_output=True, text=True)
    assert "unknown kind of scorer 'shouting'" in run.stderr
