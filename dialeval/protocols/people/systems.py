"""Scores of every evaluator on the replies of rated systems, each by one that did not see them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dialeval.dialogues import BadInput, Passage, Passages, count_tokens, folds, to_passages
from dialeval.metrics.distinct import distinct
from dialeval.protocols.analysis.decisions import with_random_replies
from dialeval.protocols.evaluation.tables import RESPONSE_EVALUATORS
from dialeval.scorers.base import is_human
from dialeval.scorers.fitting import FitContext
from dialeval.scorers.registry import Fit, fit_function

Columns = dict[str, dict[str, np.ndarray]]
"""Values by metric and system, one per context."""


@dataclass(frozen=True)
class RatedSystems:
    """Replies of people and of systems to the same contexts.

    Args:
        human (`Sequence[Passage]`):
            The human reply to each context.
        systems (`Mapping[str, Sequence[Passage]]`):
            The replies of each system, in the same order.
        fold (`np.ndarray`):
            Fold of each context; those of a dialogue share one.
    """

    human: Sequence[Passage]
    systems: Mapping[str, Sequence[Passage]]
    fold: np.ndarray

    @classmethod
    def of(
        cls, passages: Sequence[Passage], number: int = 5, limit: int = -1, seed: int = 0
    ) -> "RatedSystems":
        """The contexts that everyone replied to.

        Args:
            passages (`Sequence[Passage]`):
                Replies of several authors, `human` among them.
            number (`int`, *optional*, defaults to 5):
                Folds.
            limit (`int`, *optional*, defaults to -1):
                Contexts at most; -1 for all.
            seed (`int`, *optional*, defaults to 0):
                Seed of the folds.

        Returns:
            `RatedSystems`: With folds by dialogue.

        Raises:
            BadInput: There is no human reply, no system, or no context that all replied to.
        """
        replies: dict[str, dict[str, Passage]] = {}
        for passage in passages:
            replies.setdefault(passage.author, {})[passage.id] = passage
        if "human" not in replies or len(replies) < 2:
            names = ", ".join(replies) or "nobody"
            raise BadInput(f"expected replies of humans and of systems, but got those of {names}.")
        human = replies.pop("human")
        keys = [key for key in human if all(key in rows for rows in replies.values())]
        keys = keys if limit < 0 else keys[:limit]
        if len(keys) < number:
            raise BadInput(
                f"everyone replied to {len(keys)} contexts, and {number} folds need as many.",
                hint="Give more contexts, or fewer folds.",
            )
        people = [_with_dialogue(human[key]) for key in keys]
        systems = {
            name: [_with_dialogue(rows[key]) for key in keys] for name, rows in replies.items()
        }
        return cls(people, systems, folds(to_passages(people), number, seed))


@dataclass
class SystemScorer:
    """Fits evaluators to all folds but one, and applies them to that one.

    Args:
        data (`RatedSystems`):
            Replies of people and systems.
        seed (`int`, *optional*, defaults to 0):
            Seed of evaluators and random replies.
        shared (`FitContext`, *optional*):
            What the evaluators share.
    """

    data: RatedSystems
    seed: int = 0
    shared: FitContext = field(default_factory=FitContext)

    def columns(
        self, evaluator: str, on_system: Callable[[str, float], Any] = lambda name, value: None
    ) -> Columns:
        """AdverSuc, P(human) and relevance of every reply by one evaluator.

        Args:
            evaluator (`str`):
                Name of an evaluator.
            on_system (`Callable`, *optional*):
                Called with each system and its AdverSuc.

        Returns:
            `Columns`: `adversuc_*`: share of wrong decisions about a context's two replies;
            `p_human_*`: score of the system's reply; `relevance_*`: the same by the evaluator
            trained on human and random replies, if it reads contexts.
        """
        fit = fit_function(evaluator)
        made: Columns = {f"adversuc_{evaluator}": {}, f"p_human_{evaluator}": {}}
        for name, replies in self.data.systems.items():
            success, score = self.adversarial(fit, replies)
            made[f"adversuc_{evaluator}"][name] = success
            made[f"p_human_{evaluator}"][name] = score
            on_system(name, float(success.mean()))
        if evaluator not in RESPONSE_EVALUATORS:
            made[f"relevance_{evaluator}"] = self.relevance(fit)
        return made

    def adversarial(self, fit: Fit, replies: Sequence[Passage]) -> tuple[np.ndarray, np.ndarray]:
        """Share of wrong decisions about each context's two replies, and scores of the system's."""
        errors, scores = (np.zeros(len(replies)) for _ in range(2))
        for scorer, held_out in self._held_out(fit, {row.id: row for row in replies}):
            sides = [scorer(_select(side, held_out)) for side in (self.data.human, replies)]
            human, machine = (np.asarray(is_human(scorer, side)) for side in sides)
            errors[held_out] = (~human + machine.astype(float)) / 2
            scores[held_out] = sides[1] if scorer.higher_is_human else -np.asarray(sides[1])
        return errors, scores

    def relevance(self, fit: Fit) -> dict[str, np.ndarray]:
        """Scores of all replies by an evaluator of human against random replies.

        Random replies are drawn within a fold: those of another one would show an evaluator the
        human replies that it is kept from, and as negatives.
        """
        random: dict[str, Passage] = {}
        for number in np.unique(self.data.fold):
            people = [
                self.data.human[row] for row in np.flatnonzero(self.data.fold == number).tolist()
            ]
            random |= {row.id: row for row in with_random_replies(people, self.seed)}
        scores = {name: np.zeros(len(self.data.human)) for name in self.data.systems}
        for scorer, held_out in self._held_out(fit, random):
            for name, replies in self.data.systems.items():
                values = np.asarray(scorer(_select(replies, held_out)))
                scores[name][held_out] = values if scorer.higher_is_human else -values
        return scores

    def _held_out(
        self, fit: Fit, negatives: Mapping[str, Passage]
    ) -> Iterator[tuple[Any, np.ndarray]]:
        """An evaluator for each fold, and the contexts that it did not see.

        Contexts without a negative are not learned from.
        """
        for number in np.unique(self.data.fold):
            others = [
                self.data.human[row] for row in np.flatnonzero(self.data.fold != number).tolist()
            ]
            learned = [row for row in others if row.id in negatives]
            pairs = labelled(learned, [negatives[row.id] for row in learned])
            yield fit(pairs, self.seed, self.shared), np.flatnonzero(self.data.fold == number)


def simple_baselines(
    data: RatedSystems,
    embed: Callable[[Sequence[str]], np.ndarray] | None = None,
    likelihood: Callable[[Sequence[Passage]], np.ndarray] | None = None,
) -> Columns:
    """What people use without training: length, diversity, overlap with the human reply.

    Args:
        data (`RatedSystems`):
            Replies of people and systems.
        embed (`Callable`, *optional*):
            Sentence encoder, for the similarity to the human reply.
        likelihood (`Callable`, *optional*):
            Gives each passage a likelihood of its reply.

    Returns:
        `Columns`: `length` in tokens; `distinct_2` of each reply alone; `bleu` and `chrf` against
        the human reply; `similarity` and `likelihood` where their models are given.
    """
    columns = {
        name: {
            system: _values(function, replies, data.human)
            for system, replies in data.systems.items()
        }
        for name, function in BASELINES.items()
    }
    if embed is not None:
        reference = embed([row.response for row in data.human])
        columns["similarity"] = {
            system: (embed([row.response for row in replies]) * reference).sum(1)
            for system, replies in data.systems.items()
        }
    if likelihood is not None:
        columns["likelihood"] = {
            system: likelihood(replies) for system, replies in data.systems.items()
        }
    return columns


def _values(
    function: Callable[[str, str], float], replies: Sequence[Passage], human: Sequence[Passage]
) -> np.ndarray:
    texts = zip((row.response for row in replies), (row.response for row in human), strict=True)
    return np.array([function(reply, reference) for reply, reference in texts], dtype=float)


def sentence_bleu(reply: str, references: Sequence[str]) -> float:
    """Sentence BLEU between 0 and 100, smoothed as in sacreBLEU."""
    import sacrebleu

    return sacrebleu.sentence_bleu(reply, list(references)).score


def sentence_chrf(reply: str, references: Sequence[str]) -> float:
    """Sentence chrF between 0 and 100, as in sacreBLEU."""
    import sacrebleu

    return sacrebleu.sentence_chrf(reply, list(references)).score


BASELINES: dict[str, Callable[[str, str], float]] = {
    "length": lambda reply, reference: count_tokens(reply),
    "distinct_2": lambda reply, reference: distinct([reply])["distinct_2"],
    "bleu": lambda reply, reference: sentence_bleu(reply, [reference]),
    "chrf": lambda reply, reference: sentence_chrf(reply, [reference]),
}
"""Baselines that need only a reply and the human reply to the same context."""


def labelled(positive: Sequence[Passage], negative: Sequence[Passage]) -> Passages:
    """Pairs with the columns `label` and `pair`; both sides have the same order."""
    numbers = range(len(positive))
    rows = [row for both in zip(positive, negative, strict=True) for row in both]
    pairs = to_passages(rows).add_column("label", [1, 0] * len(positive))
    return pairs.add_column("pair", [number for number in numbers for _ in range(2)])


def _with_dialogue(passage: Passage) -> Passage:
    """Both sides of a context have to share their dialogue."""
    return replace(passage, dialogue_id=passage.dialogue_id or passage.id)


def _select(replies: Sequence[Passage], rows: np.ndarray) -> Passages:
    return to_passages(replies[row] for row in rows.tolist())
