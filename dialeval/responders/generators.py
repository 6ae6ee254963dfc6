"""Generators: language models that continue contexts, loading them and running them fast."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessorList, PreTrainedModel

from dialeval.dialogues import BadInput
from dialeval.files import atomic_write_text
from dialeval.models.batching import pad
from dialeval.models.packages import smollm2_path
from dialeval.models.sharing import backbone_of
from dialeval.models.weights import best_device
from dialeval.responders.kv_cache import repeat_preallocated
from dialeval.responders.pretrained import (
    SETTINGS,
    adapter_base,
    download,
    is_adapter,
    load_pretrained,
)
from dialeval.responders.prompts import PromptFormat, prompt_format
from dialeval.saved import expecting, from_saved, read_object


@dataclass(eq=False)
class Generator:
    """A model, its tokenizer, and its prompt format.

    Args:
        model (`PreTrainedModel`):
            A causal language model, or an encoder-decoder. Its generation settings are replaced:
            only the decoding strategy determines how tokens are chosen.
        tokenizer (`Any`):
            Tokenizer of transformers.
        prompts (`PromptFormat`):
            How contexts become prompts.
        name (`str`, *optional*):
            Name in tables; the type of the model by default.
        training (`dict`, *optional*):
            How it was trained, as far as it is known.
    """

    model: PreTrainedModel
    tokenizer: Any
    prompts: PromptFormat
    name: str = ""
    training: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        configured = self.model.generation_config.eos_token_id
        end_ids = configured if isinstance(configured, list) else [configured]
        eos = self.tokenizer.eos_token_id  # comes last: training ends responses with it
        end_ids = [*(token for token in end_ids if token != eos), eos]
        self.end_ids = list(dict.fromkeys(token for token in end_ids if token is not None))
        start = self.model.generation_config.decoder_start_token_id
        self.model.generation_config = GenerationConfig(
            eos_token_id=self.end_ids or None,
            pad_token_id=self.pad_id,
            bos_token_id=self.tokenizer.bos_token_id,
            decoder_start_token_id=self.tokenizer.bos_token_id if start is None else start,
        )
        self.model.eval()
        if self.is_encoder_decoder:
            self.prompts = self.prompts.limited(self.max_positions)
        self.name = self.name or self.model.config.model_type.removeprefix("dialeval-")

    @property
    def pad_id(self) -> int:
        """The padding token; it is masked."""
        token = self.tokenizer.pad_token_id
        if token is None:
            return int(self.end_ids[0]) if self.end_ids else 0
        return int(token)

    @property
    def is_encoder_decoder(self) -> bool:
        """Whether the model has an encoder for contexts."""
        return bool(self.model.config.is_encoder_decoder)

    @property
    def max_positions(self) -> int | None:
        """Number of position embeddings, if it is limited."""
        return getattr(self.model.config, "max_position_embeddings", None)

    @property
    def max_length(self) -> int | None:
        """Maximum number of tokens of prompt and response together, if it is limited."""
        return None if self.is_encoder_decoder else self.max_positions

    def max_prompt_length(self, max_new_tokens: int) -> int | None:
        """Maximum length of a prompt before so many new tokens; below 1 if none fits."""
        limit = self.max_positions
        if limit is None or (self.is_encoder_decoder and max_new_tokens <= limit):
            return limit
        return limit - max_new_tokens

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
        """New tokens after each prompt.

        Each prompt is processed once and its state copied, whereas `num_return_sequences` of
        transformers would process it for every copy.

        Args:
            rows (`Sequence[Sequence[int]]`):
                Prompts, as token ids.
            max_new_tokens (`int`):
                Maximum number of new tokens.
            copies (`int`, *optional*, defaults to 1):
                Responses per prompt.
            processors (`Sequence`, *optional*):
                Logits processors, in this order.
            first (`Callable`, *optional*):
                Chooses the first tokens of the copies, shape `(rows, copies)`, from the logits of
                the first token, shape `(rows, vocabulary)`; the processors see the other tokens.
            settings:
                Of `transformers.GenerationConfig`. With `num_beams` the copies are the beams, and
                `num_return_sequences` rows per prompt are returned.

        Returns:
            `Tensor`: Token ids, shape `(rows * copies, new)`, padded.
        """
        batch = self._batch(rows)
        beams = settings.get("num_beams", 1)
        inputs = self._inputs(batch, copies, beams, first, max_new_tokens)
        skip, given = self.start_at(rows), int(first is not None)
        if given and max_new_tokens == 1:
            name = "decoder_input_ids" if self.is_encoder_decoder else "input_ids"
            return cast(Tensor, inputs[name][:, skip:])
        model: Any = self.model  # `generate` comes from a mixin that is not in its type
        with _mask_is_given(model):
            ids = model.generate(
                **inputs,
                max_new_tokens=max_new_tokens - given,
                logits_processor=LogitsProcessorList(processors),
                **{"do_sample": False, **settings},
            )
        return cast(Tensor, ids[:, skip:])

    @torch.no_grad()
    def next_logits(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Logits of the token after each prompt, shape `(rows, vocabulary)`."""
        return self._first_logits(self._batch(rows))[0]

    def start_at(self, rows: Sequence[Sequence[int]]) -> int:
        """Column of the first new token in the input of logits processors."""
        return 1 if self.is_encoder_decoder else max(map(len, rows))

    def _batch(self, rows: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        batch = pad(rows, self.pad_id, left=not self.is_encoder_decoder)
        return {name: tensor.to(self.model.device) for name, tensor in batch.items()}

    def _inputs(
        self,
        batch: dict[str, Tensor],
        copies: int,
        beams: int,
        first: Callable[[Tensor], Tensor] | None,
        max_new_tokens: int,
    ) -> dict[str, Any]:
        """Inputs of transformers' generate(), with prompts that are already processed."""
        inputs: dict[str, Any] = {
            name: tensor.repeat_interleave(copies, 0) for name, tensor in batch.items()
        }
        if first is None:
            state = self._encode(batch) if self.is_encoder_decoder else self._prefix(batch)
        else:
            logits, state = self._first_logits(batch)
            tokens = first(logits).reshape(-1, 1).to(logits.device)  # (rows * copies, 1)
            inputs |= self._append(inputs, tokens)
        if self.is_encoder_decoder:  # generate() repeats it for its beams
            for name, value in state.items():
                if isinstance(value, Tensor):
                    state[name] = value.repeat_interleave(copies, 0)
            return {**inputs, "encoder_outputs": state}
        if state is None:
            return inputs
        if beams > 1:  # beams are reordered, and so copied anyway
            state.batch_repeat_interleave(copies * beams)
        else:
            repeat_preallocated(state, copies, max_new_tokens)
        return {**inputs, "past_key_values": state}

    def _append(self, inputs: dict[str, Tensor], tokens: Tensor) -> dict[str, Tensor]:
        """Prompts (of the decoder, if there is one) with one more token."""
        if self.is_encoder_decoder:
            return {"decoder_input_ids": torch.cat([self._start(len(tokens)), tokens], 1)}
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        return {
            "input_ids": torch.cat([ids, tokens], 1),
            "attention_mask": torch.cat([mask, torch.ones_like(tokens)], 1),
        }

    def _prefix(self, batch: dict[str, Tensor]) -> Any:
        """Keys and values of all but the last token, which generate() processes."""
        ids, mask = batch["input_ids"][:, :-1], batch["attention_mask"][:, :-1]
        return self.read(ids, mask) if ids.shape[1] else None

    def read(self, ids: Tensor, mask: Tensor) -> Any:
        """Keys and values of prompts."""
        inputs = {"input_ids": ids, "attention_mask": mask, "position_ids": _positions(mask)}
        return backbone_of(self.model)(**inputs, use_cache=True).past_key_values

    def _encode(self, batch: dict[str, Tensor]) -> Any:
        """Output of the encoder."""
        return self.model.get_encoder()(**batch, return_dict=True)

    def _first_logits(self, batch: dict[str, Tensor]) -> tuple[Tensor, Any]:
        """Logits of the first new token, and the state after the whole prompt."""
        if self.is_encoder_decoder:
            state = self._encode(batch)
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
        """The decoder's first token, shape `(rows, 1)`."""
        token = self.model.generation_config.decoder_start_token_id
        return torch.full((rows, 1), token, device=self.model.device)


def load_generator(
    name: Path | str,
    chat_template: str | None = None,
    system_prompt: str | None = None,
    adapter: str | None = None,
    device: str | None = None,
    **options: Any,
) -> Generator:
    """Load a generator.

    Args:
        name (`Path` or `str`):
            Its folder, its name on the Hub, a GGUF file, or `smollm2`.
        chat_template (`str`, *optional*):
            `auto`, `none` or a file; by default the format that a generator trained with dialeval
            was saved with, or `auto`.
        system_prompt (`str`, *optional*):
            First message of the chat template.
        adapter (`str`, *optional*):
            LoRA adapter to merge into it; a folder that is an adapter itself names its base.
        device (`str`, *optional*):
            The best available by default.
        options:
            Of `from_pretrained`, such as `revision` or `dtype`.

    Returns:
        `Generator`: In evaluation mode, on the device.

    Raises:
        BadInput: It cannot be loaded, or has no end token.
    """
    path = smollm2_path() if str(name) == "smollm2" else Path(name)
    path = download(str(name), options) or path
    model, tokenizer = load_pretrained(path, str(name), adapter, options)
    folders = [Path(adapter)] if adapter else []
    folders += [path, Path(adapter_base(path))] if is_adapter(path) else [path]
    saved = next(filter(None, map(_read_settings, folders)), {})
    if chat_template is None and "prompts" in saved:
        format = saved["prompts"]
        format = replace(format, system_prompt=system_prompt or format.system_prompt)
    else:
        format = prompt_format(tokenizer, chat_template or "auto", system_prompt)
    if not tokenizer.eos_token and format.style == "turns":
        raise BadInput(
            "this model has no end token, so its responses would not end.",
            name,
            hint="Give its tokenizer an eos_token, or use a chat template.",
        )
    movable: Any = model  # transformers decorates `to` in a way that loses its type
    movable.to(device or best_device())
    return Generator(model, tokenizer, format, _short_name(name), saved.get("training"))


def save_generator(generator: Generator, folder: Path | str) -> Path:
    """Write a generator with its tokenizer and its prompt format."""
    folder = Path(folder)
    generator.model.save_pretrained(folder)
    generator.tokenizer.save_pretrained(folder)
    settings = {"prompts": asdict(generator.prompts), "training": generator.training or {}}
    text = json.dumps(settings, ensure_ascii=False, indent=2)
    atomic_write_text(folder / SETTINGS, f"{text}\n")
    return folder


def _read_settings(path: Path) -> dict[str, Any]:
    """Prompt format and training of a generator saved by dialeval."""
    file = path / SETTINGS
    if not file.is_file():
        return {}
    hint = "Save the generator again, or delete this file and give a --chat-template."
    settings = read_object(file, {"prompts": dict}, hint)
    with expecting("the settings of a generator", file, hint):
        return {**settings, "prompts": from_saved(PromptFormat, settings["prompts"])}


def _short_name(name: Path | str) -> str:
    path = Path(name)
    return path.name if path.exists() else str(name)


@contextmanager
def _mask_is_given(model: Any) -> Iterator[None]:
    """Generate without the advice to pass a mask, which is always passed.

    `generate` drops a mask that masks nothing, and GPT-2 then takes the padding token behind an
    ended response, or one that was drawn, for padding of the prompt. A configuration without a
    padding token says that there is none; the tokens are the same.
    """
    config = model.config
    if config.is_encoder_decoder:
        yield
        return
    padding, config.pad_token_id = config.pad_token_id, None
    try:
        yield
    finally:
        config.pad_token_id = padding


def _positions(mask: Tensor) -> Tensor:
    """Positions of tokens after left padding, `(rows, time)`."""
    return (mask.cumsum(-1) - 1).clamp(min=0)
