"""A light English tagger: a lexicon, word shapes and the words around."""

from collections.abc import Sequence
from typing import NamedTuple

from dialeval.perturbations.word_classes import DO, entry, normal, past_forms

SUBJECTS = frozenset(["i", "you", "he", "she", "it", "we", "they", "who", "u", "ya"])
_NOMINAL = ("NN", "NNS", "NNP", "JJ", "JJR", "JJS", "CD")
_AFTER_DETERMINER = frozenset(("DT", "PDT", "PRP$", "POS", "CD", "JJ", "JJR", "JJS", "WP$"))
_BREAKS = frozenset((".", ",", ":", "CC", "IN", "WRB"))
_BY_PLACE = frozenset(["that", "there", "do", "have", "her"])  # whose only tag may be wrong
_ARTICLES = frozenset(["the", "a", "an", "my", "your", "our", "their", "its", "every"])
_AS_NOUN = {"VB": "NN", "VBZ": "NNS"}
_STAYS = frozenset(("RB", "RBR", "PRP"))  # an auxiliary waits behind these for its verb
_PLACES = frozenset(
    ["work", "school", "bed", "lunch", "dinner", "breakfast", "church", "court", "town"]
)

_SEEMS = frozenset(
    verb + ending
    for verb in ("sound", "look", "feel", "seem", "taste", "smell", "act")
    for ending in ("", "s", "d", "ed", "ing")
)
_GOES = frozenset(["go", "goes", "went", "going", "gone", "get", "got", "come", "back", "walk"])


class _Place(NamedTuple):
    """Where a word stands: what came before, what an auxiliary waits for, what comes next."""

    word: str
    before: str  # tag, or what the word before acts as
    word_before: str
    earlier: str  # the word before that
    pending: str
    after: tuple[str, ...]  # possible tags of the next word

    @property
    def opens(self) -> bool:
        """Whether a clause starts here."""
        return _opens(self.before, self.word_before)

    @property
    def starts_question(self) -> bool:
        """Whether an auxiliary here stands before its subject: `Do you`, `What do the`."""
        asks = self.before in ("WP", "WRB", "WDT", "NN", "NNS")
        return ((self.opens or asks) and self.after[0] == "PRP") or (asks and self.after[0] == "DT")


def _opens(before: str, word_before: str) -> bool:
    return before in (".", ",", ":", "CC", "UH") or word_before == "please"


def light_tags(words: Sequence[str]) -> list[str]:
    """Penn tags of words and punctuation marks, by lexicon, word shape and neighbours.

    A contraction has the tag of its first part: `I'm` is a pronoun, `don't` a verb.
    """
    entries = [entry(word) for word in words]
    nexts = [*(each.tags for each in entries[1:]), (".",)]
    tags, before, word_before, earlier, pending, inverted = [], ".", "", "", "", False
    for word, known, after in zip(words, entries, nexts, strict=False):  # nexts of nothing: one
        plain = normal(word)
        tag = known.tags[0]
        if tag in ("VB", "VBZ") or len(known.tags) > 1 or plain in _BY_PLACE:
            tag = _choose(known.tags, _Place(plain, before, word_before, earlier, pending, after))
        tags.append(tag)
        if known.wants and (tag[:1] in "VM" or known.acts_as):
            opens = _opens(before, word_before) or before in ("WP", "WRB", "WDT")
            pending = known.wants
            inverted = plain in DO or (opens and not known.acts_as)
        elif not _keeps_waiting(tag, inverted):
            pending = ""
        before, word_before, earlier = known.acts_as or tag, plain, word_before
        if known.acts_as == "POS" and _is_verb_s(after):
            before, pending = "VBZ", "BE"
    return tags


def _keeps_waiting(tag: str, inverted: bool) -> bool:
    """Whether an auxiliary still waits for its verb behind a word with this tag."""
    if tag in _STAYS:
        return True
    return inverted and tag not in _BREAKS and tag[:2] != "VB" and tag not in ("UH", "TO")


