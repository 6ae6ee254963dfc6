"""The metric folders as `evaluate` modules: found everywhere, and equal to the pure functions."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
import yaml

import dialeval
from dialeval import metrics, registration
from dialeval.dialogues import Passage, iterate, to_passages
from dialeval.dialogues.types import alternate
from dialeval.metrics.modules import taken
from dialeval.scorers import Decision, save_scorer
from dialeval.scorers.baselines import LengthScorer

ROOT = Path(__file__).resolve().parents[1]
NAMES = ["adversuc", "distinct", "ere", "human_vs_random", "machine_vs_random", "robustness"]
SCENARIOS = ["human_human", "machine_machine", "human_random", "human_next"]


@pytest.fixture(scope="module")
def evaluate():
    import evaluate

    return evaluate


def numbers(n: int = 80) -> dict:
    """Scores that know a little, of as many humans as machines, two dialogues of ten each."""
    rng = np.random.default_rng(7)
    labels = np.tile([1, 0], n // 2)
    scores = np.clip(rng.normal(0.4 + 0.2 * labels, 0.2), 0, 1)
    return {"predictions": scores.tolist(), "references": labels.tolist()}


def cases() -> dict[str, tuple[dict, dict]]:
    """What each module is given, and what its function says to the same."""
    given, n = numbers(), 80
    scores, labels = given.values()
    groups = [f"d{row // 10}" for row in range(n)]
    pairs = [row // 2 for row in range(n)]
    sure = {"groups": groups, "seed": 3, "resamples": 200}
    judged = sure | {"threshold": 0.45}
    scenarios = [name for name in SCENARIOS for _ in range(n // 4)]
    marks = [row % 3 == 0 for row in range(n)]
    replies = [f"word {row % 7} of {row % 3}" for row in range(n)]
    folds = [row // 10 % 2 for row in range(n)]
    chance = metrics.versus_random(scores, labels, candidates=pairs, **judged)
    return {
        "adversuc": (
            given | judged | {"pairs": pairs, "folds": folds},
            metrics.adversuc(scores, labels, pairs=pairs, folds=folds, **judged),
        ),
        "distinct": (
            {"predictions": replies, "repeat_n": 1},
            metrics.distinct(replies, repeat_n=1),
        ),
        "ere": (
            given | judged | {"scenarios": scenarios},
            metrics.ere(scores, labels, scenarios, **judged),
        ),
        "human_vs_random": (given | judged | {"candidates": pairs}, chance),
        "machine_vs_random": (given | judged | {"candidates": pairs}, chance),
        "robustness": (
            {"predictions": scores[::-1], "references": scores, "should_change": marks} | judged,
            metrics.robustness(scores, scores[::-1], marks, **judged),
        ),
    }


# Equal to the functions


@pytest.mark.parametrize("name", NAMES)
def test_a_module_gives_what_its_function_gives(name, evaluate):
    given, expected = cases()[name]
    for metric in (evaluate.load(f"dialeval/{name}"), dialeval.load(name, keep_in_memory=True)):
        assert metric.name == name
        assert metric.compute(**given) == expected
        assert metric.compute(**given) == expected  # nothing is left over from before


@pytest.mark.parametrize("name", NAMES)
def test_an_example_computes_and_its_card_explains_every_key(name, evaluate):
    metric = dialeval.load(name, keep_in_memory=True)
    result = metric.compute(**metric.example)
    json.dumps(result, allow_nan=False)
    card = (registration.scripts()[name].parent / "README.md").read_text(encoding="utf-8")
    assert not [key for key in result if f"`{key}`" not in card]
    assert f'evaluate.load("dialeval/{name}")' in card
    assert metric.citation.replace("\\\\", "\\").strip() in card


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_has_the_header_of_a_space(name):
    folder = registration.scripts()[name].parent
    header = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---")[1])
    assert header["sdk"] == "gradio" and header["app_file"] == "app.py"
    assert {"evaluate", "metric"} <= set(header["tags"])
    assert f"gradio=={header['sdk_version']}" in (ROOT / "constraints.txt").read_text()
    assert len(header["short_description"]) <= 60  # more is refused by the Hub
    assert "dialeval[app]" in (folder / "requirements.txt").read_text().split()


@pytest.mark.parametrize("name", NAMES)
def test_a_script_is_one_that_evaluate_can_read(name):
    """One class, whose name becomes the folder's; absolute imports, one a line, at the top."""
    source = registration.scripts()[name].read_text(encoding="utf-8")
    tree = ast.parse(source)
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    assert [re.sub(r"(?<!^)(?=[A-Z])", "_", each).lower() for each in classes] == [name]
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Import) or len(node.names) == 1
        assert not isinstance(node, ast.ImportFrom) or node.level == 0


