"""Settings of training a generator against perturbed contexts, and of Reranking-RL."""

from dataclasses import dataclass, field
from typing import Any

from dialeval.errors import BadInput
from dialeval.settings.checks import check_settings
from dialeval.settings.usage import SET

MARGIN_TARGETS = ("gold", "greedy")
UNITS = ("responses", "tokens")
GROUPS = ("all", "should-change", "should-not-change")
PRESETS = ("paper", "released")
_AGAINST: dict[str, Any] = {"needs": {"against": SET}}
_RERANKING: dict[str, Any] = {"needs": {"rl_weight": SET}}


@dataclass
class AgainstConfig:
    """How a generator is trained against perturbed contexts (Niu and Bansal, 2018, sec. 4)."""

    against: str = field(
        default="",
        metadata={
            "help": "Strategies with commas between them, or all, should-change, "
            "should-not-change; continues from a trained --model."
        },
    )
    strategy_preset: str = field(
        default="paper",
        metadata={
            "help": "Rates of the strategies: paper or released.",
            "choices": PRESETS,
            **_AGAINST,
        },
    )
    paraphraser: str = field(
        default="",
        metadata={
            "help": "Model of generative-paraphrase: smollm2, a folder, a Hub name.",
            **_AGAINST,
        },
    )
    margin: float = field(
        default=0.1,
        metadata={"help": "M: a changed context should lower log P(T|S) by it.", **_AGAINST},
    )
    margin_weight: float = field(
        default=1.0,
        metadata={"help": "alpha: weight of the max-margin loss.", **_AGAINST},
    )
    margin_target: str = field(
        default="gold",
        metadata={
            "help": "T of the margin: gold response, or the model's greedy one (released code).",
            "choices": MARGIN_TARGETS,
            **_AGAINST,
        },
    )
    margin_over: str = field(
        default="responses",
        metadata={
            "help": "log P(T|S) of the margin: of whole responses, or per token (released code).",
            "choices": UNITS,
            **_AGAINST,
        },
    )
    rl_weight: float = field(
        default=0.0,
        metadata={
            "help": "Reranking-RL: weight of its reward in the mixed objective, 0.9984 in Paulus "
            "et al.; 0 is likelihood alone."
        },
    )
    rl_contexts: int = field(
        default=2,
        metadata={
            "help": "Reranking-RL: random contexts that a reward is averaged over.",
            **_RERANKING,
        },
    )
    rl_over: str = field(
        default="responses",
        metadata={
            "help": "Reranking-RL: -log P(G|S_R) of whole responses, or per token (released code).",
            "choices": UNITS,
            **_RERANKING,
        },
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if not 0 <= self.rl_weight < 1:
            raise BadInput(f"`rl_weight` is in [0, 1), but got {self.rl_weight}.")

    @property
    def names(self) -> list[str]:
        """The strategies, in order."""
        return [name.strip() for name in self.against.split(",") if name.strip()]
