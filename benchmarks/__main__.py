"""Run the benchmarks: `python -m benchmarks [NAME ...]`."""

import sys
from importlib import import_module
from pathlib import Path

NAMES = sorted(
    path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_")
)

for name in sys.argv[1:] or NAMES:
    if name not in NAMES:
        sys.exit(f"Unknown benchmark {name!r}. Choose one of {', '.join(NAMES)}.")
    import_module(f"benchmarks.{name}").main()
