"""Sibling-penalised beam search, against a plain beam search in Python for both readings."""

import inspect
from collections.abc import Callable
from functools import cache

import pytest
import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedModel,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.generation import GenerationMixin

from dialeval.dialogues import BadInput
from dialeval.responders import sibling
from dialeval.responders.sibling import OVERRIDDEN, SiblingPenalty, ranks, sibling_beam

SIZE, PAD, START, END = 13, 12, 1, 9
SPECIAL = {"pad_token_id": PAD, "bos_token_id": START, "eos_token_id": END}
BEAMS, LONGEST = 4, 7
CONTEXTS = [[3, 4, 5], [6, 7, 8], [9, 10, 11], [5, 5, 3]]
# Contexts whose best beam by rank is not the best by log-probability when the search may stop.
CONTEXTS += [[6, 11, 12], [2, 0, 9], [12, 2, 2]]
KINDS = ("gpt2", "bart", "t5")


def tiny(kind: str) -> PreTrainedModel:
    torch.manual_seed(1)
    if kind == "gpt2":
        shape = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32}
        shape |= {"tie_word_embeddings": False}  # tied ones say the same word again and again
        config = GPT2Config(vocab_size=SIZE, initializer_range=0.2, **shape, **SPECIAL)
        return GPT2LMHeadModel(config).eval()
    if kind == "bart":
        shape = {"d_model": 16, "max_position_embeddings": 32, "init_std": 0.3}
        for side in ("encoder", "decoder"):
            shape |= {f"{side}_layers": 1, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 32}
        shape |= {"decoder_start_token_id": START, "forced_eos_token_id": None}
        config = BartConfig(vocab_size=SIZE, **shape, **SPECIAL)
        return BartForConditionalGeneration(config).eval()
    shape = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
    config = T5Config(
        vocab_size=SIZE, decoder_start_token_id=PAD, initializer_factor=3.0, **shape, **SPECIAL
    )
    return T5ForConditionalGeneration(config).eval()


@pytest.fixture(scope="module", params=KINDS)
def model(request) -> PreTrainedModel:
    return tiny(request.param)


def next_log_probs(model: PreTrainedModel, context: list[int]) -> Callable:
    """From the response so far to log-probabilities of the next token, one forward pass each."""
    return _next_log_probs(model, tuple(context))


@cache
def _next_log_probs(model: PreTrainedModel, context: tuple[int, ...]) -> Callable:
    @cache
    @torch.no_grad()
    def of(response: tuple[int, ...]) -> list[float]:
        if model.config.is_encoder_decoder:
            before = [model.config.decoder_start_token_id, *response]
            ids = {"input_ids": [context], "decoder_input_ids": [before]}
        else:
            ids = {"input_ids": [[*context, *response]]}
        logits = model(**{name: torch.tensor(row) for name, row in ids.items()}).logits[0, -1]
        return logits.log_softmax(-1).tolist()

    return of


def beam(log_probs: Callable, gamma: float, accumulated: bool, power: float, never: bool):
    """Finished responses with their scores, best first, as plain Python finds them."""
    running, finished = [(0.0, ())], []
    for length in range(1, LONGEST + 1):
        candidates = []
        for score, response in running:
            siblings = sorted(enumerate(log_probs(response)), key=lambda pair: -pair[1])
            for rank, (token, log_p) in enumerate(siblings, 1):
                ranked = score + log_p - gamma * rank
                kept = ranked if accumulated else score + log_p
                candidates.append((ranked, kept, (*response, token)))
        candidates = sorted(candidates, reverse=True)[: 2 * BEAMS]
        ended = [candidate[2][-1] == END or length == LONGEST for candidate in candidates]
        for (_, kept, response), end in list(zip(candidates, ended, strict=True))[:BEAMS]:
            if end:
                finished.append((kept / length**power, response))
        finished = sorted(finished, reverse=True)[:BEAMS]
        alive = [candidate for candidate, end in zip(candidates, ended, strict=True) if not end]
        running = [(kept, response) for _, kept, response in alive[:BEAMS]]
        hoped = max((kept for kept, _ in running), default=0.0)
        hoped /= (LONGEST if never else length) ** power
        if len(finished) == BEAMS and hoped <= finished[-1][0]:
            break
    return finished


