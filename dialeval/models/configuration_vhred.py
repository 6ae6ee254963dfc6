"""Configuration of the latent variable hierarchical generator."""

from typing import Any, ClassVar

from transformers import PretrainedConfig

LATENTS = ("mean", "sample")


class VhredConfig(PretrainedConfig):
    """Shape of a VHRED with attention (Serban et al., 2016; Niu and Bansal, 2018, sec. 2.1).

    The sizes are those of the released code of Niu and Bansal.

    Args:
        vocab_size (`int`, *optional*, defaults to 20000):
            Number of token ids, the same for contexts and responses.
        embedding_size (`int`, *optional*, defaults to 300):
            Width of the embedding.
        encoder_size (`int`, *optional*, defaults to 256):
            Width of each direction of the utterance encoder.
        context_size (`int`, *optional*, defaults to 512):
            Width of the context encoder, which reads one vector per turn.
        hidden_size (`int`, *optional*, defaults to 512):
            Width of the decoder.
        attention_size (`int`, *optional*, defaults to 256):
            Width of the layer that scores the tokens of the context.
        latent_size (`int`, *optional*, defaults to 100):
            Number of latent units.
        dropout (`float`, *optional*, defaults to 0.2):
            Dropout on embeddings and on what the output layer reads.
        word_drop (`float`, *optional*, defaults to 0.25):
            Share of the decoder's input words that are unknown during training, so that it needs
            the latent variable (Bowman et al., 2016; Serban et al., 2016).
        latent (`str`, *optional*, defaults to `"mean"`):
            Which value the latent variable has when responses are generated: the `mean` of the
            prior, its mode, as greedy decoding takes the mode of each word; or a `sample` of the
            prior as in Serban et al., which depends on the context and on `latent_seed`.
        latent_seed (`int`, *optional*, defaults to 0):
            Seed of such a sample.
        copy (`bool`, *optional*, defaults to `False`):
            Whether tokens of the context can be copied (See et al., 2017). Not in the paper: a
            small corpus teaches it much sooner than attention alone to use what the context says.
        init_range (`float`, *optional*, defaults to 0.1):
            Embeddings start uniform in `[-init_range, init_range]`; recurrent matrices start
            orthogonal, others as Glorot and Bengio (2010) have them.
        unk_token_id (`int`, *optional*, defaults to 1):
            What a dropped word becomes.
        separator_token_id (`int`, *optional*):
            The token that ends a turn of the context, `eos_token_id` by default.
        decoder_start_token_id (`int`, *optional*):
            What responses are generated from, `bos_token_id` by default.
    """

    model_type = "dialeval-vhred"
    keys_to_ignore_at_inference: ClassVar[list[str]] = [
        "past_key_values",
        "cross_attentions",
        "encoder_last_hidden_state",
        "kl",
        "latent_mean",
    ]
    attribute_map: ClassVar[dict[str, str]] = {"num_hidden_layers": "num_layers"}

    def __init__(
        self,
        vocab_size: int = 20_000,
        embedding_size: int = 300,
        encoder_size: int = 256,
        context_size: int = 512,
        hidden_size: int = 512,
        attention_size: int = 256,
        latent_size: int = 100,
        dropout: float = 0.2,
        word_drop: float = 0.25,
        latent: str = "mean",
        latent_seed: int = 0,
        copy: bool = False,
        init_range: float = 0.1,
        pad_token_id: int = 0,
        unk_token_id: int = 1,
        bos_token_id: int = 2,
        eos_token_id: int = 3,
        separator_token_id: int | None = None,
        decoder_start_token_id: int | None = None,
        is_encoder_decoder: bool = True,
        **kwargs: Any,
    ):
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        self.encoder_size = encoder_size
        self.context_size = context_size
        self.hidden_size = hidden_size
        self.attention_size = attention_size
        self.latent_size = latent_size
        self.dropout = dropout
        self.word_drop = word_drop
        self.latent = latent
        self.latent_seed = latent_seed
        self.copy = copy
        self.init_range = init_range
        self.num_layers = 1
        self.unk_token_id = unk_token_id
        separator = eos_token_id if separator_token_id is None else separator_token_id
        self.separator_token_id = separator
        start = bos_token_id if decoder_start_token_id is None else decoder_start_token_id
        self.decoder_start_token_id = start
        self._check()
        kwargs |= {
            "pad_token_id": pad_token_id,
            "bos_token_id": bos_token_id,
            "eos_token_id": eos_token_id,
        }
        kwargs.pop("num_layers", None)
        super().__init__(is_encoder_decoder=is_encoder_decoder, **kwargs)

    def _check(self) -> None:
        """Refuse values that make no model."""
        if self.latent not in LATENTS:
            raise ValueError(
                f"expected latent to be {' or '.join(LATENTS)}, found {self.latent!r}."
            )
        if not 0 <= self.word_drop < 1:
            raise ValueError(f"expected word_drop in [0, 1), found {self.word_drop}.")
        if self.latent_size < 1:
            raise ValueError(
                f"expected 1 or more latent units, found {self.latent_size}. "
                "Train a seq2seq model for a generator without any."
            )
