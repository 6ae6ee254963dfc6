"""Settings of the attack-defence game (Gao et al., 2021), the paper's and its released code's."""

from dataclasses import dataclass, field

from dialeval.dialogues import BadInput
from dialeval.responders.decoding import TemperatureMixture
from dialeval.settings.checks import check_settings
from dialeval.settings.trainer import check_choices, check_memory


@dataclass
class GameConfig:
    """Settings of [`AttackDefenceGame`]; the paper's where it gives them.

    What the paper leaves open is as in its released code: thresholds, steps, learning rates,
    hypotheses, batch and lengths. `patience_turns` (its m) and `max_turns` are ours, and so is the
    default of `validation_temperature`.
    """

    hypotheses: int = field(default=5, metadata={"help": "Responses drawn for each context, n."})
    attack_batch: int = field(default=32, metadata={"help": "Contexts an attack step."})
    defence_batch: int = field(default=32, metadata={"help": "Pairs a defence step."})
    attack_learning_rate: float = field(
        default=3e-5, metadata={"above": 0, "help": "Of Adam, generator."}
    )
    defence_learning_rate: float = field(
        default=1e-4, metadata={"above": 0, "help": "Of Adam, HvM."}
    )
    max_grad_norm: float = field(default=0.0, metadata={"help": "0 does not clip gradients."})
    max_new_tokens: int = field(default=30, metadata={"help": "Tokens of a response, end incl."})
    temperatures: list[float] = field(
        default_factory=lambda: [0.3, 1.0, 10.0, 100.0], metadata={"help": "Drawn from uniformly."}
    )
    temperature_each: str = field(
        default="context", metadata={"help": "context, or turn: what has its own temperature."}
    )
    distinct_first: bool = field(
        default=False, metadata={"help": "Hypotheses begin with different tokens."}
    )
    logprob_temperature: str = field(
        default="1", metadata={"help": "1 (eq. 5), or sampling: on-policy, our deviation."}
    )
    average_over: str = field(
        default="responses", metadata={"help": "responses (eq. 5), or tokens: length-averaged."}
    )
    reward: str = field(default="score", metadata={"help": "score (eq. 3), or logit."})
    empty_penalty: float = field(default=0.0, metadata={"help": "Taken off for no words."})
    unfinished_penalty: float = field(default=0.0, metadata={"help": "Taken off for no end."})
    c_low: float = field(default=0.5, metadata={"help": "An attack ends below this accuracy."})
    c_high: float = field(default=0.7, metadata={"help": "A defence ends above this accuracy."})
    accuracy: str = field(
        default="pairwise", metadata={"help": "pairwise (0 or 1), or probability: their mean."}
    )
    validation_temperature: str = field(
        default="1",
        metadata={
            "help": "Of the samples that c_low and c_high apply to: 1; lowest: the lowest accuracy "
            "over plausible_temperatures; mixture: as the game's samples (the paper's A(t))."
        },
    )
    plausible_temperatures: list[float] = field(
        default_factory=lambda: [0.3, 1.0], metadata={"help": "Of validation_temperature lowest."}
    )
    attack_until: str = field(
        default="fooled",
        metadata={
            "help": "fooled: an attack ends below c_low; budget: it uses all its steps, and the "
            "attacker of its lowest validation is kept."
        },
    )
    attack_steps: int = field(default=3_000, metadata={"help": "Of a turn at most, N_G."})
    defence_steps: int = field(default=1_000, metadata={"help": "Of a turn at most, N_D."})
    patience_turns: int = field(default=5, metadata={"help": "Turns above c_high to end, m."})
    max_turns: int = field(default=40, metadata={"help": "Turns at most."})
    samples: int = field(default=1_024, metadata={"help": "Training contexts of each A(t)."})
    validation_contexts: int = field(default=128, metadata={"help": "Of each A(t)."})
    validate_every: int = field(default=100, metadata={"help": "Steps between validations."})
    max_validated: int = field(
        default=12, metadata={"help": "Sets A(t) that a validation reads at most."}
    )
    corpora: str = field(
        default="uniform", metadata={"help": "uniform, or accuracy: sets by 1 - accuracy."}
    )
    reinitialise: bool = field(default=True, metadata={"help": "New attacker each turn."})
    ensemble: bool = field(default=True, metadata={"help": "Defend against all sets A(0..t)."})
    checkpoint_every: int = field(default=50, metadata={"help": "Steps between checkpoints."})
    gradient_accumulation_steps: int = field(
        default=1, metadata={"help": "Parts that a batch is computed in; same update, less memory."}
    )
    precision: str = field(default="no", metadata={"help": "bf16: mixed precision; no: float32."})
    gradient_checkpointing: bool = field(
        default=False, metadata={"help": "Compute activations twice, to save memory."}
    )
    seed: int = field(default=0, metadata={"help": "Seed of everything that is drawn."})

    def __post_init__(self):
        check_settings(self)
        check_choices(
            self, temperature_each=("context", "turn"), logprob_temperature=("1", "sampling"),
            average_over=("responses", "tokens"), reward=("score", "logit"),
            accuracy=("pairwise", "probability"), corpora=("uniform", "accuracy"),
            validation_temperature=("1", "lowest", "mixture"), attack_until=("fooled", "budget"),
        )  # fmt: skip
        check_memory(self)
        if not 0 <= self.c_low < self.c_high <= 1:
            raise BadInput(
                f"an attack ends below c_low and a defence above c_high, but got {self.c_low:g} "
                f"and {self.c_high:g}.",
                hint="Choose 0 <= c_low < c_high <= 1, such as 0.5 and 0.7.",
            )
        if self.hypotheses < 2:
            raise BadInput(
                f"the mean over {self.hypotheses} response is that response, so nothing would be "
                "learnt (eqs. 3-4).",
                hint="Draw 2 hypotheses or more.",
            )
        if self.max_validated < 2:
            raise BadInput(
                f"a validation reads A(0) and the newest set, but `max_validated` is "
                f"{self.max_validated}.",
                hint="Read 2 sets or more.",
            )
        TemperatureMixture(tuple(self.plausible_temperatures))  # refuses those that are none
        _ = self.decoding

    @property
    def decoding(self) -> TemperatureMixture:
        """How attackers draw."""
        return TemperatureMixture(
            tuple(self.temperatures), self.temperature_each, self.distinct_first
        )

    @property
    def validation_decodings(self) -> tuple[TemperatureMixture, ...]:
        """How the samples that thresholds apply to are drawn: one set for each of these.

        The paper validates on its sets A(t), which are drawn from its mixture of temperatures, and
        the released code at the temperature of the turn. Both are `mixture` here, and not the
        default: once a defender always recognises the gibberish of temperatures 10 and 100, which
        is half of the mixture, an accuracy of .5 means that it recognises nothing else.
        """
        if self.validation_temperature == "mixture":
            return (self.decoding,)
        lowest = self.validation_temperature == "lowest"
        values = self.plausible_temperatures if lowest else [1.0]
        return tuple(TemperatureMixture((value,)) for value in values)


RELEASED = {
    "temperatures": [0.3, 1.0, 3.0],
    "temperature_each": "turn",
    "distinct_first": True,
    "average_over": "tokens",
    "reward": "logit",
    "empty_penalty": 1.0,
    "unfinished_penalty": 1.0,
    "accuracy": "probability",
    "validation_temperature": "mixture",
    "corpora": "accuracy",
}
"""Where the released code does other than the paper; its bugs are not among them."""
