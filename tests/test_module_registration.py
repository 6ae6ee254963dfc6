"""Registration of the metric modules, and loading them in other processes."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

import dialeval
from dialeval import metrics, registration

ROOT = Path(__file__).resolve().parents[1]
NAMES = [
    "adversuc", "agreement", "distinct", "ere", "human_vs_random", "machine_vs_random",
    "relevance", "robustness", "win_rate",
]  # fmt: skip


@pytest.fixture(scope="module")
def evaluate():
    import evaluate

    return evaluate


def numbers(n: int = 80) -> dict:
    """Scores slightly above chance, for as many humans as machines, ten rows per dialogue."""
    rng = np.random.default_rng(7)
    labels = np.tile([1, 0], n // 2)
    scores = np.clip(rng.normal(0.4 + 0.2 * labels, 0.2), 0, 1)
    return {"predictions": scores.tolist(), "references": labels.tolist()}


# Registration


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """A fresh folder of modules."""
    monkeypatch.setattr(registration, "modules_folder", lambda: tmp_path / "metrics")
    return tmp_path / "metrics"


def newest(cache: Path, name: str) -> Path:
    """The script that `evaluate` loads: the newest, and an error if a version has none."""
    versions = [path for path in (cache / f"dialeval--{name}").iterdir() if len(path.name) == 64]
    return max((path / f"{name}.py" for path in versions), key=lambda path: path.stat().st_mtime)


def test_every_script_is_registered_once(cache):
    copies = registration.register()
    assert list(copies) == NAMES
    for name, script in registration.scripts().items():
        assert newest(cache, name) == copies[name]
        assert copies[name].read_bytes() == script.read_bytes()
        assert [path.name for path in copies[name].parents[1].iterdir()] == [
            copies[name].parent.name
        ]
    before = {path: path.stat().st_mtime_ns for path in copies.values()}
    assert registration.register() == copies
    assert {path: path.stat().st_mtime_ns for path in copies.values()} == before


def test_the_copy_of_this_installation_is_the_newest(cache):
    installed = registration.register()["adversuc"]
    other = installed.parents[1] / ("0" * 64) / "adversuc.py"
    other.parent.mkdir()
    other.write_text("# a download of tomorrow")
    os.utime(other, (4e9, 4e9))
    assert newest(cache, "adversuc") == other
    assert registration.register()["adversuc"] == installed == newest(cache, "adversuc")


def test_another_version_and_another_script_get_separate_copies(cache, monkeypatch, tmp_path):
    first = registration.register()["ere"]
    monkeypatch.setattr(registration, "__version__", "99.0")
    second = registration.register()["ere"]
    script = tmp_path / "ere.py"
    script.write_text("# changed")
    monkeypatch.setattr(registration, "scripts", lambda: {"ere": script})
    third = registration.register()["ere"]
    assert len({first, second, third}) == 3
    assert newest(cache, "ere") == third and third.read_text() == "# changed"


def test_a_version_without_its_script_no_longer_hides_the_others(cache):
    hollow = cache / "dialeval--ere" / ("a" * 64)
    hollow.mkdir(parents=True)
    (hollow / "__init__.py").touch()
    copy = registration.register()["ere"]
    assert newest(cache, "ere") == copy
    assert not hollow.exists()


def test_concurrent_registrations_leave_one_complete_copy(tmp_path, monkeypatch):
    for turn in range(10):
        cache = tmp_path / str(turn)
        monkeypatch.setattr(registration, "modules_folder", lambda cache=cache: cache)
        together, problems = threading.Barrier(6), []

        def work(together=together, problems=problems):
            together.wait()
            try:
                registration.register()
            except OSError as error:
                problems.append(error)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not problems
        for name in NAMES:
            assert newest(cache, name).is_file()
            assert len(list((cache / f"dialeval--{name}").iterdir())) == 1  # no leftovers


@pytest.mark.parametrize(
    ("settings", "folder"),
    [
        ({"HF_MODULES_CACHE": "/a/b"}, "/a/b"),
        ({"HF_MODULES_CACHE": "~/b", "HF_HOME": "/c"}, "~/b"),  # not expanded
        ({"HF_HOME": "~/c"}, "/home/me/c/modules"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/huggingface/modules"),
        ({}, "/home/me/.cache/huggingface/modules"),
    ],
)
def test_the_folder_is_the_one_that_evaluate_reads(settings, folder, monkeypatch):
    for name in ("HF_MODULES_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (settings | {"HOME": "/home/me"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delitem(sys.modules, "evaluate.config", raising=False)
    assert registration.modules_folder() == Path(folder, "evaluate_modules", "metrics")


def test_the_folder_is_the_one_that_evaluate_has_read(evaluate, monkeypatch):
    monkeypatch.setenv("HF_MODULES_CACHE", "/somewhere/else")
    expected = Path(evaluate.config.HF_MODULES_CACHE, "evaluate_modules", "metrics")
    assert registration.modules_folder() == expected


# Other processes


def python(
    code: str, folder: Path, home: Path, before: Sequence[str] = (), **variables: str
) -> subprocess.CompletedProcess:
    """Run code in a fresh process with its own `HF_HOME`."""
    inherited = {key: value for key, value in os.environ.items() if key != "HF_MODULES_CACHE"}
    environment = inherited | {"HF_HOME": str(home)} | variables
    command = [*before, sys.executable, "-c", code]
    settings = {"capture_output": True, "text": True, "timeout": 300}
    return subprocess.run(command, cwd=folder, env=environment, **settings)


def printed_json(done: subprocess.CompletedProcess):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def unprivileged() -> list[str]:
    """Command prefix that makes even root respect file permissions."""
    if os.geteuid():
        return []
    if not shutil.which("setpriv"):
        pytest.skip("root may write everywhere, and setpriv is not installed")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def test_a_cache_below_a_file_is_one_warning_at_import(tmp_path):
    (tmp_path / "file").touch()
    done = python("import dialeval", tmp_path, tmp_path / "file")
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == 1
    assert "Could not write to the cache" in done.stderr
    assert "Set HF_HOME or HF_MODULES_CACHE" in done.stderr


def test_a_read_only_cache_is_one_warning_unless_it_is_complete(tmp_path):
    home, code = tmp_path / "home", "import dialeval; print(dialeval.__version__)"
    home.mkdir(mode=0o555)
    done = python(code, tmp_path, home, before=unprivileged())
    assert done.stdout.strip() == dialeval.__version__
    assert len(done.stderr.splitlines()) == 1 and "Could not write to the cache" in done.stderr
    home.chmod(0o755)
    assert python(code, tmp_path, home).stderr == ""
    for folder in (home, *home.rglob("*/")):
        folder.chmod(0o555)
    assert python(code, tmp_path, home, before=unprivileged()).stderr == ""


AT_THE_ROOT = f"""
import json, os, sys
import evaluate
assert "dialeval" not in sys.modules
names, given = {NAMES!r}, {numbers()!r}
modules = {{name: evaluate.load(f"dialeval/{{name}}") for name in names}}
results = {{name: module.compute(**module.example) for name, module in modules.items()}}
child = os.fork()  # two ranks of one evaluation
rank = int(child == 0)
shared = {{"num_process": 2, "process_id": rank, "experiment_id": "both"}}
half = {{key: column[rank::2] for key, column in given.items()}}
both = evaluate.load("dialeval/adversuc", **shared).compute(**half)
if rank:
    os._exit(0 if both is None else 1)
