"""Settings of the collaborative task: two agents who look for their mutual friend."""

from dataclasses import dataclass, field

from dialeval.errors import BadInput
from dialeval.settings.checks import check_settings

CHANNELS = ("normal", "random-inputs", "random-inputs-kept-entities", "confusing-entity")
SIDES = ("both", "first")


@dataclass
class CocoaRun:
    """Which agents look for their mutual friend, in which scenarios (Niu and Bansal, 2018)."""

    schema: str = field(
        default="mutualfriends",
        metadata={
            "help": "A schema file of CoCoA, embedded, or mutualfriends: that of "
            "DIALEVAL_SHARED_DATA, and the embedded one without it."
        },
    )
    scenarios: int = field(default=200, metadata={"help": "Scenarios of the test."})
    items: int = field(
        default=10, metadata={"least": 0, "help": "Friends of each agent; 0 draws 5 to 12."}
    )
    attributes: int = field(default=3, metadata={"help": "Attributes of a friend."})
    agents: list[str] = field(
        default_factory=lambda: ["rule", "entities", "neural"],
        metadata={"help": "Agents, each with itself: rule, entities, neural, or a --model."},
    )
    channels: list[str] = field(
        default_factory=lambda: list(CHANNELS),
        metadata={"help": f"What happens to an utterance: {', '.join(CHANNELS)}."},
    )
    side: str = field(
        default="both",
        metadata={"help": "Whose utterances: both agents', or the first one's."},
    )
    max_turns: int = field(default=46, metadata={"help": "Actions of both agents at most."})
    model_scenarios: int = field(
        default=20, metadata={"help": "Scenarios for language models, which take longer."}
    )
    model_tokens: int = field(
        default=48, metadata={"help": "Tokens of an utterance of a language model at most."}
    )
    self_play: int = field(
        default=600, metadata={"help": "Dialogues the neural agent learns from."}
    )
    chats: list[str] = field(
        default_factory=list,
        metadata={"help": "Chats of people (CoCoA's JSON) that the neural agent also learns from."},
    )
    validation_scenarios: int = field(
        default=40,
        metadata={
            "least": 0,
            "help": "Scenarios that the neural agent plays after each epoch, to keep the weights "
            "that complete most; 0 keeps the last.",
        },
    )
    hidden_size: int = field(default=64, metadata={"help": "Width of the neural agent."})
    rounds: int = field(default=2, metadata={"help": "Rounds of message passing."})
    epochs: int = field(default=4, metadata={"help": "Epochs of the neural agent."})
    batch_size: int = field(default=32, metadata={"help": "Turns per update."})
    learning_rate: float = field(default=0.005, metadata={"above": 0, "help": "Learning rate."})
    temperature: float = field(
        default=0.5, metadata={"above": 0, "help": "Of the neural agent's words."}
    )
    resamples: int = field(default=10_000, metadata={"help": "Resamples of the intervals."})
    seed: int = field(default=0, metadata={"help": "Random seed."})
    output_dir: str = field(default="runs/cocoa", metadata={"help": "Output folder."})
    overwrite: bool = field(default=False, metadata={"help": "Replace the results of another run."})

    def __post_init__(self) -> None:
        check_settings(self)
        unknown = [name for name in self.channels if name not in CHANNELS]
        if unknown:
            choices = ", ".join(CHANNELS)
            raise BadInput(f"unknown channel {unknown[0]!r}.", hint=f"Choose from {choices}.")
        if self.side not in SIDES:
            raise BadInput(f"`side` is both or first, but got {self.side!r}.")
        if self.items and self.items < 2:
            raise BadInput(f"`items` is 2 or more, or 0, but got {self.items}.")
