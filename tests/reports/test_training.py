"""What a training says at its end."""

import pytest

from dialeval.metrics.results import Result
from dialeval.metrics.training_results import TrainingResults
from dialeval.reports.training import generator_table

LATENT = {"kl": 2.5, "active_units": 9.0}


@pytest.mark.parametrize(("further", "words"), [({}, ""), (LATENT, "at most ")])
def test_the_perplexity_of_a_model_with_a_latent_variable_is_a_bound(further, words):
    nan, numbers = float("nan"), {"perplexity": 31.54, **further}
    rows = (Result(name, "", "", number, nan, nan, 80, "s") for name, number in numbers.items())
    title = generator_table(TrainingResults(results=tuple(rows), parameters=2_000_000)).title
    assert title == f"Perplexity {words}31.5 on 80 test responses, 2.0 M parameters"
