"""The responder that runs a generator over any number of contexts."""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dialeval.dialogues import BadInput, Passage, Passages
from dialeval.dialogues.storage import iterate_passages
from dialeval.dialogues.types import text_hash, text_key
from dialeval.models.batching import token_batches
from dialeval.models.weights import fingerprint
from dialeval.progress import bar
from dialeval.responders.base import HYPOTHESIS, Responses, answer
from dialeval.responders.decoding import DECODINGS, Decoding, Task, truncate_at_end
from dialeval.responders.decoding import decoding as find_decoding
from dialeval.responders.generators import Generator, load_generator
from dialeval.responders.prompts import Prompt
from dialeval.responders.reasoning import strip_reasoning
from dialeval.settings.live import MAX_NEW_TOKENS

logger = logging.getLogger(__name__)

_WINDOW = 4_096  # contexts that are sorted by length together


class GeneratorResponder:
    """Responses of a generator, independent of the order and the batch size.

    Args:
        generator (`Generator`):
            The model, its tokenizer, and its prompt format.
        decoding (`Decoding`, *optional*):
            Strategy, sampling by default.
        n (`int`, *optional*, defaults to 1):
            Responses per context.
        max_new_tokens (`int`, *optional*, defaults to 128):
            Maximum length of a response; by default at most half of the model's positions.
        seed (`int`, *optional*, defaults to 0):
            Seed of the draws.
        name (`str`, *optional*):
            Name in tables; the generator's by default.
        max_tokens (`int`, *optional*):
            Tokens of a batch, including padding, responses and their copies; by default 8,192 on a
            CPU and 65,536 elsewhere.
        backward, language_model (`Generator`, *optional*):
            Models of p(s|t) and p(t), for MMI.
        progress (`bool`, *optional*, defaults to `False`):
            Whether to show a progress bar.

    Attributes:
        counts (`Counter`):
            Statistics so far: contexts cut, responses empty, cut, or with template tokens.
    """

    def __init__(
        self,
        generator: Generator,
        decoding: Decoding = DECODINGS["sampling"],
        n: int = 1,
        max_new_tokens: int = MAX_NEW_TOKENS,
        seed: int = 0,
        name: str = "",
        max_tokens: int | None = None,
        backward: Generator | None = None,
        language_model: Generator | None = None,
        progress: bool = False,
    ):
        if n < 1 or max_new_tokens < 1:
            raise BadInput(f"expected 1 or more answers and tokens, got {n}, {max_new_tokens}.")
        self.generator = generator
        self.decoding = decoding
        self.n = n
        self.max_new_tokens = max_new_tokens = _budget(generator, max_new_tokens)
        self.seed = seed
        self.name = name or generator.name
        on_cpu = generator.model.device.type == "cpu"
        self.max_tokens = max_tokens or (8_192 if on_cpu else 65_536)
        self.backward = backward
        self.language_model = language_model
        self.progress = progress
        self.counts: Counter[str] = Counter()
        limit = generator.max_prompt_length(max_new_tokens)
        if limit is not None and limit < 1:
            raise BadInput(
                f"{self.name} has {generator.max_positions} positions for context and response, "
                f"but max_new_tokens is {max_new_tokens}.",
                hint="Lower --max-new-tokens.",
            )
        self.prompts = generator.prompts.limited(limit)
        if not generator.end_ids:
            logger.warning(
                "%s has no end token: every response has %d tokens and is marked as cut. Give its "
                "tokenizer an eos_token.", self.name, max_new_tokens,
            )  # fmt: skip

    @property
    def signature(self) -> str:
        """How the responses are made."""
        if not hasattr(self, "_fingerprint"):
            models = [self.generator, self.backward, self.language_model]
            self._fingerprint = "+".join(fingerprint(m.model)[:8] for m in models if m)
            self._tokens = text_key(_reading(m) if m else "" for m in models)[:8]
        dtype = str(self.generator.model.dtype).removeprefix("torch.")
        parts = [f"gen:{self.name}@{self._fingerprint}", self.prompts.signature]
        parts += [f"tokens:{self._tokens}"]
        parts += [f"decoding:{self.decoding!r}", f"n:{self.n}", f"new:{self.max_new_tokens}"]
        return "|".join([*parts, f"seed:{self.seed}", dtype])

    def stream(self, passages: Passages | Sequence[Passage]) -> Responses:
        """Responses batch by batch, contexts of similar length together."""
        passages = list(iterate_passages(passages))
        shown = bar(self.name, len(passages), " contexts", self.progress)
        for first in range(0, len(passages), _WINDOW):
            window = passages[first : first + _WINDOW]
            prompts = self.prompts(self.generator.tokenizer, window)
            self._count_prompts(prompts)
            copies = max(self.n, getattr(self.decoding, "beams", 1))
            sizes = [(len(prompt.ids) + self.max_new_tokens) * copies for prompt in prompts]
            for batch in token_batches(sizes, self.max_tokens):
                batch_passages = [window[row] for row in batch]
                responses = self._respond([prompts[row] for row in batch], batch_passages)
                for row, copies_of_row in zip(batch, responses, strict=True):
                    yield from ((first + int(row), passage) for passage in copies_of_row)
                shown.update(len(batch))
        shown.close()

    def _respond(
        self, prompts: Sequence[Prompt], passages: Sequence[Passage]
    ) -> Iterator[list[Passage]]:
        """The responses to each passage of a batch."""
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
        rows = truncate_at_end(self.decoding(task), self.generator)
        special = set(self.generator.tokenizer.all_special_ids) - set(self.generator.end_ids)
        special -= {self.generator.pad_id, self.generator.tokenizer.unk_token_id}
        texts = self.generator.tokenizer.batch_decode(
            [ids for ids, _ in rows], skip_special_tokens=True
        )
        for number, (passage, prompt) in enumerate(zip(passages, prompts, strict=True)):
            responses = []
            for copy in range(self.n):
                ids, done = rows[number * self.n + copy]
                text = strip_reasoning(texts[number * self.n + copy]).strip()
                copied = bool(special.intersection(ids)) or self._spells_a_template(text)
                facts = self._count_response(text, len(ids), done, copied, prompt)
                facts |= {HYPOTHESIS: copy} if self.n > 1 else {}
                responses.append(answer(passage, text, self, **facts))
            yield responses

    def _count_response(
        self, text: str, size: int, done: bool, copied: bool, prompt: Prompt
    ) -> dict[str, Any]:
        """Facts about a response for `Passage.extra`; they are counted as well."""
        facts = {
            "empty": not text,
            "cut": not done,
            "template_tokens": copied,
            "context_turns_cut": prompt.turns_cut,
        }
        present = {name: value for name, value in facts.items() if value}
        self.counts["answers"] += 1
        self.counts.update(name for name in present if name != "context_turns_cut")
        return {"tokens_generated": size, **present}

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
        """A seed that depends on the words of the context only."""
        turns = [f"{turn.speaker}\x1e{turn.text}" for turn in passage.context]
        return text_hash([str(self.seed), *turns])