assert os.waitpid(child, 0)[1] == 0
print(json.dumps([results, both]))
"""


def test_names_load_from_the_checkout_without_importing_dialeval(evaluate, tmp_path):
    results, both = printed_json(python(AT_THE_ROOT, ROOT, tmp_path / "home"))
    for name in NAMES:
        metric = dialeval.load(name, keep_in_memory=True)
        assert results[name] == metric.compute(**metric.example)
    scores, labels = (numbers()[key] for key in ("predictions", "references"))
    rows = [*range(0, 80, 2), *range(1, 80, 2)]  # the first rank's, then the second's
    expected = metrics.adversuc([scores[row] for row in rows], [labels[row] for row in rows])
    assert both == expected


ELSEWHERE = f"""
import json, multiprocessing, sys
import evaluate
assert "dialeval" not in sys.modules
names, context = {NAMES!r}, multiprocessing.get_context("fork")
def work(together, answers):
    together.wait()
    modules = {{name: evaluate.load(f"dialeval/{{name}}") for name in names}}
    results = {{name: module.compute(**module.example) for name, module in modules.items()}}
    answers.put([sys.modules["dialeval"].__file__, results])
together, answers = context.Barrier(6), context.Queue()
processes = [context.Process(target=work, args=(together, answers)) for _ in range(6)]
[process.start() for process in processes]
results = [answers.get(timeout=250) for _ in processes]
[process.join() for process in processes]
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder with the contents of the wheel, as an installation has them."""
    tree, output = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("installed")
    files = ("setup.cfg", "pyproject.toml", "README.md", "LICENSE")
    for name in ("dialeval", "cards", "recipes", *files):
        source, target = ROOT / name, tree / name
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    build = ["wheel", "--no-deps", "--no-build-isolation", "--quiet", "-w", tree, tree]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True, capture_output=True)
    ZipFile(next(tree.glob("*.whl"))).extractall(output)
    return output


def test_names_load_from_an_installed_wheel_in_six_processes_at_once(installed, evaluate, tmp_path):
    """One import of dialeval, then fresh processes in another folder that do not import it."""
    (tmp_path / "other").mkdir()
    first = python("import dialeval", tmp_path, tmp_path / "home", PYTHONPATH=str(installed))
    assert (first.returncode, first.stderr) == (0, "")
    done = python(ELSEWHERE, tmp_path / "other", tmp_path / "home", PYTHONPATH=str(installed))
    answers = printed_json(done)
    assert len(answers) == 6
    for file, results in answers:
        assert Path(file).is_relative_to(installed)
        for name in NAMES:
            metric = dialeval.load(name, keep_in_memory=True)
            assert results[name] == metric.compute(**metric.example)


def test_the_command_prints_where_the_modules_are(cache, capsys):
    from dialeval.commands.register import register

    register()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(NAMES)
    for line, name in zip(lines, NAMES, strict=True):
        assert line.startswith(f'evaluate.load("dialeval/{name}")')
        assert Path(line.split(maxsplit=1)[1]).is_file()


def test_the_command_reports_an_unwritable_cache(tmp_path, monkeypatch):
    from dialeval.commands.register import register

    (tmp_path / "file").touch()
    monkeypatch.setattr(registration, "modules_folder", lambda: tmp_path / "file" / "metrics")
    with pytest.raises(dialeval.BadInput, match="could not write to the cache.*Set HF_HOME"):
        register()
