"""One generator, every way of decoding it: which of them passes for a human?"""

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
from dialeval.protocols.evaluator_comparison import NETWORK_SETTINGS, with_settings
from dialeval.responders.decoding import DECODINGS
from dialeval.responders.generators import Generator, load_generator
from dialeval.responders.journal import generate
from dialeval.responders.language import GeneratorResponder
from dialeval.training import DiscriminatorConfig
from dialeval.training.discriminator import DiscriminatorRun, train_discriminator

SPREAD = ("distinct_1", "distinct_2", "tokens", "most_frequent")


@dataclass
class DecodingsRun:
    """Who answers what, and who judges."""

    generator: str = field(metadata={"help": "Folder or name of the generator."})
    judged: list[str] = field(
        metadata={"help": "Files of human passages whose contexts the judges learn on."}
    )
    test: list[str] = field(metadata={"help": "Files of human passages that judges are tested on."})
    backward: str | None = field(default=None, metadata={"help": "Model of p(s|t)."})
    language_model: str | None = field(default=None, metadata={"help": "Model of p(t)."})
    decodings: list[str] = field(
        default_factory=lambda: list(DECODINGS), metadata={"help": ", ".join(DECODINGS)}
    )
    judges: list[str] = field(
        default_factory=lambda: ["svm-unigram", "hierarchical"],
        metadata={"help": ", ".join(NETWORK_SETTINGS)},
    )
    judge_contexts: int = field(default=600, metadata={"help": "Contexts that judges learn on."})
    test_contexts: int = field(default=300, metadata={"help": "Contexts of the test."})
    max_new_tokens: int = field(default=30, metadata={"help": "Tokens of an answer at most."})
    output_dir: str = field(default="runs/decodings", metadata={"help": "Where it goes."})


def compare_decodings(
    run: DecodingsRun,
    config: DiscriminatorConfig,
    on_progress: Callable[[dict[str, Any]], Any] = lambda _: None,
) -> list[dict[str, Any]]:
    """Adversarial success of each strategy before each judge, on the same contexts.

    Judges learn from answers of the strategy to other dialogues' contexts (Li et al., 2017,
    sec. 5.2). Answers and judges are kept, so that a run that was stopped goes on.
    """
    generator = load_generator(run.generator)
    helpers = {
        name: load_generator(path)
        for name, path in (("backward", run.backward), ("language_model", run.language_model))
        if path
    }
    human = {
        "judged": _asked(run.judged, run.judge_contexts, config.seed),
        "test": _asked(run.test, run.test_contexts, config.seed),
    }
    rows = []
    for name in _possible(run.decodings, helpers):
        folder = Path(run.output_dir) / name
        answers = {
            part: _answers(run, config, generator, helpers, name, passages, folder / part)
            for part, passages in human.items()
        }
        told = spread([passage.response for passage in answers["test"]])
        pairs = _pairs(human, answers, config.seed)
        for judge in run.judges:
            rows.append(
                {"decoding": name, **told, **_judged(judge, pairs, config, folder, on_progress)}
            )
        with atomic_write(Path(run.output_dir) / "decodings.json") as file:
            json.dump(rows, file, ensure_ascii=False, indent=2)
    return rows


def spread(responses: Sequence[str]) -> dict[str, float]:
    """How various responses are, in lower-case words: see [`distinct`]; 0 where there are none.

    Example:
        >>> spread(["yes i do", "yes i do", "no"])["distinct_1"]  # 4 words of 7
        0.5714285714285714
    """
    if not responses:
        return dict.fromkeys(SPREAD, 0.0)
    found = distinct(responses, lambda text: [word.lower() for word in tokens(text)])
    return {name: found[name] for name in SPREAD}


def _possible(names: Sequence[str], helpers: dict[str, Generator]) -> list[str]:
    """The strategies that the models at hand allow."""
    unknown = [name for name in names if name not in DECODINGS]
    if unknown:
        choices = ", ".join(DECODINGS)
        raise BadInput(f"Unknown decoding {unknown[0]!r}.", hint=f"Choose from {choices}.")
    needs = {"mmi-backward": "backward", "mmi-penalty": "language_model"}
    return [name for name in names if needs.get(name, "") in ("", *helpers)]


def _asked(files: list[str], limit: int, seed: int) -> list[Passage]:
    passages = by_author(read(files, ReadOptions())[0], "human")
    count = min(limit, len(passages))
    chosen = np.sort(np.random.default_rng(seed).choice(len(passages), count, replace=False))
    return list(iterate(passages.select(chosen)))


def _answers(
    run: DecodingsRun,
    config: DiscriminatorConfig,
    generator: Generator,
    helpers: dict[str, Generator],
    name: str,
    asked: list[Passage],
    path: Path,
) -> list[Passage]:
    responder = GeneratorResponder(
        generator, DECODINGS[name], 1, run.max_new_tokens, config.seed, progress=True, **helpers
    )
    done = generate(responder, asked, path.with_suffix(".jsonl"))
    return list(iterate(read(str(done.path), ReadOptions(keep_duplicates=True))[0]))


def _pairs(
    human: dict[str, list[Passage]], answers: dict[str, list[Passage]], seed: int
) -> dict[str, Passages]:
    pairing = Pairing("human_machine", seed=seed)
    parts = {"train": 0.85, "validation": 0.15}
    ours, theirs = (
        split(to_passages(side["judged"]), parts, seed + 1) for side in (human, answers)
    )
    made = {name: pairing(ours[name], theirs[name]) for name in parts}
    return {**made, "test": pairing(to_passages(human["test"]), to_passages(answers["test"]))}


def _judged(
    judge: str,
    pairs: dict[str, Passages],
    config: DiscriminatorConfig,
    folder: Path,
    on_progress: Callable[[dict[str, Any]], Any],
) -> dict[str, Any]:
    settings = NETWORK_SETTINGS[judge]
    output = folder / judge
    stored = output / "results.json"
    if stored.is_file():
        results = json.loads(stored.read_text("utf-8"))
    else:
        run = with_settings({"model": judge, **settings}, DiscriminatorRun(output_dir=str(output)))
        run = replace(run, scenario="human_machine", resume=True)
        results = train_discriminator(run, with_settings(settings, config), on_progress, pairs)
    found = {row["evaluator"]: row for row in results["results"]}
    row = results["results"][0]
    return {
        "judge": judge,
        "adversuc": 1 - row["value"],
        "low": 1 - row["high"],
        "high": 1 - row["low"],
        "n": row["n"],
        "length_only": 1 - found["length only"]["value"],
        "signature": row["signature"],
    }
