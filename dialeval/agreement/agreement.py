"""Agreement among annotators: Fleiss' pi and Krippendorff's alpha with intervals over items."""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from dialeval.judgements.agreement import agreement
from dialeval.metrics.modules import accepted_keywords, check_batch, select_features

_DESCRIPTION = """
Whether annotators agree beyond chance: Fleiss' pi and Krippendorff's alpha, each with a 95 %
interval over items. Items may have different numbers of answers.
"""

_INPUTS = """
Args:
    predictions (`list[str]`): Answers, one per judgement; numbers in the configuration `ratings`.
    references (`list[str]`): The item of each answer.
    level (`str`): `nominal`, `ordinal`, `interval` or `ratio`, for alpha. Defaults to `nominal`, in
        the configuration `ratings` to `ordinal`.
    resamples (`int`): Bootstrap draws of items. Defaults to 1000.
    seed (`int`): Seed of the bootstrap. Defaults to 0.

Returns:
    fleiss_pi, krippendorff_alpha (`float`): 1 is perfect agreement, 0 chance; with bounds
        `..._low` and `..._high`, `observed_agreement`, `n_items`, `n_judgements`, `level`.

Examples:
    >>> metric = evaluate.load("dialeval/agreement")
    >>> result = metric.compute(
    ...     predictions=["real", "real", "fake", "fake", "real", "fake"],
    ...     references=["1", "1", "2", "2", "3", "3"],
    ... )
    >>> round(result["fleiss_pi"], 3)
    0.333
"""

_CITATION = """
@article{fleiss1971measuring,
  title = {Measuring Nominal Scale Agreement among Many Raters},
  author = {Fleiss, Joseph L.},
  journal = {Psychological Bulletin},
  volume = {76},
  number = {5},
  pages = {378--382},
  year = {1971}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class Agreement(evaluate.Metric):
    """Agreement among annotators."""

    example = {  # noqa: RUF012
        "predictions": ["real", "real", "fake", "fake", "fake", "real", "real", "real", "fake"],
        "references": ["a", "a", "a", "b", "b", "b", "c", "c", "c"],
        "seed": 0,
    }

    def _info(self) -> evaluate.MetricInfo:
        items = {"references": datasets.Value("string")}
        answers = datasets.Features({"predictions": datasets.Value("string"), **items})
        ratings = datasets.Features({"predictions": datasets.Value("float64"), **items})
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=select_features(self.config_name, default=answers, ratings=ratings),
            reference_urls=["https://aclanthology.org/W17-5534"],
        )

    def _infer_feature_from_batch(self, batch: dict[str, Any]) -> Any:
        return super()._infer_feature_from_batch(check_batch(batch))

    def _compute(
        self, predictions: Sequence[Any], references: Sequence[str], **keywords: Any
    ) -> dict[str, Any]:
        default = "ordinal" if self.config_name == "ratings" else "nominal"
        settings = {"level": default, **accepted_keywords(keywords, agreement)}
        return {**agreement(predictions, references, **settings)}
