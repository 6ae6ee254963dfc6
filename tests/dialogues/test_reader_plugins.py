"""Readers of installed packages, through entry points that do not exist on disk."""

import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from dialeval.dialogues import BadInput, Dialogue, formats, read_passages, reader
from dialeval.dialogues.formats import _FORMATS, GROUP, _Discovery, find_format, format_of

HAIKU = "haiku: old pond / a frog jumps in / the sound of water\n"


def split_poem(source):
    """Poems: one dialogue a line, turns separated by slashes."""
    for number, line in source.filled_lines():
        with source.record(number):
            yield Dialogue.from_texts(line.removeprefix("haiku: ").strip().split(" / "))


@pytest.fixture
def install(monkeypatch):
    """Pretend that a package is installed with these modules and entry points."""
    formats()  # those of dialeval
    before = dict(_FORMATS)

    def install_package(entry_points: dict[str, str], **modules: ModuleType) -> None:
        points = [EntryPoint(name, value, GROUP) for name, value in entry_points.items()]
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setattr(sys.modules[_Discovery.__module__], "_discovery", _Discovery())
        monkeypatch.setattr(
            "dialeval.registry.entry_points",
            lambda group: [point for point in points if point.group == group],
        )

    yield install_package
    _FORMATS.clear()
    _FORMATS.update(before)


@pytest.fixture
def poems(tmp_path):
    path = tmp_path / "poems.txt"
    path.write_text(HAIKU * 2 + HAIKU.upper(), encoding="utf-8")
    return path


class Package(ModuleType):
    """A module that registers the format `haiku` when it is first used, as an import does."""

    def __getattr__(self, name):
        if name != "read_haiku":
            raise AttributeError(name)
        decorate = reader("haiku", HAIKU, lambda head: head.first.startswith("haiku: "))
        self.read_haiku = decorate(split_poem)
        return self.read_haiku


def test_a_decorated_reader_is_listed_guessed_and_used(install, poems):
    install({"haiku": "haiku_package:read_haiku"}, haiku_package=Package("haiku_package"))
    assert {"haiku", "dailydialog"} <= set(formats())
    assert format_of(poems).name == "haiku"
    assert list(read_passages(poems)["response"])[:2] == ["a frog jumps in", "the sound of water"]


def test_plugins_are_looked_for_only_once(install, monkeypatch):
    install({})
    formats()
    monkeypatch.setattr("dialeval.registry.entry_points", None)  # calling it would raise
    formats()


def test_a_plain_function_is_registered_by_the_name_of_its_entry_point(install, poems):
    package = ModuleType("poem_package")
    package.read_poems = split_poem
    install({"poem": "poem_package:read_poems"}, poem_package=package)
    assert formats()["poem"].summary.startswith("Poems: one dialogue a line")
    assert len(read_passages(poems, format="poem")) == 4  # two dialogues, one of them twice


def test_a_plugin_that_fails_is_a_warning_until_it_is_asked_for(install, poems, caplog):
    install({"broken": "no_such_package.readers:read"})
    assert "broken" not in formats()
    assert "no_such_package" in caplog.text
    assert format_of(poems, "lines").name == "lines"
    with pytest.raises(BadInput, match="could not import no_such_package.*'broken'.*package") as e:
        format_of(poems, "broken")
    assert "ModuleNotFoundError" in str(e.value)


def test_a_plugin_cannot_replace_a_format_of_dialeval(install, caplog):
    before = formats()["dailydialog"]
    package = ModuleType("poem_package")
    package.read_poems = split_poem
    install({"dailydialog": "poem_package:read_poems"}, poem_package=package)
    assert formats()["dailydialog"] is before
    assert "was not replaced" in caplog.text


def test_a_plugin_that_cannot_recognise_a_file_does_not_stop_the_others(install, poems, caplog):
    package = ModuleType("poem_package")
    package.read_poems = reader("poem", HAIKU, lambda head: head.nothing)(split_poem)
    install({"poem": "poem_package:read_poems"}, poem_package=package)
    path = poems.with_name("talk.txt")
    path.write_text("hi __eou__ hello __eou__\n")
    assert format_of(path).name == "dailydialog"
    assert "'poem' failed on" in caplog.text


@pytest.mark.parametrize("num_proc", [1, 2])
def test_a_function_can_be_named_as_module_and_object(install, poems, num_proc):
    package = ModuleType("poem_package")
    package.read_poems = split_poem
    install({}, poem_package=package)
    spec = "poem_package:read_poems"
    copy = poems.with_name("copy.txt")
    copy.write_bytes(poems.read_bytes())
    passages = read_passages([poems, copy], format=spec, num_proc=num_proc)
    assert len(passages) == 4
    assert find_format(spec).name == spec
    assert spec not in formats()


def test_a_decorated_function_named_as_an_object_keeps_its_settings(install):
    package = ModuleType("poem_package")
    install({}, poem_package=package)
    decorate = reader("poem", HAIKU, lambda head: False, whole=False, by_line=True)
    package.read_poems = decorate(split_poem)
    format = find_format("poem_package:read_poems")
    assert format.by_line and not format.whole


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("daily", "unknown format 'daily'.*Did you mean 'dailydialog'"),
        ("no_such_module:read", "could not import no_such_module:read"),
        ("dialeval.dialogues.formats:GROUP", "is no function, but a str.*yields Dialogues"),
    ],
)
def test_what_cannot_be_found_is_named(poems, name, message):
    with pytest.raises(BadInput, match=message):
        format_of(poems, name)
