"""Lexical entries of English words: possible tags, contractions, auxiliaries."""

from functools import lru_cache
from typing import NamedTuple

from dialeval.perturbations.lexicon import irregular_verbs, word_tags
from dialeval.perturbations.tokens import lexicon_form

BE = frozenset(["be", "am", "is", "are", "was", "were", "been", "being", "'s", "'m", "'re"])
HAVE = frozenset(["have", "has", "had", "having", "'ve"])
DO = frozenset(["do", "does", "did"])
MODALS = frozenset(
    ["can", "could", "will", "would", "shall", "should", "may", "might", "must", "'ll", "'d"]
)
SENTENCE_ENDS = ".!?…。！？"
WRITTEN_WITHOUT = {  # as people type
    **{word.replace("'", ""): word for word in (
        "don't", "doesn't", "didn't", "isn't", "aren't", "wasn't", "weren't", "haven't", "hasn't",
        "can't", "couldn't", "wouldn't", "shouldn't", "i'm", "i've", "that's", "what's", "you're",
    )},
    "wont": "won't", "ain't": "ain't", "cannot": "can't",
}  # fmt: skip
_NEGATED = {"won't": "will", "can't": "can", "shan't": "shall", "ain't": "is"}


class Entry(NamedTuple):
    """The entry of a word: its possible tags, and its effect on the words after it."""

    tags: tuple[str, ...]
    acts_as: str = ""  # tag of a contraction's last part
    wants: str = ""  # form of the verb that an auxiliary waits for


@lru_cache(maxsize=65536)
def normal(word: str) -> str:
    """The word as the lexicon spells it: lower case, and `don't` for `Don ’ t` or `dont`."""
    plain = lexicon_form(word)
    return WRITTEN_WITHOUT.get(plain, plain)


def split_contraction(word: str) -> tuple[str, str]:
    """A normal word as host and clitic: `i'll` as `i`, `'ll`; `don't` as `do`, `n't`."""
    if word.endswith("n't"):
        return _NEGATED.get(word, word[:-3]), "n't"
    host, apostrophe, clitic = word.rpartition("'")
    if apostrophe and host and clitic in ("s", "m", "re", "ve", "ll", "d"):
        return host, apostrophe + clitic
    return word, ""


def _wants(auxiliary: str) -> str:
    if auxiliary in MODALS or auxiliary in DO:
        return "VB"
    if auxiliary in HAVE:
        return "VBN"
    return "BE" if auxiliary in BE else ""


@lru_cache(maxsize=65536)
def entry(word: str) -> Entry:
    """The entry of a word as it is written."""
    plain = normal(word)
    host, clitic = split_contraction(plain)
    if clitic == "n't":
        return Entry(possible_tags(host)[:1], "", _wants(host))
    if plain == "let's":
        return Entry(("VB",), "PRP", "VB")
    if clitic and clitic != "'s":
        return Entry(possible_tags(host)[:1], "MD" if clitic in MODALS else "VBP", _wants(clitic))
    if clitic:
        return _genitive_or_verb(host, word)
    tags = possible_tags(plain)
    return Entry(_as_name(word, tags), "", _wants(plain))


def _genitive_or_verb(host: str, word: str) -> Entry:
    """The entry of `it's`, where 's is a verb, or of `Mary's`, where it may be a genitive."""
    tags = possible_tags(host)
    if tags[0] in ("PRP", "WP", "WRB", "EX", "DT") or host in ("here", "that"):
        return Entry(tags[:1], "VBZ", "BE")
    return Entry(_as_name(word, ("NN",)), "POS")


def _as_name(word: str, tags: tuple[str, ...]) -> tuple[str, ...]:
    """The tags, with those of a name if the word has a capital and is not in the lexicon."""
    plain = word.lower()
    if word[:1].isupper() and plain not in word_tags() and tags[0] in ("NN", "JJ", "NNS"):
        return ("NNP", *tags)
    return tags


@lru_cache(maxsize=65536)
def possible_tags(word: str) -> tuple[str, ...]:
    """Possible tags of a normal word: from the lexicon, else from its word classes or its shape."""
    if word in word_tags():
        return word_tags()[word]
    if not word[:1].isalpha():
        return (_shape(word),)
    past = [tag for tag, forms in past_forms().items() if word in forms]
    if past:
        return (*past, "VB") if word in irregular_verbs() else tuple(past)
    return _from_classes(word) or _from_suffix(word)


@lru_cache
def past_forms() -> dict[str, frozenset[str]]:
    """Irregular past forms (VBD) and participles (VBN)."""
    pairs = irregular_verbs().values()
    return {"VBD": frozenset(p for p, _ in pairs), "VBN": frozenset(p for _, p in pairs)}


def _shape(word: str) -> str:
    if word[:1].isdigit():
        return "CD" if not word.endswith(("th", "st", "nd", "rd")) else "JJ"
    if word[:1] in SENTENCE_ENDS:
        return "."
    return "," if word[:1] in ",，" else ":"


def _from_classes(word: str) -> tuple[str, ...]:
    """Tags from the word classes that `lemminflect` lists for a word; empty if it has none."""
    from lemminflect import getAllLemmas

    lemmas = getAllLemmas(word)
    tags = []
    if "ADV" in lemmas and (word.endswith("ly") or not {"ADJ", "NOUN", "VERB"} & lemmas.keys()):
        tags.append("RB")
    if "ADJ" in lemmas:
        tags.append(_degree(word, lemmas["ADJ"]))
    if "VERB" in lemmas and word not in lemmas["VERB"]:
        verbs = _verb_tags(word)
        return (*tags, *verbs, *(["NNS"] if "NOUN" in lemmas and verbs == ("VBZ",) else ()))
    if "NOUN" in lemmas or "PROPN" in lemmas:
        tags.append("NN" if word in lemmas.get("NOUN", (word,)) else "NNS")
    if "VERB" in lemmas:
        tags.append("VB")
    if "ADV" in lemmas and "RB" not in tags:
        tags.append("RB")
    return tuple(tags)


def _degree(word: str, lemmas: tuple[str, ...]) -> str:
    if word in lemmas:
        return "JJ"
    return "JJS" if word.endswith("st") else "JJR"


def _verb_tags(word: str) -> tuple[str, ...]:
    if word.endswith("ing"):
        return ("VBG",)
    return ("VBZ",) if word.endswith("s") else ("VBD", "VBN")


_SUFFIXES = (
    ("ly", ("RB",)), ("ing", ("VBG", "NN")), ("ed", ("VBD", "VBN")), ("ness", ("NN",)),
    ("tion", ("NN",)), ("ment", ("NN",)), ("ity", ("NN",)), ("ous", ("JJ",)), ("ful", ("JJ",)),
    ("able", ("JJ",)), ("ible", ("JJ",)), ("ive", ("JJ",)), ("less", ("JJ",)), ("ish", ("JJ",)),
    ("ss", ("NN",)), ("us", ("NN",)), ("s", ("NNS",)),
)  # fmt: skip


def _from_suffix(word: str) -> tuple[str, ...]:
    return next((tags for suffix, tags in _SUFFIXES if word.endswith(suffix)), ("NN",))
