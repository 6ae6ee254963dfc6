"""The leak check: what gives a system away to a judge who does not read for meaning."""

from dialeval.protocols.leaks.report import LeakReport, find_leaks, remedy_for
from dialeval.protocols.leaks.trial import Leak

__all__ = ["Leak", "LeakReport", "find_leaks", "remedy_for"]
