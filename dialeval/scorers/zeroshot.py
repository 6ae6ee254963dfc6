"""Evaluators without training: a language model's probabilities of the response's tokens."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from dialeval import progress
from dialeval.dialogues import BadInput, Passage, Passages
from dialeval.dialogues.encoding import Encoded
from dialeval.dialogues.storage import chunks, iterate_passages
from dialeval.models.batching import pad, token_batches
from dialeval.models.heads import logits_at
from dialeval.models.loading import from_pretrained
from dialeval.models.packages import smollm2_path
from dialeval.models.weights import fingerprint
from dialeval.scorers.base import Decision
from dialeval.scorers.folders import decision_of

logger = logging.getLogger(__name__)

SHORT = 50
"""Number of tokens below which a score is unreliable."""

_WINDOW = 16_384  # passages that are sorted by length together
_POSITIONS = 256  # positions whose distribution over the vocabulary is held at once
_LEAST = -1e4  # stands for the logarithm of 0, and 0 times it is 0


def _log_probability(log_probs: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
    return (chosen,)


def _log_rank(log_probs: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
    better = (log_probs > chosen[:, None]).sum(-1)
    return (torch.log1p(better.double()),)


def _entropy(log_probs: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
    return (-(log_probs.exp() * log_probs).sum(-1),)


def _curvature(log_probs: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
    probs = log_probs.exp()
    mean = (probs * log_probs).sum(-1)
    variance = (probs * (log_probs - mean[:, None]).square()).sum(-1)
    return chosen - mean, variance


@dataclass(frozen=True)
class Measure:
    """What is computed for each token, how tokens are aggregated, and the score's direction.

    Args:
        of_tokens (`Callable`):
            From log-probabilities `(tokens, vocabulary)` and those of the actual tokens, one or
            two numbers per token.
        higher_is_human (`bool`):
            Whether a higher score means human.
    """

    of_tokens: Callable[[Tensor, Tensor], tuple[Tensor, ...]]
    higher_is_human: bool

    def of_response(self, numbers: np.ndarray) -> float:
        """The score from the tokens' numbers, shape `(tokens, 1 or 2)`."""
        if numbers.shape[1] == 1:
            return float(numbers.mean())
        gap, variance = numbers.sum(0)
        return float(gap / np.sqrt(max(variance, 1e-12)))


MEASURES = {
    "log-probability": Measure(_log_probability, higher_is_human=False),
    "log-rank": Measure(_log_rank, higher_is_human=True),
    "entropy": Measure(_entropy, higher_is_human=True),
    "fast-detectgpt": Measure(_curvature, higher_is_human=False),
}
"""Measures by name. Machine text tends to have high probability, low rank, and a higher probability
than alternatives. The direction of entropy depends on decoding: search for the mode leads to low
entropy, sampling to high entropy (DetectGPT's baseline counts high entropy as machine)."""


