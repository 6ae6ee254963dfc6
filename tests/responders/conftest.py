"""Tiny generators of every kind, and what they say when nothing is cached, padded or copied."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
)

from dialeval.dialogues import Passage
from dialeval.dialogues.types import alternate
from dialeval.models import Seq2SeqConfig, Seq2SeqGenerator
from dialeval.models.tokenizers import word_tokenizer
from dialeval.responders.generators import Generator
from dialeval.responders.prompts import PromptFormat

KINDS = ("gpt2", "llama", "seq2seq", "copying")
WORDS = ("you", "the", "we", "cat", "dog", "tree", "sea", "sun", "moon", "rain")  # stop words first
POSITIONS = 48


def _model(kind: str, size: int, seed: int, ids: dict[str, int]) -> PreTrainedModel:
    """A random model far from flat, that does not say the same word again and again."""
    torch.manual_seed(seed)
    if kind == "gpt2":
        shape = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": POSITIONS}
        shape |= {"initializer_range": 0.3, "tie_word_embeddings": False}
        return GPT2LMHeadModel(GPT2Config(vocab_size=size, **shape, **ids))
    if kind == "llama":
        shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
        shape |= {"num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.3}
        shape |= {"max_position_embeddings": POSITIONS}
        return LlamaForCausalLM(LlamaConfig(vocab_size=size, **shape, **ids))
    if kind == "bart":
        shape = {"d_model": 16, "max_position_embeddings": POSITIONS, "init_std": 0.3}
        for side in ("encoder", "decoder"):
            shape |= {f"{side}_layers": 1, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 32}
        shape |= {"decoder_start_token_id": ids["bos_token_id"]}
        return BartForConditionalGeneration(BartConfig(vocab_size=size, **shape, **ids))
    shape = {"hidden_size": 8, "embedding_size": 6, "init_range": 1.5}
    copy = kind == "copying"
    return Seq2SeqGenerator(Seq2SeqConfig(vocab_size=size, copy=copy, **shape, **ids))


def _build(kind: str, words: Sequence[str] = WORDS, seed: int = 3, **prompts: Any) -> Generator:
    tokenizer = word_tokenizer([" ".join(words)])
    names = ("pad_token_id", "bos_token_id", "eos_token_id")
    model = _model(kind, len(tokenizer), seed, {name: getattr(tokenizer, name) for name in names})
    return Generator(model, tokenizer, PromptFormat(**prompts), kind)


@cache
def _built(kind: str) -> Generator:
    return _build(kind)


@pytest.fixture(scope="session")
def build() -> Callable[..., Generator]:
    """A new generator: its kind, its words, the seed of its weights, and how it reads."""
    return _build


@pytest.fixture(params=KINDS)
def generator(request) -> Generator:
    """One of every kind, shared among tests."""
    return _built(request.param)


@pytest.fixture
def gpt2() -> Generator:
    return _built("gpt2")


@pytest.fixture(scope="session")
def make_passage() -> Callable[..., Passage]:
    """A passage whose context is some texts."""

    def passage(*texts: str, **fields: Any) -> Passage:
        fields = {"response": "a human reply", "id": "/".join(texts), **fields}
        return Passage(alternate(texts), **fields)

    return passage


@pytest.fixture(scope="session")
def contexts(make_passage) -> list[Passage]:
    """Contexts of unequal length, the first of a single token."""
    texts = [
        ("",),
        ("you cat",),
        ("sea sun moon", "rain"),
        ("dog",),
        ("tree", "the dog you", "sun"),
    ]
    return [make_passage(*some) for some in texts]


@pytest.fixture(scope="session")
def logits_after() -> Callable[..., Tensor]:
    """Logits after a prompt and what was said, from one row that is read anew."""

    @torch.no_grad()
    def logits(
        generator: Generator, prompt: Sequence[int], generated: Sequence[int] = ()
    ) -> Tensor:
        config = generator.model.config
        if config.is_encoder_decoder:
            inputs = {"input_ids": prompt, "decoder_input_ids": [config.decoder_start_token_id]}
            inputs["decoder_input_ids"] += generated
        else:
            inputs = {"input_ids": [*prompt, *generated]}
        rows = {name: torch.tensor([ids]) for name, ids in inputs.items()}
        return generator.model(**rows, use_cache=False).logits[0, -1]

    return logits


@pytest.fixture(scope="session")
def plain_generate() -> Callable[..., list[list[int]]]:
    """Responses of transformers' own `generate` to one prompt, up to their end token."""

    def generate(generator: Generator, prompt: list[int], new: int, processors=(), **settings):
        ids = torch.tensor([prompt])
        output = generator.model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=new,
            logits_processor=list(processors),
            **{"do_sample": False, **settings},
        )
        skip = 1 if generator.model.config.is_encoder_decoder else len(prompt)
        end = generator.tokenizer.eos_token_id
        rows = output[:, skip:].tolist()
        return [row[: row.index(end) + 1] if end in row else row for row in rows]

    return generate
