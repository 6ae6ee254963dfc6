"""Settings of a discriminator's training, and how an evaluator's registry entry changes them."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from dialeval.scorers.registry import EVALUATORS
from dialeval.settings.training import DiscriminatorConfig, DiscriminatorRun

Settings = TypeVar("Settings")


def apply_settings(config: Settings, settings: Mapping[str, Any]) -> Settings:
    """A copy of a dataclass with those of the settings that it has."""
    names = {item.name for item in fields(config)}  # type: ignore[arg-type]  # any dataclass
    changes = {name: value for name, value in settings.items() if name in names}
    return replace(config, **changes)  # type: ignore[type-var]  # any dataclass


def evaluator_settings(
    name: str, run: DiscriminatorRun, config: DiscriminatorConfig
) -> tuple[DiscriminatorRun, DiscriminatorConfig]:
    """Settings of a run with those that the registry has for an evaluator.

    Args:
        name (`str`):
            Registered name, or `package.module:object`.
        run (`DiscriminatorRun`):
            What is trained, on what.
        config (`DiscriminatorConfig`):
            Settings of the trainer.

    Returns:
        `tuple[DiscriminatorRun, DiscriminatorConfig]`: Copies of both.
    """
    options = EVALUATORS.find(name).options
    return apply_settings(run, {"model": name, **options}), apply_settings(config, options)
