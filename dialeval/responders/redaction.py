"""Messages without the secrets that a server may echo in them."""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import quote

_START = 6  # a word that only starts like a secret may be half of it
_LONGEST = 4_000


def redact(text: str, secrets: Iterable[str]) -> str:
    """The start of a text, with `***` for every word that has a secret in it.

    A secret is recognised as it is, percent-encoded, and as part of anything in base64.

    Examples:
        >>> redact("Bad key sk-abcdefgh, try again", ["sk-abcdefgh"])
        'Bad key *** try again'
        >>> redact("Authorization: Basic bWU6c2VjcmV0LXdvcmQ=", ["secret-word"])
        'Authorization: Basic ***'
    """
    forms = {form for secret in secrets if secret for form in _forms(secret)}
    if not forms:
        return text[:_LONGEST]
    pattern = re.compile("|".join(map(re.escape, sorted(forms))), re.IGNORECASE)
    words = re.split(r"(\s+)", text[:_LONGEST])
    return "".join("***" if pattern.search(word) else word for word in words)


def _forms(secret: str) -> Iterator[str]:
    yield secret[:_START]
    yield quote(secret, safe="")[:_START]
    raw = secret.encode()
    for shift in range(3):  # in base64 it depends on the number of bytes before it
        encoded = b64encode(bytes(shift) + raw).decode().rstrip("=")
        part = encoded[4 if shift else 0 :][:_START]
        if len(part) == _START:
            yield part
            yield part.replace("+", "-").replace("/", "_")
