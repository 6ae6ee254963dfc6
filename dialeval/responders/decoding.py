"""Decoding strategies, one name each: what becomes of a generator's probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from transformers import TopKLogitsWarper, TopPLogitsWarper

from dialeval.dialogues import BadInput, Passage
from dialeval.responders.generators import Generator
from dialeval.responders.likelihood import mmi_scores, response_log_probs
from dialeval.responders.processors import (
    LanguageModelPenalty,
    RepeatedTypePenalty,
    RowNoise,
    RowTemperature,
    gumbel_noise,
)
from dialeval.responders.sibling import SiblingPenalty, sibling_beam


@dataclass
class Task:
    """Contexts to be answered, and what a strategy may need for it.

    Args:
        rows (`Sequence[Sequence[int]]`):
            Prompts, as token ids.
        passages (`Sequence[Passage]`):
            Where the prompts come from.
        seeds (`Sequence[int]`):
            A seed for each context; the same context has the same one in every batch.
        n (`int`):
            Answers to each.
        turn (`int`):
            Seed of what all contexts of a run share.
    """

    generator: Generator
    rows: Sequence[Sequence[int]]
    passages: Sequence[Passage]
    seeds: Sequence[int]
    n: int = 1
    max_new_tokens: int = 40
    turn: int = 0
    backward: Generator | None = None
    language_model: Generator | None = None

    @property
    def start(self) -> int:
        """Column of the first new token in what processors see."""
        return self.generator.start_at(self.rows)

    @property
    def copy_seeds(self) -> list[int]:
        """A seed for each answer, shape `(rows * n,)`."""
        return [mixed_seed(seed, copy) for seed in self.seeds for copy in range(self.n)]

    def repeat_penalty(self, penalty: float) -> list[Any]:
        """The processor that holds word types back, if there is a penalty."""
        tokenizer = self.generator.tokenizer
        return [RepeatedTypePenalty(tokenizer, penalty, self.start)] if penalty else []

    def run(self, processors: Sequence[Any] = (), **settings: Any) -> Tensor:
        """New tokens, shape `(rows * n, new)`."""
        return self.generator.generate(
            self.rows, self.max_new_tokens, processors=processors, **settings
        )


class Decoding(Protocol):
    """Gives new tokens for each context and answer, shape `(rows * n, new)`; `repr` says how."""

    def __call__(self, task: Task) -> Tensor: ...


@dataclass(frozen=True)
class Greedy:
    """The most probable token at each step."""

    repeat_penalty: float = 0.0

    def __call__(self, task: Task) -> Tensor:
        if task.n > 1:
            raise BadInput(
                f"greedy decoding gives one answer, but {task.n} are asked for.",
                hint="Choose beam or sampling.",
            )
        return task.run(task.repeat_penalty(self.repeat_penalty))


@dataclass(frozen=True)
class Beam:
    """The most probable responses that a beam search finds, best first.

    Args:
        beams (`int`, *optional*, defaults to 7):
            Partial responses kept; Li et al.'s released code keeps 7.
        length_penalty (`float`, *optional*, defaults to 1.0):
            Log-probabilities are divided by the length to this power; 1 is their mean.
        repeat_penalty (`float`, *optional*, defaults to 0.0):
            Taken from the score of word types that the response already has.
    """

    beams: int = 7
    length_penalty: float = 1.0
    repeat_penalty: float = 0.0

    def __post_init__(self):
        if self.beams < 2:
            raise BadInput(f"a beam search has 2 beams or more, but got {self.beams}.")

    def __call__(self, task: Task) -> Tensor:
        return task.run(task.repeat_penalty(self.repeat_penalty), **self.settings(task))

    def settings(self, task: Task) -> dict[str, Any]:
        """What transformers' beam search is told."""
        if task.n > self.beams:
            raise BadInput(f"{self.beams} beams cannot give {task.n} answers.")
        return {
            "num_beams": self.beams,
            "num_return_sequences": task.n,
            "length_penalty": self.length_penalty,
        }


