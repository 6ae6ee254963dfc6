"""A Hub on loopback, processes that use it, and one small item of each kind to push."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

from dialeval.dialogues import Pairing, Passage, Turn, to_passages, write_passages
from dialeval.dialogues.encoding import input_format
from dialeval.models import (
    HierarchicalConfig,
    HierarchicalDiscriminator,
    Seq2SeqConfig,
    Seq2SeqGenerator,
    TransformerDiscriminator,
    TransformerDiscriminatorConfig,
    VhredConfig,
    VhredGenerator,
)
from dialeval.models.adapters import add_lora
from dialeval.models.tokenizers import word_tokenizer
from dialeval.responders.generators import Generator, save_generator
from dialeval.responders.prompts import PromptFormat
from dialeval.scorers import Decision, save_scorer
from dialeval.scorers.baselines import LengthScorer
from dialeval.scorers.embedding import EmbeddingScorer
from dialeval.scorers.joint import JointScorer
from dialeval.scorers.linear import SvmScorer
from dialeval.scorers.neural import NeuralScorer
from dialeval.scorers.zeroshot import ZeroShotScorer
from tests.hub.protocol import WRITER
from tests.hub.server import running

ROOT = Path(__file__).resolve().parents[2]
DRIVER = """
import io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from dialeval.commands import main

printed = []
for words in json.load(sys.stdin):
    out, err, code = io.StringIO(), io.StringIO(), 0
    while "=" in words[0]:  # NAME=VALUE before a command, as in a shell
        name, _, value = words.pop(0).partition("=")
        os.environ[name] = value
    sys.argv = ["dialeval", *words]
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
        except Exception as error:  # a traceback is a failure too
            code, _ = 99, err.write(f"Traceback {error!r}")
    printed.append([code, out.getvalue(), err.getvalue()])
print("\\n" + json.dumps(printed))
"""


@pytest.fixture(scope="session")
def hub(tmp_path_factory):
    with running(tmp_path_factory.mktemp("hub")) as server:
        yield server


@pytest.fixture(scope="session")
def started(hub, tmp_path_factory):
    """Start code in a separate process with an empty cache."""

    def start(code: str, token: str | None = WRITER, home: Path | None = None, **env):
        home = home or tmp_path_factory.mktemp("home")
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "DIALEVAL_"))}
        variables |= {"HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_XET": "1", "HF_HOME": str(home)}
        variables |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
        variables |= {"PYTHONPATH": str(ROOT), **({"HF_TOKEN": token} if token else {}), **env}
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        cwd = tmp_path_factory.mktemp("cwd")
        return subprocess.Popen(
            [sys.executable, "-c", code], env=variables, cwd=cwd, text=True, **pipes
        )

    return start


@pytest.fixture(scope="session")
def fresh(started):
    """Run code in such a process; returns the JSON of its last line."""

    def run(code: str, given=None, **options):
        process = started(code, **options)
        out, err = process.communicate(
            json.dumps(given), timeout=1200
        )  # of a machine that is busy with other work
        assert process.returncode == 0, err[-4000:]
        return json.loads(out.splitlines()[-1])

    return run


@pytest.fixture(scope="session")
def commands(fresh):
    """Run commands in one process; returns exit code, output and errors of each."""

    def run(*lines, **options):
        return fresh(DRIVER, [[str(word) for word in line] for line in lines], **options)

    return run


def lines(number: int = 40) -> list[Passage]:
    """Invented passages in which words repeat."""
    return [
        Passage(
            (Turn("A", f"w{row % 7} w{row % 5}"), Turn("B", f"w{row % 3} ?")),
            f"w{row % 11} w{row % 4} w{row % 6}" + " and so on" * (row % 3),
            id=f"d{row}#2",
            dialogue_id=f"d{row}",
        )
        for row in range(number)
    ]


@pytest.fixture(scope="session")
def passages():
    return to_passages(lines())


def _tokenizer():
    return word_tokenizer(
        [text for row in lines() for text in (row.response, *(turn.text for turn in row.context))]
    )


def _randomised(model, std: float = 0.3):
    """The model with random weights, so that its scores are far from equal."""
    torch.manual_seed(7)
    for parameter in model.parameters():
        if parameter.requires_grad:
            torch.nn.init.normal_(parameter, std=std)
    return model.eval()


def _gpt2(words: int) -> GPT2Config:
    return GPT2Config(
        vocab_size=words, n_embd=16, n_layer=1, n_head=2, n_positions=64, bos_token_id=2,
        eos_token_id=3, pad_token_id=0,
    )  # fmt: skip


def _network(name: str, lora: bool = False) -> NeuralScorer:
    tokenizer = _tokenizer()
    if name == "hierarchical":
        config = HierarchicalConfig(vocab_size=len(tokenizer), hidden_size=8)
        model = _randomised(HierarchicalDiscriminator(config), 1.0)
    else:
        config = TransformerDiscriminatorConfig(_gpt2(len(tokenizer)))
        model = _randomised(TransformerDiscriminator(config))
        model = _randomised(add_lora(model, r=2)) if lora else model
    form = input_format("words" if name == "hierarchical" else "att")
    decision = Decision(0.4, "validation", 0.1, 40)
    return NeuralScorer(model, tokenizer, form, name, decision, 1.5, device="cpu")


def _pairs(passages):
    """Human replies against a machine's, which are short and full of the same words."""
    replies = [human.with_response(f"w{row % 3} yes", "bot") for row, human in enumerate(lines())]
    return Pairing("human_machine", seed=0)(passages, to_passages(replies))


