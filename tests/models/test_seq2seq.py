import itertools

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoConfig, AutoModelForSeq2SeqLM, GenerationConfig

from dialeval.models.configuration_seq2seq import Seq2SeqConfig
from dialeval.models.modeling_seq2seq import Seq2SeqGenerator
from dialeval.models.recurrent_decoding import LEAST

AutoConfig.register(Seq2SeqConfig.model_type, Seq2SeqConfig, exist_ok=True)
AutoModelForSeq2SeqLM.register(Seq2SeqConfig, Seq2SeqGenerator, exist_ok=True)

PAD, BOS, EOS = 0, 2, 3
ROWS = [[5, 6, 7, 8, EOS], [9, EOS], [10, 11, 4, EOS], [12, 13, 14, 15, 16, EOS]]
ANSWERS = torch.tensor([[5, 9, EOS], [7, EOS, -100], [EOS, -100, -100], [14, 4, 8]])
KINDS = {
    "dot": {},
    "bahdanau": {"attention": "bahdanau"},
    "bidirectional": {"bidirectional": True},
    "fed": {"input_feeding": True},
    "copy": {"copy": True},
    "all": {"attention": "bahdanau", "bidirectional": True, "input_feeding": True, "copy": True},
    "tied": {"tie_embeddings": True, "embedding_size": 8},
    "one-layer": {"num_layers": 1},
}


def build(spread: float = 1.5, **settings) -> Seq2SeqGenerator:
    """A tiny random generator with clearly different scores, in float64 on every CPU."""
    torch.manual_seed(0)
    shape = {"vocab_size": 20, "hidden_size": 8, "embedding_size": 6, **settings}
    return Seq2SeqGenerator(Seq2SeqConfig(init_range=spread, **shape)).double().eval()


@pytest.fixture(params=KINDS)
def model(request) -> Seq2SeqGenerator:
    return build(**KINDS[request.param])


@torch.no_grad()
def logits(model, batch, answers: torch.Tensor = ANSWERS) -> torch.Tensor:
    return model(**batch, labels=answers).logits


def greedy_by_hand(model, row: list[int], most: int) -> list[int]:
    """The most likely next word at each step, without a cache."""
    response = [BOS]
    while len(response) <= most and EOS not in response:
        with torch.no_grad():
            output = model(torch.tensor([row]), decoder_input_ids=torch.tensor([response]))
        response.append(int(output.logits[0, -1].argmax()))
    return response


def scores(model, row: list[int], responses: list[list[int]]) -> list[float]:
    """Log-probabilities of responses of one length to a context."""
    words = torch.tensor(responses)  # (responses, steps)
    output = logits(model, {"input_ids": torch.tensor([row] * len(responses))}, words)
    return output.log_softmax(-1).gather(2, words[..., None]).sum((1, 2)).tolist()


def score(model, row: list[int], response: list[int]) -> float:
    return scores(model, row, [response])[0]


def until_end(response: list[int]) -> list[int]:
    return response[: response.index(EOS) + 1] if EOS in response else response


def test_greedy_generation_is_a_loop_without_a_cache(model, padded):
    output = model.generate(**padded(ROWS, "right"), max_new_tokens=7, do_sample=False).tolist()
    expected = [greedy_by_hand(model, row, 7) for row in ROWS]
    assert [until_end(response) for response in output] == expected
    assert len({tuple(response) for response in expected}) > 1


@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
@pytest.mark.parametrize("kind", ["dot", "all"])
def test_a_wide_beam_finds_what_enumeration_finds(kind, length_penalty):
    model, most, row = build(**(KINDS[kind] | {"vocab_size": 6})), 4, [5, 4, 1, EOS]
    others = [word for word in range(6) if word != EOS]
    groups = [[list(response) for response in itertools.product(others, repeat=most)]]
    for length in range(most):
        groups.append([[*response, EOS] for response in itertools.product(others, repeat=length)])
    ranked = sorted(
        (value / len(response) ** length_penalty, response)
        for group in groups
        for value, response in zip(scores(model, row, group), group, strict=True)
    )[::-1]
    output = model.generate(
        torch.tensor([row]), num_beams=len(others) ** (most - 1), max_new_tokens=most,
        length_penalty=length_penalty, do_sample=False, return_dict_in_generate=True,
        output_scores=True, num_return_sequences=20,
    )  # fmt: skip
    best, sequences = zip(*ranked[:20], strict=True)
    assert [until_end(response) for response in output.sequences[:, 1:].tolist()] == list(sequences)
    assert output.sequences_scores.tolist() == pytest.approx(best, abs=1e-5)
    assert {len(response) for response in sequences} >= {3, 4}  # states were reordered on the way


