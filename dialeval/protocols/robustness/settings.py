"""What a run is asked to do."""

from dataclasses import dataclass

from dialeval.dialogues import BadInput
from dialeval.metrics.actent import SKIPS

MEASURES = ("movement", "changed", "activity_f1", "entity_f1", "bleu", "chrf", "likelihood")
"""What a verdict can go by: how far replies move, whether they change at all, or what they lose."""
REPLIES = MEASURES[:2]
"""Measures of replies alone; the others are losses against the reference."""


@dataclass(frozen=True)
class RobustnessRun:
    """Settings of a run.

    Args:
        measure (`str`, *optional*, defaults to `"movement"`):
            What the headline verdicts go by, one of `MEASURES`. Every measure has a verdict.
        margin (`float`, *optional*, defaults to 0.1):
            Movement that still counts as none, where 1 is the way to a reply for another context;
            also the share of changed replies, or decisions of a judge, that does.
        loss_margin (`float`, *optional*, defaults to 0.05):
            Share of a measure against the reference whose loss still counts as none.
        actent (`bool`, *optional*):
            Measure Activity and Entity F1; by default where the contexts are technical talk.
        skip (`str`, *optional*, defaults to `"none"`):
            Which references count for them: see `dialeval.metrics.actent.kept`.
        lexicon (`str`, *optional*):
            Folder with their word lists, in place of the embedded ones.
        likelihood (`bool`, *optional*, defaults to `True`):
            Measure that of the reference, where the model is at hand.
        resamples (`int`, *optional*, defaults to 100000):
            Of the paired bootstrap, as in the paper.
        examples (`int`, *optional*, defaults to 3):
            Worst examples that are kept of each strategy.
    """

    measure: str = "movement"
    margin: float = 0.1
    loss_margin: float = 0.05
    actent: bool | None = None
    skip: str = "none"
    lexicon: str | None = None
    likelihood: bool = True
    turns: str | tuple[int, ...] = "all"
    resamples: int = 100_000
    level: float = 0.95
    seed: int = 0
    examples: int = 3
    output_dir: str = "runs/robustness"
    overwrite: bool = False

    def __post_init__(self):
        if self.measure not in MEASURES:
            choices = f"Choose one of {', '.join(MEASURES)}."
            raise BadInput(f"Unknown measure {self.measure!r}.", hint=choices)
        if self.skip not in SKIPS:
            choices = f"Choose one of {', '.join(SKIPS)}."
            raise BadInput(f"Unknown skip rule {self.skip!r}.", hint=choices)
        for name in ("margin", "loss_margin"):
            if not 0 <= getattr(self, name) < 1:
                found = getattr(self, name)
                raise BadInput(f"`{name}` is a share from 0 to 1, but got {found:g}.")
        if self.resamples < 1:
            raise BadInput(f"`resamples` counts draws, so it is at least 1, not {self.resamples}.")

    def margin_of(self, measure: str) -> float:
        """What still counts as no effect."""
        return self.margin if measure in REPLIES else self.loss_margin
