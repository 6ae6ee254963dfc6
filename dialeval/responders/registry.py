"""Responders by specification: the one place that reads `parrot`, a folder or `model@http://...`."""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from dialeval.dialogues import BadInput, Passage, Passages
from dialeval.registry import Entry, Registry, is_object_spec
from dialeval.responders.base import Responder
from dialeval.settings.live import MAX_NEW_TOKENS

_SIMPLE = "dialeval.responders.simple"
_GENERATOR = "dialeval.responders.language:load_generator_responder"

RESPONDERS = Registry(
    "responder",
    "dialeval.responders",
    [
        Entry("parrot", f"{_SIMPLE}:ParrotResponder", "Repeats a random turn of the context.",
              {"turn": "random"}),
        Entry("random", f"{_SIMPLE}:RandomResponder",
              "A human reply from another dialogue of the pool."),
        Entry("next", f"{_SIMPLE}:NextResponder", "The turn that follows the true response."),
        Entry("constant", f"{_SIMPLE}:ConstantResponder",
              "The same text to every context: constant, or constant:TEXT.",
              {"text": "I don't know."}),
        Entry("retrieval", "dialeval.responders.retrieval:RetrievalResponder",
              "The human reply to the most similar context of the pool."),
        Entry("stored", "dialeval.responders.stored:load_stored",
              "Responses from a file: stored:FILE, or NAME=FILE."),
        Entry("smollm2", _GENERATOR, "SmolLM2-135M-Instruct, a small chat model.",
              {"model": "smollm2"}),
        Entry("generator", _GENERATOR, "A language model: its folder, .gguf file or Hub name."),
        Entry("endpoint", "dialeval.responders.endpoint:load_endpoint",
              "A model on an OpenAI-compatible server: model@http://host:8000/v1."),
    ],
)  # fmt: skip

FORMS = (
    "Give a registered name, a folder, a .gguf file, a Hub name, a file of responses, "
    "model@http://host:8000/v1 or package.module:Class, each perhaps as name=..., for instance "
    "name=model@http://host:8000/v1."
)
OPTIONS = frozenset(
    (
        "n", "settings", "device", "chat_template", "system_prompt", "adapter", "backward",
        "language_model", "max_tokens", "progress", "concurrency", "api_key_env",
        "trust_remote_code",
    )
)  # fmt: skip
"""Options of models and servers; responders that have no use for them ignore them."""

_ARGUMENTS = {"constant": "text", "stored": "path", "generator": "model"}  # what follows the colon
_INCOMPLETE = ("stored", "generator", "endpoint")  # not a responder without more information
_DATA_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".txt", ".parquet", ".gz")


