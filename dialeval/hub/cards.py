"""Cards: Markdown with the measured numbers, from the templates in `dialeval.cards`."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from dialeval._version import __version__


def templates() -> list[str]:
    """Names of the card templates of this installation."""
    return sorted(
        entry.name.removesuffix(".md.jinja")
        for entry in files("dialeval.cards").iterdir()
        if entry.name.endswith(".md.jinja") and entry.name[0] != "_"
    )


def render_card(name: str, /, **values: Any) -> str:
    """Render a card from a template; a missing value is an error."""
    if name not in templates():
        raise ValueError(f"Unknown card {name!r}. Choose one of {', '.join(templates())}.")
    # Cards are Markdown that the Hub turns into HTML: user text must not become tags.
    environment = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(escape_md=escape_md, code=code, with_interval=with_interval)
    return environment.get_template(f"{name}.md.jinja").render(version=__version__, **values)


def _source(name: str) -> str:
    return files("dialeval.cards").joinpath(name).read_text(encoding="utf-8")


def escape_md(text: Any) -> Markup:
    """User text as one line of Markdown without any markup.

    Examples:
        >>> print(escape_md("<b>|![x](http://a)"))
        &lt;b&gt;\\|\\!\\[x\\]\\(http://a\\)
    """
    line = " ".join(str(text).split())
    return escape(re.sub(r"([\\`*_{}\[\]()#+!|~])", r"\\\1", line))


def code(text: Any) -> Markup:
    """User text as a code span that it cannot close."""
    return Markup(f"`{escape(' '.join(str(text).replace('`', '').split()))}`")


def with_interval(row: Mapping[str, Any]) -> str:
    """A measured number with its interval, if it has one.

    Examples:
        >>> with_interval({"value": 0.7123, "low": 0.69, "high": 0.73})
        '0.712 [0.690, 0.730]'
    """
    if row["value"] is None:
        return "not measured"
    if row["low"] is None or row["high"] is None:
        return f"{row['value']:.3f}"
    return f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"


def write_dataset_card(
    folder: Path, report: Any, counts: Mapping[str, Mapping[str, int]], settings: Mapping[str, Any]
) -> Path:
    """Write `README.md` and `manifest.json` into the folder of a split corpus.

    Args:
        folder (`Path`):
            Where the parts are; created if needed.
        report (`ReadReport`):
            What reading the corpus reported.
        counts (`Mapping`):
            Dialogues and passages of each part.
        settings (`Mapping`):
            `options`, `shares` and `seed` of the split.

    Returns:
        `Path`: The card.
    """
    options = {
        key: value for key, value in asdict(settings["options"]).items() if key != "num_proc"
    }
    manifest = {
        "dialeval": __version__,
        "signature": split_signature(settings["shares"], settings["seed"], options),
        "sources": {Path(path).name: name for path, name in report.formats.items()},
        "dialogues": report.dialogues,
        "duplicate_dialogues": report.duplicate_dialogues,
        "filtered": report.filtered,
        "skipped": len(report.problems),
        "parts": {name: dict(numbers) for name, numbers in counts.items()},
        "shares": dict(settings["shares"]),
        "seed": settings["seed"],
        "options": options,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(
        json.dumps(manifest, ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
    )
    card = folder / "README.md"
    card.write_text(render_card("dataset", **manifest), encoding="utf-8")
    return card


def split_signature(shares: Mapping[str, float], seed: int, options: Mapping[str, Any]) -> str:
    """How parts were made, in one line.

    Args:
        shares (`Mapping[str, float]`):
            Share of each part.
        seed (`int`):
            Seed of the split.
        options (`Mapping`):
            Settings of the reader.

    Returns:
        `str`: The signature.

    Examples:
        >>> split_signature({"a": 0.5, "b": 0.5}, 0, {"cut": {"context_turns": None}})
        'split|parts:a=0.5,b=0.5|ctx:2|seed:0|v:0.2.0'
    """
    parts = ",".join(f"{name}={share:g}" for name, share in shares.items())
    turns = options["cut"]["context_turns"] or 2
    return f"split|parts:{parts}|ctx:{turns}|seed:{seed}|v:{__version__}"
