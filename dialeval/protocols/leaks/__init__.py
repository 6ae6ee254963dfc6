"""The leak check: format and style traits that distinguish a system without its meaning."""

from dialeval.metrics.leak_results import Leak, LeakReport
from dialeval.protocols.leaks.report import find_leaks, normaliser_for

__all__ = ["Leak", "LeakReport", "find_leaks", "normaliser_for"]