def generated(model: PreTrainedModel, contexts, number: int = BEAMS, **options):
    """Responses up to their end token with their scores, `number` a context, from `generate`."""
    ids = torch.tensor(contexts)
    options = {"early_stopping": "never", "do_sample": False, **options}
    output = model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        num_beams=BEAMS,
        num_return_sequences=number,
        max_new_tokens=LONGEST,
        return_dict_in_generate=True,
        output_scores=True,
        **options,
    )
    width = 1 if model.config.is_encoder_decoder else ids.shape[1]
    rows = output.sequences[:, width:].tolist()
    rows = [tuple(row[: row.index(END) + 1] if END in row else row) for row in rows]
    scored = list(zip(output.sequences_scores.tolist(), rows, strict=True))
    return [scored[at : at + number] for at in range(0, len(scored), number)]


def assert_same(results, expected) -> None:
    assert [row for _, row in results] == [row for _, row in expected]
    assert [score for score, _ in results] == pytest.approx([s for s, _ in expected], abs=1e-4)


@pytest.mark.parametrize("gamma", [0.3, 3.0])
@pytest.mark.parametrize("power, early_stopping", [(1.0, "never"), (0.0, False), (1.0, False)])
def test_the_penalty_that_only_ranks_equals_plain_python(model, gamma, power, early_stopping):
    options = {"length_penalty": power, "early_stopping": early_stopping}
    results = generated(model, CONTEXTS, custom_generate=sibling_beam, gamma=gamma, **options)
    for context, responses in zip(CONTEXTS, results, strict=True):
        reference = beam(
            next_log_probs(model, context), gamma, False, power, early_stopping == "never"
        )
        assert_same(responses, reference)


@pytest.mark.parametrize("gamma", [0.3, 1.0])
def test_the_penalty_that_adds_up_equals_plain_python(model, gamma):
    results = generated(model, CONTEXTS, logits_processor=[SiblingPenalty(gamma)])
    for context, responses in zip(CONTEXTS, results, strict=True):
        assert_same(responses, beam(next_log_probs(model, context), gamma, True, 1.0, True))


def test_the_two_readings_and_plain_beam_search_differ(model):
    plain = generated(model, CONTEXTS)
    ranking = generated(model, CONTEXTS, custom_generate=sibling_beam, gamma=1.0)
    adding = generated(model, CONTEXTS, logits_processor=[SiblingPenalty(1.0)])
    rows = [
        [[row for _, row in beams] for beams in results] for results in (plain, ranking, adding)
    ]
    assert rows[0] != rows[1] != rows[2] != rows[0]


def test_without_a_penalty_it_is_plain_beam_search(model):
    results = generated(model, CONTEXTS, custom_generate=sibling_beam, gamma=0.0)
    for responses, expected in zip(results, generated(model, CONTEXTS), strict=True):
        assert_same(responses, expected)


def test_a_great_penalty_gives_every_beam_its_own_first_word(model):
    # No beam ends, so none makes room for a second child of another.
    options = {"custom_generate": sibling_beam, "min_new_tokens": LONGEST}
    results = generated(model, CONTEXTS, gamma=100.0, **options)
    for context, responses in zip(CONTEXTS, results, strict=True):
        first = next_log_probs(model, context)(())
        best = sorted(set(range(SIZE)) - {END}, key=lambda token: -first[token])
        assert {row[0] for _, row in responses} == set(best[:BEAMS])


def test_fewer_responses_are_the_best_of_more(model):
    all_of_them = generated(model, CONTEXTS, custom_generate=sibling_beam, gamma=0.5)
    some = generated(model, CONTEXTS, number=2, custom_generate=sibling_beam, gamma=0.5)
    for few, many in zip(some, all_of_them, strict=True):
        assert_same(few, many[:2])


def test_scores_stay_log_probabilities(model):
    options = {"custom_generate": sibling_beam, "gamma": 0.7, "length_penalty": 0.0}
    for context, responses in zip(CONTEXTS, generated(model, CONTEXTS, **options), strict=True):
        log_probs = next_log_probs(model, context)
        for score, row in responses:
            total = sum(log_probs(row[:at])[token] for at, token in enumerate(row))
            assert score == pytest.approx(total, abs=1e-4)


