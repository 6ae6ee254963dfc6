"""Scoring by two processes against one, through `accelerate launch`, one thread each.

The ratio is that of CPU seconds: those of the single process over those of the slower of the two.
On two idle cores that is the speed-up by the clock; on a busy machine the clock says nothing.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

PASSAGES = 600


def main(sizes: tuple[int, ...] = (PASSAGES,)) -> dict[int, dict[str, float]]:
    """Print and return the ratio by number of passages."""
    ratios = {}
    for size in sizes:
        single, double = (max(launch(count, size)) for count in (1, 2))
        ratios[size] = {"one process": single / double}
        Console().print(f"{size:,} passages: {single:.1f} s, {double:.1f} s, {single / double:.2f}")
    return ratios


def launch(processes: int, passages: int) -> list[float]:
    """CPU seconds of scoring in each process."""
    several = ["--multi_gpu"] if processes > 1 else []
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "accelerate.commands.launch", *several, "--num_processes",
            str(processes), "--main_process_port", "0", "--module", "benchmarks.processes",
            folder, str(passages),
        ]  # fmt: skip
        environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        return [json.loads(path.read_text()) for path in Path(folder).glob("*.json")]


def score(folder: str, passages: int) -> None:
    """Score in this process's share, and write its CPU seconds."""
    import torch
    from accelerate import Accelerator

    from benchmarks.scoring import make
    from dialeval.dialogues.encoding import input_format
    from dialeval.scorers.neural import NeuralScorer

    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    made, model, tokenizer = make(passages)
    scorer = NeuralScorer(
        model, tokenizer, input_format("encoder"), device="cpu", accelerator=accelerator
    )
    scorer(made[:32])
    start = time.process_time()
    scorer(made)
    seconds = time.process_time() - start
    (Path(folder) / f"{accelerator.process_index}.json").write_text(json.dumps(seconds))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        score(sys.argv[1], int(sys.argv[2]))
    else:
        main()