# The ways to feed a module


@pytest.mark.parametrize("keep_in_memory", [False, True])
def test_rows_may_come_one_by_one_in_batches_or_at_once(evaluate, keep_in_memory):
    given, whole = numbers(), metrics.adversuc(*numbers().values())
    metric = evaluate.load("dialeval/adversuc", keep_in_memory=keep_in_memory)
    for score, label in zip(*given.values(), strict=True):
        metric.add(prediction=score, reference=label)
    assert metric.compute() == whole
    for rows in (slice(0, 30), slice(30, 80)):
        metric.add_batch(**{key: np.array(column[rows]) for key, column in given.items()})
    assert metric.compute() == whole


def test_two_instances_do_not_mix(evaluate):
    first, second = (evaluate.load("dialeval/adversuc", experiment_id=each) for each in "ab")
    first.add_batch(predictions=[0.9, 0.2], references=[1, 0])
    second.add_batch(predictions=[0.2, 0.9], references=[1, 0])
    assert (first.compute()["adversuc"], second.compute()["adversuc"]) == (0.0, 1.0)


def test_modules_combine_though_their_keywords_differ(evaluate, caplog):
    given, expected = cases()["ere"]
    combined = evaluate.combine(["dialeval/adversuc", "dialeval/ere", "dialeval/human_vs_random"])
    found = combined.compute(**given)
    assert found["ere"] == expected["ere"]
    assert found["adversuc"] == metrics.adversuc(*numbers().values(), threshold=0.45)["adversuc"]
    assert "human_vs_random_accuracy" in found  # a name that two of them have
    assert "adversuc passes over 'scenarios'" in caplog.text


# What goes wrong


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("adversuc", {"predictions": [], "references": []}, "there are no responses"),
        ("adversuc", {"predictions": [0.5]}, "references is missing. Pass it as a list"),
        ("adversuc", {"predictions": [0.5, 1], "references": [1]}, "2 predictions and 1 reference"),
        ("adversuc", {"predictions": [1, 0], "references": [0.9, 0.2]}, "Labels are 1 .* or 0"),
        (
            "adversuc",
            {"predictions": [0.9, 0.2], "references": [1, 1]},
            "all 2 responses are human",
        ),
        ("adversuc", {"predictions": ["a"], "references": [1]}, "could not convert string"),
        ("ere", {"predictions": [0.5], "references": [1]}, "missing: \\['scenarios'\\]"),
        ("distinct", {"predictions": []}, "There are no responses"),
        ("distinct", {"predictions": [3]}, "don't match the expected format"),
        ("robustness", {"predictions": [0.5], "references": [1]}, "Pass should_change=True"),
        ("human_vs_random", {"predictions": [], "references": []}, "there are no responses"),
    ],
)
@pytest.mark.parametrize("keep_in_memory", [False, True])
def test_bad_input_is_told_in_words(name, given, message, keep_in_memory, evaluate):
    metric = evaluate.load(f"dialeval/{name}", keep_in_memory=keep_in_memory)
    with pytest.raises(ValueError, match=message):
        metric.compute(**given)


def test_a_misspelt_keyword_is_not_passed_over(evaluate):
    with pytest.raises(ValueError, match="no keyword 'treshold'. Did you mean 'threshold'"):
        evaluate.load("dialeval/adversuc").compute(**numbers(), treshold=0.9)


