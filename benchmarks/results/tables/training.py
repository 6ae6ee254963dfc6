"""Tables of trained discriminators: accuracy per corpus, learning curves, Kannan's analysis."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results.store import Cell, Number, TableParts
from benchmarks.results.tables.cells import LONG, long_rows, number
from benchmarks.results.tables.corpora import corpus_path
from benchmarks.results.tables.studies import recipe_settings
from dialeval.dialogues import (
    FILTERS,
    Cut,
    Passage,
    Passages,
    ReadOptions,
    authors,
    by_author,
    iterate,
    read,
    to_passages,
)
from dialeval.dialogues.splits import sample_dialogues
from dialeval.judgements import detection
from dialeval.metrics.results import Result
from dialeval.metrics.training_results import TrainingResults
from dialeval.protocols.analysis.decisions import with_random_replies
from dialeval.protocols.analysis.study import analyse
from dialeval.protocols.evaluator_comparison import train_once
from dialeval.protocols.unpaired.piles import LONG_CONTEXT
from dialeval.responders.registry import load_responder
from dialeval.scorers import Scorer, load_scorer
from dialeval.scorers.base import is_human
from dialeval.settings.analysis import AnalysisRun
from dialeval.settings.training import GeneratorConfig
from dialeval.training import DiscriminatorConfig
from dialeval.training.discriminator_settings import (
    DiscriminatorRun,
    apply_settings,
    evaluator_settings,
)
from dialeval.training.generator import GeneratorRun, train_generator
from dialeval.training.pairs import split_parts

TRAINED = "trained"
"""Name of the generator that is trained for the table."""
RANKINGS = ("rank_correlation", "rank_correlation_equal_length")
"""Metrics of the ranking of a generator's samples."""
SIDES = {"judged": "decisions", "true": "truth"}
"""How passages are divided for a difference of cosines."""


def trained(
    folder: Path, path: Path | str, evaluator: str, settings: Mapping[str, Any]
) -> tuple[TrainingResults, Path]:
    """Results of one evaluator and its folder, which depends on data and settings.

    What is finished is not trained again.

    Args:
        folder (`Path`):
            Folder of the trained evaluators.
        path (`Path` or `str`):
            The corpus.
        evaluator (`str`):
            Name of the evaluator.
        settings (`Mapping`):
            Settings of the run and of the trainer, which replace those of the registry.

    Returns:
        `tuple[TrainingResults, Path]`: With held-out accuracies.
    """
    made_of = json.dumps([str(path), evaluator, dict(settings)], sort_keys=True)
    target = folder / f"{evaluator}-{sha256(made_of.encode()).hexdigest()[:8]}"
    run = DiscriminatorRun(data=[str(path)], output_dir=str(target), resume=True)
    named = evaluator_settings(evaluator, run, DiscriminatorConfig())
    run, config = (apply_settings(part, settings) for part in named)
    return train_once(run, config), target


def curve(
    data: Path,
    work: Path,
    corpora: Mapping[str, str],
    evaluators: Sequence[str],
    pairs: Sequence[int],
    variants: Mapping[str, Mapping[str, Any]],
    **settings: Any,
) -> TableParts:
    """Held-out accuracy by the number of training pairs and the way of training.

    Args:
        data, work (`Path`):
            Folders of corpora and of trained evaluators.
        corpora (`Mapping[str, str]`):
            By name, the path inside `data`, or the name of the embedded corpus.
        evaluators (`Sequence[str]`):
            Names of evaluators.
        pairs (`Sequence[int]`):
            Training pairs; -1 is all.
        variants (`Mapping[str, Mapping]`):
            By name, settings in which the trainings differ.
        settings:
            Further settings of the trainer.

    Returns:
        `TableParts`: A part per corpus, size, evaluator and variant.
    """

    def rows(name: str, path: str, size: int, evaluator: str, variant: str) -> list[list[Cell]]:
        made_with = {**settings, **variants[variant], "max_pairs": size}
        results, _ = trained(work, corpus_path(data, path), evaluator, made_with)
        of_kind = {row.evaluator: number(row) for row in results.accuracies()}
        epochs = len(results.history)
        seen = f"{size:,}" if size > 0 else "all"
        return [
            [name, evaluator, variant, seen, str(epochs), of_kind[evaluator],
             of_kind["response only"], of_kind["shuffled context"]]
        ]  # fmt: skip

    parts = {
        f"{name}, {size}, {evaluator}, {variant}":
            lambda n=name, p=path, s=size, e=evaluator, v=variant: rows(n, p, s, e, v)
        for size in pairs
        for name, path in corpora.items()
        for evaluator in evaluators
        for variant in variants
    }  # fmt: skip
    columns = ["corpus", "evaluator", "training", "pairs", "epochs", "accuracy",
               "response only", "shuffled context"]  # fmt: skip
    return TableParts(columns, parts)


