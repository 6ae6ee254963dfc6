"""An audit: the share of the data that machines wrote, what it rests on, and groups."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dialeval.dialogues import BadInput, Passages
from dialeval.dialogues.types import text_key
from dialeval.metrics.audit_results import (
    AT_MOST,
    FIT,
    KNOWN_ONLY,
    METRICS,
    NEITHER,
    SHARE,
    UNLIKE,
    AuditCheck,
    AuditGroup,
    AuditResults,
    ScoreBin,
)
from dialeval.metrics.results import Result, plain, signature
from dialeval.protocols.audit.bounds import Bound, largest_share_of
from dialeval.protocols.audit.checks import fit_check, separation_check, shift_check
from dialeval.protocols.audit.groups import FEW_PEOPLE, audit_groups, known_people
from dialeval.protocols.audit.neither import neither_check
from dialeval.protocols.audit.samples import (
    DATA,
    MACHINE,
    REFERENCE,
    Sample,
    check_samples,
    make_sample,
)
from dialeval.protocols.audit.scoring import BinnedScores, binned_scores
from dialeval.protocols.audit.shares import estimate_share, score_bins
from dialeval.protocols.audit.wording import result_text
from dialeval.protocols.evaluation.collector import library_versions
from dialeval.protocols.evaluation.evaluators import FitContext, fit_function, fitted_names
from dialeval.protocols.evaluation.folds import content_key
from dialeval.protocols.evaluation.writing import output_folder
from dialeval.settings.audit import NEEDED, AuditRun

LEAST_GROUPS = 10
"""With this many groups in the reference, groups are resampled, not dialogues."""


@dataclass
class Audit:
    """One audit; give at least one known sample.

    Args:
        data (`Passages`):
            The replies in question.
        reference (`Passages`, *optional*):
            Replies that are known to be human.
        machine (`Passages`, *optional*):
            Replies of machines.
        run (`AuditRun`, *optional*):
            Settings.
        fit_context (`FitContext`, *optional*):
            What evaluators share.
        on_progress (`Callable`, *optional*):
            Called with the number of fits, their total, and a description.
    """

    data: Passages
    reference: Passages | None = None
    machine: Passages | None = None
    run: AuditRun = field(default_factory=AuditRun)
    fit_context: FitContext = field(default_factory=FitContext)
    on_progress: Callable[[int, int, str], Any] = lambda done, total, what: None
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.reference is None and self.machine is None:
            message = "the data alone do not show what a human and what a machine writes there."
            raise BadInput(message, hint=NEEDED)
        if self.run.evaluator not in fitted_names([self.run.evaluator]):
            hint = "Choose one that is trained: dialeval list evaluators"
            raise BadInput(f"{self.run.evaluator!r} is not trained here.", hint=hint)
        self.fit = fit_function(self.run.evaluator)
        self.folder = output_folder(self.run.output_dir)
        self.folds, self._done = self.run.folds, 0

    def __call__(self) -> AuditResults:
        """Estimate the share; writes `results.json` and returns what is in it."""
        settings = self._settings()
        with self.folder.lock():
            self.folder.check(settings, _difference, overwrite=self.run.overwrite)
            data, known = self._samples()
            if len(known) == 2:
                results = self._share(data, known[REFERENCE], known[MACHINE], settings)
            else:
                results = self._bound(data, next(iter(known.values())), settings)
            results.save(self.folder.path)
        return results

    def _settings(self) -> dict[str, Any]:
        settings = {"protocol": AuditResults.protocol, **asdict(self.run)}
        del settings["overwrite"], settings["output_dir"]
        sides = {DATA: self.data, REFERENCE: self.reference, MACHINE: self.machine}
        contents = {name: content_key(side) for name, side in sides.items() if side is not None}
        return dict(plain({**settings, "contents": contents}))

    def _samples(self) -> tuple[Sample, dict[str, Sample]]:
        by = self.run.by
        known = [
            make_sample(name, passages, by if name == REFERENCE else None)
            for name, passages in ((REFERENCE, self.reference), (MACHINE, self.machine))
            if passages is not None
        ]
        data, known, warnings = check_samples(make_sample(DATA, self.data, by), known, by)
        self.warnings += warnings
        self._limit_folds(min(len(np.unique(sample.dialogues)) for sample in known))
        return data, {sample.name: sample for sample in known}

    def _limit_folds(self, dialogues: int) -> None:
        """As many folds as wanted, but each with a dialogue of every known sample."""
        if dialogues < self.folds:
            self.warnings.append(f"{dialogues} folds, not {self.folds}: there are few dialogues.")
            self.folds = dialogues

    def _on_fit(self, what: str) -> Callable[[], None]:
        def on_fit() -> None:
            self._done += 1
            total = self.folds * self.run.seeds
            self.on_progress(min(self._done, total), total, what)

        return on_fit

    def _seeds(self) -> range:
        return range(self.run.seed, self.run.seed + self.run.seeds)

    def _share(
        self, data: Sample, reference: Sample, machine: Sample, settings: Mapping[str, Any]
    ) -> AuditResults:
        """With both known samples: the share."""
        run = self.run
        scores = binned_scores(
            self.fit, data, reference, machine, folds=self.folds, seeds=self._seeds(),
            fit_context=self.fit_context, on_fit=self._on_fit("known replies"),
        )  # fmt: skip
        units = (data.dialogue_numbers, reference.units(LEAST_GROUPS), machine.dialogue_numbers)
        sums = scores.per_unit(units)
        separation = separation_check(scores, sums, run.seed)
        estimate = estimate_share(scores, sums, run.resamples, run.level, run.seed)
        neither = neither_check(
            (data, reference, machine), estimate.value, self.fit_context.features, LEAST_GROUPS,
            run.seed,
        )  # fmt: skip
        warn = self.warnings.append
        shift = shift_check(self.fit, data, reference, run.seed, self.fit_context, warn)
        optional = [check for check in (neither, shift) if check is not None]
        checks = [separation, fit_check(sums, run.seed), *optional]
        is_mixture = all(check.passed for check in checks if check.name in (FIT, NEITHER))
        kind = SHARE if is_mixture else KNOWN_ONLY
        groups = self._groups(scores, data, reference)
        details = {"moments": estimate.moments, "seeds": list(estimate.seeds)}
        bound = Bound(estimate.value, estimate.low, estimate.high)
        result = self._result(kind, bound, data, details)
        return self._results(kind, result, settings, checks, groups, score_bins(sums))

    def _bound(self, data: Sample, known: Sample, settings: Mapping[str, Any]) -> AuditResults:
        """With one known sample: how much can be like it at most."""
        run = self.run
        bound = largest_share_of(
            self.fit, data, known, folds=self.folds, seeds=self._seeds(), resamples=run.resamples,
            level=run.level, least_groups=LEAST_GROUPS, fit_context=self.fit_context,
            on_fit=self._on_fit(f"{known.name} replies"),
        )  # fmt: skip
        kind = AT_MOST if known.name == MACHINE else UNLIKE
        if kind == UNLIKE:
            bound = Bound(1 - bound.value, 1 - bound.high, 1 - bound.low)
        checks = []
        if kind == UNLIKE:
            warn = self.warnings.append
            shift = shift_check(self.fit, data, known, run.seed, self.fit_context, warn)
            checks += [shift] if shift is not None else []
        if run.by:
            self.warnings.append("Shares by group need both --reference and --machine.")
        return self._results(kind, self._result(kind, bound, data, {}), settings, checks)

    def _groups(self, scores: BinnedScores, data: Sample, reference: Sample) -> list[AuditGroup]:
        run = self.run
        if data.groups is None:
            return []
        missing = int((data.groups == "").sum())
        if missing:
            self.warnings.append(f"{missing:,} replies of the data have no {run.by!r}.")
        if known_people(reference) is None:
            self.warnings.append(
                f"The reference names fewer than {FEW_PEOPLE} groups in {run.by!r}, so nothing "
                "shows how much people differ: a person with an unusual style can stand out."
            )
        return audit_groups(scores, data, reference, run.level, run.fdr, run.seed)

    def _result(self, kind: str, bound: Bound, data: Sample, details: Mapping[str, Any]) -> Result:
        return Result(
            METRICS[kind], DATA, self.run.evaluator, bound.value, bound.low, bound.high, len(data),
            self._signature(), {"dialogues": len(np.unique(data.dialogues)), **details},
        )  # fmt: skip

    def _results(
        self,
        kind: str,
        result: Result,
        settings: Mapping[str, Any],
        checks: list[AuditCheck],
        groups: list[AuditGroup] | None = None,
        bins: list[ScoreBin] | None = None,
    ) -> AuditResults:
        failed = [check.text for check in checks if not check.passed]
        return AuditResults(
            results=(result,),
            warnings=tuple(dict.fromkeys([*failed, *self.warnings])),
            settings=settings,
            signature=self._signature(),
            kind=kind,
            text=result_text(kind, result, self.run.level),
            checks=tuple(checks),
            by=self.run.by,
            groups=tuple(groups or ()),
            bins=tuple(bins or ()),
        )

    def _signature(self) -> str:
        run = self.run
        return signature(
            protocol="audit", evaluator=run.evaluator, folds=self.folds, seeds=run.seeds,
            unit="dialogue", by=run.by or "", seed=run.seed, **library_versions(),
        )  # fmt: skip


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Why an earlier run is not the same one; `""` if it is."""
    if not old:
        return "its settings could not be read"
    if old.get("protocol") != new["protocol"]:
        return f"it was a run of {old.get('protocol', 'something else')}"
    keys = [text_key([str(sorted(side.get("contents", {}).items()))]) for side in (old, new)]
    if keys[0] != keys[1]:
        return "it had other data"
    changed = [name for name in new if name != "contents" and old.get(name) != new[name]]
    return f"it had another {changed[0]}" if changed else ""


def audit(
    data: Passages,
    reference: Passages | None = None,
    machine: Passages | None = None,
    run: AuditRun | None = None,
    **options: Any,
) -> AuditResults:
    """The share of replies that machines wrote.

    Args:
        data (`Passages`):
            The replies in question.
        reference (`Passages`, *optional*):
            Replies that are known to be human.
        machine (`Passages`, *optional*):
            Replies of machines.
        run (`AuditRun`, *optional*):
            Settings.
        options:
            Further fields of [`Audit`].

    Returns:
        `AuditResults`: Also written to the output folder.
    """
    return Audit(data, reference, machine, run or AuditRun(), **options)()
