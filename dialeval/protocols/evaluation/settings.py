"""How systems are evaluated."""

from dataclasses import dataclass

from dialeval.dialogues import BadInput
from dialeval.protocols.evaluation.evaluators import resolve_evaluators


@dataclass
class EvaluationRun:
    """How systems are evaluated.

    Args:
        evaluators (`list[str]`, *optional*):
            Names of judges, or `["all"]`; the fast ones by default.
        folds (`int`, *optional*, defaults to 5):
            Folds of cross-fitting; fewer are used where dialogues are few.
        seeds (`int`, *optional*, defaults to 3):
            Seeds whose spread stands beside AdverSuc.
        curve (`tuple[float, ...]`, *optional*):
            Shares of the training pairs in the learning curve, beside all of them.
        length_matched (`bool`, *optional*, defaults to `True`):
            Whether AdverSuc is also measured with the same lengths in both classes.
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

    def __post_init__(self):
        if self.folds < 2:
            raise BadInput(f"cross-fitting needs 2 folds or more, but got {self.folds}.")
        if self.seeds < 1:
            raise BadInput(f"an evaluation needs 1 seed or more, but got {self.seeds}.")
        if not all(0 < share < 1 for share in self.curve):
            raise BadInput(f"shares of a learning curve lie between 0 and 1, but got {self.curve}.")
        resolve_evaluators(
            self.evaluators
        )  # an unknown name is said before anything is read or fitted
