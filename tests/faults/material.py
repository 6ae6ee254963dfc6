"""Real files for the harnesses: corpora, configs, evaluators, generators, runs, a project."""

import json
from pathlib import Path
from shlex import split

from tests.conftest import talk
from tests.faults.harness import run

EVALUATE = split(
    "evaluate --human material/human.jsonl --system bot=material/bot.jsonl --evaluator svm-unigram "
    "--folds 2 --seeds 1 --curve 0.5 --no-twins --no-length-matched --normalise off -o runs/eval"
)
TWO = [*EVALUATE[:-1], "runs/two", "--system", "parrot"]
ERE = split(
    "ere --human material/human.jsonl --system bot=material/bot.jsonl --evaluator svm-unigram "
    "--folds 2 --no-twins -o runs/ere"
)
GENERATE = split("generate --responder parrot --data material/human.jsonl -o gen.jsonl")
ROBUSTNESS = split(
    "robustness -m parrot --data material/human.jsonl --limit 12 -s random-swap -s add-negation "
    "--evaluator none --resamples 50 -o runs/robustness"
)
TRAIN = split(
    "train --config tiny --data material/many.jsonl --filter none --max-pairs 24 --max-eval-pairs "
    "12 --batch-size 8 --epochs 2 --checkpoint-every 2 --hidden-size 4 --vocab-size 100 "
    "--output-dir net"
)
TRAIN_SVM = split("train --model svm-unigram --data material/human.jsonl --output-dir svm")
TRAIN_GENERATOR = split(
    "train-generator --config tiny --data material/many.jsonl --vocab-size 60 --hidden-size 8 "
    "--max-passages 24 --max-eval-passages 12 --batch-size 8 --epochs 2 --checkpoint-every 2 "
    "--samples 1 --min-response 1 --output-dir generator"
)
ANNOTATE = split(
    "annotate material/human.jsonl --system bot=material/bot.jsonl --prepare --items 10 "
    "--test-questions 2 -o project"
)


def write_corpora(folder: Path) -> None:
    """The same passages in several formats, by a human and by a system."""
    from dialeval.dialogues import to_passages, write_passages

    passages = talk(24, 4)
    answers = [passage.with_response(f"reply to {passage.id}", "bot") for passage in passages]
    for ending in ("jsonl", "csv", "tsv", "parquet", "jsonl.gz"):
        if ending != "jsonl.gz":
            write_passages(to_passages(passages), folder / f"human.{ending}")
    write_passages(to_passages(answers), folder / "bot.jsonl")
    many = talk(200, 3)
    write_passages(to_passages(many), folder / "many.jsonl")
    replies = [passage.with_response(f"reply to {passage.id}", "bot") for passage in many]
    write_passages(to_passages(replies), folder / "many-bot.jsonl")
    rows = [
        f"{name},{item},{('real', 'not real')[(item + at) % 3 == 0]},bot"
        for item in range(12)
        for at, name in enumerate(("ann", "bob", "eve"))
    ]
    judgements = "\n".join(["annotator,item,answer,system", *rows])
    (folder / "judgements.csv").write_text(judgements + "\n", encoding="utf-8")
    roles = ("user", "assistant") * 2
    chats = [
        {"messages": [{"role": role, "content": f"{role} {n}"} for role in roles]} for n in range(8)
    ]
    turns = "\n".join(map(json.dumps, chats))
    (folder / "chat.jsonl").write_text(turns + "\n", encoding="utf-8")
    config = "data: [material/human.jsonl]\nmodel: svm-unigram\nmax_pairs: 24\n"
    (folder / "train.yaml").write_text(config, encoding="utf-8")


def write_zero_shot(folder: Path) -> None:
    """An evaluator that applies a tiny language model."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    from dialeval.models.tokenizers import word_tokenizer
    from dialeval.scorers.folders import save_scorer
    from dialeval.scorers.zeroshot import ZeroShotScorer

    torch.manual_seed(0)
    tokenizer = word_tokenizer([passage.response for passage in talk(4, 4)])
    shape = GPT2Config(vocab_size=len(tokenizer), n_embd=8, n_layer=1, n_head=2, n_positions=64)
    save_scorer(ZeroShotScorer(GPT2LMHeadModel(shape), tokenizer), folder)


def build(folder: Path, names: tuple[str, ...] = ()) -> dict[str, float]:
    """Fill `folder/material`; returns the seconds that each command took."""
    material = folder / "material"
    material.mkdir(parents=True)
    write_corpora(material)
    write_zero_shot(material / "zero")
    commands = {
        "runs/eval": EVALUATE, "runs/two": TWO, "runs/ere": ERE, "gen.jsonl": GENERATE,
        "runs/robustness": ROBUSTNESS, "net": TRAIN, "svm": TRAIN_SVM,
        "generator": TRAIN_GENERATOR, "project": ANNOTATE,
    }  # fmt: skip
    seconds = {}
    for output, argv in commands.items():
        if names and output not in names:
            continue
        outcome = run(argv, folder, timeout=300)
        if outcome.kind != "accepted":
            raise RuntimeError(f"{' '.join(argv)}: {outcome.log}")
        seconds[output] = outcome.seconds
        target = material / output
        target.parent.mkdir(parents=True, exist_ok=True)
        (folder / output).rename(target)
    manifest = folder / "gen.jsonl.run.json"
    if manifest.exists():
        manifest.rename(material / manifest.name)
    return seconds
