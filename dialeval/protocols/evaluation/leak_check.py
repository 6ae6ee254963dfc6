"""Format leaks of the systems of a run, and both accuracies: as given, and normalised."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dialeval.dialogues import BadInput
from dialeval.metrics.evaluation_results import FormatLeak
from dialeval.protocols.evaluation.inputs import EvaluationData
from dialeval.protocols.evaluation.verdict import percent
from dialeval.protocols.leaks import LeakReport, find_leaks, normaliser_for


@dataclass
class LeakCheck:
    """The format leaks of every system.

    Args:
        reports (`dict[str, LeakReport]`, *optional*):
            What was found, by system; without systems that could not be checked.
    """

    reports: dict[str, LeakReport] = field(default_factory=dict)

    @property
    def leaks(self) -> tuple[FormatLeak, ...]:
        """All significant format leaks, the clearest of each system first."""
        return tuple(leak for system in self.reports for leak in self.of(system))

    def of(self, system: str) -> list[FormatLeak]:
        """The significant format leaks of a system, the clearest first."""
        report = self.reports.get(system)
        leaks = [leak for leak in report.format if leak.significant] if report else []
        return [
            FormatLeak(
                system, leak.name, leak.rule, leak.accuracy, leak.low, leak.high, leak.hint,
                leak.human_example or "", leak.system_example or "",
            )
            for leak in sorted(leaks, key=lambda leak: -leak.accuracy)
        ]  # fmt: skip


def check_formats(
    data: EvaluationData, normalise: str, seed: int, warn: Callable[[str], Any]
) -> LeakCheck:
    """Look for format leaks in every system, and choose what is normalised.

    Args:
        data (`EvaluationData`):
            Human passages and systems; gets the normalisers.
        normalise (`str`):
            `"auto"`: normalise both sides where there is a significant format leak; `"on"`: in
            every case; `"off"`: never.
        seed (`int`):
            Seed of halves and resampling.
        warn (`Callable`):
            Called with a sentence for each reason why systems could not be checked.

    Returns:
        `LeakCheck`: The reports of all systems.
    """
    check, unchecked = LeakCheck(), dict[str, list[str]]()
    for system, answers in data.systems.items():
        try:
            check.reports[system] = find_leaks(data.human, answers, seed)
        except BadInput as error:
            unchecked.setdefault(str(error), []).append(system)
            continue
        if normalise == "on" or (normalise == "auto" and check.of(system)):
            data.normalisers[system] = normaliser_for(check.reports[system])
    for reason, systems in unchecked.items():
        warn(f"Not checked for format leaks: {', '.join(systems)}. {reason}")
    return check


def leak_flags(leaks: list[FormatLeak], normalised_accuracy: float | None) -> list[str]:
    """What a reader has to know about the format of a system, in one sentence or none.

    Args:
        leaks (`list[FormatLeak]`):
            Its significant format leaks, the clearest first.
        normalised_accuracy (`float`, *optional*):
            The highest accuracy of an evaluator after both sides were normalised.

    Returns:
        `list[str]`: Empty without leaks.
    """
    if not leaks:
        return []
    names = ", ".join(leak.name for leak in leaks[:3]) + (", ..." if len(leaks) > 3 else "")
    after = ""
    if normalised_accuracy is not None:
        after = "; after normalising both sides the best evaluator's accuracy is "
        after += percent(normalised_accuracy)
    return [
        f'format leak ({names}): the rule "{leaks[0].rule}" alone is right in '
        f"{percent(leaks[0].accuracy)} of cases{after}"
    ]
