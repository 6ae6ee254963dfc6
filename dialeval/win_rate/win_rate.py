"""Win, lose and tie of one system against another, with intervals and a sign test."""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from dialeval.judgements.preference import win_rate
from dialeval.metrics.modules import accepted_keywords, check_batch, select_features

_DESCRIPTION = """
How often annotators prefer one system to another: shares of wins, losses and ties with 95 %
intervals over items, and an exact sign test.
"""

_INPUTS = """
Args:
    predictions (`list[str]`): `win`, `lose` or `tie`, one per judgement.
    groups (`list`): The item of each judgement; intervals and test treat items as the units.
    method (`str`): Method of the intervals: "auto", or "bootstrap", which draws items.
    resamples (`int`): Bootstrap draws of items. Defaults to 1000.
    seed (`int`): Seed of the bootstrap. Defaults to 0.

Returns:
    win, lose, tie, net (`float`): Shares, and win minus lose; with bounds `..._low` and `..._high`,
        `p_value`, `items_won`, `items_lost`, `n`, `n_items`.

Examples:
    >>> metric = evaluate.load("dialeval/win_rate")
    >>> result = metric.compute(predictions=["win", "win", "win", "lose", "tie"])
    >>> result["win"], result["p_value"]
    (0.6, 0.625)
"""

_CITATION = """
@inproceedings{li2017adversarial,
  title = {Adversarial Learning for Neural Dialogue Generation},
  author = {Li, Jiwei and Monroe, Will and Shi, Tianlin and Jean, S{\\'e}bastien and
            Ritter, Alan and Jurafsky, Dan},
  booktitle = {Proceedings of the 2017 Conference on Empirical Methods in Natural Language
               Processing},
  pages = {2157--2169},
  year = {2017}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class WinRate(evaluate.Metric):
    """Preferences between two systems (Li et al., 2017, section 5.2)."""

    example = {  # noqa: RUF012
        "predictions": ["win", "win", "tie", "win", "lose", "win", "tie", "tie", "lose"],
        "groups": ["a", "a", "a", "b", "b", "b", "c", "c", "c"],
        "seed": 0,
    }

    def _info(self) -> evaluate.MetricInfo:
        columns = {"predictions": datasets.Value("string")}
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=select_features(self.config_name, default=datasets.Features(columns)),
            reference_urls=["https://aclanthology.org/D17-1230"],
        )

    def _infer_feature_from_batch(self, batch: dict[str, Any]) -> Any:
        return super()._infer_feature_from_batch(check_batch(batch))

    def _compute(self, predictions: Sequence[str], **keywords: Any) -> dict[str, Any]:
        return {**win_rate(predictions, **accepted_keywords(keywords, win_rate))}
