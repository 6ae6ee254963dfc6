"""The scores of every evaluator for every response: tables that are cached in files."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from dialeval.dialogues import BadInput
from dialeval.dialogues.types import text_key
from dialeval.metrics.results import SCHEMA_VERSION, SECOND_HUMAN, versions
from dialeval.protocols.evaluation.collector import FitDetails
from dialeval.protocols.evaluation.crossfit import (
    THRESHOLD,
    apply_scorer,
    cached_table,
    crossfit,
)
from dialeval.protocols.evaluation.evaluators import REFERENCES, FitContext, code_key, fit_function
from dialeval.protocols.evaluation.folds import (
    Folds,
    content_key,
    fitting_folds,
    scenario_folds,
)
from dialeval.protocols.evaluation.frozen import FrozenScorer
from dialeval.protocols.evaluation.inputs import EvaluationData
from dialeval.protocols.evaluation.measures import RESPONSE_ONLY, SHUFFLED
from dialeval.protocols.evaluation.next_turns import next_turns
from dialeval.protocols.evaluation.twosample import TwoSampleTest, swap_test, two_sample_test
from dialeval.protocols.evaluation.writing import output_folder
from dialeval.settings.evaluation import EvaluationRun

HUMAN_SCENARIOS = ("human_human", "human_random", "human_next")
RELIABILITY = ("human_human", "machine_machine", "human_random", "human_next")
NEXT_MATCHED = "human_next_matched"
"""`human_next` without the turns that only one of its classes has: see [`Pairing`]."""
WITH_TWIN = ("human_machine", "machine_random", "human_next", NEXT_MATCHED)
"""Scenarios in which a response-only twin is trained too. It is at .5 by construction in
`human_random`, where both classes have the same responses."""
WITH_SHUFFLED = ("human_machine", "human_random", "machine_random")
"""Scenarios in which the evaluator also scores responses after another dialogue's context."""
RESPONSE_EVALUATORS = ("surface", "svm-response", *REFERENCES)
"""Evaluators that never read the context, so that they are their own twins."""
FOLLOWED = 10
"""Passages per fold that must have a next turn, for `human_next`."""
LENGTH_BIN = 5
FoldsKey = tuple[str, str, int, int, bool, bool]
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
            Called with a warning.
        warn_missing (`Callable`):
            Called with what could not be computed, the evaluator, the system, and the reason.
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
    warn_missing: Callable[[str, str, str, Exception], Any]
    frozen: Mapping[str, FrozenScorer] = field(default_factory=dict)
    main: dict[tuple[str, str, str], pa.Table] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = ["", *self.data.names]
        self.contents = {name: content_key(*self.data.sides(name)) for name in names}
        self.folds = fitting_folds(self.data.human, self.run.folds)
        self.next_turns = next_turns(self.data.human, FOLLOWED * self.folds)
        self.missing = [name for name in HUMAN_SCENARIOS if not self._has_data(name)]
        self.folder = output_folder(self.run.output_dir)
        self.done, self.total = 0, self._count_fits()
        self._folds_cache: dict[FoldsKey, Folds] = {}

    def table(
        self,
        evaluator: str,
        system: str,
        scenario: str,
        share: float = 1.0,
        seed: int | None = None,
        matched: bool = False,
        normalised: bool = False,
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
            normalised (`bool`, *optional*, defaults to `False`):
                Whether the format of both sides is normalised first.

        Returns:
            `pa.Table`: One row per response.

        Raises:
            BadInput: The data are too few.
        """
        seed = self.run.seed if seed is None else seed
        main = share == 1 and not (matched or normalised) and seed == self.run.seed
        if main and (evaluator, system, scenario) in self.main:
            return self.main[evaluator, system, scenario]
        what = f"{evaluator}, {system or 'humans'}, {scenario}"
        twin = main and self._has_twin(evaluator, scenario)
        reads_context = evaluator not in RESPONSE_EVALUATORS
        shuffled = main and reads_context and scenario in WITH_SHUFFLED

        def make() -> pa.Table:
            key = (system, scenario, self.folds_of(system), seed, matched, normalised)
            folds = self.fold_pairs(*key)
            if evaluator in self.frozen:
                return apply_scorer(self.frozen[evaluator], folds, shuffled)
            on_fold = partial(self.step, 1, what)
            fit, context = fit_function(evaluator), self.fit_context
            table = crossfit(fit, folds, seed, context, share, on_fold, twin, shuffled)
            return table if reads_context or not main else _as_own_twin(table)

        options = (f"{share} of it", f"seed {seed}", str(matched), str(normalised), str(twin))
        path = self.table_path(evaluator, system, scenario, *options)
        if path.is_file() or evaluator in self.frozen:
            self.step(self.folds, what)
        table = cached_table(path, make)
        if twin or shuffled:
            self._warn_of_missing_ablations(table, twin, shuffled)
        if main:
            self.main[evaluator, system, scenario] = table
        return table

    def table_path(self, evaluator: str, system: str, scenario: str, *options: str) -> Path:
        """The file of a table in the cache; without options, that of the main table.

        Args:
            evaluator, system, scenario (`str`):
                See [`table`].
            options (`str`):
                How it differs from the main table.

        Returns:
            `Path`: The file, which may not exist yet.
        """
        twin = str(self._has_twin(evaluator, scenario))
        main = ("1.0 of it", f"seed {self.run.seed}", "False", "False", twin)
        facts = [*(options or main)]
        facts += [repr(self.data.normalisers.get(system))] if facts[3] == "True" else []
        return self.folder.cache(f"{self.key(evaluator, system, scenario, *facts)}.parquet")

    def _has_twin(self, evaluator: str, scenario: str) -> bool:
        trained = evaluator not in (*self.frozen, *RESPONSE_EVALUATORS)
        return trained and self.run.twins and scenario in WITH_TWIN

    def try_table(
        self, what: str, evaluator: str, system: str, scenario: str, **options: Any
    ) -> pa.Table | None:
        """A table, or `None` and a warning where the data are too few for it.

        Args:
            what (`str`):
                What the table is for, for the warning; `""` for no warning.
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
            if what:
                self.warn_missing(what, evaluator, system, error)
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
        self.step(1, f"{evaluator}, {system or 'humans'}, halves")
        if evaluator in self.frozen:
            return swap_test(self.table(evaluator, system, scenario), self.run.seed)

        def make() -> dict[str, Any]:
            halves = self.fold_pairs(system, scenario, 2, self.run.seed)
            fit = fit_function(evaluator)
            return asdict(two_sample_test(fit, halves, self.run.seed, self.fit_context))

        key = self.key(evaluator, system, scenario, "halves, by pairs")
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
        scenarios = len(HUMAN_SCENARIOS) + 1 - len(self.missing) + len(self.data.systems)
        self.total = len(self.evaluators) * self.folds * scenarios

    def finish(self) -> None:
        """Report full progress, whatever was left out."""
        self.step(self.total - self.done, "done")

    def fold_pairs(
        self,
        system: str,
        scenario: str,
        k: int,
        seed: int,
        matched: bool = False,
        normalised: bool = False,
    ) -> Folds:
        """The pairs of each fold, drawn once for all evaluators.

        Args:
            system (`str`):
                Name of the system; `""` for scenarios of human responses only.
            scenario (`str`):
                Which responses are compared.
            k (`int`):
                Number of folds.
            seed (`int`):
                Seed of folds and draws.
            matched, normalised (`bool`, *optional*, default to `False`):
                See [`table`].

        Returns:
            `Folds`: The pairs of each fold.
        """
        key = (system, scenario, k, seed, matched, normalised)
        if key not in self._folds_cache:
            width = LENGTH_BIN if matched else None
            sides = self.data.sides(system, normalised)
            if scenario in ("human_next", NEXT_MATCHED):
                sides = (self.next_turns.passages, None)
            folds = self._folds_cache[key] = scenario_folds(scenario, *sides, k, seed, width)
            if folds.borrows:
                self.warn(
                    f"{system} repeats human replies of other dialogues. Those that are tested "
                    "are left out of the training data, so that no evaluator knows them."
                )
        return self._folds_cache[key]

    def _warn_of_missing_ablations(self, table: pa.Table, twin: bool, shuffled: bool) -> None:
        """Add a warning for each baseline that some folds do not have."""
        for column, wanted in ((RESPONSE_ONLY, twin), (SHUFFLED, shuffled)):
            if wanted and table[column].null_count:
                self.warn(
                    f"No {_ABLATIONS[column]} baseline in some folds: they have too few dialogues, "
                    "or an evaluator could not score it. It is computed on the other folds, if "
                    "any; AdverSuc does not depend on it."
                )

    def key(self, evaluator: str, system: str, *more: str) -> str:
        """Cache key of a table: a hash of everything that affects its numbers.

        Args:
            evaluator (`str`):
                Name of the evaluator.
            system (`str`):
                Name of the system; `""` for scenarios of human responses only.
            more (`str`):
                Everything else that affects the table.

        Returns:
            `str`: Name of its file.
        """
        facts = [f"schema {SCHEMA_VERSION}", evaluator, *versions().values()]
        facts += [str(self.folds), str(self.run.seed), *more, *shared_facts(self.fit_context)]
        if evaluator in self.frozen:
            facts += [self.frozen[evaluator].key, str(self.threshold(evaluator))]
        else:
            facts += filter(None, [code_key(evaluator)])
        return text_key([*facts, system, self.contents[""], self.contents[system]])

    def _has_data(self, scenario: str) -> bool:
        return scenario != "human_next" or self.next_turns.count >= FOLLOWED * self.folds

    def _count_fits(self) -> int:
        """Number of evaluators to fit."""
        k, total = self.folds, 0
        systems, without_second_human = len(self.data.names), len(self.data.systems)
        repeats = self.run.seeds - 1 + len(self.run.curve) + int(self.run.length_matched)
        for evaluator in self.evaluators:
            fits = {name: k * (1 + self._has_twin(evaluator, name)) for name in WITH_TWIN}
            total += k + 1 + systems * (fits["human_machine"] + 1)
            if evaluator not in (*self.frozen, "coin"):
                total += systems * fits["machine_random"]
            if evaluator not in REFERENCES:
                if evaluator not in self.frozen:
                    total += without_second_human * k * repeats
                total += (without_second_human + 1) * k
                total += 0 if self.missing else fits["human_next"] + fits[NEXT_MATCHED]
        return total

    def step(self, count: int, what: str) -> None:
        """Report progress.

        Args:
            count (`int`):
                Evaluators that were fitted since the last call.
            what (`str`):
                What is being computed.
        """
        self.done = min(self.done + count, self.total)
        self.on_progress(self.done, self.total, what)


def shared_facts(context: FitContext) -> list[str]:
    """What evaluators share that affects their numbers: encoder, and length of the texts."""
    return [str(getattr(context.embed, "name", "embedder")), str(context.max_length),
            str(context.folds), "towers on other corpora"]  # fmt: skip


def _as_own_twin(table: pa.Table) -> pa.Table:
    """The table of an evaluator that never reads the context: no context changes its scores."""
    columns = {RESPONSE_ONLY: "predicted_human", SHUFFLED: "predicted_human",
               "response_only": "score"}  # fmt: skip
    for column, source in columns.items():
        table = table.set_column(table.schema.get_field_index(column), column, table[source])
    return table
