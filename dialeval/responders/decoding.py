"""Decoding strategies by name: how tokens are chosen from a generator's probabilities."""

from dataclasses import dataclass, fields
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from transformers import TopKLogitsWarper, TopPLogitsWarper

from dialeval.dialogues import BadInput
from dialeval.responders.generators import Generator
from dialeval.responders.likelihood import mmi_scores, response_log_probs
from dialeval.responders.processors import (
    LanguageModelPenalty,
    RowNoise,
    RowTemperature,
    gumbel_noise,
)
from dialeval.responders.sibling import SiblingPenalty, sibling_beam
from dialeval.responders.task import Decoding, Task, likelihoods, mixed_seed, truncate_at_end


@dataclass(frozen=True)
class Greedy:
    """The most probable token at each step."""

    repeat_penalty: float = 0.0

    def __call__(self, task: Task) -> Tensor:
        if task.n > 1:
            raise BadInput(
                f"greedy decoding gives one response per context, but n is {task.n}.",
                hint="Choose beam or sampling.",
            )
        return task.run(task.repeat_penalty(self.repeat_penalty))


@dataclass(frozen=True)
class Beam:
    """The most probable responses of a beam search, best first.

    Args:
        beams (`int`, *optional*, defaults to 7):
            Number of beams; 7 in the released code of Li et al.
        length_penalty (`float`, *optional*, defaults to 1.0):
            Log-probabilities are divided by the length to this power; 1 is their mean.
        repeat_penalty (`float`, *optional*, defaults to 0.0):
            Subtracted from the score of word types that the response already contains.
    """

    beams: int = 7
    length_penalty: float = 1.0
    repeat_penalty: float = 0.0

    def __post_init__(self) -> None:
        if self.beams < 2:
            raise BadInput(f"`beams` is at least 2, but got {self.beams}.")

    def __call__(self, task: Task) -> Tensor:
        return task.run(task.repeat_penalty(self.repeat_penalty), **self.settings(task))

    def settings(self, task: Task) -> dict[str, Any]:
        """Settings of transformers' beam search."""
        if task.n > self.beams:
            raise BadInput(f"{self.beams} beams cannot give {task.n} responses.")
        return {
            "num_beams": self.beams,
            "num_return_sequences": task.n,
            "length_penalty": self.length_penalty,
        }


