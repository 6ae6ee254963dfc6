"""An option that a command would ignore is refused in one sentence, and a useful one is not."""

from functools import partial
from pathlib import Path

import pytest

from dialeval.config import parse_config, read_config
from dialeval.dialogues import BadInput, to_passages, write_passages
from dialeval.scorers.baselines import ConstantScorer, ResponseOnlyScorer
from dialeval.scorers.folders import takes_neural
from dialeval.scorers.joint import JointScorer
from dialeval.scorers.linear import SvmScorer
from dialeval.scorers.linear_features import SvmSettings
from dialeval.scorers.registry import EVALUATORS, NETWORK
from dialeval.settings.against import AgainstConfig
from dialeval.settings.evaluators import EVALUATOR_SETTINGS
from dialeval.settings.robust import RobustRun
from dialeval.settings.training import (
    DiscriminatorConfig,
    DiscriminatorRun,
    GeneratorConfig,
    GeneratorRun,
)
from tests.conftest import talk
from tests.faults import harness

CONFIGS = Path(__file__).parents[2] / "recipes" / "configs"

REFUSED = [
    # options of models, with a responder that has no use for them
    *[(f"generate --responder {name} --data a.jsonl {option}", option.split()[0])
      for name in ("parrot", "random", "retrieval", "constant")
      for option in ("--decoding greedy", "--system-prompt hi", "--temperature 0.5", "-n 2",
                     "--max-new-tokens 5", "--max-tokens 9", "--adapter x", "--concurrency 2",
                     "--api-key-env KEY", "--chat-template none", "--device mps", "--set top_k=1")],
    ("generate --responder stored --answers a.jsonl --data a.jsonl --decoding beam", "--decoding"),
    ("generate --model m@http://localhost:1/v1 --data a.jsonl --device mps", "--device"),
    ("generate --model m@http://localhost:1/v1 --data a.jsonl --pool a.jsonl", "--pool"),
    ("generate --data a.jsonl --backward x", "--backward"),
    ("generate --data a.jsonl --decoding mmi-backward --language-model x", "--language-model"),
    ("selfchat --one parrot --data a.jsonl --system-prompt hi", "--system-prompt"),
    ("selfchat --one parrot --data a.jsonl --second-system-prompt hi", "--second-system-prompt"),
    ("evaluate --human a.jsonl --system b=a.jsonl --temperature 0.5", "--temperature"),
    ("evaluate --human a.jsonl --system parrot --concurrency 2", "--concurrency"),
    ("evaluate --human a.jsonl --system parrot --context x", "--context"),
    ("evaluate --human a.jsonl --system parrot --project x", "--project"),
    ("ere --human a.jsonl --system none --decoding greedy", "--decoding"),
    ("ere --human a.jsonl --threshold 0.2", "--threshold"),
    ("ere --scores s.csv --context-turns 2", "--context-turns"),
    ("ere --scores s.csv --folds 3", "--folds"),
    ("transfer --human a.jsonl --system b=a.jsonl --max-new-tokens 3", "--max-new-tokens"),
    ("robustness --data a.jsonl --model parrot --temperature 0.5", "--temperature"),
    ("robustness --stored normal=a.jsonl --stored antonym=a.jsonl --turns last", "--turns"),
    ("robustness --data a.jsonl --model parrot --name x", "--name"),
    ("robustness --data a.jsonl -m parrot -s antonym --set random-swap.words_per_swap=3", "random"),
    ("perturb a.jsonl -s antonym --set random-swap.words_per_swap=3", "random-swap"),
    ("perturb a.jsonl -s antonym --model smollm2", "--model"),
    ("perturb a.jsonl -s antonym --floor 0.5", "--floor"),
    ("panel runs/x --skip-bad", "--skip-bad"),
    ("panel runs/x --human a.jsonl", "--human"),
    ("panel runs/x --temperature 0.5", "--temperature"),
    ("panel runs/x --llm m@http://localhost:1/v1 --human a.jsonl --chat-template none", "--chat-t"),
    ("panel runs/x --llm smollm2 --human a.jsonl --concurrency 2", "--concurrency"),
    ("audit a.jsonl --reference a.jsonl --machine-role x", "--machine-role"),
    ("audit a.jsonl --reference a.jsonl --fdr 0.1", "--fdr"),
    ("analyse -d x --data a.jsonl --samples 3", "--samples"),
    ("analyse -d x --data a.jsonl --method occlusion --steps 3", "--steps"),
    ("agreement j.csv --threshold 0.2", "--threshold"),
    ("annotate a.jsonl --system parrot --task real --scale a:1:5:5", "--scale"),
    ("annotate a.jsonl --system parrot --task rating --opponent x", "--opponent"),
    ("annotate a.jsonl --system parrot --task better --generated 3", "--generated"),
    ("annotate a.jsonl --system parrot --chat-turns 3", "--chat-turns"),
    ("annotate a.jsonl --system parrot --prepare --port 80", "--port"),
    ("data pair a.jsonl --scenario human_next --random dialogue", "--random"),
    ("data split a.jsonl --folds 3 --parts a=1", "--parts"),
    ("data leaks a.jsonl a.jsonl --output-dir x", "--output-dir"),
    ("data describe a.jsonl --png x.png --no-png", "--png"),
    # settings of networks, with an evaluator that is none
    *[(f"train --data a.jsonl --model {model} {option}", option.split()[0])
      for model in ("svm-unigram", "embedding", "stack", "surface", "length")
      for option in ("--epochs 2", "--hidden-size 9", "--batch-size 3", "--tokenizer bpe",
                     "--backbone minilm", "--max-length 9", "--calibration none", "--measure x",
                     "--forward x", "--resume", "--fresh-negatives")],
    ("train --data a.jsonl --model hierarchical --backbone minilm", "--backbone"),
    ("train --data a.jsonl --model minilm --hidden-size 3", "--hidden-size"),
    ("train --data a.jsonl --model hierarchical --measure entropy", "--measure"),
    ("train --data a.jsonl --machine a.jsonl", "--machine"),
    ("train --data a.jsonl --model rnn --optimizer sgd --weight-decay 0.1", "--weight-decay"),
    ("train --data a.jsonl --model rnn --halve-after 3", "--halve-after"),
    ("train --data a.jsonl --config net.yaml", "--hidden-size"),
    ("train-generator --data a.jsonl --model gpt2 --latent-size 3", "--latent-size"),
    ("train-generator --data a.jsonl --model seq2seq --heads 2", "--heads"),
    ("train-generator --data a.jsonl --model runs/x --hidden-size 3", "--hidden-size"),
    ("train-generator --data a.jsonl --model runs/x --margin 0.2", "--margin"),
    ("train-generator --data a.jsonl --iterations 2", "--iterations"),
    ("train-generator --data a.jsonl --objective reinforce --rollouts 2", "--rollouts"),
    ("train-generator --data a.jsonl --objective reinforce --against antonym", "--against"),
    ("train-generator --data a.jsonl --objective reinforce --reward length --d-steps 2", "--d-st"),
]  # fmt: skip


