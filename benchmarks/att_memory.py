"""Peak memory of an attack step and a defence step: full fine-tuning against LoRA adapters.

Each way runs in a separate process: a GPT-2 of 6 layers and width 768 attacks, and a discriminator
with the same initial weights defends. With LoRA both share one frozen backbone, and only adapters
are copied for the next attacker and kept by the optimisers. The number is the peak of the process
above its memory after the same steps of a tiny model: weights, gradients, optimisers, and the
activations of batches of 8 rows, which adapters do not reduce.
"""

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from transformers import GPT2Config, GPT2LMHeadModel

from dialeval.dialogues import Passage, Passages, Turn, to_passages
from dialeval.dialogues.encoding import input_format
from dialeval.models.tokenizers import word_tokenizer
from dialeval.protocols.att import build_players
from dialeval.responders.generators import Generator
from dialeval.responders.prompts import PromptFormat
from dialeval.scorers.neural import NeuralScorer
from dialeval.training.defender import Defender
from dialeval.training.game import AttackDefenceGame
from dialeval.training.game_settings import GameConfig

WAYS = {"full": "all weights", "lora": "LoRA on one backbone"}
VOCABULARY = 5_000


def main() -> dict[str, float]:
    """Print the megabytes of each way, and its ratio to LoRA."""
    memory = {way: _measure(way) for way in WAYS}
    table = Table("what is trained", "trained weights", "peak MB", "ratio to LoRA")
    for way, measured in memory.items():
        ratio = measured["megabytes"] / memory["lora"]["megabytes"]
        row = (f"{measured['learning']:,}", f"{measured['megabytes']:.0f}", f"{ratio:.2f}")
        table.add_row(WAYS[way], *row)
    Console().print(table)
    return {
        WAYS[way]: measured["megabytes"] / memory["lora"]["megabytes"]
        for way, measured in memory.items()
    }


def _measure(way: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.att_memory", way]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def play(way: str) -> dict[str, float]:
    """Memory of one step of each side, in this process."""
    tokenizer = word_tokenizer([" ".join(_words())], VOCABULARY + 4)
    human = _talk(32)
    _steps(_game(way, tokenizer, human, 16))
    before = _peak()
    game = _steps(_game(way, tokenizer, human, 768))
    models = game.generator.model, game.defender.hvm.model
    learning = sum(w.numel() for m in models for w in m.parameters() if w.requires_grad)
    return {"megabytes": _peak() - before, "learning": learning}


def _steps(game: AttackDefenceGame) -> AttackDefenceGame:
    """The game after one step of each side."""
    game._collect(0)
    game.attack_step()
    game._collect(1)
    game.defence_step()
    return game


def _game(way: str, tokenizer: object, human: Passages, width: int) -> AttackDefenceGame:
    torch.manual_seed(0)
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    shape = {"n_embd": width, "n_layer": 6, "n_head": 8, "n_positions": 64}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **shape, **ids))
    generator, discriminator = build_players(Generator(model, tokenizer, PromptFormat()), tune=way)
    defender = Defender(NeuralScorer(discriminator, tokenizer, input_format("att"), device="cpu"))
    config = GameConfig(
        hypotheses=2, attack_batch=4, defence_batch=4, max_new_tokens=10, samples=8,
        validation_contexts=10,
    )  # fmt: skip
    folder = Path(tempfile.mkdtemp())
    return AttackDefenceGame(config, generator, defender, human, human, folder)


def _words() -> list[str]:
    return [f"w{number}" for number in range(VOCABULARY)]


def _talk(count: int) -> Passages:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(_words(), 20)) for _ in range(2 * count)]
    pairs = zip(texts[::2], texts[1::2], strict=True)
    return to_passages(
        Passage((Turn("A", one),), other, id=str(row)) for row, (one, other) in enumerate(pairs)
    )


def _peak() -> float:
    """Peak memory of this process in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(play(sys.argv[1])))
    else:
        main()
