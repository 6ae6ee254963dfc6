"""Two piles of conversations, without shared contexts: can one be distinguished as machine?"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # at run time lazily: piles that are refused need no statistics
    from dialeval.protocols.unpaired.piles import Piles, limited_piles, make_piles, shares_contexts
    from dialeval.protocols.unpaired.study import PileStudy, evaluate_piles

_MODULE_OF = {
    "Piles": "piles", "limited_piles": "piles", "make_piles": "piles", "shares_contexts": "piles",
    "PileStudy": "study", "evaluate_piles": "study",
}  # fmt: skip

__all__ = ["PileStudy", "Piles", "evaluate_piles", "limited_piles", "make_piles", "shares_contexts"]


def __getattr__(name: str) -> Any:
    """Import the module of a name when the name is first used."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
