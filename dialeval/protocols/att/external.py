"""External attackers: stored responses, a model by name, or a server."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dialeval.dialogues import BadInput, Passage
from dialeval.responders import Responder
from dialeval.responders.journal import generate
from dialeval.responders.registry import load_responder, parse_spec


def external_attackers(
    specs: Iterable[str], max_new_tokens: int = 30, seed: int = 0
) -> dict[str, Responder]:
    """External attackers by their names in the table; models and servers sample at temperature 1.

    Args:
        specs (`Iterable[str]`):
            Specifications that `load_responder` reads: `smollm2`, a folder, `name=file` for stored
            responses, `name=model@url` for a server with the OpenAI protocol, whose key is read
            from `OPENAI_API_KEY`.
        max_new_tokens (`int`, *optional*, defaults to 30):
            Maximum length of a response.
        seed (`int`, *optional*, defaults to 0):
            Seed of the samples.

    Returns:
        `dict[str, Responder]`: Responders by name.

    Examples:
        >>> external_attackers(["llama=llama-3@http://localhost:8000/v1"])["llama"].host
        'localhost:8000'
    """
    responders: dict[str, Responder] = {}
    for text in specs:
        spec = parse_spec(text)
        name = spec.name or text.partition("@http")[0]
        if name in responders:
            raise BadInput(f"two attackers are called {name!r}.", hint="Use each name once.")
        options: dict[str, Any] = {"seed": seed, "max_new_tokens": max_new_tokens, "name": name}
        if "@http" in text:  # models sample at 1 by themselves
            options["settings"] = {"temperature": 1.0}
        responders[name] = load_responder(spec, **options)
    return responders


def collect_responses(
    responder: Responder, human: Sequence[Passage], path: Path, accelerator: Any = None
) -> list[Passage]:
    """The first response to every context; all are written to a file as they come.

    A run that is stopped, or whose server fails, resumes with the contexts that are left.

    Args:
        responder (`Responder`):
            The attacker.
        human (`Sequence[Passage]`):
            Human passages whose contexts are answered.
        path (`Path`):
            File of the responses.
        accelerator (`Accelerator`, *optional*):
            Splits the contexts between processes.

    Returns:
        `list[Passage]`: The same contexts with the attacker's responses, in order.
    """
    generate(responder, human, path, accelerator)
    if accelerator is not None:
        accelerator.wait_for_everyone()
    # Line by line: reading it as a corpus would drop repeated responses to the same context.
    texts: dict[str, str] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            texts.setdefault(row["id"], row["response"])
    return [passage.with_response(texts[passage.id], responder.name) for passage in human]