def load_generator_responder(
    model: str,
    *,
    seed: int = 0,
    decoding: str = "sampling",
    settings: Mapping[str, Any] | None = None,
    n: int = 1,
    max_new_tokens: int = MAX_NEW_TOKENS,
    name: str | None = None,
    device: str | None = None,
    chat_template: str | None = None,
    system_prompt: str | None = None,
    adapter: str | None = None,
    backward: str | None = None,
    language_model: str | None = None,
    max_tokens: int | None = None,
    progress: bool = False,
    trust_remote_code: bool = False,
) -> GeneratorResponder:
    """Load a generator and what its decoding strategy needs.

    Args:
        model (`str`):
            `smollm2`, a folder, a `.gguf` file, or a name on the Hub.
        seed (`int`, *optional*, defaults to 0):
            Seed of the draws.
        decoding (`str`, *optional*, defaults to `"sampling"`):
            Name of the strategy.
        settings (`Mapping`, *optional*):
            Settings of the strategy, such as `temperature`.
        backward, language_model (`str`, *optional*):
            Models of p(s|t) and p(t), for MMI.
        device, chat_template, system_prompt, adapter (`str`, *optional*):
            As in [`load_generator`].
        n, max_new_tokens, name, max_tokens, progress (*optional*):
            As in [`GeneratorResponder`].
        trust_remote_code (`bool`, *optional*, defaults to `False`):
            Whether code of the model's repository may run.

    Returns:
        `GeneratorResponder`: On the given device.
    """
    strategy = find_decoding(decoding, **(settings or {}))
    trusted = {"trust_remote_code": True} if trust_remote_code else {}
    generator = load_generator(model, chat_template, system_prompt, adapter, device, **trusted)
    return GeneratorResponder(
        generator,
        strategy,
        n,
        max_new_tokens,
        seed,
        name or "",
        max_tokens,
        load_generator(backward, device=device) if backward else None,
        load_generator(language_model, device=device) if language_model else None,
        progress,
    )


def _budget(generator: Generator, max_new_tokens: int) -> int:
    """The length limit of responses; the default one leaves half of a small model to contexts."""
    positions = generator.max_positions
    if max_new_tokens != MAX_NEW_TOKENS or not positions:
        return max_new_tokens
    most = positions if generator.is_encoder_decoder else positions // 2
    return max(1, min(max_new_tokens, most))


def _reading(generator: Generator) -> str:
    """A hash of tokens, prompt format and end tokens, which all influence the responses."""
    tokenizer = generator.tokenizer
    tokens = (f"{token}\x1e{number}" for token, number in sorted(tokenizer.get_vocab().items()))
    format = [generator.prompts.signature, str(tokenizer.chat_template), str(generator.end_ids)]
    return text_key([*format, str(generator.model.dtype), *tokens])


HINTS = {
    "empty": "are empty; they are kept",
    "cut": "were cut at the maximum length: increase --max-new-tokens",
    "template_tokens": "contain tokens of the chat template: try another --chat-template, or none",
}


def warnings(counts: Counter[str]) -> list[str]:
    """Warnings about responses that are empty, cut, or contain template tokens."""
    total = counts["answers"]
    sentences = [
        f"{counts[name]:,} of {total:,} answers {hint}."
        for name, hint in HINTS.items()
        if counts[name]
    ]
    if counts["contexts_cut"]:
        cut, contexts = counts["contexts_cut"], counts["contexts"]
        sentences.append(f"{cut:,} of {contexts:,} contexts lost their oldest turns.")
    return sentences
