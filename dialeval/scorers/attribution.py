"""Which words a scorer looks at: attention, gradients, exact contributions, occlusion."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dialeval.dialogues import BadInput, Passage, to_passages
from dialeval.dialogues.encoding import Encoded
from dialeval.dialogues.tokens import TOKEN
from dialeval.models.batching import pad
from dialeval.scorers.linear import SvmScorer
from dialeval.scorers.neural import NeuralScorer

STEPS = 50
"""Points on the path of integrated gradients (Sundararajan et al., 2017, use 20 to 300)."""
METHODS = ("attention", "integrated-gradients", "gradient-x-input", "linear", "occlusion")


@dataclass(frozen=True)
class WordWeights:
    """Weights of the words of one passage.

    Args:
        words (`tuple[str, ...]`):
            Words, or tokens such as a separator.
        weights (`tuple[float, ...]`):
            One each; positive speaks for human, except attention, which has no sign.
        response_at (`int`):
            Index of the response's first word.
        method (`str`):
            One of `METHODS`.
    """

    words: tuple[str, ...]
    weights: tuple[float, ...]
    response_at: int
    method: str

    @property
    def response_mass(self) -> float:
        """Share of the absolute weight that lies on the response."""
        sizes = np.abs(self.weights)
        total = float(sizes.sum())
        return float(sizes[self.response_at :].sum()) / total if total else float("nan")


def method_for(scorer: Any) -> str:
    """The most exact method that a kind of scorer allows."""
    if isinstance(scorer, SvmScorer):
        return "linear"
    return "integrated-gradients" if isinstance(scorer, NeuralScorer) else "occlusion"


def has_attention(scorer: Any) -> bool:
    """Whether a discriminator weights its words by one attention (Bruni and Fernández, 2017)."""
    return isinstance(scorer, NeuralScorer) and hasattr(scorer.model, "query")


def attribute(
    scorer: Any, passages: Sequence[Passage], method: str | None = None, steps: int = STEPS
) -> list[WordWeights]:
    """Weights of the words of each passage.

    Args:
        scorer (`Scorer`):
            Who scores.
        passages (`Sequence[Passage]`):
            What is scored.
        method (`str`, *optional*):
            One of `METHODS`; by default the most exact one for the scorer.
        steps (`int`, *optional*, defaults to 50):
            Points of integrated gradients.

    Returns:
        `list[WordWeights]`: In the order of the passages.

    Raises:
        BadInput: The method is unknown, or the scorer does not allow it.
    """
    method = method or method_for(scorer)
    if method not in METHODS:
        raise BadInput(f"unknown method {method!r}.", hint=f"Choose one of {', '.join(METHODS)}.")
    needs: dict[str, Callable[[Any], bool]] = {
        "attention": has_attention,
        "linear": lambda one: isinstance(one, SvmScorer),
        "occlusion": lambda one: True,
    }
    if not needs.get(method, lambda one: isinstance(one, NeuralScorer))(scorer):
        hint = f"Use {method_for(scorer)}."
        raise BadInput(f"{scorer.name} has no weights by {method}.", hint=hint)
    if method == "linear":
        return [_linear(scorer, passage) for passage in passages]
    if method == "occlusion":
        return [_occlusion(scorer, passage) for passage in passages]
    if method == "attention":
        return [_attention(scorer, passage) for passage in passages]
    points = steps if method == "integrated-gradients" else 1
    return [_gradients(scorer, passage, points, method) for passage in passages]


# Networks


def _encoded(scorer: NeuralScorer, passage: Passage) -> Encoded:
    [encoded] = scorer.input_format(scorer.tokenizer, [passage])
    return encoded


def _attention(scorer: NeuralScorer, passage: Passage) -> WordWeights:
    encoded = _encoded(scorer, passage)
    with torch.inference_mode():
        output = scorer.model(**_batch(scorer, encoded))
    weights = output.attentions[0].float().cpu().numpy()
    return _as_words(scorer, encoded, weights, "attention")


def _gradients(scorer: NeuralScorer, passage: Passage, points: int, method: str) -> WordWeights:
    """Integrated gradients of the margin over word vectors, from zero vectors (eq. 3 there).

    Special tokens, such as the end of a turn, stay as they are on the whole path: they are no
    words, and a passage without them is none that the network knows. One point at the passage
    itself is gradient times input.
    """
    encoded = _encoded(scorer, passage)
    shares = (np.arange(points) + 0.5) / points if points > 1 else np.ones(1)
    total: Tensor | None = None
    for share in shares:
        part = _gradient_times_vectors(scorer, encoded, float(share))
        total = part if total is None else total + part
    assert total is not None
    return _as_words(scorer, encoded, (total / len(shares)).cpu().numpy(), method)


def _gradient_times_vectors(scorer: NeuralScorer, encoded: Encoded, share: float) -> Tensor:
    """Gradient of the margin at `share` of the word vectors, times the vectors, shape `(time,)`."""
    seen: list[tuple[Tensor, Tensor]] = []

    special = torch.tensor([*scorer.tokenizer.all_special_ids], device=scorer.device)

    def scale(module: nn.Module, given: tuple[Tensor], vectors: Tensor) -> Tensor:
        is_word = ~torch.isin(given[0], special)[..., None]
        words = torch.where(is_word, vectors.detach(), 0.0)
        scaled = torch.where(is_word, share * words, vectors.detach()).requires_grad_()
        seen.append((words, scaled))
        return scaled

    hook = _word_embedding(scorer.model).register_forward_hook(scale)
    try:
        with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
            logits = scorer.model(**_batch(scorer, encoded)).logits
            margin = (logits[:, 1] - logits[:, 0]).sum()
            vectors, scaled = seen[0]
            [gradient] = torch.autograd.grad(margin, scaled)
    finally:
        hook.remove()
    return _in_one_row((gradient * vectors).sum(-1).float(), scorer, encoded)


def _in_one_row(values: Tensor, scorer: NeuralScorer, encoded: Encoded) -> Tensor:
    """Values of the tokens in order; some networks read one row per turn."""
    if values.shape == (1, len(encoded.ids)):
        return values[0]
    eos, rows, start = scorer.model.config.eos_token_id, [], 0
    for index, token in enumerate(encoded.ids):
        if token == eos or index == len(encoded.ids) - 1:
            rows.append(index + 1 - start)
            start = index + 1
    return torch.cat([values[row, :size] for row, size in enumerate(rows)])


def _word_embedding(model: Any) -> nn.Module:
    if hasattr(model, "embedding"):
        return model.embedding
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    return getattr(base, "backbone", base).get_input_embeddings()


def _batch(scorer: NeuralScorer, encoded: Encoded) -> dict[str, Tensor]:
    batch = pad([encoded.ids or [scorer.pad_id]], scorer.pad_id)
    return {name: tensor.to(scorer.device) for name, tensor in batch.items()}


def _as_words(
    scorer: NeuralScorer, encoded: Encoded, weights: np.ndarray, method: str
) -> WordWeights:
    """Sums of the weights of each word's tokens."""
    tokens = scorer.tokenizer.convert_ids_to_tokens(encoded.ids)
    marked = any(token.startswith(("Ġ", "▁")) for token in tokens)
    words: list[str] = []
    sums: list[float] = []
    response_at = len(tokens)
    for index, (token, weight) in enumerate(zip(tokens, weights, strict=True)):
        begins = index in (0, encoded.response_at) or not _continues(token, marked)
        if index == encoded.response_at:
            response_at = len(words)
        if begins:
            words.append(token.lstrip("Ġ▁"))
            sums.append(float(weight))
        else:
            words[-1] += token.removeprefix("##")
            sums[-1] += float(weight)
    return WordWeights(tuple(words), tuple(sums), min(response_at, len(words)), method)