def classes(
    data: Path,
    work: Path,
    corpora: Mapping[str, str],
    evaluators: Sequence[str],
    items: int,
    max_pairs: int,
    max_pairs_of: Mapping[str, int] | None = None,
    **settings: Any,
) -> TableParts:
    """Precision, recall and F1 per class, human against random replies (Bruni, Table 1).

    Args:
        data, work (`Path`):
            Folders of corpora and of trained evaluators.
        corpora (`Mapping[str, str]`):
            By name, paths for training and for testing inside `data`, separated by a comma.
        evaluators (`Sequence[str]`):
            Names of evaluators.
        items (`int`):
            Test passages, half of them with a random reply.
        max_pairs (`int`):
            Training pairs at most.
        max_pairs_of (`Mapping[str, int]`, *optional*):
            Fewer for evaluators that are slow to train.
        settings:
            Further settings of the trainer.

    Returns:
        `TableParts`: A part per corpus and evaluator.
    """

    def rows(name: str, paths: str, evaluator: str) -> list[list[Cell]]:
        train, test = (part.strip() for part in paths.split(","))
        pairs = (max_pairs_of or {}).get(evaluator, max_pairs)
        _, folder = trained(work, data / train, evaluator, {**settings, "max_pairs": pairs})
        scorer = load_scorer(folder)
        mixed = real_and_random(
            data / test, items, settings.get("seed", 0), settings.get("filter", "none"),
            known=data / train,
        )  # fmt: skip
        truth = ["real" if row.author == "human" else "random" for row in mixed]
        dialogues = [row.dialogue_id or row.id for row in mixed]
        elsewhere = after_other_contexts(mixed, settings.get("seed", 0))
        scores = detection(truth, decisions(scorer, mixed), dialogues)
        control = detection(truth, decisions(scorer, elsewhere), dialogues)
        values = [
            Number(value)
            for part in ("real", "random")
            for value in (scores.classes[part].precision, scores.classes[part].recall,
                          scores.classes[part].f1)
        ]  # fmt: skip
        accuracies = (Number(item.accuracy, item.low, item.high, len(mixed))
                      for item in (scores, control))  # fmt: skip
        return [[name, evaluator, f"{pairs:,}", *accuracies, *values]]

    heads = [f"{score} {part}" for part in ("real", "random") for score in ("P", "R", "F1")]
    parts = {
        f"{name}, {evaluator}": lambda n=name, p=paths, e=evaluator: rows(n, p, e)
        for name, paths in corpora.items()
        for evaluator in evaluators
    }
    columns = ["corpus", "evaluator", "pairs at most", "accuracy", "after other contexts", *heads]
    return TableParts(columns, parts)


def decisions(scorer: Scorer, passages: Sequence[Passage]) -> list[str]:
    """What a discriminator says of each passage: `"real"` or `"random"`."""
    scores = np.asarray(scorer(to_passages(passages)))
    return ["real" if human else "random" for human in is_human(scorer, scores)]


def after_other_contexts(passages: Sequence[Passage], seed: int) -> list[Passage]:
    """The same responses, each after the context of another passage.

    Where a discriminator is as often right as before, it does not compare response and context.
    """
    order = np.random.default_rng(seed).permutation(len(passages))
    context_of = dict(zip(order.tolist(), np.roll(order, 1).tolist(), strict=True))
    return [
        replace(row, context=passages[context_of[at]].context) for at, row in enumerate(passages)
    ]


def real_and_random(
    path: Path,
    items: int,
    seed: int,
    rule: str = "none",
    turns: int = 2,
    known: Path | None = None,
) -> list[Passage]:
    """Passages with their true reply, and others with a wrong one.

    Args:
        path (`Path`):
            The corpus. Where people wrote wrong replies on purpose (author `adversarial`), those
            are the wrong ones, otherwise replies of other dialogues.
        items (`int`):
            Passages in all.
        seed (`int`):
            Seed of the choice.
        rule (`str`, *optional*, defaults to `"none"`):
            The filter that training passages passed.
        turns (`int`, *optional*, defaults to 2):
            Turns of context, as in training.
        known (`Path`, *optional*):
            The training data, whose contexts are left out.

    Returns:
        `list[Passage]`: Half of them with the author `human`; no context occurs twice.
    """
    options = ReadOptions(cut=Cut(turns), filters=FILTERS[rule])
    passages = read(path, options)[0]
    if known is not None:
        passages = without_contexts_of(passages, read(known, options)[0])
    real = list(iterate(sample_dialogues(by_author(passages, "human"), items, seed)))
    if "adversarial" not in authors(passages):
        return real[::2] + with_random_replies(real[1::2], seed)
    wrong = {row.id: row for row in iterate(by_author(passages, "adversarial"))}
    return real[::2] + [wrong[row.id] for row in real[1::2] if row.id in wrong]


