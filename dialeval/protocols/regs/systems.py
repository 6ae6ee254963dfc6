"""The systems of a study on the same test contexts, and their independent evaluation."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dialeval.dialogues import (
    Passage,
    ReadOptions,
    iterate,
    read,
    to_passages,
    write_passages,
)
from dialeval.metrics.evaluation_results import EvaluationResults
from dialeval.metrics.regs_results import RegsExample, SystemReply
from dialeval.protocols.evaluation import EvaluationRun, align, evaluate
from dialeval.protocols.regs.settings import PRETRAINED
from dialeval.responders.base import respond
from dialeval.responders.decoding import DECODINGS
from dialeval.responders.generators import load_generator
from dialeval.responders.language import GeneratorResponder
from dialeval.training.game_state import set_trainable

if TYPE_CHECKING:
    from dialeval.protocols.regs.study import RegsStudy

_EXAMPLES = 8


def answers_of(study: "RegsStudy", system: str, human: list[Passage]) -> list[Passage]:
    """A system's responses to the test contexts, written once.

    Args:
        study (`RegsStudy`):
            The study after its training.
        system (`str`):
            Row of the table.
        human (`list[Passage]`):
            Test contexts with human responses.

    Returns:
        `list[Passage]`: Samples at temperature 1 with the same noise for every system, or another
        decoding of the pre-trained generator.
    """
    path = study.folder / "responses" / f"{system.replace(', ', '_').replace(' ', '_')}.jsonl"
    if study.accelerator.is_main_process and not path.is_file():
        study.on_progress({"stage": f"{system} answers the test contexts"})
        decoding = system.removeprefix(f"{PRETRAINED}, ") if PRETRAINED in system else "sampling"
        decoding = decoding if decoding in DECODINGS else "sampling"
        set_trainable(study.generator.model, study.weights_of(system))
        helpers: dict[str, Any] = {}
        if decoding == "mmi-backward":
            helpers["backward"] = load_generator(str(study.backward), device="cpu")
        if decoding == "mmi-penalty":
            helpers["language_model"] = study.players.language_model()
        responder = GeneratorResponder(
            study.generator, DECODINGS[decoding], 1, study.config.response_tokens,
            study.training.seed, system, **helpers,
        )  # fmt: skip
        write_passages(to_passages(respond(responder, human)), path)
    study.accelerator.wait_for_everyone()
    passages, _ = read(path, ReadOptions(keep_duplicates=True, allow_empty=True))
    texts = {passage.id: passage.response for passage in iterate(passages)}
    return [passage.with_response(texts.get(passage.id, ""), system) for passage in human]


def evaluate_systems(study: "RegsStudy", answers: Mapping[str, list[Passage]]) -> EvaluationResults:
    """AdverSuc, machine-vs-random, ERE and diversity, by evaluators trained for this alone.

    The evaluators are fitted to the test responses by cross-fitting; they share no parameters with
    a discriminator that gave rewards (Li et al., 2017, sec. 4).
    """
    study.on_progress({"stage": "Evaluating all systems by independent evaluators"})
    run = EvaluationRun(
        evaluators=list(study.run.evaluators), folds=study.run.folds, seeds=1, curve=(),
        length_matched=False, seed=study.training.seed,
        output_dir=str(study.folder / f"evaluation_{study.accelerator.process_index}"),
        overwrite=True,
    )  # fmt: skip
    systems = {name: to_passages(rows) for name, rows in answers.items()}
    data = align(study.parts["test"], systems)

    def report(done: int, total: int, what: str) -> None:
        study.on_progress({"stage": f"evaluation: {what}", "step": done, "total": total})

    return evaluate(data, run, on_progress=report)


def examples(
    human: list[Passage], answers: Mapping[str, list[Passage]], seed: int
) -> tuple[RegsExample, ...]:
    """Some contexts with all responses side by side (Li et al., Table 1).

    Args:
        human (`list[Passage]`):
            Test contexts with human responses.
        answers (`Mapping[str, list[Passage]]`):
            Responses of each system, in the same order.
        seed (`int`):
            Seed of the choice.

    Returns:
        `tuple[RegsExample, ...]`: A few of them.
    """
    rows = np.random.default_rng(seed).permutation(len(human))[:_EXAMPLES]
    return tuple(
        RegsExample(
            tuple(turn.text for turn in human[row].context),
            human[row].response,
            tuple(SystemReply(name, replies[row].response) for name, replies in answers.items()),
        )
        for row in rows
    )
