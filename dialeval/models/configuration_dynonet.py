"""Configuration of the neural agent with a knowledge graph."""

from typing import Any

from transformers import PretrainedConfig


class DynoNetConfig(PretrainedConfig):
    """Shape of a dialogue agent over a dynamic knowledge graph (He et al., 2017).

    Args:
        vocab_size (`int`, *optional*, defaults to 200):
            Words, without entities: those are nodes of the graph.
        attributes (`int`, *optional*, defaults to 7):
            Attributes of the schema.
        word_size (`int`, *optional*, defaults to 100):
            Width of word vectors.
        node_size (`int`, *optional*, defaults to 50):
            Width of a node in each round of message passing.
        hidden_size (`int`, *optional*, defaults to 100):
            Width of the LSTMs.
        rounds (`int`, *optional*, defaults to 2):
            Rounds of message passing.
        dropout (`float`, *optional*, defaults to 0.0):
            Dropout on what the LSTMs read.
    """

    model_type = "dialeval-dynonet"

    def __init__(
        self,
        vocab_size: int = 200,
        attributes: int = 7,
        word_size: int = 100,
        node_size: int = 50,
        hidden_size: int = 100,
        rounds: int = 2,
        dropout: float = 0.0,
        **kwargs: Any,
    ):
        self.vocab_size = vocab_size
        self.attributes = attributes
        self.word_size = word_size
        self.node_size = node_size
        self.hidden_size = hidden_size
        self.rounds = rounds
        self.dropout = dropout
        super().__init__(**kwargs)
