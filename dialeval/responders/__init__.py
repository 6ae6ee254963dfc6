"""Responders: everything that responds to contexts, behind one interface."""

from dialeval.responders.base import HYPOTHESIS, Responder, Responses, answer, respond
from dialeval.responders.registry import RESPONDERS, ResponderSpec, load_responder, parse_spec

__all__ = [
    "HYPOTHESIS",
    "RESPONDERS",
    "Responder",
    "ResponderSpec",
    "Responses",
    "answer",
    "load_responder",
    "parse_spec",
    "respond",
]
