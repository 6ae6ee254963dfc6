"""Models that answer the questions: a language model in this process, or a server."""

import logging
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import torch

from dialeval.dialogues import BadInput, Passage, Turn
from dialeval.models.batching import token_batches
from dialeval.protocols.llm_judge.answers import Answer, read_answer
from dialeval.protocols.llm_judge.prompt import Question
from dialeval.responders.decoding import Sampling
from dialeval.responders.endpoint import EndpointResponder
from dialeval.responders.generators import Generator
from dialeval.responders.language import GeneratorResponder

logger = logging.getLogger(__name__)

_LOST_ROUNDS = 3  # rounds in a row without one answer, after which the server is given up
_BATCH = 8_192  # tokens of a batch


class Asker(Protocol):
    """Yields the answers to questions with the question's index; some may be missing.

    Attributes:
        name (`str`):
            Name of the model.
        samples (`int`):
            Answers to each question; 0 for a comparison of probabilities.
    """

    name: str
    samples: int

    @property
    def signature(self) -> str: ...

    def __call__(self, questions: Sequence[Question]) -> Iterator[tuple[int, list[Answer]]]: ...


class GeneratorAsker:
    """A causal language model with a chat template.

    Args:
        generator (`Generator`):
            As `dialeval.responders.generators.load_generator` returns it.
        samples (`int`, *optional*, defaults to 0):
            Answers sampled for each question; 0 compares the probabilities of the tokens A and B.
        temperature (`float`, *optional*, defaults to 1.0):
            Temperature of sampled answers.
        max_new_tokens (`int`, *optional*, defaults to 32):
            Length limit of sampled answers.
        seed (`int`, *optional*, defaults to 0):
            Seed of sampled answers.
    """

    def __init__(
        self,
        generator: Generator,
        samples: int = 0,
        temperature: float = 1.0,
        max_new_tokens: int = 32,
        seed: int = 0,
    ):
        if generator.prompts.style != "chat":
            raise BadInput(
                f"{generator.name} has no chat template, which a judge needs.",
                hint="Choose a model that has one, or give it: --chat-template FILE.",
            )
        if samples < 0:
            raise BadInput(f"expected 0 or more samples, but got {samples}.")
        self.generator, self.samples, self.name = generator, samples, generator.name
        tokens = max_new_tokens if samples else 1
        self.responder = GeneratorResponder(
            generator, Sampling(temperature), max(1, samples), tokens, seed
        )
        self.special = sorted(map(str, generator.tokenizer.get_added_vocab()))
        self.letters = ([], []) if samples else letter_tokens(generator.tokenizer)

    @property
    def signature(self) -> str:
        """How its answers are generated."""
        how = self.responder.signature
        return how if self.samples else re.sub(r"decoding:[^|]*", "decoding:p(A)/p(B)", how)

    def __call__(self, questions: Sequence[Question]) -> Iterator[tuple[int, list[Answer]]]:
        """Answers in batches; a question too long even without its context gets none."""
        prompts = {
            index: text
            for index, question in enumerate(questions)
            if (text := self._fit(question)) is not None
        }
        indices, texts = list(prompts), list(prompts.values())
        if not self.samples:
            for index, first in self._compare_letters(texts):
                yield indices[index], [Answer("", first)]
            return
        answers: dict[int, list[Answer]] = {}
        passages = [questions[index].passage(text) for index, text in prompts.items()]
        for index, passage in self.responder.stream(passages):
            answers.setdefault(index, []).append(read_answer(passage.response))
            if len(answers[index]) == self.samples:
                yield indices[index], answers.pop(index)

    def _fit(self, question: Question) -> str | None:
        """The question with as many turns as the model can read; `None` if none would do."""

        def text(skip: int) -> str:
            return question.contest.prompt(question.human_first, skip, self.special)

        def fits(skip: int) -> bool:
            passage = question.passage(text(skip))
            return not self.responder.prompts(self.generator.tokenizer, [passage])[0].tokens_cut

        turns = len(question.contest.context)
        skip = 0 if fits(0) else bisect_left(range(turns + 1), True, key=fits)
        return text(skip) if skip <= turns else None

    def _compare_letters(self, texts: Sequence[str]) -> Iterator[tuple[int, float]]:
        """P(A) against P(B) as the next token."""
        passages = [Passage((Turn("user", text),), "") for text in texts]
        rows = [prompt.ids for prompt in self.responder.prompts(self.generator.tokenizer, passages)]
        for batch in token_batches([len(row) for row in rows], _BATCH):
            logits = self.generator.next_logits([rows[row] for row in batch]).float()
            a, b = (logits[:, ids].logsumexp(1) for ids in self.letters)  # (batch,)
            for row, first in zip(batch, torch.sigmoid(a - b).tolist(), strict=True):
                yield int(row), first


def letter_tokens(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The tokens for A and those for B, with and without a space before them."""
    tokens = []
    for letter in "AB":
        forms = [tokenizer(f"{space}{letter}", add_special_tokens=False)["input_ids"]
                 for space in ("", " ")]  # fmt: skip
        tokens.append({ids[0] for ids in forms if len(ids) == 1} - {tokenizer.unk_token_id})
    if not all(tokens) or tokens[0] & tokens[1]:
        hint = "Let it write its answers: --samples 1."
        raise BadInput("this tokenizer has no single tokens for A and B.", hint=hint)
    return sorted(tokens[0]), sorted(tokens[1])


class EndpointAsker:
    """A model behind an OpenAI-compatible server; its answers are texts.

    Args:
        responder (`EndpointResponder`):
            Its `n` is the number of answers to each question.
    """

    def __init__(self, responder: EndpointResponder):
        self.responder, self.name = responder, responder.name
        self.samples = responder.n

    @property
    def signature(self) -> str:
        """How its answers are generated."""
        return self.responder.signature

    def __call__(self, questions: Sequence[Question]) -> Iterator[tuple[int, list[Answer]]]:
        """Answers as they arrive; questions that the server fails on are skipped.

        Raises:
            BadInput: The server answers nothing, several times in a row.
        """
        waiting = [(index, question.passage(question.contest.prompt(question.human_first)))
                   for index, question in enumerate(questions)]  # fmt: skip
        lost = failed = 0
        while waiting:
            done: dict[int, list[Answer]] = {}
            try:
                for index, passage in self.responder.stream([passage for _, passage in waiting]):
                    done.setdefault(index, []).append(read_answer(passage.response))
                    if len(done[index]) == self.samples:
                        yield waiting[index][0], done[index]
                waiting = []
            except BadInput as error:
                lost, problem = 0 if done else lost + 1, error
                if lost == _LOST_ROUNDS:
                    raise
                # Requests start in order, and started ones are finished: the gaps have failed.
                gap = next(index for index in range(len(waiting)) if index not in done)
                begun = 1 + max([gap, *done])
                failed += begun - len(done)
                waiting = waiting[begun:]
        if failed:
            logger.warning("%d of %d questions have no answer: %s", failed, len(questions), problem)
