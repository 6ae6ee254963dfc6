"""One generator with every decoding strategy: which responses are indistinguishable?"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dialeval.dialogues import (
    BadInput,
    Pairing,
    Passage,
    Passages,
    ReadOptions,
    atomic_write,
    by_author,
    iterate,
    read,
    split,
    to_passages,
)
from dialeval.dialogues.tokens import tokens
from dialeval.metrics.distinct import distinct
from dialeval.metrics.training_results import StepProgress
from dialeval.protocols.evaluator_comparison import train_once
from dialeval.responders.decoding import DECODINGS
from dialeval.responders.generators import Generator, load_generator
from dialeval.responders.journal import generate
from dialeval.responders.language import GeneratorResponder
from dialeval.settings.checks import check_settings
from dialeval.training import DiscriminatorConfig
from dialeval.training.discriminator_settings import DiscriminatorRun, evaluator_settings

OnProgress = Callable[[StepProgress], Any]
SPREAD = ("distinct_1", "distinct_2", "tokens", "most_frequent")


@dataclass
class DecodingsRun:
    """Which generator answers which contexts, and which evaluators are used."""

    generator: str = field(metadata={"help": "Folder or name of the generator."})
    train: list[str] = field(
        metadata={"help": "Files of human passages; evaluators are trained on their contexts."}
    )
    test: list[str] = field(
        metadata={"help": "Files of human passages that evaluators are tested on."}
    )
    backward: str | None = field(default=None, metadata={"help": "Model of p(s|t)."})
    language_model: str | None = field(default=None, metadata={"help": "Model of p(t)."})
    decodings: list[str] = field(
        default_factory=lambda: list(DECODINGS), metadata={"help": ", ".join(DECODINGS)}
    )
    evaluators: list[str] = field(
        default_factory=lambda: ["svm-unigram", "hierarchical"],
        metadata={"help": "Evaluators by name: see `dialeval list evaluators`."},
    )
    train_contexts: int = field(default=600, metadata={"help": "Contexts to train evaluators on."})
    test_contexts: int = field(default=300, metadata={"help": "Contexts to test them on."})
    max_new_tokens: int = field(default=30, metadata={"help": "Tokens of a response at most."})
    output_dir: str = field(default="runs/decodings", metadata={"help": "Output folder."})

    def __post_init__(self) -> None:
        check_settings(self)


def compare_decodings(
    run: DecodingsRun,
    config: DiscriminatorConfig,
    on_progress: OnProgress = lambda _: None,
) -> list[dict[str, Any]]:
    """Adversarial success of each strategy, measured by each evaluator on the same contexts.

    Evaluators are trained on responses of the strategy to other dialogues' contexts (Li et al.,
    2017, sec. 5.2). Responses and evaluators are saved, so that an interrupted run resumes.

    Args:
        run (`DecodingsRun`):
            Generator, contexts, strategies and evaluators.
        config (`DiscriminatorConfig`):
            Settings of the evaluators' training.
        on_progress (`Callable`, *optional*):
            Called with the numbers of each step and each validation.

    Returns:
        `list[dict]`: One row per strategy and evaluator.
    """
    generator = load_generator(run.generator)
    helpers = {
        name: load_generator(path)
        for name, path in (("backward", run.backward), ("language_model", run.language_model))
        if path
    }
    names = _possible(run.decodings, helpers)
    human = {
        "train": _sample(run.train, run.train_contexts, config.seed, run.test),
        "test": _sample(run.test, run.test_contexts, config.seed),
    }
    rows = []
    for name in names:
        folder = Path(run.output_dir) / name
        answers = {
            part: _answers(run, config, generator, helpers, name, passages, folder / part)
            for part, passages in human.items()
        }
        diversity = spread([passage.response for passage in answers["test"]])
        pairs = _pairs(human, answers, config.seed)
        for evaluator in run.evaluators:
            numbers = _evaluate(evaluator, pairs, config, folder, on_progress)
            rows.append({"decoding": name, **diversity, **numbers})
        with atomic_write(Path(run.output_dir) / "decodings.json") as file:
            json.dump(rows, file, ensure_ascii=False, indent=2)
    return rows


def spread(responses: Sequence[str]) -> dict[str, float]:
    """Diversity of responses in lower-case words: see [`distinct`]; 0 where there are none.

    Examples:
        >>> spread(["yes i do", "yes i do", "no"])["distinct_1"]  # 4 words of 7
        0.5714285714285714
    """
    if not responses:
        return dict.fromkeys(SPREAD, 0.0)
    numbers = distinct(responses, lambda text: [word.lower() for word in tokens(text)])
    return {name: float(value) for name, value in numbers.items() if name in SPREAD}  # type: ignore[arg-type]  # all are numbers


def _possible(names: Sequence[str], helpers: dict[str, Generator]) -> list[str]:
    """The strategies whose models are given."""
    unknown = [name for name in names if name not in DECODINGS]
    if unknown:
        choices = ", ".join(DECODINGS)
        raise BadInput(f"unknown decoding {unknown[0]!r}.", hint=f"Choose from {choices}.")
    needs = {"mmi-backward": "backward", "mmi-penalty": "language_model"}
    return [name for name in names if needs.get(name, "") in ("", *helpers)]


def _sample(files: list[str], limit: int, seed: int, against: Sequence[str] = ()) -> list[Passage]:
    """Human passages of files, without dialogues that other files have too."""
    passages = by_author(read(files, ReadOptions(), against)[0], "human")
    if not len(passages):
        hint = "Give files of other dialogues than those of the test."
        raise BadInput("no human passage is left.", files[0], hint=hint)
    count = min(limit, len(passages))
    chosen = np.sort(np.random.default_rng(seed).choice(len(passages), count, replace=False))
    return list(iterate(passages.select(chosen)))


def _answers(
    run: DecodingsRun,
    config: DiscriminatorConfig,
    generator: Generator,
    helpers: dict[str, Generator],
    name: str,
    passages: list[Passage],
    path: Path,
) -> list[Passage]:
    responder = GeneratorResponder(
        generator, DECODINGS[name], 1, run.max_new_tokens, config.seed, progress=True,
        backward=helpers.get("backward"), language_model=helpers.get("language_model"),
    )  # fmt: skip
    done = generate(responder, passages, path.with_suffix(".jsonl"))
    return list(iterate(read(str(done.path), ReadOptions(keep_duplicates=True))[0]))


def _pairs(
    human: dict[str, list[Passage]], answers: dict[str, list[Passage]], seed: int
) -> dict[str, Passages]:
    pairing = Pairing("human_machine", seed=seed)
    parts = {"train": 0.85, "validation": 0.15}
    human_parts, answer_parts = (
        split(to_passages(side["train"]), parts, seed + 1) for side in (human, answers)
    )
    pairs = {name: pairing(human_parts[name], answer_parts[name]) for name in parts}
    return {**pairs, "test": pairing(to_passages(human["test"]), to_passages(answers["test"]))}


def _evaluate(
    evaluator: str,
    pairs: dict[str, Passages],
    config: DiscriminatorConfig,
    folder: Path,
    on_progress: OnProgress,
) -> dict[str, Any]:
    """Adversarial success of the responses, measured by one evaluator that is trained on pairs."""
    run = DiscriminatorRun(output_dir=str(folder / evaluator.replace(":", ".")))
    run, training = evaluator_settings(evaluator, run, config)
    run = replace(run, scenario="human_machine", resume=True)
    results = train_once(run, training, on_progress, pairs)
    accuracy = results.results[0]
    length_only = results.get("accuracy", evaluator="length only")
    return {
        "evaluator": evaluator,
        "adversuc": 1 - accuracy.value,
        "low": 1 - accuracy.high,
        "high": 1 - accuracy.low,
        "n": accuracy.n,
        "length_only": None if length_only is None else 1 - length_only.value,
        "signature": accuracy.signature,
    }
