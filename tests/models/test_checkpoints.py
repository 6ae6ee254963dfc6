import os
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2ForSequenceClassification, GPT2LMHeadModel

from dialeval.dialogues import BadInput, Passage, Turn
from dialeval.models.checkpoints import load_dialogrpt

EOS = 39
CONTEXT = [3, 4, 5, EOS, 6, 7, EOS]
RESPONSES = [[8, 9, 10], [11, 12], [8, 13, 14, 15]]
ROWS = [CONTEXT + response for response in RESPONSES]


@pytest.fixture
def ranker() -> GPT2ForSequenceClassification:
    """A tiny DialogRPT: one logit, and one token for separator, end and padding."""
    return randomised(GPT2ForSequenceClassification(shape(num_labels=1)))


def shape(**settings) -> GPT2Config:
    return GPT2Config(
        vocab_size=40, n_embd=32, n_layer=2, n_head=4, n_positions=64, n_inner=48,
        bos_token_id=EOS, eos_token_id=EOS, pad_token_id=EOS, **settings,
    )  # fmt: skip


def randomised(model):
    torch.manual_seed(0)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model.eval()


def original_state(model) -> dict[str, torch.Tensor]:
    """A state dict as the authors' code wrote it, causal masks included."""
    mask = torch.ones(1, 1, 64, 64).tril()
    masks = {f"transformer.h.{layer}.attn.bias": mask for layer in range(2)}
    more = {f"transformer.h.{layer}.attn.masked_bias": torch.tensor(-1e4) for layer in range(2)}
    return {**model.state_dict(), **masks, **more}


def by_hand(ranker, rows: list[list[int]]) -> torch.Tensor:
    """h at each row's last token, a row at a time, in float64."""
    ranker.double()
    with torch.no_grad():
        states = [ranker.transformer(torch.tensor([row])).last_hidden_state[0, -1] for row in rows]
        return torch.stack(states) @ ranker.score.weight[0]


def human_logit(model, batch) -> torch.Tensor:
    """The score of a loaded model, in float64: its weights are the file's, rounding is not."""
    with torch.no_grad():
        logits = model.double()(**batch).logits
    assert not logits[:, 0].any()
    return logits[:, 1]


def saved(ranker, folder: Path, layout: str) -> Path:
    if layout == "safetensors":
        ranker.save_pretrained(folder)
        return folder
    folder.mkdir(exist_ok=True)
    state = original_state(ranker)
    if layout == "bin":
        ranker.config.architectures = ["GPT2ForSequenceClassification"]
        ranker.config.save_pretrained(folder)
        torch.save(state, folder / "pytorch_model.bin")
        return folder
    prefix = "module." if layout == "module" else ""
    torch.save({prefix + key: value for key, value in state.items()}, folder / "hvm.pth")
    return folder / "hvm.pth"


def loaded(path: Path):
    heads = {"n_head": 4, "eos_token_id": EOS} if path.is_file() else {}
    return load_dialogrpt(path, **heads)


@pytest.mark.parametrize("layout", ["safetensors", "bin", "pth", "module"])
def test_every_layout_gives_the_score_at_the_last_response_token(ranker, tmp_path, padded, layout):
    model = loaded(saved(ranker, tmp_path / "rpt", layout))
    scores = human_logit(model, padded(ROWS, "right", EOS))
    torch.testing.assert_close(scores, by_hand(ranker, ROWS), atol=1e-6, rtol=0)
    assert model.config.id2label == {0: "machine", 1: "human"}
    assert model.config.num_labels == 2
    assert (model.config.pooling, model.config.causal) == ("last", True)


def test_the_configuration_follows_from_the_shapes(ranker, tmp_path):
    config = loaded(saved(ranker, tmp_path, "pth")).backbone.config
    assert (config.vocab_size, config.n_embd, config.n_layer) == (40, 32, 2)
    assert (config.n_positions, config.n_inner, config.n_head) == (64, 48, 4)


def test_heads_are_64_wide_by_default(tmp_path):
    wide = GPT2ForSequenceClassification(
        GPT2Config(vocab_size=10, n_embd=128, n_layer=1, n_positions=8, n_head=2, num_labels=1)
    )
    torch.save(wide.state_dict(), tmp_path / "wide.pth")
    assert load_dialogrpt(tmp_path / "wide.pth").backbone.config.n_head == 2


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("layout", ["safetensors", "pth"])
def test_responses_to_one_context_differ_batched_or_alone(ranker, tmp_path, padded, layout, side):
    model = loaded(saved(ranker, tmp_path / "rpt", layout))
    together = human_logit(model, padded(ROWS, side, EOS))
    alone = torch.cat([human_logit(model, padded([row], side, EOS)) for row in ROWS])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)
    assert torch.pdist(together[:, None]).min() > 1e-2


def test_a_trailing_end_token_is_read_where_transformers_skips_it(ranker, tmp_path, padded):
    ranker.save_pretrained(tmp_path)
    rows = [[*row, EOS] for row in ROWS]  # as Gao et al. (2021) write them
    batch = padded(rows, "right", EOS)
    scores = human_logit(load_dialogrpt(tmp_path), batch)
    torch.testing.assert_close(scores, by_hand(ranker, rows), atol=1e-5, rtol=0)
    with torch.no_grad():
        by_transformers = ranker.double()(**batch).logits[:, 0]
    torch.testing.assert_close(by_transformers, by_hand(ranker, ROWS), atol=1e-5, rtol=0)
    assert (scores - by_transformers).abs().min() > 1e-2


