"""Two piles of conversations, without shared contexts: can one be distinguished as machine?"""

from dialeval.protocols.unpaired.piles import Piles, limited_piles, make_piles, shares_contexts
from dialeval.protocols.unpaired.study import PileStudy, evaluate_piles

__all__ = ["PileStudy", "Piles", "evaluate_piles", "limited_piles", "make_piles", "shares_contexts"]
