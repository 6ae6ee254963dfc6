"""Training a generator with a latent variable: the bound by hand, its schedule, its collapse."""

from itertools import islice

import pytest
import torch

from dialeval.dialogues import BadInput, Passage, Turn, to_passages
from dialeval.models import VhredConfig, VhredGenerator
from dialeval.models.tokenizers import word_tokenizer
from dialeval.responders.generators import Generator
from dialeval.responders.prompts import PromptFormat
from dialeval.training import GeneratorConfig, GeneratorTrainer
from dialeval.training.latent import check_turns, collapse_warning, kl_weight, latent_numbers
from dialeval.training.likelihood import Examples
from tests.closeness import assert_close

CONFIG = GeneratorConfig(
    epochs=2, learning_rate=0.02, batch_size=8, checkpoint_every=2, kl_steps=0, schedule="constant"
)


def passage(number):
    turns = (Turn("B", f"hello {number} ."), Turn("A", f"do you like topic{number % 5} ?"))
    response = f"i like topic{number % 5}" + " very much" * (number % 3) + " ."
    return Passage(turns, response, id=f"{number}", dialogue_id=f"{number}")


@pytest.fixture(scope="module")
def train():
    return to_passages(passage(number) for number in range(24))


@pytest.fixture(scope="module")
def tokenizer():
    texts = [turn.text for number in range(24) for turn in passage(number).context]
    return word_tokenizer([*texts, *(passage(number).response for number in range(24))], 200)


def make(tokenizer, **settings):
    torch.manual_seed(0)
    ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos")}
    sizes = dict.fromkeys(("embedding_size", "encoder_size", "context_size", "hidden_size"), 12)
    model = VhredGenerator(
        VhredConfig(
            vocab_size=len(tokenizer),
            latent_size=4,
            attention_size=6,
            **sizes,
            **ids,
            **{"dropout": 0.0, "word_drop": 0.0, **settings},
        )
    )
    return Generator(model, tokenizer, PromptFormat("turns"))


def test_the_weight_of_the_divergence_rises_to_one_and_stays():
    paper = [kl_weight(step, 100_000, 75_000) for step in (0, 37_499, 74_999, 90_000)]
    assert paper == pytest.approx([1 / 75_000, 0.5, 1.0, 1.0])
    assert kl_weight(0, 100, 0) == 1.0  # as the released code does, whatever it intends
    assert kl_weight(24, 100, -1) == pytest.approx(0.5)


@pytest.mark.parametrize("steps", [0, 10])
def test_the_loss_is_the_bound_with_the_weight_of_the_step(steps, tokenizer, train):
    generator = make(tokenizer)
    config = GeneratorConfig(
        epochs=1, batch_size=24, kl_steps=steps, optimizer="sgd", schedule="constant",
        learning_rate=1e-9, max_grad_norm=1e9,
    )  # fmt: skip
    examples = Examples(generator, train)
    trainer = GeneratorTrainer(generator, train, config)
    [rows] = examples.batches(24, [config.seed, 0])
    numbers = next(trainer.train(train))
    inputs, labels = examples.tensors(rows)
    torch.manual_seed(config.seed * 1_000_003)  # what the trainer's first step draws from
    output = generator.model.train()(**inputs, targets=labels)
    log_probs = output.logits.log_softmax(-1)
    counted = labels != -100
    words = -log_probs.gather(2, labels.clamp(min=0)[..., None])[..., 0][counted].sum()
    weight = 0.1 if steps else 1.0
    expected = (words + weight * output.kl.sum()) / counted.sum()
    assert_close(numbers["loss"], expected.item())


def test_training_goes_on_where_it_stopped(tokenizer, train, tmp_path):
    whole = GeneratorTrainer(make(tokenizer, word_drop=0.3), train, CONFIG)
    expected = list(whole.train(train))[-1]
    stopped = GeneratorTrainer(make(tokenizer, word_drop=0.3), train, CONFIG, None, tmp_path / "c")
    list(islice(stopped.train(train), 3))
    again = GeneratorTrainer(make(tokenizer, word_drop=0.3), train, CONFIG, None, tmp_path / "c")
    assert_close(list(again.train(train))[-1]["validation_loss"], expected["validation_loss"])


def test_it_learns(tokenizer, train):
    config = GeneratorConfig(epochs=12, learning_rate=0.02, batch_size=8, patience=20)
    trainer = GeneratorTrainer(make(tokenizer), train, config)
    losses = [row["validation_loss"] for row in trainer.train(train) if "perplexity" in row]
    assert losses[-1] < 0.6 * losses[0]


def test_collapse_is_noticed(tokenizer, train):
    generator = make(tokenizer)
    examples = Examples(generator, train)
    alive = latent_numbers(generator.model, examples)
    torch.nn.init.zeros_(generator.model.posterior.mean.weight)
    torch.nn.init.zeros_(generator.model.encoder.prior.mean.weight)
    for layer in (generator.model.posterior, generator.model.encoder.prior):
        torch.nn.init.zeros_(layer.deviation.weight)
    dead = latent_numbers(generator.model, examples)
    assert dead == {"kl": pytest.approx(0, abs=1e-6), "active_units": 0}
    assert alive["kl"] > 0
    assert "0 of 4 units active" in collapse_warning(dead, 4)
    assert collapse_warning({"kl": 2.0, "active_units": 3.0}, 4) is None


def test_contexts_of_one_turn_are_refused(train):
    check_turns(train, 2)
    short = to_passages(
        Passage(passage(number).context[-1:], "yes .", id=str(number)) for number in range(3)
    )
    with pytest.raises(BadInput, match="none of 3 contexts has the two turns"):
        check_turns(short, 2)
    with pytest.raises(BadInput, match="two or more turns, but got 1"):
        check_turns(train, 1)
