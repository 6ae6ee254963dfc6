"""Fit the towers of `dialeval/scorers/matching.py` to the embedded corpus, and write their file.

    python recipes/matching.py --output dialeval/scorers/resources/matching.safetensors

With `--towers FILE` the towers of a file are kept, and only the main directions of the states are
computed again, which takes a minute.

Two tasks at once: the true reply among those of other dialogues in the batch, and the true reply
against the turn after it. One dialogue in twenty is held out and measured. Encoding the corpus
takes most of the time; `--states` keeps the states in a file.
"""

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dialeval.dialogues import read_dialogues
from dialeval.dialogues.readers.chitchat import chitchat_path
from dialeval.models.embedding import STATES, MiniLm
from dialeval.scorers.matching import DIRECTIONS, TOWERS, LexicalFeatures, Matcher, lexical_features

BATCH, MAX_LENGTH, HELD_OUT = 512, 96, 20
SAMPLE = 4_000
"""Turns from which the main directions of the states are computed."""
WORD_SCALE = 3.0
DENSE_RATE = 0.2
"""Learning rate of the dense weights relative to the words': every row moves all of them."""


class Tower(nn.Module):
    """Outputs of a turn from its hidden vector and its lexical features."""

    def __init__(self, hidden: int, width: int, features: int, word_width: int):
        super().__init__()
        self.linear = nn.Linear(hidden, width)
        nn.init.normal_(self.linear.weight, std=0.15 / np.sqrt(hidden))
        self.words = nn.EmbeddingBag(features + 1, word_width, mode="sum", padding_idx=0)
        nn.init.normal_(self.words.weight, std=0.02)
        self.words.weight.data[0] = 0
        self.up = nn.Linear(word_width, width, bias=False)

    def forward(self, hidden: Tensor, numbers: Tensor) -> Tensor:
        """Outputs, shape `(batch, width)`."""
        count = (numbers > 0).sum(1, keepdim=True).clamp(min=1).sqrt()
        return self.linear(hidden) + WORD_SCALE * self.up(self.words(numbers)) / count


