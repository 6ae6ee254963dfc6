"""Results of an analysis of a discriminator."""

from dataclasses import dataclass
from typing import ClassVar

from dialeval.metrics.results import RunResults

OUTCOMES = ("true positive", "false positive", "true negative", "false negative")
"""Positive: predicted human; true: rightly."""


@dataclass(frozen=True)
class Curve:
    """Points of a line.

    Args:
        name (`str`):
            What it shows.
        x, y (`tuple[float, ...]`):
            The points.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class Bin:
    """Responses that share a property.

    Args:
        group, name (`str`):
            Which property, and its value.
        n (`int`):
            Responses.
        error, low, high (`float`):
            Share of wrong decisions with its 95 % interval over dialogues.
        score (`float`):
            Mean score.
        human (`float`):
            Share written by a human.
    """

    group: str
    name: str
    n: int
    error: float
    low: float
    high: float
    score: float
    human: float


@dataclass(frozen=True)
class WordPicture:
    """A passage with a weight on each word.

    Args:
        words (`tuple[str, ...]`), weights (`tuple[float, ...]`):
            Words and their weights.
        response_at (`int`):
            Index of the response's first word.
        method (`str`):
            How the weights were computed.
        outcome (`str`):
            One of `OUTCOMES`.
        score (`float`):
            The discriminator's.
        author (`str`):
            Who wrote the response.
    """

    words: tuple[str, ...]
    weights: tuple[float, ...]
    response_at: int
    method: str
    outcome: str
    score: float
    author: str


@dataclass(frozen=True)
class TypicalFeature:
    """A word, an opener or a format that distinguishes two sides.

    Args:
        sides (`str`):
            `data`: human and machine responses; `decisions`: predicted human and machine.
        kind (`str`):
            `word`, `opener` or `format`.
        feature (`str`):
            The feature.
        log_odds, z, p_holm (`float`):
            Positive: typical of human; in standard deviations; adjusted p-value.
        human, machine (`int`):
            Counts.
        examples (`tuple[str, ...]`):
            Responses of the side it is typical of.
    """

    sides: str
    kind: str
    feature: str
    log_odds: float
    z: float
    p_holm: float
    human: int
    machine: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class RankedContext:
    """Top responses of equal length to one context by discriminator and by likelihood.

    Args:
        context (`tuple[str, ...]`):
            Its turns.
        length (`int`):
            Words of each response.
        by_discriminator, by_likelihood (`tuple[str, ...]`):
            The best first.
        spearman (`float`):
            Correlation of both rankings.
        n (`int`):
            Responses of that length.
    """

    context: tuple[str, ...]
    length: int
    by_discriminator: tuple[str, ...]
    by_likelihood: tuple[str, ...]
    spearman: float
    n: int


@dataclass(frozen=True, kw_only=True)
class AnalysisResults(RunResults):
    """What a discriminator looks at.

    Args:
        curves (`tuple[Curve, ...]`):
            Precision-recall, score against length, reliability.
        bins (`tuple[Bin, ...]`):
            Errors by length, first word and frequency.
        pictures (`tuple[WordPicture, ...]`):
            Passages with weights on their words.
        features (`tuple[TypicalFeature, ...]`):
            What distinguishes the sides.
        rankings (`tuple[RankedContext, ...]`):
            Rankings of sampled responses.
    """

    protocol: ClassVar[str] = "analysis"

    curves: tuple[Curve, ...] = ()
    bins: tuple[Bin, ...] = ()
    pictures: tuple[WordPicture, ...] = ()
    features: tuple[TypicalFeature, ...] = ()
    rankings: tuple[RankedContext, ...] = ()