@pytest.fixture(scope="session")
def scorers(passages):
    """One scorer of each kind."""
    pairs, tokenizer = _pairs(passages), _tokenizer()
    language = _randomised(GPT2LMHeadModel(_gpt2(len(tokenizer))))
    zero = ZeroShotScorer(language, tokenizer, "log-probability", device="cpu")
    return {
        "hierarchical": _network("hierarchical"),
        "transformer": _network("transformer"),
        "lora": _network("transformer", lora=True),
        "svm": SvmScorer.fit(pairs, min_count=1, folds=2),
        "svm-features": SvmScorer.fit(pairs, features={"length": LengthScorer.fit(pairs)}, folds=2),
        "length": LengthScorer.fit(pairs),
        "joint": JointScorer(_network("hierarchical"), _network("transformer")),
        "zero-shot": zero,
        "embedding": EmbeddingScorer.fit(pairs),
    }


def _generator_adapter(base: Path, folder: Path) -> Path:
    """A LoRA adapter of a generator, with its base next to it."""
    settings = LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True)
    model = get_peft_model(GPT2LMHeadModel.from_pretrained(base), settings)
    _randomised(model, 1.0).save_pretrained(folder)
    shutil.copytree(base, folder / "base")
    return folder


@pytest.fixture(scope="session")
def folders(scorers, passages, tmp_path_factory):
    """Paths of one saved item of each kind."""
    root, tokenizer = tmp_path_factory.mktemp("saved"), _tokenizer()
    paths = {name: save_scorer(scorer, root / name) for name, scorer in scorers.items()}
    shape = {"vocab_size": len(tokenizer), "hidden_size": 8, "num_layers": 1}
    special = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    models = {
        "gpt2": GPT2LMHeadModel(_gpt2(len(tokenizer))),
        "seq2seq": Seq2SeqGenerator(Seq2SeqConfig(**shape, **special)),
        "vhred": VhredGenerator(VhredConfig(len(tokenizer), 6, 4, 8, 8, 4, 3, **special)),
    }
    for name, model in models.items():
        generator = Generator(_randomised(model), tokenizer, PromptFormat("turns"), name)
        paths[name] = save_generator(generator, root / name)
    paths["adapter"] = _generator_adapter(paths["gpt2"], root / "adapter")
    paths["passages"] = write_passages(passages, root / "perturbed.jsonl")
    return paths
