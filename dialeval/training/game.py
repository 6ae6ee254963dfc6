"""The attack-defence game that hardens a discriminator (Gao et al., 2021, sec. 2.3).

In each turn a generator learns by reinforcement to fool the discriminator, and the discriminator
then learns from the responses of all generators so far. All random numbers depend only on the seed,
the turn and the step, so that an interrupted game resumes to the result of an uninterrupted one.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from dialeval.dialogues import Passage
from dialeval.metrics.training_results import GameStep
from dialeval.models import pairwise_loss
from dialeval.models.batching import pad
from dialeval.training.game_measures import GameMeasures
from dialeval.training.game_state import ATTACK, DEFENCE, set_trainable
from dialeval.training.policy import BATCH_TOKENS, Drawn, group_advantages, policy_backward
from dialeval.training.schedule import finite_loss
from dialeval.training.updates import parts_of


class AttackDefenceGame(GameMeasures):
    """An attacker trained against a defender, and the defender against all attackers so far.

    Args:
        generator (`Generator`):
            The attacker at the start of each turn; it is trained in place.
        defender (`Defender`):
            Its HvM is trained in place.
        train, validation (`Passages`):
            Human passages that share no dialogue.
        folder (`Path`):
            Folder of samples, attackers and the checkpoint; a game in it is resumed.
    """

    # The game, as in the paper's section 2.3

    def play(self) -> Iterator[GameStep]:
        """Attack and defend in turn until the defender holds; yields the progress of each step.

        When the iterator ends, the defender has its last weights, and `records` one row per turn.
        """
        self._begin()
        while not self.over:
            yield from self._attack() if self.phase == "attack" else self._defend()

    def attack_once(self) -> Iterator[GameStep]:
        """One attack on the defender, without a defence; yields the progress of each step."""
        self._begin()
        if self.phase == "attack":
            yield from self._attack()

    def _begin(self) -> None:
        """Resume the game, or draw A(0)."""
        if not self._resume():  # samples without a checkpoint may have other settings
            self._collect(0)
            self.save()

    @property
    def over(self) -> bool:
        """Whether the last m turns stayed above c_high after their attacks, or turns ran out.

        A game ends with a defence only if the accuracy requires one.
        """
        last = self.records[-self.config.patience_turns :]
        held = len(last) == self.config.patience_turns and all(
            record["watched"] > self.config.c_high for record in last
        )
        return self.phase == "attack" and (held or self.turn > self.config.max_turns)

    def _attack(self) -> Iterator[GameStep]:
        """Train the attacker until the defender's accuracy on it is below c_low.

        With `attack_until` budget it uses all its steps, and its best attacker so far is kept.
        """
        config = self.config
        if self.step == 0:
            self._begin_attack()
        validation = None
        while self.step < config.attack_steps:
            numbers = self.attack_step()
            self.step += 1
            validation = None
            if self.step % config.validate_every == 0 or self.step == config.attack_steps:
                validation, numbers["accuracy"] = self._validate_attacker()
            yield self._progress(numbers, config.attack_steps)
            if config.attack_until == "fooled" and numbers.get("accuracy", 1) < config.c_low:
                break
            self._save_if_due()
        if self.lowest:
            self._restore_lowest()
            validation = None
        self._collect(self.turn, validation)
        self.records.append(self._record())
        self._save_attacker()
        self.phase, self.step = "defence", 0
        self.save()
        yield {**self._progress({}, 1), "phase": "attacked", "record": self.records[-1]}

    def _begin_attack(self) -> None:
        """Start from the first generator; the attacker before its first step may be the best."""
        if self.config.reinitialise:
            self.reset_attacker()
        self.lowest = []
        if self.config.attack_until == "budget":
            self._validate_attacker()

    def _validate_attacker(self) -> tuple[dict[str, Any], float]:
        """Validation samples of the attacker, and the defender's accuracy on them."""
        samples = self._sample(self.turn, "validation", self._watched)
        accuracy = self._accuracy_of(samples)[self.config.accuracy]
        keeps = self.config.attack_until == "budget"
        if keeps and (not self.lowest or accuracy < self.lowest[1]):
            self.lowest = [self.step, accuracy]
            self._save_attacker()
        return samples, accuracy

    def _restore_lowest(self) -> None:
        """Give the attacker the weights of its lowest validation."""
        self.accelerator.wait_for_everyone()  # one process wrote them
        set_trainable(self.generator.model, self.attacker_path(self.turn))

    def _defend(self) -> Iterator[GameStep]:
        """Train the defender until it is above c_high on every set of samples."""
        config = self.config
        while not self._holds() and self.step < config.defence_steps:
            numbers = self.defence_step()
            self.step += 1
            if self.step % config.validate_every == 0 or self.step == config.defence_steps:
                self._measure()
                numbers["accuracy"] = self._lowest()
            yield self._progress(numbers, config.defence_steps)
            self._save_if_due()
        self.records[-1] |= {"defence_steps": self.step, "defended": self._lowest()}
        self.turn, self.phase, self.step = self.turn + 1, "attack", 0
        self.save()
        yield {**self._progress({}, 1), "phase": "defended", "record": self.records[-1]}

    # One step of each side

    def attack_step(self) -> dict[str, float]:
        """One update of the attacker by policy gradient (eqs. 3-5)."""
        config = self.config
        rows = self._draw_rows(ATTACK, len(self.human["train"]), config.attack_batch)
        local_rows = rows[self.rank :: self.ranks]
        drawn = self._draw(self.turn, "train", local_rows, config.hypotheses, [ATTACK, self.step])
        rewards = self.rewards(drawn)
        loss = policy_backward(
            self.generator,
            drawn,
            group_advantages(rewards, config.hypotheses),
            len(rows),
            average_over=config.average_over,
            at_temperature=config.logprob_temperature == "sampling",
            batch_tokens=max(1, BATCH_TOKENS // config.gradient_accumulation_steps),
            autocast=self._autocast,
        )
        self._update(self.generator.model, self.attacker_optimizer)
        count = len(local_rows)
        mean_loss, reward = self._mean([loss * len(rows) / count, rewards.mean()], count)
        return {"loss": finite_loss(mean_loss, f"attack step {self.step}"), "reward": reward}

    def rewards(self, drawn: Drawn) -> np.ndarray:
        """s(y|x) of each response minus the penalties, shape `(contexts * n,)`."""
        config, defender = self.config, self.defender
        margins, relevance = defender.margins(drawn.passages), defender.relevance(drawn.passages)
        combine = defender.scores if config.reward == "score" else defender.logits
        rewards = combine(margins, relevance)
        empty = np.array([not passage.response for passage in drawn.passages])
        return rewards - config.empty_penalty * empty - config.unfinished_penalty * ~drawn.finished

    def defence_step(self) -> dict[str, float]:
        """One update of HvM on pairs of a human and an attacker's response (eq. 1)."""
        size = self.config.defence_batch
        human, machine = self._pairs(size)
        local = slice(self.rank, None, self.ranks)
        hvm = self.defender.hvm
        torch.manual_seed(self._seed([self.turn, DEFENCE, self.step, self.rank]) % 2**63)
        hvm.model.train()
        losses, correct, count = 0.0, 0.0, len(human[local])
        for part in parts_of(np.arange(count), self.config.gradient_accumulation_steps):
            human_h, machine_h = self._margins(
                [human[local][row] for row in part], [machine[local][row] for row in part]
            )
            loss = pairwise_loss(human_h, machine_h) * len(part) / size
            loss.backward()
            losses += loss.item() * size / count
            correct += (human_h > machine_h).float().sum().item() / count
        hvm.model.eval()
        self._update(hvm.model, self.defender_optimizer)
        mean_loss, accuracy = self._mean([losses, correct], count)
        return {"loss": finite_loss(mean_loss, f"defence step {self.step}"), "training": accuracy}

    def _margins(
        self, human: list[Passage], machine: list[Passage]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """HvM's outputs h of human and machine responses, with their gradients."""
        hvm = self.defender.hvm
        encoded = hvm.input_format(hvm.tokenizer, [*human, *machine])
        ids = [passage.ids or [hvm.pad_id] for passage in encoded]
        batch = {name: tensor.to(hvm.device) for name, tensor in pad(ids, hvm.pad_id).items()}
        with self._autocast():
            logits = hvm.model(**batch).logits  # (2 * pairs, 2)
        human_h, machine_h = (logits[:, 1] - logits[:, 0]).float().view(2, -1)
        return human_h, machine_h

    def _pairs(self, size: int) -> tuple[list[Passage], list[Passage]]:
        """Human passages, and responses to the same contexts by attackers drawn from the turns."""
        rng = np.random.default_rng(self._numbers(DEFENCE))
        turns = self._defended()
        weights = np.ones(len(turns))
        if self.config.corpora == "accuracy":
            weights = np.array([1 - self.last_accuracy.get(turn, 0.0) for turn in turns]) + 1e-3
        chosen = rng.choice(turns, size, p=weights / weights.sum())
        rows, texts = np.empty(size, dtype=int), np.empty(size, dtype=object)
        for turn in np.unique(chosen):
            indices = np.flatnonzero(chosen == turn)
            picked = rng.integers(self.samples.size(turn, "train"), size=len(indices))
            samples = self.samples.take(turn, "train", picked)
            rows[indices], texts[indices] = samples["row"], samples["response"]
        human = self._passages("train", rows)
        return human, [p.with_response(t, "attacker") for p, t in zip(human, texts, strict=True)]
