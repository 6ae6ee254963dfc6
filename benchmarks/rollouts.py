"""Roll-outs from all prefixes of sampled responses, against `generate` for each prefix.

A GPT-2 of 5 million parameters (random weights, no end token) has answered 16 contexts of 60
tokens; every way draws 5 roll-outs from every proper prefix of every response. CPU seconds of one
thread, which other processes disturb less than the clock; the best of several rounds. The slowest
way runs on two contexts, and its time is scaled. The limit is one batched decode of as many new
tokens as the roll-outs have, which has to start from the contexts alone.

The second table scores every prefix with a causal discriminator of the same size: `score_prefixes`
reads a response once for all its prefixes.
"""

import time
from collections.abc import Callable

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from transformers import GPT2Config

from benchmarks.generation import make
from dialeval.dialogues.encoding import InputFormat
from dialeval.models import TransformerDiscriminator, TransformerDiscriminatorConfig
from dialeval.models.batching import pad
from dialeval.responders.decoding import TemperatureMixture
from dialeval.responders.generators import Generator
from dialeval.responders.processors import RowNoise
from dialeval.scorers.neural import NeuralScorer
from dialeval.scorers.ranking import score_prefixes
from dialeval.training.policy import Drawn, draw_responses
from dialeval.training.rollouts import prefix_rewards, roll_out

LENGTHS = (5, 10, 20, 40)
OURS, SINGLE, LENGTHWISE, LIMIT = (
    "dialeval", "generate per prefix", "generate per length, no cache", "one batched decode",
)  # fmt: skip
SCALED_CONTEXTS = 2


def main(
    contexts: int = 16, n: int = 5, vocabulary: int = 5_000, rounds: int = 2,
    lengths: tuple[int, ...] = LENGTHS,
) -> dict[int, dict[str, float]]:  # fmt: skip
    """Print seconds and ratios by length, then the rewards and the scoring of prefixes."""
    torch.set_num_threads(1)
    generator, passages = make(contexts, 60, vocabulary)
    names = (OURS, SINGLE, LENGTHWISE, LIMIT)
    table = Table("tokens", "roll-outs", *(f"{name}, s" for name in names),
                  "x per prefix", "x per length", "limit / dialeval")  # fmt: skip
    ratios = {}
    for length in lengths:
        drawn = draw_responses(
            generator, passages, range(contexts), TemperatureMixture((1.0,)), 1, length
        )
        best = _best(_ways(generator, drawn, n, length), rounds)
        best[SINGLE] *= contexts / min(SCALED_CONTEXTS, contexts)
        ratios[length] = {name: seconds / best[OURS] for name, seconds in best.items()}
        cells = [f"{best[name]:.2f}" for name in names]
        shares = [f"{ratios[length][name]:.2f}" for name in (SINGLE, LENGTHWISE, LIMIT)]
        table.add_row(str(length), f"{contexts * (length - 1) * n:,}", *cells, *shares)
    console = Console()
    console.width = max(console.width, 120)
    console.print(table)
    short = draw_responses(generator, passages[:1], [0], TemperatureMixture((1.0,)), 1, 10)
    console.print(_rewards(generator, short, n, 10))
    console.print(_scoring(generator, drawn, rounds))
    return ratios


def _ways(
    generator: Generator, drawn: Drawn, n: int, length: int
) -> dict[str, Callable[[], object]]:
    count = len(drawn)
    tokens = count * n * sum(range(1, length))
    copies = max(1, round(tokens / (count * length)))
    seeds = list(range(count * copies))
    noise = RowNoise(seeds, generator.start_at(drawn.prompts))
    return {
        OURS: lambda: roll_out(generator, drawn, range(count), n, length),
        SINGLE: lambda: [
            _generate(generator, [[*drawn.prompts[row], *drawn.responses[row][:size]]], n,
                      length - size)
            for row in range(min(SCALED_CONTEXTS, count)) for size in range(1, length)
        ],
        LENGTHWISE: lambda: [
            _generate(generator, [[*prompt, *ids[:size]] for prompt, ids in
                                  zip(drawn.prompts, drawn.responses, strict=True)], n,
                      length - size)
            for size in range(1, length)
        ],
        LIMIT: lambda: generator.generate(drawn.prompts, length, copies, [noise]),
    }  # fmt: skip


@torch.no_grad()
def _generate(generator: Generator, rows: list[list[int]], n: int, new: int) -> torch.Tensor:
    batch = pad(rows, generator.pad_id, left=True)
    settings = {"do_sample": True, "top_k": 0, "num_return_sequences": n}
    ids = generator.model.generate(**batch, **settings, max_new_tokens=new)
    return ids[:, batch["input_ids"].shape[1] :]


def _best(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.process_time()
            way()
            best[name] = min(best[name], time.process_time() - start)
    return best


def _rewards(generator: Generator, drawn: Drawn, n: int, length: int) -> str:
    """Mean and variance of the rewards of one response's prefixes, both ways."""

    def score(passages: list) -> np.ndarray:
        last = [p.response.split()[-1:] or ["w0"] for p in passages]  # a reply may end at once
        return np.array([int(word[1:]) % 7 / 6 for (word,) in last])

    one, many = drawn, 40 * n
    cached = prefix_rewards(score, generator, one, roll_out(generator, one, [0], many, length))[0]
    plain = []
    for size in range(1, length):
        ids = _generate(
            generator, [[*one.prompts[0], *one.responses[0][:size]]], many, length - size
        )
        texts = generator.tokenizer.batch_decode(ids, skip_special_tokens=True)
        plain.append(score([one.passages[0].with_response(text, "") for text in texts]).mean())
    error = (1 / 9 / many) ** 0.5  # 1/9 is the variance of 0/6, 1/6, ..., 6/6
    gap = (cached[:-1] - np.array(plain)) / (2**0.5 * error)
    return (
        f"Rewards of {length - 1} prefixes, {many} roll-outs each: mean {cached[:-1].mean():.4f} "
        f"and {np.mean(plain):.4f}, standard deviation over prefixes {cached[:-1].std():.4f} and "
        f"{np.std(plain):.4f}; differences have standard deviation {gap.std():.2f} in units of "
        "their standard error."
    )


def _scoring(generator: Generator, drawn: Drawn, rounds: int) -> Table:
    config: GPT2Config = generator.model.config
    shape = TransformerDiscriminatorConfig(config, pooling="last", causal=True)
    form = InputFormat("plain", turn_end="eos")
    scorer = NeuralScorer(
        TransformerDiscriminator(shape), generator.tokenizer, form, device="cpu",
        training={"prefixes": True},
    )  # fmt: skip
    prefixes = [
        passage.with_response(" ".join(passage.response.split()[: size + 1]), "")
        for passage in drawn.passages
        for size in range(len(passage.response.split()))
    ]
    ways: dict[str, Callable[[], object]] = {
        "score_prefixes": lambda: score_prefixes(scorer, drawn.passages),
        "each prefix as a response": lambda: scorer(prefixes),
    }
    best = _best(ways, rounds)
    table = Table("scores of all prefixes", "s", "speed-up of score_prefixes")
    for name, seconds in best.items():
        table.add_row(name, f"{seconds:.3f}", f"{seconds / best['score_prefixes']:.1f}")
    gap = np.abs(np.concatenate(score_prefixes(scorer, drawn.passages)) - scorer(prefixes)).max()
    table.caption = f"{len(prefixes):,} prefixes; largest difference {gap:.1e}"
    return table


if __name__ == "__main__":
    main()
