"""Settings of an evaluation."""

from dataclasses import dataclass, field

from dialeval.errors import BadInput
from dialeval.registry import import_object

_CHECK = "dialeval.protocols.evaluation.evaluators:resolve_evaluators"


@dataclass
class EvaluationRun:
    """Settings of the evaluation."""

    evaluators: list[str] | None = field(
        default=None,
        metadata={
            "flags": ("--evaluator",),
            "help": "Trained on your data: svm-unigram, embedding, hierarchical, minilm, ..., all, "
            "or package.module:Class. Applied without training: the folder or Hub name of a saved "
            "one, NAME=FOLDER, zero-shot[:MEASURE[:MODEL]]. By default svm-unigram and embedding; "
            "see: dialeval list evaluators. Repeatable.",
        },
    )
    folds: int = field(default=5, metadata={"help": "Number of cross-fitting folds, by dialogue."})
    seeds: int = field(default=3, metadata={"help": "Number of seeds, for the spread of AdverSuc."})
    curve: tuple[float, ...] = field(
        default=(0.25, 0.5),
        metadata={"help": "Shares of the training pairs in the learning curve. Repeatable."},
    )
    length_matched: bool = field(
        default=True,
        metadata={"help": "Also measure AdverSuc with equal length distributions."},
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
        if self.folds < 2:
            raise BadInput(f"cross-fitting needs 2 folds or more, but got {self.folds}.")
        if self.seeds < 1:
            raise BadInput(f"an evaluation needs 1 seed or more, but got {self.seeds}.")
        if not all(0 < share < 1 for share in self.curve):
            raise BadInput(f"shares of a learning curve lie between 0 and 1, but got {self.curve}.")
        import_object(_CHECK, "dialeval")(self.evaluators)  # refuses unknown names early


@dataclass
class ReliabilityRun(EvaluationRun):
    """Settings of the reliability test."""

    seeds: int = field(default=1, metadata={"hidden": True})
    curve: tuple[float, ...] = field(default=(), metadata={"hidden": True})
    length_matched: bool = field(default=False, metadata={"hidden": True})
    output_dir: str = field(
        default="runs/ere",
        metadata={"flags": ("--output-dir", "-o"), "help": "Folder for the results."},
    )
