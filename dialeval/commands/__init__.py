"""The `dialeval` command line: one file per command, heavy imports inside the commands."""

import logging
import os
import signal
import sys
import threading
from typing import Any

import typer
from typer.core import TyperGroup

from dialeval._version import __version__
from dialeval.commands import (
    agreement,
    analyse,
    annotate,
    audit,
    card,
    check,
    compare,
    data,
    demo,
    ere,
    evaluate,
    generate,
    list,
    panel,
    perturb,
    pull,
    push,
    register,
    report,
    robustness,
    score,
    selfchat,
    spaces,
    train,
    train_generator,
    transfer,
)
from dialeval.commands.settings import UNDERSCORES
from dialeval.errors import BadInput, sentence_of
from dialeval.progress import prepare_libraries
from dialeval.terminal import prepare_streams


class _Commands(TyperGroup):
    """All commands; a file that ends too early is said, where click would print "Aborted."."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except EOFError as error:
            hint = "Copy or download it again."
            raise BadInput(f"a file ends too early: {error}.", hint=hint) from error


app = typer.Typer(
    cls=_Commands,
    help="Can a dialogue system's replies be distinguished from a human's, and can that answer be "
    "trusted?",
    epilog="Start with `dialeval demo`, or with your own files: "
    "`dialeval evaluate --human human.jsonl --system my-bot=bot.jsonl`",
    no_args_is_help=True,
    rich_markup_mode="markdown",  # lines of a paragraph are joined
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
GROUPS: dict[str, dict[str, Any]] = {
    "Is it distinguishable?": {
        "evaluate": evaluate.evaluate,
        "compare": compare.compare,
        "check": check.check,
        "report": report.report,
        "ere": ere.ere,
        "panel": panel.panel,
        "transfer": transfer.transfer,
        "robustness": robustness.robustness,
    },
    "Data": {
        "data": data.app,
        "audit": audit.audit,
        "perturb": perturb.perturb,
    },
    "Discriminators and generators": {
        "train": train.train,
        "score": score.score,
        "analyse": analyse.analyse,
        "train-generator": train_generator.train_generator,
        "generate": generate.generate,
        "selfchat": selfchat.selfchat,
    },
    "People": {"annotate": annotate.annotate, "agreement": agreement.agreement},
    "The Hub": {"push": push.push, "pull": pull.pull, "card": card.card, "spaces": spaces.app},
    "dialeval": {"demo": demo.demo, "list": list.list_, "register": register.register},
}
"""Commands by what they are for, in the order of `dialeval --help`."""
_WITH_UNDERSCORES = ("train", "train-generator")


def _add_commands() -> None:
    for group, commands in GROUPS.items():
        for name, command in commands.items():
            if isinstance(command, typer.Typer):
                app.add_typer(command, name=name, rich_help_panel=group)
                continue
            settings = UNDERSCORES if name in _WITH_UNDERSCORES else None
            app.command(name, context_settings=settings, rich_help_panel=group)(command)


_add_commands()


def _version(wanted: bool) -> None:
    if wanted:
        print(f"dialeval {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    pass


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


def main() -> None:
    """Run the command line; bad input ends in one clear sentence, not in a traceback."""
    prepare_streams()
    _clean_up_on_sigterm()
    prepare_libraries()
    try:
        _check_arguments()
        app()
    except Exception as error:
        from dialeval.commands.console import say_error

        message = sentence_of(error)
        if message is None or os.environ.get("DIALEVAL_TRACEBACK"):
            raise
        say_error(message)
        sys.exit(2)
    finally:
        logging.disable(logging.NOTSET)  # of DIALEVAL_QUIET, where the process goes on