def test_a_foreign_keyword_is_passed_over_aloud(caplog):
    assert taken({"average": "macro", "seed": 1}, metrics.ere) == {"seed": 1}
    assert "ere passes over 'average': its keywords are threshold" in caplog.text


def test_unknown_names_list_the_choices(evaluate):
    with pytest.raises(ValueError, match="Choose one of adversuc, distinct, ere, "):
        dialeval.load("adversucc")
    with pytest.raises(ValueError, match="'text'. Choose one of default, texts"):
        evaluate.load("dialeval/adversuc", "text")
    with pytest.raises(ValueError, match="'texts'. Choose one of default"):
        evaluate.load("dialeval/ere", "texts")


# From texts


class Counting:
    """A judge that takes long responses, and those of long contexts, for a machine's."""

    name, higher_is_human, signature = "counting", False, "disc:counting"
    decision = Decision(9.0)

    def __call__(self, passages):
        self.seen = list(iterate(passages))
        return np.array([sum(len(t.text) for t in p.context) + len(p.response) for p in self.seen])


TEXTS = {
    "predictions": ["a very long reply", "short", "so so"],
    "references": ["yes", "a long one", "no"],
    "contexts": [["hi"], ["how", "are you"], ["a"]],
}


def test_texts_are_judged_by_a_scorer_with_its_own_threshold(evaluate):
    judge = Counting()
    found = evaluate.load("dialeval/adversuc", "texts").compute(**TEXTS, discriminator=judge)
    turns = [sum(map(len, context)) for context in TEXTS["contexts"]]
    sides = TEXTS["references"], TEXTS["predictions"]
    scores = [n + len(text) for side in sides for n, text in zip(turns, side, strict=True)]
    settings = {"threshold": 9.0, "higher_is_human": False, "pairs": [0, 1, 2] * 2}
    expected = metrics.adversuc(scores, [1, 1, 1, 0, 0, 0], **settings)
    assert found == expected | {"discriminator": "counting", "signature": "disc:counting"}
    assert [p.author for p in judge.seen] == ["human"] * 3 + ["machine"] * 3
    assert [turn.text for turn in judge.seen[1].context] == ["how", "are you"]


def test_groups_of_texts_are_dialogues(evaluate):
    judge, groups = Counting(), ["x", "y", "x"]
    metric = evaluate.load("dialeval/adversuc", "texts", discriminator=judge)
    assert metric.compute(**TEXTS, groups=groups)["n_groups"] == 2
    assert [p.dialogue_id for p in judge.seen] == groups * 2
    assert metric.compute(**TEXTS, threshold=0)["machines_predicted_human"] == 0.0


def test_a_saved_judge_is_loaded_once_and_kept(evaluate, tmp_path, monkeypatch):
    human, machine = TEXTS["references"], TEXTS["predictions"]
    scorer = LengthScorer([0.5, 0.1, 0, 0], 0.2, [1, 1, 1, 1], [1, 1, 1, 1])
    folder = save_scorer(scorer, tmp_path / "judge")
    calls, load = [], dialeval.scorers.load_scorer
    monkeypatch.setattr(
        "dialeval.scorers.load_scorer", lambda name: calls.append(name) or load(name)
    )
    metric = evaluate.load("dialeval/adversuc", "texts")
    contexts = ["hi", "how are you", "a"]  # one turn each may stand without its list
    given = TEXTS | {"contexts": contexts}
    first = metric.compute(**given, discriminator=str(folder))
    assert metric.compute(**given, discriminator=str(folder)) == first
    assert calls == [str(folder)]
    passages = to_passages(Passage(alternate(["hi"]), text) for text in [*human, *machine])
    expected = metrics.adversuc(scorer(passages), [1, 1, 1, 0, 0, 0], pairs=[0, 1, 2] * 2)
    assert first["adversuc"] == expected["adversuc"] and first["auroc"] == expected["auroc"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "needs a judge, but there is none. Pass discriminator="),
        ({"discriminator": "no/such/folder"}, "expected a folder or a name on the Hub"),
        ({"predictions": [], "references": [], "contexts": []}, "but they are empty"),
        ({"contexts": [["hi"], [], ["a"]], "discriminator": Counting()}, "Row 1 has no human"),
        ({"groups": ["x"], "discriminator": Counting()}, "1 groups for 3 contexts"),
        ({"predictions": ["a"], "references": ["b"]}, "1 predictions, 1 references and 3 contexts"),
    ],
)
def test_bad_texts_are_told_in_words(change, message, evaluate):
    with pytest.raises(ValueError, match=message):
        evaluate.load("dialeval/adversuc", "texts", keep_in_memory=True).compute(**TEXTS | change)


