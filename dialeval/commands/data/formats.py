"""`dialeval data formats`: what can be read, each with an example."""

from dialeval.commands.console import out


def formats() -> None:
    """List the formats that can be read, each with an example."""
    from rich.markup import escape
    from rich.table import Table

    from dialeval.dialogues import formats as known

    table = Table("format", "what", "example", show_lines=True)
    for name, format in known().items():
        table.add_row(f"[bold]{name}[/]", escape(format.summary), escape(format.example))
    out.print(table)
