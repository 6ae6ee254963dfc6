"""Logits processors, against plain Python on toy vocabularies and chi-square tests."""

import re
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from dialeval.dialogues import BadInput
from dialeval.models.tokenizers import bpe_tokenizer, word_tokenizer
from dialeval.responders.processors import (
    LanguageModelPenalty,
    RepeatedTypePenalty,
    RowNoise,
    RowTemperature,
    gumbel_noise,
    uniform_noise,
)
from tests.closeness import assert_close

SIZE, PAD, START, END = 13, 12, 1, 9
SPECIAL = {"pad_token_id": PAD, "bos_token_id": START, "eos_token_id": END}
SURE = 1e-3  # draws are fixed by their seeds: a p-value below this is a fault, not bad luck


@cache
def tiny(kind: str, seed: int = 1, size: int = SIZE) -> PreTrainedModel:
    """A random model far from flat."""
    torch.manual_seed(seed)
    if kind == "gpt2":
        shape = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32}
        shape |= {"tie_word_embeddings": False}  # tied ones say the same word again and again
        config = GPT2Config(vocab_size=size, initializer_range=0.2, **shape, **SPECIAL)
        return GPT2LMHeadModel(config).eval()
    if kind == "llama":
        shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
        shape |= {"num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.3}
        return LlamaForCausalLM(LlamaConfig(vocab_size=size, **shape, **SPECIAL)).eval()
    shape = {"d_model": 16, "max_position_embeddings": 32, "init_std": 0.3}
    for side in ("encoder", "decoder"):
        shape |= {f"{side}_layers": 1, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 32}
    shape |= {"decoder_start_token_id": START, "forced_eos_token_id": None}
    return BartForConditionalGeneration(BartConfig(vocab_size=size, **shape, **SPECIAL)).eval()


def start_of(model: PreTrainedModel, width: int) -> int:
    return 1 if model.config.is_encoder_decoder else width


def generated(model: PreTrainedModel, contexts: list[list[int]], processor, **options):
    """Responses up to their end token; contexts are padded where the model wants it."""
    width = max(map(len, contexts))
    ids, mask = torch.full((len(contexts), width), PAD), torch.zeros(len(contexts), width)
    for row, context in enumerate(contexts):
        left = 0 if model.config.is_encoder_decoder else width - len(context)
        ids[row, left : left + len(context)] = torch.tensor(context)
        mask[row, left : left + len(context)] = 1
    options = {"max_new_tokens": 8, "do_sample": False, **options}
    output = model.generate(
        input_ids=ids,
        attention_mask=mask,
        logits_processor=processor(start_of(model, width)),
        **options,
    )
    rows = output[:, start_of(model, width) :].tolist()
    return [row[: row.index(END) + 1] if END in row else row for row in rows]


# Noise by row


def split_mix(state: int) -> int:
    """The output function of SplitMix64, in Python's whole numbers."""
    state = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) % 2**64
    state = ((state ^ state >> 27) * 0x94D049BB133111EB) % 2**64
    return state ^ state >> 31


def test_noise_is_a_hash_of_seed_step_and_token():
    seeds, golden = [0, 1, -1, 2**63 - 1, -(2**63), 123456789], 0x9E3779B97F4A7C15
    for step in (0, 1, 77):
        noise = uniform_noise(torch.tensor(seeds), step, 5)
        for row, seed in enumerate(seeds):
            key = split_mix((split_mix((seed + golden) % 2**64) + (step + 1) * golden) % 2**64)
            for token in range(5):
                bits = split_mix((key + (token + 1) * golden) % 2**64)
                assert noise[row, token].item() == ((bits >> 12) + 0.5) / 2**52


def test_a_seed_of_any_size_counts_by_its_last_64_bits():
    scores, ids = torch.zeros(2, 9), torch.zeros(2, 1, dtype=torch.long)
    huge = RowNoise([2**64 + 5, 2**64 - 3], 0)(ids, scores)
    assert torch.equal(huge, RowNoise([5, -3], 0)(ids, scores))


