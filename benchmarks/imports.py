"""Start-up time of the package and the command, compared with `import transformers`."""

import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import dialeval": [sys.executable, "-c", "import dialeval"],
    "dialeval --help": [str(Path(sys.executable).with_name("dialeval")), "--help"],
    "import datasets": [sys.executable, "-c", "import datasets"],
    "import transformers": [sys.executable, "-c", "import transformers"],
}
TARGETS = {"import dialeval": 0.3, "dialeval --help": 0.7}


def main(rounds: int = 7) -> dict[str, float]:
    """Print the fastest of several interleaved rounds; returns ratios to `import dialeval`."""
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(rounds):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            best[name] = min(best[name], time.perf_counter() - start)
    table = Table("command", "seconds", "target", "of import transformers", title="Start-up")
    for name, seconds in best.items():
        target = f"< {TARGETS[name]}" if name in TARGETS else ""
        table.add_row(
            name, f"{seconds:.3f}", target, f"{seconds / best['import transformers']:.2f}"
        )
    Console().print(table)
    return {name: seconds / best["import dialeval"] for name, seconds in best.items()}


if __name__ == "__main__":
    main()