def run(command, folder):
    return harness.run(command.split(), folder)


@pytest.fixture
def folder(tmp_path):
    write_passages(to_passages(talk(12, 3)), tmp_path / "a.jsonl")
    (tmp_path / "s.csv").write_text("score,label,scenario\n0.5,1,human_random\n")
    (tmp_path / "net.yaml").write_text("model: svm-unigram\nhidden_size: 3\n")
    return tmp_path


@pytest.mark.parametrize(("command", "option"), REFUSED)
def test_an_option_without_an_effect_is_refused(warm, folder, command, option):
    outcome = run(command, folder)
    log = " ".join(outcome.log.split())
    assert outcome.kind == "sentence", outcome.log
    assert "would be ignored" in log or "contradict" in log, log
    assert option in log, log


@pytest.mark.parametrize(
    "command",
    [
        "generate --responder random --data a.jsonl --pool a.jsonl --seed 3 --name x -o x.jsonl",
        "generate --responder constant --text hi --data a.jsonl -o y.jsonl",
        "generate --responder retrieval --data a.jsonl -o z.jsonl --context-turns 1",
        "data pair a.jsonl --scenario human_random --random dialogue",
        "data split a.jsonl --parts a=0.5,b=0.5",
        "perturb a.jsonl -s random-swap --set random-swap.words_per_swap=3",
        "annotate a.jsonl --system constant --task rating --scale a:1:5:5 --prepare -o p",
    ],
)
def test_an_option_with_an_effect_is_accepted(warm, folder, command):
    outcome = run(command, folder)
    assert outcome.kind == "accepted", outcome.log


def test_the_sentence_names_option_choice_and_what_takes_it(warm, folder):
    outcome = run("generate --responder parrot --set top_k=1 --data a.jsonl", folder)
    assert " ".join(outcome.log.split()) == (
        "Error: --set would be ignored by the responder parrot. Leave it out; it is for smollm2, "
        "generator or endpoint."
    )


