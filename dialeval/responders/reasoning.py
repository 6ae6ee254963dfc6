"""Answers without the thoughts that some models say aloud before them."""

import re

_TAG = re.compile(
    r"<(?P<close>/?)(?:think|thinking|reasoning)>|\[(?P<ended>/?)think\]", re.IGNORECASE
)


def strip_reasoning(text: str) -> str:
    """What is left of a text without its traces of reasoning.

    A trace that was cut off goes to the end. One that has no beginning, because the chat template
    had opened it already, starts with the text.

    Example:
        >>> strip_reasoning("<think>They greet me.</think>Hello!")
        'Hello!'
        >>> strip_reasoning("They greet me.</think> Hello! <think>And now")
        'Hello!'
    """
    kept: list[str] = []
    at, inside = 0, False
    for tag in _TAG.finditer(text):  # one pass: a server may send any length
        closes = bool(tag["close"] or tag["ended"])
        if not closes and not inside:
            kept.append(text[at : tag.start()])
            inside = True
        elif closes:
            if not inside:
                kept.clear()
            at, inside = tag.end(), False
    return "".join([*kept, "" if inside else text[at:]]).strip()
