"""What adversarial training measures on held-out contexts, and when it stops."""

import logging
from collections import Counter
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from accelerate.utils import gather_object
from safetensors.torch import load_file

from dialeval.dialogues.tokens import tokens
from dialeval.metrics.adversarial_results import PolicyRecord
from dialeval.metrics.distinct import distinct
from dialeval.training.adversarial_state import VALIDATION, AdversarialState, without_adapters
from dialeval.training.checkpoints import save_weights
from dialeval.training.game_state import set_trainable, trainable
from dialeval.training.likelihood import encoded
from dialeval.training.policy import Drawn, drawn_log_probs

logger = logging.getLogger(__name__)

_CHUNK = 64  # contexts that are answered together
WITHIN_LIMIT = "within_limit.safetensors"


class AdversarialMeasures(AdversarialState):
    """Validations, their warnings, and the weights that are kept."""

    def _record(self) -> None:
        """Validate, warn, and remember weights whose perplexity is within the limit."""
        record = self.validate()
        self.records.append(asdict(record))
        self._warn(record)
        if self._is_within_limit(record):
            self._keep()

    @torch.no_grad()
    def validate(self) -> PolicyRecord:
        """Sample responses to the validation contexts; numbers over all processes."""
        rows = self._validation_rows()
        local = rows[self.rank :: self.ranks]
        samples: list[tuple[Any, ...]] = []
        for start in range(0, len(local), _CHUNK):
            samples += self._samples(local[start : start + _CHUNK])
        if self.ranks > 1:
            samples = sorted(gather_object(samples))
        names = ("row", "text", "finished", "tokens", "log_p", "ratio", "reward", "human", "nll",
                 "targets")  # fmt: skip
        columns = dict(zip(names, map(list, zip(*samples, strict=True)), strict=True))
        return self._summarised(columns)

    def _validation_rows(self) -> np.ndarray:
        total = len(self.human["validation"])
        rng = np.random.default_rng([self.training.seed, VALIDATION])
        return np.sort(rng.choice(total, min(self.config.validation_contexts, total), False))

    def _samples(self, rows: np.ndarray) -> list[tuple[Any, ...]]:
        """Each context's response with its numbers; the noise is the same in every validation."""
        drawn = self._draw("validation", rows, [VALIDATION])
        human = self._passages("validation", rows)
        prompts, responses = encoded(self.generator, human)
        count = len(human)
        reference = Drawn(human, prompts, responses, np.ones(count, bool), np.ones(count), 1)
        log_probs = drawn_log_probs(self.generator, drawn)
        ratios = self.log_ratios(drawn, log_probs)
        return list(
            zip(
                rows.tolist(),
                [passage.response for passage in drawn.passages],
                drawn.finished.tolist(),
                [len(ids) for ids in drawn.responses],
                [float(values.sum()) for values in log_probs],
                [float(values.sum()) for values in ratios],
                map(float, self.reward.of_complete(drawn, self.config)),
                map(float, self.reward.of_complete(reference, self.config)),
                [-float(values.sum()) for values in drawn_log_probs(self.generator, reference)],
                [len(ids) for ids in responses],
                strict=True,
            )
        )

    def log_ratios(
        self, drawn: Drawn, log_probs: list[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        """log p - log p of the generator before, for each token of each response."""
        now = log_probs or drawn_log_probs(self.generator, drawn)
        with without_adapters(self.before):
            before = drawn_log_probs(self.before, drawn)
        return [a - b for a, b in zip(now, before, strict=True)]

    def _summarised(self, columns: dict[str, list[Any]]) -> PolicyRecord:
        texts = columns["text"]
        text, count = Counter(texts).most_common(1)[0]
        words = distinct(texts, lambda response: [word.lower() for word in tokens(response)])
        reward, human = np.array(columns["reward"]), np.array(columns["human"])
        pairs = ~(np.isnan(human) | np.isnan(reward))
        correct = ((human > reward) + 0.5 * (human == reward))[pairs]
        total = max(1, sum(columns["tokens"]))
        nll = sum(columns["nll"]) / max(1, sum(columns["targets"]))
        return PolicyRecord(
            iteration=self.iteration,
            reward=float(np.nanmean(reward)) if np.isfinite(reward).any() else float("nan"),
            human_reward=float(np.nanmean(human)) if np.isfinite(human).any() else float("nan"),
            accuracy=float(correct.mean()) if pairs.any() else float("nan"),
            length=float(np.mean(columns["tokens"])),
            entropy=-sum(columns["log_p"]) / total,
            kl=float(np.mean(columns["ratio"])),
            distinct_1=words["distinct_1"],
            distinct_2=words["distinct_2"],
            perplexity=float(np.exp(min(nll, 80))),
            most_frequent=text,
            most_frequent_share=count / len(texts),
            empty=sum(not response for response in texts) / len(texts),
            unfinished=1 - sum(columns["finished"]) / len(texts),
            constant_share=self.constant / max(1, self.updates),
            skipped=self.skipped,
            invalid=self.invalid,
        )

    # Warnings and the limit of perplexity

    def _warn(self, record: PolicyRecord) -> None:
        if self.accelerator.is_main_process:
            for message in warnings_of(record, self.reward.name):
                logger.warning("Round %d: %s", record.iteration, message)

    def _is_within_limit(self, record: PolicyRecord) -> bool:
        limit, first = self.config.max_perplexity, self.records[0]["perplexity"]
        return not limit or record.perplexity <= limit * first

    def _stop_if_worse(self) -> None:
        """Stop where perplexity exploded, which the paper reports without teacher forcing."""
        if not self._is_within_limit(PolicyRecord(**self.records[-1])):
            self.stopped = "perplexity"

    def _keep(self) -> None:
        self._good = {k: v.detach().clone() for k, v in trainable(self.generator.model).items()}
        if self.folder is not None and self.accelerator.is_main_process:
            save_weights(self._good, self.folder / WITHIN_LIMIT)

    def _finish(self) -> None:
        """Go back to the last weights within the limit, if the run stopped above it."""
        if self.stopped == "perplexity":
            good = getattr(self, "_good", None)
            if good is None and self.folder is not None:
                good = load_file(self.folder / WITHIN_LIMIT)
            if good is not None:
                set_trainable(self.generator.model, good)
        self.stopped = self.stopped or "budget"
        self.generator.model.eval()


def warnings_of(record: PolicyRecord, reward: str) -> list[str]:
    """What a reader of a validation has to know."""
    messages = []
    if record.collapsed:
        messages.append(
            f"the generator collapsed; {record.most_frequent_share:.0%} of its responses are "
            f"{record.most_frequent[:80]!r}."
        )
    if record.constant_share > 0 and reward != "constant":
        messages.append(
            f"the reward {reward!r} did not vary within {record.constant_share:.0%} of batches, "
            "from which nothing is learned."
        )
    if record.invalid:
        messages.append(
            f"the reward {reward!r} was not a number for {record.invalid} responses so far; they "
            "were left out."
        )
    if record.skipped:
        messages.append(f"{record.skipped} updates had a gradient that was not a number.")
    return messages
