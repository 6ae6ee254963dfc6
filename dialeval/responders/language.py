"""The responder that runs a generator over contexts of any number."""

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tqdm.auto import tqdm

from dialeval.dialogues import BadInput, Passage
from dialeval.dialogues.types import text_hash, text_key
from dialeval.models.batching import token_batches
from dialeval.models.weights import fingerprint
from dialeval.responders.base import HYPOTHESIS, answer
from dialeval.responders.decoding import DECODINGS, Decoding, Task, ended
from dialeval.responders.generators import Generator
from dialeval.responders.prompts import Prompt
from dialeval.responders.reasoning import strip_reasoning

logger = logging.getLogger(__name__)

_WINDOW = 4_096  # contexts that are sorted by length together


class GeneratorResponder:
    """Answers of a generator, the same in every order and batch size.

    Args:
        generator (`Generator`):
            The model, its tokenizer, and how it reads.
        decoding (`Decoding`, *optional*):
            Strategy, sampling by default.
        n (`int`, *optional*, defaults to 1):
            Answers to each context.
        max_tokens (`int`, *optional*):
            Tokens of a batch, padding, answers and their copies included; by default 8,192 on a
            CPU and 65,536 elsewhere.
        backward, language_model (`Generator`, *optional*):
            Models of p(s|t) and p(t), for MMI.
        counts (`Counter`):
            What happened so far: contexts cut, answers empty, cut, or with template tokens.
    """

    def __init__(
        self,
        generator: Generator,
        decoding: Decoding = DECODINGS["sampling"],
        n: int = 1,
        max_new_tokens: int = 40,
        seed: int = 0,
        name: str = "",
        max_tokens: int | None = None,
        backward: Generator | None = None,
        language_model: Generator | None = None,
        progress: bool = False,
    ):
        if n < 1 or max_new_tokens < 1:
            raise BadInput(f"expected 1 or more answers and tokens, found {n}, {max_new_tokens}.")
        self.generator = generator
        self.decoding = decoding
        self.n = n
        self.max_new_tokens = max_new_tokens
        self.seed = seed
        self.name = name or generator.name
        on_cpu = generator.model.device.type == "cpu"
        self.max_tokens = max_tokens or (8_192 if on_cpu else 65_536)
        self.backward = backward
        self.language_model = language_model
        self.progress = progress
        self.counts: Counter[str] = Counter()
        room = generator.room(max_new_tokens)
        if room is not None and room < 1:
            raise BadInput(
                f"{self.name} reads and writes {generator.positions} tokens in all, and "
                f"{max_new_tokens} are asked of it.",
                hint="Lower --max-new-tokens.",
            )
        self.prompts = generator.prompts.limited(room)
        if not generator.end_ids:
            logger.warning(
                "%s has no end token: every reply runs to %d tokens and is marked as cut. Give its "
                "tokenizer an eos_token.", self.name, max_new_tokens,
            )  # fmt: skip

    @property
    def signature(self) -> str:
        """How its answers are made."""
        if not hasattr(self, "_fingerprint"):
            models = [self.generator, self.backward, self.language_model]
            self._fingerprint = "+".join(fingerprint(m.model)[:8] for m in models if m)
            self._tokens = text_key(_reading(m) if m else "" for m in models)[:8]
        dtype = str(self.generator.model.dtype).removeprefix("torch.")
        parts = [f"gen:{self.name}@{self._fingerprint}", self.prompts.signature]
        parts += [f"tokens:{self._tokens}"]
        parts += [f"decoding:{self.decoding!r}", f"n:{self.n}", f"new:{self.max_new_tokens}"]
        return "|".join([*parts, f"seed:{self.seed}", dtype])

    def stream(self, passages: Sequence[Passage]) -> Iterator[tuple[int, Passage]]:
        """Answers batch by batch, contexts of like length together."""
        bar = tqdm(total=len(passages), desc=self.name, unit=" contexts", disable=not self.progress)
        for first in range(0, len(passages), _WINDOW):
            window = passages[first : first + _WINDOW]
            prompts = self.prompts(self.generator.tokenizer, window)
            self._count_prompts(prompts)
            copies = max(self.n, getattr(self.decoding, "beams", 1))
            sizes = [(len(prompt.ids) + self.max_new_tokens) * copies for prompt in prompts]
            for batch in token_batches(sizes, self.max_tokens):
                some = [window[row] for row in batch]
                answers = self._answers([prompts[row] for row in batch], some)
                for row, texts in zip(batch, answers, strict=True):
                    yield from ((first + int(row), each) for each in texts)
                bar.update(len(batch))
        bar.close()

    def _answers(
        self, prompts: Sequence[Prompt], passages: Sequence[Passage]
    ) -> Iterator[list[Passage]]:
        task = Task(
            self.generator,
            [prompt.ids for prompt in prompts],
            passages,
            [self._seed(passage) for passage in passages],
            self.n,
            self.max_new_tokens,
            self.seed,
            self.backward,
            self.language_model,
        )
        rows = ended(self.decoding(task), self.generator)
        special = set(self.generator.tokenizer.all_special_ids) - set(self.generator.end_ids)
        special -= {self.generator.pad_id, self.generator.tokenizer.unk_token_id}
        texts = self.generator.tokenizer.batch_decode(
            [ids for ids, _ in rows], skip_special_tokens=True
        )
        for number, (passage, prompt) in enumerate(zip(passages, prompts, strict=True)):
            found = []
            for copy in range(self.n):
                ids, done = rows[number * self.n + copy]
                text = strip_reasoning(texts[number * self.n + copy]).strip()
                copied = bool(special.intersection(ids)) or self._spells_a_template(text)
                told = self._told(text, len(ids), done, copied, prompt)
                told |= {HYPOTHESIS: copy} if self.n > 1 else {}
                found.append(answer(passage, text, self, **told))
            yield found

    def _told(
        self, text: str, size: int, done: bool, copied: bool, prompt: Prompt
    ) -> dict[str, Any]:
        """What is worth knowing about an answer; it is counted as well."""
        facts = {
            "empty": not text,
            "cut": not done,
            "template_tokens": copied,
            "context_turns_cut": prompt.turns_cut,
        }
        told = {name: value for name, value in facts.items() if value}
        self.counts["answers"] += 1
        self.counts.update(name for name in told if name != "context_turns_cut")
        return {"tokens_generated": size, **told}

    def _spells_a_template(self, text: str) -> bool:
        marks = self.generator.tokenizer.all_special_tokens
        return any(len(mark) > 3 and mark in text for mark in marks)

    def _count_prompts(self, prompts: Sequence[Prompt]) -> None:
        cut = sum(prompt.tokens_cut > 0 for prompt in prompts)
        if cut and not self.counts["contexts_cut"]:
            logger.warning(
                "%s reads at most %s tokens of a context; %d of the first %d lost their oldest "
                "turns.", self.name, self.prompts.max_length, cut, len(prompts),
            )  # fmt: skip
        self.counts["contexts"] += len(prompts)
        self.counts["contexts_cut"] += cut

    def _seed(self, passage: Passage) -> int:
        """The same for a context wherever it stands."""
        turns = [f"{turn.speaker}\x1e{turn.text}" for turn in passage.context]
        return text_hash([str(self.seed), *turns])


def _reading(generator: Generator) -> str:
    """A hash of what else moves replies: tokens, how contexts are read, and what ends a reply."""
    tokenizer = generator.tokenizer
    tokens = (f"{token}\x1e{number}" for token, number in sorted(tokenizer.get_vocab().items()))
    told = [generator.prompts.signature, str(tokenizer.chat_template), str(generator.end_ids)]
    return text_key([*told, str(generator.model.dtype), *tokens])


HINTS = {
    "empty": "ended at once; they are kept as they are",
    "cut": "did not end by themselves: raise --max-new-tokens",
    "template_tokens": "contain tokens of the chat template: try another --chat-template, or none",
}


def warnings(counts: Counter[str]) -> list[str]:
    """Sentences about answers that a reader should know of."""
    total = counts["answers"]
    said = [
        f"{counts[name]:,} of {total:,} answers {what}."
        for name, what in HINTS.items()
        if counts[name]
    ]
    if counts["contexts_cut"]:
        cut, asked = counts["contexts_cut"], counts["contexts"]
        said.append(f"{cut:,} of {asked:,} contexts lost their oldest turns.")
    return said
