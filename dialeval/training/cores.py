"""Threads of a process that a launcher limited to one."""

import os

import torch

THREADS = "DIALEVAL_THREADS"
"""Environment variable: number of threads of a process, overriding the launcher."""


def use_cores() -> int:
    """Let torch use this process's share of the cores; returns the number of threads.

    `accelerate launch` sets one thread per process by default, even for a single process. Another
    number is kept; 1 is indistinguishable from that default: set `DIALEVAL_THREADS=1` instead.
    """
    if os.environ.get(THREADS, "").isdigit():
        torch.set_num_threads(max(1, int(os.environ[THREADS])))
    elif _has_launcher_default():
        torch.set_num_threads(max(1, cores() // int(os.environ.get("LOCAL_WORLD_SIZE", 1))))
    return torch.get_num_threads()


def _has_launcher_default() -> bool:
    launched = "ACCELERATE_DYNAMO_BACKEND" in os.environ or "LOCAL_WORLD_SIZE" in os.environ
    return launched and os.environ.get("OMP_NUM_THREADS") == "1"


def cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