def draws(rows: int = 100, steps: int = 20, tokens: int = 500) -> np.ndarray:
    seeds = torch.arange(rows)  # neighbours, the hardest case for a hash
    return torch.stack([uniform_noise(seeds, step, tokens) for step in range(steps)]).numpy()


def test_noise_is_uniform_strictly_between_0_and_1():
    noise = draws()  # (steps, rows, tokens), a million
    assert noise.min() > 0 and noise.max() < 1
    counts = np.bincount((noise.ravel() * 256).astype(int), minlength=256)
    assert stats.chisquare(counts).pvalue > SURE
    by_token = np.apply_along_axis(lambda u: stats.kstest(u, "uniform").pvalue, 0,
                                   noise.reshape(-1, 500)[:, :50])  # fmt: skip
    assert by_token.min() > SURE / 50


@pytest.mark.parametrize("axis, what", [(0, "steps"), (1, "rows"), (2, "tokens")])
@pytest.mark.parametrize("apart", [1, 2])
def test_noise_of_neighbours_is_independent(axis, what, apart):
    noise = draws()
    left = np.take(noise, range(noise.shape[axis] - apart), axis).ravel()
    right = np.take(noise, range(apart, noise.shape[axis]), axis).ravel()
    cells = (left * 16).astype(int) * 16 + (right * 16).astype(int)
    assert stats.chisquare(np.bincount(cells, minlength=256)).pvalue > SURE, what
    assert abs(np.corrcoef(left, right)[0, 1]) < 4 / len(left) ** 0.5, what


def test_noise_has_the_distribution_of_gumbel():
    noise = gumbel_noise(torch.arange(50), 3, 400).numpy().ravel()
    assert stats.kstest(noise, "gumbel_r").pvalue > SURE


def test_noise_of_a_row_depends_on_no_other_row():
    torch.manual_seed(0)
    scores, ids = torch.randn(32, 40), torch.zeros(32, 7, dtype=torch.long)
    seeds = [seed * 31 for seed in range(32)]
    whole = RowNoise(seeds, 4)(ids, scores)
    alone = [RowNoise([seed], 4)(ids[:1], scores[i : i + 1]) for i, seed in enumerate(seeds)]
    assert torch.equal(whole, torch.cat(alone))
    parts = [RowNoise(seeds[a : a + 5], 4)(ids[:5], scores[a : a + 5]) for a in (0, 5, 10)]
    assert torch.equal(whole[:15], torch.cat(parts))
    order = torch.randperm(32)
    turned = RowNoise([seeds[i] for i in order], 4)(ids, scores[order])
    assert torch.equal(turned, whole[order])
    wider = RowNoise(seeds, 9)(torch.zeros(32, 12, dtype=torch.long), scores)
    assert torch.equal(wider, whole)  # five columns of padding more, the same step
    assert not torch.equal(RowNoise(seeds, 3)(ids, scores), whole)


def warped(scores: torch.Tensor, warpers: list) -> torch.Tensor:
    for warper in warpers:
        scores = warper(None, scores)
    return scores


WARPERS = {
    "none": [],
    "temperature": [TemperatureLogitsWarper(0.6)],
    "top-k": [TopKLogitsWarper(5)],
    "top-p": [TopPLogitsWarper(0.8)],
    "all": [TemperatureLogitsWarper(1.5), TopKLogitsWarper(7), TopPLogitsWarper(0.9)],
}


@pytest.mark.parametrize("warpers", WARPERS.values(), ids=WARPERS)
def test_the_greatest_noisy_score_is_a_sample_of_the_softmax(warpers):
    torch.manual_seed(2)
    scores = warped(torch.randn(1, 12) * 1.5, warpers)
    ids = torch.zeros(20_000, 1, dtype=torch.long)
    noisy = RowNoise(range(20_000), 1)(ids, scores.expand(20_000, -1))
    counts = noisy.argmax(-1).bincount(minlength=12).numpy()
    expected = scores[0].double().softmax(-1).numpy() * 20_000
    possible = expected > 0
    assert not counts[~possible].any()
    assert stats.chisquare(counts[possible], expected[possible]).pvalue > SURE


