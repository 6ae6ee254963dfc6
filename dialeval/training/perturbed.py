"""Training examples whose contexts are edited on the fly, by one strategy per epoch."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dialeval.dialogues import BadInput, Passage, Passages, iterate
from dialeval.perturbations import Perturbation, Restricted, edit_contexts, perturbations
from dialeval.perturbations.apply import seeds_of
from dialeval.perturbations.generative import INSTRUCTION
from dialeval.perturbations.registry import required_options, strategies
from dialeval.responders.decoding import DECODINGS
from dialeval.responders.generators import Generator, load_generator
from dialeval.responders.language import GeneratorResponder
from dialeval.settings.against import GROUPS, AgainstConfig
from dialeval.training.likelihood import Examples, encoded

LOW_COVERAGE = 0.05
_SAMPLE = 500  # passages that coverage is measured on


class PerturbedBatch(NamedTuple):
    """Passages before and after an edit, and which of the edits should change the response."""

    passages: list[Passage]
    perturbed: list[Passage]
    edited: np.ndarray  # (rows,)
    should_change: np.ndarray  # (rows,), edited by a should-change strategy


class PerturbedExamples(Examples):
    """Examples whose contexts can be edited; nothing is stored, and only edited when needed.

    Each context is edited by one strategy, drawn anew in each epoch. All random numbers depend on
    the seed, the epoch and the passage's id alone, so that a resumed training sees the same.

    Args:
        generator (`Generator`):
            Whose token ids.
        passages (`Passages`):
            The passages.
        strategies (`Sequence[Perturbation]`):
            What edits them.
        seed (`int`, *optional*, defaults to 0):
            Seed of the choice and of the edits.
    """

    def __init__(
        self,
        generator: Generator,
        passages: Passages,
        strategies: Sequence[Perturbation],
        seed: int = 0,
    ):
        super().__init__(generator, passages)
        self.generator, self.passages, self.seed = generator, passages, seed
        self.strategies = list(strategies)

    def perturb(self, rows: Sequence[int] | np.ndarray, epoch: int) -> PerturbedBatch:
        """The passages of these rows under the strategies drawn for an epoch."""
        passages = list(iterate(self.passages.select(np.asarray(rows))))
        drawn = seeds_of(self.seed, f"strategy-{epoch}", ((p.id, 0) for p in passages))
        choice = np.array([number % len(self.strategies) for number in drawn])
        perturbed, counts = list(passages), np.zeros(len(passages), dtype=np.int64)
        for number, strategy in enumerate(self.strategies):
            at = np.flatnonzero(choice == number)
            texts, edits = edit_contexts([passages[row] for row in at], strategy, self._seed(epoch))
            for row, passage in zip(at, texts, strict=True):
                perturbed[row] = passage
            counts[at] = edits
        changing = np.array([strategy.kind == "should_change" for strategy in self.strategies])
        return PerturbedBatch(passages, perturbed, counts > 0, (counts > 0) & changing[choice])

    def _seed(self, epoch: int) -> int:
        return self.seed * 1_000_003 + epoch + 1  # the seed itself is that of test contexts

    def prompts_of(self, passages: Sequence[Passage]) -> list[list[int]]:
        """Token ids of contexts, cut so that their responses fit."""
        return encoded(self.generator, passages)[0]

    def prompts_before(self, passages: Sequence[Passage], tokens: int) -> list[list[int]]:
        """Token ids of contexts, cut so that so many new tokens fit."""
        room = self.generator.prompts.limited(self.generator.max_prompt_length(tokens))
        return [prompt.ids for prompt in room(self.generator.tokenizer, passages)]


def resolve_strategies(config: AgainstConfig, tokenizer: Any) -> list[Perturbation]:
    """The strategies that a generator is trained against.

    With a vocabulary of words an edit may only use words of it (Niu and Bansal, 2018, sec. 5).
    """
    chosen = chosen_strategies(config)
    words = word_vocabulary(tokenizer)
    return [Restricted(strategy, words) for strategy in chosen] if words else chosen


def chosen_strategies(config: AgainstConfig) -> list[Perturbation]:
    """The strategies as named, with groups resolved."""
    options: dict[str, dict[str, Any]] = {}
    if config.paraphraser:
        generator = load_generator(config.paraphraser, system_prompt=INSTRUCTION)
        responder = GeneratorResponder(generator, DECODINGS["greedy"])
        options["generative-paraphrase"] = {"paraphrase": responder}
    return perturbations(strategy_names(config), config.strategy_preset, options)


def strategy_names(config: AgainstConfig) -> list[str]:
    """Names of the strategies, with groups resolved, each once."""
    return list(dict.fromkeys(name for entry in config.names for name in _members(entry)))


def _members(entry: str) -> list[str]:
    """Names of a group's strategies that need no option; any other name as it is.

    A paraphraser is a model of its own, so no group contains it.
    """
    if entry not in GROUPS:
        return [entry]
    kind = None if entry == "all" else entry.replace("-", "_")
    return [
        name
        for name, strategy in strategies().items()
        if (kind is None or strategy.kind == kind)
        and name != "generative-paraphrase"
        and not required_options(strategy)
    ]


def word_vocabulary(tokenizer: Any) -> frozenset[str]:
    """The words of a tokenizer of whole words; empty for one of pieces."""
    from tokenizers.models import WordLevel

    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or not isinstance(backend.model, WordLevel):
        return frozenset()
    return frozenset(word.lower() for word in tokenizer.get_vocab())


def check_coverage(
    passages: Passages, strategies: Sequence[Perturbation], seed: int = 0
) -> list[str]:
    """Warnings about strategies that edit few contexts; those that edit none are refused.

    Args:
        passages (`Passages`):
            Training passages.
        strategies (`Sequence[Perturbation]`):
            What they are trained against.
        seed (`int`, *optional*, defaults to 0):
            Seed of the passages that are tried.

    Returns:
        `list[str]`: One sentence per strategy of low coverage.
    """
    count = min(_SAMPLE, len(passages))
    rows = np.random.default_rng(seed).choice(len(passages), count, replace=False)
    sample = list(iterate(passages.select(np.sort(rows))))
    warnings = []
    for strategy in strategies:
        share = float((edit_contexts(sample, strategy, seed)[1] > 0).mean())
        if not share:
            raise BadInput(
                f"{strategy.name} edits none of {count:,} training contexts (coverage 0 %), so "
                "there is nothing to train against.",
                hint="Leave it out, or train on other data.",
            )
        if share < LOW_COVERAGE:
            warnings.append(
                f"{strategy.name} edits only {share:.1%} of the training contexts; the rest is "
                "trained on as it is."
            )
    return warnings
