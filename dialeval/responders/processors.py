"""Decoding by `LogitsProcessor`: noise and temperature by row, repeated words, MMI - p(t).

`generate` runs its own processors first, then those it is given, then (only when `do_sample=True`)
temperature, top-k and top-p. `start` is the width of what `generate` was given to continue, padding
included: of the prompt for a causal model, of the decoder's prompt (usually 1) for an
encoder-decoder.
"""

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import torch
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from torch import Tensor
from torch.nn import functional as F
from transformers import Cache, LogitsProcessor, PreTrainedModel, PreTrainedTokenizerBase

from dialeval.dialogues import BadInput
from dialeval.responders.likelihood import opening_token

STOP_WORDS = ENGLISH_STOP_WORDS - {"no"}
"""Words that may be repeated: scikit-learn's English stop words except "no", because responses
such as "no. no. no." are what the penalty is for (Li et al., 2017, sec. 3.3)."""

_APOSTROPHES = "'’"
_LONGEST = 1024  # letters of a word that are considered
_LEAST = -1e4  # used as the logarithm of 0, to avoid inf - inf


def _signed(number: int) -> int:
    """The signed 64-bit number with the same bits."""
    return (number + 2**63) % 2**64 - 2**63


# Increment and multipliers of SplitMix64 (Steele et al., 2014).
_STEP = _signed(0x9E3779B97F4A7C15)
_MULTIPLIERS = (30, _signed(0xBF58476D1CE4E5B9)), (27, _signed(0x94D049BB133111EB))


@dataclass(frozen=True)
class RowNoise(LogitsProcessor):
    """Draws each row's token with its own noise, so that greedy generation samples.

    A uniform number selects the token by the cumulative softmax of the scores, and that token's
    score is raised above all others. The number depends only on the row's seed and the step: the
    same context with the same seed gets the same response in any batch, row and padding. Generate
    with `do_sample=False`; temperature, top-k and top-p are processors before this one. (Gumbel
    noise does the same with one random number per token of the vocabulary.)

    Args:
        seeds (`Sequence[int]`):
            One per row.
        start (`int`):
            Column where the response begins.
    """

    seeds: Sequence[int]
    start: int

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        _check_rows("seed", len(self.seeds), len(scores))
        step = input_ids.shape[1] - self.start
        seeds = torch.tensor([_signed(int(seed)) for seed in self.seeds], device=scores.device)
        drawn = draw(scores, uniform_noise(seeds, step, 1))
        return scores.scatter(1, drawn, torch.finfo(scores.dtype).max)


def draw(scores: Tensor, uniform: Tensor) -> Tensor:
    """The token that each row's uniform number selects, both of shape `(rows, 1)`."""
    below = scores.float().softmax(-1).cumsum(-1)  # (rows, vocabulary)
    total = below[:, -1:]
    least = torch.nextafter(total, torch.zeros_like(total))  # never beyond the last token
    return torch.searchsorted(below, torch.minimum(uniform.to(total) * total, least), right=True)


def gumbel_noise(seeds: Tensor, step: int, vocabulary: int) -> Tensor:
    """Standard Gumbel noise of one step.

    Args:
        seeds (`Tensor`):
            One per row, int64.
        step (`int`):
            Index of the new token.
        vocabulary (`int`):
            Number of columns.

    Returns:
        `Tensor`: float64, shape `(rows, vocabulary)`.
    """
    return uniform_noise(seeds, step, vocabulary).log_().neg_().log_().neg_()


def uniform_noise(seeds: Tensor, step: int, vocabulary: int) -> Tensor:
    """Uniform noise of one step, strictly between 0 and 1.

    Args:
        seeds (`Tensor`):
            One per row, int64.
        step (`int`):
            Index of the new token.
        vocabulary (`int`):
            Number of columns.

    Returns:
        `Tensor`: float64, shape `(rows, vocabulary)`.
    """
    keys = _mix(_mix(seeds + _STEP) + _signed(_STEP * (step + 1)))  # (rows,)
    tokens = torch.arange(1, vocabulary + 1, device=seeds.device) * _STEP
    bits = _mix(keys[:, None] + tokens)  # (rows, vocabulary)
    # 52 bits plus one half are exact in a double, so the result is neither 0 nor 1.
    return _shift_right(bits, 12).double().add_(0.5).mul_(2.0**-52)


