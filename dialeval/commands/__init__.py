"""The `dialeval` command line: one file per command, and only the wanted one is imported."""

import logging
import os
import signal
import sys
import threading
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from dialeval._version import __version__
from dialeval.errors import STOPPED, BadInput, sentence_of
from dialeval.progress import prepare_libraries
from dialeval.terminal import prepare_streams

GROUPS = {
    "Is it distinguishable?": {
        "evaluate": "Can the responses of dialogue systems be distinguished from those of humans?",
        "compare": "Compare every two systems, of one run or of several, on the contexts that both "
        "answered.",
        "check": "Check a run against limits and verdicts, for continuous integration.",
        "report": "Write the report of a finished run again; nothing is computed again.",
        "ere": "Test evaluators where the right answer is known: the evaluator reliability error "
        "(ERE).",
        "panel": "Compare the rankings of a run's evaluators: Kendall's tau, what all agree on.",
        "transfer": "Train an evaluator on random replies, on each system and on all; apply each "
        "to every system.",
        "robustness": "Compare replies to normal and perturbed contexts.",
    },
    "Data": {
        "data": "Read, describe, convert, split, pair and check dialogue data.",
        "audit": 'Estimate which share of "human" replies machines wrote.',
        "perturb": "Edit the contexts of passages, not the responses.",
    },
    "Discriminators and generators": {
        "train": "Train a discriminator and report its held-out accuracy beside its baselines.",
        "score": "Score stored responses: one row per passage with score, decision and tokens "
        "used.",
        "analyse": "What a discriminator looks at: length, words, attention, context, likelihood.",
        "train-generator": "Train a generator and report its perplexity, with sample responses.",
        "generate": "Respond to contexts. If a run was stopped, the same command resumes it.",
        "selfchat": "Let two responders chat, starting from contexts of a corpus.",
    },
    "People": {
        "annotate": "Let people answer the questions that evaluators answer.",
        "agreement": "Statistics of human judgements.",
    },
    "The Hub": {
        "push": "Push a model or a run with its card; read the card first with dialeval card.",
        "pull": "Pull a model, a data set or an evaluation, and print its folder and revision.",
        "card": "Print the card of a model or a run.",
        "spaces": "Metrics as Spaces: push them, or serve one on this machine.",
    },
    "dialeval": {
        "demo": "Show every step on the embedded corpus: data, leaks, systems, evaluation, "
        "robustness.",
        "list": "List evaluators, responders, decodings, perturbations, readers or metrics.",
        "register": "Write the metric modules to the cache of evaluate, and print their paths.",
    },
}
"""Commands by what they are for, in the order of `dialeval --help`, which shows these sentences."""
_WITH_UNDERSCORES = ("train", "train-generator")


class _Commands(TyperGroup):
    """All commands; a file that ends too early is said, where click would print "Aborted."."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # click would say nothing
            _stop()
        except EOFError as error:
            hint = "Copy or download it again."
            raise BadInput(f"a file ends too early: {error}.", hint=hint) from error


def build_app(only: str | None = None) -> typer.Typer:
    """The command line.

    Args:
        only (`str`, *optional*):
            The command that will run. The others are then listed by name without importing their
            modules, which is most of the time that `dialeval --help` takes.

    Returns:
        `typer.Typer`: With every command.
    """
    app = typer.Typer(
        cls=_Commands,
        help="Can a dialogue system's replies be distinguished from a human's, and can that answer "
        "be trusted?",
        epilog="Start with `dialeval demo`, or with your own files: "
        "`dialeval evaluate --human human.jsonl --system my-bot=bot.jsonl`",
        no_args_is_help=True,
        rich_markup_mode="markdown",  # lines of a paragraph are joined
        pretty_exceptions_show_locals=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for group, commands in GROUPS.items():
        for name, summary in commands.items():
            _add_command(app, name, only in (None, name), group, summary)
    return app


def _add_command(app: typer.Typer, name: str, load: bool, group: str, summary: str) -> None:
    """Add a command or a group of commands, imported or only by its name."""
    if not load:
        app.command(name, rich_help_panel=group, short_help=summary)(_not_loaded)
        return
    word = name.replace("-", "_")
    module = import_module(f"dialeval.commands.{word}")
    if hasattr(module, "app"):
        app.add_typer(module.app, name=name, rich_help_panel=group, short_help=summary)
        return
    from dialeval.commands.settings import UNDERSCORES

    command = getattr(module, f"{word}_" if word == "list" else word)
    settings = UNDERSCORES if name in _WITH_UNDERSCORES else None
    app.command(name, context_settings=settings, rich_help_panel=group, short_help=summary)(command)


def _not_loaded() -> None:
    raise RuntimeError("this command was not imported")


def __getattr__(name: str) -> Any:
    """`app`, the command line with every command imported: for documentation and tests."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = build_app()
    return globals()["app"]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"dialeval {__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    pass


def _wanted(arguments: list[str]) -> str | None:
    """The command that these arguments name; `None` where the shell asks for completions."""
    if "_DIALEVAL_COMPLETE" in os.environ:
        return None
    return next((word for word in arguments if not word.startswith("-")), "")


def _check_arguments() -> None:
    """Refuse arguments that are no UTF-8: no file can store them."""
    for argument in sys.argv[1:]:
        if not argument.isascii() and argument != argument.encode("utf-8", "replace").decode():
            hint = "Write it in UTF-8, or rename the file."
            raise BadInput(f"the argument {argument!r} is no UTF-8 text.", hint=hint)


def _clean_up_on_sigterm() -> None:
    """Let a process that is asked to end remove its temporary files, as after Ctrl-C."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def _stop() -> NoReturn:
    """End after Ctrl-C, with the code of a shell."""
    print(f"\n{STOPPED}", file=sys.stderr)
    sys.exit(128 + signal.SIGINT)


def main() -> None:
    """Run the command line; bad input ends in one clear sentence, not in a traceback."""
    prepare_streams()
    _clean_up_on_sigterm()
    prepare_libraries()
    try:
        _check_arguments()
        build_app(_wanted(sys.argv[1:]))()
    except KeyboardInterrupt:  # while modules are imported
        _stop()
    except Exception as error:
        from dialeval.commands.console import say_error

        message = sentence_of(error)
        if message is None or os.environ.get("DIALEVAL_TRACEBACK"):
            raise
        say_error(message)
        sys.exit(2)
    finally:
        logging.disable(logging.NOTSET)  # of DIALEVAL_QUIET, where the process goes on
