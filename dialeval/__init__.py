"""dialeval: can a judge tell a system's replies from a human's, and can that judge be trusted?"""

from importlib import import_module

from dialeval._version import __version__
from dialeval.registration import register_quietly

_ROOMS = {
    "dialogues": (
        "BadInput", "Cut", "Dialogue", "Filters", "Pairing", "Passage", "Passages", "ReadOptions",
        "Turn", "folds", "iterate", "overlap", "pair_folds", "read", "read_dialogues",
        "read_passages", "split", "to_passages", "warn_if_seen", "write_passages",
    ),
    "metrics": ("available", "load"),
    "protocols.leaks": ("find_leaks",),
    "scorers": ("load_scorer", "save_scorer"),
}  # fmt: skip
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = ["__version__", *_ROOM_OF]


def __getattr__(name: str):
    """Import a room when one of its names is first asked for."""
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'dialeval' has no attribute {name!r}")
    value = getattr(import_module(f"dialeval.{_ROOM_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


register_quietly()  # evaluate.load("dialeval/adversuc") works from here on, in any folder