def _mix(bits: Tensor) -> Tensor:
    """The output function of SplitMix64: every bit depends on all bits; products wrap around."""
    for shift, multiplier in _MULTIPLIERS:
        bits = _shift_right(bits, shift).bitwise_xor_(bits).mul_(multiplier)
    return _shift_right(bits, 31).bitwise_xor_(bits)


def _shift_right(bits: Tensor, shift: int) -> Tensor:
    """Logical shift to the right; the operator of torch repeats the sign bit."""
    return (bits >> shift).bitwise_and_((1 << (64 - shift)) - 1)


@dataclass(frozen=True)
class RowTemperature(LogitsProcessor):
    """Divides each row by its temperature (Gao et al., 2021: one per context).

    Args:
        temperatures (`Sequence[float]`):
            One per row; above 1 is more random.
    """

    temperatures: Sequence[float]

    def __post_init__(self) -> None:
        invalid = [value for value in self.temperatures if not 0 < value < float("inf")]
        if invalid:
            hint = "For the most probable response use greedy decoding."
            raise BadInput(f"expected temperatures above 0, but got {invalid[0]}.", hint=hint)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        _check_rows("temperature", len(self.temperatures), len(scores))
        return scores / torch.tensor(self.temperatures, device=scores.device)[:, None].to(scores)


def _check_rows(what: str, given: int, expected: int) -> None:
    if given != expected:
        raise BadInput(
            f"expected one {what} for each of {expected} rows, but got {given}.",
            hint="Repeat them as the rows are repeated, for beams or several responses.",
        )


class RepeatedTypePenalty(LogitsProcessor):
    """Penalises words that the response already contains (Li et al., 2017, sec. 3.3).

    A token is penalised if it begins a word and alone spells a word that was generated before,
    ignoring case and the pieces that the earlier word consisted of. So a word that the vocabulary
    can only spell in pieces may be repeated, and " no" is penalised after "no" even if the model
    was about to write " nothing". Stop words and punctuation may be repeated.

    The penalty is subtracted, which is right for log-probabilities (beam search) and logits.

    Args:
        tokenizer (`PreTrainedTokenizerBase`):
            Of words or of pieces.
        penalty (`float`):
            In nats; infinity forbids repetition.
        start (`int`):
            Column where the response begins.
        stop_words (`Collection[str]`, *optional*):
            Words that may be repeated, in lower case; [`STOP_WORDS`] by default. Contractions of
            them ("don't", "it's") are stop words too.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        penalty: float,
        start: int,
        stop_words: Collection[str] = STOP_WORDS,
    ):
        self.penalty, self.start = penalty, start
        # The size is part of the cache key, because tokens can be added.
        self._table = _word_table(tokenizer, len(tokenizer), frozenset(stop_words))

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        generated = input_ids[:, self.start :]  # (rows, time)
        self._table = self._table.extended(scores.shape[1], scores.device)
        return torch.where(
            self._table.repeats(generated, scores.shape[1]), scores - self.penalty, scores
        )


@dataclass(frozen=True, eq=False)
class _WordTable:
    """Words and pieces of a vocabulary. A word is a sequence of pieces: it begins at a piece with
    white space before it, or after a token that is not a piece (punctuation, a special token).

    A word is identified by a polynomial of its letters, the sum of letter * base^index modulo 2^64,
    which can be summed over pieces and does not depend on where the word was cut.
    """

    is_piece: Tensor  # (vocabulary,) letters, digits and apostrophes only
    leads: Tensor  # (vocabulary,) begins with white space
    code: Tensor  # (vocabulary,) its polynomial; 0 if it is not a piece
    size: Tensor  # (vocabulary,) number of letters; 0 if it is not a piece
    spells: Tensor  # (vocabulary,) index of the word that it spells alone, -1 for none
    words: Tensor  # (words,) their polynomials, ascending

    def extended(self, vocabulary: int, device: torch.device) -> "_WordTable":
        """The same table for a model with a padded vocabulary, on its device."""
        missing = max(0, vocabulary - len(self.code))
        if not missing and self.code.device == device:
            return self
        tables = {field.name: getattr(self, field.name).to(device) for field in fields(self)}
        for name in ("is_piece", "leads", "code", "size", "spells"):
            tables[name] = F.pad(tables[name], (0, missing), value=-1 if name == "spells" else 0)
        return replace(self, **tables)

    def repeats(self, generated: Tensor, vocabulary: int) -> Tensor:
        """Which tokens would repeat a word of each row, shape `(rows, vocabulary)`."""
        if not generated.shape[1] or not len(self.words):
            return self.code.new_zeros(len(generated), vocabulary, dtype=torch.bool)
        codes = self._words_of(generated)  # (rows, words of a row)
        index = torch.searchsorted(self.words, codes).clamp_(max=len(self.words) - 1)
        index = index.masked_fill(self.words[index] != codes, len(self.words))
        seen = self.code.new_zeros(len(codes), len(self.words) + 1, dtype=torch.bool)
        seen.scatter_(1, index, True)[:, -1] = False  # the last column is for all other words
        spells, leads = self.spells[:vocabulary], self.leads[:vocabulary]
        # A token without white space before it continues the word, if there is one.
        return seen[:, spells] & (leads | ~self.is_piece[generated[:, -1:]])

    def _words_of(self, generated: Tensor) -> Tensor:
        """The polynomials of each row's words, padded with 0, shape `(rows, time + 1)`."""
        piece, size = self.is_piece[generated], self.size[generated]  # (rows, time)
        after_none = F.pad(~piece[:, :-1], (1, 0), value=True)
        begins = piece & (self.leads[generated] | after_none)
        before = size.cumsum(1) - size  # letters before each token
        offset = before - (before * begins).cummax(1)[0]  # letters of the same word before it
        terms = self.code[generated] * _powers(generated.device)[offset.clamp(max=_LONGEST - 1)]
        words = terms.new_zeros(len(terms), terms.shape[1] + 1)
        return words.scatter_add_(1, begins.cumsum(1), terms * piece)


