"""A few kills of the campaign `python -m tests.faults.kills`: the rerun equals the unbroken run."""

import pytest

from tests.faults import comparison, kills, material
from tests.faults.snapshots import Recorder, State, spread


@pytest.mark.parametrize(("name", "calls"), [("generate", (6, 9)), ("train", (62,))])
def test_a_killed_run_continues_to_the_same_output(warm, tmp_path, name, calls):
    (tmp_path / "material").mkdir()
    material.write_corpora(tmp_path / "material")
    run = kills.Campaign(name, tmp_path)
    whole, _ = run.record()
    assert whole and run.recorder.inside > max(calls)
    for call in calls:
        unlike, rerun, message = run.killed_at(call)
        assert not unlike and not message
        assert not comparison.difference(whole, rerun)
        rerun, message = run.rerun(run.recorder.before(call))
        assert not message and not comparison.difference(whole, rerun)


def test_the_comparison_sees_a_difference(tmp_path):
    for folder, value in (("a", 0.5), ("b", 0.5000002)):
        (tmp_path / folder).mkdir()
        text = f'{{"value": {value}, "seconds": {value}, "none": NaN}}'
        (tmp_path / folder / "results.json").write_text(text)
    first, second = (comparison.contents(tmp_path / name) for name in ("a", "b"))
    assert "results.json (differs in value)" in comparison.difference(first, second)
    assert not comparison.difference(first, comparison.contents(tmp_path / "a"))
    assert "is left" in comparison.difference(first, {**first, ".x.partial": b""})


def test_every_moment_is_enumerated():
    rng, states = kills.random.Random(0), [State({}, [str(number)]) for number in range(100)]
    assert spread(states[:5], 10, rng) == states[:5]
    drawn = spread(states, 10, rng)
    assert len({state.moment for state in drawn}) == 10


def test_equal_folders_are_one_state_and_a_growing_file_is_cut(tmp_path):
    folder = tmp_path / "case"
    folder.mkdir()
    recorder = Recorder(folder, tmp_path / "store")
    recorder.take("mkdir", 1)
    recorder.take("open", 2)
    (folder / "journal").write_text("one\n")
    recorder.take("rename", 3)
    with (folder / "journal").open("a") as file:
        file.write("two\n")
    recorder.take("remove", 4)
    contents = []
    for number, state in enumerate(recorder.states):
        (tmp_path / str(number)).mkdir()
        recorder.restore(state, tmp_path / str(number))
        path = tmp_path / str(number) / "journal"
        contents.append(path.read_text() if path.exists() else None)
    assert contents == [None, "", "on", "one\n", "one\ntw", "one\ntwo\n"]
    assert recorder.states[0].calls == ["mkdir", "open"]
    assert recorder.before(3).calls == ["rename"] and recorder.inside == 4
    assert recorder.summary(recorder.states) == (
        "all 4 calls, 3 of 3 different folders, and 3 of 3 with a half-written file"
    )
