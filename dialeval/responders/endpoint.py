"""Responses from a server that speaks the OpenAI chat protocol: vLLM, TGI, Ollama, llama.cpp."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from itertools import count
from queue import SimpleQueue
from random import Random
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from dialeval.dialogues import BadInput, Passage, Passages
from dialeval.dialogues.encoding import chat_messages
from dialeval.dialogues.storage import iterate_passages
from dialeval.dialogues.types import text_key
from dialeval.responders.base import CUT, HYPOTHESIS, Responses, answer
from dialeval.responders.endpoint_client import (
    LONGEST_WAIT,
    ChatClient,
    Completion,
    RequestFailure,
    host_of,
)
from dialeval.responders.optional_fields import OptionalFields
from dialeval.responders.simple import draw
from dialeval.settings.live import MAX_NEW_TOKENS

logger = logging.getLogger(__name__)

_END = object()
_MANY_ALIKE = 5  # responses that are unlikely to be equal by chance


@dataclass(frozen=True, repr=False, eq=False)
class EndpointResponder:
    """A model behind a URL, with many requests at a time.

    A request that fails for a temporary reason (408, 409, 429, 5xx, timeout, lost connection,
    broken body) is retried after a pause that doubles. After a passage has failed for good, no new
    one is started; those under way are completed, then one error says what happened.

    Args:
        url (`str`):
            URL of the server: `http://localhost:8000`, with or without `/v1/chat/completions`.
        model (`str`):
            The server's name for its model.
        name (`str`, *optional*):
            Name in tables; the model's name by default.
        system_prompt (`str`, *optional*):
            First message of every request.
        n (`int`, *optional*, defaults to 1):
            Responses per passage, one request with its own seed for each, since not every server
            returns several at once. They are consecutive and numbered as hypotheses.
        temperature, top_p (`float`, *optional*):
            Of sampling; the server's own by default, since some models accept no other.
        max_tokens (`int`, *optional*, defaults to 128):
            Maximum length of a response. A server that knows only `max_completion_tokens` gets
            that.
        seed (`int`, *optional*, defaults to 0):
            Each request contains a hash of it and the passage, so that a second run repeats it.
        concurrency (`int`, *optional*, defaults to 8):
            Requests under way at once.
        timeout (`float`, *optional*, defaults to 60):
            Seconds until an unanswered request fails.
        retries (`int`, *optional*, defaults to 5):
            How often a request is retried.
        backoff (`float`, *optional*, defaults to 1.0):
            Maximum of the pause before the first retry, in seconds; the minimum is half of it.
        api_key_env (`str`, *optional*, defaults to `"OPENAI_API_KEY"`):
            Environment variable with the key. It is read for each request, sent as a bearer
            token, and written nowhere.
        extra_body (`Mapping`, *optional*):
            More fields of the request, which override the others; `None` removes a field.
        sleep (`Callable`, *optional*):
            Waits so many seconds; tests replace it.
    """

    url: str
    model: str
    name: str = ""
    system_prompt: str | None = None
    n: int = 1
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int = MAX_NEW_TOKENS
    seed: int = 0
    concurrency: int = 8
    timeout: float = 60
    retries: int = 5
    backoff: float = 1.0
    api_key_env: str = "OPENAI_API_KEY"
    extra_body: Mapping[str, Any] | None = None
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep
    optional_fields: OptionalFields = field(default_factory=OptionalFields, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.model)
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadInput(
                "expected the URL of a server, starting with http:// or https://.",
                hint="For example http://localhost:8000/v1",
            )
        minima = {"n": 1, "concurrency": 1, "max_tokens": 1, "retries": 0, "backoff": 0}
        for setting, minimum in {**minima, "temperature": 0, "timeout": 0.001}.items():
            value = getattr(self, setting)
            if value is not None and value < minimum:
                raise BadInput(f"`{setting}` is at least {minimum}, but got {value}.")

    @property
    def signature(self) -> str:
        """How the responses are made; no key, no password."""
        system = text_key([self.system_prompt]) if self.system_prompt else "none"
        parts = [f"responder:{self.name}", f"model:{self.model}", f"host:{self.host}"]
        parts += [f"system:{system}", f"n:{self.n}"]
        for name, value in (("temperature", self.temperature), ("top_p", self.top_p)):
            parts.append(f"{name}:{'default' if value is None else format(value, 'g')}")
        parts += [f"max_tokens:{self.max_tokens}", f"seed:{self.seed}"]
        if self.extra_body:
            body = json.dumps(dict(self.extra_body), sort_keys=True, default=str)
            parts.append(f"extra:{text_key([body])}")
        return "|".join(parts)

    def __repr__(self) -> str:
        return self.signature

    @property
    def samples(self) -> bool:
        """Whether the server draws its responses: unless it accepted a temperature of 0."""
        return self.temperature != 0 or "temperature" in self.optional_fields.refused

    @property
    def host(self) -> str:
        """Host and port of the server."""
        return host_of(self.url)

    def stream(self, passages: Passages | Sequence[Passage]) -> Responses:
        """Responses as the server returns them; closing the stream cancels open requests."""
        return in_background(lambda emit: _Run(self, emit, len(passages)).all(passages))


def load_endpoint(
    model: str,
    url: str,
    *,
    seed: int = 0,
    decoding: str = "sampling",
    settings: Mapping[str, Any] | None = None,
    n: int = 1,
    max_new_tokens: int = MAX_NEW_TOKENS,
    name: str | None = None,
    system_prompt: str | None = None,
    concurrency: int = 8,
    api_key_env: str = "OPENAI_API_KEY",
) -> EndpointResponder:
    """An [`EndpointResponder`] with the settings that generators have.

    Args:
        model, url (`str`):
            The server's name for its model, and the server's URL.
        seed (`int`, *optional*, defaults to 0):
            Seed of the requests.
        decoding (`str`, *optional*, defaults to `"sampling"`):
            `sampling` with the server's own temperature, or `greedy` for temperature 0.
        settings (`Mapping`, *optional*):
            More fields of [`EndpointResponder`], such as `temperature`, `top_p` and `timeout`.
        n, max_new_tokens (`int`, *optional*):
            Responses per context, and their maximum length.
        name (`str`, *optional*):
            Name in tables; the model's name by default.
        system_prompt, concurrency, api_key_env (*optional*):
            As in [`EndpointResponder`].

    Returns:
        `EndpointResponder`: Nothing is requested before it is used.
    """
    if decoding not in ("sampling", "greedy"):
        hint = "Choose sampling or greedy."
        raise BadInput(f"a server cannot decode with {decoding!r}.", hint=hint)
    known = {item.name for item in fields(EndpointResponder) if item.init}
    unknown = sorted((settings or {}).keys() - known)
    if unknown:
        hint = f"Choose from {', '.join(sorted(known))}."
        raise BadInput(f"a server has no setting {unknown[0]!r}.", hint=hint)
    chosen: dict[str, Any] = {"n": n, "seed": seed, "concurrency": concurrency}
    chosen |= {"name": name or "", "system_prompt": system_prompt, "api_key_env": api_key_env}
    chosen |= {"max_tokens": max_new_tokens, "temperature": 0.0 if decoding == "greedy" else None}
    return EndpointResponder(url, model, **{**chosen, **(settings or {})})


class _Run:
    """One pass over passages: what is under way, what failed."""

    def __init__(
        self,
        responder: EndpointResponder,
        emit: Callable[[tuple[int, Passage]], None],
        total: int,
    ):
        self.responder, self.emit, self.total = responder, emit, total
        self.started = self.failed = self.responses = self.empty = 0
        self.last: RequestFailure | None = None
        self.texts: set[str] = set()
        self.client = ChatClient(
            responder.url, responder.api_key_env, responder.timeout, responder.concurrency,
            responder.optional_fields,
        )  # fmt: skip

    async def all(self, passages: Passages | Sequence[Passage]) -> None:
        """Respond to passages until there are no more or one fails."""
        waiting = enumerate(iterate_passages(passages))
        self.gate = asyncio.Semaphore(self.responder.concurrency)
        async with self.client.session() as self.session:
            workers = [
                asyncio.ensure_future(self._work(waiting))
                for _ in range(min(self.responder.concurrency, self.total))
            ]
            try:
                await asyncio.gather(*workers)
            finally:  # nothing may use the session when it closes
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
        self._warn_of_responses()
        if self.last:
            raise self._error(self.last)

    async def _work(self, waiting: Iterator[tuple[int, Passage]]) -> None:
        while not self.last:
            task = next(waiting, None)
            if task is None:
                return
            index, passage = task
            self.started += 1
            completions = await self._completions(passage)
            for number, completion in enumerate(completions):
                self.emit((index, self._response(passage, number, completion)))

    async def _completions(self, passage: Passage) -> list[Completion]:
        """All responses to a passage, or none if one of them failed."""
        requests = (self._request(passage, number) for number in range(self.responder.n))
        results = await asyncio.gather(*requests, return_exceptions=True)
        problems = [result for result in results if isinstance(result, BaseException)]
        if not problems:
            return [result for result in results if isinstance(result, Completion)]
        if not isinstance(problems[0], RequestFailure):
            raise problems[0]
        self.failed, self.last = self.failed + 1, problems[0]
        return []

    def _response(self, passage: Passage, number: int, completion: Completion) -> Passage:
        facts: dict[str, Any] = {HYPOTHESIS: number} if self.responder.n > 1 else {}
        self.responses += 1
        self.texts.add(completion.text)
        if completion.cut:
            facts[CUT] = True
        if not completion.text:
            self.empty += 1
            facts["empty"] = True
        return answer(passage, completion.text, self.responder, **facts)

    async def _request(self, passage: Passage, number: int) -> Completion:
        """One completion, with retries."""
        responder = self.responder
        drawn = draw(f"endpoint-{responder.seed}-{number}", passage)
        body, random = request_body(responder, passage, drawn % 2**31), Random(drawn)
        for attempt in count():
            try:
                async with self.gate:
                    return await self.client.post(self.session, body)
            except RequestFailure as failure:
                final = attempt == responder.retries or failure.wait > LONGEST_WAIT
                if final or not failure.temporary:
                    raise
                backoff = responder.backoff * 2**attempt * (0.5 + random.random() / 2)
                await responder.sleep(max(failure.wait, min(backoff, LONGEST_WAIT)))
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _error(self, failure: RequestFailure) -> BadInput:
        remaining = self.total - self.started
        rest = f" and {remaining} were not started" if remaining else ""
        return BadInput(
            f"{self.responder.name} at {self.responder.host}: {self.failed} of {self.total} "
            f"passages got no answer{rest}. The last reason: {failure.reason}",
            hint=f"{failure.hint}, and run the same command again: finished work is kept.",
        )

    def _warn_of_responses(self) -> None:
        """Say what makes the responses useless before anything is computed from them."""
        name, total = self.responder.name, self.responses
        if self.empty:
            logger.warning(
                "%d of %d answers of %s are empty; a model that reasons needs a larger max_tokens.",
                self.empty, total, name,
            )  # fmt: skip
        if len(self.texts) == 1 and total >= _MANY_ALIKE:
            text = next(iter(self.texts))
            logger.warning("%s answers all %d prompts alike: %.80r", name, total, text)


def request_body(responder: EndpointResponder, passage: Passage, seed: int) -> dict[str, Any]:
    """The JSON body of a request.

    Args:
        responder (`EndpointResponder`):
            Its settings.
        passage (`Passage`):
            Whose context is sent.
        seed (`int`):
            Of this request.

    Returns:
        `dict`: Fields of the chat-completions protocol.
    """
    body = {
        "model": responder.model,
        "messages": to_messages(passage, responder.system_prompt),
        "temperature": responder.temperature,
        "top_p": responder.top_p,
        "max_tokens": responder.max_tokens,
        "seed": seed,
        **(responder.extra_body or {}),
    }
    return {name: value for name, value in body.items() if value is not None}


def to_messages(passage: Passage, system_prompt: str | None = None) -> list[dict[str, str]]:
    """The context as chat messages, such that the assistant is next.

    Examples:
        >>> from dialeval.dialogues import Turn
        >>> turns = (Turn("A", "hi"), Turn("B", "hello"), Turn("B", "who are you?"))
        >>> to_messages(Passage(turns, ""))  # doctest: +NORMALIZE_WHITESPACE
        [{'role': 'assistant', 'content': 'hi'},
         {'role': 'user', 'content': 'hello who are you?'}]
    """
    system = [{"role": "system", "content": system_prompt}] if system_prompt else []
    return [*system, *chat_messages(passage.context)]


def in_background(
    work: Callable[[Callable[[Any], None]], Coroutine[Any, Any, None]],
) -> Iterator[Any]:
    """Yield what a coroutine emits, from an event loop in a thread; closing cancels the rest.

    This also works where a loop is already running, as in a notebook.
    """
    items: SimpleQueue[Any] = SimpleQueue()
    loop = asyncio.new_event_loop()
    task = loop.create_task(work(items.put))

    def run() -> None:
        with suppress(Exception, asyncio.CancelledError):  # raised by task.result() below
            loop.run_until_complete(task)
        loop.run_until_complete(loop.shutdown_asyncgens())
        items.put(_END)

    thread = Thread(target=run, name="endpoint", daemon=True)
    thread.start()
    try:
        while (item := items.get()) is not _END:
            yield item
        task.result()
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        loop.close()
