"""Settings of a study of the attack-defence game."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dialeval.dialogues import BadInput
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


@dataclass
class AttRun:
    """Who plays, on what, and where the results go."""

    data: list[str] = field(
        default_factory=lambda: ["chitchat"], metadata={"help": "Corpus files or names."}
    )
    methods: list[str] = field(
        default_factory=lambda: list(METHODS),
        metadata={"help": "Defenders: SL, SL+HvR (no game), GAN, ND, ATT."},
    )
    preset: str = field(
        default="paper", metadata={"help": "paper, or released: what its code does otherwise."}
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
        metadata={"help": "Human-vs-random judge, named as hvm is; trained by default."},
    )
    hvr_kind: str = field(
        default="embedding",
        metadata={"help": "What is trained: embedding, or transformer on the generator's."},
    )
    tune: str = field(
        default="full", metadata={"help": "full, or lora: adapters on one frozen backbone."}
    )
    context_turns: int = field(default=1, metadata={"help": "Turns of context."})
    min_response: int = field(default=3, metadata={"help": "Tokens of a human response."})
    max_response: int = field(default=20, metadata={"help": "Tokens of a human response."})
    max_context: int = field(default=60, metadata={"help": "Tokens of a context."})
    game_contexts: int = field(
        default=4_000, metadata={"help": "Contexts of training the game draws from; -1 is all."}
    )
    generator_passages: int = field(default=24_000, metadata={"help": "To train one on."})
    generator_width: int = field(default=192, metadata={"help": "Of one that is trained."})
    generator_layers: int = field(default=3, metadata={"help": "Of one that is trained."})
    generator_vocabulary: int = field(default=3_000, metadata={"help": "Merges of its tokens."})
    sl_pairs: int = field(default=4_000, metadata={"help": "Pairs that HvM begins with."})
    sl_decoding: str = field(
        default="top-k", metadata={"help": "How its samples are drawn, as those of DialogRPT's."}
    )
    sl_epochs: int = field(default=2, metadata={"help": "Times they are seen."})
    sl_learning_rate: float = field(default=5e-4, metadata={"help": "Of Adam."})
    hvr_pairs: int = field(default=2_000, metadata={"help": "Pairs that HvR is trained on."})
    test_contexts: int = field(default=300, metadata={"help": "Of the final table."})
    fresh_attackers: int = field(
        default=2, metadata={"help": "New attackers on each frozen defender after the games."}
    )
    external: list[str] = field(
        default_factory=list,
        metadata={
            "help": "Other attackers: smollm2 or any model, name=file of responses, or "
            "name=model@http://host:8000/v1 (key in OPENAI_API_KEY)."
        },
    )
    output_dir: str = field(default="runs/att", metadata={"help": "Where it goes."})
    resume: bool = field(default=False, metadata={"help": "Go on with what is there."})
    log_with: str | None = field(
        default=None, metadata={"help": "Tracker of Accelerate: tensorboard, wandb, trackio, all."}
    )

    def __post_init__(self):
        unknown = [each for each in self.methods if each not in METHODS]
        if unknown or not self.methods:
            hint = f"Choose among {', '.join(METHODS)}."
            raise BadInput(f"unknown method {(unknown or [''])[0]!r}.", hint=hint)
        choices = {
            "preset": PRESETS, "tune": ("full", "lora"), "hvr_kind": ("embedding", "transformer")
        }  # fmt: skip
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise BadInput(f"`{name}` is {' or '.join(known)}, not {getattr(self, name)!r}.")

    def settings(self, config: GameConfig) -> dict[str, Any]:
        """All that moves a number, by name, as ATT's game has it."""
        aside = ("output_dir", "resume", "log_with")
        own = {k: v for k, v in asdict(self).items() if k not in aside}
        return {**own, **asdict(game_config(config, "ATT", self.preset))}


def game_config(config: GameConfig, method: str, preset: str = "paper") -> GameConfig:
    """The settings of a method's game.

    Example:
        >>> game_config(GameConfig(), "ND").temperatures
        [1.0]
    """
    released = RELEASED if preset == "released" else {}
    return replace(config, **{**released, **GAMES.get(method, {})})
