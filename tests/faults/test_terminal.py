"""Names and data of unknown origin cannot style, move or break the terminal."""

import errno
import io

import pytest

from dialeval.errors import BadInput, sentence_of
from dialeval.settings.checks import check_settings
from dialeval.settings.training import DiscriminatorConfig, GeneratorConfig
from dialeval.terminal import SafeConsole


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("[bold]name[/]", "name"),
        ("a [/b] b", "a [/b] b"),
        ("[link=http://x]y[/link]", "[link=http://x]y[/link]"),
        ("[/] [/]", "[/] [/]"),
        ("\x1b]0;title", r"\x1b]0;title"),
        (":smile:", ":smile:"),
    ],
)
def test_only_our_styles_are_markup(text, printed):
    file = io.StringIO()
    SafeConsole(file=file, width=80).print(text)
    assert file.getvalue() == f"{printed}\n"


@pytest.mark.parametrize("number", sorted(errno.errorcode))
def test_every_error_of_the_system_is_a_sentence(number):
    message = sentence_of(OSError(number, "reason", "a.jsonl"))
    assert message and message.startswith("a.jsonl: ") and "\n" not in message


@pytest.mark.parametrize("schema", [DiscriminatorConfig, GeneratorConfig])
@pytest.mark.parametrize(
    "values",
    [
        {"epochs": -1}, {"batch_size": 0}, {"batch_size": -16}, {"learning_rate": float("nan")},
        {"learning_rate": 0.0}, {"seed": -1}, {"max_steps": 0}, {"checkpoint_every": 0},
        {"epochs": True}, {"seed": 2**40}, {"optimizer": ""}, {"batch_size": 10**30},
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used_are_refused_where_they_are_defined(schema, values):
    with pytest.raises(BadInput, match=f"`{next(iter(values))}` "):
        schema(**values)
    check_settings(schema())
