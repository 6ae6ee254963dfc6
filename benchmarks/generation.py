"""Tokens per second of several replies to each context, against plain `generate`.

All ways run the same weights (a GPT-2 of 5 million parameters, random) on the same 32 contexts of
60 tokens, 5 replies of 30 tokens each, interleaved, the best of several rounds. dialeval draws
separate noise for every row, which the others do not.

Times are CPU seconds of one thread, which other work on the machine disturbs less than the clock.
"""

import time
from collections.abc import Callable

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from transformers import GPT2Config, GPT2LMHeadModel

from dialeval.dialogues import Passage, Turn
from dialeval.models.batching import pad
from dialeval.models.tokenizers import word_tokenizer
from dialeval.responders import respond
from dialeval.responders.decoding import Sampling
from dialeval.responders.generators import Generator
from dialeval.responders.language import GeneratorResponder
from dialeval.responders.prompts import PromptFormat


def make(contexts: int, tokens: int, vocabulary: int) -> tuple[Generator, list[Passage]]:
    """A generator that never generates an end token, and contexts of `tokens` tokens."""
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(vocabulary)]
    tokenizer = word_tokenizer([" ".join(words)], vocabulary + 4)
    torch.manual_seed(0)
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    shape = {"n_embd": 256, "n_layer": 6, "n_head": 8, "n_positions": 256}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **shape, **ids))
    model.transformer.wte.weight.data[tokenizer.eos_token_id] = -1.0  # so that lengths are equal
    texts = [" ".join(rng.choice(words, tokens - 1)) for _ in range(contexts)]
    return Generator(model, tokenizer, PromptFormat()), [
        Passage((Turn("A", text),), "", id=str(number)) for number, text in enumerate(texts)
    ]


def main(
    contexts: int = 32, n: int = 5, new: int = 30, vocabulary: int = 5_000, rounds: int = 3
) -> dict[str, float]:
    """Print tokens per second and the speed-up of dialeval over each way."""
    torch.set_num_threads(1)
    generator, passages = make(contexts, 60, vocabulary)
    ways = _ways(generator, passages, n, new)
    best, tokens = dict.fromkeys(ways, float("inf")), {}
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.process_time()
            tokens[name] = way()
            best[name] = min(best[name], (time.process_time() - start) / tokens[name])
    reference = best["dialeval"]
    table = Table("way", "tokens", "tokens/s", "speed-up of dialeval")
    for name, seconds in best.items():
        table.add_row(name, str(tokens[name]), f"{1 / seconds:.0f}", f"{seconds / reference:.2f}")
    Console().print(table)
    return {name: seconds / reference for name, seconds in best.items()}


def _ways(
    generator: Generator, passages: list[Passage], n: int, new: int
) -> dict[str, Callable[[], int]]:
    rows = [prompt.ids for prompt in generator.prompts(generator.tokenizer, passages)]
    responder = GeneratorResponder(generator, Sampling(), n, new, max_tokens=10**6)
    settings = {"do_sample": True, "top_k": 0, "max_new_tokens": new, "num_return_sequences": n}

    def dialeval() -> int:
        return sum(reply.extra["tokens_generated"] for reply in respond(responder, passages))

    def plain(prompts: list[list[int]]) -> int:
        batch = pad(prompts, generator.pad_id, left=True)
        generated = generator.model.generate(**batch, **settings)[:, batch["input_ids"].shape[1] :]
        return int((generated != generator.pad_id).sum())

    return {
        "dialeval": dialeval,
        "generate(num_return_sequences)": lambda: plain(rows),
        "one context at a time": lambda: sum(plain([row]) for row in rows),
    }


if __name__ == "__main__":
    main()
