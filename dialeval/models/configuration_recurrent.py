"""Configurations of the recurrent discriminators."""

from typing import Any

from transformers import PretrainedConfig


class RecurrentDiscriminatorConfig(PretrainedConfig):
    """Shape of a recurrent discriminator.

    Args:
        vocab_size (`int`, *optional*, defaults to 25000):
            Size of the vocabulary.
        hidden_size (`int`, *optional*, defaults to 512):
            Width of each LSTM direction.
        embedding_size (`int`, *optional*):
            Width of the embedding, that of the LSTM by default.
        dropout (`float`, *optional*, defaults to 0.2):
            Dropout on what goes into and comes out of the LSTMs.
        init_range (`float`, *optional*, defaults to 0.1):
            All weights start uniform in `[-init_range, init_range]`.
        initial_weights (`str`, *optional*, defaults to `"uniform"`):
            `"uniform"` is that of the papers' code. `"scaled"` starts with matrices whose outputs
            vary as much as their inputs, and with LSTMs that remember: see `scaled_init`.
        max_turns (`int`, *optional*, defaults to 3):
            Turns whose vectors are concatenated; only used by `concat`.
    """

    def __init__(
        self,
        vocab_size: int = 25_000,
        hidden_size: int = 512,
        embedding_size: int | None = None,
        dropout: float = 0.2,
        init_range: float = 0.1,
        initial_weights: str = "uniform",
        max_turns: int = 3,
        pad_token_id: int = 0,
        eos_token_id: int = 3,
        **kwargs: Any,
    ):
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.embedding_size = embedding_size or hidden_size
        self.dropout = dropout
        self.init_range = init_range
        self.initial_weights = initial_weights
        self.max_turns = max_turns
        kwargs.setdefault("id2label", {0: "machine", 1: "human"})
        kwargs.setdefault("label2id", {"machine": 0, "human": 1})
        kwargs |= {"pad_token_id": pad_token_id, "eos_token_id": eos_token_id}
        super().__init__(**kwargs)


class HierarchicalConfig(RecurrentDiscriminatorConfig):
    """Shape of Li et al.'s (2017) hierarchical evaluator; the sizes are those of their code."""

    model_type = "dialeval-hierarchical"

    def __init__(self, **kwargs: Any):  # without it transformers would write another
        super().__init__(**kwargs)


class ConcatConfig(RecurrentDiscriminatorConfig):
    """Shape of Li et al.'s (2017) evaluator on concatenated utterance vectors."""

    model_type = "dialeval-concat"

    def __init__(self, **kwargs: Any):  # without it transformers would write another
        super().__init__(**kwargs)


class AttentionConfig(RecurrentDiscriminatorConfig):
    """Shape of Bruni and Fernández's (2017) attention BiLSTM; the sizes are those of the paper."""

    model_type = "dialeval-attention"

    def __init__(self, hidden_size: int = 500, dropout: float = 0.3, **kwargs: Any):
        super().__init__(hidden_size=hidden_size, dropout=dropout, **kwargs)


class RnnConfig(RecurrentDiscriminatorConfig):
    """Shape of Kannan and Vinyals's (2016) encoder with a binary classifier."""

    model_type = "dialeval-rnn"

    def __init__(self, **kwargs: Any):  # without it transformers would write another
        super().__init__(**kwargs)