def test_what_was_impossible_stays_impossible():
    scores = torch.tensor([[float("-inf"), 0.0, float("-inf")]])
    scores_after = RowNoise([3], 0)(torch.zeros(1, 1), scores)
    assert (
        scores_after.isinf().tolist() == [[True, False, True]]
        and scores_after.dtype == scores.dtype
    )


def test_generated_pairs_of_tokens_have_their_probabilities():
    model, context, rows = tiny("gpt2"), [3, 4], 4000
    responses = generated(
        model, [context] * rows, lambda start: [RowNoise(range(rows), start)],
        max_new_tokens=2, min_new_tokens=2,
    )  # fmt: skip
    counts, expected = np.zeros((SIZE, SIZE)), np.zeros((SIZE, SIZE))
    np.add.at(counts, tuple(np.array(responses).T), 1)
    with torch.no_grad():
        masked = model(torch.tensor([context])).logits[0, -1].index_fill(0, torch.tensor(END), -99)
        for token, p in enumerate(masked.double().softmax(-1)):
            after = model(torch.tensor([[*context, token]])).logits[0, -1]
            after = after.index_fill(0, torch.tensor(END), -99).double().softmax(-1)
            expected[token] = (p * after).numpy() * rows
    often = expected >= 5
    observed = [*counts[often], counts[~often].sum()]
    assert stats.chisquare(observed, [*expected[often], expected[~often].sum()]).pvalue > SURE


@pytest.mark.parametrize("kind", ["gpt2", "llama", "bart"])
def test_a_reply_is_the_same_alone_and_padded_in_any_batch(kind):
    model = tiny(kind)
    random = np.random.default_rng(0)
    contexts = [random.integers(3, 12, size=size).tolist() for size in (3, 9, 1, 5, 7, 2, 4, 6)]
    seeds = list(range(100, 108))
    together = generated(model, contexts, lambda start: [RowNoise(seeds, start)])
    backwards = generated(model, contexts[::-1], lambda start: [RowNoise(seeds[::-1], start)])
    assert backwards[::-1] == together
    for seed, context, reply in zip(seeds, contexts, together, strict=True):
        assert generated(model, [context], lambda s, k=seed: [RowNoise([k], s)]) == [reply]
    assert len(set(map(tuple, together))) > 4


def test_as_many_seeds_as_rows_are_asked_for():
    with pytest.raises(BadInput, match="one seed for each of 3 rows, but got 2. Repeat them"):
        RowNoise([1, 2], 0)(torch.zeros(3, 1), torch.zeros(3, 4))


# Temperature by row


def test_each_row_is_divided_by_its_own_temperature():
    torch.manual_seed(0)
    scores, temperatures = torch.randn(4, 6), (0.3, 1.0, 10.0, 100.0)
    divided = RowTemperature(temperatures)(torch.zeros(4, 1), scores)
    for row, temperature in enumerate(temperatures):
        expected = TemperatureLogitsWarper(temperature)(None, scores[row : row + 1])
        assert torch.allclose(divided[row : row + 1], expected)
    assert divided.dtype == scores.dtype
    assert repr(RowTemperature((0.3, 1.0))) == "RowTemperature(temperatures=(0.3, 1.0))"


def test_temperatures_that_are_none_are_refused():
    for wrong in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(BadInput, match=f"temperatures above 0, but got {wrong}"):
            RowTemperature([1.0, wrong])
    with pytest.raises(BadInput, match="one temperature for each of 2 rows, but got 1"):
        RowTemperature([1.0])(torch.zeros(2, 1), torch.zeros(2, 4))


# Repeated words

