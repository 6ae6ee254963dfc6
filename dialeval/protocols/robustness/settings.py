"""Settings of a robustness run."""

from dataclasses import asdict, dataclass
from typing import Any

from dialeval.dialogues import BadInput
from dialeval.metrics.actent import SKIPS

MEASURES = ("movement", "changed", "activity_f1", "entity_f1", "bleu", "chrf", "likelihood")
"""Measures for verdicts: how far replies move, whether they change at all, or a loss of quality."""
REPLY_MEASURES = MEASURES[:2]
"""Measures of replies alone; the others are losses against the reference."""


@dataclass(frozen=True)
class RobustnessRun:
    """Settings of a run.

    Args:
        measure (`str`, *optional*, defaults to `"movement"`):
            Measure of the headline verdicts, one of `MEASURES`. Every measure has a verdict.
        margin (`float`, *optional*, defaults to 0.1):
            Largest movement that counts as none, where 1 is the distance to a reply in another
            dialogue; also the largest share of changed replies, or of changed decisions.
        loss_margin (`float`, *optional*, defaults to 0.05):
            Largest relative loss of a measure against the reference that counts as none.
        actent (`bool`, *optional*):
            Measure Activity and Entity F1; by default only if the contexts are technical.
        skip (`str`, *optional*, defaults to `"none"`):
            Which references these F1s leave out: see `dialeval.metrics.actent.counted_references`.
        lexicon (`str`, *optional*):
            Folder with their word lists, in place of the embedded ones.
        likelihood (`bool`, *optional*, defaults to `True`):
            Measure the likelihood of the reference, for models that run in this process.
        turns (`str` or `tuple[int, ...]`, *optional*, defaults to `"all"`):
            Which turns of a context are edited.
        resamples (`int`, *optional*, defaults to 100000):
            Resamples of the paired bootstrap, as in the paper.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level of the intervals.
        seed (`int`, *optional*, defaults to 0):
            Seed of edits and resamples.
        examples (`int`, *optional*, defaults to 3):
            Number of worst examples kept for each strategy.
        output_dir (`str`, *optional*, defaults to `"runs/robustness"`):
            Folder of the run.
        overwrite (`bool`, *optional*, defaults to `False`):
            Whether another run in that folder may be replaced.
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

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            choices = f"Choose one of {', '.join(MEASURES)}."
            raise BadInput(f"Unknown measure {self.measure!r}.", hint=choices)
        if self.skip not in SKIPS:
            choices = f"Choose one of {', '.join(SKIPS)}."
            raise BadInput(f"Unknown skip rule {self.skip!r}.", hint=choices)
        for name in ("margin", "loss_margin"):
            value = getattr(self, name)
            if not 0 <= value < 1:
                raise BadInput(f"`{name}` is a share from 0 to 1, but got {value:g}.")
        if self.resamples < 1:
            raise BadInput(f"`resamples` must be at least 1, but got {self.resamples}.")

    def margin_of(self, measure: str) -> float:
        """The largest effect of a measure that counts as none."""
        return self.margin if measure in REPLY_MEASURES else self.loss_margin

    def settings(self) -> dict[str, Any]:
        """The settings that affect a number, by name."""
        settings = asdict(self)
        for name in ("output_dir", "overwrite"):
            del settings[name]
        return settings