@dataclass(frozen=True)
class Sampling:
    """Tokens drawn from the model's distribution, each answer with noise of its own."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    repeat_penalty: float = 0.0

    def __post_init__(self):
        RowTemperature([self.temperature])  # refuses what is none
        if self.top_k < 0 or not 0 < self.top_p <= 1:
            raise BadInput(
                f"expected top_k of 0 or more and top_p above 0 and at most 1, "
                f"found {self.top_k} and {self.top_p}.",
                hint="top_k=0 and top_p=1 leave all tokens.",
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
    """MMI + p(t|s): the N-best list of a beam search, ranked anew with a backward model.

    The mean of both mean log-probabilities, half and half (Li et al., 2016a; 2017, sec. 5.2).
    """

    beams: int = 20
    weight: float = 0.5

    def __call__(self, task: Task) -> Tensor:
        if task.backward is None:
            raise BadInput(
                "MMI reranking needs a model of p(s|t).",
                hint="Train one with --direction backward, and name it with --backward.",
            )
        settings = {**self.settings(task), "num_return_sequences": self.beams}
        found = task.run(task.repeat_penalty(self.repeat_penalty), **settings)  # (rows*beams, new)
        scores = self.scores(task, found).reshape(-1, self.beams)
        best = np.argsort(-scores, axis=1, kind="stable")[:, : task.n]  # (rows, n)
        flat = best + self.beams * np.arange(len(best))[:, None]
        return found[torch.from_numpy(flat.reshape(-1)).to(found.device)]

    def scores(self, task: Task, found: Tensor) -> np.ndarray:
        """Mutual information of each candidate, shape `(rows * beams,)`."""
        replies = ended(found, task.generator)
        contexts = [row for row in task.rows for _ in range(self.beams)]
        ours = response_log_probs(
            task.generator.model, task.generator.pad_id, contexts, [ids for ids, _ in replies]
        )
        texts = task.generator.tokenizer.batch_decode(
            [ids for ids, _ in replies], skip_special_tokens=True
        )
        asked = [p for p in task.passages for _ in range(self.beams)]
        turned = [p.with_response(t, "").reversed() for p, t in zip(asked, texts, strict=True)]
        theirs = likelihoods(task.backward, turned)
        return mmi_scores(ours[0], theirs[0], ours[1], theirs[1], self.weight)


@dataclass(frozen=True)
class MmiPenalty(Beam):
    """MMI - p(t): what is probable everywhere is held back while decoding (Li et al., 2016a).

    Args:
        weight (`float`, *optional*, defaults to 0.5):
            How much of log p(t) is taken off.
        first_tokens (`int`, *optional*):
            Only so many tokens are penalised, so that the end of a reply stays grammatical.
    """

    weight: float = 0.5
    first_tokens: int | None = None

    def __call__(self, task: Task) -> Tensor:
        other = task.language_model
        if other is None:
            raise BadInput(
                "MMI - p(t) needs a language model of responses alone.",
                hint="Train one with --direction unconditional, and name it with --language-model.",
            )
        if other.two_parts:
            raise BadInput(
                "the language model of MMI - p(t) is causal, and this one has an encoder.",
                hint="Train one with --model gpt2 --direction unconditional.",
            )
        if other.tokenizer.get_vocab() != task.generator.tokenizer.get_vocab():
            raise BadInput(
                "the language model of MMI - p(t) has other tokens than the generator.",
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
            Penalty for each place among the continuations of one beam (Li et al., 2016c).
        accumulated (`bool`, *optional*, defaults to `False`):
            Whether the penalty stays in a beam's score for good; otherwise it only ranks.
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
    """Sampling at a temperature drawn for each context and shared by its answers.

    Args:
        temperatures (`tuple[float, ...]`, *optional*):
            Drawn from uniformly (Gao et al., 2021).
        each (`str`, *optional*, defaults to `"context"`):
            `"context"` draws one for each, `"turn"` one for the whole run, as the released code
            does at each turn of its game.
        distinct_first (`bool`, *optional*, defaults to `False`):
            Answers to one context begin with different tokens, drawn without replacement.
    """

    temperatures: tuple[float, ...] = (0.3, 1.0, 10.0, 100.0)
    each: str = "context"
    distinct_first: bool = False

    def __post_init__(self):
        if self.each not in ("context", "turn"):
            raise BadInput(f"a temperature for each context or turn, but got {self.each!r}.")
        if not isinstance(self.temperatures, (tuple, list)) or not self.temperatures:
            raise BadInput(
                f"expected one temperature or more, found {self.temperatures!r}.",
                hint="Give them as a list: temperatures=[0.3,1,10,100].",
            )
        RowTemperature(self.temperatures)  # refuses what is none
        object.__setattr__(self, "temperatures", tuple(self.temperatures))

    def drawn(self, task: Task) -> list[float]:
        """The temperature of each context."""
        seeds = task.seeds if self.each == "context" else [task.turn] * len(task.rows)
        count = len(self.temperatures)
        return [self.temperatures[mixed_seed(seed, -1) % count] for seed in seeds]

    def __call__(self, task: Task) -> Tensor:
        drawn = self.drawn(task)
        copies = [each for each in drawn for _ in range(task.n)]
        processors = [RowTemperature(copies), RowNoise(task.copy_seeds, task.start)]
        if not self.distinct_first:
            return task.run(processors, copies=task.n)
        return task.run(processors, copies=task.n, first=partial(self.first_tokens, task, drawn))

    def first_tokens(self, task: Task, drawn: list[float], logits: Tensor) -> Tensor:
        """Different tokens for the answers to each context, shape `(rows, n)`.

        The n highest after Gumbel noise are n draws without replacement, in their order.
        """
        if task.n > logits.shape[1]:
            raise BadInput(f"{logits.shape[1]} tokens cannot begin {task.n} different answers.")
        logits = RowTemperature(drawn)(logits, logits)  # (rows, vocabulary)
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
"""Strategies by name, with the settings they have by default."""


def decoding(name: str, **settings: Any) -> Decoding:
    """A strategy by its name, with other settings where they are given."""
    if name not in DECODINGS:
        raise BadInput(f"Unknown decoding {name!r}.", hint=f"Choose {', '.join(DECODINGS)}.")
    found = DECODINGS[name]
    known = {each.name: getattr(found, each.name) for each in fields(found)}
    unknown = [key for key in settings if key not in known]
    if unknown:
        raise BadInput(
            f"the decoding {name!r} has no setting {unknown[0]!r}.",
            hint=f"It has {', '.join(known)}.",
        )
    for key, value in settings.items():
        if isinstance(known[key], (int, float)) and not isinstance(value, (int, float)):
            raise BadInput(f"the setting {key!r} of {name!r} is a number, but got {value!r}.")
    return type(found)(**{**known, **settings})


def ended(found: Tensor, generator: Generator) -> list[tuple[list[int], bool]]:
    """Each row up to and with its end token, and whether it has one."""
    ends = torch.tensor(generator.end_ids or [-1], device=found.device)
    is_end = torch.isin(found, ends)  # (rows, new)
    finished = is_end.any(1).tolist()
    sizes = torch.where(is_end.any(1), is_end.int().argmax(1) + 1, found.shape[1]).tolist()
    return [
        (row[:size], done) for row, size, done in zip(found.tolist(), sizes, finished, strict=True)
    ]


def likelihoods(
    generator: Generator, passages: Sequence[Passage], batch_tokens: int = 2048
) -> tuple[np.ndarray, np.ndarray]:
    """log p(response | context) of each passage, its end token included, and its length."""
    prompts = generator.prompts(generator.tokenizer, passages)
    texts = [passage.response.strip() for passage in passages]
    rows = generator.tokenizer(texts, add_special_tokens=False)["input_ids"] if texts else []
    responses = [[*row, *generator.end_ids[-1:]] for row in rows]
    room = generator.longest
    if room is not None:
        responses = [row[: room // 2] for row in responses]
    contexts = [
        prompt.ids if room is None else prompt.ids[-(room - len(row)) :]
        for prompt, row in zip(prompts, responses, strict=True)
    ]
    return response_log_probs(generator.model, generator.pad_id, contexts, responses, batch_tokens)


def mixed_seed(seed: int, number: int) -> int:
    """A seed that differs for each number, below 2**63."""
    mixed = (seed + 0x9E3779B97F4A7C15 * (number + 3)) % 2**64
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = ((mixed ^ (mixed >> shift)) * factor) % 2**64
    return (mixed ^ (mixed >> 31)) >> 1