def _powers(device: torch.device) -> Tensor:
    """The powers of the base, from 1, shape `(longest,)`; they wrap around."""
    return F.pad(torch.full((_LONGEST - 1,), _STEP, device=device).cumprod(0), (1, 0), value=1)


@lru_cache(maxsize=8)
def _word_table(
    tokenizer: PreTrainedTokenizerBase, size: int, stop_words: frozenset[str]
) -> _WordTable:
    """The table of a tokenizer, from what its tokens look like inside a text."""
    texts = _texts(tokenizer)
    special = set(tokenizer.all_special_ids)
    letters = [text.lstrip().casefold() for text in texts]
    pieces = [_is_piece(word) and i not in special for i, word in enumerate(letters)]
    letters = [word if piece else "" for word, piece in zip(letters, pieces, strict=True)]
    code = torch.tensor([_code(word) for word in letters])
    content = torch.tensor([_is_content(word, stop_words) for word in letters])
    words, number = code[content].unique(return_inverse=True)
    return _WordTable(
        is_piece=torch.tensor(pieces),
        leads=torch.tensor([text[:1].isspace() for text in texts]),
        code=code,
        size=torch.tensor([len(word) for word in letters]),
        spells=torch.full_like(code, -1).masked_scatter_(content, number),
        words=words,
    )


def _texts(tokenizer: PreTrainedTokenizerBase) -> list[str]:
    """What each token appends to a text that ends with a letter; byte pieces give U+FFFD."""
    anchor = tokenizer("a", add_special_tokens=False)["input_ids"][-1:]
    rows = [[*anchor, i] for i in range(max(tokenizer.get_vocab().values()) + 1)]
    prefix = tokenizer.decode(anchor, clean_up_tokenization_spaces=False)
    texts = tokenizer.batch_decode(rows, clean_up_tokenization_spaces=False)
    return [text[len(prefix) :] for text in texts]


def _is_piece(text: str) -> bool:
    inside = (c in _APOSTROPHES + "\ufffd" or unicodedata.category(c)[0] in "LMN" for c in text)
    return bool(text) and all(inside)


def _is_content(word: str, stop_words: frozenset[str]) -> bool:
    """Whether it is a complete word, and neither a stop word nor a contraction of one."""
    heads = {word, *(re.sub(end, "", word) for end in ("['’]", "['’].*", "n['’]t$"))}
    return any(c.isalnum() for c in word) and "\ufffd" not in word and not heads & stop_words


