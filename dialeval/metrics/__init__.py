"""Metrics: numbers from scores, their intervals and significance tests.

Functions import scipy where they need it: a command that refuses its input needs none of it, and
scipy.stats takes longer to load than everything else here.
"""

from dialeval.metrics.adversuc import adversuc, auroc, tpr_at_fpr
from dialeval.metrics.distinct import distinct
from dialeval.metrics.ere import ere
from dialeval.metrics.intervals import balanced_interval, interval, ratio_interval
from dialeval.metrics.lengths import length_auroc, match_histogram, stratified_accuracy
from dialeval.metrics.paired import approximate_randomisation, mcnemar, paired_bootstrap
from dialeval.metrics.power import minimum_detectable, planted_power
from dialeval.metrics.random_replies import versus_random
from dialeval.metrics.registry import available, load
from dialeval.metrics.relevance import relevance
from dialeval.metrics.results import Result, results_to_json, signature
from dialeval.metrics.robustness import robustness
from dialeval.metrics.share_intervals import wilson
from dialeval.metrics.significance import exchange_test, holm, sign_flip_test
from dialeval.metrics.training_variance import with_seed_variance

__all__ = [
    "Result",
    "adversuc",
    "approximate_randomisation",
    "auroc",
    "available",
    "balanced_interval",
    "distinct",
    "ere",
    "exchange_test",
    "holm",
    "interval",
    "length_auroc",
    "load",
    "match_histogram",
    "mcnemar",
    "minimum_detectable",
    "paired_bootstrap",
    "planted_power",
    "ratio_interval",
    "relevance",
    "results_to_json",
    "robustness",
    "sign_flip_test",
    "signature",
    "stratified_accuracy",
    "tpr_at_fpr",
    "versus_random",
    "wilson",
    "with_seed_variance",
]
