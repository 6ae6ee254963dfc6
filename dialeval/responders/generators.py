"""A language model that continues contexts: where it comes from, and how it is run fast."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GenerationConfig,
    LogitsProcessorList,
    PreTrainedModel,
)

import dialeval.models  # noqa: F401  registers the architectures
from dialeval.dialogues import BadInput
from dialeval.models.batching import pad
from dialeval.models.packages import smollm2_path
from dialeval.models.weights import best_device
from dialeval.responders.prompts import PromptFormat, prompt_format

SETTINGS = "generator.json"


@dataclass(eq=False)
class Generator:
    """A model, its tokenizer, and how it reads a context.

    Args:
        model (`PreTrainedModel`):
            A causal language model, or an encoder-decoder. Its generation settings are set aside:
            what is decoded, and how, is said by the decoding alone.
        training (`dict`, *optional*):
            What is known about how it was trained.
    """

    model: PreTrainedModel
    tokenizer: Any
    prompts: PromptFormat
    name: str = ""
    training: dict[str, Any] | None = None

    def __post_init__(self):
        found = self.model.generation_config.eos_token_id
        ends = found if isinstance(found, list) else [found]
        ends = [end for end in (*ends, self.tokenizer.eos_token_id) if end is not None]
        self.end_ids = list(dict.fromkeys(ends))
        start = self.model.generation_config.decoder_start_token_id
        self.model.generation_config = GenerationConfig(
            eos_token_id=self.end_ids or None,
            pad_token_id=self.pad_id,
            bos_token_id=self.tokenizer.bos_token_id,
            decoder_start_token_id=start,
        )
        self.model.eval()
        self.name = self.name or self.model.config.model_type.removeprefix("dialeval-")

    @property
    def pad_id(self) -> int:
        """A token to fill rows with; the mask hides it."""
        found = self.tokenizer.pad_token_id
        if found is None:
            return self.end_ids[0] if self.end_ids else 0
        return found

    @property
    def two_parts(self) -> bool:
        """Whether contexts go to an encoder of their own."""
        return bool(self.model.config.is_encoder_decoder)

    @property
    def longest(self) -> int | None:
        """Tokens that it can read and write in all, where its positions are counted."""
        config = self.model.config
        if self.two_parts:
            return None
        return getattr(config, "n_positions", None) or getattr(
            config, "max_position_embeddings", None
        )

    @torch.inference_mode()
    def generate(
        self,
        rows: Sequence[Sequence[int]],
        max_new_tokens: int,
        copies: int = 1,
        processors: Sequence[Any] = (),
        **settings: Any,
    ) -> Tensor:
        """New tokens after each prompt, shape `(rows * copies, new)`, filled with padding.

        Each prompt is read once and its state copied, whereas `num_return_sequences` of
        transformers would read it for every copy.

        Args:
            processors (`Sequence`, *optional*):
                Logits processors, in their order.
            settings:
                Of `transformers.GenerationConfig`. With `num_beams` the copies are the beams, and
                as many rows come back as `num_return_sequences` says.
        """
        batch = pad(rows, self.pad_id, left=not self.two_parts)
        batch = {name: each.to(self.model.device) for name, each in batch.items()}
        beams = settings.get("num_beams", 1)
        expand = self._encoded if self.two_parts else self._prefilled
        inputs = expand(batch, copies, beams)
        found = self.model.generate(
            **inputs,
            max_new_tokens=max_new_tokens,
            logits_processor=LogitsProcessorList(processors),
            **{"do_sample": False, **settings},
        )
        skip = 1 if self.two_parts else batch["input_ids"].shape[1]
        return found[:, skip:]

    @torch.inference_mode()
    def next_logits(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Logits of the token after each prompt, shape `(rows, vocabulary)`."""
        batch = pad(rows, self.pad_id, left=True)
        batch = {name: each.to(self.model.device) for name, each in batch.items()}
        positions = (batch["attention_mask"].cumsum(-1) - 1).clamp(min=0)
        output = self.model(**batch, position_ids=positions, use_cache=False, logits_to_keep=1)
        return output.logits[:, -1]

    def start_at(self, rows: Sequence[Sequence[int]]) -> int:
        """Column of the first new token in what logits processors see."""
        return 1 if self.two_parts else max(map(len, rows))

    def _prefilled(self, batch: dict[str, Tensor], copies: int, beams: int) -> dict[str, Any]:
        """Prompts with their keys and values, all but those of the last token."""
        ids, mask = batch["input_ids"], batch["attention_mask"]
        cache = self.read(ids[:, :-1], mask[:, :-1]) if ids.shape[1] > 1 else None
        if cache is not None:
            cache.batch_repeat_interleave(copies * beams)
        found = {
            "input_ids": ids.repeat_interleave(copies, 0),
            "attention_mask": mask.repeat_interleave(copies, 0),
        }
        return found if cache is None else {**found, "past_key_values": cache}

    def read(self, ids: Tensor, mask: Tensor) -> Any:
        """Keys and values of prompts."""
        backbone = _backbone(self.model)
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        given = {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
        return backbone(**given, use_cache=True).past_key_values

    def _encoded(self, batch: dict[str, Tensor], copies: int, beams: int) -> dict[str, Any]:
        """Prompts as the encoder read them; generate() copies them for its beams itself."""
        encoded = self.model.get_encoder()(**batch, return_dict=True)
        for name, value in encoded.items():
            if isinstance(value, Tensor):
                encoded[name] = value.repeat_interleave(copies, 0)
        mask = batch["attention_mask"].repeat_interleave(copies, 0)
        # The ids themselves are for models that point back at them.
        ids = batch["input_ids"].repeat_interleave(copies, 0)
        return {"encoder_outputs": encoded, "attention_mask": mask, "input_ids": ids}


def load_generator(
    name: Path | str,
    chat_template: str | None = None,
    system_prompt: str | None = None,
    adapter: str | None = None,
    device: str | None = None,
    **options: Any,
) -> Generator:
    """A generator by its folder, its name on the Hub, a GGUF file, or `smollm2`.

    Args:
        chat_template (`str`, *optional*):
            `auto`, `none` or a file; by default what a generator trained here remembers, or `auto`.
        adapter (`str`, *optional*):
            LoRA adapter to merge into it; a folder that is one itself brings its base along.
        options:
            Of `from_pretrained`, such as `revision` or `dtype`.
    """
    path = smollm2_path() if str(name) == "smollm2" else Path(name)
    model, tokenizer = _loaded(path, str(name), adapter, options)
    told = _settings(path)
    if chat_template is None and "prompts" in told and not system_prompt:
        format = PromptFormat(**told["prompts"])
    else:
        format = prompt_format(tokenizer, chat_template or "auto", system_prompt)
    if not tokenizer.eos_token and format.style == "turns":
        raise BadInput(
            "this model has no end token, so nothing would end its replies.",
            name,
            remedy="Give its tokenizer an eos_token, or use a chat template.",
        )
    return Generator(
        model.to(device or best_device()), tokenizer, format, _short(name), told.get("training")
    )


def save_generator(generator: Generator, folder: Path | str) -> Path:
    """Write a generator with its tokenizer and the way it reads."""
    from dataclasses import asdict

    from dialeval.dialogues import whole_file

    folder = Path(folder)
    generator.model.save_pretrained(folder)
    generator.tokenizer.save_pretrained(folder)
    told = {"prompts": asdict(generator.prompts), "training": generator.training or {}}
    with whole_file(folder / SETTINGS) as file:
        json.dump(told, file, ensure_ascii=False, indent=2)
        file.write("\n")
    return folder


def _loaded(
    path: Path, name: str, adapter: str | None, options: dict[str, Any]
) -> tuple[PreTrainedModel, Any]:
    try:
        if path.suffix == ".gguf":
            where, options = str(path.parent), {**options, "gguf_file": path.name}
        else:
            where = str(path) if path.is_dir() else name
        if (path / "adapter_config.json").is_file():
            where, adapter = _base_of(path), str(path)
        model = _model(where, options)
        tokenizer = AutoTokenizer.from_pretrained(where, **_tokenizer_options(options))
    except (OSError, ValueError, ImportError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(
            f"the generator cannot be loaded: {error}",
            name,
            remedy="Give a folder, a .gguf file, smollm2, or a name on the Hub (and a network).",
        ) from None
    if adapter:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, adapter).merge_and_unload()
    return model, tokenizer


def _model(where: str, options: dict[str, Any]) -> PreTrainedModel:
    if "gguf_file" in options:
        return AutoModelForCausalLM.from_pretrained(where, **options)
    kept = {key: options[key] for key in ("revision", "local_files_only") if key in options}
    config = AutoConfig.from_pretrained(where, **kept)
    kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    return kind.from_pretrained(where, **options)


def _tokenizer_options(options: dict[str, Any]) -> dict[str, Any]:
    known = ("revision", "local_files_only", "gguf_file")
    return {key: options[key] for key in known if key in options}


def _base_of(path: Path) -> str:
    if (path / "base").is_dir():
        return str(path / "base")
    found = json.loads((path / "adapter_config.json").read_text("utf-8"))
    base = found.get("base_model_name_or_path")
    if not base:
        remedy = "Name the base model, and pass this folder as --adapter."
        raise BadInput("this adapter does not say what it adapts.", path, remedy=remedy)
    return base


def _settings(path: Path) -> dict[str, Any]:
    file = path / SETTINGS
    return json.loads(file.read_text("utf-8")) if path.is_dir() and file.is_file() else {}


def _short(name: Path | str) -> str:
    path = Path(name)
    return path.name if path.exists() else str(name)


def _backbone(model: PreTrainedModel) -> torch.nn.Module:
    """The model without its language-model head."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return getattr(inner, inner.base_model_prefix, inner)