def _code(letters: str) -> int:
    """The polynomial of some letters, as a signed number."""
    return _signed(sum(ord(letter) * _STEP**power for power, letter in enumerate(letters)))


class LanguageModelPenalty(LogitsProcessor):
    """log p(t|s) - weight log p(t), token by token (Li et al., 2016a: MMI-antiLM, MMI - p(t)).

    The unconditional model reads its `bos` token (its `eos` token if it has no other) and then the
    response so far. It has the generator's vocabulary, and may be the generator itself if that is a
    causal model.

    Logits differ from log-probabilities by one constant per row, which changes neither greedy
    decoding nor sampling; beam search passes log-probabilities. So `weight` means the same
    everywhere, and nothing is normalised here: in beam search that would undo the penalties of
    earlier processors.

    Args:
        language_model (`PreTrainedModel`):
            Any causal language model.
        weight (`float`):
            Weight of log p(t), which is subtracted.
        start (`int`):
            Column where the response begins.
        pad_id (`int`, *optional*):
            Padding of finished rows. It may be missing in the language model's vocabulary;
            otherwise it is read like any token, because a generator may also generate it.
        first_tokens (`int`, *optional*):
            Penalise only so many tokens of the response (Li et al., 2016a: the step
            function g), because the end of a sentence depends least on the context.
        use_cache (`bool`, *optional*, defaults to `True`):
            Cache keys and values, instead of reading the response again at every step.
    """

    def __init__(
        self,
        language_model: PreTrainedModel,
        weight: float,
        start: int,
        pad_id: int | None,
        first_tokens: int | None = None,
        use_cache: bool = True,
    ):
        self.language_model = language_model.eval()
        self.weight, self.start, self.pad_id = weight, start, pad_id
        self.first_tokens, self.use_cache = first_tokens, use_cache
        self._opening = opening_token(language_model)
        known = range(language_model.config.vocab_size)
        self._pad_is_unknown = pad_id is not None and pad_id not in known
        self._read: Tensor | None = None  # rows in the cache, (rows, time)
        self._cache: Cache | None = None

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        response = input_ids[:, self.start :]
        if self.first_tokens is not None and response.shape[1] >= self.first_tokens:
            return scores
        log_probs = self._log_probs(response.to(self.language_model.device)).to(scores)
        if log_probs.shape != scores.shape:
            raise BadInput(
                f"the language model has {log_probs.shape[1]} tokens, "
                f"the generator {scores.shape[1]}.",
                hint="Give one with the same tokenizer.",
            )
        return scores - self.weight * log_probs

    def _log_probs(self, response: Tensor) -> Tensor:
        """log p(t) of the next token, shape `(rows, vocabulary)`."""
        rows = F.pad(response, (1, 0), value=self._opening)
        if self._pad_is_unknown and self.pad_id is not None:
            rows = rows.masked_fill(rows.eq(self.pad_id), self._opening)
        rows, index = rows.unique(dim=0, return_inverse=True)  # equal rows are computed once
        logits = self._next_logits(rows)
        return logits.float().log_softmax(-1).clamp(min=_LEAST)[index]

    @torch.no_grad()
    def _next_logits(self, rows: Tensor) -> Tensor:
        parents = self._parents(rows)
        mask = torch.ones_like(rows)  # padding is read like any token
        if parents is None or self._cache is None:
            output = self.language_model(
                input_ids=rows, attention_mask=mask, use_cache=self.use_cache
            )
        else:
            self._cache.batch_select_indices(parents)
            output = self.language_model(
                input_ids=rows[:, -1:], attention_mask=mask, past_key_values=self._cache
            )
        cache = getattr(output, "past_key_values", None)
        self._cache = cache if self.use_cache and isinstance(cache, Cache) else None
        self._read = rows
        return output.logits[:, -1]

    def _parents(self, rows: Tensor) -> Tensor | None:
        """For each row, a row of the cache that equals it but for the last token, if all have one.

        Beams are reordered between steps, and a processor does not learn how.
        """
        if self._cache is None or self._read is None or self._read.shape[1] != rows.shape[1] - 1:
            return None
        same = (self._read[None] == rows[:, None, :-1]).all(-1)  # (rows, rows read)
        return same.int().argmax(1) if bool(same.any(1).all()) else None
