"""Training discriminators: it learns, it repeats itself, it goes on where it stopped."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch

from dialeval.dialogues import BadInput, Pairing, Passage, Turn, split, to_passages
from dialeval.dialogues.encoding import input_format
from dialeval.models import AttentionConfig, AttentionDiscriminator
from dialeval.models.tokenizers import word_tokenizer
from dialeval.training import DiscriminatorConfig, DiscriminatorTrainer
from dialeval.training.schedule import learning_rate
from dialeval.training.supervised import random_prefixes
from tests.closeness import assert_close

FAST = DiscriminatorConfig(epochs=4, learning_rate=0.02, batch_size=16)


@pytest.fixture(scope="module")
def pairs():
    """Human replies name the topic of the question; the others name another."""
    rng = np.random.default_rng(0)
    human = to_passages(
        Passage(
            (Turn("A", f"do you like topic{n % 7} ?"),),
            f"{rng.choice(['yes', 'no', 'well'])} {'honestly' if n % 2 else 'really'} .",
            id=f"{n}",
            dialogue_id=f"{n}",
        )
        for n in range(400)
    )
    machine = to_passages(
        Passage((Turn("A", f"do you like topic{n % 7} ?"),), "beep yes .", "bot", f"{n}", f"{n}")
        for n in range(400)
    )
    parts = {"train": 0.7, "validation": 0.3}
    human_parts, machine_parts = split(human, parts), split(machine, parts)
    return {name: Pairing()(human_parts[name], machine_parts[name]) for name in parts}


@pytest.fixture(scope="module")
def tokenizer(pairs):
    return word_tokenizer(pairs["train"]["response"][:], 200)


def trainer(tokenizer, config=FAST, checkpoint=None, seed=0):
    torch.manual_seed(seed)
    shape = AttentionConfig(vocab_size=len(tokenizer), hidden_size=8)
    model = AttentionDiscriminator(shape)
    return DiscriminatorTrainer(
        model, tokenizer, input_format("words"), config, checkpoint=checkpoint
    )


def weights(trained):
    return torch.cat([value.detach().flatten() for value in trained.plain.parameters()])


@pytest.mark.parametrize("loss", ["pointwise", "pairwise"])
def test_a_word_that_only_machines_use_is_learnt(loss, pairs, tokenizer):
    trained = trainer(tokenizer, replace(FAST, loss=loss))
    logs = list(trained.train(pairs["train"], pairs["validation"]))
    steps = [log["loss"] for log in logs if "loss" in log]
    assert np.mean(steps[-5:]) < 0.5 * np.mean(steps[:5])
    assert trained.validate(pairs["validation"])["validation_pairwise_accuracy"] > 0.95


def test_a_seed_is_a_run(pairs, tokenizer):
    one, again, other = (
        trainer(tokenizer, replace(FAST, epochs=1, seed=seed)) for seed in (1, 1, 2)
    )
    for trained_once in (one, again, other):
        list(trained_once.train(pairs["train"], pairs["validation"]))
    assert torch.equal(weights(one), weights(again))
    assert not torch.equal(weights(one), weights(other))


def test_a_largest_norm_of_0_does_not_clip_gradients(pairs, tokenizer):
    free, unlimited = (trainer(tokenizer, replace(FAST, max_grad_norm=norm)) for norm in (0.0, 1e9))
    start = weights(free).clone()
    for trained in (free, unlimited):
        list(islice(trained.train(pairs["train"], pairs["validation"]), 2))
    assert torch.equal(weights(free), weights(unlimited))
    assert not torch.equal(weights(free), start)


def test_an_interrupted_run_ends_with_the_same_weights(pairs, tokenizer, tmp_path):
    config = replace(FAST, epochs=2, checkpoint_every=3)
    whole = trainer(tokenizer, config)
    list(whole.train(pairs["train"], pairs["validation"]))
    for stop in (4, 25):
        folder = tmp_path / f"checkpoint{stop}"
        broken = trainer(tokenizer, config, folder)
        list(islice(broken.train(pairs["train"], pairs["validation"]), stop))
        resumed = trainer(tokenizer, config, folder, seed=99)
        list(resumed.train(pairs["train"], pairs["validation"]))
        torch.testing.assert_close(weights(resumed), weights(whole), rtol=0, atol=0)


def test_the_best_epoch_is_kept_and_training_stops(pairs, tokenizer, monkeypatch):
    losses = iter([0.5, 0.3, 0.4, 0.6, 0.7, 0.8])
    trained = trainer(tokenizer, replace(FAST, epochs=6, patience=1))
    seen = []

    def validate(_):
        seen.append(weights(trained).clone())
        return {"validation_loss": next(losses)}

    monkeypatch.setattr(trained, "validate", validate)
    list(trained.train(pairs["train"], pairs["validation"]))
    assert len(seen) == 4  # two epochs in a row were worse
    assert torch.equal(weights(trained), seen[1])


def test_validation_numbers_by_hand(pairs, tokenizer):
    trained = trainer(tokenizer)
    margins = trained.scorer.margins(pairs["validation"])
    labels = np.array(pairs["validation"]["label"])
    probabilities = 1 / (1 + np.exp(-margins))
    expected = -np.log(np.where(labels == 1, probabilities, 1 - probabilities)).mean()
    numbers = trained.validate(pairs["validation"])
    assert_close(numbers["validation_loss"], expected)
    assert numbers["validation_accuracy"] == ((probabilities >= 0.5) == labels).mean()


@pytest.mark.parametrize(
    ("settings", "rates"),
    [
        ({}, [1, 1, 1, 1]),
        ({"schedule": "linear"}, [1, 0.75, 0.5, 0.25]),
        ({"schedule": "linear", "warmup_steps": 2}, [0.5, 1, 1, 0.5]),
        ({"schedule": "halve", "halve_after": 2}, [1, 1, 0.5, 0.25]),
    ],
)
def test_schedules_by_hand(settings, rates):
    config = DiscriminatorConfig(learning_rate=1.0, **settings)
    assert [learning_rate(config, step, 4, epoch=step) for step in range(4)] == rates


def test_prefixes_are_never_empty_and_vary():
    passage = Passage((Turn("A", "q"),), "one two three four", author="bot")
    prefixes = random_prefixes([passage] * 100, [0, 0])
    assert {prefix.response for prefix in prefixes} == {
        "one", "one two", "one two three", "one two three four"
    }  # fmt: skip
    assert {prefix.author for prefix in prefixes} == {"bot"}


def test_unknown_settings_and_unpaired_data_are_refused(pairs, tokenizer):
    with pytest.raises(BadInput, match="`loss` is one of pointwise, pairwise, but got 'hinge'"):
        DiscriminatorConfig(loss="hinge")
    humans = pairs["train"].filter(lambda row: row["label"] == 1)
    with pytest.raises(BadInput, match="and 0 others.*dialeval data pair"):
        list(trainer(tokenizer).train(humans, pairs["validation"]))


def test_a_checkpoint_of_another_model_is_named(pairs, tokenizer, tmp_path):
    first = trainer(tokenizer, replace(FAST, epochs=1), tmp_path / "checkpoint")
    list(first.train(pairs["train"], pairs["validation"]))
    model = AttentionDiscriminator(AttentionConfig(vocab_size=len(tokenizer), hidden_size=4))
    other = DiscriminatorTrainer(
        model, tokenizer, input_format("words"), FAST, checkpoint=tmp_path / "checkpoint"
    )
    with pytest.raises(BadInput, match="of another model"):
        next(other.train(pairs["train"], pairs["validation"]))
    (tmp_path / "checkpoint" / "progress.json").unlink()
    with pytest.raises(BadInput, match="lacks progress.json"):
        next(
            trainer(tokenizer, FAST, tmp_path / "checkpoint").train(
                pairs["train"], pairs["validation"]
            )
        )


@pytest.fixture(scope="module")
def random_pairs():
    """Replies name the topic of the question, in many dialogues of two replies each."""
    topics = ("tea", "rain", "chess", "trains")
    human = to_passages(
        Passage(
            (Turn("A", f"tell me about {topics[n // 2 % 4]} please ?"),),
            f"i know {topics[n // 2 % 4]} number{n} well .",
            id=f"{n}",
            dialogue_id=f"d{n // 2}",
        )
        for n in range(240)
    )
    parts = split(human, {"train": 0.7, "validation": 0.3})
    return {name: Pairing("human_random")(part) for name, part in parts.items()}


def responses_by_epoch(monkeypatch, trained, pairs) -> list[dict[str, tuple[str, str]]]:
    """By epoch, the human and the random response of every pair that was trained on."""
    epochs: list[dict[str, tuple[str, str]]] = [{}]
    plain = trained._backward

    def spy(human, other):
        for one, two in zip(human, other, strict=True):
            assert one.context == two.context and two.author == "random"
            epochs[-1][one.id] = (one.response, two.response)
        return plain(human, other)

    monkeypatch.setattr(trained, "_backward", spy)
    for log in trained.train(pairs["train"], pairs["validation"]):
        if "validation_loss" in log:
            epochs.append({})
    return epochs[:-1]


def test_fresh_negatives_differ_by_epoch_and_come_from_other_dialogues(monkeypatch, random_pairs):
    tokenizer = word_tokenizer(random_pairs["train"]["response"][:], 500)
    config = replace(FAST, epochs=3, batch_size=8, patience=9, fresh_negatives=True)
    epochs = responses_by_epoch(monkeypatch, trainer(tokenizer, config), random_pairs)
    assert len(epochs) == 3
    humans = {row["response"] for row in random_pairs["train"] if row["label"] == 1}
    for epoch in epochs:
        assert {response for _, response in epoch.values()} <= humans
    for row in epochs[1].values():
        number = [int(text.partition("number")[2].split()[0]) for text in row]
        assert number[0] // 2 != number[1] // 2
    common = set(epochs[0]) & set(epochs[1]) & set(epochs[2])
    same = [np.mean([epochs[a][key] == epochs[b][key] for key in common])
            for a, b in ((0, 1), (1, 2))]  # fmt: skip
    assert len(common) > 100 and max(same) < 0.1
    again = responses_by_epoch(monkeypatch, trainer(tokenizer, config), random_pairs)
    assert again == epochs


def test_negatives_of_a_system_cannot_be_drawn_again(pairs, tokenizer):
    trained = trainer(tokenizer, replace(FAST, fresh_negatives=True))
    with pytest.raises(BadInput, match="fresh negatives are random responses"):
        next(iter(trained.train(pairs["train"], pairs["validation"])))
