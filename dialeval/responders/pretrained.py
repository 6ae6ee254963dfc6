"""Loading a model and its tokenizer: from a folder, a GGUF file, an adapter, or the Hub."""

import logging
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    PreTrainedModel,
)

import dialeval.models.architectures  # noqa: F401  registers them
from dialeval.dialogues import BadInput
from dialeval.download_checks import DownloadMismatch
from dialeval.downloads import revision_of, snapshot
from dialeval.models.loading import first_line, from_pretrained
from dialeval.saved import read_object

logger = logging.getLogger(__name__)

SETTINGS = "generator.json"
"""File with the prompt format and training of a generator saved by dialeval."""
_HINT = "Give a folder, a .gguf file, smollm2, or a name on the Hub (and a network)."


def download(name: str, options: dict[str, Any]) -> Path | None:
    """The local folder of a generator on the Hub that dialeval pushed, or of an adapter.

    Other names give `None`: transformers loads them by name.
    """
    if Path(name).exists() or name.count("/") != 1 or name.endswith(".gguf"):
        return None
    chosen = {key: options[key] for key in ("revision", "local_files_only") if key in options}
    try:
        head = snapshot(name, **chosen, allow_patterns=[SETTINGS, "adapter_config.json"])
    except DownloadMismatch:
        raise
    except BadInput:  # an error about the name is raised where the model is loaded
        return None
    if not (head / SETTINGS).is_file() and not is_adapter(head):
        return None
    folder = snapshot(name, **chosen)
    logger.info("%s is revision %s.", name, revision_of(folder))
    return folder


def load_pretrained(
    path: Path, name: str, adapter: str | None, options: dict[str, Any]
) -> tuple[PreTrainedModel, Any]:
    """A model with its adapters merged, and its tokenizer.

    Args:
        path (`Path`):
            Its folder or GGUF file, if it is a local one.
        name (`str`):
            What the user gave: a path, or a name on the Hub.
        adapter (`str` or `None`):
            LoRA adapter to merge into it.
        options (`dict`):
            Of `from_pretrained`.

    Returns:
        `tuple`: The model and the tokenizer.

    Raises:
        BadInput: Something cannot be loaded.
    """
    try:
        source = str(path) if path.is_dir() else name
        if path.suffix == ".gguf":
            source, options = str(path.parent), {**options, "gguf_file": path.name}
        source = adapter_base(path) if is_adapter(path) else source
        model = _load_model(source, options)
        for folder in (str(path) if is_adapter(path) else None, adapter):
            model = _merge(model, folder) if folder else model
        has_tokenizer = (path / "tokenizer_config.json").is_file()  # an adapter may have one
        tokenizer = from_pretrained(
            AutoTokenizer, str(path) if has_tokenizer else source, what="tokenizer", hint=_HINT,
            **_tokenizer_options(options),
        )  # fmt: skip
    except BadInput:
        raise
    except (OSError, ValueError, ImportError, SafetensorError) as error:
        raise BadInput(
            f"the generator cannot be loaded: {first_line(error)}", name, hint=_HINT
        ) from error
    return model, tokenizer


def is_adapter(path: Path) -> bool:
    """Whether a folder contains an adapter."""
    return (path / "adapter_config.json").is_file()


def adapter_base(path: Path) -> str:
    """The folder or name of the model that an adapter belongs to."""
    if (path / "base").is_dir():
        return str(path / "base")
    config = read_object(path / "adapter_config.json")
    base = config.get("base_model_name_or_path")
    if not base:
        hint = "Give the base model, and pass this folder as --adapter."
        raise BadInput("this adapter does not name its base model.", path, hint=hint)
    return str(base)


def _merge(model: PreTrainedModel, adapter: str) -> PreTrainedModel:
    """The model with an adapter merged into it."""
    from peft import PeftModel

    try:
        return PeftModel.from_pretrained(model, adapter).merge_and_unload()
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise BadInput(
            f"the adapter cannot be loaded: {first_line(error)}",
            adapter,
            hint="Give the folder of a LoRA adapter that was trained on this model.",
        ) from error


def _load_model(source: str, options: dict[str, Any]) -> PreTrainedModel:
    message: dict[str, Any] = {"what": "generator", "hint": _HINT}
    if "gguf_file" in options:
        return from_pretrained(AutoModelForCausalLM, source, **message, **options)
    known = ("revision", "local_files_only", "trust_remote_code")
    kept = {key: options[key] for key in known if key in options}
    config = from_pretrained(AutoConfig, source, **message, **kept)
    kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    return from_pretrained(kind, source, **message, **options)


def _tokenizer_options(options: dict[str, Any]) -> dict[str, Any]:
    known = ("revision", "local_files_only", "gguf_file", "trust_remote_code")
    return {key: options[key] for key in known if key in options}
