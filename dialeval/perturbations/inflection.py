"""Base forms of words, and words inflected for a Penn tag."""

import re
from functools import lru_cache
from types import MappingProxyType

from dialeval.perturbations.lexicon import irregular_verbs

_DEGREES = MappingProxyType({
    "good": ("better", "best"), "well": ("better", "best"), "bad": ("worse", "worst"),
    "badly": ("worse", "worst"), "far": ("farther", "farthest"), "much": ("more", "most"),
    "many": ("more", "most"), "little": ("less", "least"), "few": ("fewer", "fewest"),
})  # fmt: skip
_VOWELS = re.compile(r"[aeiouy]+")
# The article depends on the first sound, not on the first letter.
_AN = re.compile(r"(?!uni(?![mn])|use|usu|uti|uter|eu|one|once)[aeiou]|hour|honest|honou?r|heir")


@lru_cache
def _bases() -> dict[str, str]:
    """Base by irregular past or participle; a base that looks like another's past is left out."""
    table = {form: base for base, forms in irregular_verbs().items() for form in forms}
    table |= {"were": "be", "is": "be", "are": "be", "am": "be", "has": "have", "does": "do"}
    return {**table, "got": "get", "gotten": "get", "learnt": "learn", "lay": "lay"}


@lru_cache(maxsize=16384)
def base_form(word: str, part: str) -> str:
    """Base of a word (`verb`, `adj`, `adv`, `noun`) in lower case: `hated` gives `hate`."""
    from lemminflect import getLemma

    word = word.lower()
    if part == "verb" and word in _bases():
        return _bases()[word]
    if part in ("adj", "adv"):
        irregular = next((base for base, forms in _DEGREES.items() if word in forms), None)
        if irregular:
            return irregular
    kind = {"verb": "VERB", "adj": "ADJ", "adv": "ADV", "noun": "NOUN"}[part]
    return next(iter(getLemma(word, kind)), word).lower()


@lru_cache(maxsize=16384)
def is_verb(word: str) -> bool:
    """Whether a word is a verb's base, though it may be another's past: `bore`, `found`."""
    from lemminflect import getAllLemmas

    return word in getAllLemmas(word).get("VERB", ())


@lru_cache(maxsize=16384)
def inflect(base: str, tag: str) -> str:
    """A base in the form of a Penn tag: `hate` with `VBD` gives `hated`.

    Examples:
        >>> inflect("lose", "VBD"), inflect("small", "JJR"), inflect("difficult", "JJS")
        ('lost', 'smaller', 'most difficult')
    """
    if tag in ("JJR", "JJS", "RBR", "RBS"):
        if tag[0] == "R" and base.endswith("ly") and base != "early":
            return f"{'most' if tag == 'RBS' else 'more'} {base}"
        return _degree(base, superlative=tag.endswith("S"))
    if tag in ("VBD", "VBN") and base in irregular_verbs():
        return irregular_verbs()[base][tag == "VBN"]
    if tag not in ("VBD", "VBN", "VBZ", "VBG", "NNS"):
        return base
    from lemminflect import getInflection

    head, space, rest = base.partition(" ")  # "turn off": the verb comes first
    return next(iter(getInflection(head, tag)), head) + space + rest


def _degree(base: str, superlative: bool) -> str:
    """Comparative or superlative: -er for short words, more for long ones."""
    if base in _DEGREES:
        return _DEGREES[base][superlative]
    syllables = len(_VOWELS.findall(re.sub(r"e$", "", base)))
    if syllables > 2 or (syllables == 2 and not re.search(r"(y|le|ow|er|quiet)$", base)):
        return f"{'most' if superlative else 'more'} {base}"
    return _add_ending(base, "est" if superlative else "er")


def _add_ending(base: str, ending: str) -> str:
    if base.endswith("e"):
        return base + ending[1:]
    if re.search(r"[^aeiou]y$", base):
        return base[:-1] + "i" + ending
    if re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", base):
        return base + base[-1] + ending
    return base + ending


def article(word: str) -> str:
    """The indefinite article that goes before a word: `an hour`, `a union`."""
    return "an" if _AN.match(word.lower()) else "a"


def with_case_of(word: str, model: str) -> str:
    """The word with the capitals of another: none, the first letter, or all."""
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word
