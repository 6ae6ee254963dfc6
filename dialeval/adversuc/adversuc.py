"""AdverSuc: one minus the accuracy of a judge that tells human from machine responses."""

import datasets
import evaluate

from dialeval.metrics.adversuc import adversuc
from dialeval.metrics.modules import select_features, check_batch, accepted_keywords

_DESCRIPTION = """
Adversarial success is one minus the accuracy of a judge on held-out human and machine responses.
0.5 means that the judge cannot tell them apart, 0 that it always can. It is only as good as the
judge: report `dialeval/ere` beside it.
"""

_INPUTS = """
Args:
    predictions (`list[float]`): The judge's score of each response, such as P(human).
    references (`list[int]`): 1 where a human wrote the response, 0 where a machine did.
    threshold (`float`): Score from which a response is taken for human. Defaults to 0.5.
    higher_is_human (`bool`): Whether greater scores speak for a human. Defaults to `True`.
    groups (`list`): Dialogue of each response. The interval draws whole dialogues.
    pairs (`list`): What joins the human and the machine response to one context.
    folds (`list`): Which of several judges gave the score.
    seed (`int`): Of the bootstrap. Defaults to 0.

With the configuration `"texts"`, a judge scores the responses first:

Args:
    predictions (`list[str]`): Machine responses.
    references (`list[str]`): Human responses to the same contexts.
    contexts (`list[list[str]]` or `list[str]`): The turns before, or the one turn.
    discriminator (`str` or scorer): Folder or Hub name of a saved judge, or the judge itself. Given
        to `evaluate.load` or to `compute`; it is loaded once.
    groups, folds (`list`): As above, one for each context.

Returns:
    adversuc (`float`): In [0, 1], with its interval and companions beside it.

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

    def __init__(self, *args, discriminator=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.discriminator = discriminator
        self._loaded = {}

    def _info(self):
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

    def _infer_feature_from_batch(self, batch):
        return super()._infer_feature_from_batch(check_batch(batch, require_rows=self.config_name == "texts"))

    def _compute(self, predictions, references, contexts=None, discriminator=None, **keywords):
        if self.config_name == "texts":
            return self._judge(predictions, references, contexts, discriminator, **keywords)
        return adversuc(predictions, references, **accepted_keywords(keywords, adversuc))

    def _judge(self, machine, human, contexts, discriminator, groups=None, folds=None, **keywords):
        """The human responses first, then the machine's, scored in one call."""
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
        settings = {
            "threshold": scorer.decision.threshold,
            "higher_is_human": scorer.higher_is_human,
            "groups": dialogues * 2,
            "pairs": [*rows] * 2,
            "folds": None if folds is None else [*folds] * 2,
        }
        labels = [1] * len(human) + [0] * len(machine)
        result = adversuc(scores, labels, **settings | accepted_keywords(keywords, adversuc))
        return result | {"discriminator": scorer.name, "signature": scorer.signature}

    def _scorer(self, discriminator):
        """The judge, loaded when it is asked for by a name that was not asked for before."""
        wanted = self.discriminator if discriminator is None else discriminator
        if wanted is None:
            raise ValueError(
                "The configuration 'texts' needs a judge, but there is none. "
                "Pass discriminator=..., a folder, a name on the Hub, or a scorer."
            )
        if callable(wanted):
            return wanted
        if str(wanted) not in self._loaded:
            from dialeval.scorers import load_scorer

            self._loaded[str(wanted)] = load_scorer(wanted)
        return self._loaded[str(wanted)]


def _passages(contexts, responses, dialogues, author):
    from dialeval.dialogues import Passage
    from dialeval.dialogues.types import alternate

    if len(dialogues) != len(contexts):
        raise ValueError(
            f"There are {len(dialogues)} groups for {len(contexts)} contexts. Pass one for each."
        )
    for row, (context, response) in enumerate(zip(contexts, responses, strict=True)):
        turns = [context] if isinstance(context, str) else context
        if response is None or not turns or None in turns:
            raise ValueError(f"Row {row} has no {author} response or no context. Leave it out.")
        yield Passage(
            alternate(turns), response, author, id=str(row), dialogue_id=str(dialogues[row])
        )