def test_a_narrow_beam_needs_no_cache(model, padded):
    settings = {"num_beams": 3, "num_return_sequences": 3, "max_new_tokens": 6, "do_sample": False}
    settings |= {"return_dict_in_generate": True, "output_scores": True, "length_penalty": 0.0}
    batch = padded(ROWS, "left")
    cached, plain = (model.generate(**batch, **settings, use_cache=use) for use in (True, False))
    assert torch.equal(cached.sequences, plain.sequences)
    for index, response in enumerate(cached.sequences[:, 1:].tolist()):
        rescored = score(model, ROWS[index // 3], until_end(response))
        assert float(cached.sequences_scores[index]) == pytest.approx(rescored, abs=1e-5)


def test_padding_does_not_matter(model, padded):
    right, left = (logits(model, padded(ROWS, side)) for side in ("right", "left"))
    wide = padded([*ROWS, [5] * 15], "right")
    wider = logits(model, wide, torch.cat([ANSWERS, ANSWERS[:1]]))[:4]
    alone = torch.cat(
        [
            logits(model, padded([row], "right"), answer[None])
            for row, answer in zip(ROWS, ANSWERS, strict=True)
        ]
    )
    assert right.std(0).mean() > 0.1  # contexts matter
    for other in (left, wider, alone):
        torch.testing.assert_close(right, other, atol=1e-5, rtol=0)
    settings = {"max_new_tokens": 6, "do_sample": False}
    first, second = (model.generate(**padded(ROWS, s), **settings) for s in ("right", "left"))
    assert torch.equal(first, second)


def test_the_padding_token_does_not_matter(model, padded):
    with_pad, with_eos = (logits(model, padded(ROWS, "right", pad)) for pad in (PAD, EOS))
    torch.testing.assert_close(with_pad, with_eos, atol=1e-5, rtol=0)


def test_padding_is_found_without_a_mask(model, padded):
    for side in ("right", "left"):
        batch = padded(ROWS, side)
        bare = {"input_ids": batch["input_ids"]}
        torch.testing.assert_close(logits(model, bare), logits(model, batch))
        for beams in (1, 2):
            settings = {"max_new_tokens": 5, "num_beams": beams, "do_sample": False}
            first, second = (model.generate(**inputs, **settings) for inputs in (bare, batch))
            assert torch.equal(first, second)


def test_a_context_without_tokens_gives_numbers(model):
    empty = {"input_ids": torch.tensor([[PAD, PAD], [5, EOS]])}
    assert logits(model, empty, ANSWERS[:2]).isfinite().all()


def test_words_after_the_padding_of_a_response_are_never_seen(model, padded):
    batch = padded(ROWS[:1], "right")
    short, long = torch.tensor([[5, 9]]), torch.tensor([[5, 9, -100, -100]])
    expected = logits(model, batch, short)
    torch.testing.assert_close(logits(model, batch, long)[:, :2], expected, atol=1e-6, rtol=0)


def test_the_encoder_is_an_lstm_over_the_tokens(padded):
    for both in (False, True):
        encoder = build(bidirectional=both).encoder
        reference = nn.LSTM(6, 8 // (1 + both), 2, bias=False, batch_first=True, bidirectional=both)
        for layer, direction in itertools.product(range(2), range(1 + both)):
            for name in ("weight_ih_l", "weight_hh_l"):
                given = getattr(encoder.layers[layer][direction], f"{name}0")
                setattr(reference, f"{name}{layer}" + "_reverse" * direction, given)
        with torch.no_grad():
            output = encoder(**padded(ROWS, "right"))
            for index, row in enumerate(ROWS):
                states, last = reference(encoder.embedding(torch.tensor([row])))
                read = output.last_hidden_state[index]
                torch.testing.assert_close(read[: len(row)], states[0], atol=1e-6, rtol=0)
                assert not read[len(row) :].any()
                for given, end in zip((output.state_h, output.state_c), last, strict=True):
                    end = end.view(2, 1 + both, -1).flatten(1)  # (layers, hidden)
                    torch.testing.assert_close(given[index], end, atol=1e-6, rtol=0)


@pytest.mark.parametrize("kind", ["dot", "bahdanau", "fed"])
def test_the_decoder_attends_as_the_papers_say(kind):
    model, row, response = build(**KINDS[kind]), [5, 6, 7, EOS], [BOS, 9, 4]
    decoder, attention = model.decoder, model.decoder.attention
    with torch.no_grad():
        encoded = model.encoder(torch.tensor([row]))
        context_states = encoded.last_hidden_state[0]  # (time, hidden)

        def attend(state):
            if kind == "bahdanau":
                matrix, other = attention.query.weight, model.encoder.project.weight
                scores = [attention.score.weight[0] @ torch.tanh(matrix @ state + other @ source)
                          for source in context_states]  # fmt: skip
            else:
                scores = [state @ source for source in context_states]
            weights = torch.stack(scores).exp()
            weights = weights / weights.sum()
            seen = sum(w * source for w, source in zip(weights, context_states, strict=True))
            return torch.tanh(attention.combine.weight @ torch.cat([seen, state])), weights

        past = encoded.state_h.transpose(0, 1), encoded.state_c.transpose(0, 1)
        vector = attend(encoded.state_h[0, -1])[0]
        expected, looked = [], []
        for word in response:
            inputs = model.encoder.embedding.weight[word]
            inputs = torch.cat([inputs, vector]) if kind == "fed" else inputs
            state, past = decoder.layers(inputs[None, None], past)
            vector, weights = attend(state[0, 0])
            expected.append(model.output.weight @ vector)
            looked.append(weights)
        output = model(torch.tensor([row]), decoder_input_ids=torch.tensor([response]))
    torch.testing.assert_close(output.logits[0], torch.stack(expected), atol=1e-5, rtol=0)
    looked = torch.stack(looked)
    torch.testing.assert_close(output.cross_attentions[0][0], looked, atol=1e-5, rtol=0)


def test_the_target_is_read_in_one_call_unless_fed(padded):
    for kind, expected in {"dot": 1, "bahdanau": 1, "copy": 1, "fed": 3}.items():
        model, calls = build(**KINDS[kind]), []
        model.decoder.layers.register_forward_hook(lambda *_, calls=calls: calls.append(1))
        logits(model, padded(ROWS, "right"))
        assert len(calls) == expected, kind


def test_a_prefix_is_continued_from_its_state(model, padded):
    batch, response = padded(ROWS, "right"), torch.tensor([[BOS, 5, 9, 4]] * 4)
    with torch.no_grad():
        whole = model(**batch, decoder_input_ids=response)
        half = model(**batch, decoder_input_ids=response[:, :2], use_cache=True)
        past = half.past_key_values
        rest = model(**batch, decoder_input_ids=response[:, 2:], past_key_values=past)
    torch.testing.assert_close(rest.logits, whole.logits[:, 2:], atol=1e-5, rtol=0)
    for one, other in zip(rest.past_key_values, whole.past_key_values, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=0)
    output = model.generate(**batch, decoder_input_ids=response[:, :3], max_new_tokens=2)
    assert output.shape[1] <= 5 and torch.equal(output[:, :3], response[:, :3])


def test_loss_is_the_mean_cross_entropy_of_the_words(model, padded):
    batch = padded(ROWS, "right")
    with torch.no_grad():
        loss = float(model(**batch, labels=ANSWERS).loss)
    answers = [[word for word in answer if word != -100] for answer in ANSWERS.tolist()]
    total = sum(score(model, row, words) for row, words in zip(ROWS, answers, strict=True))
    assert loss == pytest.approx(-total / sum(map(len, answers)), abs=1e-5)


def test_decoder_inputs_are_the_labels_shifted():
    shifted = build().prepare_decoder_input_ids_from_labels(torch.tensor([[7, EOS, -100, -100]]))
    assert shifted.tolist() == [[BOS, 7, EOS, PAD]]
    with pytest.raises(ValueError, match="decoder_input_ids or labels"):
        build()(torch.tensor([ROWS[0]]))


def test_tuples_and_caches_come_as_asked(padded):
    model, batch = build(), padded(ROWS, "right")
    with torch.no_grad():
        output = model(**batch, labels=ANSWERS)
        loss, scores = model(**batch, labels=ANSWERS, return_dict=False)[:2]
        assert model(**batch, labels=ANSWERS, use_cache=False).past_key_values is None
    assert torch.equal(loss, output.loss) and torch.equal(scores, output.logits)
    assert [state.shape for state in output.past_key_values] == [(4, 2, 8)] * 2


def test_responses_padded_on_the_left_are_refused(padded):
    mask = torch.tensor([[0, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]])
    with pytest.raises(ValueError, match="padded on the right"):
        build()(**padded(ROWS, "right"), labels=ANSWERS, decoder_attention_mask=mask)
    mask = mask.flip(1)
    kept = build()(**padded(ROWS, "right"), labels=ANSWERS, decoder_attention_mask=mask)
    torch.testing.assert_close(kept.logits, logits(build(), padded(ROWS, "right")))


def test_saved_and_loaded_logits_are_equal(model, padded, tmp_path):
    model.save_pretrained(tmp_path)
    again = AutoModelForSeq2SeqLM.from_pretrained(tmp_path).eval()
    assert type(again) is Seq2SeqGenerator
    for name, value in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], value), name
    batch = padded(ROWS, "right")
    assert torch.equal(logits(again, batch), logits(model, batch))
    assert again.generation_config.decoder_start_token_id == BOS
    tied = again.output.weight is again.encoder.embedding.weight
    assert tied == model.config.tie_embeddings


def test_only_missing_weights_are_made_anew_when_loading(model, tmp_path):
    model.save_pretrained(tmp_path)
    kept = load_file(tmp_path / "model.safetensors")
    name = "decoder.attention.combine.weight"
    del kept[name]
    save_file(kept, tmp_path / "model.safetensors", metadata={"format": "pt"})
    again = Seq2SeqGenerator.from_pretrained(tmp_path)
    assert all(torch.equal(again.state_dict()[key], value) for key, value in kept.items())
    assert 0 < again.state_dict()[name].abs().max() <= model.config.init_range


def test_sampling_gives_several_responses(model, padded):
    torch.manual_seed(0)
    output = model.generate(
        **padded(ROWS, "right"), do_sample=True, top_k=0, num_return_sequences=5, max_new_tokens=6,
        return_dict_in_generate=True, output_scores=True, output_attentions=True,
    )  # fmt: skip
    assert len(output.sequences) == 20 and len(set(map(tuple, output.sequences.tolist()))) > 5
    steps = model.compute_transition_scores(output.sequences, output.scores, normalize_logits=True)
    for index, response in enumerate(output.sequences[:, 1:].tolist()):
        response = until_end(response)
        drawn = float(steps[index, : len(response)].sum())
        assert drawn == pytest.approx(score(model, ROWS[index // 5], response), abs=1e-4)


def test_weights_start_inside_their_range(model):
    fresh = type(model)(Seq2SeqConfig(**(model.config.to_dict() | {"init_range": 0.1})))
    for name, value in fresh.named_parameters():
        assert value.abs().max() <= 0.1, name
        if value.numel() > 50:
            assert value.abs().max() > 0.08 and value.std() > 0.04, name


def test_gradients_reach_every_parameter(model, padded):
    model.train()(**padded(ROWS, "right"), labels=ANSWERS).loss.backward()
    unread = [
        name
        for name, value in model.named_parameters()
        if value.grad is None or not value.grad.abs().sum()
    ]
    assert unread == []


def test_everything_is_made_where_the_inputs_are(model, padded):
    batch = {name: value.to("meta") for name, value in padded(ROWS, "right").items()}
    output = model.to("meta")(**batch, labels=ANSWERS.to("meta"))
    assert output.logits.device.type == output.loss.device.type == "meta"
    assert all(state.device.type == "meta" for state in output.past_key_values)


def test_half_precision_runs(model, padded):
    full = logits(model, padded(ROWS, "right"))
    half = logits(model.to(torch.bfloat16), padded(ROWS, "right"))
    torch.testing.assert_close(half.double(), full, atol=0.3, rtol=0.1)


def test_the_vocabulary_can_grow(model, padded):
    before = logits(model, padded(ROWS, "right"))
    model.resize_token_embeddings(25)
    after = logits(model, padded(ROWS, "right"))
    assert after.shape[-1] == model.config.vocab_size == 25
    apart = after[..., :20] - before
    if model.config.copy:  # probabilities share what the new words take
        assert (apart <= 1e-6).all()
    else:
        torch.testing.assert_close(after[..., :20], before, atol=1e-6, rtol=0)


def test_the_papers_sizes_are_the_defaults():
    config = Seq2SeqConfig()
    assert (config.hidden_size, config.embedding_size, config.num_layers) == (512, 512, 2)
    assert (config.vocab_size, config.dropout, config.init_range) == (25_000, 0.2, 0.1)
    assert config.attention == "dot" and config.is_encoder_decoder
    assert config.decoder_start_token_id == config.bos_token_id == BOS
    assert GenerationConfig.from_model_config(config).decoder_start_token_id == BOS


def test_impossible_shapes_are_refused():
    with pytest.raises(ValueError, match="dot, bahdanau"):
        Seq2SeqConfig(attention="loung")
    with pytest.raises(ValueError, match="even hidden_size"):
        Seq2SeqConfig(hidden_size=7, bidirectional=True)
    with pytest.raises(ValueError, match="embedding_size=6 and hidden_size=8"):
        Seq2SeqConfig(hidden_size=8, embedding_size=6, tie_embeddings=True)


def test_copying_is_the_mixture_computed_by_hand():
    model, row, response = build(copy=True), [5, 6, 5, EOS], [BOS, 9]
    plain = build()  # the same model without the pointer
    missing = plain.load_state_dict(model.state_dict(), strict=False)
    assert missing.missing_keys == []
    ids, answer = torch.tensor([row]), torch.tensor([response])
    with torch.no_grad():
        output = model(ids, decoder_input_ids=answer)
        words = plain(ids, decoder_input_ids=answer)
        weights = words.cross_attentions[0][0]  # (steps, time)
        states = plain.encoder(ids).last_hidden_state[0]
        past = tuple(state.transpose(0, 1) for state in _final_states(plain, ids))
        vectors = plain.encoder.embedding(answer)
        decoded = plain.decoder.layers(vectors, past)[0][0]
        for step in range(2):
            seen = torch.cat([weights[step] @ states, decoded[step], vectors[0, step]])
            gate = model.pointer.gate
            g = 1 / (1 + torch.exp(-(gate.weight[0] @ seen + gate.bias[0])))
            expected = g * words.logits[0, step].softmax(-1)
            for index, token in enumerate(row):  # 5 occurs twice and gets both weights
                expected[token] += (1 - g) * weights[step, index]
            assert 0.05 < g < 0.95
            torch.testing.assert_close(output.logits[0, step].exp(), expected, atol=1e-6, rtol=0)
    torch.testing.assert_close(output.logits.exp().sum(-1), torch.ones(1, 2).double())


def _final_states(model, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    encoded = model.encoder(ids)
    return encoded.state_h, encoded.state_c


def test_a_word_that_cannot_come_keeps_a_finite_score():
    model = build(copy=True)
    nn.init.constant_(model.pointer.gate.bias, -1000.0)  # nothing but copying
    output = logits(model, {"input_ids": torch.tensor([ROWS[0]])}, ANSWERS[:1])
    absent = [word for word in range(20) if word not in ROWS[0]]
    least = torch.tensor(LEAST, dtype=torch.float64).log()
    assert torch.equal(output[..., absent], least.expand(1, 3, len(absent)))
    model(torch.tensor([ROWS[0]]), labels=ANSWERS[:1]).loss.backward()
    assert all(weight.grad.isfinite().all() for weight in model.parameters())


def train(model, batches, rate: float, steps: int) -> float:
    """Train a model and return its last loss."""
    optimiser = torch.optim.Adam(model.train().parameters(), lr=rate)
    for _ in range(steps):
        inputs, labels = batches()
        loss = model(inputs, labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.eval()
    return float(loss.detach())


def test_it_learns_to_reverse_three_words():
    torch.manual_seed(1)
    model = build(spread=0.3, vocab_size=10, hidden_size=32, embedding_size=16, dropout=0.0)

    def batches():
        words = torch.randint(4, 10, (64, 3))
        return words, torch.cat([words.flip(1), torch.full((64, 1), EOS)], 1)

    assert train(model, batches, 1e-2, 150) < 0.1
    words, labels = batches()
    response = model.generate(words, max_new_tokens=4, do_sample=False)[:, 1:]
    assert (response == labels).all(1).float().mean() > 0.9


def test_only_the_pointer_copies_words_it_was_never_taught_to_say():
    """Trained to repeat the word after a mark, tested on words that were never an answer."""
    mark, rare = 4, torch.arange(15, 20)
    accuracy = {}
    for copy in (False, True):
        shape = {"hidden_size": 32, "embedding_size": 16, "dropout": 0.0}
        model = build(spread=0.3, copy=copy, bidirectional=True, **shape)
        torch.manual_seed(1)

        def contexts(words: torch.Tensor) -> torch.Tensor:
            rows = torch.randint(5, 20, (len(words), 4))
            index = torch.randint(0, 3, (len(words),))
            every = torch.arange(len(words))
            rows[every, index], rows[every, index + 1] = mark, words
            return rows

        def batches(contexts=contexts):
            words = torch.randint(5, 15, (64,))
            return contexts(words), torch.stack([words, torch.full((64,), EOS)], 1)

        train(model, batches, 1e-2, 100)
        targets = rare.repeat(20)
        copied = model.generate(contexts(targets), max_new_tokens=1, do_sample=False)[:, 1]
        accuracy[copy] = float((copied == targets).float().mean())
    assert accuracy[True] > 0.8 and accuracy[False] < 0.1