class Towers(nn.Module):
    """The towers of the last turn, the one before it, and the response."""

    def __init__(self, states: Tensor, numbers: Tensor, features: int, args: argparse.Namespace):
        super().__init__()
        self.states, self.numbers, self.dropout = states, numbers, args.dropout
        sample = states[:: max(1, len(states) // 20_000)].float()
        self.mean, self.scale = sample.mean(0), sample.std(0) + 1e-4
        self.shared = nn.Linear(states.shape[1], args.hidden, bias=False)
        nn.init.normal_(self.shared.weight, std=1 / np.sqrt(states.shape[1]))
        self.towers = nn.ModuleDict(
            {name: Tower(args.hidden, 2 * args.width, features, args.words) for name in TOWERS}
        )

    def forward(self, rows: Tensor, tower: str) -> Tensor:
        """Outputs of some texts; zeros where a row is -1."""
        known, rows = (rows >= 0)[:, None].float(), rows.clamp(min=0)
        states = F.dropout(
            (self.states[rows].float() - self.mean) / self.scale, self.dropout, self.training
        )
        numbers = self.numbers[rows]
        if self.training:
            numbers = numbers * (torch.rand(numbers.shape) > self.dropout)
        return self.towers[tower](self.shared(states), numbers) * known

    def context(self, passages: Tensor) -> Tensor:
        """Outputs of contexts: of the last turn and the one before it."""
        return self(passages[:, 1], "last") + self(passages[:, 0], "previous")

    def to_matcher(self, lexical: LexicalFeatures) -> Matcher:
        """The weights for use without torch."""
        tensors = {"mean": self.mean, "scale": self.scale, "shared": self.shared.weight}
        for name, tower in self.towers.items():
            tensors |= {
                f"{name}_linear": tower.linear.weight, f"{name}_bias": tower.linear.bias,
                f"{name}_words": tower.words.weight, f"{name}_up": tower.up.weight,
            }  # fmt: skip
        arrays = {name: tensor.detach().numpy() for name, tensor in tensors.items()}
        return Matcher(arrays | main_directions(self.states), lexical.names)


def main_directions(states: Tensor) -> dict[str, np.ndarray]:
    """Principal components of each state, from a sample of turns; of mean variance 1."""
    rows = np.random.default_rng(0).choice(len(states), min(SAMPLE, len(states)), replace=False)
    sample = states[np.sort(rows)].float().unflatten(1, (STATES, -1)).numpy()
    axes = {}
    for at, count in enumerate(DIRECTIONS):
        vectors, variances, _ = np.linalg.svd(np.cov(sample[:, at].T))
        scale = np.sqrt(variances[:count].mean())
        axes[f"axes_{at}"] = (vectors[:, :count] / scale).astype(np.float32)
    return axes


def corpus() -> tuple[list[str], Tensor]:
    """The distinct turns, and passages: rows of two turns, the reply, the next turn; dialogue."""
    row: dict[str, int] = {}
    passages = []
    for number, dialogue in enumerate(read_dialogues(chitchat_path())):
        turns = [row.setdefault(turn.text, len(row)) for turn in dialogue.turns]
        for at in range(1, len(turns) - 1):
            before = turns[at - 2] if at > 1 else -1
            passages.append((before, turns[at - 1], turns[at], turns[at + 1], number))
    return list(row), torch.tensor(passages)


def states_of(texts: list[str], path: Path | None) -> Tensor:
    """States of all texts in half precision, from a file where there is one."""
    if path and path.is_file():
        return torch.from_numpy(np.load(path)).flatten(1)
    encoder = MiniLm(max_length=MAX_LENGTH)
    chunks = [texts[start : start + 8_192] for start in range(0, len(texts), 8_192)]
    states = np.concatenate([encoder.states(chunk).astype(np.float16) for chunk in chunks])
    if path:
        np.save(path, states)
    return torch.from_numpy(states).flatten(1)


def renew_directions(towers: Path, texts: list[str], output: Path) -> None:
    """Write the towers of a file with the main directions of a sample of turns."""
    rows = np.random.default_rng(0).choice(len(texts), SAMPLE, replace=False)
    states = MiniLm(max_length=MAX_LENGTH).states([texts[row] for row in np.sort(rows)])
    matcher = Matcher.load(towers)
    kept = {name: array for name, array in matcher.tensors.items() if not name.startswith("axes")}
    axes = main_directions(torch.from_numpy(states).half().flatten(1))
    Matcher(kept | axes, matcher.lexical.names).save(output)


def loss_of(towers: Towers, passages: Tensor) -> Tensor:
    """The sum of both tasks' losses."""
    context = towers.context(passages)
    reply, following = towers(passages[:, 2], "response"), towers(passages[:, 3], "response")
    half = context.shape[1] // 2
    scores = context[:, :half] @ reply[:, :half].T  # (batch, batch)
    same = passages[:, 4][:, None] == passages[:, 4]
    scores = scores.masked_fill(same & ~torch.eye(len(same), dtype=torch.bool), -1e4)
    target = torch.arange(len(scores))
    random = (F.cross_entropy(scores, target) + F.cross_entropy(scores.T, target)) / 2
    true, other = ((context * turn)[:, half:].sum(1) for turn in (reply, following))
    pointwise = (F.softplus(-true) + F.softplus(other)).mean()
    return random + pointwise + F.softplus(other - true).mean()


@torch.inference_mode()
def accuracies(towers: Towers, passages: Tensor) -> tuple[float, float]:
    """Pairwise accuracies on held-out dialogues: against random replies, and the next turn."""
    towers.eval()
    context = towers.context(passages)
    reply, following = towers(passages[:, 2], "response"), towers(passages[:, 3], "response")
    half, others = context.shape[1] // 2, torch.arange(len(passages)).roll(50)
    random = ((context * (reply - reply[others]))[:, :half].sum(1) > 0).float().mean()
    following_wins = ((context * (reply - following))[:, half:].sum(1) > 0).float().mean()
    towers.train()
    return float(random), float(following_wins)


def fit(towers: Towers, passages: Tensor, args: argparse.Namespace) -> None:
    """Train, and print the accuracies on held-out dialogues after each epoch."""
    held_out = passages[:, 4] % HELD_OUT == 0
    train, steps = passages[~held_out], args.epochs * (int((~held_out).sum()) // BATCH)
    words = [weight for name, weight in towers.named_parameters() if ".words." in name]
    dense = [weight for name, weight in towers.named_parameters() if ".words." not in name]
    groups = [{"params": words}, {"params": dense, "lr": args.lr * DENSE_RATE}]
    optimizer = torch.optim.AdamW(groups, lr=args.lr, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, step / 50 + 0.02) * (1 - step / steps)
    )
    for epoch in range(args.epochs):
        order = torch.randperm(len(train))
        for start in range(0, len(train) - BATCH + 1, BATCH):
            loss_of(towers, train[order[start : start + BATCH]]).backward()
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
        random, following = accuracies(towers, passages[held_out])
        print(f"epoch {epoch + 1}: pairwise, held out: random {random:.4f}, next {following:.4f}")


def main() -> None:
    """Read the command line, fit the towers, write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="file to write")
    parser.add_argument("--states", type=Path, help="file with the states of all turns")
    parser.add_argument("--towers", type=Path, help="file with towers to keep")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--features", type=int, default=1_500, help="lexical features")
    parser.add_argument("--hidden", type=int, default=112, help="width of the shared layer")
    parser.add_argument("--width", type=int, default=64, help="outputs of a tower for each task")
    parser.add_argument("--words", type=int, default=16, help="width of the lexical features")
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    texts, passages = corpus()
    if args.towers:
        renew_directions(args.towers, texts, args.output)
        return
    counts = Counter(name for text in texts for name in lexical_features(text))
    lexical = LexicalFeatures([name for name, _ in counts.most_common(args.features)])
    numbers = torch.from_numpy(lexical(texts)).long()
    towers = Towers(states_of(texts, args.states), numbers, len(lexical.names), args)
    fit(towers, passages, args)
    towers.to_matcher(lexical).save(args.output)
    print(f"{args.output}: {args.output.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
