"""Jinja templates of the cards that dialeval writes."""