@dataclass(frozen=True)
class ResponderSpec:
    """A parsed specification.

    Args:
        entry (`Entry`):
            What builds the responder.
        name (`str`, *optional*):
            Name in tables, where the specification has one.
        options (`Mapping`, *optional*):
            What the specification says about it, such as the model and the URL.
    """

    entry: Entry
    name: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Name of the registered entry, such as `"endpoint"`."""
        return self.entry.name


def parse_spec(text: str) -> ResponderSpec:
    """Parse a specification without loading anything.

    Raises:
        BadInput: It is empty, incomplete, or has a password in its URL.

    Examples:
        >>> spec = parse_spec("bot=llama@http://localhost:8000/v1")
        >>> spec.kind, spec.name, spec.options["model"]
        ('endpoint', 'bot', 'llama')
        >>> parse_spec("constant:No idea.").options["text"]
        'No idea.'
    """
    name, source = _split_name(text)
    model, server, address = source.partition("@http")
    if server:
        url = _without_password(f"http{address}", name or model)
        return ResponderSpec(RESPONDERS["endpoint"], name, {"model": model, "url": url})
    prefix, _, argument = source.partition(":")
    if argument and prefix in _ARGUMENTS:
        return ResponderSpec(RESPONDERS[prefix], name, {_ARGUMENTS[prefix]: argument})
    exists = os.path.exists(source)
    if source in RESPONDERS and not (exists and source in _INCOMPLETE):
        return ResponderSpec(RESPONDERS[source], name)
    if _is_data(source):
        return ResponderSpec(RESPONDERS["stored"], name, {"path": source})
    if is_object_spec(source) and not exists:
        return ResponderSpec(RESPONDERS.find(source), name)
    return ResponderSpec(RESPONDERS["generator"], name, {"model": source})


def check_model_name(name: str) -> None:
    """Refuse a name that is no file, no folder and no `owner/name`, without asking the Hub.

    Args:
        name (`str`):
            The model of a responder.

    Raises:
        BadInput: Lists the choices.
    """
    from huggingface_hub import constants

    is_cached = os.path.isdir(os.path.join(constants.HF_HUB_CACHE, f"models--{name}"))
    if "/" in name or name.endswith(".gguf") or os.path.exists(name) or is_cached:
        return
    names = [known for known in RESPONDERS if known not in _INCOMPLETE]
    close = get_close_matches(name, names, n=1)
    hint = f"Did you mean {close[0]}? " if close else ""
    raise BadInput(
        f"unknown system {name!r}.",
        hint=f"{hint}Give NAME=FILE with responses, the folder of a generator, owner/name for a "
        f"model on the Hub, model@http://host/v1, or choose from {', '.join(names)}.",
    )


def load_responder(
    spec: str | ResponderSpec,
    *,
    seed: int = 0,
    decoding: str = "sampling",
    max_new_tokens: int = MAX_NEW_TOKENS,
    pool: Passages | Sequence[Passage] | None = None,
    name: str | None = None,
    **options: Any,
) -> Responder:
    """Load a responder from its specification.

    Args:
        spec (`str` or `ResponderSpec`):
            `parrot`, `random`, `next`, `constant[:TEXT]`, `retrieval`, `stored:FILE`, `smollm2`,
            a generator's folder, a `.gguf` file, a Hub name, `model@http://host/v1`, the name
            that an installed package registered, or `package.module:Class`. `NAME=SPEC` names it
            in tables.
        seed (`int`, *optional*, defaults to 0):
            Seed of everything random about it.
        decoding (`str`, *optional*, defaults to `"sampling"`):
            Decoding strategy of a model. A server knows `sampling` and `greedy`.
        max_new_tokens (`int`, *optional*, defaults to 128):
            Maximum length of a model's response.
        pool (`Passages` or sequence of `Passage`, *optional*):
            Human replies that `random` and `retrieval` choose from.
        name (`str`, *optional*):
            Name in tables; overrides the one in the specification.
        options:
            More settings of the responder, such as `n`, `settings` (of the decoding strategy),
            `device`, `system_prompt`, `concurrency`; `None` means the default.

    Returns:
        `Responder`: Ready to respond.

    Raises:
        BadInput: The specification is unknown or incomplete, or the model cannot be loaded.
    """
    parsed = parse_spec(spec) if isinstance(spec, str) else spec
    common = {"seed": seed, "decoding": decoding, "max_new_tokens": max_new_tokens, "pool": pool}
    common["name"] = name = name or parsed.name
    target = parsed.entry.load()
    arguments = _arguments(target, parsed, common, options)
    try:
        responder = target(**arguments)
    except BadInput as error:
        raise _with_choices(error, parsed) from error.__cause__
    return _checked(responder, parsed.entry, name)


def accepted_options(spec: str | ResponderSpec) -> frozenset[str] | None:
    """Names of the options that a responder takes; `None` for one that takes any.

    Examples:
        >>> sorted(accepted_options("parrot"))
        ['name', 'seed', 'turn']
    """
    parsed = parse_spec(spec) if isinstance(spec, str) else spec
    parameters = inspect.signature(parsed.entry.load()).parameters
    is_open = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return None if is_open else frozenset(parameters)


def _split_name(text: str) -> tuple[str | None, str]:
    """Name and source of `NAME=SPEC`; a path, a text or a URL may contain `=` itself."""
    if text and (text.partition(":")[0] in _ARGUMENTS or os.path.exists(text)):
        return None, text
    head, server, address = text.partition("@http")
    name, sign, source = head.partition("=")
    if not name or (sign and not source):
        raise BadInput(f"the specification {text!r} is not complete.", hint=FORMS)
    return (name, source + server + address) if sign else (None, text)


def _without_password(url: str, name: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise BadInput(f"the URL of {name} cannot be read: {error}.", hint=FORMS) from None
    if parts.password or parts.username:  # specifications are written to results
        raise BadInput(
            f"the URL of {name} contains a password, which would be written to the results.",
            hint="Remove it, and set the environment variable OPENAI_API_KEY to the key.",
        )
    return url


def _is_data(source: str) -> bool:
    path = Path(source)
    if path.suffix == ".gguf" or path.is_dir():
        return False
    return path.is_file() or path.suffix.lower() in _DATA_SUFFIXES or source.startswith("hub:")


def _arguments(
    target: Callable[..., Any],
    spec: ResponderSpec,
    common: Mapping[str, Any],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Keyword arguments that the target accepts, from all that is given.

    Raises:
        BadInput: An option does not exist, or a required argument is missing.
    """
    parameters = inspect.signature(target).parameters
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    unknown = [] if open_ended else sorted(options.keys() - parameters.keys() - OPTIONS)
    if unknown:
        choices = ", ".join(key for key in parameters if key not in common)
        hint = f"Its options are: {choices or 'none'}."
        raise BadInput(f"{spec.kind} has no option {unknown[0]!r}.", hint=hint)
    chosen = {key: value for key, value in options.items() if value is not None}
    arguments = {
        key: value
        for key, value in {**common, **spec.entry.options, **spec.options, **chosen}.items()
        if value is not None and (open_ended or key in parameters)
    }
    missing = [key for key in _required(parameters) if key not in arguments]
    if missing:
        hint = spec.entry.summary or FORMS
        raise BadInput(f"the responder {spec.kind!r} needs {' and '.join(missing)}.", hint=hint)
    return arguments


def _required(parameters: Mapping[str, inspect.Parameter]) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [
        name
        for name, parameter in parameters.items()
        if parameter.kind in kinds and parameter.default is parameter.empty
    ]


def _with_choices(error: BadInput, spec: ResponderSpec) -> BadInput:
    """The error of a model that could not be loaded, with the registered names added."""
    model = str(spec.options.get("model", ""))
    if spec.kind != "generator" or os.path.exists(model):
        return error
    names = ", ".join(name for name in RESPONDERS if name not in _INCOMPLETE)
    hint = f"{error.hint or ''} Or give NAME=FILE with responses, or choose from {names}."
    return BadInput(error.message, error.path, error.line, hint.strip())


def _checked(responder: Any, entry: Entry, name: str | None) -> Responder:
    """The responder under its name, if it has the attributes of one."""
    present = {*dir(type(responder)), *getattr(responder, "__dict__", ())}
    missing = [key for key in ("name", "signature", "stream") if key not in present]
    if missing:
        raise BadInput(
            f"{entry.target} is not a responder: it has no {', '.join(missing)}.",
            hint="See dialeval.responders.Responder for the interface.",
        )
    if name and responder.name != name:
        try:
            responder.name = name
        except AttributeError:
            hint = f"Its name is {responder.name!r}; give its class a `name` parameter."
            raise BadInput(f"{entry.target} cannot be renamed to {name!r}.", hint=hint) from None
    return cast(Responder, responder)
