"""Relevance: do a system's replies follow their contexts as closely as human ones do."""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from dialeval.metrics.modules import accepted_keywords, check_batch, select_features
from dialeval.metrics.relevance import relevance

_DESCRIPTION = """
How closely a system's replies follow their contexts. An evaluator that was trained to distinguish
human replies from random ones, and never saw a machine, scores the system's, the human's and a
random reply to the same contexts: 0 is the mean of the random replies, 1 that of the human ones.
"""

_INPUTS = """
Args:
    predictions (`list[float]`): The evaluator's score of the system's reply to each context.
    references (`list[float]`): Its score of the human reply to the same context.
    random (`list[float]`): Its score of a random human reply to the same context.
    groups (`list`): Dialogue of each context. The interval draws whole dialogues.
    seed (`int`): Seed of the bootstrap. Defaults to 0.

Returns:
    relevance (`float`): 0 as random replies, 1 as human ones, with its interval; above 1 where a
        system sticks closer to the context than humans do. The three mean scores, and n.

Examples:
    >>> metric = evaluate.load("dialeval/relevance")
    >>> result = metric.compute(predictions=[0.6, 0.8], references=[0.9, 0.9], random=[0.3, 0.1])
    >>> round(result["relevance"], 3)
    0.714
"""

_CITATION = """
@inproceedings{bruni2017adversarial,
  title = {Adversarial Evaluation for Open-Domain Dialogue Generation},
  author = {Bruni, Elia and Fern{\\'a}ndez, Raquel},
  booktitle = {Proceedings of the 18th Annual SIGdial Meeting on Discourse and Dialogue},
  pages = {284--288},
  year = {2017}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class Relevance(evaluate.Metric):
    """Relevance of a system's replies, on the scale between random and human ones."""

    example = {  # noqa: RUF012
        "predictions": [0.6, 0.8, 0.7, 0.4],
        "references": [0.9, 0.9, 0.8, 0.7],
        "random": [0.3, 0.1, 0.4, 0.2],
        "groups": ["a", "a", "b", "c"],
    }

    def _info(self) -> evaluate.MetricInfo:
        number = datasets.Value("float64")
        columns = {"predictions": number, "references": number}
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=select_features(self.config_name, default=datasets.Features(columns)),
            reference_urls=["https://aclanthology.org/W17-5534"],
        )

    def _infer_feature_from_batch(self, batch: dict[str, Any]) -> Any:
        return super()._infer_feature_from_batch(check_batch(batch))

    def _compute(
        self,
        predictions: Sequence[float],
        references: Sequence[float],
        random: Sequence[float] = (),
        **keywords: Any,
    ) -> dict[str, Any]:
        settings = accepted_keywords(keywords, relevance)
        return {**relevance(predictions, references, random, **settings)}
