"""The scores of every evaluator for every response: tables that are cached in files."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from dialeval.dialogues import BadInput, Passages
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.types import text_key
from dialeval.metrics.results import SCHEMA_VERSION, SECOND_HUMAN, versions
from dialeval.protocols.evaluation.collector import FitDetails
from dialeval.protocols.evaluation.crossfit import apply_scorer, cached_table, crossfit
from dialeval.protocols.evaluation.evaluators import REFERENCES, FitContext, fit_function
from dialeval.protocols.evaluation.folds import Folds, scenario_folds
from dialeval.protocols.evaluation.frozen import FrozenScorer
from dialeval.protocols.evaluation.inputs import EvaluationData
from dialeval.protocols.evaluation.measures import RESPONSE_ONLY, SHUFFLED
from dialeval.protocols.evaluation.twosample import TwoSampleTest, swap_test, two_sample_test
from dialeval.protocols.evaluation.writing import output_folder
from dialeval.settings.evaluation import EvaluationRun

HUMAN_SCENARIOS = ("human_human", "human_random", "human_next")
RELIABILITY = ("human_human", "machine_machine", "human_random", "human_next")
WITH_CONTEXT_ABLATION = ("human_machine", "human_random", "machine_random")
"""Scenarios in which responses are also scored without their context."""
IN_A_FOLD = 3
"""Dialogues that a fold has at least, so that random replies can come from another one."""
FOLLOWED = 10
"""Passages per fold that must have a next turn, for `human_next`."""
LENGTH_BIN = 5
THRESHOLD = 0.5
"""Of evaluators that are trained here: their scores are P(human)."""
_ABLATIONS = {RESPONSE_ONLY: "response-only", SHUFFLED: "shuffled-context"}


@dataclass
class ScoreTables:
    """The scores of one run.

    Args:
        data (`EvaluationData`):
            Human passages and systems.
        run (`EvaluationRun`):
            Settings.
        evaluators (`list[str]`):
            Names of the evaluators.
        fit_context (`FitContext`):
            What evaluators share.
        on_progress (`Callable`):
            Called with the number of fitted folds, their total, and a description.
        warn (`Callable`):
            Called with a warning when something could not be computed.
        frozen (`Mapping`, *optional*):
            Evaluators that are applied as they are, by name.
        main (`dict`, *optional*):
            The main table of each evaluator, system and scenario, as far as they are made.
    """

    data: EvaluationData
    run: EvaluationRun
    evaluators: list[str]
    fit_context: FitContext
    on_progress: Callable[[int, int, str], Any]
    warn: Callable[[str], Any]
    frozen: Mapping[str, FrozenScorer] = field(default_factory=dict)
    main: dict[tuple[str, str, str], pa.Table] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = ["", *self.data.names]
        self.contents = {name: content_key(*self.data.sides(name)) for name in names}
        self.folds = fitting_folds(self.data.human, self.run.folds)
        self.missing = [name for name in HUMAN_SCENARIOS if not self._has_data(name)]
        self.folder = output_folder(self.run.output_dir)
        self.done, self.total = 0, self._count_folds()
        self._folds_cache: dict[tuple[str, str, int, int, bool], Folds] = {}

    def table(
        self,
        evaluator: str,
        system: str,
        scenario: str,
        share: float = 1.0,
        seed: int | None = None,
        matched: bool = False,
    ) -> pa.Table:
        """Scores of an evaluator in cross-fitting, or as it is where it is not trained here.

        Args:
            evaluator (`str`):
                Name of the evaluator.
            system (`str`):
                Name of the system; `""` for scenarios of human responses only.
            scenario (`str`):
                Which responses are compared.
            share (`float`, *optional*, defaults to 1.0):
                Share of the training pairs that is used.
            seed (`int`, *optional*):
                Seed of folds, draws and weights; that of the run by default.
            matched (`bool`, *optional*, defaults to `False`):
                Whether both classes have the same histogram of lengths.

        Returns:
            `pa.Table`: One row per response.

        Raises:
            BadInput: The data are too few.
        """
        seed = self.run.seed if seed is None else seed
        main = share == 1 and not matched and seed == self.run.seed
        if main and (evaluator, system, scenario) in self.main:
            return self.main[evaluator, system, scenario]
        what = f"{evaluator}, {system or 'humans'}, {scenario}"
        ablation = main and scenario in WITH_CONTEXT_ABLATION

        def make() -> pa.Table:
            folds = self._folds(system, scenario, self.folds_of(system), seed, matched)
            if evaluator in self.frozen:
                return apply_scorer(self.frozen[evaluator], folds, ablation)
            on_fold = partial(self._step, 1, what)
            fit = fit_function(evaluator)
            return crossfit(fit, folds, seed, self.fit_context, share, on_fold, ablation)

        key = self._key(evaluator, system, scenario, f"{share} of it", f"seed {seed}", str(matched))
        path = self.folder.cache(f"{key}.parquet")
        if path.is_file() or evaluator in self.frozen:
            self._step(self.folds, what)
        table = cached_table(path, make)
        if ablation:
            self._warn_of_missing_ablations(table)
        if main:
            self.main[evaluator, system, scenario] = table
        return table

    def try_table(
        self, what: str, evaluator: str, system: str, scenario: str, **options: Any
    ) -> pa.Table | None:
        """A table, or `None` and a warning where the data are too few for it.

        Args:
            what (`str`):
                What the table is for, for the warning.
            evaluator, system, scenario (`str`):
                See [`table`].
            options:
                Further arguments of [`table`].

        Returns:
            `pa.Table` or `None`: One row per response.
        """
        try:
            return self.table(evaluator, system, scenario, **options)
        except BadInput as error:
            self.warn(f"No {what} of {evaluator}{system and f' for {system}'}: {error}")
            return None

    def two_sample_test(self, evaluator: str, system: str, scenario: str) -> TwoSampleTest:
        """Test of an evaluator that was trained on one half of the dialogues, on the other half.

        An evaluator that is not trained here is tested on all of them.

        Args:
            evaluator (`str`):
                Name of the evaluator.
            system (`str`):
                Name of the system; `""` for scenarios of human responses only.
            scenario (`str`):
                Which responses are compared.

        Returns:
            `TwoSampleTest`: Accuracy and p-value.
        """
        self._step(1, f"{evaluator}, {system or 'humans'}, halves")
        if evaluator in self.frozen:
            return swap_test(self.table(evaluator, system, scenario), self.run.seed)

        def make() -> dict[str, Any]:
            halves = self._folds(system, scenario, 2, self.run.seed)
            fit = fit_function(evaluator)
            return asdict(two_sample_test(fit, halves, self.run.seed, self.fit_context))

        key = self._key(evaluator, system, scenario, "halves")
        return TwoSampleTest(**self.folder.cached_json(key, make))

    def threshold(self, evaluator: str) -> float:
        """The score from which an evaluator predicts a response to be human."""
        return self.frozen[evaluator].decision.threshold if evaluator in self.frozen else THRESHOLD

    def folds_of(self, system: str) -> int:
        """Folds of cross-fitting; fewer where a second human has fewer responses than systems."""
        if system != SECOND_HUMAN:
            return self.folds
        return fitting_folds(self.data.sides(system)[0], self.folds)

    def fit_details(self, evaluator: str, system: str, *responses: int) -> FitDetails:
        """How an evaluator was fitted, for the signature of its number.

        Args:
            evaluator (`str`):
                Name of the evaluator.
            system (`str`):
                Name of the system.
            responses (`int`):
                Number of responses behind the number, or of each scenario behind it.

        Returns:
            `FitDetails`: Folds, threshold and number of training pairs.
        """
        if evaluator not in self.frozen:
            k = self.folds_of(system)
            pairs = (round(n / 2 * (k - 1) / k) for n in responses)
            return FitDetails(k, THRESHOLD, "+".join(map(str, pairs)))
        frozen = self.frozen[evaluator]
        threshold = f"{frozen.decision.threshold:.4g}"
        return FitDetails("none", threshold, frozen.n_train or "unknown", trained_on="others")

    def expect_reliability(self) -> None:
        """Set the total of progress to the four scenarios of reliability only."""
        scenarios = len(HUMAN_SCENARIOS) - len(self.missing) + len(self.data.systems)
        self.total = len(self.evaluators) * self.folds * scenarios

    def finish(self) -> None:
        """Report full progress, whatever was left out."""
        self._step(self.total - self.done, "done")

    def _folds(self, system: str, scenario: str, k: int, seed: int, matched: bool = False) -> Folds:
        """The pairs of each fold, drawn once for all evaluators."""
        key = (system, scenario, k, seed, matched)
        if key not in self._folds_cache:
            width = LENGTH_BIN if matched else None
            folds = scenario_folds(scenario, *self.data.sides(system), k, seed, width)
            self._folds_cache[key] = folds
        return self._folds_cache[key]

    def _warn_of_missing_ablations(self, table: pa.Table) -> None:
        """Add a warning for each context ablation that some folds do not have."""
        for column, name in _ABLATIONS.items():
            if table[column].null_count:
                self.warn(
                    f"No {name} baseline in some folds: they have too few dialogues, or an "
                    "evaluator could not score it. It is computed on the other folds, if any; "
                    "AdverSuc does not depend on it."
                )

    def _key(self, evaluator: str, system: str, *more: str) -> str:
        """Cache key of a table: a hash of everything that affects its numbers."""
        facts = [f"schema {SCHEMA_VERSION}", evaluator, *versions().values()]
        facts += [str(self.folds), str(self.run.seed), *more]
        if evaluator in self.frozen:
            facts += [self.frozen[evaluator].key, str(self.threshold(evaluator))]
        return text_key([*facts, system, self.contents[""], self.contents[system]])

    def _has_data(self, scenario: str) -> bool:
        if scenario != "human_next":
            return True
        following = sum(text is not None for text in self.data.human["following"])
        return following >= FOLLOWED * self.folds

    def _count_folds(self) -> int:
        """Number of folds to fit."""
        k, systems, total = self.folds, len(self.data.names), 0
        without_second_human = len(self.data.systems)
        repeats = self.run.seeds - 1 + len(self.run.curve) + int(self.run.length_matched)
        for evaluator in self.evaluators:
            total += (systems + 1) * (k + 1)
            if evaluator not in (*self.frozen, "coin"):
                total += systems * k
            if evaluator not in REFERENCES:
                if evaluator not in self.frozen:
                    total += without_second_human * k * repeats
                total += 0 if self.missing else (without_second_human + 2) * k
        return total

    def _step(self, count: int, what: str) -> None:
        self.done = min(self.done + count, self.total)
        self.on_progress(self.done, self.total, what)


def fitting_folds(human: Passages, wanted: int) -> int:
    """As many folds as wanted, or as many as have enough dialogues each, and at least 2."""
    dialogues = len(np.unique(row_hashes(human, ["dialogue_id"])))
    return max(2, min(wanted, dialogues // IN_A_FOLD))


def content_key(human: Passages, answers: Passages | None = None) -> str:
    """A hash of everything in passages, human ones or a system's, that affects a number."""
    passages = human if answers is None else answers
    hashes = row_hashes(passages, ["id", "dialogue_id", "context", "response", "following"])
    return text_key([hashes.tobytes().hex()])
