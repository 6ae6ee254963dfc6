"""How people and systems behave in conversations: length, questions, hesitation, politeness."""

from dialeval.protocols.profile.measures import compare_behaviour, profile

__all__ = ["compare_behaviour", "profile"]
