"""Human against random: does an evaluator distinguish replies to the context from others."""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from dialeval.metrics.modules import accepted_keywords, check_batch, select_features
from dialeval.metrics.random_replies import versus_random

_DESCRIPTION = """
How well an evaluator distinguishes human replies from random ones, which are human too but answer
another context: accuracy, and precision, recall and F1 of both classes. An evaluator that fails
here does not use the context, and its scores of machines are about their style alone.
"""

_INPUTS = """
Args:
    predictions (`list[float]`): The evaluator's score of each response, such as P(it belongs here).
    references (`list[int]`): 1 where the response is the human reply to this context, 0 where it
        was drawn from another dialogue.
    threshold (`float`): Score from which a response is predicted to belong. Defaults to 0.5.
    higher_is_true (`bool`): Whether higher scores mean that. Defaults to `True`.
    groups (`list`): Dialogue of each response. The dialogue is the unit of the interval.
    candidates (`list`): Which responses compete for one context: the true one and its random
        competitors share an id. N-choose-1 accuracy needs them.
    seed (`int`): Seed of the bootstrap. Defaults to 0.

Returns:
    accuracy (`float`): In [0, 1], the mean of both classes' accuracies, with its interval;
        precision, recall and F1 of both classes, and N-choose-1 accuracy.

Examples:
    >>> metric = evaluate.load("dialeval/human_vs_random")
    >>> result = metric.compute(predictions=[0.9, 0.2, 0.8, 0.7], references=[1, 0, 1, 0])
    >>> result["accuracy"]
    0.75
"""

_CITATION = """
@inproceedings{bruni2017adversarial,
  title = {Adversarial Evaluation for Open-Domain Dialogue Generation},
  author = {Bruni, Elia and Fern{\\'a}ndez, Raquel},
  booktitle = {Proceedings of the 18th Annual SIGdial Meeting on Discourse and Dialogue},
  pages = {284--288},
  year = {2017}
}
@inproceedings{li2017adversarial,
  title = {Adversarial Learning for Neural Dialogue Generation},
  author = {Li, Jiwei and Monroe, Will and Shi, Tianlin and Jean, S{\\'e}bastien and Ritter, Alan
            and Jurafsky, Dan},
  booktitle = {Proceedings of the 2017 Conference on Empirical Methods in Natural Language
               Processing},
  pages = {2157--2169},
  year = {2017}
}
@inproceedings{shao2017generating,
  title = {Generating High-Quality and Informative Conversation Responses with
           Sequence-to-Sequence Models},
  author = {Shao, Louis and Gouws, Stephan and Britz, Denny and Goldie, Anna and Strope, Brian and
            Kurzweil, Ray},
  booktitle = {Proceedings of the 2017 Conference on Empirical Methods in Natural Language
               Processing},
  year = {2017}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class HumanVsRandom(evaluate.Metric):
    """Human against random replies (Bruni and Fernández, 2017, Table 1)."""

    example = {  # noqa: RUF012
        "predictions": [0.9, 0.2, 0.6, 0.8, 0.7, 0.1, 0.4, 0.5, 0.3],
        "references": [1, 0, 0, 1, 0, 0, 1, 0, 0],
        "groups": ["a", "a", "a", "b", "b", "b", "c", "c", "c"],
        "candidates": [0, 0, 0, 1, 1, 1, 2, 2, 2],
        "threshold": 0.5,
    }

    def _info(self) -> evaluate.MetricInfo:
        number = datasets.Value("float64")
        columns = {"predictions": number, "references": number}  # whole ones would be cut off
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=select_features(self.config_name, default=datasets.Features(columns)),
            reference_urls=[
                "https://aclanthology.org/W17-5534",
                "https://aclanthology.org/D17-1230",
            ],
        )

    def _infer_feature_from_batch(self, batch: dict[str, Any]) -> Any:
        return super()._infer_feature_from_batch(check_batch(batch))

    def _compute(
        self, predictions: Sequence[float], references: Sequence[float], **keywords: Any
    ) -> dict[str, Any]:
        settings = accepted_keywords(keywords, versus_random)
        return {**versus_random(predictions, references, **settings)}
