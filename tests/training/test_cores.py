"""Threads of a process that was started by a launcher."""

import pytest
import torch

from dialeval.training import cores


@pytest.fixture
def machine(monkeypatch):
    """Eight cores, and torch's threads put back afterwards."""
    before = torch.get_num_threads()
    for name in (cores.THREADS, "ACCELERATE_DYNAMO_BACKEND", "LOCAL_WORLD_SIZE", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cores, "cores", lambda: 8)
    torch.set_num_threads(1)
    yield monkeypatch.setenv
    torch.set_num_threads(before)


def test_a_launched_process_takes_its_share_of_the_cores(machine):
    machine("OMP_NUM_THREADS", "1")
    machine("ACCELERATE_DYNAMO_BACKEND", "NO")
    assert cores.use_cores() == 8
    machine("LOCAL_WORLD_SIZE", "2")
    assert cores.use_cores() == 4
    machine("LOCAL_WORLD_SIZE", "16")
    assert cores.use_cores() == 1


def test_a_number_that_was_asked_for_stays(machine):
    machine("ACCELERATE_DYNAMO_BACKEND", "NO")
    machine("OMP_NUM_THREADS", "3")
    assert cores.use_cores() == 1  # torch has read it by itself at its start
    machine("OMP_NUM_THREADS", "1")
    machine(cores.THREADS, "2")
    assert cores.use_cores() == 2


def test_without_a_launcher_torch_decides(machine):
    machine("OMP_NUM_THREADS", "1")
    assert cores.use_cores() == 1
