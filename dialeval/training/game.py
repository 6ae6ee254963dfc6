"""The attack-defence game that hardens a discriminator (Gao et al., 2021, sec. 2.3).

Each turn a generator learns by reinforcement to fool the discriminator, and the discriminator then
learns from what all generators so far have said. Whatever is drawn depends on the seed and on the
numbers of turn and step alone, so a game that was killed goes on to the result of an unbroken one.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from safetensors.torch import load_file

from dialeval.dialogues import BadInput, Passage, Passages, iterate
from dialeval.dialogues.types import text_hash
from dialeval.models import pairwise_loss
from dialeval.models.batching import pad
from dialeval.responders.generators import Generator
from dialeval.training.checkpoints import (
    atomic_dir,
    last_complete,
    read_state,
    save_weights,
    write_state,
)
from dialeval.training.defender import Defender, pairwise, pairwise_probability
from dialeval.training.game_settings import GameConfig
from dialeval.training.policy import Drawn, draw_responses, group_advantages, policy_backward
from dialeval.training.samples import AttackerSamples
from dialeval.training.schedule import finite_loss

logger = logging.getLogger(__name__)

_ATTACK, _DEFENCE, _TRAIN, _VALIDATION, _CHECKED = range(5)  # streams of independent draws
_CHUNK = 32  # contexts that are answered together


class AttackDefenceGame:
    """An attacker that is trained against a defender, and the defender against all attackers.

    Args:
        generator (`Generator`):
            The attacker as it begins each turn; it is trained in place.
        defender (`Defender`):
            Its HvM is trained in place.
        train, validation (`Passages`):
            Human passages that share no dialogue.
        folder (`Path`):
            Where samples, attackers and the checkpoint go; a game that is there already goes on.
    """

    def __init__(
        self,
        config: GameConfig,
        generator: Generator,
        defender: Defender,
        train: Passages,
        validation: Passages,
        folder: Path,
        accelerator: Accelerator | None = None,
        name: str = "ATT",
    ):
        self.config, self.generator, self.defender, self.name = config, generator, defender, name
        self.accelerator = accelerator or Accelerator()
        self.rank, self.ranks = self.accelerator.process_index, self.accelerator.num_processes
        self.human = {"train": train, "validation": validation}
        self._check_sizes()
        self.folder = Path(folder)
        self.samples = AttackerSamples(self.folder / "samples")
        device = self.accelerator.device
        for model in (generator.model, defender.hvm.model):
            model.to(device)
        defender.hvm.device = device
        self.initial = {k: v.detach().clone() for k, v in trainable(generator.model).items()}
        self.attacker_optimizer = self._adam(generator.model, config.attack_learning_rate)
        self.defender_optimizer = self._adam(defender.hvm.model, config.defence_learning_rate)
        self.turn, self.phase, self.step = 1, "attack", 0
        self.records: list[dict[str, Any]] = []
        self.last_accuracy: dict[int, float] = {}
        self._watched = self._validation_rows()

    # The game, as in the paper's section 2.3

    def play(self) -> Iterator[dict[str, Any]]:
        """Attack and defend in turn until the defender holds; yields the numbers of each step.

        When the iterator ends, the defender has its last weights, and `records` says how it went.
        """
        self._begin()
        while not self.over:
            yield from self._attack() if self.phase == "attack" else self._defend()

    def attack_once(self) -> Iterator[dict[str, Any]]:
        """One attack on the defender as it is, and no defence; yields the numbers of each step."""
        self._begin()
        if self.phase == "attack":
            yield from self._attack()

    def _begin(self) -> None:
        """Go on where a game was left, or draw A(0)."""
        if not self._resume():  # samples without a checkpoint may be of other settings
            self._collect(0)
            self.save()

    @property
    def over(self) -> bool:
        """Whether the last m turns stayed above c_high after their attacks, or turns ran out.

        A game ends with a defence only where the accuracy asks for one.
        """
        last = self.records[-self.config.patience_turns :]
        held = len(last) == self.config.patience_turns and all(
            each["watched"] > self.config.c_high for each in last
        )
        return self.phase == "attack" and (held or self.turn > self.config.max_turns)

    def _attack(self) -> Iterator[dict[str, Any]]:
        """Train the attacker until the defender's accuracy on it is below c_low."""
        config = self.config
        if self.step == 0 and config.reinitialise:
            self.reset_attacker()
        found = None
        while self.step < config.attack_steps:
            numbers = self.attack_step()
            self.step += 1
            found = None
            if self.step % config.validate_every == 0 or self.step == config.attack_steps:
                found = self._answered(self.turn, "validation", self._watched)
                numbers["accuracy"] = self._accuracy_of(found)[config.accuracy]
            yield self._told(numbers, config.attack_steps)
            if numbers.get("accuracy", 1) < config.c_low:
                break
            self._save_at_times()
        self._collect(self.turn, found)
        self.records.append(self._record())
        self._save_attacker()
        self.phase, self.step = "defence", 0
        self.save()
        yield {**self._told({}, 1), "phase": "attacked", "record": self.records[-1]}

    def _defend(self) -> Iterator[dict[str, Any]]:
        """Train the defender until it is above c_high on every set of samples."""
        config = self.config
        while not self._holds() and self.step < config.defence_steps:
            numbers = self.defence_step()
            self.step += 1
            if self.step % config.validate_every == 0 or self.step == config.defence_steps:
                self._measure()
                numbers["accuracy"] = self._lowest()
            yield self._told(numbers, config.defence_steps)
            self._save_at_times()
        self.records[-1] |= {"defence_steps": self.step, "defended": self._lowest()}
        self.turn, self.phase, self.step = self.turn + 1, "attack", 0
        self.save()
        yield {**self._told({}, 1), "phase": "defended", "record": self.records[-1]}

    # One step of each side

    def attack_step(self) -> dict[str, float]:
        """One update of the attacker by policy gradient (eqs. 3-5)."""
        config = self.config
        rows = self._drawn_rows(_ATTACK, len(self.human["train"]), config.attack_batch)
        mine = rows[self.rank :: self.ranks]
        drawn = self._draw(self.turn, "train", mine, config.hypotheses, [_ATTACK, self.step])
        rewards = self.rewards(drawn)
        loss = policy_backward(
            self.generator,
            drawn,
            group_advantages(rewards, config.hypotheses),
            len(rows),
            average_over=config.average_over,
            at_temperature=config.logprob_temperature == "sampling",
        )
        self._update(self.generator.model, self.attacker_optimizer)
        told = self._mean([loss * len(rows) / len(mine), rewards.mean()], len(mine))
        return {"loss": finite_loss(told[0], f"attack step {self.step}"), "reward": told[1]}

    def rewards(self, drawn: Drawn) -> np.ndarray:
        """s(y|x) of each response, less the penalties, shape `(contexts * n,)`."""
        config, defender = self.config, self.defender
        both = defender.margins(drawn.passages), defender.relevance(drawn.passages)
        found = defender.scores(*both) if config.reward == "score" else defender.logits(*both)
        empty = np.array([not passage.response for passage in drawn.passages])
        return found - config.empty_penalty * empty - config.unfinished_penalty * ~drawn.finished

    def defence_step(self) -> dict[str, float]:
        """One update of HvM on pairs of a human and an attacker's response (eq. 1)."""
        size = self.config.defence_batch
        human, machine = self._pairs(size)
        mine = slice(self.rank, None, self.ranks)
        hvm = self.defender.hvm
        passages = [*human[mine], *machine[mine]]
        ids = [each.ids or [hvm.pad_id] for each in hvm.input_format(hvm.tokenizer, passages)]
        batch = {name: each.to(hvm.device) for name, each in pad(ids, hvm.pad_id).items()}
        torch.manual_seed(self._seed([self.turn, _DEFENCE, self.step, self.rank]) % 2**63)
        hvm.model.train()
        with self.accelerator.autocast():
            logits = hvm.model(**batch).logits  # (2 * pairs, 2)
        human_h, machine_h = (logits[:, 1] - logits[:, 0]).float().view(2, -1)
        loss = pairwise_loss(human_h, machine_h) * human_h.numel() / size
        loss.backward()
        hvm.model.eval()
        self._update(hvm.model, self.defender_optimizer)
        right = (human_h > machine_h).float().mean().item()
        told = self._mean([loss.item() * size / human_h.numel(), right], human_h.numel())
        return {"loss": finite_loss(told[0], f"defence step {self.step}"), "training": told[1]}

    def _pairs(self, size: int) -> tuple[list[Passage], list[Passage]]:
        """Human passages, and the same contexts answered by attackers drawn as the settings say."""
        rng = np.random.default_rng(self._numbers(_DEFENCE))
        turns = self._defended()
        weights = np.ones(len(turns))
        if self.config.corpora == "accuracy":
            weights = np.array([1 - self.last_accuracy.get(turn, 0.0) for turn in turns]) + 1e-3
        chosen = rng.choice(turns, size, p=weights / weights.sum())
        rows, texts = np.empty(size, dtype=int), np.empty(size, dtype=object)
        for turn in np.unique(chosen):
            places = np.flatnonzero(chosen == turn)
            picked = rng.integers(self.samples.size(turn, "train"), size=len(places))
            found = self.samples.take(turn, "train", picked)
            rows[places], texts[places] = found["row"], found["response"]
        human = self._passages("train", rows)
        return human, [p.with_response(t, "attacker") for p, t in zip(human, texts, strict=True)]

    # What is measured

    def _record(self) -> dict[str, Any]:
        """How the defender stands after an attack, on every set of samples (Figure 2)."""
        accuracies = self._measure()
        values = [each[self.config.accuracy] for each in accuracies.values()]
        newest = accuracies[self.turn]
        responses = self.samples.all(self.turn, "validation")
        text, count = Counter(responses["response"]).most_common(1)[0]
        total = len(responses["response"])
        if count > total / 2:
            logger.warning(
                "%s, turn %d: the attacker collapsed; %d of %d responses are %r.",
                self.name, self.turn, count, total, text[:80],
            )  # fmt: skip
        return {
            "turn": self.turn,
            "attack_steps": self.step,
            "stopped": "fooled" if newest[self.config.accuracy] < self.config.c_low else "budget",
            "accuracy": newest["pairwise"],
            "probability": newest["probability"],
            "hvm": newest["hvm"],
            "by_temperature": newest["by_temperature"],
            "low": min(values),
            "high": max(values),
            "watched": self._lowest(),
            "measured": {str(turn): each for turn, each in accuracies.items()},
            "most_frequent": {"response": text, "share": count / total},
            "empty": sum(not each for each in responses["response"]) / total,
            "unfinished": 1 - sum(responses["finished"]) / total,
        }

    def _measure(self) -> dict[int, dict[str, Any]]:
        """Accuracies on the sets that this validation reads; they are remembered."""
        found = {
            turn: self._accuracy_of(self.samples.all(turn, "validation"))
            for turn in self._validated()
        }
        for turn, each in found.items():
            self.last_accuracy[turn] = each[self.config.accuracy]
        return found

    def _validated(self) -> list[int]:
        """The first and the newest set, and of the others as many as settings allow, weak first.

        So a validation costs the same from turn `max_validated` on. Those that are not read keep
        the accuracy they had; the weaker a set last was, the likelier it is read.
        """
        turns, most = list(range(self.turn + 1)), self.config.max_validated
        if len(turns) <= most:
            return turns
        others = turns[1:-1]
        weights = np.array([1.001 - self.last_accuracy.get(turn, 0.0) for turn in others])
        rng = np.random.default_rng(self._numbers(_CHECKED))
        kept = rng.choice(others, max(0, most - 2), False, weights / weights.sum())
        return [0, *sorted(int(turn) for turn in kept), self.turn][-most:]

    def _defended(self) -> list[int]:
        """Sets that the defender learns from and is held to."""
        return list(range(self.turn + 1)) if self.config.ensemble else [self.turn]

    def _lowest(self) -> float:
        return min(self.last_accuracy[turn] for turn in self._defended())

    def _holds(self) -> bool:
        """Whether the defence is done: every set that counts is above c_high."""
        return self._lowest() > self.config.c_high

    def _accuracy_of(self, samples: dict[str, Any]) -> dict[str, Any]:
        """Accuracies on samples for validation contexts: 0/1, as a probability, and HvM's alone."""
        rows = np.asarray(samples["row"])
        passages = self._passages("validation", rows)
        machine = [
            p.with_response(t, "attacker")
            for p, t in zip(passages, samples["response"], strict=True)
        ]
        margins = (
            self._shared(self.defender.margins, passages),
            self._shared(self.defender.margins, machine),
        )
        relevance = self._human_relevance(rows), np.asarray(samples["relevance"], dtype=float)
        human, other = (
            self.defender.logits(*each) for each in zip(margins, relevance, strict=True)
        )
        right, drawn_at = pairwise(human, other), np.asarray(samples["temperature"])
        return {
            "pairwise": float(right.mean()),
            "probability": float(pairwise_probability(human, other).mean()),
            "hvm": float(pairwise(*margins).mean()),
            # What is drawn at a high temperature is easily told, and lifts the mean.
            "by_temperature": {
                f"{at:g}": float(right[drawn_at == at].mean()) for at in np.unique(drawn_at)
            },
        }

    def _human_relevance(self, rows: np.ndarray) -> np.ndarray:
        """The frozen judge's score of human responses, asked for once."""
        if not hasattr(self, "_relevance"):
            passages = self._passages("validation", self._watched)
            found = self._shared(self.defender.relevance, passages)
            self._relevance = dict(zip(self._watched.tolist(), found.tolist(), strict=True))
        return np.array([self._relevance[row] for row in rows.tolist()])

    # Samples

    def _collect(self, turn: int, validation: dict[str, Any] | None = None) -> None:
        """Write the set A(turn) of the attacker as it is."""
        rng = np.random.default_rng([self.config.seed, _TRAIN, turn])
        size = min(self.config.samples, len(self.human["train"]))
        rows = rng.choice(len(self.human["train"]), size, replace=False)
        found = {
            "train": self._answered(turn, "train", rows, relevance=False),
            "validation": validation or self._answered(turn, "validation", self._watched),
        }
        if self.accelerator.is_main_process:
            for part, columns in found.items():
                self.samples.add(turn, part, columns)
        self.accelerator.wait_for_everyone()

    def _answered(
        self, turn: int, part: str, rows: np.ndarray, relevance: bool = True
    ) -> dict[str, Any]:
        """One response of the attacker to each context, by columns; processes share the work."""
        stream = _TRAIN if part == "train" else _VALIDATION
        mine, told = np.arange(len(rows))[self.rank :: self.ranks], []
        for start in range(0, len(mine), _CHUNK):
            places = mine[start : start + _CHUNK]
            drawn = self._draw(turn, part, rows[places], 1, [stream])
            scores = self.defender.relevance(drawn.passages) if relevance else [np.nan] * len(drawn)
            told += zip(
                places.tolist(),
                [passage.response for passage in drawn.passages],
                drawn.temperatures.tolist(),
                drawn.finished.tolist(),
                map(float, scores),
                strict=True,
            )
        told = sorted(gather_object(told)) if self.ranks > 1 else told
        names = ("place", "response", "temperature", "finished", "relevance")
        columns = dict(zip(names, map(list, zip(*told, strict=True)), strict=True))
        columns["row"] = rows[columns.pop("place")].tolist()
        return columns

    def _draw(
        self, turn: int, part: str, rows: Sequence[int], n: int, stream: Sequence[int]
    ) -> Drawn:
        seeds = [self._seed([turn, *stream, row]) for row in np.asarray(rows).tolist()]
        return draw_responses(
            self.generator,
            self._passages(part, rows),
            seeds,
            self.config.decoding,
            n,
            self.config.max_new_tokens,
            self._seed([turn]),
            "attacker",
        )

    def _passages(self, part: str, rows: Sequence[int] | np.ndarray) -> list[Passage]:
        return list(iterate(self.human[part].select(rows, keep_in_memory=True)))

    # Seeds, processes and updates

    def _seed(self, numbers: Sequence[int]) -> int:
        return text_hash(map(str, [self.config.seed, *numbers]))

    def _numbers(self, stream: int) -> list[int]:
        return [self.config.seed, stream, self.turn, self.step]

    def _drawn_rows(self, stream: int, total: int, size: int) -> np.ndarray:
        rng = np.random.default_rng(self._numbers(stream))
        return rng.choice(total, min(size, total), replace=False)

    def _validation_rows(self) -> np.ndarray:
        """The validation contexts of this game, the same at every turn."""
        rng = np.random.default_rng([self.config.seed, _VALIDATION])
        total = len(self.human["validation"])
        return np.sort(rng.choice(total, min(self.config.validation_contexts, total), False))

    def _shared(self, ask: Any, passages: list[Passage]) -> np.ndarray:
        """What a judge says to passages, each process asking about its share."""
        if self.ranks == 1:
            return np.asarray(ask(passages))
        places = range(self.rank, len(passages), self.ranks)
        own = list(zip(places, map(float, ask(passages[self.rank :: self.ranks])), strict=True))
        return np.array([score for _, score in sorted(gather_object(own))])

    def _mean(self, numbers: Sequence[float], weight: float) -> list[float]:
        """Numbers of all processes, weighted by how many examples each had."""
        told = torch.tensor([*(weight * each for each in numbers), weight], dtype=torch.float64)
        told = told.float().to(self.accelerator.device) if self.ranks > 1 else told
        *sums, total = self.accelerator.reduce(told, "sum").tolist()
        return [each / total for each in sums]

    def _update(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """One step with the gradients of all processes, which add up to the batch's."""
        parameters = list(trainable(model).values())
        for each in parameters:  # without a gradient Adam would not move, with 0 it does
            gradient = torch.zeros_like(each) if each.grad is None else each.grad
            each.grad = self.accelerator.reduce(gradient, "sum") if self.ranks > 1 else gradient
        if self.config.max_grad_norm:
            torch.nn.utils.clip_grad_norm_(parameters, self.config.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()

    def _adam(self, model: torch.nn.Module, rate: float) -> torch.optim.Adam:
        return torch.optim.Adam(trainable(model).values(), lr=rate)

    def reset_attacker(self) -> None:
        """The generator as it was before the game, and an optimiser without memory."""
        set_trainable(self.generator.model, self.initial)
        self.attacker_optimizer = self._adam(self.generator.model, self.config.attack_learning_rate)

    # On disk

    def attacker_path(self, turn: int) -> Path:
        """Where the weights of a turn's attacker are kept: those that learn, with LoRA adapters."""
        return self.folder / "attackers" / f"turn_{turn:04d}.safetensors"

    def _save_attacker(self) -> None:
        if self.accelerator.is_main_process:
            save_weights(trainable(self.generator.model), self.attacker_path(self.turn))

    def _save_at_times(self) -> None:
        if self.step % self.config.checkpoint_every == 0:
            self.save()

    def save(self) -> None:
        """Write where the game stands, whole or not at all."""
        if self.accelerator.is_main_process:
            with atomic_dir(self.folder / "checkpoint") as folder:
                attacker, defender = self.generator.model, self.defender.hvm.model
                write_state(folder / "attacker", trainable(attacker), self.attacker_optimizer)
                write_state(folder / "defender", trainable(defender), self.defender_optimizer)
                told = {name: getattr(self, name) for name in ("turn", "phase", "step", "records")}
                told |= {"last_accuracy": self.last_accuracy, "config": asdict(self.config)}
                (folder / "game.json").write_text(json.dumps(told), encoding="utf-8")
        self.accelerator.wait_for_everyone()

    def _resume(self) -> bool:
        """Put back where the game stood, if it was begun."""
        found = last_complete(self.folder / "checkpoint")
        if found is None:
            return False
        told = json.loads((found / "game.json").read_text(encoding="utf-8"))
        if told["config"] != asdict(self.config):
            own = asdict(self.config)
            other = sorted(k for k in own if told["config"].get(k) != own[k])
            raise BadInput(
                f"the game here was played with other settings: {', '.join(other)}.",
                self.folder,
                hint="Resume with the settings of the first run, or choose another folder.",
            )
        for name in ("turn", "phase", "step", "records"):
            setattr(self, name, told[name])
        self.last_accuracy = {int(k): v for k, v in told["last_accuracy"].items()}
        sides = (
            ("attacker", self.generator.model, self.attacker_optimizer),
            ("defender", self.defender.hvm.model, self.defender_optimizer),
        )
        for side, model, optimizer in sides:
            set_trainable(model, read_state(found / side, optimizer)[0])
        return True

    def _told(self, numbers: dict[str, Any], total: int) -> dict[str, Any]:
        where = {"game": self.name, "turn": self.turn, "phase": self.phase, "step": self.step}
        return {**where, "total": total, **numbers}

    def _check_sizes(self) -> None:
        """Refuse a corpus that cannot fill a batch."""
        needs = {
            "train": max(self.config.attack_batch, self.config.defence_batch, self.ranks),
            "validation": max(10, self.ranks),
        }
        for part, least in needs.items():
            if len(self.human[part]) < least:
                raise BadInput(
                    f"the {part} part has {len(self.human[part])} contexts, but the game needs "
                    f"{least}.",
                    hint="Give more dialogues, or lower --attack_batch and --defence_batch.",
                )


def trainable(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """The parameters of a model that learn, by name."""
    return {name: each for name, each in model.named_parameters() if each.requires_grad}


@torch.no_grad()
def set_trainable(model: torch.nn.Module, weights: dict[str, torch.Tensor] | Path) -> None:
    """Put weights, or those in a file, into the parameters of a model that learn."""
    weights = load_file(weights) if isinstance(weights, Path) else weights
    own = trainable(model)
    if own.keys() != weights.keys():
        hint = "Resume with the settings of the first run."
        raise BadInput("these weights are of another model.", hint=hint)
    for name, each in own.items():
        each.copy_(weights[name])
