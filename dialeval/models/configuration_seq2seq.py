"""Configuration of the papers' sequence-to-sequence generator."""

from typing import Any, ClassVar

from transformers import PretrainedConfig

ATTENTIONS = ("dot", "bahdanau")


class Seq2SeqConfig(PretrainedConfig):
    """Shape of an LSTM encoder-decoder with attention; the sizes are those of Li et al.'s code.

    Bruni and Fernández (2017, sec. 5.1) take `hidden_size=2048`, `embedding_size=500`,
    `bidirectional=True` and `dropout=0.3`.

    Args:
        vocab_size (`int`, *optional*, defaults to 25000):
            Number of token ids, the same for contexts and responses.
        hidden_size (`int`, *optional*, defaults to 512):
            Width of a layer; the two directions of a bidirectional encoder have half of it each.
        embedding_size (`int`, *optional*):
            Width of the embedding, that of a layer by default.
        num_layers (`int`, *optional*, defaults to 2):
            LSTM layers of the encoder, and of the decoder.
        dropout (`float`, *optional*, defaults to 0.2):
            Dropout on what goes into and comes out of the LSTMs, and between their layers.
        attention (`str`, *optional*, defaults to `"dot"`):
            How a token of the context is scored: `dot` (Luong et al., 2015, as in Li et al.'s code)
            or `bahdanau` (Bahdanau et al., 2015, as in Niu and Bansal, 2018, and See et al., 2017).
        input_feeding (`bool`, *optional*, defaults to `False`):
            Whether the decoder reads what it last attended to, as in Li et al.'s code; training is
            then a loop over time.
        bidirectional (`bool`, *optional*, defaults to `False`):
            Whether the encoder reads the context backwards as well.
        copy (`bool`, *optional*, defaults to `False`):
            Whether tokens of the context can be copied (See et al., 2017).
        tie_embeddings (`bool`, *optional*, defaults to `False`):
            Whether the output layer is the embedding; needs `embedding_size == hidden_size`.
        init_range (`float`, *optional*, defaults to 0.1):
            All weights start uniform in `[-init_range, init_range]`.
        decoder_start_token_id (`int`, *optional*):
            What responses are generated from, `bos_token_id` by default.
    """

    model_type = "dialeval-seq2seq"
    keys_to_ignore_at_inference: ClassVar[list[str]] = [
        "past_key_values",
        "decoder_hidden_states",
        "cross_attentions",
        "encoder_last_hidden_state",
    ]
    attribute_map: ClassVar[dict[str, str]] = {
        "num_hidden_layers": "num_layers",
        "tie_word_embeddings": "tie_embeddings",
    }

    def __init__(
        self,
        vocab_size: int = 25_000,
        hidden_size: int = 512,
        embedding_size: int | None = None,
        num_layers: int = 2,
        dropout: float = 0.2,
        attention: str = "dot",
        input_feeding: bool = False,
        bidirectional: bool = False,
        copy: bool = False,
        tie_embeddings: bool = False,
        init_range: float = 0.1,
        pad_token_id: int = 0,
        bos_token_id: int = 2,
        eos_token_id: int = 3,
        decoder_start_token_id: int | None = None,
        is_encoder_decoder: bool = True,
        **kwargs: Any,
    ):
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.embedding_size = embedding_size or hidden_size
        self.num_layers = num_layers
        self.dropout = dropout
        self.attention = attention
        self.input_feeding = input_feeding
        self.bidirectional = bidirectional
        self.copy = copy
        self.tie_embeddings = tie_embeddings
        self.init_range = init_range
        start = bos_token_id if decoder_start_token_id is None else decoder_start_token_id
        self.decoder_start_token_id = start
        self._check()
        kwargs |= {
            "pad_token_id": pad_token_id,
            "bos_token_id": bos_token_id,
            "eos_token_id": eos_token_id,
        }
        super().__init__(is_encoder_decoder=is_encoder_decoder, **kwargs)

    def _check(self) -> None:
        """Refuse shapes that cannot be built."""
        if self.attention not in ATTENTIONS:
            raise ValueError(
                f"expected an attention, found {self.attention!r}. "
                f"Choose one of {', '.join(ATTENTIONS)}."
            )
        if self.bidirectional and self.hidden_size % 2:
            raise ValueError(
                f"expected an even hidden_size for two directions, found {self.hidden_size}. "
                "Give an even number, or bidirectional=False."
            )
        if self.tie_embeddings and self.embedding_size != self.hidden_size:
            raise ValueError(
                "expected an embedding as wide as a layer to tie it to the output layer, found "
                f"embedding_size={self.embedding_size} and hidden_size={self.hidden_size}. "
                "Make them equal, or give tie_embeddings=False."
            )