def test_a_context_gets_the_same_responses_alone_and_in_a_batch(model):
    together = generated(model, CONTEXTS, custom_generate=sibling_beam, gamma=0.5)
    for context, expected in zip(CONTEXTS, together, strict=True):
        alone = generated(model, [context], custom_generate=sibling_beam, gamma=0.5)
        assert_same(alone[0], expected)


def test_ranks_count_from_the_best_and_the_first_of_equals():
    scores = torch.tensor([[0.1, 0.5, 0.3], [2.0, 2.0, float("-inf")]])
    assert ranks(scores).tolist() == [[2, 0, 1], [0, 1, 2]]
    penalised = SiblingPenalty(2.0)(torch.zeros(2, 1), scores)
    expected = [[0.1 - 6, 0.5 - 2, 0.3 - 4], [0.0, -2.0, float("-inf")]]
    assert torch.allclose(penalised, torch.tensor(expected))
    assert repr(SiblingPenalty(2.0)) == "SiblingPenalty(gamma=2.0)"


class Breaks(LogitsProcessor):
    def __call__(self, input_ids, scores):
        raise RuntimeError("broken on purpose")


def test_the_model_is_left_as_it_was_also_after_an_error():
    model = tiny("gpt2")
    before = generated(model, CONTEXTS)
    generated(model, CONTEXTS, custom_generate=sibling_beam)
    with pytest.raises(RuntimeError, match="broken on purpose"):
        generated(
            model,
            CONTEXTS,
            custom_generate=sibling_beam,
            logits_processor=LogitsProcessorList([Breaks()]),
        )
    assert not set(OVERRIDDEN) & set(vars(model))
    assert generated(model, CONTEXTS) == before


def test_methods_that_the_caller_had_set_on_the_model_come_back():
    model = tiny("gpt2")
    original = model._get_top_k_continuations
    model._get_top_k_continuations = original
    generated(model, CONTEXTS, custom_generate=sibling_beam)
    assert vars(model)["_get_top_k_continuations"] is original


def test_sampling_is_refused():
    with pytest.raises(BadInput, match="does not sample. Pass `do_sample=False`."):
        generated(tiny("gpt2"), CONTEXTS, custom_generate=sibling_beam, do_sample=True)


def test_the_private_names_of_transformers_are_as_this_file_needs_them():
    needed = {
        "_get_top_k_continuations": {"accumulated_log_probs", "beams_to_keep", "num_beams"},
        "_get_running_beams_for_next_iteration": {
            "topk_log_probs",
            "topk_running_sequences",
            "topk_running_beam_indices",
            "next_token_hits_stopping_criteria",
            "num_beams",
        },
        "_update_finished_beams": {"topk_log_probs"},
        "_beam_search": {
            "input_ids",
            "logits_processor",
            "stopping_criteria",
            "generation_config",
            "model_kwargs",
        },
        "_gather_beams": {"tensor", "beam_indices"},
    }
    assert set(OVERRIDDEN) < set(needed)
    for name, parameters in needed.items():
        method = getattr(GenerationMixin, name, None)
        assert method is not None, f"transformers has no GenerationMixin.{name} any more"
        missing = parameters - set(inspect.signature(method).parameters)
        assert not missing, f"GenerationMixin.{name} has no {missing} any more"
    steps = inspect.getsource(GenerationMixin._beam_search)
    for name in OVERRIDDEN:
        assert f"self.{name}(" in steps, f"GenerationMixin._beam_search calls no {name} any more"
    running = inspect.signature(GenerationMixin._get_running_beams_for_next_iteration).parameters
    assert set(running) - {"self"} == needed["_get_running_beams_for_next_iteration"]


def test_a_transformers_without_those_names_is_refused(monkeypatch):
    monkeypatch.setattr(sibling, "OVERRIDDEN", ("_no_such_step",))
    with pytest.raises(BadInput, match="has no _no_such_step. Use `SiblingPenalty`"):
        generated(tiny("gpt2"), CONTEXTS, custom_generate=sibling_beam)
