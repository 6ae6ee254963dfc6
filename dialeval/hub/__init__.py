"""Room 11. The Hub: cards, pushing and pulling."""
