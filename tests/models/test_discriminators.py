import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn
from transformers import AutoModelForSequenceClassification

from dialeval.models import (
    DISCRIMINATORS,
    AttentionConfig,
    AttentionDiscriminator,
    ConcatConfig,
    ConcatDiscriminator,
    HierarchicalConfig,
    HierarchicalDiscriminator,
    RnnConfig,
    RnnDiscriminator,
    TransformerDiscriminator,
    TransformerDiscriminatorConfig,
    pairwise_loss,
)
from dialeval.models.modeling_recurrent import response_mask
from dialeval.models.modeling_transformer import reads_ahead

PAD, BOS, EOS = 0, 2, 3
ROWS = [  # each turn ends with EOS, the response begins with BOS
    [5, 6, EOS, 7, EOS, BOS, 8, 9, EOS],
    [10, EOS, BOS, 11, EOS],
    [12, 13, 14, EOS, 15, EOS, 16, EOS, BOS, 17, EOS],
    [BOS, 18, EOS],
]
RECURRENT = {
    "hierarchical": (HierarchicalDiscriminator, HierarchicalConfig),
    "concat": (ConcatDiscriminator, ConcatConfig),
    "attention": (AttentionDiscriminator, AttentionConfig),
    "rnn": (RnnDiscriminator, RnnConfig),
}


def recurrent(kind: str, spread: float = 0.6, **settings):
    """A tiny random model with clearly different scores, in float64 on every CPU."""
    torch.manual_seed(0)
    model_class, config_class = RECURRENT[kind]
    shape = {"vocab_size": 40, "hidden_size": 7, "embedding_size": 5, **settings}
    return model_class(config_class(init_range=spread, **shape)).double().eval()


@pytest.fixture(params=[*RECURRENT, "gpt2", "llama", "bert", "bert-first"])
def model(request, tiny_transformer):
    if request.param in RECURRENT:
        return recurrent(request.param)
    kind, _, pooling = request.param.partition("-")
    return tiny_transformer(kind, **({"pooling": pooling} if pooling else {}))


def logits(model, batch) -> torch.Tensor:
    with torch.no_grad():
        return model(**batch).logits


def turns_of(row: list[int]) -> list[list[int]]:
    turns: list[list[int]] = [[]]
    for token in row:
        turns[-1].append(token)
        if token == EOS:
            turns.append([])
    return [turn for turn in turns if turn]


def run(lstm: nn.LSTM, inputs: torch.Tensor) -> torch.Tensor:
    """Last hidden state of one unpadded sequence, shape `(hidden,)`."""
    return lstm(inputs[None])[0][0, -1]


def test_saved_and_loaded_logits_are_equal(model, padded, tmp_path):
    model.save_pretrained(tmp_path)
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    assert type(again) is type(model)
    batch = padded(ROWS, "right")
    # Not to the last bit: kernels may depend on where a tensor lies in memory.
    torch.testing.assert_close(logits(again, batch), logits(model, batch), rtol=1e-12, atol=1e-12)
    assert again.config.id2label == {0: "machine", 1: "human"}
    assert again.config.label2id == {"machine": 0, "human": 1}
    assert again.config.num_labels == 2


def test_batch_and_padding_do_not_matter(model, padded):
    right, left = (logits(model, padded(ROWS, side)) for side in ("right", "left"))
    alone = torch.cat([logits(model, padded([row], "right")) for row in ROWS])
    wider = padded([*ROWS, [5] * 30], "right")
    assert right.shape == (4, 2)
    assert (right[:, 1] - right[:, 0]).std() > 1e-2
    for other in (left, alone, logits(model, wider)[:4]):
        torch.testing.assert_close(right, other, atol=1e-5, rtol=0)


def test_the_padding_token_does_not_matter(model, padded):
    with_pad, with_eos = (logits(model, padded(ROWS, "right", pad)) for pad in (PAD, EOS))
    torch.testing.assert_close(with_pad, with_eos, atol=1e-5, rtol=0)


def test_gradients_reach_every_parameter(model, padded):
    labels = torch.tensor([1, 0, 1, 0])
    output = model.train()(**padded(ROWS, "right"), labels=labels)
    expected = nn.functional.cross_entropy(output.logits, labels)
    torch.testing.assert_close(output.loss, expected)
    output.loss.backward()
    unread = [
        name
        for name, value in model.named_parameters()
        if value.grad is None or not value.grad.abs().sum()
    ]
    # A BERT's pooler is not read by us, and keys' biases cancel in its softmax (up to rounding).
    assert [name for name in unread if "pooler" not in name and "key.bias" not in name] == []


