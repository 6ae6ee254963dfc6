"""A tiny attack-defence game, and what tests do with it in other processes.

python game_worker.py broken FOLDER   play it whole, and killed and resumed many times
python game_worker.py steps FOLDER    one step of each side, then a turn; with several processes
"""

import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel

from dialeval.dialogues import Passage, Passages, Turn, to_passages
from dialeval.dialogues.encoding import input_format
from dialeval.models import TransformerDiscriminator, TransformerDiscriminatorConfig
from dialeval.models.tokenizers import word_tokenizer
from dialeval.responders.generators import Generator
from dialeval.responders.prompts import PromptFormat
from dialeval.scorers.neural import NeuralScorer
from dialeval.training.defender import Defender
from dialeval.training.game import AttackDefenceGame
from dialeval.training.game_settings import GameConfig

WORDS = [
    "yes", "no", "maybe", "tea", "rain", "blue", "cat", "dog", "likes", "sees", "the", "a", "very",
    "old", "red", "house", "sings",
]  # fmt: skip
FAST = {
    "hypotheses": 2, "attack_batch": 4, "defence_batch": 4, "max_new_tokens": 4, "samples": 12,
    "validation_contexts": 10, "attack_steps": 3, "defence_steps": 4, "validate_every": 2,
    "checkpoint_every": 2, "max_turns": 3, "attack_learning_rate": 1e-3,
    "defence_learning_rate": 1e-3, "c_low": 0.01, "c_high": 0.99,
}  # fmt: skip


def tokenizer() -> Any:
    """Words of the invented corpus."""
    return word_tokenizer([" ".join(WORDS)], 64)


def talk(count: int, seed: int = 0) -> Passages:
    """Invented questions of 2 to 6 words, and answers."""
    rng = np.random.default_rng(seed)
    return to_passages(
        Passage(
            (Turn("A", " ".join(rng.choice(WORDS, rng.integers(2, 7)))),),
            " ".join(rng.choice(WORDS, 3)),
            id=f"{seed}-{row}",
            dialogue_id=f"{seed}-{row}",
        )
        for row in range(count)
    )


def shape(dropout: float = 0.1) -> GPT2Config:
    """One layer, 16 wide."""
    words = tokenizer()
    rates = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), dropout)
    ids = {"bos_token_id": words.bos_token_id, "eos_token_id": words.eos_token_id}
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64}
    return GPT2Config(vocab_size=len(words), initializer_range=0.3, **sizes, **rates, **ids)


def attacker(seed: int = 0, dropout: float = 0.1) -> Generator:
    """An untrained generator."""
    torch.manual_seed(seed)
    return Generator(GPT2LMHeadModel(shape(dropout)), tokenizer(), PromptFormat())


def judge(seed: int, dropout: float = 0.1) -> NeuralScorer:
    """An untrained discriminator."""
    torch.manual_seed(seed)
    config = TransformerDiscriminatorConfig(shape(dropout), "last", True, dropout)
    model = TransformerDiscriminator(config)
    return NeuralScorer(model, tokenizer(), input_format("att"), f"judge{seed}", device="cpu")


def tiny_game(folder: Path, dropout: float = 0.1, **settings: Any) -> AttackDefenceGame:
    """A game of untrained players, with a frozen second judge."""
    config = GameConfig(**{**FAST, **settings})
    defender = Defender(judge(1, dropout), judge(2, dropout))
    parts = talk(20), talk(12, seed=1)
    return AttackDefenceGame(config, attacker(0, dropout), defender, *parts, folder)


def weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Copies of all parameters."""
    return {name: value.detach().clone() for name, value in model.named_parameters()}


def write_result(game: AttackDefenceGame, folder: Path) -> None:
    """What a game came to."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights(game.defender.hvm.model), folder / "defender.safetensors")
    save_file(weights(game.generator.model), folder / "attacker.safetensors")
    (folder / "records.json").write_text(json.dumps(game.records), "utf-8")


class Killer:
    """Kills its process after so many calls of the game's own functions and of renames.

    These calls, not the clock, spread the moments over all that a game does.
    """

    def __init__(self, after: int, game: AttackDefenceGame, log: Path):
        self.left, self.game, self.log = after, game, log

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        file = frame.f_code.co_filename
        game = event == "call" and ("dialeval/training" in file or "dialeval/files.py" in file)
        disk = event == "c_call" and argument.__name__ in ("replace", "rename", "rmdir", "unlink")
        if not (game or disk):
            return
        self.left -= 1
        if self.left < 0:
            sys.setprofile(None)
            self._note(frame)
            os.kill(os.getpid(), signal.SIGKILL)

    def _note(self, frame: FrameType | None) -> None:
        inside = []
        while frame is not None:
            inside.append(frame.f_code.co_name)
            frame = frame.f_back
        with self.log.open("a") as file:
            file.write(json.dumps({"phase": self.game.phase, "inside": inside}) + "\n")


def run_in_fork(folder: Path, result: Path, after: int | None, log: Path) -> int:
    """Play in a process of its own; its status."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        game = tiny_game(folder, attack_until="budget")  # which keeps the most on disk
        if after is not None:
            sys.setprofile(Killer(after, game, log))
        for _ in game.play():
            pass
        sys.setprofile(None)
        write_result(game, result)
        os._exit(0)
    finally:
        os._exit(1)


def broken(folder: Path) -> None:
    """The same game unbroken, and killed at random moments until it ends."""
    log = folder / "kills.jsonl"
    assert run_in_fork(folder / "whole", folder / "whole" / "result", None, log) == 0
    rng = np.random.default_rng(1)
    for _ in range(200):
        after = int(rng.integers(20, 700))
        if run_in_fork(folder / "torn", folder / "torn" / "result", after, log) == 0:
            return
    raise SystemExit("the game did not end")


def steps(folder: Path) -> None:
    """One attack step and one defence step; then a game of one turn.

    The steps are plain gradient: Adam makes whole steps of rounding errors, where a gradient is 0
    but for them, as that of a key's bias is.
    """
    game = tiny_game(folder / "steps", 0.0, attack_batch=5, defence_batch=5)
    sides = game.generator.model, game.defender.hvm.model
    game.attacker_optimizer, game.defender_optimizer = (
        torch.optim.SGD(model.parameters(), lr=1.0) for model in sides
    )
    game._collect(0)
    numbers: dict[str, Any] = {"attack": game.attack_step()}
    game._collect(1)
    numbers["defence"] = game.defence_step()
    whole = tiny_game(folder / "play", 0.0, max_turns=1)
    list(whole.play())
    if game.accelerator.is_main_process:
        write_result(game, folder / "result")
        numbers |= {"record": whole.records[0], "processes": game.ranks}
        (folder / "numbers.json").write_text(json.dumps(numbers), "utf-8")


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"broken": broken, "steps": steps}[sys.argv[1]](Path(sys.argv[2]))
