"""`dialeval.audit`: how much of data that is said to be human machines wrote, from Python."""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialeval.dialogues.conversion import as_passages

if TYPE_CHECKING:
    from dialeval.metrics.audit_results import AuditResults

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