@pytest.mark.parametrize("head", ["lm_head.weight", "lm_head.decoder.weight"])
def test_a_language_model_scores_by_its_end_token(tmp_path, padded, head):
    language = randomised(GPT2LMHeadModel(shape()))
    state = original_state(language)
    state[head] = state.pop("lm_head.weight")
    torch.save({key: value.half() for key, value in state.items()}, tmp_path / "medium_ft.pkl")
    model = load_dialogrpt(tmp_path / "medium_ft.pkl", n_head=4, eos_token_id=EOS)
    torch.testing.assert_close(model.score.weight[0], state[head][EOS].half().float())
    with torch.no_grad():
        expected = language.double()(**padded(ROWS[:1], "right")).logits[:, -1, EOS]
    scores = human_logit(model, padded(ROWS[:1], "right"))
    torch.testing.assert_close(scores, expected, atol=2e-2, rtol=0)  # the file is in half precision


def test_a_loaded_ranker_is_saved_as_a_discriminator(ranker, tmp_path, padded):
    model = loaded(saved(ranker, tmp_path / "rpt", "safetensors"))
    model.save_pretrained(tmp_path / "saved")
    again = type(model).from_pretrained(tmp_path / "saved")
    batch = padded(ROWS, "right", EOS)
    assert torch.equal(human_logit(model, batch), human_logit(again, batch))


@pytest.mark.parametrize("layout", ["bin", "pth"])
def test_wrong_keys_are_named_in_one_error(ranker, tmp_path, layout, monkeypatch):
    state = original_state(ranker)
    state.pop("transformer.h.1.mlp.c_fc.bias")
    state["extra.weight"] = torch.zeros(2)
    monkeypatch.setitem(globals(), "original_state", lambda _: state)
    path = saved(ranker, tmp_path, layout)
    with pytest.raises(BadInput, match="missing .*c_fc.bias.*unexpected extra.weight"):
        loaded(path)


def test_a_file_without_a_head_says_so(ranker, tmp_path):
    torch.save(ranker.transformer.state_dict(), tmp_path / "base.pth")
    with pytest.raises(BadInput, match="missing score.weight, transformer.h.0"):
        load_dialogrpt(tmp_path / "base.pth")


def test_small_models_and_vocabularies_ask_for_what_they_need(ranker, tmp_path):
    path = saved(ranker, tmp_path, "pth")
    with pytest.raises(BadInput, match="Give n_head"):
        load_dialogrpt(path)
    torch.save(GPT2LMHeadModel(shape()).state_dict(), tmp_path / "lm.pkl")
    with pytest.raises(BadInput, match="no end token 50256"):
        load_dialogrpt(tmp_path / "lm.pkl", n_head=4)


def test_files_that_hold_no_weights_are_refused(tmp_path):
    (tmp_path / "text.pth").write_text("not weights at all")
    torch.save({"step": 3}, tmp_path / "step.pth")
    torch.save({"code": Path}, tmp_path / "code.pth")
    for name in ("text", "step", "code"):
        with pytest.raises(BadInput, match=f"{name}.pth: expected"):
            load_dialogrpt(tmp_path / f"{name}.pth")


def test_a_file_of_safetensors_is_read(ranker, tmp_path, padded):
    ranker.save_pretrained(tmp_path)
    model = loaded(tmp_path / "model.safetensors")
    scores = human_logit(model, padded(ROWS, "right"))
    torch.testing.assert_close(scores, by_hand(ranker, ROWS), atol=1e-6, rtol=0)


def test_other_models_and_missing_names_are_refused(tmp_path):
    GPT2ForSequenceClassification(shape(num_labels=2)).save_pretrained(tmp_path / "two")
    with pytest.raises(BadInput, match="with one logit"):
        load_dialogrpt(tmp_path / "two")
    with pytest.raises(BadInput, match="cannot be loaded"):
        load_dialogrpt("nobody/nothing")


GOLDEN = {  # doc/toy.tsv.ensemble.jsonl of golsun/DialogRPT
    ("I love NLP!", "Here’s a free textbook (URL) in case anyone needs it."): (
        0.875923, 0.686659, 0.612857, 0.496809, 0.368103,
    ),
    ("I love NLP!", "Me too!"): (0.630566, 0.604691, 0.110552, 0.031935, 0.028545),
    ("How are you?", "Not bad."): (0.962353, 0.462788, 0.174961, 0.077103, 0.075920),
    ("How are you?", "pretty good! :)"): (0.980265, 0.330631, 0.205132, 0.111829, 0.081420),
}  # fmt: skip
RANKERS = ("human-vs-rand", "human-vs-machine", "updown", "depth", "width")


@pytest.mark.skipif(
    "DIALEVAL_DIALOGRPT" not in os.environ,
    reason="the weights of DialogRPT are not at hand: name the folder that holds "
    "DialogRPT-human-vs-rand, -human-vs-machine, -updown, -depth, -width in DIALEVAL_DIALOGRPT",
)
@pytest.mark.parametrize("ranker", RANKERS)
def test_the_released_scores_come_out(ranker):
    from transformers import AutoTokenizer

    from dialeval.dialogues.encoding import input_format
    from dialeval.scorers.neural import NeuralScorer

    folder = Path(os.environ["DIALEVAL_DIALOGRPT"]) / f"DialogRPT-{ranker}"
    scorer = NeuralScorer(
        load_dialogrpt(folder), AutoTokenizer.from_pretrained(folder), input_format("dialogrpt")
    )
    passages = [Passage((Turn("A", context),), response) for context, response in GOLDEN]
    expected = [scores[RANKERS.index(ranker)] for scores in GOLDEN.values()]
    np.testing.assert_allclose(scorer(passages), expected, atol=2e-5)
