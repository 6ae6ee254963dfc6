"""One invented evaluation for all tests of reports."""

import pytest

from dialeval.metrics.evaluation_results import EvaluationResults
from dialeval.reports.evaluation import write_report
from tests.reports.invented import Page, invent


@pytest.fixture(scope="module")
def invented(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    return folder, invent(folder)


@pytest.fixture
def evaluation(invented) -> EvaluationResults:
    return invented[1]


@pytest.fixture(scope="module")
def page(invented) -> Page:
    return Page(write_report(invented[0]))