def without_contexts_of(passages: Passages, known: Passages) -> Passages:
    """The passages without those whose context other passages have too, however it is spelt.

    Of short contexts ("Thank you." "You're welcome.") many are equal by chance: these stay.
    """
    contexts = set(map(_context_key, known["context"])) - {""}
    is_new = [_context_key(context) not in contexts for context in passages["context"]]
    return passages.select(np.flatnonzero(is_new))


def _context_key(turns: Sequence[Mapping[str, str]]) -> str:
    """Letters and digits of a context; empty where it is short."""
    words = [word for turn in turns for word in turn["text"].lower().split()]
    letters = "".join(filter(str.isalnum, "".join(words)))
    return letters if len(words) >= LONG_CONTEXT else ""


def kannan(
    data: Path,
    work: Path,
    corpus: str,
    evaluator: str,
    passages: int,
    generators: Mapping[str, Mapping[str, int]] | None = None,
    generator_passages: int = -1,
    **settings: Any,
) -> TableParts:
    """Precision-recall, length, and ranking by likelihood of one discriminator.

    Args:
        data, work (`Path`):
            Folders of corpora and of trained evaluators.
        corpus (`str`):
            Path inside `data`, or the name of the embedded corpus.
        evaluator (`str`):
            Which discriminator is trained and analysed.
        passages (`int`):
            Passages of the analysis, from dialogues that the evaluator did not see.
        generators (`Mapping[str, Mapping]`, *optional*):
            By the name of a generator, the number of `contexts` that it answers and of its
            `samples` to each, which are ranked. `trained` is a small GPT-2 that learns on the
            corpus.
        generator_passages (`int`, *optional*, defaults to -1):
            Passages that it learns on; -1 for all.
        settings:
            Further settings of the trainer.

    Returns:
        `TableParts`: A part for the discriminator, and one for each generator.
    """
    where = corpus_path(data, corpus)
    seed = settings.get("seed", 0)

    def results(run: AnalysisRun, generator: Any = None) -> list[Result]:
        _, folder = trained(work, where, evaluator, settings)
        held_out = split_parts(read(where)[0], seed)["test"]
        drawn = list(iterate(sample_dialogues(held_out, passages, seed)))
        return list(analyse(load_scorer(folder), drawn, run, generator).results)

    def described() -> list[list[Cell]]:
        rows = results(AnalysisRun(seed=seed, pictures=0))
        sides = [SIDES.get(str(row.details.get("sides")), row.system) for row in rows]
        return long_rows(map(replace_system, rows, sides))

    def ranked(name: str, sizes: Mapping[str, int]) -> list[list[Cell]]:
        run = AnalysisRun(sizes["contexts"], sizes["samples"], seed=seed, pictures=0)
        spec = name
        if name == TRAINED:
            spec = _trained_generator(work, where, generator_passages, seed)
        rows = results(run, _responder(spec, run))
        return long_rows(replace_system(row, name) for row in rows if row.metric in RANKINGS)

    parts = {f"samples of {name}": lambda n=name, s=sizes: ranked(n, s)
             for name, sizes in (generators or {}).items()}  # fmt: skip
    return TableParts(LONG, {evaluator: described, **parts})


def replace_system(row: Result, name: str) -> Result:
    """The same number under another name in the column of systems."""
    return replace(row, system=name)


def _trained_generator(work: Path, corpus: Path | str, passages: int, seed: int) -> str:
    """Folder of a generator with the default settings that learnt on the corpus."""
    folder = work / "generator"
    if not (folder / "results.json").is_file():
        changes = {"data": corpus, "max_passages": passages}
        made = recipe_settings(
            "generator_default", folder, seed, GeneratorRun, GeneratorConfig, **changes
        )
        train_generator(*made)
    return str(folder)


def _responder(spec: str, run: AnalysisRun) -> Any:
    return load_responder(
        spec, seed=run.seed, n=run.samples, max_new_tokens=run.max_new_tokens, decoding="sampling"
    )
