"""`dialeval.audit`, and evaluations with or without shared contexts, from Python."""

import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialeval.dialogues import Passages
from dialeval.dialogues.conversion import as_passages

if TYPE_CHECKING:
    from dialeval.metrics.audit_results import AuditResults
    from dialeval.metrics.evaluation_results import EvaluationResults
    from dialeval.metrics.unpaired_results import UnpairedResults
    from dialeval.settings.evaluation import EvaluationRun

OnProgress = Callable[[int, int, str], Any]


def audit(
    data: Any,
    reference: Any = None,
    machine: Any = None,
    *,
    role: str | None = None,
    output_dir: str | PathLike[str] | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> "AuditResults":
    """How much of data that is said to be human did machines write?

    Args:
        data:
            The replies in question, in any shape that [`evaluate`] takes.
        reference (*optional*):
            Replies that are known to be human, in the same shapes.
        machine (*optional*):
            Replies of machines. At least one of the two is needed; both give an estimate.
        role (`str`, *optional*):
            Whose turns are the replies, in conversations and files.
        output_dir (`str` or `Path`, *optional*):
            Folder for `results.json` and `report.html`; by default nothing is kept on disk.
        seed (`int`, *optional*, defaults to 0):
            Seed of folds, evaluators and resamples.
        on_progress (`Callable`, *optional*):
            Called with finished steps, their total, and a description.
        settings:
            Further settings of `AuditRun`, such as `by="worker"`.

    Returns:
        `AuditResults`: `share` is the number; `print` shows it with its checks and groups.

    Raises:
        BadInput: The data cannot be used; says what is needed.
    """
    from dialeval.protocols.audit import audit as run_audit
    from dialeval.settings.audit import AuditRun

    sides = [
        None if side is None else as_passages(side, author=author, role=role)
        for side, author in ((data, "human"), (reference, "human"), (machine, "machine"))
    ]
    options = {} if on_progress is None else {"on_progress": on_progress}
    with ExitStack() as stack:
        folder = output_dir or stack.enter_context(tempfile.TemporaryDirectory())
        run = AuditRun(seed=seed, output_dir=str(folder), **settings)
        results = run_audit(sides[0], sides[1], sides[2], run, **options)
        if output_dir:
            from dialeval.reports.audit import write_audit_report

            write_audit_report(Path(output_dir))
    return results


def evaluate_passages(
    human: Passages,
    answers: Mapping[str, Passages],
    run: "EvaluationRun",
    max_identical: float = 0.2,
    keep: bool = True,
    **options: Any,
) -> "EvaluationResults | UnpairedResults":
    """Evaluate on shared contexts, or as piles by dialogue where contexts are not shared.

    Args:
        human (`Passages`):
            Human responses.
        answers (`Mapping[str, Passages]`):
            Responses of each system.
        run (`EvaluationRun`):
            Settings.
        max_identical (`float`, *optional*, defaults to 0.2):
            Share of a system's replies that may be identical to the human's.
        keep (`bool`, *optional*, defaults to `True`):
            Whether `report.html` is written.
        options:
            Further options of the study, such as `on_progress`.

    Returns:
        `EvaluationResults` or `UnpairedResults`: Also written to the output folder.
    """
    from dialeval.protocols.evaluation import align
    from dialeval.protocols.evaluation import evaluate as run_evaluation
    from dialeval.protocols.unpaired import evaluate_piles, make_piles, shares_contexts
    from dialeval.reports.evaluation import write_report
    from dialeval.reports.unpaired import write_unpaired_report

    systems = dict(answers)
    paired = not systems or shares_contexts(human, systems)
    results: EvaluationResults | UnpairedResults = (
        run_evaluation(align(human, systems, max_identical=max_identical), run, **options)
        if paired
        else evaluate_piles(make_piles(human, systems), run, **options)
    )
    if keep:
        (write_report if paired else write_unpaired_report)(Path(run.output_dir))
    return results
