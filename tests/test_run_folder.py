"""One folder, one run: continued, refused or replaced, and never half written."""

import json
import multiprocessing

import pytest
from accelerate import Accelerator

from dialeval.errors import BadInput
from dialeval.files import atomic_dir, atomic_write, atomic_write_text, last_complete
from dialeval.run_folder import RunFolder


def other_seed(old, new) -> str:
    return "" if old.get("seed") == new["seed"] else f"it had the seed {old.get('seed')}"


def test_an_empty_folder_and_the_same_run_are_accepted(tmp_path):
    folder = RunFolder(tmp_path / "run")
    assert folder.previous() is None
    assert folder.check({"seed": 0}, other_seed) is False
    folder.write_json("run.json", {"seed": 0})
    assert folder.check({"seed": 0}, other_seed) is False


def test_another_run_is_refused_with_its_difference_unless_it_may_be_replaced(tmp_path):
    folder = RunFolder(tmp_path)
    folder.write_json("run.json", {"seed": 1})
    with pytest.raises(BadInput, match="another run wrote here: it had the seed 1. Choose another"):
        folder.check({"seed": 0}, other_seed)
    assert folder.check({"seed": 0}, other_seed, overwrite=True) is True
    (tmp_path / "cache").mkdir()
    folder.remove(["run.json", "cache", "never-there"])
    assert list(tmp_path.iterdir()) == []


def test_a_study_is_begun_once_and_then_resumed_with_its_settings(tmp_path):
    folder, accelerator = RunFolder(tmp_path / "run", "settings.json"), Accelerator(cpu=True)
    folder.begin({"seed": 0, "n": 5}, False, accelerator)
    assert folder.read_json("settings.json") == {"seed": 0, "n": 5}
    with pytest.raises(BadInput, match="a study with these settings was started here. Continue it"):
        folder.begin({"seed": 0, "n": 5}, False, accelerator)
    folder.begin({"seed": 0, "n": 5}, True, accelerator)
    for resume in (False, True):
        with pytest.raises(BadInput, match="settings differ in n, seed. Choose another"):
            folder.begin({"seed": 1}, resume, accelerator)


@pytest.mark.parametrize("content", ["", "[1]", "not json", '{"other": 1}', '{"settings": 3}'])
def test_an_unreadable_manifest_is_another_run(tmp_path, content):
    (tmp_path / "results.json").write_text(content)
    folder = RunFolder(tmp_path, "results.json", key="settings")
    assert folder.previous() == {}
    with pytest.raises(BadInput, match="another run wrote here"):
        folder.check({"seed": 0}, other_seed)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "run").write_text("x")
    with pytest.raises(BadInput, match="expected a folder for the results, but this is a file"):
        RunFolder(tmp_path / "run").check({}, other_seed)


def test_a_value_is_computed_once(tmp_path):
    folder, calls = RunFolder(tmp_path), []
    values = [folder.cached_json("key", lambda: calls.append(1) or {"p": 0.1}) for _ in range(2)]
    assert values == [{"p": 0.1}] * 2
    assert calls == [1]


@pytest.mark.parametrize("name", ["../x.json", "/etc/x.json", "a/../../x"])
def test_no_name_leads_out_of_the_folder(tmp_path, name):
    with pytest.raises(ValueError, match="inside the run folder"):
        RunFolder(tmp_path).write_json(name, {})


def _try_to_lock(path, answers):
    try:
        with RunFolder(path).lock():
            answers.put("locked")
    except BadInput as error:
        answers.put(str(error))


def test_a_second_process_is_kept_out_while_the_first_writes(tmp_path):
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()

    def second() -> str:
        process = context.Process(target=_try_to_lock, args=(tmp_path, answers))
        process.start()
        process.join()
        return answers.get(timeout=10)

    with RunFolder(tmp_path).lock():
        assert "another process is writing here" in second()
    assert second() == "locked"


def test_a_file_appears_only_when_it_is_complete(tmp_path):
    path = tmp_path / "deep" / "x.json"
    with pytest.raises(RuntimeError), atomic_write(path) as file:
        file.write("half")
        raise RuntimeError
    assert list(path.parent.iterdir()) == []
    assert json.loads(atomic_write_text(path, "[1]").read_text()) == [1]


def test_a_folder_is_replaced_in_one_step_and_survives_a_kill_between_renames(tmp_path):
    folder = tmp_path / "checkpoint"
    for content in ("old", "new"):
        with atomic_dir(folder) as partial:
            (partial / "x").write_text(content)
    assert (folder / "x").read_text() == "new"
    folder.rename(tmp_path / ".checkpoint.old")
    assert (last_complete(folder) / "x").read_text() == "new"
    with pytest.raises(RuntimeError), atomic_dir(folder):
        raise RuntimeError
    assert (last_complete(folder) / "x").read_text() == "new"
