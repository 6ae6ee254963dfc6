"""Answers from a server that speaks the OpenAI chat protocol: vLLM, TGI, Ollama, llama.cpp."""

import asyncio
import json
import logging
import os
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from itertools import count
from queue import SimpleQueue
from random import Random
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from dialeval.dialogues import BadInput, Passage, Passages
from dialeval.dialogues.encoding import chat_messages
from dialeval.dialogues.storage import iterate_passages
from dialeval.dialogues.types import merge_by_speaker, text_key
from dialeval.responders.base import HYPOTHESIS, answer
from dialeval.responders.reasoning import strip_reasoning
from dialeval.responders.simple import Answers, draw

logger = logging.getLogger(__name__)

LONGEST_WAIT = 300.0
"""Seconds; a server that asks for a longer pause is given up for this run."""

_PASSING = {408, 409, 429}  # of the 4xx, those that may go well next time
_LOCAL = ("localhost", "127.0.0.1", "::1")
_PATH = "/chat/completions"
_SHOWN = 300  # characters of a server's message
_END = object()


@dataclass(frozen=True, repr=False, eq=False)
class EndpointResponder:
    """A model behind a URL, asked for many answers at a time.

    A request that fails for a passing reason (408, 409, 429, 5xx, time-out, lost connection,
    broken body) is made again after a pause that doubles. When a passage fails for good, no new
    one is begun; those under way are still answered, then one error tells what happened.

    Args:
        url (`str`):
            Where the server is: `http://localhost:8000`, with or without `/v1/chat/completions`.
        name (`str`, *optional*):
            What tables call it; the model's name by default.
        n (`int`, *optional*, defaults to 1):
            Answers to each passage, each asked for by itself with a seed of its own, since not
            every server gives several at once. They come together, numbered as hypotheses.
        seed (`int`, *optional*, defaults to 0):
            Each request is sent a hash of it and the passage, so that a rerun repeats.
        concurrency (`int`, *optional*, defaults to 8):
            Requests under way at once.
        timeout (`float`, *optional*, defaults to 60):
            Seconds until an unanswered request is given up.
        retries (`int`, *optional*, defaults to 5):
            How often a request is made again.
        backoff (`float`, *optional*, defaults to 1.0):
            Seconds before the first repetition, at most; half of it at least.
        api_key_env (`str`, *optional*, defaults to `"OPENAI_API_KEY"`):
            Environment variable that holds the key. It is read for each request, sent as a bearer
            token, and written nowhere.
        extra_body (`Mapping`, *optional*):
            More fields of the request, which win over ours; `None` leaves a field out, as in
            `{"max_tokens": None, "max_completion_tokens": 60}`.
        sleep (`Callable`, *optional*):
            Waits so many seconds; tests need not.
    """

    url: str
    model: str
    name: str | None = None
    system_prompt: str | None = None
    n: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 60
    seed: int = 0
    concurrency: int = 8
    timeout: float = 60
    retries: int = 5
    backoff: float = 1.0
    api_key_env: str = "OPENAI_API_KEY"
    extra_body: Mapping[str, Any] | None = None
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep

    def __post_init__(self):
        object.__setattr__(self, "name", self.name or self.model)
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadInput(
                "expected the address of a server that starts with http:// or https://.",
                hint="For example http://localhost:8000/v1",
            )
        least = {"n": 1, "concurrency": 1, "max_tokens": 1, "retries": 0, "backoff": 0}
        for setting, lowest in {**least, "temperature": 0, "timeout": 0.001}.items():
            if getattr(self, setting) < lowest:
                found = getattr(self, setting)
                raise BadInput(f"`{setting}` is at least {lowest}, but got {found}.")

    @property
    def signature(self) -> str:
        """How its answers are made; no key, no password."""
        system = text_key([self.system_prompt]) if self.system_prompt else "none"
        parts = [f"responder:{self.name}", f"model:{self.model}", f"host:{self.host}"]
        parts += [f"system:{system}", f"n:{self.n}", f"temperature:{self.temperature:g}"]
        parts += [f"top_p:{self.top_p:g}", f"max_tokens:{self.max_tokens}", f"seed:{self.seed}"]
        if self.extra_body:
            body = json.dumps(dict(self.extra_body), sort_keys=True, default=str)
            parts.append(f"extra:{text_key([body])}")
        return "|".join(parts)

    def __repr__(self) -> str:
        return self.signature

    @property
    def host(self) -> str:
        """Host and port of the server."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    def stream(self, passages: Passages | Sequence[Passage]) -> Answers:
        """Answers as the server gives them; closing the stream ends the requests under way."""
        return in_background(lambda hand_over: _Run(self, hand_over, len(passages)).all(passages))


class _Failure(Exception):
    """Why there is no answer; a passing failure may not happen again."""

    def __init__(self, reason: str, hint: str, passing: bool = True, wait: float = 0.0):
        self.reason, self.hint, self.passing, self.wait = reason, hint, passing, wait


@dataclass(frozen=True)
class _Choice:
    """What the server said."""

    text: str
    cut: bool


_START = "Start the server, or mend its address"
_SLOWER = "Lower the concurrency"


class _Run:
    """One pass over passages: what is under way, what failed."""

    def __init__(self, responder: EndpointResponder, hand_over: Callable, total: int):
        self.responder, self.hand_over, self.total = responder, hand_over, total
        self.begun = self.failed = self.answers = self.empty = 0
        self.last: _Failure | None = None
        self.line = _Line(responder)

    async def all(self, passages: Passages | Sequence[Passage]) -> None:
        """Answer passages until they end or one fails."""
        waiting = enumerate(iterate_passages(passages))
        self.gate = asyncio.Semaphore(self.responder.concurrency)
        async with self.line.session() as self.session:
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
        self._warn_if_empty()
        if self.last:
            raise self._error()

    async def _work(self, waiting: Iterator[tuple[int, Passage]]) -> None:
        while not self.last:
            place, passage = next(waiting, (None, None))
            if passage is None:
                return
            self.begun += 1
            asked = (self._ask(passage, number) for number in range(self.responder.n))
            choices = await asyncio.gather(*asked, return_exceptions=True)
            problems = [each for each in choices if isinstance(each, BaseException)]
            if problems and not isinstance(problems[0], _Failure):
                raise problems[0]
            if problems:
                self.failed, self.last = self.failed + 1, problems[0]
                continue
            for number, choice in enumerate(choices):
                self.hand_over((place, self._answer(passage, number, choice)))

    def _answer(self, passage: Passage, number: int, choice: _Choice) -> Passage:
        notes: dict[str, Any] = {HYPOTHESIS: number} if self.responder.n > 1 else {}
        self.answers += 1
        if choice.cut:
            notes["cut"] = True
        if not choice.text:
            self.empty += 1
            notes["empty"] = True
        return answer(passage, choice.text, self.responder, **notes)

    async def _ask(self, passage: Passage, number: int) -> _Choice:
        """One answer, however often it takes."""
        responder = self.responder
        drawn = draw(f"endpoint-{responder.seed}-{number}", passage)
        body, random = request_body(responder, passage, drawn % 2**31), Random(drawn)
        for attempt in count():
            try:
                async with self.gate:
                    return await self.line.post(self.session, body)
            except _Failure as problem:
                tried = attempt == responder.retries or problem.wait > LONGEST_WAIT
                if tried or not problem.passing:
                    raise
                own = responder.backoff * 2**attempt * (0.5 + random.random() / 2)
                await responder.sleep(max(problem.wait, min(own, LONGEST_WAIT)))

    def _error(self) -> BadInput:
        untried = self.total - self.begun
        rest = f" and {untried} were not begun" if untried else ""
        return BadInput(
            f"{self.responder.name} at {self.responder.host}: {self.failed} of {self.total} "
            f"passages got no answer{rest}. The last reason: {self.last.reason}",
            hint=f"{self.last.hint}, and run the same command again: finished work is kept.",
        )

    def _warn_if_empty(self) -> None:
        if self.empty:
            logger.warning(
                "%d of %d answers of %s are empty; a model that reasons needs a larger max_tokens.",
                self.empty,
                self.answers,
                self.responder.name,
            )


class _Line:
    """The connection to one server: requests, their dangers, and silence about the key."""

    def __init__(self, responder: EndpointResponder):
        self.responder = responder
        parts = urlsplit(responder.url)
        path = parts.path.rstrip("/")
        if not path.endswith(_PATH):
            path = (path or "/v1") + _PATH
        self.target = parts._replace(netloc=responder.host, path=path, fragment="").geturl()
        self.user = (unquote(parts.username or ""), unquote(parts.password or ""))
        self.query = [value for _, value in parse_qsl(parts.query) if len(value) > 3]
        direct = parts.hostname in _LOCAL or proxy_bypass(responder.host)
        self.proxy = None if direct else getproxies().get(parts.scheme)

    def session(self) -> aiohttp.ClientSession:
        """A pool of connections; call it inside an event loop."""
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self.responder.concurrency),
            timeout=aiohttp.ClientTimeout(total=self.responder.timeout),
        )

    async def post(self, session: aiohttp.ClientSession, body: dict[str, Any]) -> _Choice:
        """The server's choice; or a failure, passing or final."""
        try:
            async with session.post(
                self.target,
                json=body,
                headers=self._headers(),
                proxy=self.proxy,
                allow_redirects=False,  # the key goes to the address that was given
            ) as reply:
                text = await reply.text(errors="replace")
        except asyncio.TimeoutError:
            reason = f"no answer within {self.responder.timeout:g} s."
            raise _Failure(reason, f"{_SLOWER} or raise the time-out") from None
        except (aiohttp.ClientError, OSError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise _Failure(self._redacted(reason), _START) from None
        if reply.status != 200:
            raise self._refusal(reply, text)
        return self._choice(text)

    def _headers(self) -> dict[str, str]:
        key, (user, password) = self._key(), self.user
        if key:
            return {"Authorization": f"Bearer {key}"}
        basic = b64encode(f"{user}:{password}".encode()).decode()
        return {"Authorization": f"Basic {basic}"} if user else {}

    def _key(self) -> str:
        key = os.environ.get(self.responder.api_key_env, "").strip()
        if not key.isprintable():
            raise _Failure("the key has characters that no header can hold.", self._set_key, False)
        return key

    @property
    def _set_key(self) -> str:
        return f"Set the environment variable {self.responder.api_key_env} to a valid key"

    def _refusal(self, reply: aiohttp.ClientResponse, text: str) -> _Failure:
        status = reply.status
        reason = f"{status} {reply.reason}: {self._message(text)}"
        if status in _PASSING or status >= 500:
            wait = _seconds(reply.headers.get("Retry-After"))
            asked = f" (it asks for a pause of {wait:g} s)" if wait > LONGEST_WAIT else ""
            hint = _SLOWER if status == 429 else "Look at its log"
            return _Failure(reason + asked, hint, wait=wait)
        remedies = {401: self._set_key, 403: self._set_key, 404: "Mend the address or the model"}
        return _Failure(reason, remedies.get(status, "Change the request"), passing=False)

    def _message(self, text: str) -> str:
        """A server's own words about a failure."""
        with suppress(ValueError, AttributeError):
            found = json.loads(text)
            found = found.get("error") or found.get("message") or found.get("detail") or found
            text = found["message"] if isinstance(found, dict) and "message" in found else found
        text = text if isinstance(text, str) else json.dumps(text)
        return self._redacted(" ".join(text.split()))[:_SHOWN] or "no message."

    def _redacted(self, text: str) -> str:
        """A text without secrets; a word that only begins as one does is half of one."""
        secrets = [os.environ.get(self.responder.api_key_env, "").strip(), self.user[1]]
        for secret in filter(None, [*secrets, *self.query]):
            for form in {secret[:6], quote(secret, safe="")[:6]}:
                text = re.sub(re.escape(form) + r"\S*", "***", text, flags=re.IGNORECASE)
        return text

    def _choice(self, text: str) -> _Choice:
        try:
            choice = json.loads(text)["choices"][0]
            content = choice["message"].get("content") or ""
            cut = choice.get("finish_reason") == "length"
            return _Choice(strip_reasoning(content), cut)
        except (ValueError, LookupError, TypeError, AttributeError):
            reason = f"expected a chat completion, found {self._message(text)}"
            raise _Failure(reason, "Look at its log") from None


def request_body(responder: EndpointResponder, passage: Passage, seed: int) -> dict[str, Any]:
    """What is asked of the server, as JSON."""
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
    """The context as chat messages that the responder answers as the assistant.

    What one speaker says in a row is one message, and the last one is the user's.

    Example:
        >>> from dialeval.dialogues import Turn
        >>> turns = (Turn("A", "hi"), Turn("B", "hello"), Turn("B", "who are you?"))
        >>> to_messages(Passage(turns, ""))  # doctest: +NORMALIZE_WHITESPACE
        [{'role': 'assistant', 'content': 'hi'},
         {'role': 'user', 'content': 'hello who are you?'}]
    """
    turns = passage.context
    if all(turn.speaker for turn in turns):  # two turns of nobody may be two people's
        turns = merge_by_speaker(turns)
    told = [{"role": "system", "content": system_prompt}] if system_prompt else []
    return [*told, *chat_messages(turns)]


def in_background(work: Callable[[Callable[[Any], None]], Coroutine]) -> Iterator[Any]:
    """What a coroutine hands over, from an event loop in a thread; closing cancels the rest.

    So it works where a loop is running already, as in a notebook.
    """
    found: SimpleQueue = SimpleQueue()
    loop = asyncio.new_event_loop()
    task = loop.create_task(work(found.put))

    def run() -> None:
        with suppress(Exception, asyncio.CancelledError):  # the reader asks the task
            loop.run_until_complete(task)
        loop.run_until_complete(loop.shutdown_asyncgens())
        found.put(_END)

    thread = Thread(target=run, name="endpoint", daemon=True)
    thread.start()
    try:
        while (item := found.get()) is not _END:
            yield item
        task.result()
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        loop.close()


def _seconds(header: str | None) -> float:
    """What a `Retry-After` asks for: seconds, or a date."""
    with suppress(TypeError, ValueError):
        return max(0.0, float(header))
    with suppress(TypeError, ValueError):
        date = parsedate_to_datetime(header)
        return max(0.0, (date - datetime.now(timezone.utc)).total_seconds())
    return 0.0
