"""Responders by specification: how it is parsed, what is built, and that the seed arrives."""

import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

import dialeval.registry
from dialeval.dialogues import BadInput, to_passages, write_passages
from dialeval.registry import Registry
from dialeval.responders import RESPONDERS, answer, load_responder, parse_spec, registry, respond
from dialeval.responders.generators import save_generator
from tests.conftest import talk
from tests.responders.endpoint_server import serving


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(build, tmp_path):
    """A saved tiny generator."""
    return str(save_generator(build("gpt2"), tmp_path / "tiny"))


class Shouter:
    """A responder of another package: random, with its own options."""

    def __init__(self, seed=0, name="shouter", mark="!"):
        self.seed, self.name, self.mark = seed, name, mark

    @property
    def signature(self):
        return f"shouter{self.mark}|seed:{self.seed}"

    def stream(self, passages):
        for index, passage in enumerate(passages):
            text = passage.context[-1].text.upper() + self.mark
            yield index, answer(passage, text, self)


class Nameless:
    """Not a responder."""


@pytest.fixture
def package(monkeypatch):
    """An importable package with the classes above."""
    module = ModuleType("strangers")
    module.Shouter, module.Nameless = Shouter, Nameless
    monkeypatch.setitem(sys.modules, "strangers", module)


@pytest.mark.parametrize(
    ("text", "kind", "name", "options"),
    [
        ("parrot", "parrot", None, {}),
        ("polly=parrot", "polly", "polly", {}),
        ("constant", "constant", None, {}),
        ("constant:a = b", "constant", None, {"text": "a = b"}),
        ("dull=constant:no: never", "constant", "dull", {"text": "no: never"}),
        ("stored:x/y.jsonl", "stored", None, {"path": "x/y.jsonl"}),
        ("bot=missing.jsonl", "stored", "bot", {"path": "missing.jsonl"}),
        ("smollm2", "smollm2", None, {}),
        ("Qwen/Qwen2.5-0.5B", "generator", None, {"model": "Qwen/Qwen2.5-0.5B"}),
        ("q=Qwen/Qwen2.5-0.5B", "generator", "q", {"model": "Qwen/Qwen2.5-0.5B"}),
        ("m.gguf", "generator", None, {"model": "m.gguf"}),
        ("m@http://h:1/v1", "endpoint", None, {"model": "m", "url": "http://h:1/v1"}),
        ("b=m@https://h/v1?k=v", "endpoint", "b", {"model": "m", "url": "https://h/v1?k=v"}),
    ],
)
def test_a_specification_is_parsed(text, kind, name, options):
    spec = parse_spec(text)
    assert spec.kind == ("parrot" if kind == "polly" else kind)
    assert (spec.name, dict(spec.options)) == (name, options)


def test_existing_paths_may_contain_an_equals_sign(tmp_path):
    (tmp_path / "lr=3").mkdir()
    (tmp_path / "lr=3" / "out.jsonl").touch()
    (tmp_path / "generator").mkdir()
    assert parse_spec("lr=3").options == {"model": "lr=3"}
    assert parse_spec("lr=3/out.jsonl").options == {"path": "lr=3/out.jsonl"}
    assert parse_spec("generator").options == {"model": "generator"}


@pytest.mark.parametrize("text", ["", "=x.jsonl", "bot=", "@http://localhost:1"])
def test_an_incomplete_specification_lists_the_forms(text):
    with pytest.raises(BadInput, match="name=model@http"):
        parse_spec(text)


def test_a_broken_url_is_refused():
    with pytest.raises(BadInput, match="the URL of x cannot be read: Invalid IPv6 URL"):
        parse_spec("x@http://[")


def test_a_password_is_refused_and_not_repeated():
    with pytest.raises(BadInput, match="OPENAI_API_KEY") as raised:
        load_responder("m@http://me:secret@localhost:1/v1")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("text", ["parrot", "random", "next", "constant", "retrieval"])
def test_simple_responders_are_loaded_by_name(text, monkeypatch):
    monkeypatch.setattr("dialeval.responders.retrieval.MiniLm", lambda: _letters)
    pool = talk(dialogues=4, turns=4)
    passages = [passage for passage in pool if passage.following]
    responses = respond(load_responder(f"system={text}", pool=pool), passages)
    assert {passage.author for passage in responses} == {"system"}
    assert len(responses) == len(passages)


def _letters(texts):
    return [[text.count("e") + 1.0, len(text)] for text in texts]


def test_stored_responses_are_read(tmp_path):
    human = talk(dialogues=2, turns=3)
    answers = [passage.with_response(f"to {passage.id}", "old") for passage in human]
    path = write_passages(to_passages(answers), tmp_path / "answers.jsonl")
    for text in (f"stored:{path}", str(path), f"old={path}"):
        responder = load_responder(text)
        assert [r.response for r in respond(responder, human)] == [r.response for r in answers]
        assert responder.name == "old"


