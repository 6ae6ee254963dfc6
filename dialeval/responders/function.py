"""A Python function as a system."""

from collections.abc import Callable, Iterator, Sequence

from dialeval.dialogues import BadInput, Passage, Passages
from dialeval.dialogues.storage import iterate_passages
from dialeval.responders.base import answer


class FunctionResponder:
    """A Python function as a system.

    Args:
        function (`Callable[[list[str]], str]`):
            From the texts of a context to a response.
        name (`str`):
            Name in tables.

    Examples:
        >>> from dialeval.dialogues import Passage, Turn
        >>> shout = FunctionResponder(lambda turns: turns[-1].upper(), "shout")
        >>> [(index, answer.response) for index, answer in
        ...  shout.stream([Passage((Turn("A", "hi"),), "hello")])]
        [(0, 'HI')]
    """

    def __init__(self, function: Callable[[list[str]], str], name: str):
        self.function, self.name = function, name

    @property
    def signature(self) -> str:
        """Name of the function; its code is not known."""
        return f"function:{getattr(self.function, '__qualname__', self.name)}"

    def stream(self, passages: Passages | Sequence[Passage]) -> Iterator[tuple[int, Passage]]:
        """The index of each passage, with the function's response."""
        for index, passage in enumerate(iterate_passages(passages)):
            text = self.function([turn.text for turn in passage.context])
            if not isinstance(text, str):
                raise BadInput(
                    f"{self.name} returned {text!r:.80} for the context of passage {index}.",
                    hint="Return the response as a text.",
                )
            yield index, answer(passage, text, self)
