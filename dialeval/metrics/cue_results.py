"""Results about what gives a system away: single cues, each tested on held-out dialogues."""

from dataclasses import dataclass

LEXICAL = ("word", "phrase", "opener", "closer", "punctuation")
"""Kinds of cues that are a piece of text; the others are traits of the format or the content."""


TOO_FEW = "There are too few dialogues to look for what gives"
"""How the warning begins where cues could not be looked for; the system's name follows."""


@dataclass(frozen=True)
class CueExample:
    """A response that has a cue.

    Args:
        parts (`tuple[str, ...]`):
            Its text in parts: every second one, beginning with the second, is the cue.

    Examples:
        >>> CueExample(("well, ", "i think", " so.")).text
        'well, i think so.'
    """

    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        """The response."""
        return "".join(self.parts)


@dataclass(frozen=True)
class Cue:
    """Something in the responses by which a system is recognised.

    It is chosen on one half of the dialogues; all numbers but the log-odds are those of the other.

    Args:
        system (`str`):
            Name of the system.
        kind (`str`):
            One of `LEXICAL`, or `"format"`, `"length"`, `"content"`.
        text (`str`):
            The word or phrase, or the name of the trait.
        side (`str`):
            `"system"` or `"human"`: where it is more frequent.
        system_share, human_share (`float`):
            Share of the responses that have it, or the mean of a measure.
        accuracy, low, high (`float`):
            Of deciding by this cue alone, with its interval over dialogues; .5 is chance.
        p_holm (`float`):
            One-sided p-value of that accuracy, adjusted for the number of cues that were tested.
        rule (`str`):
            The decision in words.
        measures (`str`, *optional*):
            What the means are of; empty where shares are given.
        log_odds (`float`, *optional*):
            How typical it is of the system, with an informative prior (Monroe et al., 2008).
        hint (`str`, *optional*):
            How to remove it.
        examples (`tuple[CueExample, ...]`, *optional*):
            Responses of the side where it is more frequent.
        gain (`float`, *optional*):
            Accuracy that it adds to all stronger cues of the system, and the first one to chance.
            Cues are significant on the half on which it is measured, so that it leans to the
            optimistic side.
        topical (`bool`, *optional*, defaults to `False`):
            Of two piles: whether it may come from the topic, as partners use it more there too.
    """

    system: str
    kind: str
    text: str
    side: str
    system_share: float
    human_share: float
    accuracy: float
    low: float
    high: float
    p_holm: float
    rule: str
    measures: str = ""
    log_odds: float | None = None
    hint: str = ""
    examples: tuple[CueExample, ...] = ()
    gain: float | None = None
    topical: bool = False
