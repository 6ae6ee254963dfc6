"""Settings of training generators against perturbations and testing what it does."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from dialeval.errors import BadInput
from dialeval.settings.training import GeneratorRun

ROBUST_MEASURES = ("activity_f1", "entity_f1", "bleu", "chrf", "similarity", "likelihood")
TARGETS = ("vhred", "vhred-bpe", "reranking-rl", "seq2seq", "gpt2")


@dataclass
class RobustRun(GeneratorRun):
    """Which generators are trained against which perturbations, on what data."""

    data: list[str] = field(
        default_factory=lambda: ["ubuntu"],
        metadata={"help": "Corpus files, chitchat, or ubuntu: threads in DIALEVAL_SHARED_DATA."},
    )
    test_data: list[str] = field(
        default_factory=list,
        metadata={"help": "Corpus files to test on; a part of the data by default."},
    )
    model: str = field(default="", metadata={"help": "Not used here: see targets.", "needs": {}})
    samples: int = field(
        default=0, metadata={"least": 0, "help": "Not used here: see examples.", "needs": {}}
    )
    resume: bool = field(default=False, metadata={"help": "A stopped study always continues."})
    log_with: str | None = field(default=None, metadata={"help": "Not used here.", "needs": {}})
    targets: list[str] = field(
        default_factory=lambda: ["vhred"],
        metadata={"help": f"Generators: {', '.join(TARGETS)}, or a folder or Hub name."},
    )
    pieces: int = field(default=5_000, metadata={"help": "BPE merges of vhred-bpe and gpt2."})
    combined: bool = field(
        default=True, metadata={"help": "Also train on all should-not-change strategies together."}
    )
    control: bool = field(
        default=True,
        metadata={"help": "Also train on without perturbations, for as many epochs."},
    )
    against_epochs: int = field(
        default=1, metadata={"help": "K: epochs of training against a strategy."}
    )
    against_rate: float = field(
        default=2e-4, metadata={"above": 0, "help": "Initial learning rate of that training."}
    )
    seeds: int = field(default=1, metadata={"help": "Trainings of each row, averaged."})
    max_new_tokens: int = field(default=30, metadata={"help": "Tokens of a greedy reply at most."})
    measure: str = field(
        default="auto",
        metadata={
            "help": "Measure of the verdicts: activity_f1, entity_f1, bleu, chrf, similarity, "
            "likelihood; auto is activity_f1 on technical contexts, otherwise bleu."
        },
    )
    similarity: bool = field(
        default=True, metadata={"help": "Cosine of reply and reference by a sentence encoder."}
    )
    actent_lexicon: str | None = field(
        default=None, metadata={"help": "Folder of the released word lists of the F1s."}
    )
    skip: str = field(
        default="none", metadata={"help": "References that the F1s leave out: none or released."}
    )
    resamples: int = field(default=100_000, metadata={"help": "Resamples of the paired bootstrap."})
    examples: int = field(default=2, metadata={"least": 0, "help": "Example replies of each row."})
    output_dir: str = field(default="runs/robust", metadata={"help": "Output folder."})
    overwrite: bool = field(default=False, metadata={"help": "Replace the results of another run."})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.measure not in ("auto", *ROBUST_MEASURES):
            choices = ", ".join(ROBUST_MEASURES)
            raise BadInput(f"`measure` is auto, {choices}, but got {self.measure!r}.")
        if len(set(self.targets)) < len(self.targets) or not self.targets:
            raise BadInput(f"expected different targets, but got {self.targets}.")
        for target in self.targets:
            if target not in TARGETS and not is_generator_name(target):
                choices = f"{', '.join(TARGETS)}, a folder, a .gguf file, or owner/name on the Hub"
                raise BadInput(f"unknown target {target!r:.60}.", hint=f"Choose from {choices}.")


def is_generator_name(name: str) -> bool:
    """Whether a text can name a trained generator: a path, smollm2, or a name on the Hub.

    Examples:
        >>> is_generator_name("owner/name"), is_generator_name("1e-30")
        (True, False)
    """
    return name == "smollm2" or Path(name).exists() or bool(re.fullmatch(r"[\w.-]+/[\w.-]+", name))