def _continues(token: str, marked: bool) -> bool:
    """Whether a token continues the word before it."""
    if token.startswith("##"):
        return True
    return marked and token[:1].isalnum()


# Linear scorers, and any other


def _linear(scorer: SvmScorer, passage: Passage) -> WordWeights:
    """Exact: the weight of each word in the decision value; a repeated word counts once."""
    coefficients = scorer.parts["classifier"].calibrated_classifiers_[0].estimator.coef_[0]
    words: list[str] = []
    weights: list[float] = []
    response_at = 0
    offsets = {"response": 0, "context": len(scorer.parts["response"].vocabulary_)}
    texts = {"context": "\n".join(turn.text for turn in passage.context),
             "response": passage.response}  # fmt: skip
    for part, text in texts.items():
        if part == "response":
            response_at = len(words)
        columns = scorer.parts[part].vocabulary_ if part in scorer.parts else {}
        seen: set[str] = set()
        for word in TOKEN.findall(text):
            column = columns.get(word.lower())
            is_new = word.lower() not in seen
            seen.add(word.lower())
            words.append(word)
            known = column is not None and is_new
            weights.append(float(coefficients[offsets[part] + (column or 0)]) if known else 0.0)
    return WordWeights(tuple(words), tuple(weights), response_at, "linear")


def _occlusion(scorer: Any, passage: Passage) -> WordWeights:
    """The change of the score without each word: exact, and the same for every scorer."""
    variants: list[Passage] = [passage]
    words: list[str] = []
    for index, turn in enumerate(passage.context):
        pieces = turn.text.split()
        for position, word in enumerate(pieces):
            texts = [row.text for row in passage.context]
            texts[index] = " ".join(pieces[:position] + pieces[position + 1 :])
            variants.append(passage.with_context(texts))
            words.append(word)
    response_at, pieces = len(words), passage.response.split()
    for position, word in enumerate(pieces):
        text = " ".join(pieces[:position] + pieces[position + 1 :])
        variants.append(replace(passage, response=text))
        words.append(word)
    scores = np.asarray(scorer(to_passages(variants)), dtype=float)
    gains = (scores[0] - scores[1:]) * (1 if scorer.higher_is_human else -1)
    return WordWeights(tuple(words), tuple(gains.tolist()), response_at, "occlusion")
