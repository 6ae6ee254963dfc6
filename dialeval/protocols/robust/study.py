"""The study: train, train against strategies, test on normal and perturbed contexts, compare."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import Accelerator

from dialeval.dialogues import BadInput, Passage, iterate
from dialeval.dialogues.storage import texts_of
from dialeval.metrics.results import RESULTS, Result, plain, signature, versions
from dialeval.metrics.robust_results import (
    ALL,
    MORE_EPOCHS,
    RobustExample,
    RobustResults,
    RobustVerdict,
    TargetRow,
)
from dialeval.metrics.robustness_results import NORMAL, Estimate
from dialeval.models.tokenizers import word_tokenizer
from dialeval.perturbations import Perturbation, Restricted
from dialeval.protocols.robust.cells import CellStatistics, Numbers, StrategyCells, average
from dialeval.protocols.robust.data import robust_parts, with_files
from dialeval.protocols.robust.models import ModelFactory, OnProgress, is_new, shape_of
from dialeval.protocols.robust.replies import Measured, ReplyMeasurer
from dialeval.protocols.robustness.cases import Case, dialogues_of, make_cases
from dialeval.protocols.robustness.measuring import lexicon_for
from dialeval.protocols.robustness.similarity import Embed
from dialeval.run_folder import RunFolder
from dialeval.settings.against import AgainstConfig
from dialeval.settings.robust import RobustRun
from dialeval.settings.training import GeneratorConfig
from dialeval.training.output import only_training
from dialeval.training.perturbed import chosen_strategies, word_vocabulary

RUN, REPORT = "run.json", "report.html"
DULL = 0.1
"""Share of different replies below which measures of replies say little."""
_FILES = ("models", "perturbed", RUN, RESULTS, REPORT)


@only_training
def robust(
    run: RobustRun,
    config: GeneratorConfig,
    against: AgainstConfig,
    on_progress: OnProgress = lambda _, __: None,
    embed: Embed | None = None,
) -> RobustResults:
    """Train generators against perturbations and test what it does.

    Every model and reply is written to the run's folder, so that a run that was stopped resumes.

    Args:
        run (`RobustRun`):
            Generators, data and epochs.
        config (`GeneratorConfig`):
            Settings of the first training.
        against (`AgainstConfig`):
            Strategies, margin, and the weight of the reward of `reranking-rl`.
        on_progress (`Callable`, *optional*):
            Called with the name of each training, and with its progress.
        embed (`Callable`, *optional*):
            Sentence encoder, all-MiniLM-L6-v2 by default.

    Returns:
        `RobustResults`: Everything that was written to `results.json`.
    """
    if not against.names:
        hint = "Give --against, such as random-swap,add-negation."
        raise BadInput("expected strategies to train against, but got none.", hint=hint)
    run = with_files(run)
    settings = plain({**asdict(run), **asdict(config), **asdict(against)})
    settings["edits_of_known_words"] = has_word_target(run)  # other targets, other test contexts
    accelerator = Accelerator()
    folder = RunFolder(run.output_dir, RUN)
    if accelerator.is_main_process:
        if folder.check(settings, _difference, overwrite=run.overwrite):
            folder.remove(_FILES)
        folder.write_json(RUN, settings)
    accelerator.wait_for_everyone()
    return _Study(run, config, against, accelerator, on_progress, embed, settings).results()


@dataclass
class _Study:
    """All stages, in a folder that belongs to this run."""

    run: RobustRun
    config: GeneratorConfig
    against: AgainstConfig
    accelerator: Accelerator
    on_progress: OnProgress
    embed: Embed | None
    settings: dict[str, Any]
    collected: list[Result] = field(default_factory=list)
    verdicts: list[RobustVerdict] = field(default_factory=list)
    examples: list[RobustExample] = field(default_factory=list)
    targets: list[TargetRow] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def results(self) -> RobustResults:
        """Train and measure every target."""
        self.parts = robust_parts(self.run, self.config.seed)
        self.passages = list(iterate(self.parts["test"]))
        self.cases = self._cases()
        lexicon, share = lexicon_for(self.passages, None, self.run.actent_lexicon)
        self.measurer = ReplyMeasurer(self.run, self.passages, lexicon, self.embed)
        groups = dialogues_of(self.passages)
        self.statistics = CellStatistics(groups, self.run.resamples, self.config.seed)
        self.measure = self.run.measure
        if self.measure == "auto":
            self.measure = "activity_f1" if lexicon else "bleu"
        self.signature = self._signature()
        models = ModelFactory(
            self.run, self.config, self.against, self.parts, self.accelerator, self.on_progress
        )
        for target in self.run.targets:
            self._target(models, target)
        results = RobustResults(
            results=tuple(self.collected),
            targets=tuple(self.targets),
            strategies=tuple(case.coverage_row() for case in self.cases),
            verdicts=tuple(self.verdicts),
            examples=tuple(self.examples),
            warnings=tuple(dict.fromkeys(self.warnings)),
            settings={**self.settings, "contexts": len(self.passages), "technical_share": share},
            signature=self.signature,
            measure=self.measure,
        )
        if self.accelerator.is_main_process:
            results.save(self.run.output_dir)
        self.accelerator.wait_for_everyone()
        return results

    def _cases(self) -> list[Case]:
        """The test contexts under every strategy; one that edits none of them is refused."""
        chosen = self._strategies()
        folder = Path(self.run.output_dir) if self.accelerator.is_main_process else None
        cases = make_cases(self.passages, chosen, folder, self.config.seed)
        for case in cases:
            if not case.edited.any():
                raise BadInput(
                    f"{case.name} edits none of {len(self.passages):,} test contexts "
                    "(coverage 0 %), so there is nothing to test.",
                    hint="Leave it out, or use other data.",
                )
        return cases

    def _strategies(self) -> list[Perturbation]:
        """The strategies of the tests, the same for every target.

        With a target that has a vocabulary of words, edits only use words of it, as in its
        training (Niu and Bansal, 2018, sec. 5): any other new word would be the unknown one.
        """
        chosen = chosen_strategies(self.against)
        if not has_word_target(self.run):
            return chosen
        tokenizer = word_tokenizer(texts_of(self.parts["train"]), self.run.vocab_size)
        words = word_vocabulary(tokenizer)
        return [Restricted(strategy, words) for strategy in chosen]

    def _target(self, models: ModelFactory, target: str) -> None:
        """Train and measure one generator under every strategy."""
        tables: dict[str, list[Measured]] = {}
        gains = []
        for seed in range(self.config.seed, self.config.seed + self.run.seeds):
            for name, strategies, cases in self._trainings():
                if name == NORMAL:
                    model = models.base(target, seed)
                else:
                    model = models.hardened(target, seed, name, strategies)
                if self.accelerator.is_main_process:
                    tables.setdefault(name, []).append(self.measurer.measure(model, cases))
                    if name == NORMAL:
                        gains.append(self.measurer.context_gain(model))
                self.accelerator.wait_for_everyone()
        if not self.accelerator.is_main_process:
            return
        self._add_target(target, tables[NORMAL], np.mean(gains, 0))
        self._add_cells(target, tables)
        self._add_examples(target, tables)
        self._warn_about_dull_replies(target, tables[NORMAL])
        for rows in tables.values():
            self.warnings += [f"{target}: {text}" for row in rows for text in row.warnings]

    def _trainings(self) -> Iterator[tuple[str, str, Sequence[Case]]]:
        """Name, strategies and test contexts of every training, N-train first."""
        yield NORMAL, "", self.cases
        for case in self.cases:
            yield case.name, case.name, [case]
        still = [case for case in self.cases if case.kind == "should_not_change"]
        if self.run.combined and len(still) > 1:
            yield ALL, ",".join(case.name for case in still), still
        if self.run.control:
            yield MORE_EPOCHS, "", self.cases

    def _add_target(self, target: str, rows: Sequence[Measured], gains: np.ndarray) -> None:
        values = [row.perplexity for row in rows]
        spread = (min(values), max(values)) if len(values) > 1 else (float("nan"), float("nan"))
        perplexity = Estimate(float(np.mean(values)), *spread)
        first = rows[0]
        gain = self.statistics.values({"gain": gains})["gain"]
        row = TargetRow(
            target, first.parameters, first.vocabulary, perplexity, first.signature,
            Estimate(gain.value, gain.low, gain.high),
        )  # fmt: skip
        self.targets.append(row)
        if not row.reads_context:
            self.warnings.append(
                f"{target} does not measurably read its context: log p of the reference is only "
                f"{gain.value:+.3f} per token [{gain.low:+.3f}, {gain.high:+.3f}] above that after "
                "another dialogue's context. Its rows then say nothing about perturbations; train "
                "it longer, on more data, or with --copy true."
            )

    def _warn_about_dull_replies(self, target: str, rows: Sequence[Measured]) -> None:
        replies = [text for row in rows for text in row.replies[NORMAL]]
        distinct = len(set(replies))
        if distinct < DULL * len(replies):
            self.warnings.append(
                f"{target} gives {distinct:,} different replies to {len(replies):,} normal "
                "contexts: measures of replies say little about it. Look at log p "
                "(--measure likelihood)."
            )

    def _add_cells(self, target: str, tables: Mapping[str, Sequence[Measured]]) -> None:
        """Every number of a target, and its verdicts."""
        numbers: dict[tuple[str, str], Numbers] = {
            (train, test): average([row.numbers[test] for row in rows])
            for train, rows in tables.items()
            for test in rows[0].numbers
        }
        normal = numbers[NORMAL, NORMAL]
        for (train, test), cell in numbers.items():
            self._add_cell(target, train, test, cell, normal)
        for case in self.cases:
            cells = StrategyCells(
                numbers[NORMAL, case.name], numbers[case.name, case.name], normal,
                numbers[case.name, NORMAL], numbers.get((MORE_EPOCHS, case.name)),
                numbers.get((MORE_EPOCHS, NORMAL)),
            )  # fmt: skip
            self.verdicts += cells.verdicts(target, case.name, case.kind, self.statistics)

    def _add_cell(self, target: str, train: str, test: str, cell: Numbers, normal: Numbers) -> None:
        """The numbers of a cell, each with its difference from N-train on N-test."""
        is_normal = (train, test) == (NORMAL, NORMAL)
        compared = {} if is_normal else self.statistics.differences(cell, normal)
        for metric, effect in self.statistics.values(cell).items():
            details: dict[str, Any] = {"train": train, "test": test, "seeds": self.run.seeds}
            if metric in compared:
                difference = compared[metric]
                details |= {"difference": difference.value, "p": difference.p}
            self.collected.append(
                Result(
                    metric, target, "", effect.value, effect.low, effect.high, effect.n,
                    self.signature, details,
                )
            )  # fmt: skip

    def _add_examples(self, target: str, tables: Mapping[str, Sequence[Measured]]) -> None:
        """Edited contexts whose reply training changed, as in Table 7."""
        normal = tables[NORMAL][0].replies
        for case in self.cases:
            hardened = tables[case.name][0].replies
            rows = [
                row
                for row in case.edited_rows
                if normal[case.name][row] != hardened[case.name][row]
            ]
            for row in rows[: self.run.examples]:
                self.examples.append(
                    RobustExample(
                        target, case.name, _texts(self.passages[row]), _texts(case.passages[row]),
                        self.passages[row].response, normal[NORMAL][row], normal[case.name][row],
                        hardened[case.name][row], hardened[NORMAL][row],
                    )
                )  # fmt: skip

    def _signature(self) -> str:
        return signature(
            robust=self.measure, targets="+".join(self.run.targets),
            strategies="+".join(case.signature for case in self.cases), n=len(self.passages),
            epochs=f"{self.config.epochs}+{self.run.against_epochs}", margin=self.against.margin,
            alpha=self.against.margin_weight, target=self.against.margin_target,
            resamples=self.run.resamples, seeds=self.run.seeds, seed=self.config.seed,
            v=versions()["dialeval"],
        )  # fmt: skip


def has_word_target(run: RobustRun) -> bool:
    """Whether a target has a vocabulary of words."""
    new = filter(is_new, run.targets)
    return any(shape_of(run, target).tokenizer == "words" for target in new)


def _texts(passage: Passage) -> tuple[str, ...]:
    return tuple(turn.text for turn in passage.context)


_FREE = ("output_dir", "overwrite", "resamples", "measure", "examples", "targets", "log_with")


def _difference(previous: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Why an earlier run's models cannot be used; more targets and other tests may be added."""
    for name, value in settings.items():
        if name not in _FREE and previous.get(name) != value:
            return f"it had {name} {previous.get(name)!r}"
    return ""
