"""Neural discriminators as scorers: batches, cache, several processes, calibration."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate.utils import gather_object
from scipy.special import expit
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel

import dialeval.models.architectures  # noqa: F401  registers them
from dialeval import progress
from dialeval.dialogues import BadInput, Passage, Passages
from dialeval.dialogues.encoding import Encoded, InputFormat
from dialeval.dialogues.storage import chunks, iterate_passages
from dialeval.models.activations import fused_activations
from dialeval.models.batching import pad, token_batches
from dialeval.models.loading import from_pretrained
from dialeval.models.weights import best_device, fingerprint
from dialeval.saved import from_saved
from dialeval.scorers.base import Decision
from dialeval.scorers.cache import ScoreCache
from dialeval.scorers.folders import decision_of

logger = logging.getLogger(__name__)

_WINDOW = 16_384  # passages that are sorted by length together
_HINT = "Copy the whole folder again, or train it again."


class NeuralScorer:
    """P(human) of each passage by a discriminator.

    Args:
        model (`PreTrainedModel`):
            Sequence classifier over `{0: machine, 1: human}`.
        tokenizer (`PreTrainedTokenizerBase`):
            Its tokenizer.
        input_format (`InputFormat`):
            How it reads a passage.
        temperature (`float`, *optional*, defaults to 1.0):
            Logits are divided by it: calibration on validation data.
        curve (`tuple`, *optional*):
            Margins and probabilities at the corners of an isotonic calibration, in place of the
            temperature.
        device (`str`, *optional*):
            Where to run; the best there is by default.
        max_tokens (`int`, *optional*):
            Tokens of a batch, padding included. By default 1,024 on a CPU, whose caches a larger
            batch overflows (measured: 8,192 runs at two thirds of the speed), and 16,384 elsewhere.
        accelerator (`Accelerator`, *optional*):
            Shares the work among its processes; every one of them gets all scores.
        cache (`Path` or `str`, *optional*):
            File of scores from which an interrupted run resumes.
        training (`dict`, *optional*):
            Data, settings and validation numbers of its training.
    """

    kind = "neural"
    higher_is_human = True
    takes_all_passages = True  # it divides them itself, with one bar for all

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: Any,
        input_format: InputFormat,
        name: str = "",
        decision: Decision | None = None,
        temperature: float = 1.0,
        device: str | torch.device | None = None,
        max_tokens: int | None = None,
        accelerator: Any = None,
        cache: Path | str | None = None,
        training: dict[str, Any] | None = None,
        progress: bool = False,
        curve: tuple[Sequence[float], Sequence[float]] | None = None,
    ):
        _check_labels(model)
        self.accelerator = accelerator
        self.device = torch.device(device or best_device(accelerator))
        self.model: Any = model.eval()
        self.model.to(self.device)
        self.tokenizer = tokenizer
        self.input_format = input_format.limited(_longest(model))
        self.name = name or model.config.model_type.removeprefix("dialeval-")
        self.decision = decision or Decision()
        self.temperature = temperature
        self.curve = curve
        self.max_tokens = max_tokens or (1_024 if self.device.type == "cpu" else 16_384)
        self.cache = ScoreCache(cache) if cache else None
        self.training = training or {}
        self.progress = progress
        self._warned: set[str] = set()

    @property
    def signature(self) -> str:
        """How its scores are computed, in one line."""
        dtype = str(next(self.model.parameters()).dtype).removeprefix("torch.")
        trained = self.training.get("signature", "")
        parts = [f"disc:{self.name}", f"in:{self.input_format.name}", self.decision.signature]
        if self.curve is not None:
            parts.append("isotonic")
        elif self.temperature != 1:
            parts.append(f"T:{self.temperature:.4g}")
        return "|".join([*parts, dtype, *filter(None, [trained])])

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """P(human) of each passage, in their order."""
        return self.probabilities(self.margins(passages))

    def probabilities(self, margins: np.ndarray) -> np.ndarray:
        """Calibrated P(human) of margins."""
        if self.curve is not None:
            return np.interp(margins, *self.curve)
        return expit(margins / self.temperature)

    def margins(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """Human logit minus machine logit of each passage, shape `(n,)`."""
        windows = []
        total = len(passages)
        bar = progress.bar(self.name, total, " passages", self.progress)
        for window in chunks(iterate_passages(passages), _WINDOW):
            encoded = self.input_format(self.tokenizer, window)
            self._warn_about_cuts(encoded, window)
            windows.append(self._score(encoded, bar))
        bar.close()
        return np.concatenate(windows) if windows else np.zeros(0)

    def _score(self, encoded: list[Encoded], bar: progress.Bar) -> np.ndarray:
        rows = [passage.ids or [self.pad_id] for passage in encoded]
        scores = np.full(len(rows), np.nan)
        if self.cache is not None:  # an empty one is false
            keys = [self.cache.key(self.fingerprint, ids) for ids in rows]
            scores[:] = self._cached(self.cache, keys)
        todo = np.flatnonzero(np.isnan(scores))
        bar.update(len(rows) - len(todo))
        lengths = [len(rows[row]) for row in todo]
        for batch in self._local_batches(list(token_batches(lengths, self.max_tokens))):
            chosen = todo[batch]
            scores[chosen] = self._forward([rows[row] for row in chosen])
            if self.cache is not None:  # an empty one is false
                self.cache.put([keys[row] for row in chosen], scores[chosen])
            bar.update(len(chosen))
        return self._gather(scores, todo)

    def _cached(self, cache: ScoreCache, keys: Sequence[str]) -> np.ndarray:
        """Cached scores, NaN where there is none; what one process has, all have.

        Each process keeps what it computed itself. Without an exchange they would divide different
        rows among them, and some rows would be nobody's.
        """
        scores = np.array([cache.get(key) for key in keys], dtype=float)
        return self._gather(scores, np.flatnonzero(~np.isnan(scores)))

    def _local_batches(self, batches: list[np.ndarray]) -> Iterator[np.ndarray]:
        """This process's share of the batches."""
        if self.accelerator is None:
            return iter(batches)
        return iter(batches[self.accelerator.process_index :: self.accelerator.num_processes])

    def _gather(self, scores: np.ndarray, todo: np.ndarray) -> np.ndarray:
        """The scores with those of all processes in some rows."""
        if self.accelerator is None or self.accelerator.num_processes == 1:
            return scores
        local = [(int(row), float(scores[row])) for row in todo if not np.isnan(scores[row])]
        for row, score in gather_object(local):
            scores[row] = score
        return scores

    @torch.inference_mode()
    def _forward(self, rows: list[list[int]]) -> np.ndarray:
        batch = pad(rows, self.pad_id)
        with fused_activations(self.model):
            logits = self.model(**{k: t.to(self.device) for k, t in batch.items()}).logits
        margins = (logits[:, 1] - logits[:, 0]).float().cpu().numpy()
        if not np.isfinite(margins).all():
            raise BadInput(
                f"the discriminator {self.name!r} gave {(~np.isfinite(margins)).sum()} scores that "
                "are not numbers.",
                hint="Train it with a smaller learning rate, or run it in float32.",
            )
        return margins.astype(np.float64)

    @property
    def pad_id(self) -> int:
        """The padding token; any token if the tokenizer has none, since the mask hides it."""
        pad_id = self.tokenizer.pad_token_id
        return 0 if pad_id is None else pad_id

    @property
    def fingerprint(self) -> str:
        """A hash of the weights, the same on every machine."""
        if not hasattr(self, "_fingerprint"):
            self._fingerprint = fingerprint(self.model)
        return self._fingerprint

    def _warn_about_cuts(self, encoded: list[Encoded], window: Sequence[Passage]) -> None:
        cut = sum(passage.response_cut > 0 for passage in encoded)
        empty = sum(not passage.response.strip() for passage in window)
        if cut and "cut" not in self._warned:
            self._warned.add("cut")
            form = self.input_format
            limits = [limit for limit in (form.max_response, form.max_length) if limit is not None]
            logger.warning(
                "%s reads at most %d tokens of a response; %d of the first %d were cut.",
                self.name, min(limits), cut, len(encoded),
            )  # fmt: skip
        if empty and "empty" not in self._warned:
            self._warned.add("empty")
            logger.warning("%d responses are empty; %s scores them too.", empty, self.name)

    def save(self, folder: Path) -> dict[str, Any]:
        """Write weights, configuration and tokenizer; return the settings for `load`."""
        if hasattr(self.model, "peft_config"):  # adapters need their base to be complete
            from dialeval.models.adapters import save_lora

            save_lora(self.model, folder)
        else:
            self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        return {
            "input_format": self.input_format.to_dict(),
            "temperature": self.temperature,
            "curve": self.curve,
            "training": self.training,
            "fingerprint": self.fingerprint,
        }

    @classmethod
    def load(
        cls,
        folder: Path,
        settings: dict[str, Any],
        neural: dict[str, Any] | None = None,
        **options: Any,
    ) -> "NeuralScorer":
        """A scorer as `save` wrote it; `neural` are options meant for neural scorers only.

        Args:
            folder (`Path`):
                The folder.
            settings (`dict`):
                What `save` returned, with name and decision.
            neural (`dict`, *optional*):
                Options for neural scorers only.
            options:
                Options of the constructor, such as `device`.

        Returns:
            `NeuralScorer`: The scorer.
        """
        model = _pretrained(folder)
        tokenizer = from_pretrained(AutoTokenizer, folder, what="tokenizer", hint=_HINT)
        return cls(
            model,
            tokenizer,
            from_saved(InputFormat, settings["input_format"]),
            settings["name"],
            decision_of(settings),
            settings.get("temperature", 1.0),
            training=_checked_training(settings.get("training")),
            curve=_checked_curve(settings.get("curve")),
            **{**(neural or {}), **options},
        )


