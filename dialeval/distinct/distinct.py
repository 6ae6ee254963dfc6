"""Distinct-1 and distinct-2, and other measures of the diversity of responses."""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from dialeval.metrics.distinct import distinct
from dialeval.metrics.modules import accepted_keywords, check_batch, select_features

_DESCRIPTION = """
The diversity of a system's responses: distinct unigrams and bigrams per token, mean length, the
share of the most frequent response, the share of different ones, and how many repeat themselves.
The first two fall as text grows, so compare systems on the same contexts.
"""

_INPUTS = """
Args:
    predictions (`list[str]`): Responses.
    tokenise (`Callable`): Returns the tokens of a response. Defaults to splitting at white space.
    repeat_n (`int`): Length of the n-grams of `self_repetition`. Defaults to 2.

Returns:
    distinct_1, distinct_2 (`float`): In [0, 1], with `tokens`, `most_frequent`, `unique`,
        `self_repetition` and `n`.

Examples:
    >>> metric = evaluate.load("dialeval/distinct")
    >>> result = metric.compute(predictions=["i do not know", "i do"])
    >>> result["distinct_1"] == 4 / 6
    True
"""

_CITATION = """
@inproceedings{li2016diversity,
  title = {A Diversity-Promoting Objective Function for Neural Conversation Models},
  author = {Li, Jiwei and Galley, Michel and Brockett, Chris and Gao, Jianfeng and Dolan, Bill},
  booktitle = {Proceedings of the 2016 Conference of the North American Chapter of the Association
               for Computational Linguistics: Human Language Technologies},
  pages = {110--119},
  year = {2016}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class Distinct(evaluate.Metric):
    """Diversity of responses (Li et al., 2016, section 5.2)."""

    example = {  # noqa: RUF012
        "predictions": ["i do not know .", "i do not know .", "see you at six , see you at six !"],
        "repeat_n": 2,
    }

    def _info(self) -> evaluate.MetricInfo:
        columns = {"predictions": datasets.Value("string")}
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=select_features(self.config_name, default=datasets.Features(columns)),
            reference_urls=["https://aclanthology.org/N16-1014"],
        )

    def _infer_feature_from_batch(self, batch: dict[str, Any]) -> Any:
        return super()._infer_feature_from_batch(check_batch(batch))

    def _compute(self, predictions: Sequence[str], **keywords: Any) -> dict[str, Any]:
        return {**distinct(predictions, **accepted_keywords(keywords, distinct))}
