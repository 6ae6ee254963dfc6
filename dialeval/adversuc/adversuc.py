"""AdverSuc: one minus the accuracy of an evaluator on human and machine responses."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import datasets
import evaluate

from dialeval.metrics.adversuc import adversuc
from dialeval.metrics.modules import accepted_keywords, check_batch, select_features

_DESCRIPTION = """
Adversarial success is one minus the accuracy of an evaluator on held-out human and machine
responses. 0.5 means that they are indistinguishable to the evaluator, 0 that it is always correct.
It is only as good as the evaluator: report `dialeval/ere` with it.
"""

_INPUTS = """
Args:
    predictions (`list[float]`): The evaluator's score of each response, such as P(human).
    references (`list[int]`): 1 where a human wrote the response, 0 where a machine did.
    threshold (`float`): Score from which a response is predicted human. Defaults to 0.5.
    higher_is_human (`bool`): Whether higher scores mean human. Defaults to `True`.
    groups (`list`): Dialogue of each response. The dialogue is the unit of the interval.
    pairs (`list`): Ids shared by the human and the machine response to a context.
    folds (`list`): Which of several evaluators gave the score.
    seed (`int`): Seed of the bootstrap. Defaults to 0.

With the configuration `"texts"`, a discriminator scores the responses first:

Args:
    predictions (`list[str]`): Machine responses.
    references (`list[str]`): Human responses to the same contexts.
    contexts (`list[list[str]]` or `list[str]`): The turns before the response, or a single turn.
    discriminator (`str` or scorer): Folder or Hub name of a saved discriminator, or a scorer
        object. Pass it to `evaluate.load` or to `compute`; it is loaded once.
    groups, folds (`list`): As above, one per context.

Returns:
    adversuc (`float`): In [0, 1], with its interval and related measures.

Examples:
    >>> metric = evaluate.load("dialeval/adversuc")
    >>> result = metric.compute(predictions=[0.9, 0.2, 0.8, 0.7], references=[1, 0, 1, 0])
    >>> result["adversuc"]
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
@inproceedings{kannan2016adversarial,
  title = {Adversarial Evaluation of Dialogue Models},
  author = {Kannan, Anjuli and Vinyals, Oriol},
  booktitle = {NIPS 2016 Workshop on Adversarial Training},
  year = {2016}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class Adversuc(evaluate.Metric):
    """Adversarial success (Li et al., 2017, section 4.1)."""

    example = {  # noqa: RUF012
        "predictions": [0.9, 0.2, 0.8, 0.7, 0.6, 0.4],
        "references": [1, 0, 1, 0, 1, 0],
        "groups": ["a", "a", "b", "b", "c", "c"],
        "pairs": [0, 0, 1, 1, 2, 2],
        "threshold": 0.5,
    }

    def __init__(self, *args: Any, discriminator: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.discriminator = discriminator
        self._loaded: dict[str, Any] = {}

    def _info(self) -> evaluate.MetricInfo:
        number, text = datasets.Value("float64"), datasets.Value("string")
        numbers = {"predictions": number, "references": number}  # whole ones would be cut off
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=select_features(
                self.config_name,
                default=datasets.Features(numbers),
                texts=[
                    datasets.Features(
                        {"predictions": text, "references": text, "contexts": context}
                    )
                    for context in (datasets.List(text), text)
                ],
            ),
            reference_urls=[
                "https://aclanthology.org/D17-1230",
                "https://arxiv.org/abs/1701.08198",
            ],
        )

    def _infer_feature_from_batch(self, batch: dict[str, Any]) -> Any:
        return super()._infer_feature_from_batch(
            check_batch(batch, require_rows=self.config_name == "texts")
        )

    def _compute(
        self,
        predictions: Sequence[Any],
        references: Sequence[Any],
        contexts: Sequence[str | Sequence[str]] | None = None,
        discriminator: Any = None,
        **keywords: Any,
    ) -> dict[str, Any]:
        if self.config_name == "texts":
            return self._score(predictions, references, contexts or (), discriminator, **keywords)
        return {**adversuc(predictions, references, **accepted_keywords(keywords, adversuc))}

    def _score(
        self,
        machine: Sequence[str],
        human: Sequence[str],
        contexts: Sequence[str | Sequence[str]],
        discriminator: Any,
        groups: Sequence[Hashable] | None = None,
        folds: Sequence[Hashable] | None = None,
        **keywords: Any,
    ) -> dict[str, Any]:
        """Score human and machine responses in one call, and compute AdverSuc from the scores."""
        from dialeval.dialogues import to_passages

        scorer, rows = self._scorer(discriminator), range(len(contexts))
        dialogues = list(rows if groups is None else groups)
        scores = scorer(
            to_passages(
                [
                    *_passages(contexts, human, dialogues, "human"),
                    *_passages(contexts, machine, dialogues, "machine"),
                ]
            )
        )
        settings: dict[str, Any] = {
            "threshold": scorer.decision.threshold,
            "higher_is_human": scorer.higher_is_human,
            "groups": dialogues * 2,
            "pairs": [*rows] * 2,
            "folds": None if folds is None else [*folds] * 2,
        }
        labels = [1] * len(human) + [0] * len(machine)
        result = adversuc(scores, labels, **settings | accepted_keywords(keywords, adversuc))
        return {**result, "discriminator": scorer.name, "signature": scorer.signature}

    def _scorer(self, discriminator: Any) -> Any:
        """The scorer itself, or the one loaded from a folder or the Hub; each is loaded once."""
        source = self.discriminator if discriminator is None else discriminator
        if source is None:
            raise ValueError(
                "The configuration 'texts' needs a discriminator. "
                "Pass discriminator=..., a folder, a name on the Hub, or a scorer."
            )
        if callable(source):
            return source
        if str(source) not in self._loaded:
            from dialeval.scorers import load_scorer

            self._loaded[str(source)] = load_scorer(source)
        return self._loaded[str(source)]


def _passages(
    contexts: Sequence[str | Sequence[str]],
    responses: Sequence[str],
    dialogues: Sequence[Hashable],
    author: str,
) -> Iterator[Any]:
    from dialeval.dialogues import Passage
    from dialeval.dialogues.types import alternate

    if len(dialogues) != len(contexts):
        raise ValueError(
            f"There are {len(dialogues)} groups for {len(contexts)} contexts. Pass one for each."
        )
    for row, (context, response) in enumerate(zip(contexts, responses, strict=True)):
        turns = [context] if isinstance(context, str) else context
        if response is None or not turns or None in turns:
            raise ValueError(f"Row {row} has no {author} response or no context. Remove it.")
        yield Passage(
            alternate(turns), response, author, id=str(row), dialogue_id=str(dialogues[row])
        )
