"""VHRED: its parts by hand, padding that does not matter, saving, generating and learning."""

import math

import pytest
import torch
from torch.distributions import Independent, Normal, kl_divergence
from transformers import AutoModelForSeq2SeqLM

from dialeval.models import VhredConfig, VhredGenerator
from dialeval.models.modeling_vhred_encoder import Gaussian, gaussian_kl, split_turns

PAD, UNK, BOS, EOS = 0, 1, 2, 3
ROWS = [[5, 6, EOS, 7, 8, EOS], [9, EOS], [10, 11, 4, EOS, 4, EOS, 12, EOS], [12, 13, 14, EOS]]
ANSWERS = torch.tensor([[5, 9, EOS], [7, EOS, -100], [EOS, -100, -100], [14, 4, 8]])
SHAPE = {"vocab_size": 20, "embedding_size": 6, "encoder_size": 5, "context_size": 7}
SHAPE |= {"hidden_size": 8, "attention_size": 4, "latent_size": 3}
WIDER = dict.fromkeys(("embedding_size", "encoder_size", "attention_size"), 16)
WIDER |= {"hidden_size": 24, "context_size": 24}


def build(spread: float = 1.2, **settings) -> VhredGenerator:
    """A tiny random generator with clearly different scores, in float64 on every CPU."""
    torch.manual_seed(0)
    model = VhredGenerator(VhredConfig(init_range=spread, **SHAPE | settings)).double().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


@pytest.fixture(params=[False, True], ids=["words", "copy"])
def model(request) -> VhredGenerator:
    return build(copy=request.param)


def greedy_by_hand(model, row: list[int], most: int) -> list[int]:
    response = [BOS]
    while len(response) <= most and EOS not in response:
        with torch.no_grad():
            output = model(torch.tensor([row]), decoder_input_ids=torch.tensor([response]))
        response.append(int(output.logits[0, -1].argmax()))
    return response


def until_end(response: list[int]) -> list[int]:
    return response[: response.index(EOS) + 1] if EOS in response else response


def test_the_divergence_of_two_gaussians_by_hand():
    # KL(N(1, 1) || N(0, 2)) = ln 2 + (1 + 1) / 8 - 1/2, and KL(N(0, 3) || N(0, 1)) = 4 - ln 3
    posterior = Gaussian(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 3.0]]))
    prior = Gaussian(torch.tensor([[0.0, 0.0]]), torch.tensor([[2.0, 1.0]]))
    expected = math.log(2) + 2 / 8 - 1 / 2 + 4 - math.log(3)
    assert gaussian_kl(posterior, prior).item() == pytest.approx(expected, abs=1e-6)
    reverse = gaussian_kl(prior, posterior).item()
    assert abs(reverse - expected) > 0.5  # the released code's direction is another number
    torch_kl = kl_divergence(*(Independent(Normal(*item), 1) for item in (posterior, prior)))
    assert gaussian_kl(posterior, prior).item() == pytest.approx(torch_kl.item(), abs=1e-6)


def test_a_row_is_split_into_turns_wherever_its_padding_is(padded):
    for side in ("left", "right"):
        batch = padded(ROWS, side)
        turns = split_turns(batch["input_ids"], batch["attention_mask"].bool(), EOS)
        assert turns.lengths.tolist() == [[3, 3, 0], [2, 0, 0], [4, 2, 2], [4, 0, 0]]
        width = turns.column.shape[1] // 3
        for row, ids in enumerate(ROWS):
            grid = batch["input_ids"][row][turns.column[row]].view(3, width)
            cut = [grid[at, :size].tolist() for at, size in enumerate(turns.lengths[row])]
            assert [token for turn in cut for token in turn] == ids


def test_the_encoder_is_two_grus_by_turn_and_one_over_turns(model):
    encoder, row = model.encoder, ROWS[2]
    with torch.no_grad():
        encoded = encoder(torch.tensor([row]))
        vectors, utterances, states = encoder.embedding(torch.tensor([row])), [], []
        for start, end in ((0, 4), (4, 6), (6, 8)):
            turn = vectors[:, start:end]
            onward, last = encoder.utterance.onward(turn)
            backward, first = encoder.utterance.backward_(turn.flip(1))
            utterances.append(torch.cat([last[0], first[0]], -1))
            states.append(torch.cat([onward, backward.flip(1)], -1))
        context = encoder.context(torch.stack(utterances, 1))[1][0]
    torch.testing.assert_close(encoded.context, context)
    torch.testing.assert_close(encoded.last_hidden_state, torch.cat(states, 1))


