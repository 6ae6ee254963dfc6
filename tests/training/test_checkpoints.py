"""Checkpoints: complete ones only, at whatever moment a run ends."""

import shutil

import pytest
import torch

from dialeval import files
from dialeval.dialogues import BadInput
from dialeval.files import atomic_dir, last_complete
from dialeval.training.checkpoints import read_state, write_state


class Killed(BaseException):
    """Stands for the end of the process: nothing catches it."""


def trained(seed: int, steps: int = 3) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(steps):
        step(model, optimizer)
    return model, optimizer


def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    model(torch.ones(1, 3)).square().sum().backward()
    optimizer.step()


def write(folder, text: str) -> None:
    with atomic_dir(folder) as partial:
        (partial / "a").write_text(text)
        (partial / "b").write_text(text)


def read(folder) -> str | None:
    complete = last_complete(folder)
    if complete is None:
        return None
    one, other = ((complete / name).read_text() for name in "ab")
    assert one == other
    return one


def test_a_state_goes_on_exactly(tmp_path):
    model, optimizer = trained(0)
    write_state(tmp_path / "state", dict(model.named_parameters()), optimizer, {"step": 3})
    other, fresh = trained(1, 0)
    weights, progress = read_state(tmp_path / "state", fresh)
    other.load_state_dict(weights)
    assert progress == {"step": 3}
    for _ in range(4):
        step(model, optimizer)
        step(other, fresh)
    assert torch.equal(model.weight, other.weight)


def test_a_state_may_have_no_moments_yet(tmp_path):
    model, optimizer = trained(0, 0)
    write_state(tmp_path / "state", dict(model.named_parameters()), optimizer)
    _, fresh = trained(1)
    weights, progress = read_state(tmp_path / "state", fresh)
    assert progress == {} and not fresh.state
    assert torch.equal(weights["weight"], model.weight)


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "progress.json"])
def test_what_a_state_lacks_is_named(tmp_path, name):
    model, optimizer = trained(0)
    write_state(tmp_path / "state", dict(model.named_parameters()), optimizer)
    (tmp_path / "state" / name).unlink()
    with pytest.raises(BadInput, match=f"lacks {name}"):
        read_state(tmp_path / "state", optimizer)


def test_folders_replace_each_other(tmp_path):
    assert read(tmp_path / "point") is None
    write(tmp_path / "point", "one")
    write(tmp_path / "point", "two")
    assert read(tmp_path / "point") == "two"
    assert [path.name for path in tmp_path.iterdir()] == ["point"]


def test_a_folder_that_is_not_completed_changes_nothing(tmp_path):
    write(tmp_path / "point", "one")
    with pytest.raises(Killed), atomic_dir(tmp_path / "point") as partial:
        (partial / "a").write_text("two")
        raise Killed
    assert read(tmp_path / "point") == "one"
    write(tmp_path / "point", "three")
    assert read(tmp_path / "point") == "three"


@pytest.mark.parametrize("first", range(8))
@pytest.mark.parametrize("second", range(8))
def test_two_kills_in_a_row_never_lose_the_last_folder(tmp_path, monkeypatch, first, second):
    """The process ends before the nth rename or removal, is started again, and ends again."""
    write(tmp_path / "point", "0")
    replace, remove = files.os.replace, shutil.rmtree
    complete = 0
    for number, moment in enumerate((first, second), 1):
        left = iter([*[False] * moment, *[True] * 99])

        def before(real, left=left):
            def call(*arguments, **settings):
                if next(left):
                    raise Killed
                return real(*arguments, **settings)

            return call

        monkeypatch.setattr(files.os, "replace", before(replace))
        monkeypatch.setattr(files.shutil, "rmtree", before(remove))
        try:
            write(tmp_path / "point", str(number))
            complete = number
        except Killed:
            pass
        monkeypatch.setattr(files.os, "replace", replace)  # the next process
        monkeypatch.setattr(files.shutil, "rmtree", remove)
        version = int(read(tmp_path / "point"))
        assert complete <= version <= number
        complete = version
    monkeypatch.undo()
    write(tmp_path / "point", "3")
    assert read(tmp_path / "point") == "3"
    assert [path.name for path in tmp_path.iterdir()] == ["point"]
