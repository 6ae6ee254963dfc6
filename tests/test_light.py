"""What works without torch and transformers, and what a command that needs them says."""

import json
import os
import subprocess
import sys

import pytest

import dialeval
from dialeval.dialogues import Pairing
from dialeval.errors import extra_of, sentence_of
from dialeval.scorers.folders import save_scorer
from dialeval.scorers.linear import SvmScorer

RUNNER = """
import json, sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name.partition(".")[0] in HIDDEN
        return None if hidden else super().find_spec(name, path, target)

HIDDEN, commands = json.loads(sys.argv[1])
sys.meta_path[:] = [Without if finder is PathFinder else finder for finder in sys.meta_path]
from dialeval.commands import main
for command in commands:
    sys.argv = ["dialeval", *command]
    try:
        main()
    except SystemExit as stop:
        print(f"CODE {stop.code or 0}", flush=True)
HEAVY = ("torch", "transformers", "skops", "sklearn", "scipy.stats")
print("LOADED", *(name for name in HEAVY if name in sys.modules))
"""
HEAVY = ["torch", "transformers", "accelerate", "peft", "tokenizers"]


def run_without(hidden, commands, folder):
    """Exit codes of commands in one process that lacks some packages, and all that it printed."""
    arguments = json.dumps([hidden, [list(map(str, command)) for command in commands]])
    environment = {**os.environ, "COLUMNS": "200", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, arguments],
        capture_output=True, text=True, cwd=folder, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    codes = [int(line[5:]) for line in done.stdout.splitlines() if line.startswith("CODE ")]
    return codes, done.stdout, " ".join(done.stderr.split())


def loaded(output):
    """The heavy packages that the process imported."""
    return set(output.splitlines()[-1].split()[1:])


@pytest.fixture
def files(write):
    """Human and system responses to the same contexts."""
    rows = [{"id": f"d{n // 2}-{n}", "dialogue_id": f"d{n // 2}", "context": [f"is {n} far?"]}
            for n in range(120)]  # fmt: skip
    human = [{**row, "response": f"about {n % 7} miles i guess"} for n, row in enumerate(rows)]
    bot = [{**row, "response": f"As an AI, {n % 5} it is.", "author": "bot"}
           for n, row in enumerate(rows)]  # fmt: skip
    dull = [{**row, "response": "i do not know", "author": "dull"} for row in rows]
    return write("human.jsonl", human), write("bot.jsonl", bot), write("dull.jsonl", dull)


def test_data_leaks_evaluation_and_reports_work_without_torch(files, tmp_path):
    human, bot, dull = files
    fast = ("--folds", 2, "--seeds", 1, "--evaluator", "svm-unigram", "--evaluator", "surface")
    commands = [
        ("data", "formats"),
        ("data", "describe", human, "--no-png"),
        ("data", "convert", human, "--output", "copy.jsonl"),
        ("data", "split", human, "--output-dir", "parts"),
        ("data", "leaks", human, bot),
        ("evaluate", "--human", human, "--system", f"bot={bot}", "--system", f"dull={dull}", *fast,
         "-o", "run"),
        ("compare", "run"),
        ("check", "run", "--min", "adversuc=0"),
        ("report", "run", "--format", "markdown"),
        ("list", "evaluators"),
    ]  # fmt: skip
    codes, output, errors = run_without(HEAVY, commands, tmp_path)
    assert codes == [0] * len(commands), errors
    assert (tmp_path / "run" / "report.html").is_file()
    assert loaded(output) == {"sklearn", "scipy.stats"}


def test_a_saved_svm_scores_without_torch(files, tmp_path):
    human, bot, _ = files
    passages = [dialeval.read_passages(path) for path in (human, bot)]
    pairs = Pairing("human_machine")(*passages)
    save_scorer(SvmScorer.fit(pairs), tmp_path / "svm")
    command = ("score", "-d", "svm", "--data", bot, "-o", "scored.csv")
    codes, output, errors = run_without(HEAVY, [command], tmp_path)
    assert codes == [0], errors
    assert len((tmp_path / "scored.csv").read_text().splitlines()) == 121
    assert "torch" not in loaded(output)


def test_what_needs_torch_says_which_extra(files, tmp_path):
    human, bot, _ = files
    commands = [
        ("evaluate", "--human", human, "--system", f"bot={bot}", "-o", "run"),
        ("selfchat", "--data", human, "-o", "chats"),
    ]
    codes, _, errors = run_without(HEAVY, commands, tmp_path)
    assert codes == [2, 2]
    assert "the evaluator stack needs torch" in errors
    assert errors.count("pip install 'dialeval[torch]'") == 2
    assert "--evaluator surface" in errors


def test_refusals_import_nothing_heavy(tmp_path):
    commands = [
        ("evaluate", "--human", "no.jsonl", "--system", "parrot"),
        ("ere", "--human", "no.jsonl"),
        ("train", "--data", "no.jsonl"),
        ("train-generator", "--data", "no.jsonl"),
        ("compare", "no"),
        ("data", "leaks", "no.jsonl", "no.jsonl"),
        ("audit", "no.jsonl", "--reference", "no.jsonl"),
        ("generate", "--data", "no.jsonl"),
        ("robustness", "--data", "no.jsonl"),
    ]
    codes, output, errors = run_without([], commands, tmp_path)
    assert codes == [2] * len(commands)
    assert errors.count("no such file") == len(commands)
    assert loaded(output) <= {"sklearn", "scipy.stats"}


def test_refused_piles_roles_and_names_import_nothing_heavy(write, tmp_path):
    def chats(name, count):
        messages = [
            {"role": ("user", "assistant")[n % 2], "content": f"{name} {n}"} for n in range(4)
        ]
        rows = [
            {
                "id": f"{name}-{n}",
                "messages": [*messages, {"role": "user", "content": f"{name} {n}"}],
            }
            for n in range(count)
        ]
        return write(f"{name}.jsonl", rows)

    human, bot, single = chats("human", 12), chats("bot", 12), chats("single", 1)
    surface, role = ("--evaluator", "surface"), ("--role", "assistant")
    refusals = {
        "nobody": ("evaluate", "--human", human, "--system", f"b={bot}", "--role", "nobody"),
        "nothing says which": ("evaluate", "--human", human, "--system", f"b={bot}", *surface),
        "Unknown evaluator": ("evaluate", "--human", human, "--evaluator", "nonsense"),
        "has 1 dialogue": ("evaluate", "--human", human, "--system", f"b={single}", *role),
        "are identical": ("evaluate", "--human", human, "--system", f"b={human}", *role),
        "unknown system": ("selfchat", "--system", "nonsense"),
        "a name on the Hub": ("score", "-d", "nowhere", "--data", human),
    }
    codes, output, errors = run_without([], list(refusals.values()), tmp_path)
    assert codes == [2] * len(refusals), errors
    assert all(message in errors for message in refusals), errors
    assert not loaded(output)


def test_every_heavy_package_has_an_extra():
    assert {extra_of(name) for name in HEAVY} == {"torch"}
    assert "dialeval[trl]" in sentence_of(ModuleNotFoundError("x", name="trl.trainer"))
    assert sentence_of(ModuleNotFoundError("x", name="unknown")) is None
