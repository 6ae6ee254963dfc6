"""Settings of training a generator against perturbed contexts, and of Reranking-RL."""

from dataclasses import dataclass, field

from dialeval.errors import BadInput
from dialeval.settings.checks import check_settings

MARGIN_TARGETS = ("gold", "greedy")
UNITS = ("responses", "tokens")
GROUPS = ("all", "should-change", "should-not-change")
PRESETS = ("paper", "released")


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
        metadata={"help": "Rates of the strategies: paper or released.", "choices": PRESETS},
    )
    paraphraser: str = field(
        default="",
        metadata={"help": "Model of generative-paraphrase: smollm2, a folder, a Hub name."},
    )
    margin: float = field(
        default=0.1, metadata={"help": "M: a changed context should lower log P(T|S) by it."}
    )
    margin_weight: float = field(
        default=1.0, metadata={"help": "alpha: weight of the max-margin loss."}
    )
    margin_target: str = field(
        default="gold",
        metadata={
            "help": "T of the margin: gold response, or the model's greedy one (released code).",
            "choices": MARGIN_TARGETS,
        },
    )
    margin_over: str = field(
        default="responses",
        metadata={
            "help": "log P(T|S) of the margin: of whole responses, or per token (released code).",
            "choices": UNITS,
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
        metadata={"help": "Reranking-RL: random contexts that a reward is averaged over."},
    )
    rl_over: str = field(
        default="responses",
        metadata={
            "help": "Reranking-RL: -log P(G|S_R) of whole responses, or per token (released code).",
            "choices": UNITS,
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