# Registration


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """A folder of modules of its own."""
    monkeypatch.setattr(registration, "modules_folder", lambda: tmp_path / "metrics")
    return tmp_path / "metrics"


def picked(cache: Path, name: str) -> Path:
    """The script that `evaluate` takes: the newest, and an error if a version has none."""
    versions = [path for path in (cache / f"dialeval--{name}").iterdir() if len(path.name) == 64]
    return max((path / f"{name}.py" for path in versions), key=lambda path: path.stat().st_mtime)


def test_every_script_is_registered_once(cache):
    places = registration.register()
    assert list(places) == NAMES
    for name, script in registration.scripts().items():
        assert picked(cache, name) == places[name]
        assert places[name].read_bytes() == script.read_bytes()
        assert [path.name for path in places[name].parents[1].iterdir()] == [
            places[name].parent.name
        ]
    before = {path: path.stat().st_mtime_ns for path in places.values()}
    assert registration.register() == places
    assert {path: path.stat().st_mtime_ns for path in places.values()} == before


def test_the_copy_of_this_installation_is_the_newest(cache):
    ours = registration.register()["adversuc"]
    other = ours.parents[1] / ("0" * 64) / "adversuc.py"
    other.parent.mkdir()
    other.write_text("# a download of tomorrow")
    os.utime(other, (4e9, 4e9))
    assert picked(cache, "adversuc") == other
    assert registration.register()["adversuc"] == ours == picked(cache, "adversuc")


def test_another_version_and_another_script_get_a_copy_of_their_own(cache, monkeypatch, tmp_path):
    first = registration.register()["ere"]
    monkeypatch.setattr(registration, "__version__", "99.0")
    second = registration.register()["ere"]
    script = tmp_path / "ere.py"
    script.write_text("# changed")
    monkeypatch.setattr(registration, "scripts", lambda: {"ere": script})
    third = registration.register()["ere"]
    assert len({first, second, third}) == 3
    assert picked(cache, "ere") == third and third.read_text() == "# changed"


def test_a_version_without_its_script_no_longer_hides_the_others(cache):
    hollow = cache / "dialeval--ere" / ("a" * 64)
    hollow.mkdir(parents=True)
    (hollow / "__init__.py").touch()
    place = registration.register()["ere"]
    assert picked(cache, "ere") == place
    assert not hollow.exists()


