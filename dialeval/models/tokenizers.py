"""Tokenizers for models trained from scratch: the papers' words, and byte-level pieces."""

from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

SPECIAL = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}


def word_tokenizer(
    texts: Iterable[str], vocab_size: int = 25_000, lower: bool = True
) -> PreTrainedTokenizerFast:
    """The most frequent words, every other one `<unk>` (Bruni and Fernández, 2017, sec. 2.2).

    Args:
        texts (`Iterable[str]`):
            The corpus.
        vocab_size (`int`, *optional*, defaults to 25000):
            Number of tokens, special ones included.
        lower (`bool`, *optional*, defaults to `True`):
            Whether words are lower-cased.

    Returns:
        `PreTrainedTokenizerFast`: With padding, unknown, start and end tokens.
    """
    core = Tokenizer(models.WordLevel(unk_token=SPECIAL["unk_token"]))
    core.normalizer = normalizers.Lowercase() if lower else None
    words = Regex(r"<[^<>\s]+>|\w+(?:['’]\w+)*|[^\w\s]")
    core.pre_tokenizer = pre_tokenizers.Split(words, behavior="removed", invert=True)
    trainer = trainers.WordLevelTrainer(
        vocab_size=vocab_size, special_tokens=list(SPECIAL.values()), show_progress=False
    )
    core.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=core, **SPECIAL)


def bpe_tokenizer(texts: Iterable[str], merges: int = 5_000) -> PreTrainedTokenizerFast:
    """Byte-level pieces learnt on a corpus, with so many merges (Niu and Bansal, 2018)."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=len(alphabet) + len(SPECIAL) + merges,
        special_tokens=list(SPECIAL.values()),
        initial_alphabet=alphabet,
        show_progress=False,
    )
    core.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=core, **SPECIAL)
