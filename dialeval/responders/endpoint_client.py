"""HTTP client of one chat-completions server: requests, failures, and no secrets in messages."""

import asyncio
import json
import logging
import os
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from dialeval.responders.optional_fields import (
    OPTIONAL,
    RENAMED,
    OptionalFields,
    refused_field,
)
from dialeval.responders.reasoning import strip_reasoning
from dialeval.responders.redaction import redact

logger = logging.getLogger(__name__)

LONGEST_WAIT = 300.0
"""Seconds; if a server asks for a longer pause, the request fails."""

_TEMPORARY = {408, 409, 429}  # 4xx statuses after which a retry may succeed
_LOCAL = ("localhost", "127.0.0.1", "::1")
_PATH = "/chat/completions"
_SHOWN = 300  # characters of a server's message
LARGEST_BODY = 16 << 20
"""Bytes; a longer reply is an error and is not read to its end."""
_CHECK_SERVER = "Start the server, or fix its URL"
_SLOWER = "Lower the concurrency"


class RequestFailure(Exception):
    """A request without an answer.

    Args:
        reason (`str`):
            What happened.
        hint (`str`):
            What to do about it, without a full stop.
        temporary (`bool`, *optional*, defaults to `True`):
            Whether a retry may succeed.
        wait (`float`, *optional*, defaults to 0.0):
            Seconds that the server asks to wait before a retry.
        refused (`str`, *optional*):
            The optional field of the request that the server does not know.
    """

    def __init__(
        self,
        reason: str,
        hint: str,
        temporary: bool = True,
        wait: float = 0.0,
        refused: str = "",
    ):
        super().__init__(reason)
        self.reason, self.hint, self.temporary, self.wait = reason, hint, temporary, wait
        self.refused = refused


@dataclass(frozen=True)
class Completion:
    """The text of a server's first choice, and whether it was cut at the maximum length."""

    text: str
    cut: bool


