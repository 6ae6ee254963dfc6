"""Settings of an evaluation."""

from dataclasses import dataclass

from dialeval.dialogues import BadInput
from dialeval.protocols.evaluation.evaluators import resolve_evaluators


@dataclass
class EvaluationRun:
    """Settings of an evaluation.

    Args:
        evaluators (`list[str]`, *optional*):
            Names of evaluators, or `["all"]`; the fast ones by default.
        folds (`int`, *optional*, defaults to 5):
            Folds of cross-fitting; fewer are used if there are few dialogues.
        seeds (`int`, *optional*, defaults to 3):
            Seeds for the spread of AdverSuc.
        curve (`tuple[float, ...]`, *optional*):
            Shares of the training pairs in the learning curve, in addition to all of them.
        length_matched (`bool`, *optional*, defaults to `True`):
            Whether AdverSuc is also measured with the same lengths in both classes.
        seed (`int`, *optional*, defaults to 0):
            Seed of folds, draws, evaluators and intervals.
        output_dir (`str`, *optional*, defaults to `"runs/evaluation"`):
            Folder for results, scores and cache.
        overwrite (`bool`, *optional*, defaults to `False`):
            Whether results of another run in the output folder may be replaced.
    """

    evaluators: list[str] | None = None
    folds: int = 5
    seeds: int = 3
    curve: tuple[float, ...] = (0.25, 0.5)
    length_matched: bool = True
    seed: int = 0
    output_dir: str = "runs/evaluation"
    overwrite: bool = False

    def __post_init__(self) -> None:
        if self.folds < 2:
            raise BadInput(f"cross-fitting needs 2 folds or more, but got {self.folds}.")
        if self.seeds < 1:
            raise BadInput(f"an evaluation needs 1 seed or more, but got {self.seeds}.")
        if not all(0 < share < 1 for share in self.curve):
            raise BadInput(f"shares of a learning curve lie between 0 and 1, but got {self.curve}.")
        resolve_evaluators(self.evaluators)  # refuses unknown names before anything is read
