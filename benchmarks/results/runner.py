"""Compute what is missing of each table, part by part."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.results.config import TableConfig, shared_data
from benchmarks.results.store import PartResult, TableParts, TableResult
from dialeval.metrics.results import versions

PUBLISHED = Path(__file__).parent / "published"
QUICK = Path("runs/results/quick")
WORK = Path("runs/results/work")
"""Folders of training and evaluation runs, whose own caches make parts resumable."""


def result_path(config: TableConfig, quick: bool) -> Path:
    """The JSON of a table; quick runs do not touch the published one."""
    return (QUICK if quick else PUBLISHED) / f"{config.name}.json"


def run_table(
    config: TableConfig,
    quick: bool,
    on_progress: Callable[[str], Any],
    only: Sequence[str] = (),
) -> bool:
    """Compute the parts of a table that are not finished.

    Args:
        config (`TableConfig`):
            The table.
        quick (`bool`):
            Whether the quick settings apply.
        on_progress (`Callable`):
            Called with messages.
        only (`Sequence[str]`, *optional*):
            Only parts whose name contains one of these; all by default.

    Returns:
        `bool`: Whether there was anything to compute with; `False` where data are missing.
    """
    missing = config.missing(quick)
    if missing:
        on_progress(f"{config.name}: skipped, {', '.join(missing)} not in {shared_data()}")
        return False
    table = make_parts(config, quick)
    path = result_path(config, quick)
    result = resume(config, table, quick, path, on_progress)
    for name in result.missing:
        if only and not any(text in name for text in only):
            continue
        on_progress(f"{config.name}: {name}")
        start = time.perf_counter()
        rows = table.parts[name]()
        seconds = round(time.perf_counter() - start, 1)
        today = datetime.now(timezone.utc).date().isoformat()
        # Another process may have finished a part meanwhile.
        result = resume(config, table, quick, path)
        result.parts[name] = PartResult(rows, today, seconds, dict(versions()))
        result.save(path)
    return True


def make_parts(config: TableConfig, quick: bool) -> TableParts:
    """The parts of a table, not yet computed."""
    module, function = config.table.split(":")
    work = WORK / ("quick" if quick else "full") / config.name
    make = getattr(import_module(f"benchmarks.results.tables.{module}"), function)
    return make(shared_data(), work, **config.settings_of(quick))


def resume(
    config: TableConfig,
    table: TableParts,
    quick: bool,
    path: Path,
    on_progress: Callable[[str], Any] = lambda _: None,
) -> TableResult:
    """The stored result with its finished parts, or an empty one where the settings differ.

    Args:
        config (`TableConfig`):
            The table.
        table (`TableParts`):
            Its parts.
        quick (`bool`):
            Whether the quick settings apply.
        path (`Path`):
            The JSON.
        on_progress (`Callable`, *optional*):
            Called with a message where results are dropped.

    Returns:
        `TableResult`: To be completed.
    """
    option = " --quick" if quick else ""
    command = f"python -m benchmarks.results{option} {config.name}"
    settings = json.loads(json.dumps(config.settings_of(quick)))
    fresh = TableResult(config.name, command, settings, table.columns, list(table.parts))
    if not path.is_file():
        return fresh
    stored = TableResult.load(path)
    if stored.columns != table.columns or not _same_parts(stored.settings, settings, config):
        on_progress(f"{config.name}: settings have changed, so its parts are computed again")
        return fresh
    finished = {name: stored.parts[name] for name in table.parts if name in stored.parts}
    fresh.parts.update(finished)
    return fresh


def _same_parts(
    stored: Mapping[str, Any], settings: Mapping[str, Any], config: TableConfig
) -> bool:
    """Whether parts of stored settings are parts of these: only lists of parts may differ.

    An entry of a mapping, as a corpus and its path, must be the same where both have it.
    """
    if stored.keys() != settings.keys():
        return False
    for name, value in settings.items():
        before = stored[name]
        if name in config.parts_by and isinstance(value, dict):
            if any(before[key] != value[key] for key in before.keys() & value.keys()):
                return False
        elif name not in config.parts_by and before != value:
            return False
    return True
