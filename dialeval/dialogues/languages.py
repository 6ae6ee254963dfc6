"""The language of texts, by script and function words: a light check, no classifier.

A handful of very frequent words distinguishes whole corpora, so no dependency is needed. The check
answers only where it is sure.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice

MOST_TEXTS = 500
"""Texts that are read."""
FEWEST_WORDS = 40
"""Words below which nothing is said about a corpus."""
_FEWEST_OF_A_TEXT = 8
_SURE = 0.12  # share of function words from which a text is in a language
_AHEAD = 1.5  # how many times as many as of the next language

FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "English": "the and you that is it of to in i was for my what do not are have this with "
        "but be your so we they she he at me if would can there just an about from them",
        "German": "der die das und ich nicht ist ein eine zu du wir mit auf auch es sie wie aber "
        "den von hast habe sich für dem noch mal was kann bin wenn dass",
        "French": "le la les et je pas est un une de des du vous nous que qui dans pour ce mais "
        "tu avec sur il elle suis au plus ça être très bien c'est j'ai",
        "Spanish": "el la los las y no es un una de que en por con para lo se me te pero mi muy "
        "como más está yo tú qué sí esta soy del al",
        "Italian": "il la le gli e non è un una di che in per con si mi ti ma ho sono come anche "
        "cosa questo molto della del io tu ci lo più",
        "Portuguese": "o a os as e não é um uma de que em por com para se eu você mas muito como "
        "mais está isso meu minha do da no na também",
        "Dutch": "de het een en ik niet is je van dat in op te zijn maar met voor ook we heb hij "
        "ze wat naar er aan nog wel dan als",
        "Polish": "i w na nie się jest to z że do jak co ale ja ty mi czy tak już dla po ma być",
        "Swedish": "och att det är jag inte en ett som på i för med du har den av till men så vi",
        "Turkish": "ve bir bu ne için ben sen çok da de mi ama var yok gibi daha ile değil o evet",
    }.items()
}
SCRIPTS = {
    "CYRILLIC": "a language in Cyrillic script", "CJK": "Chinese or Japanese",
    "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean", "ARABIC": "a language in "
    "Arabic script", "DEVANAGARI": "a language in Devanagari", "GREEK": "Greek", "HEBREW": "Hebrew",
    "THAI": "Thai",
}  # fmt: skip
"""What letters of a script mean; others than these count as Latin."""
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


def language_of(texts: Iterable[str], fewest_words: int = FEWEST_WORDS) -> str:
    """The language that most of the texts are in, or its script; empty where it is not clear.

    Args:
        texts (`Iterable[str]`):
            Texts; the first 500 are read.
        fewest_words (`int`, *optional*, defaults to 40):
            Words in Latin script below which nothing is said.

    Returns:
        `str`: Such as `"English"` or `"a language in Cyrillic script"`.

    Examples:
        >>> language_of(["I do not know what it is, but you are right about the tea."] * 5)
        'English'
        >>> language_of(["Ich weiß nicht, was das ist, aber du hast mit dem Tee recht."] * 5)
        'German'
        >>> language_of(["Я не знаю, что это такое, но чай очень хороший."] * 5)
        'a language in Cyrillic script'
    """
    sample = [text for text in islice(texts, MOST_TEXTS) if text]
    scripts = Counter(
        _script(letter) for text in sample for letter in text[:200] if letter.isalpha()
    )
    if not scripts:
        return ""
    japanese = scripts["HIRAGANA"] + scripts["KATAKANA"]
    if japanese > 0.1 * scripts.total():
        return "Japanese"
    script, count = scripts.most_common(1)[0]
    if script in SCRIPTS:
        return SCRIPTS[script] if count > 0.5 * scripts.total() else ""
    words = [word.lower() for text in sample for word in _WORD.findall(text)]
    return _by_words(words) if len(words) >= fewest_words else ""


def language_shares(texts: Iterable[str]) -> dict[str, float]:
    """The share of each language among the texts whose language is clear, the largest first.

    Examples:
        >>> language_shares(["Нет, не надо", "ok", "Хорошо, спасибо", "네, 알겠습니다"])
        {'a language in Cyrillic script': 0.6666666666666666, 'Korean': 0.3333333333333333}
    """
    languages = (language_of([text], _FEWEST_OF_A_TEXT) for text in texts)
    counts = Counter(language for language in languages if language)
    return {name: count / counts.total() for name, count in counts.most_common()}


def _script(letter: str) -> str:
    if letter.isascii():
        return "LATIN"
    name = unicodedata.name(letter, "").partition(" ")[0]
    return name if name in SCRIPTS else "LATIN"


def _by_words(words: list[str]) -> str:
    counts = Counter(words)
    shares = {
        language: sum(counts[word] for word in known) / len(words)
        for language, known in FUNCTION_WORDS.items()
    }
    best, second = sorted(shares, key=lambda language: -shares[language])[:2]
    sure = shares[best] >= _SURE and shares[best] >= _AHEAD * shares[second]
    return best if sure else ""
