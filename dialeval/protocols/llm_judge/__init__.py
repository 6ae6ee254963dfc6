"""A prompted language model as judge: which of two replies was written by a human?

It sees both replies to a context, in both orders, and is never trained on a system.
"""

from dialeval.protocols.llm_judge.answers import Answer, read_answer
from dialeval.protocols.llm_judge.askers import (
    Asker,
    EndpointAsker,
    GeneratorAsker,
    letter_tokens,
)
from dialeval.protocols.llm_judge.judge import (
    LlmJudge,
    LlmJudgements,
    PairVerdict,
    judge_systems,
    pair_verdict,
    pairwise_result,
)
from dialeval.protocols.llm_judge.prompt import PROMPT, Contest, Question, neutral
from dialeval.protocols.llm_judge.reward import JudgeReward

__all__ = [
    "PROMPT",
    "Answer",
    "Asker",
    "Contest",
    "EndpointAsker",
    "GeneratorAsker",
    "JudgeReward",
    "LlmJudge",
    "LlmJudgements",
    "PairVerdict",
    "Question",
    "judge_systems",
    "letter_tokens",
    "neutral",
    "pair_verdict",
    "pairwise_result",
    "read_answer",
]