TEXTS = [
    "No, no. Nothing like oranges but I like orange juice; oranges don't like me!",
    "Orange is near. Near oranges no one likes juice, it's no juice.",
    "Well-known juices (like oranges) near Nothing... NO juice",
]
TOKENIZERS = {
    "words": word_tokenizer(TEXTS),
    "cased words": word_tokenizer(TEXTS, lower=False),
    "pieces": bpe_tokenizer(TEXTS, merges=12),
    "long pieces": bpe_tokenizer(TEXTS, merges=100),
}


def may_come_again(word: str) -> bool:
    """Stop words and, for the contractions of the toy texts, what stands before `'t` and `'s`."""
    return (word != "no" and word in ENGLISH_STOP_WORDS) or word in ("don't", "it's")


def repeats_by_text(tokenizer, generated: list[int]) -> set[int]:
    """Tokens that repeat a word, by writing out the text with and without each of them."""
    text = tokenizer.decode(generated, clean_up_tokenization_spaces=False)
    words = {word.casefold() for word in re.findall(r"[A-Za-z']+", text)}
    tokens = set()
    for token in set(range(len(tokenizer))) - set(tokenizer.all_special_ids):
        longer = tokenizer.decode([*generated, token], clean_up_tokenization_spaces=False)
        added = longer[len(text) :]
        begins = added[:1].isspace() or not re.match(r"[A-Za-z']", text[-1:] or " ")
        word = added.strip().casefold()
        whole = begins and re.fullmatch(r"[a-z']+", word) and word != "'"
        if whole and word in words and not may_come_again(word):
            tokens.add(token)
    return tokens


def plain_tokens(tokenizer) -> list[int]:
    texts = tokenizer.batch_decode([[token] for token in range(len(tokenizer))])
    known = [i for i, text in enumerate(texts) if re.fullmatch(r"\s?[A-Za-z'.,!;()-]+", text)]
    return sorted(set(known) - set(tokenizer.all_special_ids))


def penalised(tokenizer, rows: list[list[int]], penalty: float = 2.5, **options) -> list[set[int]]:
    """Tokens of each row whose score fell by the penalty; all others must be unchanged."""
    ids = torch.tensor(rows)
    prompt = torch.randint(len(tokenizer), (len(rows), 3))  # what stands before does not count
    scores = torch.randn(len(rows), len(tokenizer))
    processor = RepeatedTypePenalty(tokenizer, penalty, 3, **options)
    lost = scores - processor(torch.cat([prompt, ids], 1), scores)
    fell = lost > penalty / 2
    assert_close(lost, fell * penalty)
    return [set(row.nonzero()[:, 0].tolist()) for row in fell]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_repeated_words_are_those_of_the_written_text(name):
    tokenizer, random = TOKENIZERS[name], np.random.default_rng(0)
    pool = np.array(plain_tokens(tokenizer))
    for length in (1, 2, 5, 9):
        rows = random.choice(pool, size=(6, length)).tolist()
        penalised_tokens = penalised(tokenizer, rows)
        assert penalised_tokens == [repeats_by_text(tokenizer, row) for row in rows]
    texts = [TEXTS[0], "nothing but oranges near no juice no", "Orange juice. near it's don't"]
    for text in texts:
        row = tokenizer(text)["input_ids"]
        (penalised_tokens,) = penalised(tokenizer, [row])
        assert penalised_tokens == repeats_by_text(tokenizer, row)
        assert penalised_tokens or name == "pieces"


def names(tokenizer, tokens: set[int]) -> set[str]:
    return {tokenizer.decode([token]) for token in tokens}


def test_words_are_penalised_and_stop_words_and_punctuation_are_not():
    tokenizer = TOKENIZERS["words"]
    row = tokenizer("no , i don't like oranges ! it's juice . no")["input_ids"]
    (penalised_tokens,) = penalised(tokenizer, [row])
    assert names(tokenizer, penalised_tokens) == {"no", "like", "oranges", "juice"}
    (penalised_tokens,) = penalised(tokenizer, [row], stop_words={"like"})
    assert names(tokenizer, penalised_tokens) == {"no", "i", "don't", "oranges", "it's", "juice"}


