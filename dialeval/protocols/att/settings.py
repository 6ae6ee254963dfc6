"""Settings of a study of the attack-defence game."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dialeval.dialogues import BadInput
from dialeval.settings.checks import check_settings
from dialeval.training.game_settings import RELEASED, GameConfig

METHODS = ("SL", "SL+HvR", "GAN", "ND", "ATT")
GAMES: dict[str, dict[str, Any]] = {
    "GAN": {"reinitialise": False, "ensemble": False},
    "ND": {"temperatures": [1.0]},
    "ATT": {},
}
"""Methods that play, and how their games differ from ATT's (Gao et al., 2021, sec. 3.2)."""
WITHOUT_HVR = ("SL", "ND")
PRESETS = ("paper", "released")
RANDOM = "random"
NEGATIVES = (RANDOM, "copy", "shuffled", "previous")
"""Kinds of replies that HvR is trained to reject; the paper has random ones only."""


@dataclass
class AttRun:
    """Players, data, sizes and the output folder of a study."""

    data: list[str] = field(
        default_factory=lambda: ["chitchat"], metadata={"help": "Corpus files or names."}
    )
    methods: list[str] = field(
        default_factory=lambda: list(METHODS),
        metadata={"help": "Defenders: SL, SL+HvR (no game), GAN, ND, ATT."},
    )
    preset: str = field(
        default="paper",
        metadata={"help": "paper, or released: as the released code, where it differs."},
    )
    generator: str | None = field(
        default=None, metadata={"help": "Folder or Hub name; a small one is trained by default."}
    )
    hvm: str | None = field(
        default=None,
        metadata={
            "help": "Discriminator to begin with: a saved one, or dialogrpt:<Hub name>; trained "
            "on the generator's samples (SL) by default."
        },
    )
    hvr: str | None = field(
        default=None,
        metadata={"help": "Human-vs-random discriminator, given like hvm; trained by default."},
    )
    hvr_kind: str = field(
        default="embedding",
        metadata={
            "help": "Kind of HvR to train: embedding, or transformer on the generator's backbone."
        },
    )
    tune: str = field(
        default="full", metadata={"help": "full, or lora: adapters on one frozen backbone."}
    )
    context_turns: int = field(default=1, metadata={"help": "Turns of context."})
    min_response: int = field(
        default=3, metadata={"least": 0, "help": "Minimum tokens of a human response."}
    )
    max_response: int = field(default=20, metadata={"help": "Maximum tokens of a human response."})
    max_context: int = field(default=60, metadata={"help": "Maximum tokens of a context."})
    game_contexts: int = field(
        default=4_000,
        metadata={"no_limit": True, "help": "Training contexts of the game; -1 is all."},
    )
    generator_passages: int = field(
        default=24_000, metadata={"no_limit": True, "help": "Passages to train a generator on."}
    )
    generator_width: int = field(default=192, metadata={"help": "Hidden size of that generator."})
    generator_layers: int = field(default=3, metadata={"help": "Layers of that generator."})
    generator_vocabulary: int = field(default=3_000, metadata={"help": "Size of its vocabulary."})
    sl_pairs: int = field(
        default=4_000, metadata={"help": "Pairs of the supervised training of HvM."}
    )
    sl_decoding: str = field(
        default="top-k", metadata={"help": "Decoding of the generator's replies in these pairs."}
    )
    sl_epochs: int = field(default=2, metadata={"help": "Epochs of that training."})
    sl_learning_rate: float = field(
        default=5e-4, metadata={"above": 0, "help": "Learning rate of that training."}
    )
    hvr_pairs: int = field(default=2_000, metadata={"help": "Pairs that HvR is trained on."})
    hvr_negatives: list[str] = field(
        default_factory=lambda: [RANDOM],
        metadata={
            "help": "What HvR learns to reject: random replies (the paper's), and copy (a turn of "
            "the context), shuffled (the reply's words), previous (the turn before the context's)."
        },
    )
    hvr_hard_share: float = field(
        default=0.2, metadata={"help": "Weight of all but the random ones among HvR's negatives."}
    )
    test_contexts: int = field(
        default=300,
        metadata={"no_limit": True, "help": "Test contexts of the final table; -1 is all."},
    )
    fresh_attackers: int = field(
        default=2,
        metadata={"least": 0, "help": "New attackers on each frozen defender after the games."},
    )
    external: list[str] = field(
        default_factory=list,
        metadata={
            "help": "External attackers: smollm2 or any model, name=file of responses, or "
            "name=model@http://host:8000/v1 (key in OPENAI_API_KEY)."
        },
    )
    output_dir: str = field(default="runs/att", metadata={"help": "Folder of the results."})
    resume: bool = field(default=False, metadata={"help": "Resume the study in that folder."})
    log_with: str | None = field(
        default=None, metadata={"help": "Tracker of Accelerate: tensorboard, wandb, trackio, all."}
    )

    def __post_init__(self) -> None:
        check_settings(self)
        unknown = [method for method in self.methods if method not in METHODS]
        if unknown or not self.methods:
            hint = f"Choose from {', '.join(METHODS)}."
            raise BadInput(f"unknown method {(unknown or [''])[0]!r}.", hint=hint)
        self._check_negatives()
        choices = {
            "preset": PRESETS, "tune": ("full", "lora"), "hvr_kind": ("embedding", "transformer")
        }  # fmt: skip
        for name, allowed in choices.items():
            value = getattr(self, name)
            if value not in allowed:
                raise BadInput(f"`{name}` is {' or '.join(allowed)}, but got {value!r}.")

    def _check_negatives(self) -> None:
        unknown = [kind for kind in self.hvr_negatives if kind not in NEGATIVES]
        if unknown or RANDOM not in self.hvr_negatives:
            message = f"unknown kind of negatives {unknown[0]!r}." if unknown else "no random ones."
            choices = ", ".join(NEGATIVES)
            hint = f"Choose from {choices}; random, which makes it an HvR, is one of them."
            raise BadInput(f"`hvr_negatives`: {message}", hint=hint)
        if not 0 < self.hvr_hard_share < 1:
            raise BadInput(
                f"`hvr_hard_share` is a share between 0 and 1, but got {self.hvr_hard_share:g}.",
                hint="To train HvR on random replies alone, set hvr_negatives to random.",
            )

    def settings(self, config: GameConfig) -> dict[str, Any]:
        """The settings that affect a number, by name, as in ATT's game."""
        without = ("output_dir", "resume", "log_with")
        settings = {name: value for name, value in asdict(self).items() if name not in without}
        return {**settings, **asdict(game_config(config, "ATT", self.preset))}


def game_config(config: GameConfig, method: str, preset: str = "paper") -> GameConfig:
    """The settings of a method's game.

    Args:
        config (`GameConfig`):
            Settings of ATT's game.
        method (`str`):
            Name of the method, one of `METHODS`.
        preset (`str`, *optional*, defaults to `"paper"`):
            `"released"` applies the differences of the released code.

    Returns:
        `GameConfig`: With the differences of the method.

    Examples:
        >>> game_config(GameConfig(), "ND").temperatures
        [1.0]
    """
    released = RELEASED if preset == "released" else {}
    return replace(config, **{**released, **GAMES.get(method, {})})
