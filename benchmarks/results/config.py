"""Configs of the tables, one YAML file each."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from dialeval.errors import BadInput

FOLDER = Path(__file__).parent / "configs"


@dataclass(frozen=True)
class TableConfig:
    """One table of the page.

    Args:
        name (`str`):
            Name of the file.
        order (`float`):
            Where it stands on the page.
        title (`str`):
            Its heading.
        about (`str`):
            What it shows, before the table.
        table (`str`):
            Function in `benchmarks.results.tables` that makes its parts, as `module:function`.
        settings (`Mapping`):
            Keywords of that function.
        quick (`Mapping`, *optional*):
            Keywords that replace them in a quick run.
        needs (`list[str]`, *optional*):
            Folders of the shared data.
        needs_quick (`list[str]`, *optional*):
            The same for a quick run.
        paper (`list[list[str]]`, *optional*):
            Rows of the paper: a heading, then its numbers.
        differences (`str`, *optional*):
            Why these numbers differ from the paper's.
        parts_by (`list[str]`, *optional*):
            Settings that list what has a part of its own, so that a longer list keeps the parts
            that are finished.
    """

    name: str
    order: float
    title: str
    about: str
    table: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    needs: list[str] = field(default_factory=list)
    needs_quick: list[str] = field(default_factory=list)
    paper: list[list[str]] = field(default_factory=list)
    differences: str = ""
    parts_by: list[str] = field(default_factory=list)

    def settings_of(self, quick: bool) -> dict[str, Any]:
        """Keywords of the function that makes the parts."""
        return {**self.settings, **(self.quick if quick else {})}

    def missing(self, quick: bool) -> list[str]:
        """Folders that are needed and do not exist."""
        names = self.needs_quick if quick else self.needs
        return [name for name in names if not (shared_data() / name).exists()]


def shared_data() -> Path:
    """The folder with real corpora, which are not part of the project."""
    return Path(os.environ.get("DIALEVAL_SHARED_DATA", "../shared/data"))


def load_configs(folder: Path = FOLDER) -> dict[str, TableConfig]:
    """Every config by name, in the order of the page."""
    configs = [_load(path) for path in folder.glob("*.yaml")]
    return {config.name: config for config in sorted(configs, key=lambda config: config.order)}


def _load(path: Path) -> TableConfig:
    values = yaml.safe_load(path.read_text(encoding="utf-8"))
    known = {item.name for item in fields(TableConfig)}
    unknown = sorted(set(values) - known)
    if unknown:
        raise BadInput(f"unknown keys {', '.join(unknown)}.", path)
    return TableConfig(name=path.stem, **values)
