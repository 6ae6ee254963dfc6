"""Pages made of sections: notes, tables and pictures, laid out by one template."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from dialeval.metrics.results import RunResults
from dialeval.reports.format import flatten
from dialeval.reports.pages import render


@dataclass(frozen=True)
class TableView:
    """A table of a page.

    Args:
        caption (`str`):
            What it shows.
        heads (`Sequence`):
            Titles of the columns, or pairs of a title and the glossary term it links to.
        rows (`Sequence`):
            Cells; the first one is the row's name. A string is escaped, a `Markup` is not.
        text (`Sequence[int]`, *optional*):
            Columns that hold text and not numbers, the first one apart.
    """

    caption: str
    heads: Sequence[str | tuple[str, str]]
    rows: Sequence[Sequence[Any]]
    text: Sequence[int] = ()


@dataclass(frozen=True)
class SectionView:
    """A section of a page.

    Args:
        id, title (`str`):
            Anchor and heading.
        notes (`Sequence[str]`, *optional*):
            Paragraphs below the heading.
        tables (`Sequence[TableView]`, *optional*):
            Tables; those without rows are left out.
        pictures (`Sequence`, *optional*):
            Pairs of an SVG and its caption.
        blocks (`Sequence[Markup]`, *optional*):
            Further HTML, already escaped.
    """

    id: str
    title: str
    notes: Sequence[str] = ()
    tables: Sequence[TableView] = ()
    pictures: Sequence[tuple[Markup, str]] = ()
    blocks: Sequence[Markup] = ()

    @property
    def filled(self) -> bool:
        """Whether there is something to show."""
        return any(table.rows for table in self.tables) or bool(self.pictures or self.blocks)


def render_sections(
    title: str, lead: str, sections: Sequence[SectionView], results: RunResults, files: str = ""
) -> str:
    """A self-contained page; sections without content are left out.

    Args:
        title, lead (`str`):
            Heading and the sentence below it.
        sections (`Sequence[SectionView]`):
            Its parts.
        results (`RunResults`):
            The run, for warnings, settings and versions.
        files (`str`, *optional*):
            Which further files stand next to the page.

    Returns:
        `str`: HTML.
    """
    shown = [section for section in sections if section.filled]
    contents = [(section.id, section.title) for section in shown]
    return render(
        "sections.html.jinja",
        {
            "title": title,
            "lead": lead,
            "sections": shown,
            "contents": [
                *contents,
                ("warnings", "Warnings"),
                ("settings", "Settings and versions"),
            ],
            "warnings": results.warnings,
            "settings": [*flatten(results.settings)] if results.settings else [],
            "versions": [*flatten(results.versions)] if results.versions else [],
            "signature": results.signature,
            "files": files,
        },
    )
