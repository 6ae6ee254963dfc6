"""Cards say what they are given, escaped, and refuse to leave a gap."""

import jinja2
import pytest

from dialeval.hub.cards import render_card, templates

VALUES = {
    "parts": {"test": {"dialogues": 3, "passages": 9}},
    "shares": {"test": 1.0},
    "sources": {"<script>.txt": "dailydialog"},
    "dialogues": 4,
    "duplicate_dialogues": 1,
    "filtered": 0,
    "skipped": 0,
    "signature": "split|seed:0",
}


def test_a_card_tells_what_was_counted():
    card = render_card("dataset", **VALUES)
    assert "| `test` | 1 | 3 | 9 |" in card and "split|seed:0" in card
    assert card.startswith("---\ntags:")


def test_what_users_wrote_cannot_become_html():
    assert "<script>" not in render_card("dataset", **VALUES)


def test_a_card_never_claims_what_was_not_given():
    with pytest.raises(jinja2.UndefinedError, match="skipped"):
        render_card("dataset", **{key: VALUES[key] for key in VALUES if key != "skipped"})
    with pytest.raises(ValueError, match="Unknown card 'datset'. Choose one of dataset"):
        render_card("datset")


def test_templates_are_listed():
    assert templates() == ["dataset"]
