"""`dialeval data`: read, describe, convert, split, pair and check corpora."""

import typer

from dialeval.commands.data import convert, describe, formats, leaks, overlap, pair, split

app = typer.Typer(
    help="Read, describe, convert, split, pair and check dialogue data.", no_args_is_help=True
)
app.command("formats")(formats.formats)
app.command("describe")(describe.describe)
app.command("convert")(convert.convert)
app.command("split")(split.split)
app.command("pair")(pair.pair)
app.command("overlap")(overlap.overlap)
app.command("leaks")(leaks.leaks)
