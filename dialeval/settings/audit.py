"""Settings of an audit."""

from dataclasses import dataclass, field

from dialeval.errors import BadInput
from dialeval.settings.checks import check_settings
from dialeval.settings.usage import SET

NEEDED = (
    "Give replies that are known to be human (--reference clean.jsonl), replies of machines "
    "(--machine some.jsonl; `dialeval generate` makes some for your contexts), or, best, both."
)


@dataclass(frozen=True)
class AuditRun:
    """Settings of the audit."""

    evaluator: str = field(
        default="surface",
        metadata={
            "help": "Evaluator that is trained on the known replies; it reads them without their "
            "contexts. See: dialeval list evaluators."
        },
    )
    by: str | None = field(
        default=None,
        metadata={"help": "Column of workers or sources, for a share of each: worker, speaker."},
    )
    folds: int = field(default=5, metadata={"help": "Number of cross-fitting folds, by dialogue."})
    seeds: int = field(
        default=3, metadata={"help": "Number of seeds; each trains the evaluator on other folds."}
    )
    resamples: int = field(default=2_000, metadata={"help": "Resamples of the bootstrap."})
    level: float = field(default=0.95, metadata={"help": "Confidence level of the intervals."})
    fdr: float = field(
        default=0.05,
        metadata={
            "help": "False discovery rate of the groups that stand out (--by).",
            "needs": {"by": SET},
        },
    )
    seed: int = field(default=0, metadata={"help": "Random seed."})
    output_dir: str = field(
        default="runs/audit",
        metadata={"flags": ("--output-dir", "-o"), "help": "Folder for the results."},
    )
    overwrite: bool = field(
        default=False,
        metadata={"flags": ("--overwrite",), "help": "Replace the results of another run."},
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.folds < 2:
            raise BadInput(f"cross-fitting needs 2 folds or more, but got {self.folds}.")
        for name in ("level", "fdr"):
            if not 0 < getattr(self, name) < 1:
                raise BadInput(f"--{name} lies between 0 and 1, but got {getattr(self, name)}.")
