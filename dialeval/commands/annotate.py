"""`dialeval annotate`: the same questions as evaluators answer, for people, on a web page."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.commands.console import out, say
from dialeval.commands.data import options as o
from dialeval.commands.given import Given
from dialeval.commands.settings import with_settings
from dialeval.saved import expecting
from dialeval.settings.inputs import SidedInputSettings
from dialeval.settings.people import AnnotationRun
from dialeval.settings.usage import SET

if TYPE_CHECKING:
    from dialeval.judgements.items import Item
    from dialeval.judgements.project import Project
    from dialeval.judgements.store import JudgementStore
    from dialeval.protocols.people import AnnotationData

DATABASE = "judgements.db"


_OF_FILES = {"system_role", "pairs", "context", "max_identical"}
_OF_REPLIES = {"files", "system", "from_run", "generated", "opponent", "tests"}
_SAMPLED = {"system", "from_run", "chats", "items", "generated", "opponent", "tests"}
"""What items in a file have no use for."""
_SERVED = ("annotator", "invite", "host", "port", "public_url")


@with_settings(needs={"chat_turns": {"chats": SET}}, run=AnnotationRun, inputs=SidedInputSettings)
def annotate(
    run: AnnotationRun,
    inputs: SidedInputSettings,
    given: Given,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files with human responses, or one items.jsonl; the embedded corpus by default. "
            "Without any option the project in the output folder continues."
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(help="NAME=FILE with a system's responses, or a live system. Repeatable."),
    ] = None,
    from_run: Annotated[
        Path | None,
        typer.Option(help="Output folder of `dialeval evaluate`, whose replies are used."),
    ] = None,
    chats: Annotated[
        list[str] | None,
        typer.Option(help="NAME=FILE of `dialeval selfchat`, to compare chats. Repeatable."),
    ] = None,
    chat_turns: Annotated[int, typer.Option(help="With --chats: new turns shown.")] = 3,
    annotator: Annotated[
        list[str] | None,
        typer.Option(help="Name of an annotator who gets a personal link. Repeatable."),
    ] = None,
    invite: Annotated[
        bool, typer.Option("--invite", help="Print one link with which anyone may join.")
    ] = False,
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than loopback, links are needed.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8000,
    public_url: Annotated[
        str | None, typer.Option(help="Address that annotators use, for links.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write the judgements (.jsonl, .csv, .tsv), and stop.")
    ] = None,
    export_tasks: Annotated[
        Path | None, typer.Option(help="Write a CSV for a crowd platform, and stop.")
    ] = None,
    import_results: Annotated[
        Path | None,
        typer.Option("--import", help="Add results of a crowd platform, and stop."),
    ] = None,
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Make the project, and do not serve it.")
    ] = False,
) -> None:
    """Let people answer the questions that evaluators answer.

    Makes a project (items.jsonl, judgements.db) and serves its page on this machine. Every answer
    is on disk before the next item appears. Statistics: dialeval agreement OUTPUT_DIR.

    Example: dialeval annotate human.jsonl --system bot=bot.jsonl --task real
    """
    from dialeval.judgements.web.server import check_installed

    folder = Path(run.output_dir)
    is_new = bool(files or system or from_run or chats) or not (folder / DATABASE).is_file()
    read = set(vars(inputs)) - ({"column"} if import_results else set())
    if not is_new:
        hint = "Leave it out, or choose another --output-dir."
        reason = f"the project in {folder} has its settings already"
        given.refuse((read | set(vars(run))) - {"output_dir"}, reason, hint)
    elif files and len(files) == 1 and _has_candidates(files[0]):
        given.refuse(read | _SAMPLED, f"{files[0]} has the items already")
    elif chats:
        given.refuse(read | _OF_REPLIES, "--chats are whole conversations")
    elif from_run:
        given.refuse(_OF_FILES, "--from-run has the systems' replies already")
    if export or export_tasks or import_results or prepare:
        given.refuse(_SERVED, "no page is served")
    if is_new:
        items = _items(run, files, system, from_run, chats, chat_turns, inputs)
        store = _create(run, items)
    else:
        store = _open(folder)
    if export or export_tasks or import_results:
        _transfer(store, export, export_tasks, import_results, inputs.column or [])
        return
    _say_state(store)
    if prepare:
        return
    check_installed()
    _serve(store, host, port, public_url, annotator or [], invite)


def _items(
    run: AnnotationRun,
    files: list[str] | None,
    systems: list[str] | None,
    from_run: Path | None,
    chats: list[str] | None,
    chat_turns: int,
    inputs: SidedInputSettings,
) -> list[Item]:
    """The sampled items and test questions."""
    from dialeval.judgements.items import read_items
    from dialeval.protocols.people import attention_checks, chat_items, sample_items

    if files and len(files) == 1 and _has_candidates(files[0]):
        return read_items(files[0])
    if chats:
        return chat_items(_read_chats(chats), run.sample_size, chat_turns, run.seed)
    data = _data(run, files, systems, from_run, inputs)
    items = sample_items(
        data, run.task, run.sample_size, run.generated, run.opponent, run.seed,
        fit=run.items is None,
    )  # fmt: skip
    wanted = run.sample_size + run.generated * len(data.systems)
    if run.task == "real" and len(items) < wanted:
        contexts = f"there are {len(data.passages):,} contexts"
        say(f"{len(items):,} items instead of {wanted:,}: {contexts}.")
    if not run.tests.isdigit():
        from dataclasses import replace

        return items + [replace(item, test=True) for item in read_items(run.tests)]
    used = {item.passage for item in items}
    return items + attention_checks(data, run.task, int(run.tests), run.seed, used)


def _data(
    run: AnnotationRun,
    files: list[str] | None,
    systems: list[str] | None,
    from_run: Path | None,
    inputs: SidedInputSettings,
) -> AnnotationData:
    from dialeval.commands.evaluate import read_data
    from dialeval.dialogues import BadInput, by_author, iterate
    from dialeval.protocols.people import AnnotationData, data_of_run

    if from_run is not None:
        if systems:
            hint = "Leave out --system: the run has its systems."
            raise BadInput("--from-run cannot be combined with --system.", hint=hint)
        role = inputs.human_role or inputs.role
        options = o.read_options(inputs, allow_empty=True, side="human", role=role)
        passages, _ = o.read_files(files or ["chitchat"], options)
        return data_of_run(from_run, by_author(passages, "human"))
    limit = None if files else 4 * run.sample_size
    data = read_data(
        files, systems or [], inputs, Path(run.output_dir), limit=limit, seed=run.seed,
        allow_none=True,
    )  # fmt: skip
    replies = {
        name: {passage.id: passage.response for passage in iterate(answers)}
        for name, answers in data.systems.items()
    }
    return AnnotationData(list(iterate(data.human)), replies)


def _has_candidates(path: str) -> bool:
    """Whether a file holds items and not passages."""
    if not Path(path).is_file() or Path(path).suffix != ".jsonl":
        return False
    with Path(path).open(encoding="utf-8", errors="replace") as file:
        return '"candidates"' in file.readline()


def _read_chats(chats: list[str]) -> dict[str, list]:
    from dialeval.dialogues import BadInput, read_dialogues

    read = {}
    for text in chats:
        name, separator, path = text.partition("=")
        if not separator:
            raise BadInput(f"expected NAME=FILE, but got {text!r}.", hint="--chats bot=bot.jsonl")
        read[name] = list(read_dialogues(path))
    if len(read) < 2:
        raise BadInput("chats of two systems are needed.", hint="Give --chats twice.")
    return read


def _create(run: AnnotationRun, items: list[Item]) -> JudgementStore:
    from json import dumps

    from dialeval.files import atomic_write_text
    from dialeval.judgements.items import write_items
    from dialeval.judgements.store import JudgementStore
    from dialeval.run_folder import RunFolder

    folder = Path(run.output_dir)
    with RunFolder(folder).lock():
        store = JudgementStore.create(folder / DATABASE, _project(run), items)
        write_items(store.items.values(), folder / "items.jsonl")
        atomic_write_text(folder / "project.json", dumps(store.project.to_dict(), indent=2) + "\n")
    return store


def _project(run: AnnotationRun) -> Project:
    from dialeval.judgements.project import Project, Scale

    return Project(
        task=run.task,
        title=run.title,
        instructions=run.instructions,
        scales=tuple(Scale.parse(text) for text in run.scales),
        per_item=run.per_item,
        min_items=run.min_items,
        max_items=run.max_items,
        required=run.required,
        seed=run.seed,
    )


def _open(folder: Path) -> JudgementStore:
    from dialeval.judgements.store import JudgementStore

    with expecting("an annotation project", folder / DATABASE):
        return JudgementStore(folder / DATABASE)


def _transfer(
    store: JudgementStore,
    export: Path | None,
    export_tasks: Path | None,
    results: Path | None,
    columns: list[str],
) -> None:
    """Import, then export."""
    from dialeval.dialogues.columns import column_names
    from dialeval.judgements import write_judgements
    from dialeval.protocols.people import import_results, write_tasks

    if results:
        new, known = import_results(store, results, column_names(columns))
        say(f"Imported {new:,} answers; {known:,} were there already.")
    if export:
        rows = store.judgements()
        say(f"{len(rows):,} judgements: [bold]{write_judgements(rows, export)}[/]")
    if export_tasks:
        say(f"Items for a crowd platform: [bold]{write_tasks(store, export_tasks)}[/]")


def _say_state(store: JudgementStore) -> None:
    from rich.markup import escape

    checks = [item for item in store.items.values() if item.test]
    work, real = len(store.items) - len(checks), sum(item.truth == "real" for item in checks)
    kinds = f" ({real} real, {len(checks) - real} fake)" if store.project.task == "real" else ""
    answers = len([row for row in store.judgements() if row.is_given and not row.test])
    authors = Counter(
        candidate.author for item in store.items.values() if not item.test
        for candidate in item.candidates
    )  # fmt: skip
    shown = ", ".join(f"{count:,} {escape(author)}" for author, count in authors.most_common())
    shown = f" ({shown})" if store.project.task == "real" else ""
    say(
        f"{work:,} items of the task [bold]{store.project.task}[/]{shown}, "
        f"{len(checks)} test questions{kinds}, {store.project.per_item} annotators an item, "
        f"{answers:,} answers so far: [bold]{store.path}[/]"
    )


def _serve(
    store: JudgementStore, host: str, port: int, url: str | None, names: list[str], invite: bool
) -> None:
    from rich.markup import escape

    from dialeval.dialogues import BadInput
    from dialeval.judgements.web.server import LOOPBACK, serve

    base = (url or f"http://{host}:{port}").rstrip("/")
    store.identities.register(names)
    for name in names:
        link = f"{base}/join/{store.identities.token(name)}"
        out.print(f"{escape(name)}: {link}", soft_wrap=True)
    if invite:
        out.print(f"invitation: {base}/join/{store.identities.invitation()}", soft_wrap=True)
    if host not in LOOPBACK and not names and not invite and not store.identities.annotators():
        hint = "Name them with --annotator, or print a link for all with --invite."
        raise BadInput(f"on {host} annotators need a link.", hint=hint)
    say(f"Serving [bold]{escape(base)}[/]; stop it with Ctrl-C. Nothing is lost.")
    serve(store, host, port)