def test_the_decoder_by_hand():
    model = build()
    words = torch.tensor([[BOS, 5, 9]])
    with torch.no_grad():
        encoded = model.encoder(torch.tensor([ROWS[0]]))
        known = torch.cat([encoded.context, encoded.latent], -1)
        state = torch.tanh(model.decoder.start(known))[None]
        decoder, logits = model.decoder, []
        for word in words[0]:
            vector = torch.cat([model.encoder.embedding(word)[None], known], -1)[:, None]
            output, state = decoder.layer(vector, state)
            energies = [
                decoder.score(torch.tanh(decoder.query(output[0, 0]) + model.encoder.key(token)))
                for token in encoded.last_hidden_state[0]
            ]
            weights = torch.cat(energies).softmax(0)
            attended = weights @ encoded.last_hidden_state[0]
            combined = torch.tanh(decoder.combine(torch.cat([output[0, 0], attended])))
            logits.append(model.output(combined))
        output = model(torch.tensor([ROWS[0]]), decoder_input_ids=words)
    torch.testing.assert_close(output.logits[0], torch.stack(logits))
    torch.testing.assert_close(encoded.latent, encoded.prior_mean)


def test_copying_is_the_mixture_computed_by_hand():
    model, row = build(copy=True), [5, 6, 5, EOS]
    seen = []
    model.output.register_forward_hook(lambda _, __, scores: seen.append(scores))
    model.pointer.gate.register_forward_hook(lambda _, __, score: seen.append(score))
    with torch.no_grad():
        output = model(torch.tensor([row]), decoder_input_ids=torch.tensor([[BOS, 9]]))
    scores, gate = seen[0][0].softmax(-1), seen[1][0].sigmoid()
    weights = output.cross_attentions[0][0]
    for step in range(2):
        expected = gate[step] * scores[step]
        for at, token in enumerate(row):
            expected[token] += (1 - gate[step, 0]) * weights[step, at]
        torch.testing.assert_close(output.logits[0, step].exp(), expected)
    assert output.logits.exp().sum(-1).sub(1).abs().max() < 1e-12


def test_greedy_generation_is_a_loop_without_a_cache(model, padded):
    output = model.generate(**padded(ROWS, "right"), max_new_tokens=7, do_sample=False).tolist()
    expected = [greedy_by_hand(model, row, 7) for row in ROWS]
    assert [until_end(response) for response in output] == expected
    assert len({tuple(response) for response in expected}) > 1


def test_a_beam_needs_no_cache(model, padded):
    settings = {"num_beams": 3, "num_return_sequences": 3, "max_new_tokens": 6, "do_sample": False}
    batch = padded(ROWS, "left")
    cached, plain = (model.generate(**batch, **settings, use_cache=use) for use in (True, False))
    assert torch.equal(cached, plain)


