"""Adversarial training of a generator: REINFORCE and REGS (Li et al., 2017, sec. 3, figure 1).

A discriminator learns to distinguish the generator's responses from human ones, and its score is
the reward for which the generator is trained by policy gradients. All random numbers depend only on
the seed, the round and the step, so an interrupted run resumes to the result of a whole one.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import cast

import numpy as np
import torch
from torch.nn import functional as F

from dialeval.dialogues import BadInput, Passage
from dialeval.metrics.adversarial_results import AdversarialStep
from dialeval.models.batching import pad
from dialeval.responders.task import mixed_seed
from dialeval.training.adversarial_measures import AdversarialMeasures
from dialeval.training.adversarial_state import DISCRIMINATOR, DROPOUT, GENERATOR, ROLLOUT
from dialeval.training.baselines import Rewards, last_rewards
from dialeval.training.likelihood import encoded
from dialeval.training.policy import Drawn, policy_backward
from dialeval.training.supervised import all_prefixes, random_prefixes
from dialeval.training.updates import autocast, parts_of

_TOGETHER = 256  # contexts that are answered in one batch


class AdversarialTrainer(AdversarialMeasures):
    """Trains a generator on the rewards of its own sampled responses.

    See [`AdversarialState`] for the arguments.
    """

    # Figure 1

    def train(self) -> Iterator[AdversarialStep]:
        """Alternate D-steps and G-steps; yields the progress of each round.

        When the iterator ends, the generator has its last weights, or those of the last validation
        within the limit if perplexity rose too much; `records` has one row per validation.
        """
        config = self.config
        if not self.resume():
            self._record()
            yield self._progress({})
            self.save()
        while self.iteration < config.iterations and not self.stopped:
            numbers: dict[str, float] = {}
            steps = range(config.d_steps if self.discriminator else 0)
            for step, machine in zip(steps, self.negatives(steps), strict=True):
                numbers |= self.discriminator_step(step, machine)
            for step in range(config.g_steps):
                numbers |= self.generator_step(step)
            self.iteration += 1
            is_last = self.iteration == config.iterations
            is_validated = is_last or self.iteration % config.validate_every == 0
            if is_validated:
                self._record()
                self._stop_if_worse()
            yield self._progress(numbers, is_validated)
            if is_validated or self.iteration % self.training.checkpoint_every == 0:
                self.save()
        self._finish()

    def _progress(self, numbers: dict[str, float], is_validated: bool = True) -> AdversarialStep:
        record = {"record": self.records[-1]} if is_validated else {}
        position = {"step": self.iteration, "total": self.config.iterations}
        names = {"objective": self.config.objective}
        return cast(AdversarialStep, {**names, **position, **numbers, **record})

    # One step of each side

    def negatives(self, steps: Sequence[int]) -> Iterator[list[Passage]]:
        """Samples for some D-steps of a round, between which the generator does not change.

        Several steps are drawn in one batch, which takes .6 of the time of five batches of 16
        contexts, and .76 of that of 32 (a GPT-2 of 2 million parameters on a CPU).
        """
        rows = [self._rows(DISCRIMINATOR, step)[self.rank :: self.ranks] for step in steps]
        together = max(1, _TOGETHER // self.config.adversarial_batch)
        for at in range(0, len(steps), together):
            batch, names = rows[at : at + together], steps[at : at + together]
            seeds = [
                self._seed([DISCRIMINATOR, self.iteration, step, row])
                for step, chosen in zip(names, batch, strict=True)
                for row in chosen.tolist()
            ]
            samples = iter(self._draw_seeded("train", np.concatenate(batch), seeds).passages)
            yield from (list(islice(samples, len(chosen))) for chosen in batch)

    def discriminator_step(
        self, step: int, machine: list[Passage] | None = None
    ) -> dict[str, float]:
        """Update the discriminator on human responses and new samples for the same contexts."""
        rows = self._rows(DISCRIMINATOR, step)
        human = self._passages("train", rows[self.rank :: self.ranks])
        if machine is None:
            [machine] = self.negatives([step])
        if self.config.objective == "regs-partial" and self.config.partial == "one":
            seed = [self.training.seed, DISCRIMINATOR, self.iteration, step]
            human, machine = self._one_prefix(human, seed), self._one_prefix(machine, seed)
        elif self.config.objective == "regs-partial":
            human, machine = all_prefixes(human), all_prefixes(machine)
        return self._learn_to_distinguish(human, machine, step)

    def _one_prefix(self, passages: list[Passage], seed: list[int]) -> list[Passage]:
        """One random prefix of each response; which one depends on the response alone."""
        keys = (self._seed([*seed, passage.id, passage.author]) for passage in passages)
        return [
            random_prefixes([passage], [key % 2**32])[0]
            for passage, key in zip(passages, keys, strict=True)
        ]

    def _learn_to_distinguish(
        self, human: list[Passage], machine: list[Passage], step: int
    ) -> dict[str, float]:
        """One update by cross entropy, a mean over the examples of all processes."""
        assert self.discriminator is not None
        seed = self._seed([DROPOUT, DISCRIMINATOR, self.iteration, step, self.rank])
        torch.manual_seed(seed % 2**63)
        model = self.discriminator.model.train()
        examples, labels = [*human, *machine], [1] * len(human) + [0] * len(machine)
        [count] = self._add(np.array([len(examples)]))
        total = 0.0
        for part in parts_of(np.arange(len(examples)), self.training.gradient_accumulation_steps):
            passages, targets = [examples[row] for row in part], [labels[row] for row in part]
            loss = self._classification_loss(passages, targets) / count
            loss.backward()
            total += loss.item()
        model.eval()
        self._update(model, self.discriminator_optimizer, "discriminator")
        return {"discriminator_loss": float(self._add(np.array([total]))[0])}

    def _classification_loss(self, passages: list[Passage], labels: list[int]) -> torch.Tensor:
        """Summed cross entropy of the labels."""
        scorer = self.discriminator
        assert scorer is not None
        rows = scorer.input_format(scorer.tokenizer, passages)
        tensors = pad([row.ids or [scorer.pad_id] for row in rows], scorer.pad_id)
        batch = {name: tensor.to(scorer.device) for name, tensor in tensors.items()}
        with autocast(self.training.precision, scorer.device):
            logits = scorer.model(**batch).logits.float()  # (passages, 2)
        targets = torch.tensor(labels, device=logits.device)
        return F.cross_entropy(logits, targets, reduction="sum")

    def generator_step(self, step: int) -> dict[str, float]:
        """Update the generator on its own samples, then on the human responses (eqs. 2 and 3)."""
        config = self.config
        rows = self._rows(GENERATOR, step)
        local = rows[self.rank :: self.ranks]
        drawn = self._draw("train", local, [GENERATOR, self.iteration, step], config.responses)
        rewards, valid = self.rewards(drawn, local, step)
        advantages = self.advantages(drawn, rewards, valid)
        loss = policy_backward(
            self.generator,
            drawn,
            advantages,
            len(rows) * config.responses,
            batch_tokens=self._batch_tokens,
            autocast=self._autocast,
        )
        norm = self._update(self.generator.model, self.optimizer, "generator")
        learned = self.baseline.learn(drawn, rewards, valid)
        human = self._teacher_forcing(local, drawn, rewards, len(rows), step)
        totals = self._add(np.array([loss, last_rewards(rewards)[valid].sum(), valid.sum()]))
        numbers = {"loss": float(totals[0]), "reward": float(totals[1] / max(1, totals[2]))}
        return {**numbers, "gradient_norm": norm, **learned, **human}

    # Rewards, baselines, advantages

    def rewards(
        self, drawn: Drawn, rows: np.ndarray, step: int
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """The reward of each token, and which responses have one.

        Args:
            drawn (`Drawn`):
                Sampled responses.
            rows (`np.ndarray`):
                Their contexts.
            step (`int`):
                Number of the step in its round.

        Returns:
            `tuple[list[np.ndarray], np.ndarray]`: Rewards with the penalty for leaving the first
            generator, and the responses whose reward is a number.
        """
        seeds = [
            mixed_seed(self._seed([ROLLOUT, self.iteration, step, row]), copy)
            for row in rows.tolist()
            for copy in range(drawn.n)
        ]
        rewards = self.reward.of_responses(self.generator, drawn, seeds, self.config)
        valid = np.array([bool(len(reward)) and np.isfinite(reward).all() for reward in rewards])
        self._check_rewards(rewards, valid)
        fallback = float(last_rewards(rewards)[valid].mean()) if valid.any() else 0.0
        rewards = [
            reward if use else np.full(len(reward), fallback)
            for reward, use in zip(rewards, valid, strict=True)
        ]
        if self.config.kl_weight:
            pairs = zip(rewards, self.log_ratios(drawn), strict=True)
            # What a token costs is what it and all later ones add to the divergence.
            rewards = [
                reward - self.config.kl_weight * ratio[::-1].cumsum()[::-1]
                for reward, ratio in pairs
            ]
        return rewards, valid

    def _check_rewards(self, rewards: Rewards, valid: np.ndarray) -> None:
        """Count batches in which rewards do not vary, and responses without one."""
        kept = [reward for reward, use in zip(rewards, valid, strict=True) if use]
        values = np.concatenate([np.zeros(0), *kept])
        low = values.min() if len(values) else np.inf
        high = values.max() if len(values) else -np.inf
        if self.ranks > 1:
            from accelerate.utils import gather_object

            bounds = gather_object([(low, high)])
            low, high = min(bound[0] for bound in bounds), max(bound[1] for bound in bounds)
        count, total = self._add(np.array([(~valid).sum(), len(valid)]))
        self.updates += 1
        self.constant += int(low == high)
        self.invalid += int(count)
        if count == total:
            self.save()
            raise BadInput(
                f"the reward {self.reward.name!r} is not a number for any of {int(total)} "
                "responses.",
                hint="Check the scorer; the training so far is saved.",
            )

    def advantages(self, drawn: Drawn, rewards: Rewards, valid: np.ndarray) -> list[np.ndarray]:
        """Rewards minus the baseline, 0 for responses without a reward.

        Args:
            drawn (`Drawn`):
                Sampled responses.
            rewards (`Sequence[np.ndarray]`):
                The reward of each token.
            valid (`np.ndarray`):
                Which responses have one.

        Returns:
            `list[np.ndarray]`: One number per token.
        """
        values = self.baseline.values(drawn, rewards)
        advantages = [
            (reward - value) * use
            for reward, value, use in zip(rewards, values, valid, strict=True)
        ]
        return self._whitened(advantages, valid) if self.config.whiten else advantages

    def _whitened(self, advantages: list[np.ndarray], valid: np.ndarray) -> list[np.ndarray]:
        """The same with mean 0 and standard deviation 1 over the batch of all processes."""
        # Without a penalty the tokens of a response are all alike, and it counts once.
        alike = self.config.objective == "reinforce" and not self.config.kl_weight
        size = 1 if alike else None
        kept = [a[:size] for a, use in zip(advantages, valid, strict=True) if use]
        flat = np.concatenate(kept or [np.zeros(0)])
        count, total, squares = self._add(np.array([len(flat), flat.sum(), (flat**2).sum()]))
        mean = total / max(1, count)
        deviation = np.sqrt(max(squares / max(1, count) - mean**2, 0))
        scale = 1 / deviation if deviation > 1e-8 else 0.0
        return [(a - mean) * scale * use for a, use in zip(advantages, valid, strict=True)]

    # Teacher forcing

    def _teacher_forcing(
        self, rows: np.ndarray, drawn: Drawn, rewards: Rewards, size: int, step: int
    ) -> dict[str, float]:
        """Update the generator on human responses, which have a reward of 1, or their own."""
        if self.config.teacher_forcing == "none":
            return {}
        human = self._human(rows)
        weights = np.ones(len(human))
        if self.config.teacher_forcing == "reward":
            scores = np.nan_to_num(self.reward.of_complete(human, self.config))
            # eq. 2 with the human response, only where its weight is positive.
            weights = np.maximum(scores - self.baseline.of_contexts(drawn, rewards), 0)
        torch.manual_seed(self._seed([DROPOUT, GENERATOR, self.iteration, step, self.rank]) % 2**63)
        loss = policy_backward(
            self.generator,
            human,
            weights,
            size,
            batch_tokens=self._batch_tokens,
            dropout=True,
            autocast=self._autocast,
        )
        self._update(self.generator.model, self.optimizer, "teacher forcing")
        return {"teacher_loss": float(self._add(np.array([loss]))[0])}

    def _human(self, rows: Sequence[int] | np.ndarray) -> Drawn:
        """Human responses to training contexts, as if they were drawn."""
        passages = self._passages("train", np.asarray(rows))
        prompts, responses = encoded(self.generator, passages)
        count = len(passages)
        return Drawn(passages, prompts, responses, np.ones(count, bool), np.ones(count), 1)
