"""A light English tagger by lexicon, word shape and neighbouring words."""

from collections.abc import Sequence
from typing import NamedTuple

from dialeval.perturbations.word_classes import DO, entry, normal, past_forms

SUBJECTS = frozenset(["i", "you", "he", "she", "it", "we", "they", "who", "u", "ya"])
_NOMINAL = ("NN", "NNS", "NNP", "JJ", "JJR", "JJS", "CD")
_AFTER_DETERMINER = frozenset(("DT", "PDT", "PRP$", "POS", "CD", "JJ", "JJR", "JJS", "WP$"))
_BREAKS = frozenset((".", ",", ":", "CC", "IN", "WRB"))
_BY_POSITION = frozenset(["that", "there", "do", "have", "her"])  # their only tag may be wrong
_ARTICLES = frozenset(["the", "a", "an", "my", "your", "our", "their", "its", "every"])
_AS_NOUN = {"VB": "NN", "VBZ": "NNS"}
_STAYS = frozenset(("RB", "RBR", "PRP"))  # an auxiliary waits after these for its verb
_DESTINATIONS = frozenset(
    ["work", "school", "bed", "lunch", "dinner", "breakfast", "church", "court", "town"]
)

_SEEMS = frozenset(
    verb + ending
    for verb in ("sound", "look", "feel", "seem", "taste", "smell", "act")
    for ending in ("", "s", "d", "ed", "ing")
)
_GOES = frozenset(["go", "goes", "went", "going", "gone", "get", "got", "come", "back", "walk"])


class _Position(NamedTuple):
    """A word with its neighbours, and the verb form that an earlier auxiliary requires."""

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
        """Whether an auxiliary here comes before its subject: `Do you`, `What do the`."""
        asks = self.before in ("WP", "WRB", "WDT", "NN", "NNS")
        return ((self.opens or asks) and self.after[0] == "PRP") or (asks and self.after[0] == "DT")


def _opens(before: str, word_before: str) -> bool:
    return before in (".", ",", ":", "CC", "UH") or word_before == "please"


def light_tags(words: Sequence[str]) -> list[str]:
    """Penn tags of words and punctuation marks, by lexicon, word shape and neighbours.

    A contraction has the tag of its first part: `I'm` is a pronoun, `don't` a verb.
    """
    entries = [entry(word) for word in words]
    nexts = [*(lexeme.tags for lexeme in entries[1:]), (".",)]
    tags, before, word_before, earlier, pending, inverted = [], ".", "", "", "", False
    for word, lexeme, after in zip(words, entries, nexts, strict=False):  # no words, one next
        plain = normal(word)
        tag = lexeme.tags[0]
        if tag in ("VB", "VBZ") or len(lexeme.tags) > 1 or plain in _BY_POSITION:
            tag = _choose(
                lexeme.tags, _Position(plain, before, word_before, earlier, pending, after)
            )
        tags.append(tag)
        if lexeme.wants and (tag[:1] in "VM" or lexeme.acts_as):
            opens = _opens(before, word_before) or before in ("WP", "WRB", "WDT")
            pending = lexeme.wants
            inverted = plain in DO or (opens and not lexeme.acts_as)
        elif not _keeps_waiting(tag, inverted):
            pending = ""
        before, word_before, earlier = lexeme.acts_as or tag, plain, word_before
        if lexeme.acts_as == "POS" and _is_verb_s(after):
            before, pending = "VBZ", "BE"
    return tags


def _keeps_waiting(tag: str, inverted: bool) -> bool:
    """Whether an auxiliary still waits for its verb after a word with this tag."""
    if tag in _STAYS:
        return True
    return inverted and tag not in _BREAKS and tag[:2] != "VB" and tag not in ("UH", "TO")


def _is_verb_s(after: tuple[str, ...]) -> bool:
    """Whether the 's of a noun is a verb, given what follows: `Mary's here`, not `Mary's car`."""
    return after[0] in ("DT", "VBG", "IN", "RB", "PRP", "TO", "VBN")


def _choose(tags: tuple[str, ...], here: _Position) -> str:
    """One of a word's possible tags, or another one for those of `_BY_POSITION`."""
    if here.word == "that":
        follows = here.after[0] in ("NN", "NNS", "CD", "VBZ", "MD", "VBD", ".", ",")
        return "DT" if follows or here.pending == "BE" else "IN"
    if here.word == "there":
        verb_next = here.after[0] in ("VBZ", "VBP", "VBD", "MD")
        in_question = here.pending == "BE" and here.after[0] in ("DT", "CD", "JJ", "PRP")
        return "EX" if verb_next or in_question or here.opens else "RB"
    if here.word in ("do", "have") and here.starts_question:
        return "VBP"
    if here.word == "her":
        return "PRP$" if here.after[0] in (*_NOMINAL, "VBG") else "PRP"
    if len(tags) == 1:
        return _only_verb(tags[0], here)
    if tags[0] == "NNP":
        return _name(tags, here)
    if "VB" in tags or "VBP" in tags:
        return _verb_or_not(tags, here)
    if "VBD" in tags:
        return _past(tags, here)
    if "VBZ" in tags:
        return _third_person(tags, here)
    return _modifier(tags, here)


def _only_verb(tag: str, here: _Position) -> str:
    """A word that the lexicon has as a verb only; after an article it is a noun: `the logs`."""
    if here.word_before in _ARTICLES and tag in _AS_NOUN and here.word not in ("is", "has", "be"):
        return _AS_NOUN[tag]
    return _base_form(here) if tag == "VB" else tag


def _name(tags: tuple[str, ...], here: _Position) -> str:
    """A name, unless the capital only opens a sentence."""
    if here.before == "." and len(tags) > 2 and "VB" in tags:
        return _verb_or_not(tags[1:], here)
    return tags[1] if here.before == "." and tags[1] == "JJ" else "NNP"


