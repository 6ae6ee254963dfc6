"""Discriminators that others released: DialogRPT from the Hub or as `.pth`, DialoGPT as a start."""

import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoConfig, GPT2Config, GPT2ForSequenceClassification

from dialeval.dialogues import BadInput
from dialeval.models.configuration_transformer import TransformerDiscriminatorConfig
from dialeval.models.loading import from_pretrained
from dialeval.models.modeling_transformer import TransformerDiscriminator

logger = logging.getLogger(__name__)

END_OF_TEXT = 50256  # GPT-2's separator, end and padding
_MASK_BUFFER = re.compile(r"\.attn\.(masked_)?bias$")  # causal masks, stored by older versions
_HEADS = ("lm_head.weight", "lm_head.decoder.weight")


def load_dialogrpt(
    name: Path | str, n_head: int | None = None, eos_token_id: int = END_OF_TEXT, **kwargs: Any
) -> TransformerDiscriminator:
    """A one-logit GPT-2 ranker as a discriminator whose logits are (0, h).

    Args:
        name (`Path` or `str`):
            A Hub name or folder of a `GPT2ForSequenceClassification`, such as
            `microsoft/DialogRPT-human-vs-rand`; a file with the original weights (`.pth`); or one
            with DialoGPT's (`.pkl`), whose score for the end token becomes the head, the start of
            the discriminator of Gao et al. (2021).
        n_head (`int`, *optional*):
            Attention heads of a model in a file, by default one for every 64 dimensions.
        eos_token_id (`int`, *optional*, defaults to 50256):
            The end token of a model in a file.
        kwargs:
            For `from_pretrained`, such as `revision` or `dtype`; ignored for a file.

    Returns:
        `TransformerDiscriminator`: In evaluation mode.
    """
    if Path(name).is_file():
        return _from_state(read_state(name), name, n_head, eos_token_id)
    return _from_hub(str(name), kwargs)


def read_state(path: Path | str) -> dict[str, Tensor]:
    """Weights by name from a file, without `module.` and without stored causal masks."""
    try:
        state = _load_weights(Path(path))
    except Exception as error:  # torch has many kinds of errors
        hint = "Download it again; a file that holds code besides weights is never opened."
        reason = str(error).split("\n")[0]
        raise BadInput(f"expected a file of weights, but {reason}", path, hint=hint) from None
    if not isinstance(state, Mapping) or not all(map(torch.is_tensor, state.values())):
        raise BadInput(
            f"expected weights by name, but found a {type(state).__name__} of other things.",
            path,
            hint="Save only model.state_dict().",
        )
    named = {key.removeprefix("module."): value for key, value in state.items()}
    return {key: value for key, value in named.items() if not _MASK_BUFFER.search(key)}


def _from_hub(name: str, kwargs: dict[str, Any]) -> TransformerDiscriminator:
    try:
        config = from_pretrained(AutoConfig, name, **_without_dtype(kwargs))
        _check_kind(config, name)
        loaded: Any = from_pretrained(
            GPT2ForSequenceClassification, name, config=config, output_loading_info=True, **kwargs
        )
    except BadInput:
        raise
    except Exception as error:
        hint = "Check the name and the network, or give a folder with config.json and weights."
        raise BadInput(f"could not load it: {error}", name, hint=hint) from None
    model, report = loaded  # the second because of output_loading_info
    unexpected = [key for key in report["unexpected_keys"] if not _MASK_BUFFER.search(key)]
    _check_keys(report["missing_keys"], unexpected, name)
    discriminator = _discriminator(config, model.transformer)
    discriminator.to(model.dtype)
    discriminator.score.weight.data.copy_(model.score.weight.data)
    return discriminator.eval()


def _from_state(
    state: dict[str, Tensor], path: Path | str, n_head: int | None, eos_token_id: int
) -> TransformerDiscriminator:
    state = _with_score(state, path, eos_token_id)
    model = _discriminator(_shape(state, path, n_head, eos_token_id))
    renamed = {re.sub(r"^transformer\.", "backbone.", key): value for key, value in state.items()}
    try:
        missing, unexpected = model.load_state_dict(renamed, strict=False)
    except RuntimeError as error:
        hint = "Give the file of one whole GPT-2."
        raise BadInput(f"its shapes do not fit: {error}", path, hint=hint) from None
    _check_keys(_file_keys(missing), _file_keys(unexpected), path)
    return model.eval()


