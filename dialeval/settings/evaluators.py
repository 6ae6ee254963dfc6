"""Which settings of a discriminator's training an evaluator reads; all others read none."""

from dataclasses import fields

from dialeval.settings.training import DiscriminatorConfig

_STEPS = frozenset(item.name for item in fields(DiscriminatorConfig)) - {"seed"}
_CONTINUED = frozenset(("resume", "checkpoint_every"))
_READ = frozenset(("input_format", "max_length"))
_SIZES = frozenset(
    (
        "tokenizer", "vocab_size", "hidden_size", "embedding_size", "initial_weights",
        "word_vectors", "dropout",
    )
)  # fmt: skip
RECURRENT_SETTINGS = _STEPS | _CONTINUED | _READ | _SIZES | {"calibration"}
"""Settings of recurrent discriminators that not every evaluator reads."""
TRANSFORMER_SETTINGS = _STEPS | _CONTINUED | _READ | {"backbone", "tune", "calibration"}
SVM_FEATURES_SETTINGS = (_STEPS | _READ | _SIZES | {"forward", "backward"}) - _CONTINUED
ZERO_SHOT_SETTINGS = frozenset(("forward", "measure"))
EVALUATOR_SETTINGS = (
    RECURRENT_SETTINGS | TRANSFORMER_SETTINGS | SVM_FEATURES_SETTINGS | (ZERO_SHOT_SETTINGS)
)
"""All settings of a discriminator's training that only some evaluators read."""