class ChatClient:
    """Sends requests to one server.

    Args:
        url (`str`):
            `http://localhost:8000`, with or without `/v1/chat/completions`.
        api_key_env (`str`):
            Environment variable with the key, read for every request.
        timeout (`float`):
            Seconds until an unanswered request fails.
        concurrency (`int`):
            Maximum number of open connections.
        fields (`OptionalFields`, *optional*):
            What the server refused in earlier requests.
    """

    def __init__(
        self,
        url: str,
        api_key_env: str,
        timeout: float,
        concurrency: int,
        fields: OptionalFields | None = None,
    ):
        self.fields = fields or OptionalFields()
        self.api_key_env, self.timeout, self.concurrency = api_key_env, timeout, concurrency
        parts = urlsplit(url)
        path = parts.path.rstrip("/")
        if not path.endswith(_PATH):
            path = (path or "/v1") + _PATH
        host = host_of(url)
        self.target = parts._replace(netloc=host, path=path, fragment="").geturl()
        self.user = (unquote(parts.username or ""), unquote(parts.password or ""))
        self.query = [value for _, value in parse_qsl(parts.query) if len(value) > 3]
        direct = parts.hostname in _LOCAL or proxy_bypass(host)
        self.proxy = None if direct else getproxies().get(parts.scheme)

    def session(self) -> aiohttp.ClientSession:
        """A pool of connections; call it inside an event loop."""
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self.concurrency),
            timeout=aiohttp.ClientTimeout(total=self.timeout),
        )

    async def post(self, session: aiohttp.ClientSession, body: dict[str, Any]) -> Completion:
        """The server's completion; a field that it does not know is renamed or left out.

        Raises:
            RequestFailure: There is none.
        """
        for _ in OPTIONAL:
            sent = self.fields.fit(body)
            try:
                return await self._post(session, sent)
            except RequestFailure as failure:
                if failure.refused not in sent:
                    raise
                self._leave_out(failure.refused)
        return await self._post(session, self.fields.fit(body))

    def _leave_out(self, name: str) -> None:
        """Remember a field that the server refuses; one without a substitute is said."""
        if name not in self.fields.refused and name not in RENAMED:
            logger.warning(
                "%s does not accept `%s`: it is left out, and the server's default is used.",
                urlsplit(self.target).netloc,
                name,
            )
        self.fields.refused.add(name)

    async def _post(self, session: aiohttp.ClientSession, body: dict[str, Any]) -> Completion:
        try:
            async with session.post(
                self.target,
                json=body,
                headers=self._headers(),
                proxy=self.proxy,
                allow_redirects=False,  # the key is sent only to the given URL
            ) as reply:
                text = await _text_of(reply)
        except asyncio.TimeoutError:
            reason = f"no answer within {self.timeout:g} s."
            raise RequestFailure(reason, f"{_SLOWER} or increase the timeout") from None
        except (aiohttp.ClientError, OSError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise RequestFailure(self._redact(reason), _CHECK_SERVER) from None
        if reply.status != 200:
            raise self._refusal(reply, text)
        return self._completion(text)

    def _headers(self) -> dict[str, str]:
        key = self._key()
        if key:
            return {"Authorization": f"Bearer {key}"}
        return {"Authorization": f"Basic {self._basic}"} if self._basic else {}

    @property
    def _basic(self) -> str:
        return b64encode(":".join(self.user).encode()).decode() if self.user[0] else ""

    def _key(self) -> str:
        key = os.environ.get(self.api_key_env, "").strip()
        if not key.isprintable():
            reason = "the key contains characters that are not allowed in a header."
            raise RequestFailure(reason, self._key_hint, temporary=False)
        return key

    @property
    def _key_hint(self) -> str:
        return f"Set the environment variable {self.api_key_env} to a valid key"

    def _refusal(self, reply: aiohttp.ClientResponse, text: str) -> RequestFailure:
        status = reply.status
        reason = f"{status} {self._redact(reply.reason or '')[:_SHOWN]}: {self._message(text)}"
        if status in _TEMPORARY or status >= 500:
            wait = _retry_after(reply.headers.get("Retry-After", ""))
            pause = f" (it asks for a pause of {wait:g} s)" if wait > LONGEST_WAIT else ""
            hint = _SLOWER if status == 429 else "Check the server's log"
            return RequestFailure(reason + pause, hint, wait=wait)
        hints = {401: self._key_hint, 403: self._key_hint, 404: "Fix the URL or the model's name"}
        refused = refused_field(text) if status in (400, 422) else ""
        hint = hints.get(status, "Change the request")
        return RequestFailure(reason, hint, temporary=False, refused=refused)

    def _message(self, text: str) -> str:
        """The error message in a server's reply."""
        content: Any = text
        with suppress(ValueError, AttributeError, RecursionError):
            reply = json.loads(text)
            content = reply.get("error") or reply.get("message") or reply.get("detail") or reply
            if isinstance(content, dict) and "message" in content:
                content = content["message"]
        message = content if isinstance(content, str) else json.dumps(content)
        return self._redact(" ".join(message.split()))[:_SHOWN] or "no message."

    def _redact(self, text: str) -> str:
        """The text without secrets, in whatever form the server echoes them."""
        key = os.environ.get(self.api_key_env, "").strip()
        return redact(text, [key, self.user[1], self._basic, *self.query])

    def _completion(self, text: str) -> Completion:
        try:
            choice = json.loads(text)["choices"][0]
            content = choice["message"].get("content") or ""
            cut = choice.get("finish_reason") == "length"
            return Completion(strip_reasoning(_whole_characters(content)), cut)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            reason = f"expected a chat completion, got {self._message(text)}"
            raise RequestFailure(reason, "Check the server's log") from None


async def _text_of(reply: aiohttp.ClientResponse) -> str:
    """The body of a reply, unless it is too large.

    Raises:
        RequestFailure: It is.
    """
    body = bytearray()
    async for chunk in reply.content.iter_chunked(1 << 16):
        body += chunk
        if len(body) > LARGEST_BODY:
            reason = f"its reply is larger than {LARGEST_BODY >> 20} MB."
            raise RequestFailure(reason, "Check the server's log", temporary=False)
    return body.decode("utf-8", "replace")


def _whole_characters(text: str) -> str:
    """The text with halves of characters joined, or replaced where the other half is missing."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def host_of(url: str) -> str:
    """Host and port of a URL, without user and password."""
    return urlsplit(url).netloc.rpartition("@")[2]


def _retry_after(header: str) -> float:
    """Seconds that a `Retry-After` header asks for, as a number or a date."""
    with suppress(ValueError):
        return max(0.0, float(header))
    with suppress(TypeError, ValueError):
        date = parsedate_to_datetime(header)
        return max(0.0, (date - datetime.now(timezone.utc)).total_seconds())
    return 0.0
