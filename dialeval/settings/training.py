"""Settings of training: what is trained on what, and how its trainer works."""

from dataclasses import dataclass, field

from dialeval.errors import BadInput
from dialeval.settings.checks import check_settings
from dialeval.settings.trainer import (
    OPTIMIZERS,
    SCHEDULES,
    TrainingConfig,
    check_choices,
    check_memory,
)
from dialeval.settings.usage import Except

INITIAL_WEIGHTS = ("uniform", "scaled")
WORD_VECTORS = ("minilm",)
TUNES = ("full", "lora", "head")
DIRECTIONS = ("forward", "backward", "unconditional")
FILTERS = ("none", "li", "bruni")
NEW = ("gpt2", "seq2seq", "vhred")
"""Generators that are trained from scratch."""
_OF_SYSTEM = {"needs": {"scenario": ("human_machine", "machine_machine")}}
_NEW = {"needs": {"model": NEW}}
_NEW_TOKENIZER = {"needs": {"model": NEW, "tokenizer": ("words", "bpe")}}
_ENCODER_DECODER = {"needs": {"model": ("seq2seq", "vhred")}}
_SEQ2SEQ = {"needs": {"model": ("seq2seq",)}}
_VHRED = {"needs": {"model": ("vhred",)}}


@dataclass
class DiscriminatorConfig(TrainingConfig):
    """How the discriminator is trained."""

    loss: str = field(
        default="pointwise",
        metadata={
            "help": "pointwise (cross entropy), or pairwise (Gao et al., 2021, eq. 1).",
            "choices": ("pointwise", "pairwise"),
        },
    )
    epochs: int = field(default=5, metadata={"help": "Maximum number of epochs."})
    batch_size: int = field(default=32, metadata={"help": "Pairs per update, over all processes."})
    fresh_negatives: bool = field(
        default=False,
        metadata={
            "help": "Of human_random: draw other random responses in every epoch, so that pairs "
            "cannot be remembered."
        },
    )
    prefixes: bool = field(
        default=False,
        metadata={"help": "Train on a random prefix of each response (Li et al., 2017, sec. 3.2)."},
    )
    all_prefixes: bool = field(
        default=False, metadata={"help": "Train on every prefix instead, of which the paper warns."}
    )

    def __post_init__(self):
        check_settings(self)
        losses = ("pointwise", "pairwise")
        check_choices(self, loss=losses, optimizer=OPTIMIZERS, schedule=SCHEDULES)
        check_memory(self)
        if self.all_prefixes and self.loss == "pairwise":
            hint = "Use the pointwise loss, or --prefixes."
            raise BadInput("all prefixes of two responses do not form pairs.", hint=hint)


@dataclass
class GeneratorConfig(TrainingConfig):
    """How the generator is trained."""

    epochs: int = field(default=3, metadata={"help": "Maximum number of epochs."})
    batch_size: int = field(default=64, metadata={"help": "Passages per update, all processes."})
    optimizer: str = field(default="adamw", metadata={"help": "Optimiser.", "choices": OPTIMIZERS})
    schedule: str = field(
        default="cosine",
        metadata={
            "help": "Learning rate schedule; halve: each epoch after halve_after.",
            "choices": SCHEDULES,
        },
    )
    weighting: str = field(
        default="none",
        metadata={
            "help": "tf-idf gives dull responses less weight (Li et al., 2017).",
            "choices": ("none", "tf-idf"),
        },
    )
    weight_cap: float = field(
        default=3.0,
        metadata={"help": "Maximum tf-idf weight, L.", "needs": {"weighting": ("tf-idf",)}},
    )
    average_over: str = field(
        default="tokens",
        metadata={
            "help": "Unit of the loss; responses: as in the code of Li et al.",
            "choices": ("tokens", "responses"),
        },
    )
    loss_on: str = field(
        default="response",
        metadata={
            "help": "all: a causal model is also trained on the context.",
            "choices": ("response", "all"),
            "needs": {"model": Except(("seq2seq", "vhred"))},
        },
    )

    kl_steps: int = field(
        default=-1,
        metadata={
            "no_limit": True,
            "least": 0,
            "help": "Of vhred: updates until the KL term has its full weight; -1 is half of all, "
            "75000 the paper's, 0 the released code's.",
            "needs": {"model": Except(("gpt2", "seq2seq"))},
        },
    )

    def __post_init__(self):
        check_settings(self)
        check_choices(
            self, optimizer=OPTIMIZERS, schedule=SCHEDULES, weighting=("none", "tf-idf"),
            average_over=("tokens", "responses"), loss_on=("response", "all"),
        )  # fmt: skip
        check_memory(self)
        for name in ("epochs", "batch_size", "checkpoint_every", "weight_cap"):
            if not getattr(self, name) >= 1:
                raise BadInput(f"`{name}` is 1 or more, but got {getattr(self, name)}.")


