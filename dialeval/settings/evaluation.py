"""Settings of an evaluation."""

from dataclasses import dataclass, field
from importlib.util import find_spec

from dialeval.errors import BadInput
from dialeval.registry import import_object
from dialeval.settings.checks import check_settings

NORMALISE = ("auto", "on", "off")
_CHECK = "dialeval.protocols.evaluation.evaluators:resolve_evaluators"


@dataclass
class EvaluationRun:
    """Settings of the evaluation."""

    evaluators: list[str] | None = field(
        default=None,
        metadata={
            "flags": ("--evaluator",),
            "help": "Trained on your data: stack, surface, svm-unigram, hierarchical, ..., all, "
            "or package.module:Class. Applied without training: the folder or Hub name of a saved "
            "one, NAME=FOLDER, zero-shot[:MEASURE[:MODEL]], hf:NAME for any text "
            "classifier of Hugging Face (with --human-label). By default stack and surface; "
            "see: dialeval list evaluators. Repeatable.",
        },
    )
    folds: int = field(default=5, metadata={"help": "Number of cross-fitting folds, by dialogue."})
    seeds: int = field(default=3, metadata={"help": "Number of seeds, for the spread of AdverSuc."})
    curve: tuple[float, ...] = field(
        default=(0.25, 0.5),
        metadata={
            "empty": True,
            "help": "Shares of the training pairs in the learning curve. Repeatable.",
        },
    )
    length_matched: bool = field(
        default=True,
        metadata={"help": "Also measure AdverSuc with equal length distributions."},
    )
    twins: bool = field(
        default=True,
        metadata={
            "help": "Also train every evaluator without the context: what a response alone reveals."
        },
    )
    normalise: str = field(
        default="auto",
        metadata={
            "help": "Also measure the accuracy after normalising the format of both sides: on, "
            "off, or auto, where a format leak is significant."
        },
    )
    margin: float = field(
        default=0.55,
        metadata={"help": "Accuracy up to which a difference counts as negligible."},
    )
    seed: int = field(default=0, metadata={"help": "Random seed."})
    output_dir: str = field(
        default="runs/evaluation",
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
        if not all(0 < share < 1 for share in self.curve):
            raise BadInput(f"shares of a learning curve lie between 0 and 1, but got {self.curve}.")
        if self.normalise not in NORMALISE:
            choices = f"Choose from {', '.join(NORMALISE)}."
            raise BadInput(f"unknown value {self.normalise!r} of normalise.", hint=choices)
        if not 0.5 < self.margin < 1:
            raise BadInput(
                f"the margin is an accuracy above .5 (chance) and below 1, but got {self.margin}."
            )
        if self.evaluators or not find_spec("torch"):  # refuses what cannot be used early
            import_object(_CHECK, "dialeval")(self.evaluators)


@dataclass
class ReliabilityRun(EvaluationRun):
    """Settings of the reliability test."""

    seeds: int = field(default=1, metadata={"hidden": True})
    curve: tuple[float, ...] = field(default=(), metadata={"hidden": True})
    length_matched: bool = field(default=False, metadata={"hidden": True})
    normalise: str = field(default="off", metadata={"hidden": True})
    margin: float = field(default=0.55, metadata={"hidden": True})
    output_dir: str = field(
        default="runs/ere",
        metadata={"flags": ("--output-dir", "-o"), "help": "Folder for the results."},
    )
