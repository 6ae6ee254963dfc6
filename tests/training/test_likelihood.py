"""Training generators: the loss is what it says, it learns, and it goes on where it stopped."""

import tracemalloc
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from torch.nn import functional as F
from transformers import GPT2Config, GPT2LMHeadModel

from dialeval.dialogues import BadInput, Passage, Turn, to_passages
from dialeval.models import Seq2SeqConfig, Seq2SeqGenerator
from dialeval.models.tokenizers import word_tokenizer
from dialeval.responders.generators import Generator
from dialeval.responders.prompts import PromptFormat
from dialeval.training import GeneratorConfig, GeneratorTrainer, likelihood
from dialeval.training.likelihood import Examples, Ragged, encoded
from dialeval.training.weighting import TfIdfWeights
from tests.closeness import ROUNDINGS, assert_close, tolerance

KINDS = ("gpt2", "seq2seq")
FAST = GeneratorConfig(epochs=2, learning_rate=0.02, batch_size=8, checkpoint_every=2)


def passage(number, longer=0):
    """The reply takes up the topic, and says more of some topics than of others."""
    turns = (Turn("B", f"hello {number} ."), Turn("A", f"do you like topic{number % 5} ?"))
    response = f"i like topic{number % 5}" + " very much" * (number % 3 + longer) + " ."
    return Passage(turns[-1 - number % 2 :], response, id=f"{number}", dialogue_id=f"{number}")


PASSAGES = [passage(number) for number in range(28)]


@pytest.fixture(scope="module")
def tokenizer():
    texts = [turn.text for passage in PASSAGES for turn in passage.context]
    return word_tokenizer([*texts, *(passage.response for passage in PASSAGES)], 200)


@pytest.fixture(scope="module")
def train():
    return to_passages(PASSAGES)


@pytest.fixture(scope="module")
def validation():
    return to_passages(passage(number) for number in range(28, 40))


def make(kind, tokenizer, seed=0, dropout=0.0, positions=48, style="turns"):
    torch.manual_seed(seed)
    ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos")}
    ids |= {"pad_token_id": tokenizer.pad_token_id, "vocab_size": len(tokenizer)}
    if kind == "seq2seq":
        model = Seq2SeqGenerator(
            Seq2SeqConfig(hidden_size=16, num_layers=1, dropout=dropout, init_range=0.3, **ids)
        )
    else:
        drop = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), dropout)
        shape = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": positions}
        model = GPT2LMHeadModel(GPT2Config(**shape, **drop, **ids))
    return Generator(model, tokenizer, PromptFormat(style))


def weights(model):
    return torch.cat([value.detach().flatten() for value in model.parameters()]).clone()


def alone(generator, passage, loss_on="response"):
    """Losses of a passage's tokens, from the logits of a forward pass without any padding."""
    tokenizer, end = generator.tokenizer, [generator.tokenizer.eos_token_id]

    def ids(text):
        return tokenizer(text, add_special_tokens=False)["input_ids"] + end

    prompt = [token for turn in passage.context for token in ids(turn.text)]
    response = ids(passage.response)
    if generator.is_encoder_decoder:
        given = torch.tensor([[tokenizer.bos_token_id, *response[:-1]]])
        logits = generator.model(torch.tensor([prompt]), decoder_input_ids=given).logits[0]
        return F.cross_entropy(logits, torch.tensor(response), reduction="none")
    row = torch.tensor(prompt + response)
    losses = -generator.model(row[None]).logits[0].log_softmax(-1)
    losses = torch.stack([losses[at - 1, row[at]] for at in range(1, len(row))])
    return losses if loss_on == "all" else losses[len(prompt) - 1 :]


def one_step(generator, passages, **settings):
    """The numbers of one plain gradient step on all passages, and the gradient it took."""
    settings = {"optimizer": "sgd", "schedule": "constant", "max_grad_norm": 1e9, **settings}
    config = GeneratorConfig(batch_size=len(passages), learning_rate=1.0, **settings)
    trainer = GeneratorTrainer(generator, passages, config)
    before = weights(generator.model)
    numbers = next(trainer.train(passages))
    return numbers, before - weights(generator.model)


