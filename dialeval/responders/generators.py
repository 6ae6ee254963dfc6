"""A language model that continues contexts: where it comes from, and how it is run fast."""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
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
from dialeval.dialogues import BadInput, atomic_write
from dialeval.downloads import revision_of, snapshot
from dialeval.models.batching import pad
from dialeval.models.packages import smollm2_path
from dialeval.models.sharing import backbone_of
from dialeval.models.weights import best_device
from dialeval.responders.kv_cache import repeat_preallocated
from dialeval.responders.prompts import PromptFormat, prompt_format

logger = logging.getLogger(__name__)

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
        own = self.tokenizer.eos_token_id  # comes last: it is the one that ends what is trained on
        ends = [*(end for end in ends if end != own), own]
        self.end_ids = list(dict.fromkeys(end for end in ends if end is not None))
        start = self.model.generation_config.decoder_start_token_id
        self.model.generation_config = GenerationConfig(
            eos_token_id=self.end_ids or None,
            pad_token_id=self.pad_id,
            bos_token_id=self.tokenizer.bos_token_id,
            decoder_start_token_id=self.tokenizer.bos_token_id if start is None else start,
        )
        self.model.eval()
        if self.two_parts:
            self.prompts = self.prompts.limited(self.positions)
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
    def positions(self) -> int | None:
        """Tokens that it can tell the places of, where they are counted."""
        return getattr(self.model.config, "max_position_embeddings", None)

    @property
    def longest(self) -> int | None:
        """Tokens that it can read and write in all, where its positions are counted."""
        return None if self.two_parts else self.positions

    def room(self, max_new_tokens: int) -> int | None:
        """Tokens that a prompt may have before so many new ones; below 1 where there is no room."""
        if self.positions is None or (self.two_parts and max_new_tokens <= self.positions):
            return self.positions
        return self.positions - max_new_tokens

    @torch.no_grad()
    def generate(
        self,
        rows: Sequence[Sequence[int]],
        max_new_tokens: int,
        copies: int = 1,
        processors: Sequence[Any] = (),
        first: Callable[[Tensor], Tensor] | None = None,
        **settings: Any,
    ) -> Tensor:
        """New tokens after each prompt, shape `(rows * copies, new)`, filled with padding.

        Each prompt is read once and its state copied, whereas `num_return_sequences` of
        transformers would read it for every copy.

        Args:
            processors (`Sequence`, *optional*):
                Logits processors, in their order.
            first (`Callable`, *optional*):
                Gives the first tokens of the copies, shape `(rows, copies)`, from the logits of
                the first token, shape `(rows, vocabulary)`; the processors see the others.
            settings:
                Of `transformers.GenerationConfig`. With `num_beams` the copies are the beams, and
                as many rows come back as `num_return_sequences` says.
        """
        batch = self._batch(rows)
        beams = settings.get("num_beams", 1)
        inputs = self._inputs(batch, copies, beams, first, max_new_tokens)
        skip, given = self.start_at(rows), int(first is not None)
        if given and max_new_tokens == 1:
            return inputs["decoder_input_ids" if self.two_parts else "input_ids"][:, skip:]
        found = self.model.generate(
            **inputs,
            max_new_tokens=max_new_tokens - given,
            logits_processor=LogitsProcessorList(processors),
            **{"do_sample": False, **settings},
        )
        return found[:, skip:]

    @torch.no_grad()
    def next_logits(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Logits of the token after each prompt, shape `(rows, vocabulary)`."""
        return self._opened(self._batch(rows))[0]

    def start_at(self, rows: Sequence[Sequence[int]]) -> int:
        """Column of the first new token in what logits processors see."""
        return 1 if self.two_parts else max(map(len, rows))

    def _batch(self, rows: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        batch = pad(rows, self.pad_id, left=not self.two_parts)
        return {name: each.to(self.model.device) for name, each in batch.items()}

    def _inputs(
        self,
        batch: dict[str, Tensor],
        copies: int,
        beams: int,
        first: Callable | None,
        max_new_tokens: int,
    ) -> dict[str, Any]:
        """What transformers' generate() continues: prompts that are read already."""
        inputs = {name: each.repeat_interleave(copies, 0) for name, each in batch.items()}
        if first is None:
            state = self._encoded(batch) if self.two_parts else self._prefix(batch)
        else:
            logits, state = self._opened(batch)
            opened = first(logits).reshape(-1, 1).to(logits.device)  # (rows * copies, 1)
            inputs |= self._continued(inputs, opened)
        if self.two_parts:  # generate() repeats it for its beams itself
            for name, value in state.items():
                if isinstance(value, Tensor):
                    state[name] = value.repeat_interleave(copies, 0)
            return {**inputs, "encoder_outputs": state}
        if state is None:
            return inputs
        if beams > 1:  # which change places, and so are copied anyway
            state.batch_repeat_interleave(copies * beams)
        else:
            repeat_preallocated(state, copies, max_new_tokens)
        return {**inputs, "past_key_values": state}

    def _continued(self, inputs: dict[str, Tensor], opened: Tensor) -> dict[str, Tensor]:
        """Prompts, or the decoder's, with one more token."""
        if self.two_parts:
            return {"decoder_input_ids": torch.cat([self._start(len(opened)), opened], 1)}
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        return {
            "input_ids": torch.cat([ids, opened], 1),
            "attention_mask": torch.cat([mask, torch.ones_like(opened)], 1),
        }

    def _prefix(self, batch: dict[str, Tensor]) -> Any:
        """Keys and values of all but the last token, which generate() reads itself."""
        ids, mask = batch["input_ids"][:, :-1], batch["attention_mask"][:, :-1]
        return self.read(ids, mask) if ids.shape[1] else None

    def read(self, ids: Tensor, mask: Tensor) -> Any:
        """Keys and values of prompts."""
        given = {"input_ids": ids, "attention_mask": mask, "position_ids": _positions(mask)}
        return backbone_of(self.model)(**given, use_cache=True).past_key_values

    def _encoded(self, batch: dict[str, Tensor]) -> Any:
        """Prompts as the encoder reads them."""
        return self.model.get_encoder()(**batch, return_dict=True)

    def _opened(self, batch: dict[str, Tensor]) -> tuple[Tensor, Any]:
        """Logits of the first new token, and the state after the whole prompt."""
        if self.two_parts:
            state = self._encoded(batch)
            start = self._start(len(batch["input_ids"]))
            output = self.model(
                encoder_outputs=state,
                attention_mask=batch["attention_mask"],
                decoder_input_ids=start,
            )
            return output.logits[:, -1], state
        positions = _positions(batch["attention_mask"])
        output = self.model(**batch, position_ids=positions, use_cache=True, logits_to_keep=1)
        return output.logits[:, -1], output.past_key_values

    def _start(self, rows: int) -> Tensor:
        """What the decoder begins with, shape `(rows, 1)`."""
        found = self.model.generation_config.decoder_start_token_id
        return torch.full((rows, 1), found, device=self.model.device)


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
    path = _from_hub(str(name), options) or path
    model, tokenizer = _loaded(path, str(name), adapter, options)
    places = [Path(adapter)] if adapter else []
    places += [path, Path(_base_of(path))] if _is_adapter(path) else [path]
    told = next(filter(None, map(_settings, places)), {})
    if chat_template is None and "prompts" in told:
        format = told["prompts"]
        format = replace(format, system_prompt=system_prompt or format.system_prompt)
    else:
        format = prompt_format(tokenizer, chat_template or "auto", system_prompt)
    if not tokenizer.eos_token and format.style == "turns":
        raise BadInput(
            "this model has no end token, so nothing would end its replies.",
            name,
            hint="Give its tokenizer an eos_token, or use a chat template.",
        )
    return Generator(
        model.to(device or best_device()), tokenizer, format, _short(name), told.get("training")
    )


def save_generator(generator: Generator, folder: Path | str) -> Path:
    """Write a generator with its tokenizer and the way it reads."""
    folder = Path(folder)
    generator.model.save_pretrained(folder)
    generator.tokenizer.save_pretrained(folder)
    told = {"prompts": asdict(generator.prompts), "training": generator.training or {}}
    with atomic_write(folder / SETTINGS) as file:
        json.dump(told, file, ensure_ascii=False, indent=2)
        file.write("\n")
    return folder


def _from_hub(name: str, options: dict[str, Any]) -> Path | None:
    """The folder of a generator that dialeval pushed, or of an adapter; others load by name."""
    if Path(name).exists() or name.count("/") != 1 or name.endswith(".gguf"):
        return None
    asked = {key: options[key] for key in ("revision", "local_files_only") if key in options}
    try:
        head = snapshot(name, **asked, allow_patterns=[SETTINGS, "adapter_config.json"])
    except BadInput:  # what is wrong with the name is said where the model is loaded
        return None
    if not (head / SETTINGS).is_file() and not _is_adapter(head):
        return None
    found = snapshot(name, **asked)
    logger.info("%s is revision %s.", name, revision_of(found))
    return found


def _loaded(
    path: Path, name: str, adapter: str | None, options: dict[str, Any]
) -> tuple[PreTrainedModel, Any]:
    try:
        where = str(path) if path.is_dir() else name
        if path.suffix == ".gguf":
            where, options = str(path.parent), {**options, "gguf_file": path.name}
        where = _base_of(path) if _is_adapter(path) else where
        model = _model(where, options)
        for each in (str(path) if _is_adapter(path) else None, adapter):
            model = _adapted(model, each) if each else model
        own = (path / "tokenizer_config.json").is_file()  # an adapter may bring one
        tokenizer_at = str(path) if own else where
        tokenizer = AutoTokenizer.from_pretrained(tokenizer_at, **_tokenizer_options(options))
    except BadInput:
        raise
    except (OSError, ValueError, ImportError, SafetensorError) as error:
        raise BadInput(
            f"the generator cannot be loaded: {_first_line(error)}",
            name,
            hint="Give a folder, a .gguf file, smollm2, or a name on the Hub (and a network).",
        ) from error
    return model, tokenizer


def _adapted(model: PreTrainedModel, adapter: str) -> PreTrainedModel:
    """The model with an adapter merged into it."""
    from peft import PeftModel

    try:
        return PeftModel.from_pretrained(model, adapter).merge_and_unload()
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise BadInput(
            f"the adapter cannot be loaded: {_first_line(error)}",
            adapter,
            hint="Give the folder of a LoRA adapter that was trained on this model.",
        ) from error


def _model(where: str, options: dict[str, Any]) -> PreTrainedModel:
    if "gguf_file" in options:
        return AutoModelForCausalLM.from_pretrained(where, **options)
    options.setdefault("trust_remote_code", False)  # else somebody could be asked on a terminal
    known = ("revision", "local_files_only", "trust_remote_code")
    kept = {key: options[key] for key in known if key in options}
    config = AutoConfig.from_pretrained(where, **kept)
    kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    return kind.from_pretrained(where, **options)


def _tokenizer_options(options: dict[str, Any]) -> dict[str, Any]:
    known = ("revision", "local_files_only", "gguf_file")
    return {key: options[key] for key in known if key in options}


def _is_adapter(path: Path) -> bool:
    return (path / "adapter_config.json").is_file()


def _base_of(path: Path) -> str:
    """The folder or name of what an adapter adapts."""
    if (path / "base").is_dir():
        return str(path / "base")
    found = json.loads((path / "adapter_config.json").read_text("utf-8"))
    base = found.get("base_model_name_or_path")
    if not base:
        hint = "Name the base model, and pass this folder as --adapter."
        raise BadInput("this adapter does not say what it adapts.", path, hint=hint)
    return base


def _settings(path: Path) -> dict[str, Any]:
    """What a generator that was saved here remembers."""
    file = path / SETTINGS
    if not file.is_file():
        return {}
    try:
        found = json.loads(file.read_text("utf-8"))
        return {**found, "prompts": PromptFormat(**found["prompts"])}
    except (ValueError, TypeError, KeyError) as error:
        hint = "Save the generator again, or delete this file and name a --chat-template."
        raise BadInput(f"these settings cannot be read: {error}.", file, hint=hint) from None


def _short(name: Path | str) -> str:
    path = Path(name)
    return path.name if path.exists() else str(name)


def _positions(mask: Tensor) -> Tensor:
    """Places of tokens that stand behind their padding, `(rows, time)`."""
    return (mask.cumsum(-1) - 1).clamp(min=0)


def _first_line(error: Exception) -> str:
    """What an error says, without the advice that libraries add to it."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