def test_upper_and_lower_case_are_one_word():
    tokenizer = TOKENIZERS["cased words"]
    (penalised_tokens,) = penalised(tokenizer, [tokenizer("Orange near")["input_ids"]])
    assert names(tokenizer, penalised_tokens) == {"Orange", "orange", "near", "Near"}


def test_a_word_in_pieces_holds_back_the_token_that_spells_it_whole():
    tokenizer = TOKENIZERS["long pieces"]
    whole = tokenizer(" oranges")["input_ids"]
    pieces = [tokenizer.convert_tokens_to_ids(text) for text in ("O", "rang", "e", "s")]
    assert len(whole) == 1 and tokenizer.decode(pieces) == "Oranges"
    (penalised_tokens,) = penalised(tokenizer, [pieces])
    assert penalised_tokens == set(whole)


def test_the_beginning_of_a_longer_word_is_not_a_word():
    tokenizer = TOKENIZERS["long pieces"]
    orange, near = (tokenizer(text)["input_ids"] for text in (" orange", " near"))
    assert len(orange) == len(near) == 1
    s = tokenizer.convert_tokens_to_ids("s")
    (penalised_tokens,) = penalised(tokenizer, [[*orange, s, *near]])
    assert orange[0] not in penalised_tokens and near[0] in penalised_tokens
    assert {" oranges"} <= names(tokenizer, penalised_tokens)


def test_special_tokens_and_pieces_of_characters_end_in_no_penalty():
    for tokenizer in TOKENIZERS.values():
        special = tokenizer.all_special_ids
        assert penalised(tokenizer, [[*special, *special]]) == [set()]
    tokenizer = TOKENIZERS["pieces"]
    row = tokenizer("é è é ☃ ☃")["input_ids"]
    (penalised_tokens,) = penalised(tokenizer, [row])
    assert not any("\ufffd" in name for name in names(tokenizer, penalised_tokens))


def test_no_response_yet_means_no_penalty_and_infinity_forbids():
    tokenizer = TOKENIZERS["words"]
    juice = tokenizer("juice")["input_ids"]
    scores = torch.zeros(1, len(tokenizer) + 5)  # a model whose vocabulary is filled up
    processor = RepeatedTypePenalty(tokenizer, float("inf"), 1)
    assert torch.equal(processor(torch.tensor([juice]), scores), scores)
    scores_after = processor(torch.tensor([juice + juice]), scores)
    assert (
        scores_after.isinf().nonzero().tolist() == [[0, juice[0]]]
        and not scores_after.isnan().any()
    )


def test_a_response_does_not_say_a_word_twice_when_that_is_forbidden():
    tokenizer = TOKENIZERS["words"]
    model = tiny("gpt2", size=len(tokenizer))
    context = [5, 6, 7]
    for beams in (1, 3):
        free, held = (
            model.generate(
                torch.tensor([context]), attention_mask=torch.ones(1, 3), max_new_tokens=12,
                min_new_tokens=12, num_beams=beams, do_sample=False,
                logits_processor=[RepeatedTypePenalty(tokenizer, penalty, 3, stop_words=())],
            )[0, 3:].tolist()
            for penalty in (0.0, 1e4)
        )  # fmt: skip
        words = [[w for w in map(tokenizer.decode, row) if w[0].isalpha()] for row in (free, held)]
        assert len(set(words[0])) < len(words[0])
        assert len(set(words[1])) == len(words[1])


# MMI - p(t)

CONTEXTS = [[3, 4, 5], [6, 7, 8], [9, 10, 11], [5, 5, 3]]
BEAMS, LONGEST = 4, 6


