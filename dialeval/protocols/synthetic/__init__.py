"""A world in which the best possible accuracy is known, to test the measure itself."""

from dialeval.protocols.synthetic.study import Planted, Trial, planted_trial, run_trial
from dialeval.protocols.synthetic.summary import Summary, planted_rates, summarise
from dialeval.protocols.synthetic.worlds import KINDS, World

__all__ = [
    "KINDS",
    "Planted",
    "Summary",
    "Trial",
    "World",
    "planted_rates",
    "planted_trial",
    "run_trial",
    "summarise",
]
