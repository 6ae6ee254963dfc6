"""The experiment: systems and evaluators under strategies, measured and written."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dialeval.dialogues import BadInput, Passage, atomic_write
from dialeval.metrics.actent_lexicon import ActEntLexicon
from dialeval.metrics.overlap import overlap_signature
from dialeval.metrics.results import signature, to_plain, versions
from dialeval.metrics.robustness_results import RobustnessExample, RobustnessResults, SystemRow
from dialeval.models.embedding import CachedEmbedder
from dialeval.perturbations import Perturbation
from dialeval.protocols.robustness.answers import Answers, collect_answers
from dialeval.protocols.robustness.cases import Case, make_cases
from dialeval.protocols.robustness.collector import ResultCollector
from dialeval.protocols.robustness.evaluators import evaluator_changes
from dialeval.protocols.robustness.measuring import Measures, lexicon_for
from dialeval.protocols.robustness.similarity import Embed, MeanEmbedding
from dialeval.protocols.robustness.system import SystemStudy
from dialeval.protocols.robustness.writing import RESPONSES, open_folder, run_settings
from dialeval.responders import Responder
from dialeval.run_folder import RunFolder
from dialeval.settings.robustness import RobustnessRun

OnProgress = Callable[[str], Any]


def robustness(
    passages: Sequence[Passage],
    systems: Sequence[Responder | Answers],
    strategies: Sequence[Perturbation | Case],
    run: RobustnessRun,
    evaluators: Sequence[Any] = (),
    embed: Embed | None = None,
    on_progress: OnProgress = lambda _: None,
) -> RobustnessResults:
    """What perturbed contexts do to systems and to evaluators.

    Every stage is written to the run's folder, so that a run that was stopped resumes there; the
    folder of another run is refused.

    Args:
        passages (`Sequence[Passage]`):
            Contexts with the human responses; an empty response is no reference.
        systems (`Sequence`):
            Responders, or stored answers.
        strategies (`Sequence`):
            Perturbations, or contexts that were perturbed elsewhere.
        run (`RobustnessRun`):
            All other settings.
        evaluators (`Sequence[Scorer]`, *optional*):
            Evaluators that are perturbed themselves.
        embed (`Callable`, *optional*):
            Sentence encoder, from texts to vectors `(n, d)`; all-MiniLM-L6-v2 by default.
        on_progress (`Callable`, *optional*):
            Called with the name of each system and evaluator as it begins.

    Returns:
        `RobustnessResults`: Everything that was written to `results.json`.
    """
    if not len(passages) or not systems or not strategies:
        raise BadInput(
            f"expected contexts, systems and strategies, but got {len(passages)}, {len(systems)} "
            f"and {len(strategies)}."
        )
    settings = run_settings(passages, systems, strategies, evaluators, run)
    path = Path(run.output_dir)
    with RunFolder(path).lock():
        open_folder(path, settings, run.overwrite)
        return _run(passages, systems, strategies, run, evaluators, embed or CachedEmbedder(),
                    settings, on_progress)  # fmt: skip


def _run(
    passages: Sequence[Passage],
    systems: Sequence[Responder | Answers],
    strategies: Sequence[Perturbation | Case],
    run: RobustnessRun,
    evaluators: Sequence[Any],
    embed: Embed,
    settings: dict[str, Any],
    on_progress: OnProgress,
) -> RobustnessResults:
    """All stages, in a folder that belongs to this run."""
    folder = Path(run.output_dir)
    stored = [strategy for strategy in strategies if isinstance(strategy, Case)]
    to_apply = [strategy for strategy in strategies if not isinstance(strategy, Case)]
    cases = [*stored, *make_cases(passages, to_apply, folder, run.seed, run.turns)]
    collector = ResultCollector(run, getattr(embed, "name", "embedder"))
    lexicon, share = lexicon_for(passages, run.actent, run.actent_lexicon)
    rows, examples = _measure_systems(
        passages, systems, cases, collector, lexicon, embed, on_progress
    )
    _measure_evaluators(evaluators, passages, cases, collector, on_progress)
    settings |= {
        "actent": lexicon.name if lexicon else None, "technical_share": share,
        "encoder": collector.encoder, "overlap": overlap_signature(),
    }  # fmt: skip
    results = RobustnessResults(
        results=tuple(collector.results),
        verdicts=tuple(collector.verdicts),
        systems=tuple(rows),
        strategies=tuple(case.coverage_row() for case in cases),
        examples=tuple(examples),
        warnings=tuple(collector.warnings),
        settings=settings,
        signature=_signature(run, cases, len(passages), collector.encoder),
    )
    results.save(folder)
    return results


def _measure_systems(
    passages: Sequence[Passage],
    systems: Sequence[Responder | Answers],
    cases: Sequence[Case],
    collector: ResultCollector,
    lexicon: ActEntLexicon | None,
    embed: Embed,
    on_progress: OnProgress,
) -> tuple[list[SystemRow], list[RobustnessExample]]:
    """Collect every system's replies and numbers, and write the replies."""
    run, folder = collector.run, Path(collector.run.output_dir)
    rows: list[SystemRow] = []
    examples: list[RobustnessExample] = []
    with atomic_write(folder / RESPONSES) as file:
        for system in systems:
            on_progress(system.name)
            if isinstance(system, Answers):
                answers, cache = system, None
            else:
                answers, cache = collect_answers(system, passages, cases, folder), folder
            words = (
                MeanEmbedding.of(answers.generator) if answers.generator else MeanEmbedding.minilm()
            )
            measures = Measures(
                passages, answers, embed, words, lexicon, run.skip, cache, run.likelihood
            )
            study = SystemStudy(measures, cases, collector)
            rows.append(study.measure())
            examples += study.examples(run.examples)
            for record in study.records():
                file.write(json.dumps(to_plain(record), ensure_ascii=False) + "\n")
    return rows, examples


def _measure_evaluators(
    evaluators: Sequence[Any],
    passages: Sequence[Passage],
    cases: Sequence[Case],
    collector: ResultCollector,
    on_progress: OnProgress,
) -> None:
    """Collect what the strategies do to every evaluator, and warn about those without an edit."""
    for evaluator in evaluators:
        on_progress(evaluator.name)
        for change in evaluator_changes(evaluator, passages, cases, collector.run.seed):
            collector.add_evaluator_change(change)
    for case in cases:
        if not case.edited.any():
            collector.warn(f"{case.name} had nothing to edit in {len(passages):,} contexts.")


def _signature(run: RobustnessRun, cases: Sequence[Case], n: int, encoder: str) -> str:
    return signature(
        robustness=run.measure, strategies="+".join(case.signature for case in cases), n=n,
        turns=run.turns, margin=run.margin_of(run.measure), encoder=encoder,
        resamples=run.resamples, seed=run.seed, v=versions()["dialeval"],
    )  # fmt: skip
