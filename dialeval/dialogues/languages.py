"""The language of a text, roughly: from its script, and from the commonest words of a language."""

import re
from collections import Counter
from collections.abc import Iterable

_SCRIPTS = {
    "ja": re.compile("[\u3040-\u30ff]"),
    "ko": re.compile("[\uac00-\ud7af\u1100-\u11ff]"),
    "zh": re.compile("[\u4e00-\u9fff]"),
    "ar": re.compile("[\u0600-\u06ff]"),
    "he": re.compile("[\u0590-\u05ff]"),
    "hi": re.compile("[\u0900-\u097f]"),
    "th": re.compile("[\u0e00-\u0e7f]"),
    "el": re.compile("[\u0370-\u03ff]"),
    "ru": re.compile("[\u0400-\u04ff]"),
}
"""Scripts, by their commonest language; Japanese is first, because it uses Chinese signs too."""
_WORDS = {
    "en": "the and you is it of to that what not are this for have with was do your my be on",
    "de": "der die und ich nicht das ist sie du ein eine wir auch mit auf es wie was aber dass",
    "fr": "le les et est je pas vous que des une dans pour tu qui sur avec mais nous oui ce",
    "es": "el los que y es en no por una con las para lo como pero muy está yo del se qué",
    "it": "il che di e è non per una sono ma come mi ti anche più questo della gli cosa io",
    "pt": "o que e não uma os é para com um você eu mas isso está muito por as do da sim",
    "nl": "het een en ik niet je dat van is op te zijn maar wat ook voor met hij we naar",
    "pl": "nie to się jest na że w jak i co ale tak do mnie ja czy mam ty za był",
    "sv": "och att det jag inte är en du som på har vi men för med kan den så till var",
    "tr": "bir ve bu ne için ben çok de da var ama değil mi sen o gibi evet kadar daha şey",
}
_COMMON = {name: frozenset(words.split()) for name, words in _WORDS.items()}
_TOKEN = re.compile(r"[^\W\d_]+")
_FEW_WORDS = 8
"""Words below which a text in Latin script is left undecided."""


def guess_language(text: str) -> str | None:
    """The code of the language, or `None` where the text is too short or in none of those known.

    Examples:
        >>> guess_language("What do you think of that? I have no idea, to be honest.")
        'en'
        >>> guess_language("Ich weiß es nicht, aber das ist auch nicht so wichtig.")
        'de'
        >>> guess_language("Хорошо, спасибо"), guess_language("ok lol")
        ('ru', None)
    """
    letters = sum(character.isalpha() for character in text)
    for name, script in _SCRIPTS.items():
        if letters and len(script.findall(text)) > 0.3 * letters:
            return name
    words = [word.lower() for word in _TOKEN.findall(text)]
    if len(words) < _FEW_WORDS:
        return None
    counts = Counter(
        {name: sum(word in known for word in words) for name, known in _COMMON.items()}
    )
    (first, most), (_, second) = counts.most_common(2)
    return first if most >= 0.12 * len(words) and most > 1.3 * second else None


def language_shares(texts: Iterable[str]) -> dict[str, float]:
    """The share of each language among the texts whose language is clear, the largest first.

    Examples:
        >>> language_shares(["Хорошо, спасибо", "ok", "Нет, не надо", "네, 알겠습니다"])
        {'ru': 0.6666666666666666, 'ko': 0.3333333333333333}
    """
    counts = Counter(name for name in map(guess_language, texts) if name is not None)
    return {name: count / counts.total() for name, count in counts.most_common()}