def test_many_at_once_leave_one_whole_copy(tmp_path, monkeypatch):
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
            assert picked(cache, name).is_file()
            assert len(list((cache / f"dialeval--{name}").iterdir())) == 1  # no leftovers


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"HF_MODULES_CACHE": "/a/b"}, "/a/b"),
        ({"HF_MODULES_CACHE": "~/b", "HF_HOME": "/c"}, "~/b"),  # taken as it is
        ({"HF_HOME": "~/c"}, "/home/me/c/modules"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/huggingface/modules"),
        ({}, "/home/me/.cache/huggingface/modules"),
    ],
)
def test_the_place_is_the_one_that_evaluate_reads(settings, place, monkeypatch):
    for name in ("HF_MODULES_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (settings | {"HOME": "/home/me"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delitem(sys.modules, "evaluate.config", raising=False)
    assert registration.modules_folder() == Path(place, "evaluate_modules", "metrics")


def test_the_place_is_the_one_that_evaluate_has_read(evaluate, monkeypatch):
    monkeypatch.setenv("HF_MODULES_CACHE", "/somewhere/else")
    expected = Path(evaluate.config.HF_MODULES_CACHE, "evaluate_modules", "metrics")
    assert registration.modules_folder() == expected


# Other processes


def python(
    code: str, folder: Path, home: Path, before: Sequence[str] = (), **variables: str
) -> subprocess.CompletedProcess:
    """Run code in a fresh process with an `HF_HOME` of its own."""
    kept = {key: value for key, value in os.environ.items() if key != "HF_MODULES_CACHE"}
    environment = kept | {"HF_HOME": str(home)} | variables
    command = [*before, sys.executable, "-c", code]
    settings = {"capture_output": True, "text": True, "timeout": 300}
    return subprocess.run(command, cwd=folder, env=environment, **settings)


def answered(done: subprocess.CompletedProcess):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def unprivileged() -> list[str]:
    """What takes from root the right to write where nobody may."""
    if os.geteuid():
        return []
    if not shutil.which("setpriv"):
        pytest.skip("root may write everywhere, and there is no setpriv to forbid it")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def test_a_cache_below_a_file_is_one_warning_at_import(tmp_path):
    (tmp_path / "file").touch()
    done = python("import dialeval", tmp_path, tmp_path / "file")
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == 1
    assert "cannot be written" in done.stderr and "Set HF_HOME or HF_MODULES_CACHE" in done.stderr


def test_a_read_only_cache_is_one_warning_unless_it_is_complete(tmp_path):
    home, code = tmp_path / "home", "import dialeval; print(dialeval.__version__)"
    home.mkdir(mode=0o555)
    done = python(code, tmp_path, home, before=unprivileged())
    assert done.stdout.strip() == dialeval.__version__
    assert len(done.stderr.splitlines()) == 1 and "cannot be written" in done.stderr
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
found = {{name: module.compute(**module.example) for name, module in modules.items()}}
child = os.fork()  # two ranks of one evaluation
rank = int(child == 0)
shared = {{"num_process": 2, "process_id": rank, "experiment_id": "both"}}
half = {{key: column[rank::2] for key, column in given.items()}}
both = evaluate.load("dialeval/adversuc", **shared).compute(**half)
if rank:
    os._exit(0 if both is None else 1)
assert os.waitpid(child, 0)[1] == 0
print(json.dumps([found, both]))
"""


def test_names_load_from_the_checkout_without_importing_dialeval(evaluate, tmp_path):
    found, both = answered(python(AT_THE_ROOT, ROOT, tmp_path / "home"))
    for name in NAMES:
        metric = dialeval.load(name, keep_in_memory=True)
        assert found[name] == metric.compute(**metric.example)
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
    found = {{name: module.compute(**module.example) for name, module in modules.items()}}
    answers.put([sys.modules["dialeval"].__file__, found])
together, answers = context.Barrier(6), context.Queue()
processes = [context.Process(target=work, args=(together, answers)) for _ in range(6)]
[process.start() for process in processes]
found = [answers.get(timeout=100) for _ in processes]
[process.join() for process in processes]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder with the contents of the wheel, as an installation has them."""
    tree, output = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("installed")
    for name in ("dialeval", "cards", "setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
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
    answers = answered(done)
    assert len(answers) == 6
    for file, found in answers:
        assert Path(file).is_relative_to(installed)
        for name in NAMES:
            metric = dialeval.load(name, keep_in_memory=True)
            assert found[name] == metric.compute(**metric.example)


def test_the_command_tells_where_the_modules_are(cache, capsys):
    from dialeval.commands.register import register

    register()
    told = capsys.readouterr().out.splitlines()
    assert len(told) == len(NAMES)
    for line, name in zip(told, NAMES, strict=True):
        assert line.startswith(f'evaluate.load("dialeval/{name}")')
        assert Path(line.split(maxsplit=1)[1]).is_file()


def test_the_command_says_that_a_cache_cannot_be_written(tmp_path, monkeypatch):
    from dialeval.commands.register import register

    (tmp_path / "file").touch()
    monkeypatch.setattr(registration, "modules_folder", lambda: tmp_path / "file" / "metrics")
    with pytest.raises(dialeval.BadInput, match="cannot be written.*Set HF_HOME"):
        register()
