"""Strategies of other packages: by entry point, and as `package.module:Class`."""

import logging
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

import dialeval.registry
from dialeval.dialogues import BadInput, Passage, Turn, iterate, to_passages
from dialeval.perturbations import (
    Edit,
    Perturbation,
    available,
    perturb,
    perturbation,
    perturbations,
)
from dialeval.perturbations.registry import GROUP, strategies


@pytest.fixture
def package(monkeypatch):
    """A module `guest_package` of another distribution; its strategies leave the registry."""

    @dataclass(frozen=True)
    class Shout(Perturbation):
        """Ends an utterance with an exclamation mark."""

        name = "guest-shout"
        kind = "should_not_change"
        languages = None

        mark: str = "!"

        def edits(self, text, rng):
            return [Edit(len(text), "", self.mark)]

    @dataclass(frozen=True)
    class Nameless(Shout):
        name = ""

    class Abstract(Perturbation):
        name = "guest-abstract"
        kind = "should_change"

    module = ModuleType("guest_package")
    module.Shout, module.Nameless, module.Abstract, module.text = Shout, Nameless, Abstract, "text"
    monkeypatch.setitem(sys.modules, "guest_package", module)
    yield module
    Shout.name = Abstract.name = ""


@pytest.fixture
def install(monkeypatch):
    """Declare entry points (name to target) as if a package had been installed."""

    def declare(**targets):
        points = [EntryPoint(name.replace("_", "-"), t, GROUP) for name, t in targets.items()]

        def entry_points(*, group):
            return [point for point in points if point.group == group]

        monkeypatch.setattr(dialeval.registry, "entry_points", entry_points)

    return declare


def test_an_entry_point_is_listed_and_used_by_its_name(package, install):
    install(guest_shout="guest_package:Shout")
    assert "guest-shout" in available("should_not_change", "de")
    assert perturbation("guest-shout", mark="!!").signature.endswith("Shout(mark='!!')")
    assert "guest-shout" in [strategy.name for strategy in perturbations("all")]
    passages = to_passages([Passage((Turn("A", "Hello"),), "Hi", id="a", language="en")])
    (passage,) = iterate(perturb(passages, *perturbations("guest-shout")).passages)
    assert passage.context[0].text == "Hello!"


def test_a_class_is_named_by_its_module(package, install):
    install()
    (strategy,) = perturbations(
        "guest_package:Shout", options={"guest_package:Shout": {"mark": "?"}}
    )
    assert strategy("Hello") == "Hello?"
    assert perturbation("dialeval.perturbations.words:RandomSwap") == perturbation("random-swap")


def test_a_plugin_is_imported_only_when_it_is_needed(install):
    install(broken="no_such_package.module:Strategy")
    assert perturbation("random-swap").name == "random-swap"
    assert "no_such_package" not in sys.modules


def test_a_plugin_that_cannot_be_imported_is_named_when_it_is_used(install, caplog):
    install(broken="no_such_package.module:Strategy")
    with pytest.raises(BadInput, match=r"could not import no_such_package\.module:Strategy"):
        perturbation("broken")
    with caplog.at_level(logging.WARNING):
        names = available()
    assert "broken" not in names and "random-swap" in names
    assert "no_such_package" in caplog.text
    with pytest.raises(BadInput, match=r"unknown strategy 'brokn'.*Did you mean 'broken'"):
        perturbation("brokn")


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("guest_package:text", "is not a subclass of dialeval.perturbations.Perturbation"),
        ("guest_package:Nameless", "needs a `name` and a `kind`"),
        ("guest_package:Abstract", "does not implement `edits`"),
        ("guest_package:Missing", "could not import guest_package:Missing"),
    ],
)
def test_what_is_not_a_strategy_is_refused(package, install, target, problem):
    install(guest=target)
    for name in ("guest", target):
        with pytest.raises(BadInput, match=problem):
            perturbation(name)


def test_a_plugin_cannot_replace_a_strategy_of_dialeval(package, install, caplog):
    install(antonym="guest_package:Shout")
    package.Shout.name = "antonym"
    with caplog.at_level(logging.WARNING):
        assert strategies()["antonym"].__module__ == "dialeval.perturbations.antonyms"
    assert "already registered and was not replaced" in caplog.text
    assert type(perturbation("antonym")).__module__ == "dialeval.perturbations.antonyms"
