"""The experiment: systems under strategies, measured, judged and written down."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dialeval.dialogues import BadInput, Passage, atomic_write
from dialeval.metrics.actent_lexicon import ActEntLexicon
from dialeval.metrics.overlap import overlap_signature
from dialeval.metrics.results import signature, versions
from dialeval.models.embedding import CachedEmbedder
from dialeval.perturbations import Perturbation
from dialeval.protocols.robustness.answers import Answers, answered
from dialeval.protocols.robustness.cases import Case, make_cases
from dialeval.protocols.robustness.collector import ResultCollector, coverage_of
from dialeval.protocols.robustness.judges import judge_changes
from dialeval.protocols.robustness.measuring import Measures, lexicon_for
from dialeval.protocols.robustness.settings import RobustnessRun
from dialeval.protocols.robustness.similarity import Embed, MeanEmbedding
from dialeval.protocols.robustness.system import SystemStudy
from dialeval.protocols.robustness.writing import RESPONSES, check_output_dir, write_results
from dialeval.responders import Responder

OnProgress = Callable[[str], Any]


def robustness(
    passages: Sequence[Passage],
    systems: Sequence[Responder | Answers],
    strategies: Sequence[Perturbation | Case],
    run: RobustnessRun,
    judges: Sequence[Any] = (),
    embed: Embed | None = None,
    on_progress: OnProgress = lambda _: None,
) -> dict[str, Any]:
    """What perturbed contexts do to systems and to judges.

    Everything goes to the run's folder stage by stage, so that a run that was stopped goes on from
    there; the folder of another run is refused.

    Args:
        passages (`Sequence[Passage]`):
            Contexts with the human responses; an empty response is no reference.
        systems (`Sequence`):
            Who answers, or what was answered.
        strategies (`Sequence`):
            What is done to the contexts, or what was done.
        judges (`Sequence[Scorer]`, *optional*):
            Evaluators that are perturbed themselves.
        embed (`Callable`, *optional*):
            Sentence encoder, from texts to vectors `(n, d)`; all-MiniLM-L6-v2 by default.
    """
    if not len(passages) or not systems or not strategies:
        raise BadInput(
            f"expected contexts, systems and strategies, found {len(passages)}, {len(systems)} and "
            f"{len(strategies)}."
        )
    folder, embed = Path(run.output_dir), embed or CachedEmbedder()
    settings = check_output_dir(folder, passages, systems, strategies, judges, run)
    done = [each for each in strategies if isinstance(each, Case)]
    to_do = [each for each in strategies if not isinstance(each, Case)]
    cases = [*done, *make_cases(passages, to_do, folder, run.seed, run.turns)]
    collector = ResultCollector(run, getattr(embed, "name", "embedder"))
    lexicon, share = lexicon_for(passages, run.actent, run.lexicon)
    told = _measured(passages, systems, cases, collector, lexicon, embed, on_progress)
    _judged(judges, passages, cases, collector, on_progress)
    settings |= {
        "actent": lexicon.name if lexicon else None, "technical_share": share,
        "encoder": collector.encoder, "overlap": overlap_signature(),
    }  # fmt: skip
    return write_results(folder, {
        "results": [each.to_dict() for each in collector.results],
        "verdicts": collector.verdicts, **told, "strategies": coverage_of(cases),
        "warnings": collector.warnings, "settings": settings, "versions": versions(),
        "signature": _signature(run, cases, len(passages), collector.encoder),
    })  # fmt: skip


def _measured(
    passages: Sequence[Passage],
    systems: Sequence[Responder | Answers],
    cases: Sequence[Case],
    collector: ResultCollector,
    lexicon: ActEntLexicon | None,
    embed: Embed,
    on_progress: OnProgress,
) -> dict[str, list[dict[str, Any]]]:
    """Let every system answer, note its numbers and write its replies."""
    run, folder = collector.run, Path(collector.run.output_dir)
    told: dict[str, list[dict[str, Any]]] = {"systems": [], "examples": []}
    with atomic_write(folder / RESPONSES) as file:
        for each in systems:
            on_progress(each.name)
            stored = isinstance(each, Answers)
            said = each if stored else answered(each, passages, cases, folder)
            words = MeanEmbedding.of(said.generator) if said.generator else MeanEmbedding.minilm()
            place = None if stored else folder
            mine = Measures(passages, said, embed, words, lexicon, run.skip, place, run.likelihood)
            study = SystemStudy(mine, cases, collector)
            told["systems"].append(study.measure())
            told["examples"] += study.examples(run.examples)
            for record in study.records():
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return told


def _judged(
    judges: Sequence[Any],
    passages: Sequence[Passage],
    cases: Sequence[Case],
    collector: ResultCollector,
    on_progress: OnProgress,
) -> None:
    """Note what the strategies do to every judge, and which of them could do nothing."""
    for judge in judges:
        on_progress(judge.name)
        for change in judge_changes(judge, passages, cases, collector.run.seed):
            collector.judge(change)
    for case in cases:
        if not case.edited.any():
            collector.warn(f"{case.name} had nothing to edit in {len(passages):,} contexts.")


def _signature(run: RobustnessRun, cases: Sequence[Case], n: int, encoder: str) -> str:
    return signature(
        robustness=run.measure, strategies="+".join(case.signature for case in cases), n=n,
        turns=run.turns, margin=run.margin_of(run.measure), encoder=encoder,
        resamples=run.resamples, seed=run.seed, v=versions()["dialeval"],
    )  # fmt: skip