@pytest.mark.parametrize("kind", RECURRENT)
def test_recurrent_weights_start_inside_their_range(kind):
    model = recurrent(kind, spread=0.1)
    for name, value in model.named_parameters():
        assert value.abs().max() <= 0.1, name
        if value.numel() > 50:
            assert value.abs().max() > 0.08 and value.std() > 0.04, name


@pytest.mark.parametrize("kind", RECURRENT)
def test_recurrent_models_find_padding_without_a_mask(kind, padded):
    model, batch = recurrent(kind), padded(ROWS, "right")
    with_mask = logits(model, batch)
    torch.testing.assert_close(logits(model, {"input_ids": batch["input_ids"]}), with_mask)


def test_the_papers_sizes_are_the_defaults():
    bruni = AttentionConfig()
    assert (bruni.hidden_size, bruni.embedding_size, bruni.dropout) == (500, 500, 0.3)
    assert (bruni.vocab_size, bruni.init_range) == (25_000, 0.1)
    assert (HierarchicalConfig().hidden_size, HierarchicalConfig().dropout) == (512, 0.2)


def test_hierarchical_is_a_loop_over_turns(padded):
    model = recurrent("hierarchical")
    with torch.no_grad():
        for row, scores in zip(ROWS, logits(model, padded(ROWS, "left")), strict=True):
            turns = [run(model.words, model.embedding(torch.tensor(t))) for t in turns_of(row)]
            expected = model.classifier(run(model.turns, torch.stack(turns)))
            torch.testing.assert_close(scores, expected, atol=1e-5, rtol=0)


def test_concat_puts_turns_side_by_side_from_the_response_back(padded):
    model = recurrent("concat", max_turns=3)
    with torch.no_grad():
        for row, scores in zip(ROWS, logits(model, padded(ROWS, "right")), strict=True):
            turns = [run(model.words, model.embedding(torch.tensor(t))) for t in turns_of(row)]
            last = turns[::-1][:3]
            zeros = [torch.zeros(7).double()] * (3 - len(last))
            expected = model.classifier(torch.cat([*last, *zeros]))
            torch.testing.assert_close(scores, expected, atol=1e-5, rtol=0)


def test_rnn_is_an_lstm_over_the_row(padded):
    model = recurrent("rnn")
    with torch.no_grad():
        for row, scores in zip(ROWS, logits(model, padded(ROWS, "left")), strict=True):
            state = run(model.words, model.embedding(torch.tensor(row)))
            torch.testing.assert_close(scores, model.classifier(state), atol=1e-5, rtol=0)


