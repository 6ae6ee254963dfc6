"""Any text classifier of Hugging Face as an evaluator: P(human) of the response."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dialeval import progress
from dialeval.dialogues import BadInput, Passage, Passages
from dialeval.dialogues.storage import iterate_passages
from dialeval.models.batching import token_batches
from dialeval.models.loading import from_pretrained
from dialeval.models.weights import best_device, fingerprint
from dialeval.scorers.base import Decision
from dialeval.scorers.folders import decision_of

HUMAN_NAMES = ("human", "human-written", "human_written", "real", "person")
"""Labels that are taken for human if no label is named."""
MAX_LENGTH = 512
_BATCH = 8_192  # tokens


class TextClassifierScorer:
    """P(human) by a sequence classifier that reads the response alone.

    Args:
        model (`PreTrainedModel`):
            Sequence classifier with two or more classes.
        tokenizer (`PreTrainedTokenizerBase`):
            Its tokenizer.
        human_label (`str`, *optional*):
            Class that means human; by default the one that is called so.
        name (`str`, *optional*, defaults to `"text-classifier"`):
            Name in tables.
        show_progress (`bool`, *optional*, defaults to `False`):
            Whether to show progress.

    Raises:
        BadInput: The model has no such class.
    """

    kind = "text-classifier"
    higher_is_human = True
    checks_direction = True

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        human_label: str | None = None,
        name: str = "text-classifier",
        show_progress: bool = False,
    ):
        self.model, self.tokenizer, self.name = model.eval(), tokenizer, name
        self.show_progress = show_progress
        self.labels = [str(model.config.id2label[key]) for key in sorted(model.config.id2label)]
        self.human = _human_index(self.labels, human_label, name)
        self.decision = Decision()
        self.pad_id = _padding(model, tokenizer)
        limit = getattr(model.config, "max_position_embeddings", None) or MAX_LENGTH
        self.max_length = min(limit, tokenizer.model_max_length, MAX_LENGTH)

    @classmethod
    def from_pretrained(
        cls, source: str, human_label: str | None = None, **options: Any
    ) -> "TextClassifierScorer":
        """A classifier from a folder or the Hub; code in its repository is not run.

        Args:
            source (`str`):
                Folder, or name on the Hub.
            human_label (`str`, *optional*):
                Class that means human.
            options:
                Further arguments of the class.

        Returns:
            `TextClassifierScorer`: On the best device.

        Raises:
            BadInput: It cannot be loaded, or has no trained head for classes.
        """
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        hint = "Give a text classifier: its folder, or its name on the Hub (and a network)."
        tokenizer = from_pretrained(AutoTokenizer, source, what="tokenizer", hint=hint)
        model, info = from_pretrained(
            AutoModelForSequenceClassification, source, what="text classifier", hint=hint,
            output_loading_info=True, use_safetensors=True,
        )  # fmt: skip
        missing = sorted(info["missing_keys"])
        if missing:
            raise BadInput(f"this model is no trained classifier: it lacks {missing[0]}.", source,
                           hint=hint)  # fmt: skip
        return cls(model.to(best_device()), tokenizer, human_label, **{"name": source, **options})

    @property
    def fingerprint(self) -> str:
        """A hash of its weights."""
        if not hasattr(self, "_fingerprint"):
            self._fingerprint = fingerprint(self.model)
        return self._fingerprint

    @property
    def signature(self) -> str:
        """How its scores are computed."""
        parts = (f"hf:{self.name}@{self.fingerprint[:8]}", f"human:{self.labels[self.human]}")
        return "|".join((*parts, f"max:{self.max_length}", self.decision.signature))

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """P(human) of each response, in their order."""
        texts = [passage.response for passage in iterate_passages(passages)]
        if not texts:
            return np.zeros(0)
        rows = self.tokenizer(texts, truncation=True, max_length=self.max_length)["input_ids"]
        scores = np.empty(len(texts))
        bar = progress.bar(self.name, len(texts), " responses", self.show_progress)
        most = 1 if self.pad_id is None else _BATCH  # nothing to pad with: one by one
        for batch in token_batches([len(row) or 1 for row in rows], most):
            scores[batch] = self._forward([rows[row] for row in batch])
            bar.update(len(batch))
        bar.close()
        return scores

    @torch.inference_mode()
    def _forward(self, rows: list[list[int]]) -> np.ndarray:
        pad = self.pad_id or 0
        width = max(1, *map(len, rows))
        ids = torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows])  # (batch, width)
        lengths = torch.tensor([max(1, len(row)) for row in rows])
        mask = (torch.arange(width) < lengths[:, None]).long()
        device = self.model.device
        logits = self.model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits
        return logits.float().softmax(-1)[:, self.human].cpu().numpy()

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the model and its tokenizer; returns the settings."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        return {"human_label": self.labels[self.human]}

    @classmethod
    def load(cls, folder: Path, settings: dict[str, Any], **_: Any) -> "TextClassifierScorer":
        """A scorer as `save` wrote it."""
        name = settings.get("name") or folder.name
        scorer = cls.from_pretrained(str(folder), settings.get("human_label"), name=name)
        scorer.decision = decision_of(settings)
        return scorer


def _padding(model: Any, tokenizer: Any) -> int | None:
    """The padding token, which the model knows too: a causal one reads the token before it."""
    if model.config.pad_token_id is None:
        model.config.pad_token_id = tokenizer.pad_token_id
    return model.config.pad_token_id


def _human_index(labels: Sequence[str], wanted: str | None, name: str) -> int:
    """The index of the class that means human."""
    if len(labels) < 2:
        hint = "Give a classifier with a class for human texts and one for others."
        raise BadInput(f"{name} has one output, and no classes.", hint=hint)
    names = [label.casefold() for label in labels]
    accepted = (wanted.casefold(),) if wanted is not None else HUMAN_NAMES
    matches = [index for index, label in enumerate(names) if label in accepted]
    if len(matches) == 1:
        return matches[0]
    problem = f"has no class {wanted!r}" if wanted else "does not say which class means human"
    hint = f"Name one of its classes with --human-label: {', '.join(labels)}."
    raise BadInput(f"{name} {problem}.", hint=hint)