def _is_verb_s(after: tuple[str, ...]) -> bool:
    """Whether the 's of a noun is a verb, given what follows: `Mary's here`, not `Mary's car`."""
    return after[0] in ("DT", "VBG", "IN", "RB", "PRP", "TO", "VBN")


def _choose(tags: tuple[str, ...], place: _Place) -> str:
    """One of a word's possible tags, or another one for those of `_BY_PLACE`."""
    if place.word == "that":
        follows = place.after[0] in ("NN", "NNS", "CD", "VBZ", "MD", "VBD", ".", ",")
        return "DT" if follows or place.pending == "BE" else "IN"
    if place.word == "there":
        verb_next = place.after[0] in ("VBZ", "VBP", "VBD", "MD")
        asked = place.pending == "BE" and place.after[0] in ("DT", "CD", "JJ", "PRP")
        return "EX" if verb_next or asked or place.opens else "RB"
    if place.word in ("do", "have") and place.starts_question:
        return "VBP"
    if place.word == "her":
        return "PRP$" if place.after[0] in (*_NOMINAL, "VBG") else "PRP"
    if len(tags) == 1:
        return _only_verb(tags[0], place)
    if tags[0] == "NNP":
        return _name(tags, place)
    if "VB" in tags or "VBP" in tags:
        return _verb_or_not(tags, place)
    if "VBD" in tags:
        return _past(tags, place)
    if "VBZ" in tags:
        return _third_person(tags, place)
    return _modifier(tags, place)


def _only_verb(tag: str, place: _Place) -> str:
    """A word that the lexicon has as a verb only; behind an article it is a noun: `the logs`."""
    if place.word_before in _ARTICLES and tag in _AS_NOUN and place.word not in ("is", "has", "be"):
        return _AS_NOUN[tag]
    return _base_form(place) if tag == "VB" else tag


def _name(tags: tuple[str, ...], place: _Place) -> str:
    """A name, unless the capital only opens a sentence."""
    if place.before == "." and len(tags) > 2 and "VB" in tags:
        return _verb_or_not(tags[1:], place)
    return tags[1] if place.before == "." and tags[1] == "JJ" else "NNP"


def _base_form(place: _Place) -> str:
    """VBP behind a subject, VB elsewhere."""
    if place.pending in ("VB", "BE") or place.before in ("TO", "MD"):
        return "VB"
    if place.pending == "VBN" and place.word in past_forms()["VBN"]:
        return "VBN"  # "have come"
    if place.word_before in SUBJECTS or place.before in ("NNS", "NNP", "NN", "EX", "WDT"):
        return "VBP"
    return "VBP" if place.before == "RB" and not place.opens and place.word != "be" else "VB"


def _verb_or_not(tags: tuple[str, ...], place: _Place) -> str:
    """A word that may be a verb's base: a verb where one is due, else its other class."""
    others = [tag for tag in tags if tag not in ("VB", "VBP")]
    if place.word == "like":
        return _like(place)
    if place.word == "miss" and place.after[0] == "NNP":
        return "NNP"
    if not others:
        return _base_form(place)
    if "VBD" in others:
        return _base_or_past(others, place)
    if place.before in _AFTER_DETERMINER:
        return _modifier(tuple(others), place)
    if place.pending == "VB" and place.before != "IN":
        return "VB"
    if place.before == "TO":
        goes = place.earlier in _GOES and place.word in _PLACES
        return others[0] if goes else "VB"
    if place.pending in ("VBN", "BE") or place.before in ("IN", "WP$"):
        return others[0]
    return _by_subject(tags, others, place)


