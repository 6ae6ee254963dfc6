"""How much of data that is said to be human was written by machines: a share with an interval."""

from dialeval.protocols.audit.study import Audit, audit

__all__ = ["Audit", "audit"]