def _checked_training(training: Any) -> dict[str, Any]:
    """What a saved scorer says of its training; its signature is a text."""
    if not isinstance((training or {}).get("signature", ""), str):
        raise BadInput("`training.signature` has a text.")
    return training or {}


def _checked_curve(curve: Any) -> tuple[Sequence[float], Sequence[float]] | None:
    """A calibration curve of a saved scorer: two lists of numbers, of one length."""
    if curve is None:
        return None
    margins, probabilities = (np.asarray(side, dtype=float) for side in curve)
    if margins.ndim != 1 or margins.shape != probabilities.shape or not len(margins):
        raise BadInput("`curve` has two lists of numbers of one length.")
    return curve


def _pretrained(folder: Path) -> Any:
    """The network of a folder; code in the folder is not run."""
    if (folder / "adapter_config.json").is_file():
        from dialeval.models.adapters import load_lora

        return load_lora(folder)
    return from_pretrained(AutoModelForSequenceClassification, folder, what="network", hint=_HINT)


def _longest(model: PreTrainedModel) -> int | None:
    """Number of tokens that a model can read, if its positions are limited."""
    shape = getattr(model.config, "backbone", None) or {}
    positions = shape.get("n_positions") or shape.get("max_position_embeddings")
    offset = 2 if shape.get("model_type") in ("roberta", "xlm-roberta", "camembert") else 0
    return positions - offset if positions else None


def _check_labels(model: PreTrainedModel) -> None:
    labels = {int(key): str(value).lower() for key, value in (model.config.id2label or {}).items()}
    if labels != {0: "machine", 1: "human"}:
        raise BadInput(
            f"a discriminator's labels are {{0: machine, 1: human}}, but this one has {labels}.",
            hint="If they are swapped, swap the rows of its classifier; if it has one logit, "
            "load it with dialeval.models.load_dialogrpt.",
        )
