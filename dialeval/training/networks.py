"""New networks for a discriminator, with their tokenizer and input format."""

from dataclasses import replace
from typing import Any

import torch

from dialeval.dialogues import BadInput, Passages
from dialeval.dialogues.encoding import InputFormat, input_format
from dialeval.dialogues.storage import texts_of
from dialeval.models import DISCRIMINATORS, TransformerDiscriminator
from dialeval.models.adapters import add_lora, freeze_backbone
from dialeval.models.loading import from_pretrained, unloadable
from dialeval.models.packages import minilm_path
from dialeval.models.tokenizers import bpe_tokenizer, word_tokenizer
from dialeval.models.word_vectors import word_vectors
from dialeval.registry import unknown_name
from dialeval.scorers.registry import EVALUATORS
from dialeval.training.discriminator_settings import DiscriminatorRun

RECURRENT = {config.model_type.removeprefix("dialeval-"): config for config in DISCRIMINATORS}


def build_network(run: DiscriminatorRun, pairs: Passages) -> tuple[Any, Any, InputFormat]:
    """A new model, its tokenizer, and its input format."""
    check_tune(run)
    run = _with_architecture(run)
    if run.model == "transformer":
        return _transformer(run)
    if run.model not in RECURRENT:
        raise unknown_name("network", run.model, [*RECURRENT, "transformer"])
    tokenizer = _tokenizer(run, pairs)
    config = RECURRENT[run.model](
        vocab_size=len(tokenizer),
        hidden_size=run.hidden_size,
        embedding_size=run.embedding_size,
        initial_weights=run.initial_weights,
        dropout=run.dropout,
        max_turns=run.context_turns + 1,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    model = DISCRIMINATORS[type(config)](config)
    if run.word_vectors:
        _fix_words(model, tokenizer)
    return model, tokenizer, input_format(run.input_format or "words")


def check_tune(run: DiscriminatorRun) -> None:
    """Refuse to train a part of a model that is no transformer."""
    if run.tune != "full" and _with_architecture(run).model != "transformer":
        raise BadInput(
            f"--tune {run.tune} is for transformers, but the model is {run.model!r}.",
            hint="Leave out --tune, or choose --model transformer.",
        )


def _fix_words(model: Any, tokenizer: Any) -> None:
    """Give a network pretrained word vectors, which training leaves as they are."""
    words = tokenizer.get_vocab()
    vectors = word_vectors(sorted(words, key=words.__getitem__), model.config.embedding_size)
    with torch.no_grad():
        model.embedding.weight.copy_(torch.from_numpy(vectors))
    model.embedding.weight.requires_grad_(False)


def _with_architecture(run: DiscriminatorRun) -> DiscriminatorRun:
    """A run whose model is an architecture: `minilm` is a transformer with a certain backbone."""
    options = EVALUATORS[run.model].options if run.model in EVALUATORS else {}
    backbone = run.backbone or options.get("backbone")
    return replace(run, model=options.get("model", run.model), backbone=backbone)


def _transformer(run: DiscriminatorRun) -> tuple[Any, Any, InputFormat]:
    from transformers import AutoTokenizer

    name = minilm_path() if run.backbone in (None, "minilm") else run.backbone
    try:  # full precision: an update is often too small to change half-precision weights
        model: Any = TransformerDiscriminator.from_backbone(str(name), dtype=torch.float32)
    except Exception as error:
        hint = "Give --backbone a folder of an encoder or decoder, or its name on the Hub."
        raise unloadable(error, name, "backbone", hint) from error
    tokenizer = from_pretrained(AutoTokenizer, name, what="tokenizer")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if run.tune == "lora":
        model = add_lora(model)
    elif run.tune == "head":
        freeze_backbone(model)
    default = "att" if model.config.causal else "encoder"
    return model, tokenizer, input_format(run.input_format or default)


def _tokenizer(run: DiscriminatorRun, pairs: Passages) -> Any:
    if run.tokenizer == "words":
        return word_tokenizer(texts_of(pairs), run.vocab_size)
    if run.tokenizer == "bpe":
        return bpe_tokenizer(texts_of(pairs), run.vocab_size)
    from transformers import AutoTokenizer

    hint = "Give words, bpe, a folder, or a name on the Hub."
    return from_pretrained(AutoTokenizer, run.tokenizer, what="tokenizer", hint=hint)
