"""Warnings about languages: an English encoder on other texts, and sides that differ."""

from collections.abc import Iterator, Mapping, Sequence

from dialeval.dialogues import Passages
from dialeval.dialogues.languages import language_of

ENGLISH = "English"
ENGLISH_ENCODERS = ("stack", "stack+lm", "context", "embedding", "minilm", "transformer")
"""Evaluators that read texts with MiniLM, which was trained on English, by default."""


def language_warnings(
    human: Passages, systems: Mapping[str, Passages], evaluators: Sequence[str]
) -> Iterator[str]:
    """What a reader has to know about the languages of the responses.

    Args:
        human (`Passages`):
            Human responses.
        systems (`Mapping[str, Passages]`):
            Responses of each system.
        evaluators (`Sequence[str]`):
            Names of the evaluators.

    Returns:
        `Iterator[str]`: Sentences; none where the languages are not clear.
    """
    expected = language_of(human["response"])
    readers = [name for name in evaluators if name in ENGLISH_ENCODERS]
    if expected not in ("", ENGLISH) and readers:
        yield (
            f"The human responses are in {expected}, as far as function words and script show, but "
            f"{', '.join(readers)} read them with an encoder for English: they may detect less "
            "than they could. The evaluator surface needs no encoder."
        )
    for name, answers in systems.items():
        language = language_of(answers["response"])
        if expected and language and language != expected:
            yield (
                f"{name} answers in {language} and the humans in {expected}: the language alone "
                "gives it away."
            )
