"""Attackers from elsewhere: stored responses, a model by name, or a server."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dialeval.dialogues import BadInput, Passage, read
from dialeval.responders import Responder
from dialeval.responders.journal import generate

_FORMS = "Give a model's name or folder, name=file of responses, or name=model@http://host:8000/v1."


def external_attackers(
    told: Iterable[str], max_new_tokens: int = 30, seed: int = 0
) -> dict[str, Responder]:
    """Attackers by their names in the table; all but stored ones draw at temperature 1.

    Args:
        told (`Iterable[str]`):
            `smollm2` or any model that `load_generator` knows, perhaps as `name=model`;
            `name=file` for stored responses; `name=model@url` for a server that speaks the OpenAI
            protocol, whose key is taken from `OPENAI_API_KEY`.

    Example:
        >>> outside_attackers(["llama=llama-3@http://localhost:8000/v1"])["llama"].host
        'localhost:8000'
    """
    found: dict[str, Responder] = {}
    for each in told:
        name, what = _named(each)
        if name in found:
            raise BadInput(f"two attackers are called {name!r}.", hint="Name them apart.")
        found[name] = _attacker(name, what, max_new_tokens, seed)
    return found


def _named(told: str) -> tuple[str, str]:
    """The name in the table and what it stands for; a URL may hold `=` itself."""
    head, server, address = told.partition("@http")
    name, sign, what = head.partition("=")
    if not name or (sign and not what):
        raise BadInput(f"cannot tell who attacks: {told!r}.", hint=_FORMS)
    return name, (what if sign else name) + server + address


def _attacker(name: str, what: str, max_new_tokens: int, seed: int) -> Responder:
    model, server, address = what.partition("@http")
    if server:
        return _server(name, model, "http" + address, max_new_tokens, seed)
    from dialeval.responders.decoding import DECODINGS
    from dialeval.responders.generators import load_generator
    from dialeval.responders.language import GeneratorResponder
    from dialeval.responders.stored import StoredResponder

    if Path(what).is_file() and Path(what).suffix != ".gguf":
        return StoredResponder(read(what)[0], name)
    return GeneratorResponder(
        load_generator(what), DECODINGS["sampling"], 1, max_new_tokens, name=name
    )


def _server(name: str, model: str, url: str, max_new_tokens: int, seed: int) -> Responder:
    from dialeval.responders.endpoint import EndpointResponder

    if urlsplit(url).password or urlsplit(url).username:  # settings are written to the results
        raise BadInput(
            f"the address of {name} holds a password, which would be written down.",
            hint="Take it out, and put the key into OPENAI_API_KEY.",
        )
    return EndpointResponder(url, model, name=name, max_tokens=max_new_tokens, seed=seed)


def answers_of(
    responder: Responder, human: Sequence[Passage], path: Path, accelerator: Any = None
) -> list[Passage]:
    """The first answer to every passage; all are kept in a file as they come.

    A run that is stopped, or whose server fails, goes on with the contexts that are left.
    """
    generate(responder, human, path, accelerator)
    if accelerator is not None:
        accelerator.wait_for_everyone()
    # Line by line: reading it as a corpus would drop what was said twice to the same context.
    texts: dict[str, str] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            texts.setdefault(row["id"], row["response"])
    return [each.with_response(texts[each.id], responder.name) for each in human]