class ZeroShotScorer:
    """A score for each response by any causal language model, given the context.

    Args:
        model (`PreTrainedModel`):
            Causal language model.
        tokenizer (`PreTrainedTokenizerBase`):
            Its tokenizer.
        measure (`str`, *optional*, defaults to `"fast-detectgpt"`):
            `"log-probability"`, `"log-rank"` and `"entropy"` are means over the response's tokens,
            in nats; the rank of the most probable token is 1. `"fast-detectgpt"` is how far the
            log-probability lies above what the model's own samples would have, in standard
            deviations (Bao et al., 2024, in its analytic form).
        decision (`Decision`, *optional*):
            These numbers have no natural threshold: choose one on validation data. Until then it
            is 0, marked `unset`.
        higher_is_human (`bool`, *optional*):
            By default the direction of the measure.
        turned (`bool`, *optional*, defaults to `False`):
            Score the last turn of the context given the response, by a model of p(s|t).
        device (`str`, *optional*):
            Where to run; by default where the model is.
        max_tokens (`int`, *optional*, defaults to 2048):
            Tokens of a batch, padding included.

    Turns end with the tokenizer's end token, or with a newline where it has none. Where a model
    reads less than the passage, the oldest tokens of the context are cut, then the last of the
    response. An empty response is scored by the end token alone. Scores do not depend on the batch,
    except for a rank where two tokens are almost equally probable.
    """

    kind = "zero-shot"

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: Any,
        measure: str = "fast-detectgpt",
        name: str = "",
        decision: Decision | None = None,
        higher_is_human: bool | None = None,
        device: str | torch.device | None = None,
        max_tokens: int = 2048,
        progress: bool = False,
        turned: bool = False,
    ):
        if measure not in MEASURES:
            hint = f"Choose one of {', '.join(MEASURES)}."
            raise BadInput(f"unknown measure {measure!r}.", hint=hint)
        self.device = torch.device(device or model.device)
        self.model: Any = model.eval()
        self.model.to(self.device)
        self.tokenizer = tokenizer
        self.measure = measure
        natural = MEASURES[measure].higher_is_human
        self.higher_is_human = natural if higher_is_human is None else higher_is_human
        self.name = name or f"{model.config.model_type} {measure}"
        self.decision = decision or Decision(0.0, "unset")
        self.max_tokens = max_tokens
        self.progress = progress
        self.turned = turned
        self._warned: set[str] = set()

    @classmethod
    def from_pretrained(
        cls, model: str | Path, measure: str = "fast-detectgpt", **options: Any
    ) -> "ZeroShotScorer":
        """A scorer by the folder of a language model, or its name on the Hub."""
        options.setdefault("name", f"{Path(model).name} {measure}")
        return cls(*_pretrained(model), measure, **options)

    @property
    def signature(self) -> str:
        """How its scores are computed, in one line."""
        dtype = str(self.model.dtype).removeprefix("torch.")
        way = "(s|t)" if self.turned else ""
        model = f"disc:{self.name}|zero-shot:{self.measure}{way}|lm:{self.fingerprint}"
        return f"{model}|{self.decision.signature}|{dtype}"

    @property
    def fingerprint(self) -> str:
        """A hash of the weights, the same on every machine."""
        if not hasattr(self, "_fingerprint"):
            self._fingerprint = fingerprint(self.model)
        return self._fingerprint

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """The measure of each passage, in their order."""
        windows = []
        bar = progress.bar(self.name, len(passages), " passages", self.progress)
        given = iterate_passages(passages)
        if self.turned:
            given = (passage.reversed() for passage in given)
        for window in chunks(given, _WINDOW):
            rows = self._encode(window)
            self._warn(rows, window)
            scores = np.empty(len(rows))
            for batch in token_batches([len(row.ids) for row in rows], self.max_tokens):
                scores[batch] = self._forward([rows[row] for row in batch])
                bar.update(len(batch))
            windows.append(scores)
        bar.close()
        return np.concatenate(windows) if windows else np.zeros(0)

    @torch.inference_mode()
    def _forward(self, rows: list[Encoded]) -> list[float]:
        batch = pad([row.ids for row in rows], 0)
        items, positions = _positions(rows)
        targets = batch["input_ids"][items, positions].to(self.device)
        logits = self._logits(batch, items, positions - 1)  # a token is predicted at the one before
        measure, numbers = MEASURES[self.measure], []
        for part in torch.arange(len(items)).split(_POSITIONS):
            log_probs = logits[part].float().log_softmax(-1).clamp_(min=_LEAST)
            chosen = log_probs.gather(-1, targets[part, None]).squeeze(-1)
            of_tokens = [value.cpu().double() for value in measure.of_tokens(log_probs, chosen)]
            numbers.append(torch.stack(of_tokens, -1))
        table = self._finite(torch.cat(numbers).numpy())  # (tokens, 1 or 2)
        bounds = np.cumsum([len(row.ids) - row.response_at for row in rows])[:-1]
        return [measure.of_response(tokens) for tokens in np.split(table, bounds)]

    def _logits(self, batch: dict[str, Tensor], items: Tensor, positions: Tensor) -> Tensor:
        """Logits at some positions of a batch, shape `(positions, vocabulary)`."""
        batch = {name: tensor.to(self.device) for name, tensor in batch.items()}
        return logits_at(self.model, batch, items, positions)

    def _finite(self, numbers: np.ndarray) -> np.ndarray:
        if not np.isfinite(numbers).all():
            raise BadInput(
                f"the language model of {self.name!r} gave logits that are not numbers.",
                hint="Run it in float32.",
            )
        return numbers

    def _encode(self, window: Sequence[Passage]) -> list[Encoded]:
        """Token ids of each passage; every text is tokenized once."""
        texts = dict.fromkeys(
            text.strip() for p in window for text in (*(t.text for t in p.context), p.response)
        )
        ids = self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        ids_of = dict(zip(texts, ids, strict=True))
        start, end = self._start(), self._end()
        rows = []
        for passage in window:
            context = [i for turn in passage.context for i in (*ids_of[turn.text.strip()], *end)]
            response = ids_of[passage.response.strip()] or end[:1]
            rows.append(self._truncate(start, context or end, response))
        return rows

    def _truncate(self, start: list[int], context: list[int], response: list[int]) -> Encoded:
        """One row that the model can read, with at least one token before the response."""
        longest = getattr(self.model.config, "max_position_embeddings", None)
        limit = (longest or len(start) + len(context) + len(response)) - len(start)
        kept = response[: max(1, limit - 1)]
        context = context[max(0, len(context) + len(kept) - limit) :]
        cut = len(response) - len(kept)
        at = len(start) + len(context)
        return Encoded([*start, *context, *kept], at, response_cut=cut)

    def _start(self) -> list[int]:
        """The start token, if the tokenizer puts one before every text."""
        bos_id = self.tokenizer.bos_token_id
        first = self.tokenizer("a")["input_ids"][:1]
        return [bos_id] if bos_id is not None and first == [bos_id] else []

    def _end(self) -> list[int]:
        """Tokens at the end of a turn."""
        eos_id = self.tokenizer.eos_token_id
        if eos_id is not None:
            return [eos_id]
        newline = self.tokenizer("\n", add_special_tokens=False)["input_ids"]
        if not newline:
            raise BadInput(
                "the tokenizer has neither an end token nor a newline to put between turns.",
                hint="Set its `eos_token`.",
            )
        return newline

    def _warn(self, rows: list[Encoded], window: Sequence[Passage]) -> None:
        short = sum(len(row.ids) - row.response_at < SHORT for row in rows)
        empty = sum(not passage.response.strip() for passage in window)
        cut = sum(row.response_cut > 0 for row in rows)
        about = f"of the first {len(rows)} responses"
        self._once("short", short, f"%d {about} are shorter than {SHORT} tokens: %s is "
                   "unreliable there. Compare averages, not single responses.")  # fmt: skip
        self._once("empty", empty, f"%d {about} are empty: %s scores the end of the turn instead.")
        self._once("cut", cut, f"%d {about} are longer than the model of %s reads, and were cut.")

    def _once(self, what: str, number: int, message: str) -> None:
        if number and what not in self._warned:
            self._warned.add(what)
            logger.warning(message, number, self.name)

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the language model and its tokenizer; return the settings for `load`."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        return {
            "measure": self.measure,
            "higher_is_human": self.higher_is_human,
            "turned": self.turned,
            "fingerprint": self.fingerprint,
        }

    @classmethod
    def load(
        cls,
        folder: Path,
        settings: dict[str, Any],
        device: str | torch.device | None = None,
        max_tokens: int = 2048,
        progress: bool = False,
        **_: Any,
    ) -> "ZeroShotScorer":
        """A scorer as `save` wrote it.

        Args:
            folder (`Path`):
                The folder.
            settings (`dict`):
                What `save` returned, with name and decision.
            device (`str`, *optional*):
                Where to run.
            max_tokens (`int`, *optional*, defaults to 2048):
                Tokens of a batch.
            progress (`bool`, *optional*, defaults to `False`):
                Whether to show a progress bar.

        Returns:
            `ZeroShotScorer`: The scorer.
        """
        return cls(
            *_pretrained(folder),
            settings["measure"],
            settings["name"],
            decision_of(settings),
            settings["higher_is_human"],
            device,
            max_tokens,
            progress,
            settings.get("turned", False),
        )


def _pretrained(folder: str | Path) -> tuple[PreTrainedModel, Any]:
    path = smollm2_path() if str(folder) == "smollm2" else Path(folder)
    where: str | Path = folder
    options: dict[str, Any] = {}
    if path.suffix == ".gguf":
        where, options = path.parent, {"gguf_file": path.name}
    hint = "Give a causal language model's folder or its name on the Hub."
    model = from_pretrained(
        AutoModelForCausalLM, where, what="language model", hint=hint, **options
    )
    return model, from_pretrained(AutoTokenizer, where, what="tokenizer", hint=hint, **options)


def _positions(rows: list[Encoded]) -> tuple[Tensor, Tensor]:
    """Row and column of every token of a response."""
    sizes = torch.tensor([len(row.ids) - row.response_at for row in rows])
    items = torch.arange(len(rows)).repeat_interleave(sizes)
    positions = torch.cat([torch.arange(row.response_at, len(row.ids)) for row in rows])
    return items, positions
