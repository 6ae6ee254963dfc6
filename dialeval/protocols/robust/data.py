"""Passages to train, validate and test on."""

import logging
import os
from dataclasses import replace
from pathlib import Path

from dialeval.dialogues import BadInput, Passages
from dialeval.dialogues.splits import subsample
from dialeval.settings.robust import RobustRun
from dialeval.training.generator import make_parts, read_human

logger = logging.getLogger(__name__)

UBUNTU = "ubuntu"
_SHARED = "DIALEVAL_SHARED_DATA"
_THREADS = "ubuntu_irc"


def with_files(run: RobustRun) -> RobustRun:
    """The run with files in place of `ubuntu`; without these the embedded chats take over."""
    if UBUNTU not in (*run.data, *run.test_data):
        return run
    folder = Path(os.environ.get(_SHARED) or Path("..") / "shared" / "data") / _THREADS
    if not folder.is_dir():
        logger.warning("No Ubuntu threads (set %s): using the embedded chats.", _SHARED)
        return replace(run, data=["chitchat"], test_data=[])
    files = [str(folder / name) for name in ("train.jsonl", "test.jsonl", "dev.jsonl")]
    data = [file for name in run.data for file in (files[:1] if name == UBUNTU else [name])]
    test = [file for name in run.test_data for file in (files[1:] if name == UBUNTU else [name])]
    return replace(run, data=data, test_data=test)


def robust_parts(run: RobustRun, seed: int) -> dict[str, Passages]:
    """Passages for training, validation and test that share no dialogue, under any id."""
    parts = make_parts(run, seed)
    if run.test_data:
        passages = read_human(run, run.test_data, run.data)
        if not len(passages):
            hint = "Give other --test_data, or lower --min_response."
            raise BadInput("no passage is left to test on.", run.test_data[0], hint=hint)
        parts["test"] = subsample(passages, run.max_eval_passages, seed)
    return parts