@dataclass(frozen=True)
class Sampling:
    """Tokens drawn from the model's distribution, with independent noise per response.

    Args:
        temperature (`float`, *optional*, defaults to 1.0):
            What logits are divided by.
        top_k (`int`, *optional*, defaults to 0):
            Draw among the `top_k` most probable tokens; 0 means all.
        top_p (`float`, *optional*, defaults to 1.0):
            Draw among the most probable tokens with this total probability.
        repeat_penalty (`float`, *optional*, defaults to 0.0):
            Subtracted from the score of word types that the response already contains.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    repeat_penalty: float = 0.0

    def __post_init__(self) -> None:
        RowTemperature([self.temperature])  # validates it
        if self.top_k < 0 or not 0 < self.top_p <= 1:
            raise BadInput(
                f"expected top_k of 0 or more and top_p above 0 and at most 1, "
                f"but got {self.top_k} and {self.top_p}.",
                hint="top_k=0 and top_p=1 keep all tokens.",
            )

    def __call__(self, task: Task) -> Tensor:
        processors = [
            *task.repeat_penalty(self.repeat_penalty),
            RowTemperature([self.temperature] * (len(task.rows) * task.n)),
            *([TopKLogitsWarper(self.top_k)] if self.top_k else []),
            *([TopPLogitsWarper(self.top_p)] if self.top_p < 1 else []),
            RowNoise(task.copy_seeds, task.start),
        ]
        return task.run(processors, copies=task.n)


@dataclass(frozen=True)
class MmiRerank(Beam):
    """MMI + p(t|s): the N-best list of a beam search, reranked with a backward model.

    The score is the mean of both mean log-probabilities (Li et al., 2016a; 2017, sec. 5.2).
    """

    beams: int = 20
    weight: float = 0.5

    def __call__(self, task: Task) -> Tensor:
        if task.backward is None:
            raise BadInput(
                "MMI reranking needs a model of p(s|t).",
                hint="Train one with --direction backward, and give it with --backward.",
            )
        settings = {**self.settings(task), "num_return_sequences": self.beams}
        candidates = task.run(task.repeat_penalty(self.repeat_penalty), **settings)
        scores = self.scores(task, task.backward, candidates).reshape(-1, self.beams)
        best = np.argsort(-scores, axis=1, kind="stable")[:, : task.n]  # (rows, n)
        flat = best + self.beams * np.arange(len(best))[:, None]
        return candidates[torch.from_numpy(flat.reshape(-1)).to(candidates.device)]

    def scores(self, task: Task, backward: Generator, candidates: Tensor) -> np.ndarray:
        """Mutual information of each candidate.

        Args:
            task (`Task`):
                Contexts.
            backward (`Generator`):
                Model of p(s|t).
            candidates (`Tensor`):
                Token ids, shape `(rows * beams, new)`.

        Returns:
            `np.ndarray`: Shape `(rows * beams,)`.
        """
        rows = [ids for ids, _ in truncate_at_end(candidates, task.generator)]
        contexts = [row for row in task.rows for _ in range(self.beams)]
        log_p, lengths = response_log_probs(
            task.generator.model, task.generator.pad_id, contexts, rows
        )
        texts = task.generator.tokenizer.batch_decode(rows, skip_special_tokens=True)
        passages = [p for p in task.passages for _ in range(self.beams)]
        reversed_passages = [
            p.with_response(t, "").reversed() for p, t in zip(passages, texts, strict=True)
        ]
        backward_log_p, backward_lengths = likelihoods(backward, reversed_passages)
        return mmi_scores(log_p, backward_log_p, lengths, backward_lengths, self.weight)


@dataclass(frozen=True)
class MmiPenalty(Beam):
    """MMI - p(t): responses that are probable in any context are penalised (Li et al., 2016a).

    Args:
        weight (`float`, *optional*, defaults to 0.5):
            Weight of log p(t), which is subtracted.
        first_tokens (`int`, *optional*):
            Only so many tokens are penalised, so that the end of a response stays grammatical.
    """

    weight: float = 0.5
    first_tokens: int | None = None

    def __call__(self, task: Task) -> Tensor:
        other = task.language_model
        if other is None:
            raise BadInput(
                "MMI - p(t) needs a language model of responses alone.",
                hint="Train one with --direction unconditional; give it with --language-model.",
            )
        if other.is_encoder_decoder:
            raise BadInput(
                "the language model of MMI - p(t) must be causal, but this one has an encoder.",
                hint="Train one with --model gpt2 --direction unconditional.",
            )
        if other.tokenizer.get_vocab() != task.generator.tokenizer.get_vocab():
            raise BadInput(
                "the language model of MMI - p(t) has another vocabulary than the generator.",
                hint="Train it with --tokenizer set to the generator's folder.",
            )
        penalty = LanguageModelPenalty(
            other.model, self.weight, task.start, task.generator.pad_id, self.first_tokens
        )
        return task.run([penalty, *task.repeat_penalty(self.repeat_penalty)], **self.settings(task))


@dataclass(frozen=True)
class SiblingBeam(Beam):
    """A beam search whose beams compete by log-probability minus `gamma` times sibling rank.

    Args:
        gamma (`float`, *optional*, defaults to 0.5):
            Penalty per rank among the continuations of one beam (Li et al., 2016c).
        accumulated (`bool`, *optional*, defaults to `False`):
            Whether the penalty stays in a beam's score; otherwise it only affects the ranking.
    """

    gamma: float = 0.5
    accumulated: bool = False

    def __call__(self, task: Task) -> Tensor:
        processors = task.repeat_penalty(self.repeat_penalty)
        if self.accumulated:
            return task.run([*processors, SiblingPenalty(self.gamma)], **self.settings(task))
        ranked = {"custom_generate": sibling_beam, "gamma": self.gamma}
        return task.run(processors, **self.settings(task), **ranked)


@dataclass(frozen=True)
class TemperatureMixture:
    """Sampling at a temperature that is drawn per context and shared by its responses.

    Args:
        temperatures (`tuple[float, ...]`, *optional*):
            Choices, with equal probability (Gao et al., 2021).
        per (`str`, *optional*, defaults to `"context"`):
            `"context"` draws one per context, `"turn"` one for the whole run, as the released code
            does at each turn of its game.
        distinct_first (`bool`, *optional*, defaults to `False`):
            Responses to one context begin with different tokens, drawn without replacement.
    """

    temperatures: tuple[float, ...] = (0.3, 1.0, 10.0, 100.0)
    per: str = "context"
    distinct_first: bool = False

    def __post_init__(self) -> None:
        if self.per not in ("context", "turn"):
            raise BadInput(f"`per` is context or turn, but got {self.per!r}.")
        if not isinstance(self.temperatures, (tuple, list)) or not self.temperatures:
            raise BadInput(
                f"expected one temperature or more, but got {self.temperatures!r}.",
                hint="Give them as a list: temperatures=[0.3,1,10,100].",
            )
        RowTemperature(self.temperatures)  # validates them
        object.__setattr__(self, "temperatures", tuple(self.temperatures))

    def temperatures_of(self, task: Task) -> list[float]:
        """The temperature of each context."""
        seeds = task.seeds if self.per == "context" else [task.turn] * len(task.rows)
        count = len(self.temperatures)
        return [self.temperatures[mixed_seed(seed, -1) % count] for seed in seeds]

    def __call__(self, task: Task) -> Tensor:
        temperatures = self.temperatures_of(task)
        copies = [temperature for temperature in temperatures for _ in range(task.n)]
        processors = [RowTemperature(copies), RowNoise(task.copy_seeds, task.start)]
        if not self.distinct_first:
            return task.run(processors, copies=task.n)
        first = partial(self.first_tokens, task, temperatures)
        return task.run(processors, copies=task.n, first=first)

    def first_tokens(self, task: Task, temperatures: list[float], logits: Tensor) -> Tensor:
        """Different first tokens for the responses to each context.

        The n highest logits after Gumbel noise are n draws without replacement, in order.

        Args:
            task (`Task`):
                Contexts.
            temperatures (`list[float]`):
                One per context.
            logits (`Tensor`):
                Of the first token, shape `(rows, vocabulary)`.

        Returns:
            `Tensor`: Token ids, shape `(rows, n)`.
        """
        if task.n > logits.shape[1]:
            raise BadInput(f"{logits.shape[1]} tokens cannot begin {task.n} different responses.")
        logits = RowTemperature(temperatures)(logits, logits)  # (rows, vocabulary)
        seeds = torch.tensor([mixed_seed(seed, -2) for seed in task.seeds], device=logits.device)
        return (logits.double() + gumbel_noise(seeds, 0, logits.shape[1])).topk(task.n).indices


DECODINGS: dict[str, Decoding] = {
    "greedy": Greedy(),
    "beam": Beam(),
    "beam-no-repeat": Beam(repeat_penalty=2.0),
    "sampling": Sampling(),
    "top-k": Sampling(top_k=40),
    "top-p": Sampling(top_p=0.9),
    "mmi-backward": MmiRerank(),
    "mmi-penalty": MmiPenalty(),
    "sibling-beam": SiblingBeam(),
    "att": TemperatureMixture(),
    "att-released": TemperatureMixture((0.3, 1.0, 3.0), "turn", True),
}
"""Strategies by name, with their default settings."""


def decoding(name: str, **settings: Any) -> Decoding:
    """A strategy by name, with some settings changed."""
    if name not in DECODINGS:
        raise BadInput(f"Unknown decoding {name!r}.", hint=f"Choose {', '.join(DECODINGS)}.")
    strategy: Any = DECODINGS[name]
    known = {field.name: getattr(strategy, field.name) for field in fields(strategy)}
    unknown = [key for key in settings if key not in known]
    if unknown:
        raise BadInput(
            f"the decoding {name!r} has no setting {unknown[0]!r}.",
            hint=f"It has {', '.join(known)}.",
        )
    for key, value in settings.items():
        if isinstance(known[key], (int, float)) and not isinstance(value, (int, float)):
            raise BadInput(f"the setting {key!r} of {name!r} is a number, but got {value!r}.")
    return cast(Decoding, type(strategy)(**{**known, **settings}))
