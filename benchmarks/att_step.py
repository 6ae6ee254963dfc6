"""One attack step of the attack-defence game, against a loop over its contexts.

Both ways draw 5 responses of 30 tokens to each of 32 contexts of 40-60 tokens, score them with
both discriminators, and update the generator once; all three networks are GPT-2s of 4 layers and
width 256 with random weights. The loop does separately for each context what the released code of
Gao et al. (2021) does: `generate(num_return_sequences=5)`, both scores, the loss of its 5 responses
and its gradient; then one step of the optimiser. The ways are interleaved, and the best of several
rounds counts. dialeval draws separate noise for every row, which the loop does not.

Times are CPU seconds of one thread, which other work on the machine disturbs less than the clock.
The stages of dialeval's step are also compared with their limit: the matrix products of the tokens
that a stage has to read, each context once, at the speed of a plain product in the same run.
"""

import copy
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.nn import functional as F
from transformers import GPT2Config, GPT2LMHeadModel

from dialeval.dialogues import Passage, Turn, to_passages
from dialeval.dialogues.encoding import InputFormat
from dialeval.models import TransformerDiscriminator, TransformerDiscriminatorConfig
from dialeval.models.batching import pad
from dialeval.models.tokenizers import word_tokenizer
from dialeval.responders.generators import Generator
from dialeval.responders.prompts import PromptFormat
from dialeval.scorers.neural import NeuralScorer
from dialeval.training.defender import Defender
from dialeval.training.game import AttackDefenceGame
from dialeval.training.game_settings import GameConfig

RATE = 3e-5


def make(
    contexts: int, vocabulary: int, seed: int = 0
) -> tuple[Generator, Defender, list[Passage]]:
    """An attacker that never ends a reply, a joint defender, and contexts of 40-60 tokens."""
    rng = np.random.default_rng(seed)
    words = [f"w{number}" for number in range(vocabulary)]
    tokenizer = word_tokenizer([" ".join(words)], vocabulary + 4)
    torch.manual_seed(seed)
    shape = {"n_embd": 256, "n_layer": 4, "n_head": 8, "n_positions": 128}
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = GPT2Config(vocab_size=len(tokenizer), **shape, **ids)
    model = GPT2LMHeadModel(config)
    model.transformer.wte.weight.data[tokenizer.eos_token_id] = -1.0  # so that lengths are equal
    discriminators = [_discriminator(config, tokenizer) for _ in range(2)]
    made = [
        Passage((Turn("A", " ".join(rng.choice(words, rng.integers(39, 60)))),), "w1", id=f"{row}")
        for row in range(contexts)
    ]
    return Generator(model, tokenizer, PromptFormat()), Defender(*discriminators), made


def _discriminator(config: GPT2Config, tokenizer: object) -> NeuralScorer:
    shape = TransformerDiscriminatorConfig(config, pooling="last", causal=True)
    form = InputFormat("plain", turn_end="eos")
    return NeuralScorer(TransformerDiscriminator(shape), tokenizer, form, device="cpu")


def main(
    contexts: int = 32, n: int = 5, new: int = 30, vocabulary: int = 5_000, rounds: int = 2
) -> dict[str, float]:
    """Print seconds per step and the ratio of dialeval's step to the loop."""
    torch.set_num_threads(1)
    generator, defender, passages = make(contexts, vocabulary)
    twin = copy.deepcopy(generator)
    settings = {"attack_batch": contexts, "defence_batch": contexts, "hypotheses": n}
    with tempfile.TemporaryDirectory() as folder:
        human = to_passages(passages)
        config = GameConfig(**settings, max_new_tokens=new, attack_learning_rate=RATE)
        game = AttackDefenceGame(config, generator, defender, human, human, Path(folder))
        loop = ContextLoop(twin, defender, passages, n, new)
        stages = _timed_stages(game)
        ways = {"dialeval": game.attack_step, "a loop over contexts": loop.step}
        best = _best_times(ways, rounds)
    limits = _limits(generator, passages, n, new)
    reference = best["dialeval"]
    table = Table("way", "seconds per step", "speed-up of dialeval")
    for name, seconds in best.items():
        table.add_row(name, f"{seconds:.2f}", f"{seconds / reference:.2f}")
    by_stage = Table("stage", "seconds", "its matrix products alone")
    for name in ("sampling", "scoring"):
        by_stage.add_row(name, f"{min(stages[name]):.2f}", f"{limits[name]:.2f}")
    update = reference - sum(min(seconds) for seconds in stages.values())
    by_stage.add_row("update", f"{update:.2f}", f"{limits['update']:.2f}")
    for printed in (table, by_stage):
        Console().print(printed)
    ratios = {name: seconds / reference for name, seconds in best.items()}
    return {**ratios, "its matrix products alone": sum(limits.values()) / reference}


