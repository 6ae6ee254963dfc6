"""Routes of the annotation page: join, judge, undo."""

import json
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from hmac import compare_digest
from typing import Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from dialeval.errors import BadInput
from dialeval.judgements.store import JudgementStore
from dialeval.judgements.web.limits import MAX_BODY, RateLimiter
from dialeval.judgements.web.views import (
    item_view,
    progress_view,
    project_view,
    render,
    to_answers,
)

COOKIE = "dialeval_session"
LONGEST_NAME = 60
SHARED_ADDRESS = 20
"""Annotators who may be at full speed behind one address."""
NOTICES = {
    "kept": "You had already answered that one; your first answer was kept.",
    "undone": "Your last answer was taken back. Here is the item again.",
    "no-undo": "Nothing was taken back: that was not your last answer.",
    "incomplete": "Please answer every question before you go on.",
}


@dataclass(frozen=True)
class WebSettings:
    """How the page is served.

    Args:
        open_door (`bool`, *optional*, defaults to `True`):
            Whether anyone who reaches the page may join under a name: right on this machine only.
            Otherwise a personal link or the invitation is needed.
        hosts (`tuple[str, ...]`, *optional*):
            Names under which the page may be asked for; others are refused, so that another site
            cannot reach a page on this machine through a name of its own.
        embedded (`bool`, *optional*, defaults to `False`):
            Whether it is shown inside a page of the Hub, over HTTPS.
        requests, window (`int`, `float`, *optional*):
            Requests that a client may send in so many seconds.
    """

    open_door: bool = True
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    embedded: bool = False
    requests: int = 60
    window: float = 10.0


def build_app(store: JudgementStore, settings: WebSettings | None = None) -> Starlette:
    """The web application of a project."""
    pages = _Pages(store, settings or WebSettings())
    routes = [
        Route("/", pages.handle(pages.start), methods=["GET"]),
        Route("/join/{token}", pages.handle(pages.start), methods=["GET"]),
        Route("/join", pages.handle(pages.join), methods=["POST"]),
        Route("/task", pages.handle(pages.task), methods=["GET"]),
        Route("/answer", pages.handle(pages.answer), methods=["POST"]),
        Route("/undo", pages.handle(pages.undo), methods=["POST"]),
        Route("/export/{token}", pages.handle(pages.export), methods=["GET"]),
        Route("/healthz", lambda _: PlainTextResponse("ok"), methods=["GET"]),
    ]
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=list(pages.settings.hosts))
    return Starlette(routes=routes, middleware=[hosts])


