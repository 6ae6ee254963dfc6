"""Corpora of the tables: human passages with the systems that come with them."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from dialeval.dialogues import Passage, Passages, Turn, authors, by_author, read, to_passages
from dialeval.dialogues.splits import sample_dialogues
from dialeval.protocols.evaluation.inputs import EvaluationData, align
from dialeval.responders.base import respond
from dialeval.responders.registry import load_responder

HUMAN, PARROT = "human", "parrot"
EMBEDDED = "chitchat"


def corpus_path(data: Path, path: str) -> Path | str:
    """The path inside the folder of corpora, or the name of the embedded corpus."""
    return path if path == EMBEDDED else data / path


def load_systems(
    path: Path | str,
    contexts: int,
    seed: int,
    only: Sequence[str] = (),
    live: Sequence[str] = (PARROT,),
) -> EvaluationData:
    """Human passages of a corpus and all of its systems, or those that are named.

    Args:
        path (`Path` or `str`):
            The corpus; `multirefeval` has an HRED's replies to DailyDialog's test part.
        contexts (`int`):
            Contexts at most.
        seed (`int`):
            Seed of the choice.
        only (`Sequence[str]`, *optional*):
            Systems; all by default.
        live (`Sequence[str]`, *optional*):
            Live systems that answer a corpus without systems; a parrot by default.

    Returns:
        `EvaluationData`: Aligned by context.
    """
    passages = _multiref(Path(path)) if Path(path).name == "multirefeval" else read(path)[0]
    human = sample_dialogues(by_author(passages, HUMAN), contexts, seed)
    names = [name for name in authors(passages) if name != HUMAN and (not only or name in only)]
    systems = {name: by_author(passages, name) for name in names}
    if not systems:
        systems = {
            name: to_passages(respond(load_responder(name, seed=seed), human)) for name in live
        }
    return align(human, systems)


def _multiref(folder: Path) -> Passages:
    """DailyDialog's test part with an HRED's reply to every turn, all in lower case."""
    lines = (folder / "hredf.txt").read_text("utf-8").split("\n")
    numbers = json.loads((folder / "test_duid_mapping.json").read_text("utf-8"))
    dialogues = (folder / "multireftest.json").read_text("utf-8").splitlines()

    def passages() -> Iterator[Passage]:
        for index, line in enumerate(dialogues):
            texts = [turn["text"].lower() for turn in json.loads(line)["dialogue"]]
            turns = tuple(Turn("AB"[at % 2], text) for at, text in enumerate(texts))
            for at in range(1, len(turns)):
                key = f"{index}_{at - 1}"
                if key not in numbers:
                    continue
                following = texts[at + 1] if at + 1 < len(texts) else None
                row = Passage(turns[:at][-2:], texts[at], HUMAN, key, f"d{index}",
                              following=following)  # fmt: skip
                yield row
                yield row.with_response(lines[numbers[key] - 1], "HRED")

    return to_passages(passages())
