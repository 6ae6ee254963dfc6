"""Fields of a request that not every chat-completions server accepts, learnt from its refusals."""

import json
import re
from contextlib import suppress
from typing import Any

RENAMED = {"max_tokens": "max_completion_tokens"}
"""Fields that newer servers know under another name."""
OPTIONAL = (*RENAMED, *RENAMED.values(), "temperature", "top_p", "seed")
"""Fields without which a server answers too, with its own default."""

_REFUSED = re.compile(
    r"unsupported|not supported|not support\b|unrecogni[sz]ed|unknown|unexpected|not permitted|"
    r"not allowed|extra inputs|deprecated",
    re.IGNORECASE,
)


class OptionalFields:
    """Which optional fields a server has refused so far."""

    def __init__(self) -> None:
        self.refused: set[str] = set()

    def fit(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body of a request as the server accepts it.

        Examples:
            >>> fields = OptionalFields()
            >>> fields.refused |= {"max_tokens", "seed"}
            >>> fields.fit({"model": "m", "max_tokens": 60, "seed": 0})
            {'model': 'm', 'max_completion_tokens': 60}
        """
        fitted = dict(body)
        for name in OPTIONAL:
            if name in self.refused and name in fitted:
                value = fitted.pop(name)
                if name in RENAMED and RENAMED[name] not in self.refused:
                    fitted.setdefault(RENAMED[name], value)
        return fitted


def refused_field(text: str) -> str:
    """The optional field that a server's reply refuses as such; empty if it refuses none.

    Examples:
        >>> refused_field("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.")
        'max_tokens'
        >>> refused_field("max_tokens is too large: 9000. The maximum is 4096.")
        ''
    """
    if not _REFUSED.search(text):
        return ""
    with suppress(ValueError, TypeError, AttributeError, LookupError):
        name = json.loads(text)["error"].get("param")
        if name in OPTIONAL:
            return str(name)
    positions = {
        match.start(): name
        for name in OPTIONAL
        if (match := re.search(rf"(?<![\w.]){name}(?!\w)", text))
    }
    return positions[min(positions)] if positions else ""
