"""Responses without the reasoning that some models write before them."""

import re

_TAG = re.compile(
    r"<(?P<close>/?)(?:think|thinking|reasoning)>|\[(?P<ended>/?)think\]", re.IGNORECASE
)


def strip_reasoning(text: str) -> str:
    """The text without its traces of reasoning.

    A trace without a closing tag extends to the end of the text. One without an opening tag,
    because the chat template contained it, starts at the beginning.

    Examples:
        >>> strip_reasoning("<think>They greet me.</think>Hello!")
        'Hello!'
        >>> strip_reasoning("They greet me.</think> Hello! <think>And now")
        'Hello!'
    """
    kept: list[str] = []
    start, inside = 0, False
    for tag in _TAG.finditer(text):  # one pass: a server may send any length
        closes = bool(tag["close"] or tag["ended"])
        if not closes and not inside:
            kept.append(text[start : tag.start()])
            inside = True
        elif closes:
            if not inside:
                kept.clear()
            start, inside = tag.end(), False
    return "".join([*kept, "" if inside else text[start:]]).strip()
