"""A few kills of the campaign `python -m tests.faults.kills`: the rerun equals the unbroken run."""

import pytest

from tests.faults import kills, material


@pytest.mark.parametrize(("name", "calls"), [("generate", (6, 9)), ("train", (62,))])
def test_a_killed_run_continues_to_the_same_output(warm, tmp_path, name, calls):
    (tmp_path / "material").mkdir()
    material.write_corpora(tmp_path / "material")
    run = kills.Campaign(name, tmp_path)
    whole, count, _ = run.whole()
    assert whole and count > max(calls)
    for call in calls:
        was_killed, rerun, message = run.killed_at(call)
        assert was_killed and not message
        assert not kills.difference(whole, rerun)


def test_the_comparison_sees_a_difference(tmp_path):
    for folder, value in (("a", 0.5), ("b", 0.5000002)):
        (tmp_path / folder).mkdir()
        text = f'{{"value": {value}, "seconds": {value}, "none": NaN}}'
        (tmp_path / folder / "results.json").write_text(text)
    first, second = (kills.contents(tmp_path / name) for name in ("a", "b"))
    assert "results.json (differs in value)" in kills.difference(first, second)
    assert not kills.difference(first, kills.contents(tmp_path / "a"))
    assert "is left" in kills.difference(first, {**first, ".x.partial": b""})


def test_every_moment_is_enumerated():
    rng = kills.random.Random(0)
    assert kills.moments(5, 10, rng) == [1, 2, 3, 4, 5]
    drawn = kills.moments(100, 10, rng)
    assert len(set(drawn)) == 10 and min(drawn) >= 1 and max(drawn) <= 100