_ROLE = {"help": "Whose turns are the responses: user, assistant, or the name of a speaker."}
_COLUMN = {"help": "Name of a column in the files: response=reply. Repeatable."}


@dataclass
class DiscriminatorRun:
    """Which discriminator is trained, on what data, and where it is saved."""

    data: list[str] = field(
        default_factory=lambda: ["chitchat"],
        metadata={"help": "Corpus files; several are trained on together, reported apart."},
    )
    scenario: str = field(
        default="human_random", metadata={"help": "Which two classes; see `dialeval data pair`."}
    )
    machine: str | None = field(
        default=None,
        metadata={"help": "File with the system's responses, if separate.", **_OF_SYSTEM},
    )
    system: str | None = field(
        default=None,
        metadata={"help": "Name of the system, in a file with several authors.", **_OF_SYSTEM},
    )
    model: str = field(
        default="transformer",
        metadata={
            "help": "An evaluator by name, such as hierarchical or svm-unigram "
            "(`dialeval list evaluators`), or package.module:Class."
        },
    )
    backbone: str | None = field(
        default=None, metadata={"help": "Of transformer: minilm, a folder, or a name on the Hub."}
    )
    tune: str = field(
        default="full",
        metadata={"help": "Of transformer: full, lora or head.", "choices": TUNES},
    )
    tokenizer: str = field(
        default="words", metadata={"help": "words, bpe, or a folder or name on the Hub."}
    )
    vocab_size: int = field(
        default=25_000,
        metadata={"help": "Words, or merges of bpe.", "needs": {"tokenizer": ("words", "bpe")}},
    )
    input_format: str | None = field(
        default=None, metadata={"help": "words, dialogrpt, att, encoder or chat."}
    )
    max_length: int | None = field(
        default=None, metadata={"help": "Number of tokens read at most; the oldest context is cut."}
    )
    calibration: str = field(
        default="temperature", metadata={"help": "temperature, isotonic or none, on validation."}
    )
    forward: str | None = field(
        default=None, metadata={"help": "Model of p(t|s), for svm-features and zero-shot."}
    )
    backward: str | None = field(
        default=None, metadata={"help": "Model of p(s|t), for svm-features."}
    )
    measure: str = field(
        default="fast-detectgpt",
        metadata={"help": "Of zero-shot: log-probability, log-rank, entropy, fast-detectgpt."},
    )
    hidden_size: int = field(default=128, metadata={"help": "Width of recurrent models."})
    embedding_size: int | None = field(
        default=None, metadata={"help": "Of recurrent models; hidden_size by default."}
    )
    initial_weights: str = field(
        default="uniform",
        metadata={
            "help": "Of recurrent models: uniform, as in the papers' code, or scaled, which learns "
            "whether a reply fits from far fewer pairs.",
            "choices": INITIAL_WEIGHTS,
        },
    )
    word_vectors: str | None = field(
        default=None,
        metadata={
            "help": "Of recurrent models: minilm gives them its vectors of words, which stay.",
            "choices": WORD_VECTORS,
        },
    )
    dropout: float = field(default=0.2, metadata={"share": True, "help": "Of recurrent models."})
    context_turns: int = field(default=2, metadata={"help": "Turns of context."})
    filter: str = field(default="none", metadata={"help": "none, li or bruni."})
    max_pairs: int = field(
        default=1_500, metadata={"no_limit": True, "help": "Training pairs at most; -1 is all."}
    )
    max_eval_pairs: int = field(
        default=2_000,
        metadata={"no_limit": True, "help": "Validation and test pairs at most; -1 is all."},
    )
    output_dir: str = field(default="runs/discriminator", metadata={"help": "Output folder."})
    resume: bool = field(default=False, metadata={"help": "Continue from the last checkpoint."})
    log_with: str | None = field(
        default=None, metadata={"help": "Tracker of Accelerate: tensorboard, wandb, trackio, all."}
    )
    overwrite: bool = field(
        default=False, metadata={"help": "Replace a finished model that other settings made."}
    )
    role: str | None = field(default=None, metadata=_ROLE)
    column: list[str] | None = field(default=None, metadata=_COLUMN)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass
class GeneratorRun:
    """Which generator is trained, on what data, and where it is saved."""

    data: list[str] = field(
        default_factory=lambda: ["chitchat"], metadata={"help": "Corpus files, or chitchat."}
    )
    model: str = field(
        default="gpt2",
        metadata={"help": "gpt2, seq2seq or vhred from nothing, a folder, a Hub name."},
    )
    tune: str = field(default="full", metadata={"help": "full, or lora for a pretrained model."})
    direction: str = field(
        default="forward",
        metadata={
            "help": "forward p(t|s), backward p(s|t), or unconditional p(t), for MMI.",
            "choices": DIRECTIONS,
        },
    )
    tokenizer: str = field(
        default="bpe", metadata={"help": "bpe, words, a folder or Hub name.", **_NEW}
    )
    vocab_size: int = field(
        default=5_000, metadata={"help": "Merges of bpe, or words.", **_NEW_TOKENIZER}
    )
    hidden_size: int = field(default=256, metadata={"help": "Width of a new model.", **_NEW})
    layers: int = field(
        default=4,
        metadata={
            "help": "Layers of a new gpt2 or seq2seq.",
            "needs": {"model": ("gpt2", "seq2seq")},
        },
    )
    heads: int = field(
        default=4,
        metadata={"help": "Attention heads of a new gpt2.", "needs": {"model": ("gpt2",)}},
    )
    positions: int = field(
        default=160,
        metadata={
            "help": "Tokens of context and response in all; of each of them for seq2seq and vhred.",
            **_NEW,
        },
    )
    dropout: float = field(default=0.1, metadata={"share": True, "help": "Of a new model.", **_NEW})
    embedding_size: int | None = field(
        default=None,
        metadata={"help": "Of seq2seq and vhred; hidden_size by default.", **_ENCODER_DECODER},
    )
    latent_size: int = field(default=100, metadata={"help": "Latent units of vhred.", **_VHRED})
    word_drop: float = field(
        default=0.25,
        metadata={
            "share": True,
            "help": "Of vhred: share of the decoder's input words dropped.",
            **_VHRED,
        },
    )
    latent: str = field(
        default="mean",
        metadata={
            "help": "Of vhred, to answer: mean of the prior, or a seeded sample of it.",
            **_VHRED,
        },
    )
    attention: str = field(
        default="dot", metadata={"help": "Of seq2seq: dot or bahdanau.", **_SEQ2SEQ}
    )
    input_feeding: bool = field(
        default=False,
        metadata={"help": "Of seq2seq: the decoder reads what it last attended to.", **_SEQ2SEQ},
    )
    bidirectional: bool = field(default=False, metadata={"help": "Encoder of seq2seq.", **_SEQ2SEQ})
    copy: bool = field(
        default=False, metadata={"help": "Copy mechanism of seq2seq and vhred.", **_ENCODER_DECODER}
    )
    context_turns: int = field(default=2, metadata={"help": "Turns of context."})
    filter: str = field(
        default="none", metadata={"help": "none, li or bruni, beside the limits that follow."}
    )
    min_response: int = field(
        default=5, metadata={"least": 0, "help": "Tokens of a response at least (Li et al., 2017)."}
    )
    max_response: int | None = field(default=40, metadata={"help": "Tokens at most."})
    max_context: int | None = field(default=None, metadata={"help": "Tokens of all its turns."})
    max_passages: int = field(
        default=-1, metadata={"no_limit": True, "help": "Training passages; -1 is all."}
    )
    max_eval_passages: int = field(
        default=1_000, metadata={"no_limit": True, "help": "Validation and test."}
    )
    samples: int = field(
        default=5, metadata={"least": 0, "help": "Contexts answered after each epoch."}
    )
    output_dir: str = field(default="runs/generator", metadata={"help": "Output folder."})
    resume: bool = field(default=False, metadata={"help": "Continue from the last checkpoint."})
    log_with: str | None = field(
        default=None, metadata={"help": "Tracker of Accelerate: tensorboard, wandb, trackio, all."}
    )
    overwrite: bool = field(
        default=False, metadata={"help": "Replace a finished model that other settings made."}
    )
    role: str | None = field(default=None, metadata=_ROLE)
    column: list[str] | None = field(default=None, metadata=_COLUMN)

    def __post_init__(self):
        check_settings(self)
        if self.direction not in DIRECTIONS:
            choices = ", ".join(DIRECTIONS)
            raise BadInput(f"`direction` is {choices}, but got {self.direction!r}.")
        if self.tune not in ("full", "lora"):
            raise BadInput(f"`tune` is full or lora, but got {self.tune!r}.")
        if self.tune == "lora" and self.model in NEW:
            hint = "Give --model a folder or a name on the Hub, or leave out --tune."
            raise BadInput(f"lora adapts a pretrained model, not a new {self.model}.", hint=hint)
        if self.filter not in FILTERS:
            choices = ", ".join(FILTERS)
            raise BadInput(f"unknown filter {self.filter!r}.", hint=f"Choose {choices}.")