def lstm_by_hand(inputs: np.ndarray, lstm: nn.LSTM, suffix: str = "") -> np.ndarray:
    """States of one direction, the gates written out (Bruni and Fernández, 2017, eqs. 1-3)."""
    weights, recurrent_weights, bias, recurrent_bias = (
        getattr(lstm, f"{name}_l0{suffix}").detach().double().numpy()
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    hidden = cell = np.zeros(lstm.hidden_size)
    states = []
    for vector in inputs:
        gates = weights @ vector + bias + recurrent_weights @ hidden + recurrent_bias
        enter, forget, content, leave = np.split(gates, 4)
        enter, forget, leave = (1 / (1 + np.exp(-gate)) for gate in (enter, forget, leave))
        cell = forget * cell + enter * np.tanh(content)
        hidden = leave * np.tanh(cell)
        states.append(hidden)
    return np.array(states)  # (time, hidden)


def test_attention_is_the_papers_equations(padded):
    model = recurrent("attention")
    row = ROWS[0]
    vectors = model.embedding.weight.detach().double().numpy()[row]
    forward = lstm_by_hand(vectors, model.words)
    backward = lstm_by_hand(vectors[::-1], model.words, "_reverse")[::-1]
    states = np.concatenate([forward, backward], axis=1)  # (time, 2 hidden)
    matrix, bias = (p.detach().double().numpy() for p in model.hidden.parameters())
    query = model.query.weight.detach().double().numpy()[0]
    importance = np.array([query @ np.tanh(matrix @ state + bias) for state in states])  # eq. 4
    weights = np.exp(importance) / np.exp(importance).sum()  # eq. 5
    pooled = sum(weight * state for weight, state in zip(weights, states, strict=True))  # eq. 6
    with torch.no_grad():
        output = model(**padded(ROWS, "left"))
        expected = model.classifier(torch.from_numpy(pooled))
    length = len(row)
    np.testing.assert_allclose(output.attentions[0, :length], weights, atol=1e-5)
    np.testing.assert_allclose(output.hidden_states[0, :length], states, atol=1e-5)
    torch.testing.assert_close(output.logits[0], expected, atol=1e-5, rtol=0)


def test_attention_weights_sum_to_one_and_ignore_padding(padded):
    model = recurrent("attention")
    for side in ("left", "right"):
        with torch.no_grad():
            weights = model(**padded(ROWS, side)).attentions
        torch.testing.assert_close(weights.sum(1), torch.ones(4).double())
        for row, attention in zip(ROWS, weights, strict=True):
            assert (attention[: len(row)] > 0).all() and not attention[len(row) :].any()


@pytest.mark.parametrize("side", ["left", "right"])
def test_context_and_response_are_separated(padded, side):
    masks = response_mask(**padded(ROWS, side), eos=EOS)
    for row, mask in zip(ROWS, masks.int().tolist(), strict=True):
        before = len(row) - len(turns_of(row)[-1])
        inside = [0] * before + [1] * (len(row) - before)
        assert mask == inside + [0] * (len(mask) - len(row))


def test_a_response_without_an_end_token_is_still_the_last_turn(padded):
    rows = [[5, EOS, 6, 7], [8, 9, EOS]]
    mask = response_mask(**padded(rows, "right"), eos=EOS)
    assert mask.int().tolist() == [[0, 0, 1, 1], [1, 1, 1, 0]]


def test_logits_are_zero_and_the_score(transformer, padded):
    scores = logits(transformer, padded(ROWS, "right"))
    assert not scores[:, 0].any()
    torch.testing.assert_close(scores.softmax(-1)[:, 1], torch.sigmoid(scores[:, 1]))


@pytest.mark.parametrize(
    ("kind", "pooling"), [("gpt2", "last"), ("llama", "last"), ("bert", "mean"), ("bert", "first")]
)
def test_pooling_by_hand(tiny_transformer, padded, kind, pooling):
    model = tiny_transformer(kind, pooling=pooling)
    choose = {"last": lambda s: s[-1], "first": lambda s: s[0], "mean": lambda s: s.mean(0)}
    with torch.no_grad():
        for row, scores in zip(ROWS, logits(model, padded(ROWS, "left")), strict=True):
            states = model.backbone(torch.tensor([row])).last_hidden_state[0]
            expected = model.score(choose[pooling](states))[0]
            torch.testing.assert_close(scores[1], expected, atol=1e-5, rtol=0)


def test_a_new_head_on_a_saved_backbone(tiny_transformer, padded, tmp_path):
    for kind, pooling in (("gpt2", "last"), ("bert", "mean")):
        backbone = tiny_transformer(kind).backbone
        backbone.save_pretrained(tmp_path / kind)
        model = TransformerDiscriminator.from_backbone(str(tmp_path / kind)).eval()
        assert (model.config.pooling, model.config.causal) == (pooling, kind == "gpt2")
        assert 0 < model.score.weight.std() < 0.05
        for name, value in backbone.state_dict().items():
            assert torch.equal(model.backbone.state_dict()[name], value), name
        model.save_pretrained(tmp_path / "whole")
        again = TransformerDiscriminator.from_pretrained(tmp_path / "whole").eval()
        batch = padded(ROWS, "right")
        # Not to the last bit: kernels may depend on where a tensor lies in memory.
    torch.testing.assert_close(logits(again, batch), logits(model, batch), rtol=1e-12, atol=1e-12)


def test_readers_ahead_are_recognised(tiny_transformer):
    ahead = {kind: reads_ahead(tiny_transformer(kind).backbone) for kind in ("gpt2", "llama")}
    assert ahead == {"gpt2": False, "llama": False}
    assert reads_ahead(tiny_transformer("bert").backbone)


def test_an_unknown_pooling_is_refused():
    with pytest.raises(ValueError, match="last, first or mean, but got 'max'"):
        TransformerDiscriminatorConfig(pooling="max")


def test_the_pairwise_loss_by_hand():
    human, machine = torch.tensor([2.0, -1.0]), torch.tensor([0.5, 3.0])
    expected = np.mean([np.log1p(np.exp(-1.5)), np.log1p(np.exp(4.0))])
    assert pairwise_loss(human, machine).item() == pytest.approx(expected)
    assert torch.isfinite(pairwise_loss(torch.tensor([-500.0]), torch.tensor([500.0])))


WITHOUT_DIALEVAL = """
import json, sys
sys.modules["dialeval"] = None  # importing it raises
import torch
from transformers import AutoModelForSequenceClassification
results = {}
for folder in sys.argv[1:]:
    model = AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=True)
    batch = {name: torch.tensor(rows) for name, rows in json.load(open(f"{folder}/batch")).items()}
    with torch.no_grad():
        logits = model.eval()(**batch).logits.tolist()
    results[folder] = [type(model).__name__, model.config.id2label[1], logits]
assert not [name for name in sys.modules if name.startswith("dialeval.")]
print(json.dumps(results))
"""


def test_every_model_loads_from_its_folder_without_dialeval(
    tiny_transformer, padded, tmp_path, monkeypatch
):
    for config_class, model_class in DISCRIMINATORS.items():
        for registered in (config_class, model_class):
            monkeypatch.setattr(registered, "_auto_class", None)  # so that it is undone afterwards
        config_class.register_for_auto_class()
        model_class.register_for_auto_class("AutoModelForSequenceClassification")
    models = {kind: recurrent(kind) for kind in RECURRENT}
    models |= {kind: tiny_transformer(kind) for kind in ("gpt2", "bert")}
    assert {type(model) for model in models.values()} == set(DISCRIMINATORS.values())
    batch = padded(ROWS, "left")
    for kind, model in models.items():
        model.save_pretrained(tmp_path / kind)
        assert (tmp_path / kind / "padding.py").is_file()
        rows = {name: tensor.tolist() for name, tensor in batch.items()}
        (tmp_path / kind / "batch").write_text(json.dumps(rows))
    folders = [str(tmp_path / kind) for kind in models]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DIALEVAL, *folders], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    for folder, (name, label, numbers) in results.items():
        model = models[folder.rpartition("/")[2]]
        assert (name, label) == (type(model).__name__, "human")
        expected = logits(model, batch)
        loaded = torch.tensor(numbers, dtype=expected.dtype)
        torch.testing.assert_close(loaded, expected, atol=1e-6, rtol=0)
    assert len(results) == len(models)


