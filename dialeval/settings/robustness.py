"""Settings of a robustness run."""

from dataclasses import asdict, dataclass, field
from typing import Any

from dialeval.errors import BadInput
from dialeval.settings.checks import check_settings

MEASURES = ("movement", "changed", "activity_f1", "entity_f1", "bleu", "chrf", "likelihood")
"""Measures for verdicts: how far replies move, whether they change at all, or a loss of quality."""
REPLY_MEASURES = MEASURES[:2]
"""Measures of replies alone; the others are losses against the reference."""
SKIPS = ("none", "released", "no-activity")
"""Rules for references that Activity and Entity F1 leave out: see `dialeval.metrics.actent`."""


@dataclass(frozen=True)
class RobustnessRun:
    """Settings of a robustness run.

    The help text of each option says what it does.
    """

    measure: str = field(
        default="movement",
        metadata={
            "help": "Measure of the headline verdicts; every measure has a verdict.",
            "choices": MEASURES,
        },
    )
    margin: float = field(
        default=0.1,
        metadata={
            "help": "Largest movement that counts as none, where 1 is the distance to a reply in "
            "another dialogue; also the largest share of changed replies or decisions."
        },
    )
    loss_margin: float = field(
        default=0.05,
        metadata={"help": "Largest relative loss against the reference that counts as none."},
    )
    actent: bool | None = field(
        default=None,
        metadata={
            "flags": ("--actent/--no-actent",),
            "help": "Activity and Entity F1; by default only if the contexts are technical.",
        },
    )
    actent_lexicon: str | None = field(
        default=None, metadata={"help": "Folder of the released word lists, for --actent."}
    )
    skip: str = field(
        default="none",
        metadata={"help": "References that these F1s leave out.", "choices": SKIPS},
    )
    likelihood: bool = field(
        default=True, metadata={"help": "Likelihood of the reference, for local models."}
    )
    turns: str | tuple[int, ...] = field(
        default="all", metadata={"help": "Turns to edit: all, last, or indices.", "hidden": True}
    )
    resamples: int = field(default=100_000, metadata={"help": "Resamples of the paired bootstrap."})
    level: float = field(default=0.95, metadata={"help": "Confidence level of the intervals."})
    seed: int = field(default=0, metadata={"help": "Random seed."})
    examples: int = field(
        default=3, metadata={"least": 0, "help": "Worst examples of each strategy to keep."}
    )
    output_dir: str = field(
        default="runs/robustness",
        metadata={"flags": ("--output-dir", "-o"), "help": "Folder for the results."},
    )
    overwrite: bool = field(
        default=False,
        metadata={"flags": ("--overwrite",), "help": "Replace the results of another run."},
    )

    def __post_init__(self) -> None:
        check_settings(self)
        for name, choices in (("measure", MEASURES), ("skip", SKIPS)):
            value = getattr(self, name)
            if value not in choices:
                hint = f"Choose one of {', '.join(choices)}."
                raise BadInput(f"Unknown {name} {value!r}.", hint=hint)
        for name in ("margin", "loss_margin"):
            value = getattr(self, name)
            if not 0 <= value < 1:
                raise BadInput(f"`{name}` is a share from 0 to 1, but got {value:g}.")
        if not 0 < self.level < 1:
            raise BadInput(f"`level` lies between 0 and 1, but got {self.level:g}.")

    def margin_of(self, measure: str) -> float:
        """The largest effect of a measure that counts as none."""
        return self.margin if measure in REPLY_MEASURES else self.loss_margin

    def settings(self) -> dict[str, Any]:
        """The settings that affect a number, by name."""
        settings = asdict(self)
        for name in ("output_dir", "overwrite"):
            del settings[name]
        return settings
