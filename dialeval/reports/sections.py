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


@dataclass(frozen=True)
class AnswerView:
    """What a page says first, before its sections.

    Args:
        title (`str`):
            The answer in a few words.
        lines (`Sequence[str]`, *optional*):
            Sentences below it.
        caption (`str`, *optional*):
            What the bars show.
        ranks (`Sequence`, *optional*):
            Lines of `dialeval.reports.ranking.ranking`.
        cautions (`Sequence[str]`, *optional*):
            What to be careful about, one line each.
        details (`Sequence[str]`, *optional*):
            Paragraphs to unfold.
        summary (`str`, *optional*, defaults to `"In words"`):
            What they are about.
        tone (`str`, *optional*, defaults to `"noise"`):
            CSS class: `"good"`, `"apart"`, `"noise"` or `"open"`.
        tag (`str`, *optional*):
            The verdict, beside the title.
    """

    title: str
    lines: Sequence[str] = ()
    caption: str = ""
    ranks: Sequence[dict[str, Any]] = ()
    cautions: Sequence[str] = ()
    details: Sequence[str] = ()
    tone: str = "noise"
    summary: str = "In words"
    tag: str = ""


def render_sections(
    title: str,
    lead: str,
    sections: Sequence[SectionView],
    results: RunResults,
    files: str = "",
    answers: Sequence[AnswerView] = (),
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
        answers (`Sequence[AnswerView]`, *optional*):
            What stands first. Where there is none, the first section is unfolded.

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
            "answers": answers,
            "contents": [
                *([("answer", "Answer")] if answers else []),
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
