"""An LLM judge: asks about each pair of replies in both orders, and counts its verdicts."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dialeval._version import __version__
from dialeval.dialogues import BadInput
from dialeval.dialogues.types import text_key
from dialeval.metrics.intervals import interval
from dialeval.metrics.results import Result, signature
from dialeval.protocols.llm_judge import prompt
from dialeval.protocols.llm_judge.answers import Answer
from dialeval.protocols.llm_judge.askers import Asker
from dialeval.protocols.llm_judge.prompt import Contest, Question


@dataclass(frozen=True)
class PairVerdict:
    """The verdict of an LLM judge on one pair of replies.

    Args:
        contest (`Contest`):
            The pair of replies.
        credit (`float`):
            1 if it names the human in both orders, 0 if in none, a half if the orders contradict
            each other or one of them has no readable answer.
        orders (`tuple`):
            The same for the human shown first, then second; `None` without a readable answer.
        answers (`tuple`):
            Its answers in each order.
    """

    contest: Contest
    credit: float
    orders: tuple[float | None, float | None]
    answers: tuple[tuple[Answer, ...], tuple[Answer, ...]]

    @property
    def failures(self) -> int:
        """Answers that name no reply, and orders without any answer."""
        lost = sum(answer.vote is None for order in self.answers for answer in order)
        return lost + sum(not order for order in self.answers)

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON can hold it."""
        names = {"id": self.contest.id, "dialogue_id": self.contest.dialogue_id}
        answers = [[asdict(answer) for answer in order] for order in self.answers]
        numbers = {"credit": self.credit, "orders": self.orders, "failures": self.failures}
        return {**names, **numbers, "answers": answers}


@dataclass(frozen=True)
class LlmJudge:
    """Asks a model about each pair of replies in both orders.

    Args:
        asker (`Asker`):
            The model.
        cache (`Path`, *optional*):
            Folder in which answers are cached, so that no question is asked twice.
    """

    asker: Asker
    cache: Path | None = None

    @property
    def name(self) -> str:
        """Its name in tables."""
        return f"llm:{self.asker.name}"

    @property
    def signature(self) -> str:
        """How its verdicts are computed, with a hash of the prompt."""
        facts = signature(
            evaluator=self.name, trained_on="nothing", ere_mode="transfer", orders=2,
            k=self.asker.samples, question=text_key([prompt.PROMPT]), v=__version__,
        )  # fmt: skip
        return f"{facts}|{self.asker.signature}"

    def __call__(
        self, contests: Sequence[Contest], on_answer: Callable[[], Any] = lambda: None
    ) -> list[PairVerdict]:
        """A verdict on each contest; `on_answer` is called at each new answer."""
        questions = [Question(contest, first) for contest in contests for first in (True, False)]
        keys = [self._key(question) for question in questions]
        answers = self._read_cache()
        pairs = zip(keys, questions, strict=True)
        new = {key: question for key, question in pairs if key not in answers}
        new_keys = list(new)
        for index, texts in self.asker(list(new.values())) if new else ():
            answers[new_keys[index]] = tuple(texts)
            self._append_to_cache(new_keys[index], texts)
            on_answer()
        orders = [answers.get(key, ()) for key in keys]
        return [
            pair_verdict(contest, *orders[2 * index : 2 * index + 2])
            for index, contest in enumerate(contests)
        ]

    def _key(self, question: Question) -> str:
        return text_key([question.contest.prompt(question.human_first)])

    @property
    def _path(self) -> Path | None:
        return (
            None if self.cache is None else self.cache / f"llm-{text_key([self.signature])}.jsonl"
        )

    def _append_to_cache(self, key: str, answers: Sequence[Answer]) -> None:
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"question": key, "answers": [asdict(answer) for answer in answers]})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")  # an interrupted run may have left half a line before

    def _read_cache(self) -> dict[str, tuple[Answer, ...]]:
        """Answers of earlier runs; half-written lines are skipped."""
        answers: dict[str, tuple[Answer, ...]] = {}
        if self._path is None or not self._path.is_file():
            return answers
        for line in self._path.read_text("utf-8", "replace").split("\n"):
            try:
                row = json.loads(line)
                answers[row["question"]] = tuple(Answer(**answer) for answer in row["answers"])
            except (ValueError, TypeError, KeyError):
                continue
        return answers


def pair_verdict(
    contest: Contest, first: Sequence[Answer], second: Sequence[Answer]
) -> PairVerdict:
    """The verdict from the answers in both orders.

    Args:
        contest (`Contest`):
            The pair of replies.
        first (`Sequence[Answer]`):
            Answers with the human shown first.
        second (`Sequence[Answer]`):
            Answers with the human shown second.

    Returns:
        `PairVerdict`: With the credit of the judge.
    """
    one, two = _majority(first, True), _majority(second, False)
    # A missing order cannot balance the position bias of the other.
    credit = 0.5 if one is None or two is None else (one + two) / 2
    return PairVerdict(contest, credit, (one, two), (tuple(first), tuple(second)))


