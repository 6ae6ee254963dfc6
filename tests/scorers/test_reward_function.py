"""A scorer as a reward function of TRL: by hand, and in TRL's own trainers."""

import numpy as np
import pytest
import torch

import dialeval
from dialeval.dialogues import BadInput
from dialeval.scorers import save_scorer
from tests.training.game_worker import WORDS, attacker, judge


class Lengths:
    name, higher_is_human = "lengths", False

    def __call__(self, passages):
        self.seen = [
            ([turn["text"] for turn in context], response)
            for context, response in zip(passages["context"], passages["response"], strict=True)
        ]
        return np.array([len(text) for text in passages["response"]], dtype=float)


def test_texts_and_messages_give_the_same_rewards():
    scorer = Lengths()
    reward = dialeval.reward_function(scorer, separator="<e>")
    assert reward.__name__ == "lengths"
    assert reward(prompts=["hi<e>how are you<e>"], completions=[" fine "], other=[1]) == [-4.0]
    assert scorer.seen == [(["hi", "how are you"], "fine")]
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "how are you"},
    ]
    completion = [{"role": "assistant", "content": [{"type": "text", "text": "fine"}]}]
    assert reward(prompts=[messages], completions=[completion]) == [-4.0]
    assert scorer.seen == [(["hi", "how are you"], "fine")]


def test_a_score_that_is_not_a_number_is_left_out():
    reward = dialeval.reward_function(lambda passages: np.array([np.nan, 0.5]), name="half")
    assert reward(prompts=["a", "b"], completions=["c", "d"]) == [None, 0.5]
    assert reward.__name__ == "half"
    assert reward(prompts=[], completions=[]) == []


def test_a_saved_discriminator_is_loaded_by_its_folder(tmp_path):
    scorer = judge(3)
    reward = dialeval.reward_function(save_scorer(scorer, tmp_path / "judge"))
    [value] = reward(prompts=["tea rain"], completions=["yes the cat"])
    passages = dialeval.to_passages(
        [dialeval.Passage((dialeval.Turn("A", "tea rain"),), "yes the cat")]
    )
    assert value == pytest.approx(float(scorer(passages)[0]), abs=1e-6)


@pytest.mark.parametrize(("given", "message"), [
    ({"prompts": ["a"], "completions": []}, "1 prompts, but 0 completions"),
    ({"prompts": [3], "completions": ["a"]}, "expected a text or a list of chat messages"),
])  # fmt: skip
def test_bad_input(given, message):
    reward = dialeval.reward_function(Lengths())
    with pytest.raises(BadInput, match=message):
        reward(**given)
    with pytest.raises(BadInput, match="an object of type int"):
        dialeval.reward_function(3)


@pytest.mark.parametrize("name", ["GRPO", "RLOO"])
def test_trl_trains_a_tiny_model_with_it(name, tmp_path):
    trl = pytest.importorskip("trl", reason="trl is not installed: pip install dialeval[trl]")
    from datasets import Dataset

    generator = attacker(0, 0.0)
    generator.tokenizer.padding_side = "left"
    prompts = [f"{first} {second}" for first in WORDS[:4] for second in WORDS[4:6]]
    config = getattr(trl, f"{name}Config")(
        output_dir=str(tmp_path), max_steps=2, per_device_train_batch_size=4, num_generations=2,
        max_completion_length=4, learning_rate=0.1, beta=0.0, report_to="none", logging_steps=1,
        save_strategy="no", use_cpu=True, bf16=False, gradient_checkpointing=False,
    )  # fmt: skip
    before = {key: value.clone() for key, value in generator.model.named_parameters()}
    trainer = getattr(trl, f"{name}Trainer")(
        model=generator.model,
        reward_funcs=dialeval.reward_function(judge(1)),
        args=config,
        train_dataset=Dataset.from_dict({"prompt": prompts}),
        processing_class=generator.tokenizer,
    )
    trainer.train()
    rewards = [row["reward"] for row in trainer.state.log_history if "reward" in row]
    assert len(rewards) == 2 and all(0 < reward < 1 for reward in rewards)
    assert any("judge1" in key for row in trainer.state.log_history for key in row)
    after = dict(generator.model.named_parameters())
    assert any(not torch.equal(before[key], after[key]) for key in before)
