"""Training a part of a transformer discriminator: low-rank adapters through peft, or the head."""

import json
from pathlib import Path
from typing import Any, cast

from peft import LoraConfig, PeftModel, get_peft_model
from transformers.pytorch_utils import Conv1D

from dialeval.dialogues import BadInput
from dialeval.models.loading import from_pretrained, unloadable
from dialeval.models.modeling_transformer import TransformerDiscriminator

BASE = "base"  # folder next to the adapter, for a base that is not on the Hub
TARGETS = (
    ("c_attn", "c_proj", "c_fc"),  # GPT-2
    ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),  # Llama, SmolLM2
    ("query", "key", "value", "dense"),  # BERT, MiniLM
)
"""Linear layers of a block, by the names that each family of architectures gives them."""


def add_lora(
    model: TransformerDiscriminator,
    r: int = 8,
    alpha: float = 16,
    dropout: float = 0.0,
    target_modules: list[str] | None = None,
) -> PeftModel:
    """The discriminator with adapters that train together with its head; all else is frozen.

    Args:
        model (`TransformerDiscriminator`):
            The discriminator.
        r (`int`, *optional*, defaults to 8):
            Rank of the adapters.
        alpha (`float`, *optional*, defaults to 16):
            Their scale, divided by the rank.
        dropout (`float`, *optional*, defaults to 0.0):
            Dropout before the adapters.
        target_modules (`list[str]`, *optional*):
            Names of the layers to adapt, by default all linear ones of the backbone's blocks.

    Returns:
        `PeftModel`: The adapted discriminator.
    """
    targets = list(target_modules or lora_targets(model))
    settings = LoraConfig(
        r=r,
        lora_alpha=cast(int, alpha),  # peft takes any number
        lora_dropout=dropout,
        target_modules=targets,
        exclude_modules=r".*pooler.*",  # a BERT has one, which the head does not read
        modules_to_save=["score"],  # else the head would be frozen, silently
        fan_in_fan_out=is_transposed(model, targets),
    )
    return get_peft_model(model, settings)


def lora_targets(model: TransformerDiscriminator) -> tuple[str, ...]:
    """Names of the linear layers in the backbone's blocks."""
    names = {name.rpartition(".")[2] for name, _ in model.backbone.named_modules()}
    targets = next((family for family in TARGETS if names.issuperset(family)), None)
    if targets is None:
        kind = model.backbone.config.model_type
        raise BadInput(
            f"LoRA targets are unknown for a {kind!r} backbone.",
            hint="Name them in target_modules.",
        )
    return targets


def merge_lora(model: PeftModel) -> TransformerDiscriminator:
    """The plain discriminator with the adapters merged into its weights; consumes `model`."""
    return model.merge_and_unload().requires_grad_(True)


def save_lora(model: PeftModel, folder: Path | str) -> Path:
    """Write adapters and head; the base by its Hub name, or with its weights if it has none.

    A base from the Hub is assumed to be unchanged: merge adapters, or save the whole
    discriminator, if it was trained before they were added.
    """
    folder = Path(folder)
    name = _base_of(model).name_or_path
    is_local = not name or Path(name).exists()
    if is_local:
        _save_base(model, folder / BASE)
    model.peft_config[model.active_adapter].base_model_name_or_path = BASE if is_local else name
    model.save_pretrained(str(folder), save_embedding_layers=False)  # "auto" would ask the Hub
    return folder


def load_lora(folder: Path | str, trainable: bool = False, **kwargs: Any) -> PeftModel:
    """Adapters, head and base as [`save_lora`] wrote them.

    Args:
        folder (`Path` or `str`):
            What [`save_lora`] wrote.
        trainable (`bool`, *optional*, defaults to `False`):
            Whether adapters and head are to be trained further.
        kwargs:
            For the base's `from_pretrained`, such as `dtype`.

    Returns:
        `PeftModel`: The adapted discriminator.
    """
    folder = Path(folder)
    path = folder / "adapter_config.json"
    if not path.is_file():
        hint = "Give a folder that save_lora wrote."
        raise BadInput("it has no adapter_config.json.", folder, hint=hint)
    name = json.loads(path.read_text(encoding="utf-8")).get("base_model_name_or_path")
    base = str(folder / BASE) if (folder / BASE).is_dir() else name
    if not base or base == BASE:
        hint = "Copy the whole folder, or save it again with save_lora."
        raise BadInput("the base of these adapters is missing.", folder, hint=hint)
    discriminator = from_pretrained(TransformerDiscriminator, base, what="base", **kwargs)
    try:
        return PeftModel.from_pretrained(discriminator, str(folder), is_trainable=trainable)
    except Exception as error:
        raise unloadable(error, folder, "adapter", "Save it again with save_lora.") from error


def freeze_backbone(model: TransformerDiscriminator) -> TransformerDiscriminator:
    """The same discriminator with only its head trainable."""
    model.backbone.requires_grad_(False)
    return model


def is_transposed(model: TransformerDiscriminator, targets: list[str]) -> bool:
    """Whether the layers store their weights as (in, out), as GPT-2's do."""
    return any(
        isinstance(module, Conv1D) and name.rpartition(".")[2] in targets
        for name, module in model.backbone.named_modules()
    )


def _base_of(model: PeftModel) -> TransformerDiscriminator:
    return cast(TransformerDiscriminator, model.get_base_model())


def _save_base(model: PeftModel, folder: Path) -> None:
    """Write the base without its adapters, under the names it has without them."""
    base = _base_of(model)
    state = {
        name.replace(".base_layer.", ".").replace("score.original_module.", "score."): tensor
        for name, tensor in base.state_dict().items()
        if ".lora_" not in name and ".modules_to_save." not in name
    }
    base.save_pretrained(folder, state_dict=state)
