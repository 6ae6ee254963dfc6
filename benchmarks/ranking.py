"""Responses per second with many responses per context, against reading the context every time.

Both ways run the same weights (a GPT-2 of 5 million parameters, random) on the same passages,
interleaved, the best of several rounds. The baseline is dialeval's engine on single passages, which
already sorts by length; `one padded batch` is what a plain loop over contexts would do.

Times are CPU seconds of one thread, which other work on the machine disturbs less than the clock.
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
    """A causal discriminator, and contexts of 50-70 words with responses of 5-20."""
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
    """Print responses per second and the speed-up of packed rows over each way."""
    torch.set_num_threads(1)
    scorer, made = make(contexts, responses)
    ways = {
        "packed rows": lambda: score_responses(scorer, made),
        "single passages": lambda: scorer(made),
        "one padded batch per context": lambda: _by_context(scorer, made, responses),
    }
    best, scores = dict.fromkeys(ways, float("inf")), {}
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.process_time()
            scores[name] = way()
            best[name] = min(best[name], time.process_time() - start)
    reference = best["packed rows"]
    table = Table("way", "responses/s", "speed-up of packed rows", "largest difference")
    for name, seconds in best.items():
        gap = np.abs(scores[name] - scores["packed rows"]).max()
        row = (f"{len(made) / seconds:.0f}", f"{seconds / reference:.2f}", f"{gap:.1e}")
        table.add_row(name, *row)
    Console().print(table)
    return {name: seconds / reference for name, seconds in best.items()}


@torch.inference_mode()
def _by_context(scorer: NeuralScorer, made: list[Passage], responses: int) -> np.ndarray:
    scores = []
    for start in range(0, len(made), responses):
        rows = scorer.input_format(scorer.tokenizer, made[start : start + responses])
        batch = pad([row.ids for row in rows], scorer.pad_id)
        scores.append(scorer.model(**batch).logits.softmax(-1)[:, 1])
    return torch.cat(scores).numpy()


if __name__ == "__main__":
    main()
