"""Run benchmarks and write docs/performance.md: `python -m benchmarks [--page] [NAME ...]`."""

import sys
from importlib import import_module
from pathlib import Path

from benchmarks._lines import to_section, write_page

NAMES = sorted(
    path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_")
)


def main(names: list[str]) -> None:
    """Measure, store what has ratios, and write the page."""
    for name in names:
        if name not in NAMES:
            sys.exit(f"Unknown benchmark {name!r}. Choose one of {', '.join(NAMES)}.")
    for name in names:
        measured = import_module(f"benchmarks.{name}").main()
        to_section(name, measured).save()
    write_page()


if __name__ == "__main__":
    given = sys.argv[1:]
    main([] if given == ["--page"] else given or NAMES)