def _majority(answers: Sequence[Answer], human_first: bool) -> float | None:
    """1 if most readable answers name the human, 0 if most name the machine, a half at a tie."""
    votes = [answer.vote for answer in answers if answer.vote is not None]
    if not votes:
        return None
    lead = np.sign(np.mean(votes) - 0.5) * (1 if human_first else -1)
    return float(1 + lead) / 2


@dataclass(frozen=True)
class LlmJudgements:
    """An LLM judge's results and verdicts on some systems.

    Args:
        name (`str`):
            Name of the judge in tables.
        results (`list[Result]`):
            Pairwise accuracy on each system.
        verdicts (`Mapping`, *optional*):
            Verdicts by system.
    """

    name: str
    results: list[Result]
    verdicts: Mapping[str, list[PairVerdict]] = field(default_factory=dict)


def judge_systems(
    judge: LlmJudge,
    contests: Mapping[str, Sequence[Contest]],
    seed: int = 0,
    on_progress: Callable[[int, int, str], Any] = lambda done, total, what: None,
) -> LlmJudgements:
    """Pairwise accuracy on each system, with an interval clustered by dialogue.

    Args:
        judge (`LlmJudge`):
            The judge.
        contests (`Mapping[str, Sequence[Contest]]`):
            Pairs of replies, by system.
        seed (`int`, *optional*, defaults to 0):
            Seed of the intervals.
        on_progress (`Callable`, *optional*):
            Called with the number of answers, their total, and a description.

    Returns:
        `LlmJudgements`: Results and verdicts.
    """
    total, count = 2 * sum(map(len, contests.values())), 0

    def report(system: str) -> None:
        nonlocal count
        count += 1
        on_progress(count, total, f"{judge.name}, {system}")

    verdicts = {system: judge(pairs, partial(report, system)) for system, pairs in contests.items()}
    results = [pairwise_result(judge, system, rows, seed) for system, rows in verdicts.items()]
    return LlmJudgements(judge.name, results, verdicts)


def pairwise_result(
    judge: LlmJudge, system: str, verdicts: Sequence[PairVerdict], seed: int = 0
) -> Result:
    """How often the judge names the human, ties counting half.

    Args:
        judge (`LlmJudge`):
            The judge.
        system (`str`):
            Name of the system.
        verdicts (`Sequence[PairVerdict]`):
            Its verdicts on the system.
        seed (`int`, *optional*, defaults to 0):
            Seed of the interval.

    Returns:
        `Result`: Of the metric `pairwise_accuracy`. In its details `position_bias` is the share
        of answers for the reply shown first, .5 being none; `parse_failures` counts answers that
        name no reply and orders without an answer, `refusals` the declining ones among them.
    """
    if not verdicts:
        raise BadInput(f"there is no pair of replies to ask about for {system}.")
    credits = np.array([row.credit for row in verdicts])
    groups = [row.contest.dialogue_id or row.contest.id or str(index)
              for index, row in enumerate(verdicts)]  # fmt: skip
    low, high = interval(credits, groups, method="auto", seed=seed)
    facts = signature(metric="pairwise_accuracy", system=system, pairs=len(verdicts))
    how = f"{facts}|interval:auto|interval_seed:{seed}|{judge.signature}"
    details = {"ere_mode": "transfer", "trained_on": "nothing", **_details(verdicts)}
    return Result("pairwise_accuracy", system, judge.name, float(credits.mean()), low, high,
                  len(verdicts), how, details)  # fmt: skip


def _details(verdicts: Sequence[PairVerdict]) -> dict[str, Any]:
    answers = [answer for row in verdicts for order in row.answers for answer in order]
    votes = [answer.vote for answer in answers if answer.vote is not None]
    complete = [row for row in verdicts if None not in row.orders]
    probabilities = [
        (first + 1 - second) / 2
        for row in complete
        for first, second in [(row.answers[0][0].first, row.answers[1][0].first)]
        if not row.answers[0][0].text and first is not None and second is not None
    ]
    return {
        "n_answers": sum(max(1, len(order)) for row in verdicts for order in row.answers),
        "parse_failures": sum(row.failures for row in verdicts),
        "refusals": sum(answer.refused for answer in answers),
        "complete_pairs": len(complete),
        "complete_accuracy": _mean([row.credit for row in complete]),
        "contradictions": sum(set(row.orders) == {0.0, 1.0} for row in complete),
        "position_bias": _mean(votes),
        # Whether the mean of both orders' probabilities is for the human: no position bias.
        "unbiased_accuracy": _mean([float(np.sign(p - 0.5) + 1) / 2 for p in probabilities]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
