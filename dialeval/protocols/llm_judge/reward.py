"""An LLM judge as a reward: how often it takes a response for the human one."""

from collections.abc import Mapping, Sequence

import numpy as np

from dialeval.dialogues import BadInput, Passage, Passages, iterate
from dialeval.dialogues.storage import iterate_passages
from dialeval.protocols.llm_judge.judge import LlmJudge
from dialeval.protocols.llm_judge.prompt import Contest


class JudgeReward:
    """Scores responses by asking about each of them and the human response to the same context.

    The reward is 1 if the judge takes the response for the human one in both orders, 0 if in none,
    and a half if the orders contradict each other.

    Args:
        judge (`LlmJudge`):
            Who is asked; its cache answers a question that was asked before.
    """

    higher_is_human = True

    def __init__(self, judge: LlmJudge):
        self.judge, self.name = judge, judge.name
        self.human: dict[str, str] = {}

    def bind(self, parts: Mapping[str, Passages]) -> None:
        """Take the human responses from the passages of a training."""
        for passages in parts.values():
            self.human |= {passage.id: passage.response for passage in iterate(passages)}

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """One reward per response; NaN where no answer could be read."""
        contests = [self._contest(passage) for passage in iterate_passages(passages)]
        verdicts = self.judge(contests)
        return np.array([np.nan if v.failures == 2 else 1 - v.credit for v in verdicts])

    def _contest(self, passage: Passage) -> Contest:
        if passage.id not in self.human:
            raise BadInput(
                f"there is no human response to the context of passage {passage.id!r}.",
                hint="Call bind() with the passages that the generator is trained on.",
            )
        human = self.human[passage.id]
        return Contest(passage.context, human, passage.response, passage.id, passage.dialogue_id)