def test_a_project_that_exists_keeps_its_settings(warm, folder):
    assert run("annotate a.jsonl --system parrot --prepare -o p", folder).code == 0
    assert run("annotate --prepare -o p", folder).code == 0
    outcome = run("annotate --prepare -o p --task better", folder)
    assert outcome.kind == "sentence" and "--task would be ignored" in outcome.log, outcome.log


def test_a_plugin_may_take_any_setting(warm, folder):
    plugin = "from dialeval.scorers.baselines import LengthScorer as Mine\n"
    (folder / "mine.py").write_text(plugin)
    outcome = run("train --data a.jsonl --model mine:Mine --hidden-size 3", folder)
    assert "would be ignored" not in outcome.log, outcome.log


@pytest.mark.parametrize("option", ["--max-tokens 9", "--cache c.txt", "--device mps"])
def test_a_saved_svm_without_a_network_takes_no_options_of_networks(warm, folder, option):
    write_passages(to_passages(talk(24, 3)), folder / "b.jsonl")
    outcome = run("train --data b.jsonl --model svm-unigram --output-dir svm", folder)
    assert outcome.kind == "accepted", outcome.log
    outcome = run(f"score -d svm --data a.jsonl {option}", folder)
    assert outcome.kind == "sentence" and "svm-unigram is no trained network" in outcome.log
    assert f"{option.split()[0]} would be ignored" in outcome.log, outcome.log
    if "device" in option:
        outcome = run(f"analyse -d svm --data a.jsonl {option}", folder)
        assert "--device would be ignored" in outcome.log, outcome.log


def test_an_evaluator_takes_what_one_inside_it_takes():
    class Network(ConstantScorer):
        @classmethod
        def load(cls, folder, settings, neural=None, **options):
            return cls()

    class PlugIn(ConstantScorer):
        @classmethod
        def load(cls, folder, settings, **options):
            return cls()

    constant, svm = ConstantScorer(), partial(SvmScorer, {}, SvmSettings())
    assert not takes_neural(svm(features={"a": constant, "b": len}))
    assert not takes_neural(JointScorer(constant, constant))
    assert not takes_neural(ResponseOnlyScorer(svm()))
    for inner in (Network(), PlugIn()):
        assert takes_neural(inner)
        assert takes_neural(svm(features={"a": constant, "b": inner}))
        assert takes_neural(JointScorer(constant, inner))
        assert takes_neural(ResponseOnlyScorer(svm(features={"a": inner})))


def test_a_file_of_another_model_is_no_wish_for_its_settings(warm, folder):
    command = "train --data a.jsonl --config tiny --model svm-unigram --output-dir x"
    assert "would be ignored" not in run(command, folder).log
    command = "train-generator --config default --model x/y --data a.jsonl"
    assert "would be ignored" not in run(command, folder).log


def test_every_evaluator_says_which_settings_it_takes():
    for name, entry in EVALUATORS.items():
        if entry.source == "dialeval":
            assert entry.takes is not None and entry.takes <= EVALUATOR_SETTINGS, name
            assert ("epochs" in entry.takes) == (entry.target == NETWORK or name == "svm-features")


@pytest.mark.parametrize(
    ("pattern", "schemas"),
    [
        ("discriminator", (DiscriminatorRun, DiscriminatorConfig)),
        ("generator", (GeneratorRun, GeneratorConfig, AgainstConfig)),
        ("robust", (RobustRun, GeneratorConfig, AgainstConfig)),
    ],
)
def test_no_shipped_config_has_a_setting_that_would_be_ignored(pattern, schemas):
    paths = sorted(CONFIGS.glob(f"{pattern}_*.yaml"))
    assert len(paths) >= 3
    for path in paths:
        parse_config(*schemas, argv=["--config", str(path)])
        settings = read_config(str(path), pattern, *schemas)
        entry = EVALUATORS.get(settings.get("model"))
        if pattern == "discriminator" and entry and entry.takes is not None:
            assert settings.keys() & EVALUATOR_SETTINGS <= entry.takes, path.name


def test_recipes_refuse_them_too(tmp_path):
    schemas = GeneratorRun, GeneratorConfig
    with pytest.raises(BadInput, match="--latent_size would be ignored"):
        parse_config(*schemas, argv=["--model", "gpt2", "--latent_size", "3"])
    path = tmp_path / "a.yaml"
    path.write_text("model: vhred\nlatent_size: 3\n")
    parse_config(*schemas, argv=["--config", str(path), "--model", "gpt2"])
    with pytest.raises(BadInput, match="--latent_size would be ignored"):
        parse_config(*schemas, argv=["--config", str(path), "--model=gpt2", "--latent_size=3"])