@pytest.mark.parametrize("average_over", ["tokens", "responses"])
@pytest.mark.parametrize(("kind", "loss_on"), [*((k, "response") for k in KINDS), ("gpt2", "all")])
def test_the_loss_of_a_batch_by_hand(kind, loss_on, average_over, tokenizer, train):
    generator = make(kind, tokenizer)
    losses = [alone(generator, passage, loss_on) for passage in PASSAGES]
    parts = sum(map(len, losses)) if average_over == "tokens" else len(PASSAGES)
    expected = sum(loss.sum() for loss in losses).item() / parts
    numbers, _ = one_step(generator, train, loss_on=loss_on, average_over=average_over)
    assert_close(numbers["loss"], expected)


@pytest.mark.parametrize("weighting", ["none", "tf-idf"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_that_of_a_loop_over_weighted_responses(kind, weighting, tokenizer, train):
    generator = make(kind, tokenizer)
    responses = [passage.response for passage in PASSAGES]
    count = TfIdfWeights(responses)(responses) if weighting == "tf-idf" else np.ones(len(responses))
    assert (len(set(count)) > 1) == (weighting == "tf-idf")
    losses = [alone(generator, passage) for passage in PASSAGES]
    tokens = sum(map(len, losses))
    terms = []
    for weight, loss in zip(count, losses, strict=True):
        (float(weight) * loss.sum() / tokens).backward()
        gradients = [parameter.grad.flatten() for parameter in generator.model.parameters()]
        terms.append(torch.cat(gradients))
        generator.model.zero_grad()
    expected, size = sum(terms), sum(term.abs() for term in terms).max().item()
    spacing = weights(generator.model).abs().max().item() / ROUNDINGS  # of the weights it moved
    _, gradient = one_step(generator, train, weighting=weighting)
    assert expected.abs().max() > 100 * tolerance(size + spacing)
    assert_close(gradient, expected, size + spacing)


def test_gradients_are_cut_to_their_norm(tokenizer, train):
    free, gradient = one_step(make("gpt2", tokenizer), train)
    assert gradient.norm().item() == pytest.approx(free["gradient_norm"], rel=1e-3)
    assert free["gradient_norm"] > 0.05
    cut, gradient = one_step(make("gpt2", tokenizer), train, max_grad_norm=0.01)
    assert gradient.norm().item() == pytest.approx(0.01, rel=1e-2)
    assert_close(cut["gradient_norm"], free["gradient_norm"])
    _, whole = one_step(make("gpt2", tokenizer), train, max_grad_norm=0.0)
    assert whole.norm().item() == pytest.approx(free["gradient_norm"], rel=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_perplexity_by_hand_whatever_stands_in_a_batch(
    kind, tokenizer, train, validation, monkeypatch
):
    generator = make(kind, tokenizer)
    losses = torch.cat([alone(generator, passage(number)) for number in range(28, 40)])
    trainer, held_out = GeneratorTrainer(generator, train), Examples(generator, validation)
    for tokens in (1, 60, 100_000):
        monkeypatch.setattr(likelihood, "_EVALUATION_TOKENS", tokens)
        numbers = trainer.validate(held_out)
        assert_close(numbers["validation_loss"], losses.mean().item())
        assert_close(numbers["perplexity"], losses.mean().exp().item())


@pytest.mark.parametrize("kind", KINDS)
def test_it_learns_who_likes_what(kind, tokenizer, train, validation):
    generator = make(kind, tokenizer, dropout=0.1)
    trainer = GeneratorTrainer(generator, train, replace(FAST, epochs=20))
    before = trainer.validate(Examples(generator, validation))["perplexity"]
    logs = [log["perplexity"] for log in trainer.train(validation) if "perplexity" in log]
    after = trainer.validate(Examples(generator, validation))["perplexity"]
    assert before > 15 and after < 2.5
    assert_close(after, min(logs))
    assert not generator.model.training


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_is_a_run(kind, tokenizer, train, validation):
    logs = []
    for seed in (1, 1, 2):
        generator = make(kind, tokenizer, dropout=0.2)
        trainer = GeneratorTrainer(generator, train, replace(FAST, seed=seed))
        logs.append((list(trainer.train(validation)), weights(generator.model)))
    (one, first), (again, second), (_, other) = logs
    assert one == again and torch.equal(first, second)
    assert not torch.equal(first, other)


@pytest.mark.parametrize(
    ("kind", "optimizer", "stops"),
    [("gpt2", "adamw", range(1, 9)), ("seq2seq", "sgd", (3, 4, 7))],
)
def test_a_run_stopped_anywhere_ends_with_the_same_weights(
    kind, optimizer, stops, tokenizer, train, validation, tmp_path
):
    config = replace(FAST, optimizer=optimizer)  # 2 epochs of 3 steps and a validation
    whole = make(kind, tokenizer, dropout=0.1)
    logs = list(GeneratorTrainer(whole, train, config).train(validation))
    assert len(logs) == 8
    for stop in stops:
        folder = tmp_path / str(stop)
        broken = make(kind, tokenizer, dropout=0.1)
        trainer = GeneratorTrainer(broken, train, config, checkpoint=folder)
        list(islice(trainer.train(validation), stop))
        resumed = make(kind, tokenizer, seed=9 if folder.exists() else 0, dropout=0.1)
        trainer = GeneratorTrainer(resumed, train, config, checkpoint=folder)
        rest = list(trainer.train(validation))
        assert rest == logs[len(logs) - len(rest) :]
        assert torch.equal(weights(resumed.model), weights(whole.model))


def test_a_run_stopped_while_validating_validates_again(tokenizer, train, validation, tmp_path):
    config = replace(FAST, checkpoint_every=1)
    whole = list(GeneratorTrainer(make("gpt2", tokenizer), train, config).train(validation))
    trainer = GeneratorTrainer(make("gpt2", tokenizer), train, config, None, tmp_path / "c")
    trainer.validate = lambda _: 1 / 0
    with pytest.raises(ZeroDivisionError):
        list(trainer.train(validation))
    trainer = GeneratorTrainer(make("gpt2", tokenizer), train, config, None, tmp_path / "c")
    rest = list(trainer.train(validation))
    assert [log["step"] for log in rest] == [2, 3, 3, 4, 5, 6]
    assert rest == whole[2:]


def scripted_validation(trainer, losses):
    """Replace the validation losses of a trainer; returns the weights at each validation."""
    seen, losses = [], iter(losses)

    def validate(_):
        seen.append(weights(trainer.plain))
        return {"validation_loss": next(losses)}

    trainer.validate = validate
    return seen


def test_the_best_epoch_is_kept_and_training_stops(tokenizer, train, validation, tmp_path):
    config, losses = replace(FAST, epochs=6, patience=1), [0.5, 0.3, 0.4, 0.6, 0.7, 0.8]
    trainer = GeneratorTrainer(make("gpt2", tokenizer), train, config, None, tmp_path / "c")
    seen = scripted_validation(trainer, losses)
    list(trainer.train(validation))
    assert len(seen) == 4  # two epochs in a row were worse
    assert torch.equal(weights(trainer.plain), seen[1])
    again = GeneratorTrainer(make("gpt2", tokenizer, seed=1), train, config, None, tmp_path / "c")
    assert list(again.train(validation)) == []  # it had stopped, and stays so
    assert torch.equal(weights(again.plain), seen[1])


def test_a_loss_that_is_no_number_stops_before_it_does_harm(tokenizer, train, validation):
    wild = replace(FAST, optimizer="sgd", learning_rate=1e38, max_grad_norm=1e38)
    generator = make("gpt2", tokenizer)
    logs = GeneratorTrainer(generator, train, wild).train(validation)
    assert np.isfinite(next(logs)["loss"])
    before = weights(generator.model)
    with pytest.raises(BadInput, match="not a number at step 1.*smaller learning rate"):
        next(logs)
    torch.testing.assert_close(weights(generator.model), before, rtol=0, atol=0, equal_nan=True)
    trainer = GeneratorTrainer(make("gpt2", tokenizer), train, replace(wild, max_steps=1))
    with pytest.raises(BadInput, match="not a number at validation"):
        list(trainer.train(validation))


def test_steps_are_limited_and_the_last_epoch_is_validated(tokenizer, train, validation):
    trainer = GeneratorTrainer(make("gpt2", tokenizer), train, replace(FAST, max_steps=4))
    logs = list(trainer.train(validation))
    assert [log["step"] for log in logs] == [0, 1, 2, 3, 3, 4]
    assert [log["epoch"] for log in logs] == [0, 0, 0, 0, 1, 1]
    assert {log["total"] for log in logs} == {4}


def test_batches_hold_every_passage_once_and_in_time_all_of_them(tokenizer):
    rows = [passage(number, longer=number // 9) for number in range(30)]
    examples = Examples(make("gpt2", tokenizer, positions=200), to_passages(rows))
    seen = set()
    for epoch in range(40):
        batches = examples.batches(8, [0, epoch])
        assert [len(batch) for batch in batches] == [8, 8, 8]
        flat = np.concatenate(batches).tolist()
        assert len(set(flat)) == 24
        seen.update(flat)
    assert seen == set(range(30))  # the longest among them, which sorting puts last
    spans = [np.ptp(examples.sizes[batch]) for batch in batches]
    assert max(spans) < np.ptp(examples.sizes)


def test_what_is_too_long_is_cut_whatever_stands_beside_it(tokenizer):
    generator = make("gpt2", tokenizer, positions=18)
    end = generator.tokenizer.eos_token_id
    short, long = passage(0), passage(1, longer=20)
    (prompt,), (response,) = encoded(generator, [long])
    assert len(response) == 9 and end not in response  # half the room, and it has not ended
    assert len(prompt) == 6 and prompt[-1] == end  # the last turn alone, since both have 10
    both, responses = encoded(generator, [short, long, passage(1)])
    assert both[:2] == [encoded(generator, [short])[0][0], prompt]
    assert responses[0][-1] == end and len(both[2]) == 10
    narrow = make("gpt2", tokenizer, positions=10)
    (prompt,), (response,) = encoded(narrow, [long])
    assert len(response) == len(prompt) == 5 and prompt[-1] == end  # the turn lost its beginning
    narrow.model(torch.tensor([prompt + response]))


def test_each_side_of_two_parts_has_its_own_room(tokenizer):
    generator = make("seq2seq", tokenizer)
    (prompt,), (response,) = encoded(generator, [passage(1, longer=20)])
    assert (len(prompt), len(response)) == (10, 47)
    generator.prompts = PromptFormat(max_length=8)
    (prompt,), (response,) = encoded(generator, [passage(1, longer=20)])
    assert (len(prompt), len(response)) == (6, 8)


def test_a_response_without_a_context_follows_the_start_token(tokenizer):
    generator = make("gpt2", tokenizer, style="none")
    prompts, responses = encoded(generator, PASSAGES[:2])
    assert prompts == [[tokenizer.bos_token_id]] * 2
    assert tokenizer.decode(responses[0]).startswith("i like topic0")


def test_ragged_rows_come_back():
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 50_000, rng.integers(0, 9)).tolist() for _ in range(50)]
    ragged = Ragged()
    for start in range(0, 50, 20):
        ragged.add(rows[start : start + 20])
        assert [ragged[at] for at in range(len(ragged))] == rows[: start + 20]
    assert ragged.sizes.tolist() == [len(row) for row in rows]


def test_a_passage_costs_its_tokens_and_no_objects():
    rows = [list(range(20))] * 500
    tracemalloc.start()
    ragged = Ragged()
    for _ in range(20):
        ragged.add(rows)
    assert ragged[9_999] == rows[0]
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size < 10_000 * (20 * 4 + 2 * 8) + 10_000  # a list would take 8 bytes a token and 56


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss_on": "context"}, "`loss_on` is one of response, all, but got 'context'"),
        ({"weighting": "idf"}, "`weighting` is one of none, tf-idf, but got 'idf'"),
        ({"average_over": "words"}, "`average_over` is one of tokens, responses, but got 'words'"),
        ({"optimizer": "lion"}, "`optimizer` is one of adam, adamw, sgd, but got 'lion'"),
        ({"batch_size": 0}, "`batch_size` is 1 or more, but got 0"),
        ({"epochs": 0}, "`epochs` is 1 or more"),
        ({"checkpoint_every": 0}, "`checkpoint_every` is 1 or more"),
        ({"weight_cap": 0.5}, "`weight_cap` is 1 or more, but got 0.5"),
    ],
)
def test_unknown_settings_list_the_choices(settings, message):
    with pytest.raises(BadInput, match=message):
        GeneratorConfig(**settings)


def test_little_data_and_none(tokenizer, train, validation, monkeypatch):
    one = to_passages(PASSAGES[:1])
    trainer = GeneratorTrainer(make("gpt2", tokenizer), one, replace(FAST, batch_size=64))
    assert [log["step"] for log in trainer.train(one)] == [0, 1, 1, 2]  # a step an epoch
    with pytest.raises(BadInput, match="no passage to learn from. Give more dialogues"):
        GeneratorTrainer(make("gpt2", tokenizer), to_passages([]), FAST)
    with pytest.raises(BadInput, match="no passage"):
        next(trainer.train(to_passages([])))
    monkeypatch.setattr(Accelerator, "num_processes", 2)
    with pytest.raises(BadInput, match="2 processes cannot share batches of 1 passage"):
        GeneratorTrainer(make("gpt2", tokenizer), one, FAST)
