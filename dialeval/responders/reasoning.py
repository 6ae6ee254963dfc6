"""Answers without the thoughts that some models say aloud before them."""

import re

_OPEN = r"(?:<(?:think|thinking|reasoning)>|\[think\])"
_CLOSE = r"(?:</(?:think|thinking|reasoning)>|\[/think\])"
_CLOSED = re.compile(f"{_OPEN}.*?{_CLOSE}", re.DOTALL | re.IGNORECASE)
_ONLY_CLOSED = re.compile(f".*{_CLOSE}", re.DOTALL | re.IGNORECASE)
_ONLY_OPENED = re.compile(f"{_OPEN}.*", re.DOTALL | re.IGNORECASE)


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
    text = _CLOSED.sub("", text)
    return _ONLY_OPENED.sub("", _ONLY_CLOSED.sub("", text)).strip()
