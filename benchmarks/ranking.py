"""Responses a second when a context has many, against reading the context anew for each.

Both ways run the same weights (a GPT-2 of 5 million parameters, random) on the same passages,
interleaved, the best of several rounds. The baseline is our own engine on single passages, which
already sorts by length; `one padded batch` is what a plain loop over contexts would do.
"""

import time

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from transformers import GPT2Config

from dialeval.dialogues import Passage, Turn
from dialeval.dialogues.encoding import InputFormat
from dialeval.models import TransformerDiscriminator, TransformerDiscriminatorConfig
from dialeval.models.batching import pad
from dialeval.models.tokenizers import word_tokenizer
from dialeval.scorers.neural import NeuralScorer
from dialeval.scorers.ranking import score_responses


def make(contexts: int, responses: int, seed: int = 0) -> tuple[NeuralScorer, list[Passage]]:
    """A causal judge, and contexts of 50-70 words with responses of 5-20."""
    rng = np.random.default_rng(seed)
    words = [f"w{number}" for number in range(500)]
    tokenizer = word_tokenizer([" ".join(words)])
    shape = {"n_embd": 256, "n_layer": 6, "n_head": 8, "n_positions": 256}
    torch.manual_seed(0)
    config = TransformerDiscriminatorConfig(
        GPT2Config(vocab_size=len(tokenizer), bos_token_id=2, eos_token_id=3, **shape),
        pooling="last",
        causal=True,
    )
    form = InputFormat("plain", turn_end="eos")
    scorer = NeuralScorer(TransformerDiscriminator(config), tokenizer, form, device="cpu")
    made = []
    for number in range(contexts):
        turn = Turn("A", " ".join(rng.choice(words, rng.integers(50, 71))))
        for _ in range(responses):
            text = " ".join(rng.choice(words, rng.integers(5, 21)))
            made.append(Passage((turn,), text, id=str(number)))
    return scorer, made


def main(contexts: int = 64, responses: int = 10, rounds: int = 3) -> dict[str, float]:
    """Print responses a second and the ratio of packed rows to each way."""
    scorer, made = make(contexts, responses)
    ways = {
        "packed rows": lambda: score_responses(scorer, made),
        "each passage by itself": lambda: scorer(made),
        "one padded batch a context": lambda: _by_context(scorer, made, responses),
    }
    best, scores = dict.fromkeys(ways, float("inf")), {}
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            scores[name] = way()
            best[name] = min(best[name], time.perf_counter() - start)
    ours = best["packed rows"]
    table = Table("way", "responses/s", "packed is so many times as fast", "largest difference")
    for name, seconds in best.items():
        gap = np.abs(scores[name] - scores["packed rows"]).max()
        row = (f"{len(made) / seconds:.0f}", f"{seconds / ours:.2f}", f"{gap:.1e}")
        table.add_row(name, *row)
    Console().print(table)
    return {name: seconds / ours for name, seconds in best.items()}


@torch.inference_mode()
def _by_context(scorer: NeuralScorer, made: list[Passage], responses: int) -> np.ndarray:
    found = []
    for start in range(0, len(made), responses):
        rows = scorer.input_format(scorer.tokenizer, made[start : start + responses])
        batch = pad([each.ids for each in rows], scorer.pad_id)
        found.append(scorer.model(**batch).logits.softmax(-1)[:, 1])
    return torch.cat(found).numpy()


if __name__ == "__main__":
    main()
