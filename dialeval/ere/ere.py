"""ERE: how far an evaluator is off where the correct AdverSuc is known."""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from dialeval.metrics.ere import ere
from dialeval.metrics.modules import accepted_keywords, check_batch, select_features

_DESCRIPTION = """
The evaluator reliability error is the mean absolute deviation of an evaluator's AdverSuc from what
it should be in four scenarios: 0.5 for human against human and machine against machine, 0 for human
against a random reply and against the utterance after the reply. 0 is a reliable evaluator; random
guesses get 0.25.
"""

_INPUTS = """
Args:
    predictions (`list[float]`): The evaluator's score of each response, such as P(human).
    references (`list[int]`): 1 for the positive class of the scenario, 0 for the other.
    scenarios (`list[str]`): `human_human`, `machine_machine`, `human_random` or `human_next`, all
        four of them.
    threshold (`float`): Score from which a response is predicted positive. Defaults to 0.5.
    higher_is_human (`bool`): Whether higher scores mean that class. Defaults to `True`.
    groups (`list`): Dialogue of each response. The dialogue is the unit of the interval.
    seed (`int`): Seed of the bootstrap. Defaults to 0.

Returns:
    ere (`float`): In [0, 0.75], with its interval, the error of random guesses, the noise floor,
        and each scenario's AdverSuc.

Examples:
    >>> metric = evaluate.load("dialeval/ere")
    >>> names = ["human_human", "machine_machine", "human_random", "human_next"]
    >>> result = metric.compute(
    ...     predictions=[0.9, 0.1] * 4, references=[1, 0] * 4, scenarios=sorted(names * 2)
    ... )
    >>> result["ere"]  # never wrong, also where the two classes are drawn alike
    0.25
"""

_CITATION = """
@inproceedings{li2017adversarial,
  title = {Adversarial Learning for Neural Dialogue Generation},
  author = {Li, Jiwei and Monroe, Will and Shi, Tianlin and Jean, S{\\'e}bastien and Ritter, Alan
            and Jurafsky, Dan},
  booktitle = {Proceedings of the 2017 Conference on Empirical Methods in Natural Language
               Processing},
  pages = {2157--2169},
  year = {2017}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class Ere(evaluate.Metric):
    """Evaluator reliability error (Li et al., 2017, section 4.2)."""

    example = {  # noqa: RUF012
        "predictions": [
            0.9,
            0.6,
            0.8,
            0.3,
            0.6,
            0.7,
            0.2,
            0.4,
            0.9,
            0.1,
            0.8,
            0.2,
            0.7,
            0.6,
            0.9,
            0.3,
        ],
        "references": [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0],
        "scenarios": [
            *["human_human"] * 4,
            *["machine_machine"] * 4,
            *["human_random"] * 4,
            *["human_next"] * 4,
        ],
        "threshold": 0.5,
    }

    def _info(self) -> evaluate.MetricInfo:
        columns = {
            "predictions": datasets.Value("float64"),
            "references": datasets.Value("float64"),  # as whole numbers, 0.9 would become 0
            "scenarios": datasets.Value("string"),
        }
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=select_features(self.config_name, default=datasets.Features(columns)),
            reference_urls=["https://aclanthology.org/D17-1230"],
        )

    def _infer_feature_from_batch(self, batch: dict[str, Any]) -> Any:
        return super()._infer_feature_from_batch(check_batch(batch))

    def _compute(
        self,
        predictions: Sequence[float],
        references: Sequence[float],
        scenarios: Sequence[str],
        **keywords: Any,
    ) -> dict[str, Any]:
        return {**ere(predictions, references, scenarios, **accepted_keywords(keywords, ere))}