@cache
@torch.no_grad()
def log_probs_of(
    model: PreTrainedModel, context: tuple[int, ...], response: tuple[int, ...]
) -> torch.Tensor:
    if model.config.is_encoder_decoder:
        before = [model.config.decoder_start_token_id, *response]
        ids = {"input_ids": [context], "decoder_input_ids": [before]}
    else:
        ids = {"input_ids": [[*context, *response]]}
    logits = model(**{name: torch.tensor(row) for name, row in ids.items()}).logits[0, -1]
    return logits.log_softmax(-1)


def mutual(model, language_model, weight: float, first_tokens: int | None, context) -> Callable:
    """From the response so far to log p(t|s) - weight log p(t), with one forward pass each."""

    def of(response: tuple[int, ...]) -> list[float]:
        scores = log_probs_of(model, tuple(context), response)
        if first_tokens is None or len(response) < first_tokens:
            scores = scores - weight * log_probs_of(language_model, (START,), response)
        return scores.tolist()

    return of


def greedy(scores_of: Callable) -> list[int]:
    response = ()
    while len(response) < LONGEST and END not in response:
        scores = scores_of(response)
        response += (scores.index(max(scores)),)
    return list(response)


def beam(scores_of: Callable) -> list[int]:
    """The best response by beam search in plain Python, without a length penalty."""
    running, finished = [(0.0, ())], []
    for length in range(1, LONGEST + 1):
        candidates = sorted(
            ((score + s, (*response, token)) for score, response in running
             for token, s in enumerate(scores_of(response))), reverse=True,
        )[: 2 * BEAMS]  # fmt: skip
        ended = [
            candidate
            for candidate in candidates[:BEAMS]
            if candidate[1][-1] == END or length == LONGEST
        ]
        finished = sorted(finished + ended, reverse=True)[:BEAMS]
        running = [candidate for candidate in candidates if candidate[1][-1] != END][:BEAMS]
        if len(finished) == BEAMS and running[0][0] <= finished[-1][0]:
            break
    return list(finished[0][1])


@pytest.mark.parametrize("first_tokens", [None, 2])
@pytest.mark.parametrize("search", [greedy, beam])
@pytest.mark.parametrize("kinds", [("gpt2", "gpt2"), ("llama", "gpt2"), ("bart", "llama")])
def test_mutual_information_equals_plain_python(kinds, search, first_tokens):
    model, language_model = tiny(kinds[0]), tiny(kinds[1], seed=7)
    beams = {"num_beams": BEAMS, "length_penalty": 0.0} if search is beam else {}
    for use_cache in (True, False):
        responses = generated(
            model, CONTEXTS, max_new_tokens=LONGEST, **beams,
            processor=lambda start, use_cache=use_cache: [
                LanguageModelPenalty(language_model, 0.9, start, PAD, first_tokens, use_cache)
            ],
        )  # fmt: skip
        expected = [
            search(mutual(model, language_model, 0.9, first_tokens, context))
            for context in CONTEXTS
        ]
        assert responses == expected
    assert responses != generated(
        model, CONTEXTS, lambda start: [], max_new_tokens=LONGEST, **beams
    )


def test_sampling_with_a_penalty_has_the_distribution_it_names():
    model, language_model = tiny("gpt2"), tiny("gpt2", seed=7)
    responses = generated(
        model, [CONTEXTS[0]] * 4000, max_new_tokens=1,
        processor=lambda start: [
            LanguageModelPenalty(language_model, 0.4, start, PAD), RowNoise(range(4000), start)
        ],
    )  # fmt: skip
    scores = mutual(model, language_model, 0.4, None, CONTEXTS[0])(())
    expected = torch.tensor(scores).double().softmax(-1).numpy() * 4000
    counts = np.bincount(np.array(responses)[:, 0], minlength=SIZE)
    assert stats.chisquare(counts, expected).pvalue > SURE


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_the_cache_follows_beams_that_change_places(kind):
    language_model = tiny(kind, seed=7)
    torch.manual_seed(0)
    cached, again = (
        LanguageModelPenalty(language_model, 0.7, 2, PAD, None, c) for c in (True, False)
    )
    rows, scores = torch.full((6, 2), 4), torch.randn(6, SIZE)
    for _ in range(9):
        assert_close(cached(rows, scores), again(rows, scores))
        rows = torch.cat([rows[torch.randint(6, (6,))], torch.randint(SIZE, (6, 1))], 1)
    strange = torch.randint(SIZE, (3, 9))  # rows that nobody has read before
    assert_close(cached(strange, scores[:3]), again(strange, scores[:3]))


