"""Seeded mutations: of bytes, of the leaves of JSON and YAML, of the values of options."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

LEAVES: tuple[Any, ...] = (
    None, True, "x", "", 0, -1, 1e308, float("nan"), float("inf"), [], {}, [[]], ["x"], {"x": 1},
    "../../x", "[/b]", "\x1b[31mred", "\ud83d", 10**30, 10**400, "\u202egnp.exe", "\u200b",
    "a\nb", "=1+1", {"$ref": "#"},
)  # fmt: skip
"""Values of another type, or at the edge of their type."""
VALUES = (
    "-1", "0", "nan", "inf", "-inf", "1e999", "", " ", "x", "true", "[/b]", "\x1b]0;t\x07",
    "../../x", "a=b", "=", "a=", "=b", "/", ".", "/dev/null", "/dev/full", "no/such/file",
    "é" * 300,
    "{}", "[1]", "99999999999999999999", "hub:x/y:z", "a:b:c", "x@http://[", "package.module:x",
    "material/human.jsonl", "material", "\udcff",
)  # fmt: skip
"""Hostile values of any option."""


def bytes_of(data: bytes, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """Mutations of a file's bytes, each with a name."""
    size = len(data)
    cut = rng.randrange(1, max(2, size))
    at = rng.randrange(max(1, size))
    yield "empty", b""
    yield "cut", data[:cut]
    yield "cut-last-byte", data[:-2]
    yield "flip", data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :] if size else b"\xff"
    yield "nul", data[:at] + b"\0" * 8 + data[at:]
    yield "garbage", rng.randbytes(200)
    yield "appended", data + b"\xff\xfe{[" + rng.randbytes(8)
    yield "latin-1", data[:at] + "é".encode("latin-1") + data[at:]
    yield "utf-16", data.decode("utf-8", "replace").encode("utf-16")
    yield "doubled", data + data
    yield "array", b"[1, 2, 3]\n"
    yield "null", b"null\n"
    yield "string", b'"text"\n'
    yield "deep", b"[" * 100_000
    yield "number", b"1e999\n"
    yield "long number", b"9" * 5_000 + b"\n"
    yield "deep value", data.replace(b":", b":" + b"[" * 100_000, 1)
    yield "twice", data.replace(b'"response":', b'"response": "other", "response":')
    yield "invisible", data.replace(b" ", "\u200b\u202e\ufeff".encode())
    yield "long line", data.replace(b" ", b" " + b"word " * 200_000, 1)
    yield "carriage returns", data.replace(b"\n", b"\r")
    yield "line separators", data.replace(b" ", "\u2028\x85".encode())
    scattered = bytearray(data)
    for _ in range(min(8, size)):
        scattered[rng.randrange(size)] = rng.randrange(256)
    yield "scattered", bytes(scattered)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all values in nested lists and dictionaries, inner nodes included."""
    if path:
        yield path
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in items:
        yield from leaves(item, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], leaf: Any) -> Any:
    """A copy with another value at a path."""
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = leaf
    return value


def without(value: Any, path: tuple[Any, ...]) -> Any:
    """A copy without the value at a path."""
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return value


def of_json(value: Any, rng: random.Random, most: int) -> Iterator[tuple[str, Any]]:
    """At most so many mutations of a JSON value, drawn without preference for deep ones."""
    paths = list(leaves(value))
    by_shape: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for path in paths:  # rows of a table are one shape
        shape = tuple("*" if isinstance(key, int) else key for key in path)
        by_shape.setdefault(shape, []).append(path)
    shapes = list(by_shape.values())
    for number in range(most):
        path = rng.choice(shapes[number % len(shapes)])
        name = ".".join(map(str, path))
        if rng.random() < 0.15:
            yield f"without {name}", without(value, path)
        else:
            leaf = rng.choice(LEAVES)
            yield f"{name}={leaf!r:.20}", replaced(value, path, leaf)


def dumps(value: Any) -> bytes:
    """JSON with NaN and lone surrogates as they are."""
    return json.dumps(value, ensure_ascii=True).encode()
