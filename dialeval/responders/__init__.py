"""Room 4. Responders: who answers, behind one interface."""

from dialeval.responders.base import HYPOTHESIS, Responder, answer, respond

__all__ = ["HYPOTHESIS", "Responder", "answer", "respond"]
