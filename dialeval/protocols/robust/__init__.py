"""Training generators against perturbations, and what it does (Niu and Bansal, 2018, Table 2)."""

from dialeval.protocols.robust.study import robust

__all__ = ["robust"]
