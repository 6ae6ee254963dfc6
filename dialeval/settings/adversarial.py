"""Settings of training a generator with rewards (Li et al., 2017)."""

from dataclasses import dataclass, field, replace
from typing import Any

from dialeval.errors import BadInput
from dialeval.settings.checks import check_settings
from dialeval.settings.usage import Needs

LIKELIHOOD = "likelihood"
OBJECTIVES = (LIKELIHOOD, "reinforce", "regs-mc", "regs-partial")
CONTROLS = ("constant", "shuffled", "length")
"""Rewards that tell learning from luck: none of them depends on what a response says."""
BASELINES = ("critic", "mean", "group", "leave-one-out", "none")
TEACHER_FORCING = ("likelihood", "reward", "none")
CRITIC_READS = ("prefix", "state", "history")
RELEASED: dict[str, Any] = {"critic_reads": "history", "last_reward": "previous"}
"""Where the released code does other than the paper; its bugs are not among them."""
_PAPER = {"preset": ("paper",)}
_REGS = {"objective": ("regs-mc", "regs-partial")}
_TRAINED = {"reward": ("discriminator", "shuffled")}
_CRITIC = {"baseline": ("critic",)}
NEEDS: dict[str, Needs] = {
    "rollouts": {"objective": ("regs-mc",)},
    "last_reward": {"objective": ("regs-mc",), **_PAPER},
    "partial": {"objective": ("regs-partial",)},
    "critic_reads": {**_CRITIC, **_REGS, **_PAPER},
    "critic_size": _CRITIC,
    "critic_learning_rate": _CRITIC,
    "d_steps": _TRAINED,
    "discriminator": _TRAINED,
    "discriminator_learning_rate": _TRAINED,
    "discriminator_pairs": _TRAINED,
    "discriminator_epochs": _TRAINED,
    "backward": _TRAINED,
}
"""What settings are for where one objective is trained; a study of all of them reads all."""


@dataclass
class AdversarialConfig:
    """How rewards train the generator, if the objective is not likelihood."""

    objective: str = field(
        default=LIKELIHOOD,
        metadata={
            "help": "likelihood; with rewards: reinforce, regs-mc or regs-partial (Li et al.).",
            "choices": OBJECTIVES,
        },
    )
    reward: str = field(
        default="discriminator",
        metadata={
            "help": "discriminator (trained in turn with the generator), a saved one, "
            "package.module:function, llm:MODEL, or a control: constant, shuffled, length."
        },
    )
    preset: str = field(
        default="paper",
        metadata={
            "help": "released: as the released code, where it differs.",
            "choices": ("paper", "released"),
        },
    )
    iterations: int = field(default=1_000, metadata={"help": "Rounds of D-steps and G-steps."})
    d_steps: int = field(
        default=5, metadata={"least": 0, "help": "Discriminator updates per round."}
    )
    g_steps: int = field(default=1, metadata={"help": "Generator updates per round."})
    adversarial_batch: int = field(default=128, metadata={"help": "Contexts per update."})
    policy_learning_rate: float = field(
        default=1e-4, metadata={"above": 0, "help": "Of the generator."}
    )
    discriminator_learning_rate: float = field(
        default=1e-3, metadata={"above": 0, "help": "Of the discriminator."}
    )
    responses: int = field(default=1, metadata={"help": "Responses drawn for each context."})
    rollouts: int = field(default=5, metadata={"help": "Roll-outs per prefix, N of regs-mc."})
    response_tokens: int = field(
        default=40, metadata={"help": "Tokens of a sampled response at most."}
    )
    partial: str = field(
        default="one",
        metadata={
            "help": "Prefixes of a response that the discriminator of regs-partial learns from; "
            "all overfits (Li et al., sec. 3.2).",
            "choices": ("one", "all"),
        },
    )
    last_reward: str = field(
        default="own",
        metadata={
            "help": "Of regs-mc: the last token gets the response's own score, or that of the "
            "prefix before it.",
            "choices": ("own", "previous"),
        },
    )
    baseline: str = field(
        default="critic",
        metadata={"help": "What is subtracted from rewards.", "choices": BASELINES},
    )
    critic_reads: str = field(
        default="prefix",
        metadata={
            "help": "Of REGS: b(x, Y_t) as in eq. 3; state is b(x, Y_t-1), which keeps the "
            "gradient unbiased; history is b(x).",
            "choices": CRITIC_READS,
        },
    )
    critic_size: int = field(default=128, metadata={"help": "Width of the critic."})
    critic_learning_rate: float = field(
        default=1e-3, metadata={"above": 0, "help": "Of the critic."}
    )
    teacher_forcing: str = field(
        default="likelihood",
        metadata={
            "help": "After a G-step, on the human responses; reward: only where their reward is "
            "above the baseline.",
            "choices": TEACHER_FORCING,
        },
    )
    whiten: bool = field(
        default=False, metadata={"help": "Scale the advantages of a batch to mean 0, sd 1."}
    )
    kl_weight: float = field(
        default=0.0, metadata={"help": "Weight of the KL to the generator before, in the reward."}
    )
    max_perplexity: float = field(
        default=2.0,
        metadata={"help": "Stop above so many times the first perplexity; 0 never stops."},
    )
    validate_every: int = field(default=50, metadata={"help": "Rounds between validations."})
    validation_contexts: int = field(default=200, metadata={"help": "Contexts of a validation."})
    discriminator: str = field(
        default="hierarchical", metadata={"help": "Network that is trained as the reward."}
    )
    discriminator_pairs: int = field(
        default=4_000, metadata={"help": "Pairs that it is pre-trained on."}
    )
    discriminator_epochs: int = field(default=6, metadata={"help": "Epochs of that, at most."})
    backward: str | None = field(
        default=None,
        metadata={"help": "Model of p(s|t) for MMI-reranked negatives; else beam search alone."},
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.baseline in ("group", "leave-one-out") and self.responses < 2:
            raise BadInput(
                f"the baseline {self.baseline!r} compares the responses to a context, but "
                f"`responses` is {self.responses}.",
                hint="Draw 2 responses or more, or choose the baseline critic or mean.",
            )

    @property
    def uses_rewards(self) -> bool:
        """Whether the objective is another than likelihood."""
        return self.objective != LIKELIHOOD

    def resolved(self) -> "AdversarialConfig":
        """The settings with those of the preset."""
        return replace(self, **RELEASED) if self.preset == "released" else self
