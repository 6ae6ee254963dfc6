"""Training of generators with a latent variable: the weight of the divergence, and its collapse."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from dialeval.dialogues import BadInput, Passages
from dialeval.models.batching import token_batches

if TYPE_CHECKING:
    from dialeval.training.likelihood import Examples

ACTIVE = 0.01
"""Variance of a unit's posterior mean above which it is active (Burda et al., 2016)."""
COLLAPSED = 0.1
"""Divergence in nats per response below which the latent variable says nothing."""
_BATCH_TOKENS = 2_048


def has_latent(model: Any) -> bool:
    """Whether a model has a latent variable with a prior and a posterior."""
    return bool(getattr(model.config, "latent_size", 0))


def kl_weight(step: int, total: int, steps: int = -1) -> float:
    """The weight of the divergence in an update: from almost 0 up to 1 in equal parts.

    (Bowman et al., 2016; Serban et al., 2016, sec. 4.4). In the released code of Niu and Bansal
    the schedule is never reached and the weight is always 1, which is `steps=0` here.

    Args:
        step, total (`int`):
            Number of the update, and of all updates.
        steps (`int`, *optional*, defaults to -1):
            Updates until the weight is 1; -1 is half of all updates, 0 none.

    Returns:
        `float`: In (0, 1].

    Examples:
        >>> [kl_weight(step, 8) for step in range(5)]
        [0.25, 0.5, 0.75, 1.0, 1.0]
    """
    steps = total // 2 if steps < 0 else steps
    return min(1.0, (step + 1) / steps) if steps else 1.0


def check_turns(passages: Passages, turns: int) -> None:
    """Refuse contexts of single turns, over which a context encoder has nothing to do."""
    hint = "Raise --context_turns, give longer dialogues, or train --model seq2seq."
    if turns < 2:
        raise BadInput(
            f"a hierarchical encoder reads two or more turns, but got {turns}.", hint=hint
        )
    lengths = np.array([len(context) for context in passages.with_format("python")["context"]])
    if not (lengths > 1).any():
        message = f"none of {len(lengths):,} contexts has the two turns of a hierarchical encoder."
        raise BadInput(message, hint=hint)


@torch.no_grad()
def latent_numbers(model: Any, examples: "Examples") -> dict[str, float]:
    """Mean divergence per response in nats, and the number of active units."""
    model.eval()
    divergences, means = [], []
    for rows in token_batches(examples.sizes, _BATCH_TOKENS):
        batch, labels = examples.tensors(rows)
        inputs = {name: tensor.to(model.device) for name, tensor in batch.items()}
        output = model(**inputs, targets=labels.to(model.device))
        divergences.append(output.kl.float().cpu())
        means.append(output.latent_mean.float().cpu())
    variances = torch.cat(means).var(0, unbiased=False)  # (latent,)
    return {
        "kl": torch.cat(divergences).mean().item(),
        "active_units": float((variances > ACTIVE).sum()),
    }


def collapse_warning(numbers: dict[str, float], units: int) -> str | None:
    """What to know about a latent variable that the decoder ignores; `None` if it does not.

    Examples:
        >>> collapse_warning({"kl": 3.2, "active_units": 9.0}, 32) is None
        True
    """
    if numbers["kl"] >= COLLAPSED and numbers["active_units"]:
        return None
    return (
        f"The latent variable collapsed: {numbers['kl']:.3f} nats per response, "
        f"{numbers['active_units']:.0f} of {units} units active. The model is a hierarchical "
        "encoder-decoder without it; raise --kl_steps or --word_drop."
    )