@pytest.mark.parametrize("latent", ["mean", "sample"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_does_not_matter(side, latent, padded):
    model = build(latent=latent)
    with torch.no_grad():
        together = model(**padded(ROWS, side), labels=ANSWERS)
        for row, ids in enumerate(ROWS):
            length = int((ANSWERS[row] != -100).sum())
            alone = model(torch.tensor([ids]), labels=ANSWERS[row : row + 1, :length])
            torch.testing.assert_close(together.logits[row, :length], alone.logits[0])
            torch.testing.assert_close(together.kl[row], alone.kl[0])
        prior = model(**padded(ROWS, side), decoder_input_ids=torch.full((4, 1), BOS))
        for row, ids in enumerate(ROWS):
            alone = model(torch.tensor([ids]), decoder_input_ids=torch.tensor([[BOS]]))
            torch.testing.assert_close(prior.logits[row], alone.logits[0])


def test_a_context_without_tokens_gives_numbers(model):
    batch = {"input_ids": torch.full((1, 3), PAD), "attention_mask": torch.zeros(1, 3)}
    with torch.no_grad():
        assert model(**batch, labels=ANSWERS[:1]).logits.isfinite().all()


def test_the_loss_is_the_negative_evidence_lower_bound_per_token(model, padded):
    with torch.no_grad():
        output = model(**padded(ROWS, "right"), labels=ANSWERS)
        log_probs = output.logits.log_softmax(-1)
    counted = ANSWERS != -100
    words = -log_probs.gather(2, ANSWERS.clamp(min=0)[..., None])[..., 0][counted].sum()
    assert (output.kl > 0).all()
    expected = (words + output.kl.sum()) / counted.sum()
    assert output.loss.item() == pytest.approx(expected.item(), abs=1e-5)


def test_the_latent_value_comes_from_the_posterior_only_if_the_response_is_known(model):
    ids, words = torch.tensor([ROWS[0]]), torch.tensor([[BOS, 5, 9]])
    with torch.no_grad():
        prior = model(ids, decoder_input_ids=words)
        posterior = model(ids, decoder_input_ids=words, targets=ANSWERS[:1])
        other = model(ids, decoder_input_ids=words, targets=torch.tensor([[7, 8, EOS]]))
    assert prior.kl is None
    assert not torch.allclose(prior.logits, posterior.logits)
    assert not torch.allclose(other.logits, posterior.logits)


def test_a_sampled_latent_depends_on_the_seed_and_the_context_alone(padded):
    model = build(latent="sample", latent_seed=3)

    def latents(rows):
        with torch.no_grad():
            return model.encoder(**padded(rows, "right")).latent

    together = latents(ROWS)
    torch.testing.assert_close(latents(ROWS[1:2])[0], together[1])
    assert not torch.allclose(together, model.encoder(**padded(ROWS, "right")).prior_mean)
    model.config.latent_seed = 4
    assert not torch.allclose(latents(ROWS), together)


def test_words_are_dropped_in_training_only_and_never_the_start(model):
    ids = torch.full((200, 10), 5)
    assert torch.equal(model._with_drops(ids), ids)
    torch.manual_seed(0)
    dropped = model.train()._with_drops(ids) == UNK
    assert not dropped[:, 0].any()
    assert dropped[:, 1:].double().mean().item() == pytest.approx(0.25, abs=0.03)


def test_saved_and_loaded_logits_are_equal(model, padded, tmp_path):
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, dtype=torch.float64).eval()
    assert isinstance(loaded, VhredGenerator)
    with torch.no_grad():
        pair = (item(**padded(ROWS, "right"), labels=ANSWERS).logits for item in (model, loaded))
    assert torch.equal(*pair)


def test_gradients_reach_every_parameter(model, padded):
    model.train()(**padded(ROWS, "right"), labels=ANSWERS).loss.backward()
    missing = [name for name, item in model.named_parameters() if item.grad is None]
    assert not missing


def test_it_learns_which_turn_asks():
    """The reply copies the first word of the last turn, so the turns must be read apart."""
    torch.manual_seed(0)
    model = VhredGenerator(VhredConfig(**SHAPE | WIDER, dropout=0))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    numbers = torch.Generator().manual_seed(0)
    for _ in range(220):
        words = torch.randint(5, 13, (32, 2), generator=numbers)
        end = torch.full((32, 1), EOS)
        rows = torch.cat([words[:, :1], end, words[:, 1:], end], 1)
        output = model.train()(rows, labels=torch.cat([words[:, 1:], end], 1))
        optimizer.zero_grad()
        output.loss.backward()
        optimizer.step()
    rows = torch.tensor([[5, EOS, 9, EOS], [9, EOS, 5, EOS], [7, EOS, 12, EOS]])
    responses = model.eval().generate(rows, max_new_tokens=3, do_sample=False)[:, 1].tolist()
    assert responses == [9, 5, 12]


@pytest.mark.parametrize("wrong", [{"latent": "median"}, {"word_drop": 1.0}, {"latent_size": 0}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ValueError, match="expected"):
        VhredConfig(**wrong)
