"""The joint scorer, against the numbers worked out from the paper and from its released code."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, PreTrainedTokenizerFast

from dialeval.dialogues import BadInput, Passage, Turn
from dialeval.dialogues.encoding import input_format
from dialeval.models.configuration_transformer import TransformerDiscriminatorConfig
from dialeval.models.modeling_transformer import TransformerDiscriminator
from dialeval.scorers import Decision, load_scorer, save_scorer
from dialeval.scorers.baselines import CoinScorer, ConstantScorer
from dialeval.scorers.joint import JointScorer
from dialeval.scorers.neural import NeuralScorer
from tests.closeness import assert_close

TWO = [Passage((Turn("A", "hi"),), text, id=text) for text in ("hello", "bye")]


@dataclass
class Logits:
    """A scorer by the logits that it is to give."""

    logits: tuple[float, ...]
    name: str = "logits"
    higher_is_human: bool = True
    signature: str = "logits"

    def margins(self, passages):
        return np.array(self.logits)

    def __call__(self, passages):
        return 1 / (1 + np.exp(-self.margins(passages)))


HVM, HVR = Logits((4.0, -4.0), "hvm"), Logits((2.0, 2.0), "hvr")


def test_the_paper_takes_the_geometric_mean():
    assert JointScorer(HVM, HVR)(TWO) == pytest.approx([0.930, 0.126], abs=5e-4)


def test_the_released_code_takes_a_soft_minimum_of_a_logit_and_a_probability():
    assert JointScorer.released(HVM, HVR)(TWO) == pytest.approx([0.734, 0.019], abs=5e-4)


def test_the_soft_minimum_by_hand():
    # Values (0, .5) weigh 1 and exp(-.5): .5 exp(-.5) / (1 + exp(-.5)) = .1888, sigmoid .5471.
    joint = JointScorer.released(Logits((0.0,)), Logits((0.0,)))
    assert joint(TWO[:1]) == pytest.approx([0.5471], abs=5e-5)


def test_extreme_scores_stay_numbers():
    extreme = Logits((1e3, -700.0))
    for joint in (JointScorer(extreme, HVR), JointScorer.released(extreme, HVR)):
        scores = joint(TWO)
        assert np.isfinite(scores).all()
        assert scores[0] > 0.5 > 1e-100 > scores[1]
    assert JointScorer(ConstantScorer(0.0), HVR)(TWO).tolist() == [0.0, 0.0]


def test_one_low_score_pulls_the_joint_one_down():
    low, high = ConstantScorer(0.01), ConstantScorer(0.99)
    assert JointScorer(low, high)(TWO)[0] == pytest.approx(np.sqrt(0.01 * 0.99))
    assert np.array_equal(JointScorer(low, high)(TWO), JointScorer(high, low)(TWO))


def test_scorers_that_cannot_be_joined():
    with pytest.raises(BadInput, match="'harmonic'. Choose one of geometric, softmin"):
        JointScorer(HVM, HVR, "harmonic")
    with pytest.raises(BadInput, match="'coin' has none. Put a neural scorer first"):
        JointScorer.released(CoinScorer(), HVR)
    with pytest.raises(BadInput, match="'down' is low for humans"):
        JointScorer(HVM, Logits((1.0, 1.0), "down", higher_is_human=False))
    with pytest.raises(BadInput, match="not in .0, 1.. Join scorers that give P.human."):
        JointScorer(HVM, ConstantScorer(-3.0))(TWO)
    with pytest.raises(BadInput, match="not in .0, 1."):
        JointScorer(HVM, ConstantScorer(np.nan))(TWO)


def test_saved_and_loaded_scores_are_equal(tmp_path):
    chosen = Decision(0.6, "validation", 0.1, 30)
    joint = JointScorer(CoinScorer(1), CoinScorer(2), decision=chosen)
    loaded = load_scorer(save_scorer(joint, tmp_path / "joint"), device="cpu")
    assert np.array_equal(loaded(TWO), joint(TWO))
    assert (loaded.name, loaded.signature) == (joint.name, joint.signature)
    assert loaded.decision == chosen


def test_the_released_one_is_saved_with_its_neural_scorer(tmp_path):
    first = neural()
    joint = JointScorer.released(first, CoinScorer(3))
    loaded = load_scorer(save_scorer(joint, tmp_path / "joint"), device="cpu")
    assert loaded.combine == "softmin"
    assert_close(loaded(TWO), joint(TWO))
    assert len(np.unique(joint(TWO))) == 2


def neural() -> NeuralScorer:
    """A discriminator with random weights that reads bytes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {token: i for i, token in enumerate(["<pad>", "<eos>", *alphabet])}
    core = Tokenizer(models.BPE(vocab, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="<eos>")
    shape = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64}
    torch.manual_seed(0)
    config = TransformerDiscriminatorConfig(GPT2Config(vocab_size=len(vocab), **shape))
    return NeuralScorer(
        TransformerDiscriminator(config), tokenizer, input_format("att"), "hvm", device="cpu"
    )
