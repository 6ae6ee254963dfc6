"""Settings: dataclass default < YAML file < command line, for recipes and for commands."""

from dataclasses import dataclass, field

import pytest
import typer
from typer.testing import CliRunner

from dialeval.commands.settings import UNDERSCORES, with_settings
from dialeval.config import find_config, parse_config, read_config
from dialeval.errors import BadInput


@dataclass
class Data:
    data: list[str] = field(default_factory=lambda: ["chitchat"], metadata={"help": "Files."})
    max_pairs: int = field(default=10, metadata={"help": "Pairs at most."})
    machine: str | None = None


@dataclass
class Steps:
    learning_rate: float = 0.1
    optimizer: str = field(default="adam", metadata={"choices": ("adam", "sgd"), "help": "Which."})
    temperatures: tuple[float, ...] = (0.5, 1.0)
    resume: bool = False


def run(*argv: str) -> str:
    app = typer.Typer()

    @app.command(context_settings=UNDERSCORES)
    @with_settings(data=Data, steps=Steps)
    def command(data: Data, steps: Steps, config: str | None = None) -> None:
        print(data, steps)

    result = CliRunner().invoke(app, list(argv))
    return result.output


def test_every_field_is_an_option_with_its_default_help_and_choices():
    text = " ".join(run("--help").split())
    for part in ("--data", "Pairs at most", "[default: 10]", "adam|sgd", "--temperatures"):
        assert part in text


def test_a_file_wins_over_defaults_and_the_command_line_over_the_file(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("max_pairs: 20\nlearning_rate: 1e-3\ntemperatures: [0.3, 2]\ndata: [a, b]\n")
    text = run("--config", str(path), "--max-pairs", "30", "--resume")
    assert "data=['a', 'b'], max_pairs=30, machine=None" in text
    assert "learning_rate=0.001, optimizer='adam'" in text
    assert "temperatures=(0.3, 2.0)" in text
    assert "resume=True" in text


@pytest.mark.parametrize("text, argv, expected", [
    ("", [], True), ("control: false", [], False), ("control: true", [], True),
    ("control: false", ["--control", "true"], True), ("control: true", ["--no_control"], False),
])  # fmt: skip
def test_a_file_turns_a_switch_off_that_is_on_by_default(tmp_path, text, argv, expected):
    @dataclass
    class Switches:
        control: bool = True

    path = tmp_path / "config.yaml"
    path.write_text(text or "{}", encoding="utf-8")
    [switches] = parse_config(Switches, argv=["--config", str(path), *argv])
    assert switches.control is expected


def test_underscores_and_repeated_options_are_understood():
    text = run("--max_pairs", "3", "--data", "a", "--data", "b", "--temperatures", "2")
    assert "data=['a', 'b'], max_pairs=3" in text
    assert "temperatures=(2.0,)" in text


def test_a_value_outside_the_choices_is_refused():
    text = run("--optimizer", "adamw")
    assert "Invalid value for '--optimizer'" in text
    assert "'adamw' is not one of 'adam'" in text


def test_shipped_configs_are_found_by_the_name_of_their_paper():
    assert find_config("li2017", "discriminator").name == "discriminator_li2017.yaml"
    assert find_config("gao2021", "att").is_file()
    with pytest.raises(BadInput, match=r"no config 'li2018'.*bruni2017, default.*li2017"):
        find_config("li2018", "discriminator")


def test_only_what_the_file_says_is_read_with_the_types_of_the_fields(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("learning_rate: 1e-3\nmax_pairs: 4\n")
    assert read_config(str(path), "", Data, Steps) == {"learning_rate": 0.001, "max_pairs": 4}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_pairs: many\n", "max_pairs takes a value of type int, but got 'many'"),
        ("resume: 1\n", "resume takes a value of type bool, but got 1"),
        ("lerning_rate: 3\n", "unknown setting 'lerning_rate'.*learning_rate, machine"),
        ("- 1\n", "expected settings as `name: value` lines"),
        ("a: [1\nb: 2\n", r"x.yaml:2: expected YAML"),
    ],
)
def test_a_bad_file_is_one_clear_error(tmp_path, text, message):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        read_config(str(path), "", Data, Steps)


def test_a_recipe_refuses_a_misspelt_setting_and_lists_the_others(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("lerning_rate: 3\n")
    with pytest.raises(BadInput, match=r"lerning_rate.*The settings are data, machine, max_pairs"):
        parse_config(Data, argv=["--config", str(path)])
