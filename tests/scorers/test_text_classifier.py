"""Any text classifier as an evaluator: its classes, its scores, its direction."""

import math

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    GPT2Config,
    GPT2ForSequenceClassification,
)
from transformers import PreTrainedTokenizerFast as Fast

from dialeval.dialogues import BadInput, Passage, Turn, to_passages
from dialeval.models.sentence_encoder import SentenceEncoder
from dialeval.protocols.evaluation.frozen import FrozenScorer, load_frozen, with_human_label
from dialeval.scorers import Decision, load_scorer, save_scorer
from dialeval.scorers.fitting import FitContext
from dialeval.scorers.registry import fit_function, fitted_names
from dialeval.scorers.text_classifier import TextClassifierScorer

WORDS = ["[PAD]", "[UNK]", "tea", "is", "cold", "now", "good"]
SMALL = {"vocab_size": len(WORDS), "hidden_size": 16, "num_hidden_layers": 1,
         "num_attention_heads": 2, "intermediate_size": 16,
         "max_position_embeddings": 8}  # fmt: skip


def tokenizer() -> Fast:
    words = Tokenizer(models.WordLevel(dict(zip(WORDS, range(9), strict=False)), unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return Fast(tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]")


def classifier(*labels: str) -> BertForSequenceClassification:
    torch.manual_seed(0)
    config = BertConfig(**SMALL, num_labels=len(labels), id2label=dict(enumerate(labels)))
    return BertForSequenceClassification(config)


def passages(*responses: str, author: str = "human") -> list[Passage]:
    return [Passage((Turn("A", "hi"),), text, author, id=str(row), dialogue_id=str(row))
            for row, text in enumerate(responses)]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "detector"
    classifier("Fake", "Real").save_pretrained(path)
    tokenizer().save_pretrained(path)
    return path


def test_the_score_is_the_probability_of_the_human_class_of_the_response_alone(folder):
    texts = ["tea is cold", "good", "", "now is good tea cold is now is tea good"]
    scorer = TextClassifierScorer.from_pretrained(str(folder))
    scores = scorer(to_passages(passages(*texts)))
    model = BertForSequenceClassification.from_pretrained(folder).eval()
    for text, score in zip(texts, scores, strict=True):
        ids = tokenizer()(text)["input_ids"][:8] or [0]
        logits = model(input_ids=torch.tensor([ids])).logits[0].tolist()
        expected = 1 / (1 + math.exp(logits[0] - logits[1]))
        assert score == pytest.approx(expected, abs=1e-5)
    assert "human:Real" in scorer.signature and scorer.labels == ["Fake", "Real"]


def test_the_label_is_named_where_nothing_says_which_one_is_human():
    unnamed = classifier("LABEL_0", "LABEL_1", "LABEL_2")
    with pytest.raises(BadInput, match="--human-label: LABEL_0, LABEL_1, LABEL_2"):
        TextClassifierScorer(unnamed, tokenizer())
    with pytest.raises(BadInput, match="has no class 'yes'"):
        TextClassifierScorer(unnamed, tokenizer(), "yes")
    assert TextClassifierScorer(unnamed, tokenizer(), "label_1").human == 1
    with pytest.raises(BadInput, match="one output"):
        TextClassifierScorer(classifier("score"), tokenizer(), "score")


def test_a_model_without_a_trained_head_or_with_code_is_refused(tmp_path, folder):
    BertModel(BertConfig(**SMALL)).save_pretrained(tmp_path / "base")
    tokenizer().save_pretrained(tmp_path / "base")
    with pytest.raises(BadInput, match="no trained classifier"):
        TextClassifierScorer.from_pretrained(str(tmp_path / "base"), "LABEL_1")
    with pytest.raises(BadInput, match="hf: needs the name"):
        load_frozen("x", "hf:")


def test_a_saved_one_is_read_again(folder, tmp_path):
    scorer = TextClassifierScorer.from_pretrained(str(folder), "Fake", name="mine")
    again = load_scorer(save_scorer(scorer, tmp_path / "saved"))
    rows = to_passages(passages("tea is cold", "good now"))
    assert np.allclose(scorer(rows), again(rows)) and again.labels[again.human] == "Fake"


def test_a_chosen_threshold_is_saved_too(folder, tmp_path):
    scorer = TextClassifierScorer.from_pretrained(str(folder))
    scorer.decision = Decision(0.9, "validation", 0.05, 400)
    assert load_scorer(save_scorer(scorer, tmp_path / "saved")).decision == scorer.decision


@pytest.mark.parametrize("can_pad", [True, False])
def test_a_causal_classifier_without_a_padding_token_reads_the_last_token(can_pad):
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=len(WORDS), n_positions=8, n_embd=16, n_layer=1, n_head=2,
                        num_labels=2, id2label={0: "Fake", 1: "Real"})  # fmt: skip
    model, words = GPT2ForSequenceClassification(config).eval(), tokenizer()
    assert model.config.pad_token_id is None
    if not can_pad:
        words.pad_token = None
    texts = ["tea is cold now", "good", "is good"]
    scores = TextClassifierScorer(model, words)(to_passages(passages(*texts)))
    for text, score in zip(texts, scores, strict=True):
        states = model.transformer(torch.tensor([words(text)["input_ids"]])).last_hidden_state
        logits = model.score(states[0, -1])
        assert score == pytest.approx(logits.softmax(-1)[1].item(), abs=1e-5)


def test_a_direction_that_is_wrong_for_every_system_is_said(folder):
    scorer = TextClassifierScorer.from_pretrained(str(folder))
    texts = sorted((f"{a} {b}" for a in WORDS[2:] for b in WORDS[2:]),
                   key=lambda text: scorer(to_passages(passages(text)))[0])  # fmt: skip
    low, high = to_passages(passages(*texts[:12])), to_passages(passages(*texts[12:24]))
    frozen = load_frozen("hf:detector", f"hf:{folder}#Real")
    assert frozen.check_direction(high, {"bot": low}, 0) == ""
    warning = frozen.check_direction(low, {"bot": high}, 0)
    assert "of them: bot 0.00" in warning and "--human-label" in warning
    assert frozen.check_direction(low, {"bot": high, "same": low}, 0) == ""
    assert (
        load_frozen("hf:detector", f"hf:{folder}#Fake").check_direction(low, {"b": high}, 0) == ""
    )
    assert FrozenScorer(scorer, "x").check_direction(low, {}, 0) == ""


def test_the_option_belongs_to_text_classifiers():
    assert with_human_label(["a=hf:b", "hf:c#d"], "e") == ["a=hf:b#e", "hf:c#d"]
    assert with_human_label(None, None) is None
    with pytest.raises(BadInput, match="--human-label is for text classifiers"):
        with_human_label(["stack"], "human")


def test_another_encoder_is_read_once_and_its_vectors_are_means(tmp_path):
    torch.manual_seed(0)
    BertModel(BertConfig(**SMALL)).save_pretrained(tmp_path / "encoder")
    tokenizer().save_pretrained(tmp_path / "encoder")
    encoder = SentenceEncoder(str(tmp_path / "encoder"))
    texts = ["tea is cold", "good", "now is good"]
    model = BertModel.from_pretrained(tmp_path / "encoder").eval()
    for text, vector in zip(texts, encoder(texts), strict=True):
        states = model(torch.tensor([tokenizer()(text)["input_ids"]])).last_hidden_state[0]
        mean = states.mean(0).detach().numpy()
        assert np.allclose(vector, mean / np.linalg.norm(mean), atol=1e-5)
    spec, context = f"embedding:{tmp_path / 'encoder'}", FitContext()
    assert spec in fitted_names([spec]) and "embedding:" not in fitted_names(["embedding:"])
    human, machine = ["tea is cold", "tea is good"] * 10, ["now now", "good now"] * 10
    rows = to_passages(passages(*human, *machine)).add_column("label", [1] * 20 + [0] * 20)
    scorer = fit_function(spec)(rows, 0, context)
    assert scorer.name == spec and f"vectors:{tmp_path / 'encoder'}" in scorer.signature
    assert scorer(rows)[:20].mean() > scorer(rows)[20:].mean()
    fit_function(spec)(rows, 1, context)
    assert len(context.encoders) == 1


def test_a_wrong_direction_is_said_where_piles_share_no_contexts(folder, tmp_path):
    from dialeval.protocols.unpaired import evaluate_piles, make_piles
    from dialeval.settings.evaluation import EvaluationRun

    scorer = TextClassifierScorer.from_pretrained(str(folder))
    texts = sorted((f"{a} {b}" for a in WORDS[2:] for b in WORDS[2:]),
                   key=lambda text: scorer(to_passages(passages(text)))[0])  # fmt: skip

    def pile(name, replies, author):
        return to_passages(
            Passage((Turn("A", f"{name} {number}"),), text, author, f"{name}{number}",
                    f"{name}{number // 2}")
            for number, text in enumerate(replies * 4)
        )  # fmt: skip

    low, high = texts[:12], texts[12:24]
    for human, system, is_wrong in ((low, high, True), (high, low, False)):
        piles = make_piles(pile("h", human, "human"), {"bot": pile("s", system, "bot")})
        run = EvaluationRun(
            evaluators=[f"hf:{folder}#Real", "surface"], seeds=1, folds=2,
            output_dir=str(tmp_path / str(is_wrong)),
        )  # fmt: skip
        warnings = evaluate_piles(piles, run).warnings
        assert any("--human-label" in text for text in warnings) == is_wrong