def test_with_the_cache_each_step_reads_one_token_of_each_different_row():
    model, language_model = tiny("gpt2"), tiny("gpt2", seed=7)
    shapes = []
    hook = language_model.register_forward_pre_hook(
        lambda _, args, kwargs: shapes.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    generated(
        model, CONTEXTS, num_beams=BEAMS, max_new_tokens=5, min_new_tokens=5,
        processor=lambda start: [LanguageModelPenalty(language_model, 0.4, start, PAD)],
    )  # fmt: skip
    hook.remove()
    assert shapes[0] == (1, 1)  # nothing is said yet, so all rows are one
    assert len(shapes) == 5 and all(width == 1 for _, width in shapes)
    assert all(1 < rows <= len(CONTEXTS) * BEAMS for rows, _ in shapes[1:])


def test_a_processor_serves_one_call_after_another():
    model, language_model = tiny("gpt2"), tiny("gpt2", seed=7)
    one = LanguageModelPenalty(language_model, 0.4, 3, PAD)
    first = generated(model, CONTEXTS, lambda start: [one])
    assert generated(model, CONTEXTS[::-1], lambda start: [one])[::-1] == first
    assert generated(model, CONTEXTS, lambda start: [one]) == first


def test_the_generator_may_be_its_own_language_model():
    model = tiny("gpt2")
    responses = generated(
        model, CONTEXTS, lambda start: [LanguageModelPenalty(model, 0.4, start, PAD)],
        max_new_tokens=LONGEST,
    )  # fmt: skip
    assert responses == [greedy(mutual(model, model, 0.4, None, context)) for context in CONTEXTS]


def test_padding_that_the_language_model_does_not_know_is_not_read():
    language_model = tiny("gpt2", size=SIZE)
    processor = LanguageModelPenalty(language_model, 1.0, 1, pad_id=999)
    rows, scores = torch.tensor([[3, 4, 5], [3, END, 999]]), torch.zeros(2, SIZE)
    scores_after = processor(rows, scores)
    alone = processor(rows[:1], scores[:1])
    assert_close(scores_after[:1], alone)
    assert scores_after.isfinite().all()


def test_impossible_tokens_stay_impossible_for_the_generator_alone():
    class Sure(torch.nn.Module):
        config, device = SimpleNamespace(bos_token_id=0, vocab_size=3), torch.device("cpu")

        def forward(self, input_ids, **kwargs):
            logits = torch.tensor([0.0, float("-inf"), 0.0]).expand(*input_ids.shape, 3)
            return SimpleNamespace(logits=logits, past_key_values=None)

    scores = torch.tensor([[float("-inf"), float("-inf"), 1.0], [0.0, 0.0, 1.0]])
    scores_after = LanguageModelPenalty(Sure(), 0.5, 0, None)(
        torch.zeros(2, 1, dtype=torch.long), scores
    )
    assert (
        scores_after[0].isinf().tolist() == [True, True, False] and scores_after[1].isfinite().all()
    )
    assert not scores_after.isnan().any()


def test_a_language_model_of_another_vocabulary_is_refused():
    processor = LanguageModelPenalty(tiny("gpt2", size=20), 0.4, 1, PAD)
    with pytest.raises(BadInput, match="has 20 tokens, the generator 13. Give one with the same"):
        processor(torch.zeros(1, 1, dtype=torch.long), torch.zeros(1, SIZE))
