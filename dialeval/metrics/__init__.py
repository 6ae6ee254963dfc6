"""Room 7. Metrics: numbers from scores, their intervals and tests."""

from dialeval.metrics.registry import available, load
from dialeval.metrics.significance import bootstrap_ratios, exchange_test, holm, sign_flip_test

__all__ = ["available", "bootstrap_ratios", "exchange_test", "holm", "load", "sign_flip_test"]