@pytest.mark.parametrize("text", ["random", "retrieval"])
def test_a_missing_pool_is_an_error(text):
    with pytest.raises(BadInput, match=f"'{text}' needs pool"):
        load_responder(text)


@pytest.mark.parametrize(
    ("text", "missing"), [("endpoint", "model and url"), ("generator", "model")]
)
def test_names_that_need_more_say_what(text, missing):
    with pytest.raises(BadInput, match=f"needs {missing}"):
        load_responder(text)


def test_unknown_names_and_options_are_refused(package):
    with pytest.raises(BadInput, match="choose from parrot, random") as raised:
        load_responder("parot")
    assert "NAME=FILE" in str(raised.value)
    with pytest.raises(BadInput, match="no option 'mood'"):
        load_responder("parrot", mood="good")
    with pytest.raises(BadInput, match="could not import"):
        load_responder("no_such_package:Thing")
    with pytest.raises(BadInput, match="not a responder: it has no name, signature, stream"):
        load_responder("strangers:Nameless")


def test_options_of_models_are_ignored_by_others():
    assert load_responder("parrot", n=3, device="cpu", system_prompt="Be kind.").name == "parrot"


def _responses(folder, contexts, **options):
    responder = load_responder(folder, max_new_tokens=8, device="cpu", n=2, **options)
    return [passage.response for passage in respond(responder, contexts)]


def test_the_seed_reaches_a_generator(folder, contexts):
    samples = [_responses(folder, contexts, seed=seed) for seed in (0, 0, 1)]
    assert samples[0] == samples[1] != samples[2]
    assert _responses(folder, contexts) == samples[0]


def test_decoding_and_its_settings_reach_a_generator(folder, contexts):
    greedy = load_responder(folder, decoding="greedy", seed=3, device="cpu", name="bot")
    assert "Greedy" in greedy.signature and greedy.name == "bot"
    cold = load_responder(folder, settings={"temperature": 0.5}, device="cpu")
    assert "temperature=0.5" in cold.signature


def test_the_seed_reaches_the_requests_of_a_server(contexts):
    seeds = []
    with serving() as server:
        for seed in (0, 0, 1):
            server.bodies.clear()
            responder = load_responder(f"bot=tiny@{server.url}", seed=seed, max_new_tokens=7)
            responses = respond(responder, contexts)
            assert {passage.author for passage in responses} == {"bot"}
            seeds.append(sorted(body["seed"] for body in server.bodies))
        assert {body["max_tokens"] for body in server.bodies} == {7}
        assert not any("temperature" in body for body in server.bodies)
    assert seeds[0] == seeds[1]
    assert not set(seeds[0]) & set(seeds[2])


def test_a_server_decodes_greedily_or_by_sampling():
    def load(**options):
        return load_responder("m@http://localhost:1/v1", **options)

    assert load(decoding="greedy").temperature == 0
    assert load(settings={"temperature": 0.3}).temperature == 0.3
    with pytest.raises(BadInput, match="sampling or greedy"):
        load(decoding="beam")
    with pytest.raises(BadInput, match="no setting 'top_k'"):
        load(settings={"top_k": 3})


def test_the_seed_reaches_simple_responders():
    pool = talk(dialogues=30, turns=6)
    for text in ("parrot", "random"):
        samples = [
            [r.response for r in respond(load_responder(text, pool=pool, seed=seed), pool)]
            for seed in (0, 0, 1)
        ]
        assert samples[0] == samples[1] != samples[2]


def test_a_class_of_another_package_is_used(package):
    responder = load_responder("loud=strangers:Shouter", seed=5, mark="?")
    assert (responder.name, responder.signature) == ("loud", "shouter?|seed:5")
    assert respond(responder, talk(1, 2))[0].response.endswith("?")


def test_an_installed_package_adds_responders(package, monkeypatch):
    point = EntryPoint("shouter", "strangers:Shouter", "dialeval.responders")
    clash = EntryPoint("parrot", "strangers:Shouter", "dialeval.responders")
    monkeypatch.setattr(dialeval.registry, "entry_points", lambda group: [point, clash])
    built_in = [entry for entry in RESPONDERS.values() if entry.source == "dialeval"]
    monkeypatch.setattr(
        registry, "RESPONDERS", Registry("responder", "dialeval.responders", built_in)
    )
    responder = load_responder("shouter", seed=2)
    assert responder.signature == "shouter!|seed:2"
    assert load_responder("parrot").signature.startswith("responder:parrot")  # not replaced
