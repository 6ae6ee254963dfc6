"""`dialeval ere`: is an evaluator reliable where the right answer is known?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.commands.console import out, progress_bar, say, say_warnings
from dialeval.commands.data import options as o
from dialeval.commands.evaluate import Formats, HumanLabel
from dialeval.commands.given import Given
from dialeval.commands.live import LIVE, check_live
from dialeval.commands.settings import with_settings
from dialeval.commands.tracking import track
from dialeval.settings.evaluation import ReliabilityRun
from dialeval.settings.inputs import SidedInputSettings
from dialeval.settings.live import LiveSettings
from dialeval.settings.tracking import TrackingSettings
from dialeval.settings.usage import SET, Needs
from dialeval.terminal import printable

if TYPE_CHECKING:
    from dialeval.metrics.results import RunResults

NO_SYSTEM = "none"


_OF_SCORES: Needs = {"scores": SET}
_OF_DATA = ("limit", "human_label", "folds", "twins", *LIVE)
"""Options beside those of reading that a table of scores has no use for."""


@with_settings(
    needs={"threshold": _OF_SCORES, "lower_is_human": _OF_SCORES, "transfer": _OF_SCORES},
    run=ReliabilityRun, inputs=SidedInputSettings, live=LiveSettings, tracking=TrackingSettings,
)  # fmt: skip
def ere(
    run: ReliabilityRun,
    inputs: SidedInputSettings,
    live: LiveSettings,
    tracking: TrackingSettings,
    given: Given,
    human: o.Human = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            help="System for the scenario machine / machine: NAME=FILE with its responses, or a "
            "live system; parrot by default, none to skip that scenario. Repeatable."
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            help="Instead of the options above: a table of scores (.jsonl, .csv, .parquet) with "
            "the columns score, label, scenario and optionally dialogue_id, evaluator, system."
        ),
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="With --scores: the score from which a response counts as human.")
    ] = 0.5,
    lower_is_human: Annotated[
        bool, typer.Option("--lower-is-human", help="With --scores: lower scores are more human.")
    ] = False,
    transfer: Annotated[
        bool,
        typer.Option(
            "--transfer", help="With --scores: the evaluator was not retrained on the scenarios."
        ),
    ] = False,
    limit: o.Limit = None,
    format: Formats = "table",
    human_label: HumanLabel = None,
) -> None:
    """Test evaluators where the right answer is known: the evaluator reliability error (ERE).

    In two scenarios both sides come from the same author, so AdverSuc (1 - accuracy) should be
    .5. In two others human responses are compared with random ones or with the next turn, so it
    should be 0. ERE is the mean deviation: 0 is a perfect evaluator, .25 a random guess.

    Without options, a parrot responds to 500 contexts of the embedded corpus.
    """
    from dialeval.commands.evaluate import check_options, read_data
    from dialeval.dialogues import BadInput

    output_dir = Path(run.output_dir)
    check_options(format, limit, output_dir)
    if scores and (human or system or run.evaluators):
        hint = "Leave out --human, --system and --evaluator."
        raise BadInput("--scores cannot be combined with data to evaluate.", hint=hint)
    if scores:
        given.refuse([*vars(inputs), *_OF_DATA], "--scores has the scores of all replies already")
        from dialeval.protocols.evaluation.scores import reliability_of_scores

        results = reliability_of_scores(
            scores, output_dir, threshold, higher_is_human=not lower_is_human,
            retrained=not transfer, seed=run.seed, overwrite=run.overwrite,
        )  # fmt: skip
        _show(results, output_dir, format)
        track(results, tracking, output_dir)
        return
    systems = [text for text in system or ["parrot"] if text != NO_SYSTEM]
    check_live(given, () if inputs.pairs else systems)
    data = read_data(
        human, systems, inputs, output_dir, limit=limit, seed=run.seed, live=live,
        allow_none=True,
    )  # fmt: skip
    from dialeval.protocols.evaluation.frozen import with_human_label
    from dialeval.protocols.evaluation.study import reliability

    run = replace(run, evaluators=with_human_label(run.evaluators, human_label))
    with progress_bar() as on_progress:
        results = reliability(data, run, on_progress=on_progress)
    _show(results, output_dir, format)
    track(results, tracking, output_dir)


def _show(results: RunResults, output_dir: Path, format: str) -> None:
    from rich.markup import escape

    from dialeval.commands.evaluate import as_text
    from dialeval.reports.evaluation import print_evaluation

    if format == "table":
        print_evaluation(results, out)
    else:
        print(printable(as_text(results, format)))
    say_warnings(results.warnings)
    say(f"Numbers: [bold]{escape(str(output_dir / 'results.json'))}[/]")
