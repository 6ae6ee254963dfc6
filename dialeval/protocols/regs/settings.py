"""Settings of a study of adversarial training."""

from dataclasses import asdict, dataclass, field
from typing import Any

from dialeval.dialogues import BadInput
from dialeval.responders.decoding import DECODINGS
from dialeval.settings.adversarial import CONTROLS, AdversarialConfig
from dialeval.settings.checks import check_settings
from dialeval.settings.training import NEW, GeneratorConfig

PRETRAINED, LIKELIHOOD = "pre-trained", "more likelihood"
OBJECTIVE_OF = {"REINFORCE": "reinforce", "REGS-MC": "regs-mc", "REGS-partial": "regs-partial"}
METHODS = tuple(OBJECTIVE_OF)


@dataclass
class RegsRun:
    """Data, players, methods and the output folder of a study."""

    data: list[str] = field(
        default_factory=lambda: ["chitchat"], metadata={"help": "Corpus files or names."}
    )
    methods: list[str] = field(
        default_factory=lambda: list(METHODS),
        metadata={
            "empty": True,
            "help": "Beside the two baselines: REINFORCE, REGS-MC, REGS-partial.",
        },
    )
    controls: list[str] = field(
        default_factory=list,
        metadata={"help": "REINFORCE again with other rewards: constant, shuffled, length."},
    )
    decodings: list[str] = field(
        default_factory=lambda: ["greedy", "mmi-backward", "mmi-penalty"],
        metadata={
            "empty": True,
            "help": "Further decodings of the pre-trained generator in the table.",
        },
    )
    generator: str | None = field(
        default=None, metadata={"help": "Folder or Hub name; one is pre-trained by default."}
    )
    generator_model: str = field(default="gpt2", metadata={"help": "gpt2 or seq2seq, if new."})
    generator_width: int = field(default=192, metadata={"help": "Hidden size of a new one."})
    generator_layers: int = field(default=3, metadata={"help": "Layers of a new one."})
    generator_vocabulary: int = field(default=3_000, metadata={"help": "Size of its vocabulary."})
    generator_tokenizer: str = field(default="bpe", metadata={"help": "bpe or words, if new."})
    generator_passages: int = field(
        default=-1, metadata={"no_limit": True, "help": "Training passages at most; -1 is all."}
    )
    helper_epochs: int = field(
        default=1,
        metadata={"least": 0, "help": "Epochs of the models of p(s|t) and p(t), for MMI."},
    )
    helper_passages: int = field(
        default=10_000,
        metadata={"no_limit": True, "help": "Passages that they are trained on; -1 is all."},
    )
    tune: str = field(
        default="full", metadata={"help": "full, or lora: adapters on the given generator."}
    )
    context_turns: int = field(default=2, metadata={"help": "Turns of context."})
    min_response: int = field(
        default=5, metadata={"least": 0, "help": "Minimum tokens of a response."}
    )
    max_response: int = field(default=20, metadata={"help": "Maximum tokens of a response."})
    max_context: int = field(default=60, metadata={"help": "Maximum tokens of a context."})
    likelihood_learning_rate: float = field(
        default=5e-4,
        metadata={"above": 0, "help": "Of the baseline that is trained on by likelihood."},
    )
    likelihood_steps: int = field(
        default=-1,
        metadata={
            "no_limit": True,
            "help": "Updates of that baseline; -1 takes as long as the slowest method.",
        },
    )
    test_contexts: int = field(default=300, metadata={"help": "Contexts of the final table."})
    evaluators: list[str] = field(
        default_factory=lambda: ["svm-unigram", "embedding"],
        metadata={
            "empty": True,
            "help": "Trained for the table alone; they share nothing with a reward.",
        },
    )
    folds: int = field(default=5, metadata={"help": "Folds of the evaluators' cross-fitting."})
    output_dir: str = field(default="runs/regs", metadata={"help": "Folder of the results."})
    resume: bool = field(default=False, metadata={"help": "Resume the study in that folder."})
    log_with: str | None = field(
        default=None, metadata={"help": "Tracker of Accelerate: tensorboard, wandb, trackio, all."}
    )

    def __post_init__(self) -> None:
        check_settings(self)
        choices = {"methods": METHODS, "controls": CONTROLS, "decodings": tuple(DECODINGS)}
        for name, known in choices.items():
            unknown = [value for value in getattr(self, name) if value not in known]
            if unknown:
                raise BadInput(
                    f"unknown value {unknown[0]!r} of `{name}`.", hint=f"Choose {', '.join(known)}."
                )
        if self.tune not in ("full", "lora"):
            raise BadInput(f"`tune` is full or lora, but got {self.tune!r}.")
        if self.tune == "lora" and not self.generator:
            hint = "Give --generator a folder or a name on the Hub, or leave out --tune."
            raise BadInput("lora adapts a given generator.", hint=hint)
        if self.generator_model not in NEW:
            raise BadInput(
                f"`generator_model` is {' or '.join(NEW)}, but got {self.generator_model!r}."
            )

    def settings(self, training: GeneratorConfig, config: AdversarialConfig) -> dict[str, Any]:
        """The settings that affect a number, by name."""
        without = ("output_dir", "resume", "log_with")
        settings = {name: value for name, value in asdict(self).items() if name not in without}
        return {**settings, **asdict(training), **asdict(config)}
