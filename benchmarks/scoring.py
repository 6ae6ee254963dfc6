"""Passages per second of the scoring engine, against common alternatives.

All ways run the same weights (a BERT of MiniLM's shape, random) on the same token ids, interleaved,
the best of several rounds. `limit` is the pure forward time on batches without any padding.

Times are CPU seconds of one thread, which other work on the machine disturbs less than the clock.
"""

import tempfile
import time
from collections.abc import Callable

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast, pipeline
from transformers.utils import logging

from dialeval.dialogues import Passage, Turn
from dialeval.dialogues.encoding import input_format
from dialeval.models.batching import pad
from dialeval.scorers.neural import NeuralScorer

BATCH = 32


def make(
    passages: int, seed: int = 0
) -> tuple[list[Passage], BertForSequenceClassification, object]:
    """Passages of mixed lengths, a model, and its tokenizer."""
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list("abcdefghij"), 3)) for _ in range(500)]
    folder = tempfile.mkdtemp()
    with open(f"{folder}/vocab.txt", "w", encoding="utf-8") as file:
        vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys(words)]
        file.write("\n".join(vocabulary))
    tokenizer = BertTokenizerFast(f"{folder}/vocab.txt")
    shape = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12}
    labels = {0: "machine", 1: "human"}
    config = BertConfig(
        vocab_size=len(vocabulary), intermediate_size=1536, id2label=labels, **shape
    )
    torch.manual_seed(0)
    model = BertForSequenceClassification(config).eval()

    def text(mean: float) -> str:
        return " ".join(rng.choice(words, max(2, min(110, int(rng.lognormal(np.log(mean), 0.7))))))

    made = [Passage((Turn("A", text(16)),), text(10), id=str(n)) for n in range(passages)]
    return made, model, tokenizer


def main(passages: int = 600, rounds: int = 3) -> dict[str, float]:
    """Print passages per second and the speed-up of dialeval over each way."""
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    made, model, tokenizer = make(passages)
    ways, scores = _ways(made, model, tokenizer), {}
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.process_time()
            scores[name] = way()
            best[name] = min(best[name], time.process_time() - start)
    reference = best["dialeval"]
    table = Table("way", "passages/s", "speed-up of dialeval", "largest difference")
    for name, seconds in best.items():
        gap = (
            "" if scores[name] is None else f"{np.abs(scores[name] - scores['dialeval']).max():.1e}"
        )
        table.add_row(name, f"{passages / seconds:.0f}", f"{seconds / reference:.2f}", gap)
    Console().print(table)
    return {name: seconds / reference for name, seconds in best.items()}


def _ways(made: list[Passage], model, tokenizer) -> dict[str, Callable[[], np.ndarray | None]]:
    scorer = NeuralScorer(model, tokenizer, input_format("encoder"), device="cpu")
    pairs = [(passage.context[0].text, passage.response) for passage in made]
    classify = pipeline("text-classification", model=model, tokenizer=tokenizer, device="cpu")
    ways = {
        "dialeval": lambda: scorer(made),
        "transformers pipeline": lambda: _with_pipeline(classify, pairs),
        "padded loop": lambda: _with_loop(model, tokenizer, pairs),
        "limit": lambda: _limit(scorer, made),
    }
    try:
        ways["CrossEncoder.predict"] = _cross_encoder(model, tokenizer, pairs)
    except ImportError:
        Console().print("sentence-transformers is not installed: CrossEncoder is skipped")
    return ways


def _with_pipeline(classify, pairs) -> np.ndarray:
    inputs = [{"text": one, "text_pair": two} for one, two in pairs]
    outputs = classify(inputs, batch_size=BATCH, top_k=None)
    return np.array([_human_score(labels) for labels in outputs])


def _human_score(labels: list[dict]) -> float:
    return next(label["score"] for label in labels if label["label"] == "human")


@torch.inference_mode()
def _with_loop(model, tokenizer, pairs) -> np.ndarray:
    scores = []
    for start in range(0, len(pairs), BATCH):
        one, two = zip(*pairs[start : start + BATCH], strict=True)
        batch = tokenizer(list(one), list(two), padding=True, return_tensors="pt")
        batch.pop("token_type_ids")
        scores.append(model(**batch).logits.softmax(-1)[:, 1])
    return torch.cat(scores).numpy()


def _cross_encoder(model, tokenizer, pairs) -> Callable[[], np.ndarray]:
    from sentence_transformers import CrossEncoder

    folder = tempfile.mkdtemp()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    encoder = CrossEncoder(folder, device="cpu")
    settings = {"batch_size": BATCH, "show_progress_bar": False, "apply_softmax": True}
    return lambda: encoder.predict(pairs, **settings)[:, 1]


@torch.inference_mode()
def _limit(scorer: NeuralScorer, made: list[Passage]) -> None:
    """Only the forward passes, on rows of equal length."""
    key = "_rows"
    if not hasattr(scorer, key):
        rows = [encoded.ids for encoded in scorer.input_format(scorer.tokenizer, made)]
        rows.sort(key=len)
        size = max(1, len(rows) // BATCH)
        groups = [
            rows[at : at + len(rows) // size] for at in range(0, len(rows), len(rows) // size)
        ]
        equal = [[row[: sum(map(len, group)) // len(group)] for row in group] for group in groups]
        even = [[row + row[: max(map(len, group)) - len(row)] for row in group] for group in equal]
        setattr(scorer, key, [pad(group, 0) for group in even])
    for batch in getattr(scorer, key):
        scorer.model(**batch)


if __name__ == "__main__":
    main()