def _file_keys(keys: Sequence[str]) -> list[str]:
    """Names of weights as they are in the file."""
    return [re.sub(r"^backbone\.", "transformer.", key) for key in keys]


def _discriminator(config: GPT2Config, backbone: Any = None) -> TransformerDiscriminator:
    shape = config.to_dict()
    for name in ("id2label", "label2id", "num_labels", "architectures"):
        shape.pop(name, None)  # those of the old head
    return TransformerDiscriminator(
        TransformerDiscriminatorConfig(shape, pooling="last", causal=True), backbone
    )


def _with_score(state: dict[str, Tensor], path: Path | str, eos: int) -> dict[str, Tensor]:
    """The weights with the language model's row for the end token in place of a head."""
    head = next((key for key in _HEADS if key in state), None)
    if "score.weight" in state or head is None:
        return state
    weights = state[head]  # (vocab, n_embd)
    if len(weights) <= eos:
        hint = "Give the id of its end token as eos_token_id."
        message = f"its vocabulary of {len(weights)} has no end token {eos}."
        raise BadInput(message, path, hint=hint)
    rest = {key: value for key, value in state.items() if key not in _HEADS}
    return {**rest, "score.weight": weights[eos : eos + 1]}


def _shape(state: dict[str, Tensor], path: Path | str, n_head: int | None, eos: int) -> GPT2Config:
    """The configuration that follows from the shapes of the weights."""
    needed = ("transformer.wte.weight", "transformer.wpe.weight", "transformer.h.0.mlp.c_fc.weight")
    _check_keys([key for key in (*needed, "score.weight") if key not in state], [], path)
    vocab, width = state[needed[0]].shape
    heads = n_head or width // 64
    if not heads or width % heads:
        hint = "Give n_head, the number of its attention heads."
        raise BadInput(f"a width of {width} is not {heads or 'any'} heads.", path, hint=hint)
    layers = {int(match[1]) for key in state if (match := re.match(r"transformer\.h\.(\d+)", key))}
    return GPT2Config(
        vocab_size=vocab,
        n_embd=width,
        n_layer=max(layers) + 1,
        n_head=heads,
        n_positions=len(state[needed[1]]),
        n_inner=state[needed[2]].shape[1],
        bos_token_id=eos,
        eos_token_id=eos,
    )


def _check_kind(config: Any, name: str) -> None:
    kinds = config.architectures or ["nothing"]
    if "GPT2ForSequenceClassification" in kinds and config.num_labels == 1:
        return
    raise BadInput(
        f"expected a GPT2ForSequenceClassification with one logit, but its configuration says "
        f"{', '.join(kinds)} with {config.num_labels}.",
        name,
        hint="Load a discriminator of dialeval with load_scorer, and put a new head on any other "
        "model with TransformerDiscriminator.from_backbone.",
    )


def _check_keys(missing: Sequence[str], unexpected: Sequence[str], path: Path | str) -> None:
    wrong = {"missing": sorted(missing), "unexpected": sorted(unexpected)}
    problems = [f"{what} {_join_keys(keys)}" for what, keys in wrong.items() if keys]
    if problems:
        hint = "Give the weights of one whole GPT-2 with a `score` or an `lm_head`."
        raise BadInput(f"not the weights of DialogRPT: {'; '.join(problems)}.", path, hint=hint)


def _join_keys(keys: Sequence[str], most: int = 8) -> str:
    more = f" and {len(keys) - most} more" if len(keys) > most else ""
    return ", ".join(keys[:most]) + more


def _load_weights(path: Path) -> Any:
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(path)
    return torch.load(path, map_location="cpu", weights_only=True)


def _without_dtype(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kwargs.items() if name not in ("dtype", "torch_dtype")}
