"""Compute tables and write docs/results.md: `python -m benchmarks.results [--quick] [NAMES]`.

Parts that are finished are kept. `--only TEXT` computes the parts whose name contains it, so that a
table can be computed by several processes.
"""

import argparse

from benchmarks.results.config import load_configs
from benchmarks.results.page import PAGE, write_page
from benchmarks.results.runner import QUICK, result_path, run_table
from benchmarks.results.store import TableResult
from dialeval.config import plain_errors
from dialeval.errors import BadInput
from dialeval.terminal import SafeConsole
from dialeval.training.cores import use_cores


def main(argv: list[str] | None = None) -> None:
    """Run the tables that are named, or all of them, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.results", description=__doc__)
    parser.add_argument("names", nargs="*", help="Tables, by the names of their configs.")
    parser.add_argument("--quick", action="store_true", help="Small sizes; minutes in all.")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT",
                        help="Parts whose name contains this. Repeatable.")  # fmt: skip
    parser.add_argument("--page", action="store_true", help="Only write the page.")
    given = parser.parse_args(argv)
    configs = load_configs()
    unknown = sorted(set(given.names) - configs.keys())
    if unknown:
        raise BadInput(
            f"unknown tables {', '.join(unknown)}.", hint=f"Choose from {', '.join(configs)}."
        )
    console = SafeConsole(stderr=True)
    for name in [] if given.page else given.names or configs:
        run_table(
            configs[name], given.quick, lambda text: console.print(text, markup=False), given.only
        )
    paths = {name: result_path(config, given.quick) for name, config in configs.items()}
    results = {name: TableResult.load(path) for name, path in paths.items() if path.is_file()}
    page = QUICK / "results.md" if given.quick else PAGE
    write_page(configs.values(), results, page)
    console.print(f"Page: {page}", markup=False)


if __name__ == "__main__":
    plain_errors()
    use_cores()
    main()