def _base_form(here: _Position) -> str:
    """VBP after a subject, VB elsewhere."""
    if here.pending in ("VB", "BE") or here.before in ("TO", "MD"):
        return "VB"
    if here.pending == "VBN" and here.word in past_forms()["VBN"]:
        return "VBN"  # "have come"
    if here.word_before in SUBJECTS or here.before in ("NNS", "NNP", "NN", "EX", "WDT"):
        return "VBP"
    return "VBP" if here.before == "RB" and not here.opens and here.word != "be" else "VB"


def _verb_or_not(tags: tuple[str, ...], here: _Position) -> str:
    """A word that may be a verb's base: a verb where one is expected, else its other class."""
    others = [tag for tag in tags if tag not in ("VB", "VBP")]
    if here.word == "like":
        return _like(here)
    if here.word == "miss" and here.after[0] == "NNP":
        return "NNP"
    if not others:
        return _base_form(here)
    if "VBD" in others:
        return _base_or_past(others, here)
    if here.before in _AFTER_DETERMINER:
        return _modifier(tuple(others), here)
    if here.pending == "VB" and here.before != "IN":
        return "VB"
    if here.before == "TO":
        goes = here.earlier in _GOES and here.word in _DESTINATIONS
        return others[0] if goes else "VB"
    if here.pending in ("VBN", "BE") or here.before in ("IN", "WP$"):
        return others[0]
    return _by_subject(tags, others, here)


def _by_subject(tags: tuple[str, ...], others: list[str], here: _Position) -> str:
    """A verb after a subject or as an imperative."""
    due = tags[0] in ("VB", "VBP") or here.after[0] in ("DT", "PRP", "PRP$", "TO")
    if here.word_before in SUBJECTS:
        object_too = here.word_before in ("you", "it", "who")
        return "VBP" if not object_too or "VB" in tags[:2] or due else others[0]
    if here.word_before in ("me", "him", "us", "them", "her") and due:
        return "VB"
    if here.opens and here.before != "CC":
        return "VB" if due and here.after[0] not in ("MD", "VBZ") else others[0]
    if here.before in ("NNS", "RB", "WP", "WDT", "CC", "WRB"):
        acts = tags[0] in ("VB", "VBP") or here.after[0] in (
            "DT",
            "PRP$",
        )  # "then open a window"
        return ("VB" if here.opens else "VBP") if acts else others[0]
    return others[0]


def _like(here: _Position) -> str:
    """The verb `like`, or the preposition."""
    if here.word_before in _SEEMS or here.word_before in ("so", "more", "much", "kinda"):
        return "IN"
    if here.pending == "VB" or here.before in ("TO", "MD"):
        return "VB"
    if (here.pending != "BE" and here.word_before in SUBJECTS) or here.before == "RB":
        return "VBP"
    return "VBP" if here.before == "NNS" and here.after[0] in ("TO", "VBG", "DT") else "IN"


def _base_or_past(others: list[str], here: _Position) -> str:
    """A verb whose base and past look the same: `put`, `read`, `cut`."""
    if here.before in _AFTER_DETERMINER and "NN" in others:
        return "NN"
    if here.pending in ("VBN", "BE"):
        return "VBN"
    return (
        "VBD" if here.word_before in ("he", "she", "it") and not here.pending else _base_form(here)
    )


def _past(tags: tuple[str, ...], here: _Position) -> str:
    """A past form: participle after be and have, adjective after a determiner, else past."""
    if here.pending in ("VBN", "BE"):
        return "VBN" if "VBN" in tags else "VBD"
    if here.before in _AFTER_DETERMINER and here.before != "POS":
        return "JJ" if "JJ" in tags else "VBN" if "VBN" in tags else tags[0]
    if "JJ" in tags and here.before in ("RB", "VB", "VBG") and tags[0] == "JJ":
        return "JJ"
    return "VBN" if "VBN" in tags and here.before in ("IN", "VBD", "VB") else "VBD"


def _third_person(tags: tuple[str, ...], here: _Position) -> str:
    """`works` as a verb after a singular subject, else a plural noun."""
    if "NNS" not in tags:
        return "VBZ"
    if here.before in ("PRP", "WP") or here.word_before in ("that", "which", "this", "one"):
        return "VBZ"
    if here.before in (*_AFTER_DETERMINER, "IN", "TO", "VB", "VBP", "VBD", "VBG"):
        return "NNS"
    if here.after[0] in ("VB", "VBP", "VBZ", "VBD", "MD"):
        return "NNS"  # "web sites provide"
    if tags[0] == "VBZ" and here.before in ("NN", "NNP", "RB", "."):
        return "VBZ"
    follows = here.after[0] in ("DT", "PRP", "PRP$", "TO", "RB", "IN")
    return "VBZ" if here.before in ("NN", "NNP") and follows else "NNS"


def _modifier(tags: tuple[str, ...], here: _Position) -> str:
    """Adjective before a noun, noun after a determiner, adverb after a verb."""
    noun_next = here.after[0] in ("NN", "NNS", "NNP")
    if here.word == "enough" and "NN" in here.after:
        return "JJ"
    if here.word == "right" and here.after[0] in ("RB", "IN"):
        return "RB"  # "right now", "right after it"
    if "JJ" in tags and (noun_next or (here.pending == "BE" and tags[0] != "RB")):
        return "JJ"
    if here.before in _AFTER_DETERMINER and not noun_next:
        return next((tag for tag in tags if tag[:2] == "NN"), tags[0])
    if "RB" in tags and here.before[:2] == "VB" and not here.pending and not noun_next:
        return "RB"
    return tags[0]