def _timed_stages(game: AttackDefenceGame) -> dict[str, list[float]]:
    """Seconds of sampling and of scoring in every step from now on."""
    stages: dict[str, list[float]] = {"sampling": [], "scoring": []}

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            start = time.process_time()
            result = function(*args)
            stages[name].append(time.process_time() - start)
            return result

        return call

    game._draw = timed("sampling", game._draw)  # type: ignore[method-assign]
    game.rewards = timed("scoring", game.rewards)  # type: ignore[method-assign]
    return stages


def _limits(generator: Generator, passages: list[Passage], n: int, new: int) -> dict[str, float]:
    """Seconds of the matrix products of each stage, at the speed of one large product."""
    config = generator.model.config
    layers, head = 12 * config.n_embd**2 * config.n_layer, config.n_embd * config.vocab_size
    responses = len(passages) * n * new
    prompts = generator.prompts(generator.tokenizer, passages)
    body = 2 * layers * (sum(len(prompt.ids) for prompt in prompts) + responses)
    logits = 2 * head * responses
    operations = {
        "sampling": body + logits,
        "scoring": 2 * body,  # two discriminators
        "update": 3 * (body + logits),  # a backward pass has twice the products of a forward pass
    }
    rows, weights = torch.randn(4_096, config.n_embd), torch.randn(config.n_embd, 4 * config.n_embd)
    seconds = _best_times({"product": lambda: rows @ weights}, 20)["product"]
    speed = 2 * rows.numel() * weights.shape[1] / seconds
    return {name: count / speed for name, count in operations.items()}


def _best_times(ways: dict, rounds: int) -> dict[str, float]:
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.process_time()
            way()
            best[name] = min(best[name], time.process_time() - start)
    return best


class ContextLoop:
    """The same update, one context at a time."""

    def __init__(
        self, generator: Generator, defender: Defender, passages: list[Passage], n: int, new: int
    ):
        self.generator, self.defender, self.passages = generator, defender, passages
        self.n, self.new, self.rng = n, new, np.random.default_rng(0)
        self.optimizer = torch.optim.Adam(generator.model.parameters(), lr=RATE)

    def step(self) -> None:
        """One update from all contexts."""
        for passage in self.passages:
            self.loss(passage).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def loss(self, passage: Passage) -> Tensor:
        """What one context adds to the loss (Gao et al., 2021, eq. 5)."""
        generator = self.generator
        prompt = generator.prompts(generator.tokenizer, [passage])[0].ids
        temperature = float(self.rng.choice([0.3, 1.0, 10.0, 100.0]))
        rows = self.sample(prompt, temperature)  # (n, prompt + new)
        texts = generator.tokenizer.batch_decode(rows[:, len(prompt) :], skip_special_tokens=True)
        scores = self.scores([passage.with_response(text, "attacker") for text in texts])
        logits = generator.model(rows).logits[:, len(prompt) - 1 : -1]  # (n, new, vocabulary)
        targets = rows[:, len(prompt) :]
        summed = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none").sum(1)  # (n,)
        return (summed * (scores - scores.mean())).sum() / len(self.passages)

    @torch.no_grad()
    def sample(self, prompt: list[int], temperature: float) -> Tensor:
        """The context with each of its responses."""
        batch = pad([prompt], self.generator.pad_id)
        settings = {"do_sample": True, "top_k": 0, "temperature": temperature}
        return self.generator.model.generate(
            **batch, **settings, max_new_tokens=self.new, num_return_sequences=self.n
        )

    @torch.no_grad()
    def scores(self, passages: list[Passage]) -> Tensor:
        """Eq. 6 of responses to one context; each discriminator reads them as one padded batch."""
        product = torch.ones(len(passages))
        for scorer in (self.defender.hvm, self.defender.hvr):
            encoded = scorer.input_format(scorer.tokenizer, passages)
            batch = pad([row.ids for row in encoded], scorer.pad_id)
            product = product * scorer.model(**batch).logits.softmax(-1)[:, 1]
        return product.sqrt()


if __name__ == "__main__":
    main()