class _Refused(Exception):
    """A request that is not answered."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status, self.message = status, message


Handler = Callable[[Request, str, dict[str, str]], Response]


class _Pages:
    """The pages of one project."""

    def __init__(self, store: JudgementStore, settings: WebSettings):
        self.store, self.settings = store, settings
        self.limiter = RateLimiter(settings.requests, settings.window)
        # Anyone can make up sessions, so addresses are limited too; annotators may share one.
        self.addresses = RateLimiter(SHARED_ADDRESS * settings.requests, settings.window)
        self.joins = RateLimiter(20, 60.0)  # guesses of a link

    def handle(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """A route that checks session, form and rate, and answers errors with a page."""

        async def endpoint(request: Request) -> Response:
            session = request.cookies.get(COOKIE) or secrets.token_urlsafe(32)
            try:
                self._check_rate(request, session)
                form = await _form(request) if request.method == "POST" else {}
                if request.method == "POST":
                    self._check_origin(request, session, form)
                response = await run_in_threadpool(handler, request, session, form)
            except _Refused as refusal:
                response = self._message(refusal.message, refusal.status)
            except ClientDisconnect:
                response = Response(status_code=400)
            if COOKIE not in request.cookies and COOKIE not in response.headers.get(
                "set-cookie", ""
            ):
                self._set_cookie(response, session)
            return response

        return endpoint

    # Pages

    def start(self, request: Request, session: str, form: dict[str, str]) -> Response:
        """Instructions, and a button to begin; a returning annotator goes on."""
        token = request.path_params.get("token", "")
        annotator = self.store.identities.annotator_of(session)
        if annotator is not None and not token:
            return RedirectResponse("/task", 303)
        name, may_choose = self._invited(request, token)
        if name == annotator and annotator is not None:
            return RedirectResponse("/task", 303)
        view = {"name": name, "may_choose": may_choose, "token": token, "longest": LONGEST_NAME}
        return self._page("start.html.jinja", session, view)

    def join(self, request: Request, session: str, form: dict[str, str]) -> Response:
        """Begin as an annotator, in a new session."""
        token = form.get("token", "")
        name, may_choose = self._invited(request, token)
        if may_choose:
            name = " ".join(form.get("name", "").split())[:LONGEST_NAME]
            if not name:
                raise _Refused(400, "Please give a name, so that you can return later.")
        only_new = may_choose and not self.settings.open_door
        key = self.store.identities.join(str(name), only_new)
        if key is None:
            raise _Refused(409, "Somebody else has this name. Please choose another one.")
        response = RedirectResponse("/task", 303)
        self._set_cookie(response, key)
        return response

    def task(self, request: Request, session: str, form: dict[str, str]) -> Response:
        """The current item, or the end."""
        annotator = self._annotator(session)
        item = self.store.assignment.next_item(annotator)
        progress = progress_view(self.store.assignment.progress(annotator))
        view: dict[str, Any] = {
            "progress": progress,
            "notice": NOTICES.get(request.query_params.get("notice", ""), ""),
            "link": self._personal_link(request, annotator),
        }
        if item is None:
            return self._page("end.html.jinja", session, view)
        view |= item_view(self.store, annotator, item)
        return self._page("item.html.jinja", session, view)

    def answer(self, request: Request, session: str, form: dict[str, str]) -> Response:
        """Write an answer to disk, then show the next item."""
        annotator = self._annotator(session)
        item = self.store.items.get(form.get("item", ""))
        if item is None:
            raise _Refused(400, "This item does not exist.")
        answers = to_answers(self.store, annotator, item, form)
        if not all(answers.values()):
            return RedirectResponse("/task?notice=incomplete", 303)
        try:
            written = self.store.answer(annotator, item.id, answers, _seconds(form))
        except BadInput as error:
            raise _Refused(400, error.message) from None
        return RedirectResponse("/task" if written else "/task?notice=kept", 303)

    def undo(self, request: Request, session: str, form: dict[str, str]) -> Response:
        """Take back the last answer."""
        done = self.store.undo(self._annotator(session), form.get("item", ""))
        return RedirectResponse(f"/task?notice={'undone' if done else 'no-undo'}", 303)

    def export(self, request: Request, session: str, form: dict[str, str]) -> Response:
        """All judgements with pseudonyms, for the owner of the project alone."""
        if not self.joins.allow(_address(request)):
            raise _Refused(429, "Too many attempts. Please wait a minute.")
        token = self.store.identities.export_token().encode()
        if not compare_digest(request.path_params["token"].encode(), token):
            raise _Refused(403, "This link is not valid.")
        lines = [
            json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in self.store.judgements()
        ]
        headers = {"Content-Disposition": 'attachment; filename="judgements.jsonl"'}
        return Response("".join(lines), media_type="application/x-ndjson", headers=headers)

    # Checks

    def _check_rate(self, request: Request, session: str) -> None:
        known, address = COOKIE in request.cookies, _address(request)
        client = session if known else f"address {address}"
        if not (self.addresses.allow(address) and self.limiter.allow(client)):
            raise _Refused(429, "Too many requests. Please wait a few seconds.")

    def _check_origin(self, request: Request, session: str, form: dict[str, str]) -> None:
        """Only forms of this page, sent from this page, count."""
        origin = request.headers.get("origin")
        host = request.headers.get("host", "")
        foreign = origin is not None and origin.partition("://")[2] != host
        genuine = compare_digest(
            form.get("csrf", "").encode(), self.store.identities.csrf(session).encode()
        )
        if foreign or not genuine:
            raise _Refused(403, "This form is out of date. Please open the page again.")

    def _invited(self, request: Request, token: str) -> tuple[str | None, bool]:
        """Whose link it is, and whether the visitor chooses a name."""
        if token:
            if not self.joins.allow(_address(request)):
                raise _Refused(429, "Too many attempts. Please wait a minute.")
            if compare_digest(token.encode(), self.store.identities.invitation().encode()):
                return None, True
            name = self.store.identities.name_of_token(token)
            if name is None:
                raise _Refused(403, "This link is not valid. Please ask for a new one.")
            return name, False
        if self.settings.open_door:
            return None, True
        raise _Refused(403, "Please use the link that you were given.")

    def _annotator(self, session: str) -> str:
        annotator = self.store.identities.annotator_of(session)
        if annotator is None:
            raise _Refused(403, "Please begin with the link that you were given.")
        return annotator

    # Responses

    def _page(self, name: str, session: str, view: dict[str, Any], status: int = 200) -> Response:
        nonce = secrets.token_urlsafe(16)
        values = {
            **project_view(self.store.project),
            "csrf": self.store.identities.csrf(session),
            "nonce": nonce,
            **view,
        }
        response = HTMLResponse(render(name, values), status)
        self._set_headers(response, nonce)
        return response

    def _message(self, message: str, status: int) -> Response:
        return self._page("message.html.jinja", "", {"message": message}, status)

    def _set_headers(self, response: Response, nonce: str) -> None:
        ancestors = "https://huggingface.co" if self.settings.embedded else "'none'"
        response.headers["Content-Security-Policy"] = (
            f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; "
            f"form-action 'self'; base-uri 'none'; frame-ancestors {ancestors}"
        )
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "same-origin"

    def _set_cookie(self, response: Response, session: str) -> None:
        """Keep the session; a page inside the Hub's page is a third party to the browser."""
        wide = "SameSite=None; Secure; Partitioned" if self.settings.embedded else "SameSite=Lax"
        age = 180 * 24 * 3600
        response.headers.append(
            "set-cookie", f"{COOKIE}={session}; Max-Age={age}; Path=/; HttpOnly; {wide}"
        )

    def _personal_link(self, request: Request, annotator: str) -> str:
        """The link with which an invited annotator can return from another browser."""
        if self.settings.open_door:
            return ""
        return f"{request.base_url}join/{self.store.identities.token(annotator)}"


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form, which must be small."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise _Refused(413, "This form is too large.")
    try:
        return dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=50))
    except ValueError:
        raise _Refused(400, "This form could not be read.") from None


def _seconds(form: dict[str, str]) -> float | None:
    """Time that the page measured; `None` without scripts."""
    try:
        value = float(form.get("seconds", ""))
    except ValueError:
        return None
    return value if 0 < value < 1e6 else None


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
