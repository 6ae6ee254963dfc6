"""Refuse large files: data and weights belong in packages, not in the repository."""

import sys
from pathlib import Path

LIMIT = 400_000


def large_files(names: list[str]) -> list[str]:
    """Those that are larger than the limit."""
    return [name for name in names if Path(name).is_file() and Path(name).stat().st_size > LIMIT]


if __name__ == "__main__":
    large = large_files(sys.argv[1:])
    for name in large:
        print(f"{name} has {Path(name).stat().st_size:,} bytes, at most {LIMIT:,} are allowed.")
    sys.exit(bool(large))
