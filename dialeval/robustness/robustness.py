"""Robustness: how changed contexts affect an evaluator's decisions about the same responses."""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from dialeval.metrics.modules import accepted_keywords, check_batch, select_features
from dialeval.metrics.robustness import robustness

_DESCRIPTION = """
How an evaluator reacts when the context changes and the response does not. Over-sensitivity is the
share of decisions that changed although the context still means the same, over-stability the share
that stayed although it means something else. 0 is best for both.
"""

_INPUTS = """
Args:
    predictions (`list[float]`): Scores of the responses in the perturbed contexts.
    references (`list[float]`): Scores of the same responses in the original contexts.
    should_change (`bool` or `list[bool]`): Whether the perturbation should change the decision:
        one for all rows, or one per row.
    threshold (`float`): Score from which a response is predicted human. Defaults to 0.5.
    higher_is_human (`bool`): Whether higher scores mean human. Defaults to `True`.
    groups (`list`): Dialogue of each response. The dialogue is the unit of the intervals.
    seed (`int`): Seed of the bootstrap. Defaults to 0.

Returns:
    over_sensitivity, over_stability (`float` or `None`): In [0, 1], with their intervals; `None`
        without rows of that kind.

Examples:
    >>> metric = evaluate.load("dialeval/robustness")
    >>> result = metric.compute(
    ...     predictions=[0.2, 0.8, 0.7, 0.4],
    ...     references=[0.9, 0.8, 0.7, 0.9],
    ...     should_change=[1, 1, 0, 0],
    ... )
    >>> result["over_stability"], result["over_sensitivity"]
    (0.5, 0.5)
"""

_CITATION = """
@inproceedings{niu2018adversarial,
  title = {Adversarial Over-Sensitivity and Over-Stability Strategies for Dialogue Models},
  author = {Niu, Tong and Bansal, Mohit},
  booktitle = {Proceedings of the 22nd Conference on Computational Natural Language Learning},
  pages = {486--496},
  year = {2018}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class Robustness(evaluate.Metric):
    """Over-sensitivity and over-stability of an evaluator (after Niu and Bansal, 2018)."""

    example = {  # noqa: RUF012
        "predictions": [0.2, 0.8, 0.7, 0.4, 0.3, 0.6],
        "references": [0.9, 0.8, 0.7, 0.9, 0.7, 0.8],
        "should_change": [1, 1, 0, 0, 1, 0],
        "threshold": 0.5,
    }

    def _info(self) -> evaluate.MetricInfo:
        number = datasets.Value("float64")
        columns = {"predictions": number, "references": number}
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=select_features(self.config_name, default=datasets.Features(columns)),
            reference_urls=["https://aclanthology.org/K18-1047"],
        )

    def _infer_feature_from_batch(self, batch: dict[str, Any]) -> Any:
        return super()._infer_feature_from_batch(check_batch(batch))

    def _compute(
        self,
        predictions: Sequence[float],
        references: Sequence[float],
        should_change: Sequence[bool] | bool | None = None,
        **keywords: Any,
    ) -> dict[str, Any]:
        if should_change is None:
            raise ValueError(
                "Expected whether the perturbation should change the decision. "
                "Pass should_change=True or False, or one per row."
            )
        settings = accepted_keywords(keywords, robustness)
        return {**robustness(references, predictions, should_change, **settings)}