def relative_change(model, first: list[int], second: list[int]) -> float:
    """How far a new network's representation moves between two passages, by its size."""
    with torch.no_grad():
        one, two = (model.pool(torch.tensor([row]), torch.tensor([len(row)]))[0]
                    for row in (first, second))  # fmt: skip
    return float((one - two).norm() / one.norm())


def interaction(model, contexts: list[list[int]], replies: list[list[int]]) -> float:
    """Share of a change of context and reply that is not the sum of both changes alone."""
    rows = [[*context, *reply] for context in contexts for reply in replies]
    with torch.no_grad():
        a, b, c, d = (model.pool(torch.tensor([row]), torch.tensor([len(row)]))[0] for row in rows)
    return float((a - b - c + d).norm() / ((a - b).norm() + (a - c).norm()))


@pytest.mark.parametrize("kind", ["hierarchical", "rnn"])
def test_a_new_network_with_scaled_weights_remembers_words_and_combines_turns(kind):
    model_class, config_class = RECURRENT[kind]
    end = [20, 21, 22, 23, 24, 25, 26, 27, EOS]
    contexts, replies = [[5, *end], [6, *end]], [[BOS, 7, *end], [BOS, 8, *end]]
    measured = {}
    for weights in ("uniform", "scaled"):
        changes, shares = [], []
        for seed in range(5):
            torch.manual_seed(seed)
            config = config_class(vocab_size=40, hidden_size=32, initial_weights=weights)
            model = model_class(config).eval()
            changes.append(relative_change(model, *([*contexts[0], *reply] for reply in replies)))
            shares.append(interaction(model, contexts, replies))
        measured[weights] = np.mean(changes), np.mean(shares)
    assert measured["scaled"][0] > 5 * measured["uniform"][0]
    assert measured["scaled"][1] > 5 * measured["uniform"][1]


def test_forget_gates_of_scaled_weights_start_open():
    config = AttentionConfig(vocab_size=40, hidden_size=6, initial_weights="scaled")
    model = AttentionDiscriminator(config)
    for name, parameter in model.words.named_parameters():
        if name.startswith("bias"):
            expected = [0.0] * 6 + [2.0 if "_ih" in name else 0.0] * 6 + [0.0] * 12
            assert parameter.tolist() == expected
        elif name.startswith("weight_hh"):
            for gate in parameter.chunk(4):
                assert torch.allclose(gate @ gate.T, torch.eye(6), atol=1e-5)


def test_concatenated_turns_do_not_interact():
    """So this evaluator cannot recognise random replies that are human replies elsewhere."""
    model = recurrent("concat", spread=2.0, max_turns=3)
    contexts, replies = [[5, 6, EOS], [7, 8, 9, EOS]], [[BOS, 10, EOS], [BOS, 11, 12, EOS]]
    rows = [[*context, *reply] for context in contexts for reply in replies]
    with torch.no_grad():
        a, b, c, d = (model(torch.tensor([row])).logits for row in rows)
    assert (a - b).abs().max() > 0.01 and (a - c).abs().max() > 0.01
    torch.testing.assert_close(a - b - c + d, torch.zeros_like(a))
