"""Cores for a run that a launcher left with one."""

import os

import torch

THREADS = "DIALEVAL_THREADS"
"""Environment variable: how many cores a process takes, whatever the launcher said."""


def use_cores() -> int:
    """Let torch use this process's share of the cores; gives how many threads it has then.

    `accelerate launch` allows one thread to each process unless it is told otherwise, even where
    a single process has the machine for itself. A number that was asked for is left alone, except
    1, which cannot be told from that default: ask for it by `DIALEVAL_THREADS=1`.
    """
    if os.environ.get(THREADS, "").isdigit():
        torch.set_num_threads(max(1, int(os.environ[THREADS])))
    elif _was_left_with_one():
        torch.set_num_threads(max(1, cores() // int(os.environ.get("LOCAL_WORLD_SIZE", 1))))
    return torch.get_num_threads()


def _was_left_with_one() -> bool:
    launched = "ACCELERATE_DYNAMO_BACKEND" in os.environ or "LOCAL_WORLD_SIZE" in os.environ
    return launched and os.environ.get("OMP_NUM_THREADS") == "1"


def cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
