"""Seeded edits of contexts, each of the kind should-change or should-not-change."""

from dialeval.perturbations.apply import PERTURBATION, Perturbed, edit_contexts, edit_log, perturb
from dialeval.perturbations.base import Edit, Kind, Perturbation, replay
from dialeval.perturbations.compose import Composed, Restricted, Thinned
from dialeval.perturbations.registry import available, perturbation, perturbations

__all__ = [
    "PERTURBATION",
    "Composed",
    "Edit",
    "Kind",
    "Perturbation",
    "Perturbed",
    "Restricted",
    "Thinned",
    "available",
    "edit_contexts",
    "edit_log",
    "perturb",
    "perturbation",
    "perturbations",
    "replay",
]
