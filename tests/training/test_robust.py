"""Training against perturbations: both losses by hand, what they teach, resuming, bad input."""

from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import pytest
import torch

from dialeval.dialogues import BadInput, Passage, Turn, to_passages
from dialeval.models import VhredConfig, VhredGenerator
from dialeval.models.tokenizers import bpe_tokenizer, word_tokenizer
from dialeval.perturbations import Edit, Perturbation, edit_contexts
from dialeval.responders.generators import Generator
from dialeval.responders.likelihood import response_log_probs
from dialeval.responders.prompts import PromptFormat
from dialeval.settings.against import AgainstConfig
from dialeval.training import GeneratorConfig
from dialeval.training.against import make_trainer
from dialeval.training.generator import with_lora
from dialeval.training.likelihood import encoded
from dialeval.training.perturbed import PerturbedExamples, resolve_strategies, word_vocabulary
from dialeval.training.robust import RobustTrainer, margin_loss
from tests.closeness import assert_close
from tests.training.test_likelihood import make

KINDS = ("gpt2", "seq2seq")
STILL = GeneratorConfig(
    epochs=1, batch_size=24, optimizer="sgd", schedule="constant", learning_rate=1e-9,
    max_grad_norm=1e9,
)  # fmt: skip
FAST = GeneratorConfig(
    epochs=3, batch_size=8, learning_rate=0.02, checkpoint_every=2, schedule="constant", patience=9
)


@dataclass(frozen=True)
class Spoil(Perturbation):
    """Put a word before an utterance."""

    kind = "should_not_change"
    word: str = "um"
    name = "spoil"

    def edits(self, text, rng):
        return [Edit(0, "", f"{self.word} ")] if rng.random() < 0.5 else []


@dataclass(frozen=True)
class Deny(Spoil):
    """Put a word before an utterance that turns its meaning round."""

    kind = "should_change"
    word: str = "not"
    name = "deny"


def passage(number):
    turns = (Turn("B", f"hello {number} ."), Turn("A", f"do you like topic{number % 5} ?"))
    response = f"i like topic{number % 5}" + " very much" * (number % 3) + " ."
    return Passage(turns, response, id=f"{number}", dialogue_id=f"{number}")


PASSAGES = [passage(number) for number in range(24)]
TRAIN = to_passages(PASSAGES)


@pytest.fixture(scope="module")
def tokenizer():
    texts = [turn.text for item in PASSAGES for turn in item.context]
    return word_tokenizer([*texts, *(item.response for item in PASSAGES), "um not"], 200)


def log_probs(generator, passages, responses=None):
    """log P(T | S) of each passage, one at a time."""
    prompts, targets = encoded(generator, passages)
    rows = zip(prompts, responses or targets, strict=True)
    pairs = [response_log_probs(generator.model, 0, [a], [b]) for a, b in rows]
    return np.array([sums[0] for sums, _ in pairs]), np.array([size[0] for _, size in pairs])


def perturbed_in_epoch(generator, strategies, epoch=0):
    batch = PerturbedExamples(generator, TRAIN, strategies).perturb(range(24), epoch)
    return batch.perturbed, batch.should_change


def first_loss(generator, strategies, **settings):
    trainer = RobustTrainer(generator, TRAIN, strategies, AgainstConfig(**settings), STILL)
    return next(trainer.train(TRAIN))


