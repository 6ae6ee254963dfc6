"""DailyDialog (Li et al., 2017b): one dialogue a line."""

from collections.abc import Iterator

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue

_END = "__eou__"


def _recognise(head: Head) -> bool:
    return _END in head.first and "__eot__" not in head.first and not head.first.startswith("{")


@reader(
    "dailydialog",
    example="Good morning . __eou__ Morning ! Coffee ? __eou__ Please . __eou__",
    recognise=_recognise,
    by_line=True,
)
def read_dailydialog(source: Source) -> Iterator[Dialogue]:
    """DailyDialog: one dialogue a line, every turn ends with `__eou__`."""
    for number, line in source.filled_lines():
        with source.record(number):
            turns = [turn.strip() for turn in line.split(_END)]
            if turns[-1]:
                raise BadInput(f"expected {_END} at the end of the last turn.")
            if not all(turns[:-1]):
                raise BadInput(f"turn {turns.index('') + 1} is empty.")
            yield Dialogue.from_texts(turns[:-1], corpus="dailydialog", language="en")