def _by_subject(tags: tuple[str, ...], others: list[str], place: _Place) -> str:
    """A verb behind a subject or as an imperative."""
    due = tags[0] in ("VB", "VBP") or place.after[0] in ("DT", "PRP", "PRP$", "TO")
    if place.word_before in SUBJECTS:
        object_too = place.word_before in ("you", "it", "who")
        return "VBP" if not object_too or "VB" in tags[:2] or due else others[0]
    if place.word_before in ("me", "him", "us", "them", "her") and due:
        return "VB"
    if place.opens and place.before != "CC":
        return "VB" if due and place.after[0] not in ("MD", "VBZ") else others[0]
    if place.before in ("NNS", "RB", "WP", "WDT", "CC", "WRB"):
        acts = tags[0] in ("VB", "VBP") or place.after[0] in ("DT", "PRP$")  # "then open a window"
        return ("VB" if place.opens else "VBP") if acts else others[0]
    return others[0]


def _like(place: _Place) -> str:
    """The verb `like`, or the preposition."""
    if place.word_before in _SEEMS or place.word_before in ("so", "more", "much", "kinda"):
        return "IN"
    if place.pending == "VB" or place.before in ("TO", "MD"):
        return "VB"
    if (place.pending != "BE" and place.word_before in SUBJECTS) or place.before == "RB":
        return "VBP"
    return "VBP" if place.before == "NNS" and place.after[0] in ("TO", "VBG", "DT") else "IN"


def _base_or_past(others: list[str], place: _Place) -> str:
    """A verb whose base and past look the same: `put`, `read`, `cut`."""
    if place.before in _AFTER_DETERMINER and "NN" in others:
        return "NN"
    if place.pending in ("VBN", "BE"):
        return "VBN"
    return (
        "VBD"
        if place.word_before in ("he", "she", "it") and not place.pending
        else _base_form(place)
    )


def _past(tags: tuple[str, ...], place: _Place) -> str:
    """A past form: participle behind be and have, adjective behind a determiner, else past."""
    if place.pending in ("VBN", "BE"):
        return "VBN" if "VBN" in tags else "VBD"
    if place.before in _AFTER_DETERMINER and place.before != "POS":
        return "JJ" if "JJ" in tags else "VBN" if "VBN" in tags else tags[0]
    if "JJ" in tags and place.before in ("RB", "VB", "VBG") and tags[0] == "JJ":
        return "JJ"
    return "VBN" if "VBN" in tags and place.before in ("IN", "VBD", "VB") else "VBD"


def _third_person(tags: tuple[str, ...], place: _Place) -> str:
    """`works` as a verb behind a singular subject, else a plural noun."""
    if "NNS" not in tags:
        return "VBZ"
    if place.before in ("PRP", "WP") or place.word_before in ("that", "which", "this", "one"):
        return "VBZ"
    if place.before in (*_AFTER_DETERMINER, "IN", "TO", "VB", "VBP", "VBD", "VBG"):
        return "NNS"
    if place.after[0] in ("VB", "VBP", "VBZ", "VBD", "MD"):
        return "NNS"  # "web sites provide"
    if tags[0] == "VBZ" and place.before in ("NN", "NNP", "RB", "."):
        return "VBZ"
    follows = place.after[0] in ("DT", "PRP", "PRP$", "TO", "RB", "IN")
    return "VBZ" if place.before in ("NN", "NNP") and follows else "NNS"


def _modifier(tags: tuple[str, ...], place: _Place) -> str:
    """Adjective before a noun, noun behind a determiner, adverb behind a verb."""
    noun_next = place.after[0] in ("NN", "NNS", "NNP")
    if place.word == "enough" and "NN" in place.after:
        return "JJ"
    if place.word == "right" and place.after[0] in ("RB", "IN"):
        return "RB"  # "right now", "right after it"
    if "JJ" in tags and (noun_next or (place.pending == "BE" and tags[0] != "RB")):
        return "JJ"
    if place.before in _AFTER_DETERMINER and not noun_next:
        return next((tag for tag in tags if tag[:2] == "NN"), tags[0])
    if "RB" in tags and place.before[:2] == "VB" and not place.pending and not noun_next:
        return "RB"
    return tags[0]