def test_the_margin_by_hand():
    normal = torch.tensor([-2.0, -2.0, -2.0], requires_grad=True)
    perturbed = torch.tensor([-1.0, -2.05, -9.0], requires_grad=True)
    losses = margin_loss(normal, perturbed, 0.1)
    assert losses.tolist() == pytest.approx([1.1, 0.05, 0.0], abs=1e-6)
    losses.sum().backward()
    assert normal.grad.tolist() == [-1, -1, 0] and perturbed.grad.tolist() == [1, 1, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_should_not_change_is_the_likelihood_given_the_perturbed_context(kind, tokenizer):
    generator = make(kind, tokenizer)
    edited, changing = perturbed_in_epoch(generator, [Spoil()])
    assert not changing.any() and edited != PASSAGES
    sums, sizes = log_probs(generator, edited)
    assert_close(first_loss(generator, [Spoil()])["loss"], -sums.sum() / sizes.sum())


@pytest.mark.parametrize("kind", KINDS)
def test_should_change_adds_the_margin_to_the_likelihood_of_the_true_context(kind, tokenizer):
    generator = make(kind, tokenizer)
    edited, changing = perturbed_in_epoch(generator, [Deny()])
    assert 0 < changing.sum() < 24
    (normal, sizes), (perturbed, _) = (log_probs(generator, rows) for rows in (PASSAGES, edited))
    margins = np.maximum(0, 0.3 + perturbed - normal)[changing]
    numbers = first_loss(generator, [Deny()], margin=0.3, margin_weight=2.0)
    assert_close(numbers["loss"], (-normal.sum() + 2 * margins.sum()) / sizes.sum())
    assert_close(numbers["margin_loss"], margins.mean())
    assert numbers["margin_active"] == (margins > 0).sum()


@pytest.mark.parametrize("kind", KINDS)
def test_the_released_margin_is_per_token_and_on_the_generators_own_words(kind, tokenizer):
    generator = make(kind, tokenizer)
    edited, changing = perturbed_in_epoch(generator, [Deny()])
    normal, sizes = log_probs(generator, PASSAGES)
    longest = max(map(len, encoded(generator, PASSAGES)[1]))
    responses = []
    for prompt in encoded(generator, PASSAGES)[0]:
        ids = generator.generate([prompt], longest)[0].tolist()
        end = tokenizer.eos_token_id
        responses.append(ids[: ids.index(end) + 1] if end in ids else ids)
    (before, tokens), (after, _) = (
        log_probs(generator, rows, responses) for rows in (PASSAGES, edited)
    )
    margins = np.maximum(0, 0.1 + (after - before) / tokens) * changing
    expected = -normal.sum() / sizes.sum() + margins.mean()
    numbers = first_loss(generator, [Deny()], margin_target="greedy", margin_over="tokens")
    assert_close(numbers["loss"], expected)


def test_strategies_are_drawn_per_context_and_epoch(tokenizer):
    examples = PerturbedExamples(make("gpt2", tokenizer), TRAIN, [Spoil(), Deny()])
    first, again, later = (examples.perturb(range(24), epoch) for epoch in (0, 0, 1))
    assert first.perturbed == again.perturbed != later.perturbed
    some = examples.perturb([5, 3], 0)  # the same in any batch
    assert some.perturbed == [first.perturbed[5], first.perturbed[3]]
    words = {item.context[0].text.split()[0] for item in first.perturbed}
    assert words == {"um", "not", "hello"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_generator_learns_to_ignore_or_to_heed(kind, tokenizer):
    ignoring, heeding = (make(kind, tokenizer, seed=1) for _ in range(2))
    spoiled = edit_contexts(PASSAGES, Spoil())[0]
    denied, counts = edit_contexts(PASSAGES, Deny())
    before = log_probs(ignoring, spoiled)[0].mean()
    list(RobustTrainer(ignoring, TRAIN, [Spoil()], config=FAST).train(TRAIN))
    assert log_probs(ignoring, spoiled)[0].mean() > before + 1
    against = AgainstConfig(margin=5.0)
    longer = replace(FAST, epochs=8)
    list(RobustTrainer(heeding, TRAIN, [Deny()], against, longer).train(TRAIN))
    gaps = (log_probs(heeding, PASSAGES)[0] - log_probs(heeding, denied)[0])[counts > 0]
    assert gaps.mean() > 2


def test_training_goes_on_where_it_stopped(tokenizer, tmp_path):
    def trainer(checkpoint=None):
        generator = make("seq2seq", tokenizer, dropout=0.2)
        return RobustTrainer(
            generator, TRAIN, [Spoil(), Deny()], config=FAST, checkpoint=checkpoint
        )

    expected = list(trainer().train(TRAIN))[-1]
    list(islice(trainer(tmp_path / "c").train(TRAIN), 3))
    resumed = list(trainer(tmp_path / "c").train(TRAIN))[-1]
    assert_close(resumed["validation_loss"], expected["validation_loss"])


def test_a_latent_variable_takes_part(tokenizer):
    torch.manual_seed(0)
    ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos")}
    sizes = dict.fromkeys(("embedding_size", "encoder_size", "context_size", "hidden_size"), 12)
    sizes |= {"latent_size": 3, "attention_size": 6, "dropout": 0.0}
    config = VhredConfig(vocab_size=len(tokenizer), **sizes, **ids)
    generator = Generator(VhredGenerator(config), tokenizer, PromptFormat("turns"))
    against = AgainstConfig(margin=5.0)
    trainer = RobustTrainer(generator, TRAIN, [Deny()], against, replace(FAST, epochs=14))
    steps = list(trainer.train(TRAIN))
    losses = [row["margin_loss"] for row in steps if "margin_loss" in row]
    assert np.mean(losses[-3:]) < np.mean(losses[:3]) - 1


def test_only_adapters_learn_with_lora(tokenizer):
    generator = make("gpt2", tokenizer)
    generator.model = with_lora(generator.model)
    frozen = {
        name: value.clone()
        for name, value in generator.model.named_parameters()
        if not value.requires_grad
    }
    trainer = make_trainer(generator, TRAIN, FAST, AgainstConfig("random-swap"))
    list(trainer.train(TRAIN))
    for name, value in generator.model.named_parameters():
        assert not value.requires_grad or "lora" in name
        assert name not in frozen or torch.equal(value, frozen[name])


def test_a_strategy_that_edits_nothing_is_refused(tokenizer):
    with pytest.raises(BadInput, match=r"number-swap edits none of 3 .* \(coverage 0 %\)"):
        silent = [replace(item, context=(Turn("A", "hello ."),)) for item in PASSAGES[:3]]
        config, against = replace(FAST, batch_size=2), AgainstConfig("number-swap")
        make_trainer(make("gpt2", tokenizer), to_passages(silent), config, against)


def test_a_margin_that_is_always_met_is_reported(tokenizer):
    generator = make("seq2seq", tokenizer)
    against = AgainstConfig(margin=0.0)

    @dataclass(frozen=True)
    class Same(Deny):
        """An edit that the tokenizer does not see."""

        name = "same"

        def edits(self, text, rng):
            return [Edit(0, text[0], text[0].upper())]

    trainer = RobustTrainer(generator, TRAIN, [Same()], against, FAST)
    list(trainer.train(TRAIN))
    assert "The max-margin loss was 0 in all of" in trainer.warnings[0]


def test_names_become_strategies_within_a_vocabulary_of_words(tokenizer):
    strategies = resolve_strategies(AgainstConfig("random-swap, add-negation"), tokenizer)
    assert [(item.name, item.kind) for item in strategies] == [
        ("random-swap", "should_not_change"), ("add-negation", "should_change"),
    ]  # fmt: skip
    assert all("Restricted" in repr(item) for item in strategies)
    pieces = bpe_tokenizer(["some words"], 5)
    assert not word_vocabulary(pieces)
    group = resolve_strategies(AgainstConfig("should-change"), pieces)
    assert {item.kind for item in group} == {"should_change"} and len(group) > 3
    with pytest.raises(BadInput, match="unknown strategy 'random-swop'"):
        resolve_strategies(AgainstConfig("random-swop"), pieces)


@pytest.mark.parametrize(
    "wrong", [{"margin": -1}, {"margin_target": "gold?"}, {"rl_weight": 1.0}, {"rl_contexts": 0}]
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(BadInput, match="but got"):
        AgainstConfig(**wrong)
