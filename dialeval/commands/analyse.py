"""`dialeval analyse`: what does a discriminator look at?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dialeval.commands.console import out, progress_bar, say, say_warnings
from dialeval.commands.data import options as o
from dialeval.commands.given import Given
from dialeval.commands.score import check_neural
from dialeval.commands.settings import with_settings
from dialeval.settings.analysis import AnalysisRun
from dialeval.settings.inputs import InputSettings
from dialeval.settings.usage import SET, Needs

_OF_GENERATOR: Needs = {"generator": SET}


@with_settings(
    needs={name: _OF_GENERATOR for name in ("contexts", "samples", "max_new_tokens")},
    run=AnalysisRun,
    inputs=InputSettings,
)
def analyse(
    run: AnalysisRun,
    inputs: InputSettings,
    given: Given,
    discriminator: Annotated[
        str, typer.Option("--discriminator", "-d", help="Folder of a saved scorer, or Hub name.")
    ],
    data: Annotated[
        list[str],
        typer.Option(help="Files with human responses and those of systems; random replies are "
                     "added where all are human. Repeatable."),
    ],
    generator: Annotated[
        str | None,
        typer.Option(help="A local model whose sampled responses are ranked by discriminator and "
                     "likelihood: smollm2, a generator's folder, a Hub name."),
    ] = None,
    limit: o.Limit = None,
    device: o.Device = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, unrounded.")] = False,
    author: o.Author = None,
) -> None:  # fmt: skip
    """What a discriminator looks at: length, words, attention, context, likelihood.

    Precision-recall, score by length and ranking against likelihood (Kannan and Vinyals, 2016);
    cosines of context and response and attention (Bruni and Fernández, 2017); errors, calibration,
    weights of words, and which words and formats distinguish the sides.
    """
    from json import dumps

    from rich.markup import escape

    from dialeval.dialogues import iterate
    from dialeval.dialogues.splits import sample_dialogues
    from dialeval.protocols.analysis.study import analyse as run_analysis
    from dialeval.reports.analysis import analysis_tables, write_analysis_report
    from dialeval.run_folder import RunFolder
    from dialeval.scorers import load_scorer

    options = o.read_options(inputs, author=author, allow_empty=True, keep_duplicates=True)
    scorer = load_scorer(discriminator, neural={"device": device})
    check_neural(given, scorer, device)
    passages, _ = o.read_files(data, options)
    if limit is not None:
        passages = sample_dialogues(passages, limit, run.seed)
    responder = _responder(generator, run) if generator else None
    with RunFolder(run.output_dir).lock():
        with progress_bar("analysing") as on_progress:
            results = run_analysis(scorer, list(iterate(passages)), run, responder, on_progress)
        numbers = results.save(run.output_dir)
        page = write_analysis_report(Path(run.output_dir))
    if json:
        print(dumps(results.to_dict(), ensure_ascii=False, indent=2, allow_nan=False))
        return
    for part in analysis_tables(results):
        out.print(part)
    say_warnings(results.warnings)
    say(f"Report: [bold]{escape(str(page))}[/], numbers: [bold]{escape(str(numbers))}[/]")


def _responder(spec: str, run: AnalysisRun) -> object:
    from dialeval.commands.generate import load_and_say

    # Plain sampling: a cut distribution would not be the one that likelihoods are of.
    return load_and_say(
        spec, seed=run.seed, n=run.samples, max_new_tokens=run.max_new_tokens, decoding="sampling"
    )
