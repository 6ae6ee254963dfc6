"""Registries: lazy, open to installed packages, and clear about what they do not know."""

import sys
from importlib.metadata import EntryPoint

import pytest

from dialeval import registry as registry_module
from dialeval.errors import BadInput
from dialeval.registry import Entry, Registry, import_object, is_object_spec

SHIPPED = Entry("path", "pathlib:Path", "A path.", {"strict": True})


def make(monkeypatch, *points: EntryPoint) -> Registry:
    monkeypatch.setattr(
        registry_module, "entry_points", lambda group: [p for p in points if p.group == group]
    )
    return Registry("thing", "dialeval.things", [SHIPPED])


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, "dialeval.things")


def test_an_entry_is_imported_only_when_it_is_loaded(monkeypatch):
    monkeypatch.delitem(sys.modules, "this", raising=False)
    registry = make(monkeypatch, point("poem", "this:s"))
    assert list(registry) == ["path", "poem"]
    assert "this" not in sys.modules
    registry.load("poem")
    assert "this" in sys.modules


def test_installed_packages_add_entries_but_replace_none(monkeypatch, caplog):
    registry = make(monkeypatch, point("counter", "collections:Counter"), point("path", "os:path"))
    from collections import Counter
    from pathlib import Path

    assert registry.load("counter") is Counter
    assert registry.load("path") is Path
    assert "'path' is already registered" in caplog.text


def test_an_object_of_any_module_is_found_by_its_path(monkeypatch):
    from collections import OrderedDict

    assert make(monkeypatch).load("collections:OrderedDict") is OrderedDict
    assert make(monkeypatch).find("collections:OrderedDict").name == "OrderedDict"


def test_a_module_in_the_working_directory_is_found(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "beside_the_user.py").write_text("class Mine: pass\n")
    assert make(monkeypatch).load("beside_the_user:Mine").__name__ == "Mine"
    with pytest.raises(
        BadInput, match=r"could not import nowhere:Mine: ModuleNotFoundError: .*\. "
    ):
        make(monkeypatch).load("nowhere:Mine")


def test_an_unknown_name_lists_the_choices_and_the_closest(monkeypatch):
    registry = make(monkeypatch, point("counter", "collections:Counter"))
    with pytest.raises(BadInput, match=r"unknown thing 'pth'.*mean 'path'.*counter, path"):
        registry.load("pth")


@pytest.mark.parametrize("target", ["no_such_package.x:Y", "collections:Nothing", "math:pi.x.y"])
def test_a_plugin_that_cannot_be_imported_is_named_with_its_package(monkeypatch, target):
    registry = make(monkeypatch, point("broken", target))
    with pytest.raises(BadInput, match=rf"could not import {target} \(registered by "):
        registry.load("broken")
    assert "broken" in registry  # listing does not import


def test_own_entries_keep_their_traceback():
    with pytest.raises(ModuleNotFoundError):
        import_object("dialeval.no_such_module:x", "dialeval")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("package:Class", True),
        ("package.module:Class.method", True),
        ("C:\\models", False),
        ("http://localhost:8000/v1", False),
        ("hub:owner/name", False),
        ("stored:runs/x.jsonl", False),
        ("parrot", False),
        (":x", False),
    ],
)
def test_object_paths_are_distinguished_from_files_and_addresses(text, expected):
    assert is_object_spec(text) is expected


def test_a_registered_entry_replaces_an_earlier_one(monkeypatch):
    registry = make(monkeypatch)
    registry.register(Entry("path", "collections:deque"))
    assert registry.load("path").__name__ == "deque"
