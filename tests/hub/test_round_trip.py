"""A pushed item is complete: pulled in a fresh process, it gives the same results."""

import json
import re

import numpy as np
import pytest
import torch
import yaml
from huggingface_hub import parse_eval_result_entries

from dialeval.dialogues import iterate
from dialeval.models.batching import pad
from dialeval.responders.generators import load_generator
from tests.hub.protocol import BINARY

EVALUATORS = (
    "hierarchical", "transformer", "lora", "svm", "svm-features", "length", "joint", "zero-shot",
    "embedding",
)  # fmt: skip
GENERATORS = ("gpt2", "seq2seq", "adapter")
NETWORKS = {"hierarchical": "recurrent", "transformer": "transformer", "lora": "transformer"}
ROWS = [[5, 6, 3, 7, 8, 3, 9, 4, 3], [4, 3, 10, 3]]


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return tmp_path_factory.mktemp("pulled")


def _parts(passages, folder):
    """A folder of passages in two files, and a file that is not a table of passages."""
    lines = passages.read_text().splitlines(keepends=True)
    folder.mkdir()
    (folder / "train.jsonl").write_text("".join(lines[:30]))
    (folder / "test.jsonl").write_text("".join(lines[30:]))
    (folder / "manifest.json").write_text('{"seed": 0}')
    return folder


@pytest.fixture(scope="module")
def pushed(commands, folders, target):
    """Exit code, output and errors of pushing everything and pulling some of it again."""
    (folders["hierarchical"] / "optimizer.pt").write_bytes(b"\x80\x04N.")
    (folders["hierarchical"] / "checkpoint").mkdir()
    (folders["hierarchical"] / "checkpoint" / "state.json").write_text("{}")
    lines = [["push", folder, f"me/{name}"] for name, folder in folders.items()]
    lines += [
        ["pull", "me/passages", "--output-dir", target / "here"],
        ["pull", "me/hierarchical", "--output-dir", target / "network"],
        ["pull", "me/passages", "--output-dir", target / "here"],
        ["data", "convert", "hub:me/passages", "-o", target / "read.jsonl"],
        ["evaluate", "--human", folders["passages"], "--system", "parrot",
         "--evaluator", "svm-unigram", "--output-dir", target / "run"],
        ["push", target / "run", "me/run"],
        ["pull", "me/run", "--output-dir", target / "run-again"],
        ["push", folders["svm"], "me/measured", "--results", target / "run",
         "--evaluator", "svm-unigram", "--dataset", "me/passages"],
        ["push", _parts(folders["passages"], target / "parts"), "me/parts"],
        ["data", "convert", "hub:me/parts:test", "-o", target / "test.jsonl"],
        ["data", "convert", "hub:me/parts", "-o", target / "none.jsonl"],
    ]  # fmt: skip
    runs = commands(*lines)
    by_name = dict(zip(folders, runs, strict=False)) | {"pulls": runs[len(folders) :]}
    for name in folders:
        assert by_name[name][0] == 0, (name, by_name[name])
    return by_name


def test_a_push_prints_its_address_and_the_files_left_out(pushed, hub, folders):
    _, out, err = pushed["hierarchical"]
    assert out.strip() == f"{hub.url}/me/hierarchical" and "Pushed a discriminator" in err
    assert "Left out optimizer.pt: a binary" in err and "checkpoint/: an intermediate" in err
    files = hub.files("models/me/hierarchical")
    assert {"README.md", "scorer.json", "config.json", "model.safetensors"} < set(files)
    assert not {"optimizer.pt", "checkpoint/state.json"} & set(files)
    same = (folders["hierarchical"] / "model.safetensors").read_bytes()
    assert files["model.safetensors"] == same
    assert set(hub.files("datasets/me/passages")) == {"README.md", "perturbed.jsonl"}


CODE = ("modeling_", "configuration_", "padding.py", "recurrent_decoding.py")


def test_only_safe_files_are_on_the_hub(pushed, hub, folders):
    allowed = (".json", ".md", ".txt", ".jinja", ".jsonl", ".safetensors", ".skops")
    for name in folders:
        kind = "datasets" if name == "passages" else "models"
        for path, content in hub.files(f"{kind}/me/{name}").items():
            is_code = path.startswith(CODE)
            assert is_code or path.endswith(allowed), (name, path)
            assert path.endswith(BINARY) or b"\0" not in content, (name, path)


SCORE = """
import json, sys
import dialeval
from dialeval.responders.generators import load_generator

names, generators, rows = json.load(sys.stdin)
passages = dialeval.read_passages("hub:me/passages")
scores = {name: dialeval.load_scorer(f"me/{name}")(passages).tolist() for name in names}
written = {}
for name in generators:
    generator = load_generator(f"me/{name}", device="cpu")
    tokens = generator.generate(rows, 8).tolist()
    written[name] = [tokens, generator.prompts.style, generator.name]
try:
    dialeval.load_scorer("me/strange")
except dialeval.BadInput as error:
    refused = str(error)
ran = any(name.startswith("transformers_modules") for name in sys.modules)
print("\\n" + json.dumps([scores, written, refused, ran]))
"""


@pytest.fixture(scope="module")
def elsewhere(pushed, fresh, hub, tmp_path_factory):
    """Results of a fresh process with an empty cache, and of code in repositories."""
    mark = tmp_path_factory.mktemp("mark") / "ran"
    bad = f"open({str(mark)!r}, 'w').close()\n".encode()
    files = hub.files("models/me/hierarchical")
    files |= {path: bad + code for path, code in files.items() if path.endswith(".py")}
    hub.put("models/me/evil", files)
    config = {**json.loads(files["config.json"]), "model_type": "strange"}
    hub.put("models/me/strange", {**files, "config.json": json.dumps(config)})
    results = fresh(SCORE, [[*EVALUATORS, "evil"], GENERATORS, ROWS])
    return [*results, mark.exists()]


def assert_equal_in_float32(actual, expected, name) -> None:
    """Equal up to rounding: another process may use other threads and kernels."""
    expected = np.asarray(expected)
    tolerance = 100 * np.finfo(np.float32).eps * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance, err_msg=name)


def test_scorers_score_equally_in_another_process(elsewhere, scorers, passages):
    scores = elsewhere[0]
    for name in EVALUATORS:
        assert_equal_in_float32(scores[name], scorers[name](passages), name)
        assert np.std(scores[name]) > 1e-3, name


def test_generators_write_equally_in_another_process(elsewhere, folders):
    for name in GENERATORS:
        tokens, style, label = elsewhere[1][name]
        assert tokens == load_generator(folders[name], device="cpu").generate(ROWS, 8).tolist()
        assert (style, label) == ("turns", f"me/{name}")
    assert elsewhere[1]["adapter"][0] != elsewhere[1]["gpt2"][0]


def test_code_in_a_repository_is_not_run(elsewhere):
    scores, _, refused, ran, marked = elsewhere
    assert scores["evil"] == scores["hierarchical"]
    assert "brings its own code" in refused and "--trust-remote-code" in refused
    assert not ran and not marked


PLAIN = """
import json, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "dialeval":
            raise ModuleNotFoundError("No module named 'dialeval'")

sys.meta_path.insert(0, Blocked())
sys.path = [path for path in sys.path if not path.endswith("main")]
import torch
from transformers import AutoModelForSeq2SeqLM, AutoModelForSequenceClassification, AutoTokenizer

def logits(name, **more):
    model = AutoModelForSequenceClassification.from_pretrained(
        f"me/{name}", trust_remote_code=True, **more
    ).eval()
    return model(torch.tensor(ids), attention_mask=torch.tensor(mask)).logits.tolist()

ids, mask = json.load(sys.stdin)
results = {name: logits(name) for name in ("hierarchical", "transformer")}
results["lora"] = logits("lora", subfolder="base", adapter_kwargs={"subfolder": ""})
given = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}
for name in ("seq2seq", "vhred"):
    model = AutoModelForSeq2SeqLM.from_pretrained(f"me/{name}", trust_remote_code=True).eval()
    tokens = model.generate(**given, max_new_tokens=8, do_sample=False)
    results[name] = AutoTokenizer.from_pretrained(f"me/{name}").batch_decode(tokens)
try:
    AutoModelForSequenceClassification.from_pretrained("me/rnn", trust_remote_code=False)
except ValueError as error:
    results["refused"] = str(error)
try:
    import dialeval
except ModuleNotFoundError:
    print("\\n" + json.dumps(results))
"""


def test_networks_load_without_dialeval(pushed, fresh, scorers, folders, hub):
    hub.put("models/me/rnn", hub.files("models/me/hierarchical"))
    batch = pad(ROWS, 0)
    ids, mask = batch["input_ids"], batch["attention_mask"]
    results = fresh(PLAIN, [ids.tolist(), mask.tolist()])
    for name in NETWORKS:
        with torch.inference_mode():
            expected = scorers[name].model(input_ids=ids, attention_mask=mask).logits
        assert_equal_in_float32(results[name], expected, name)
    for name in ("seq2seq", "vhred"):
        generator = load_generator(folders[name], device="cpu")
        given = {"attention_mask": mask, "max_new_tokens": 8, "do_sample": False}
        tokens = generator.model.generate(ids, **given)
        assert results[name] == generator.tokenizer.batch_decode(tokens)
    assert "trust_remote_code=True" in results["refused"]


def test_code_of_a_model_imports_nothing_of_dialeval(pushed, hub):
    for name in (*NETWORKS, "seq2seq", "vhred"):
        files = hub.files(f"models/me/{name}")
        code = {path: content.decode() for path, content in files.items() if path.endswith(".py")}
        assert code and not any(re.search(r"^\s*(from|import) dialeval", text, re.MULTILINE)
                                for text in code.values())  # fmt: skip
        path = "base/config.json" if name == "lora" else "config.json"
        for reference in json.loads(files[path])["auto_map"].values():
            assert f"{reference.split('.')[0]}.py" in code
    assert not any(path.endswith(".py") for path in hub.files("models/me/svm"))


def test_pulled_passages_are_those_that_were_pushed(pushed, passages, target):
    runs = pushed["pulls"]
    assert [code for code, *_ in runs[:4]] == [0, 0, 2, 0], runs
    assert "Pulled the dataset me/passages, revision" in runs[0][2]
    assert "the discriminator me/hierarchical" in runs[1][2]
    assert "Choose another --output-dir" in runs[2][2]
    lines = (target / "here" / "perturbed.jsonl").read_text().splitlines()
    assert [json.loads(line)["response"] for line in lines] == passages["response"][:]
    assert (target / "read.jsonl").read_text().count("\n") == len(list(iterate(passages)))
    assert not list((target / "network").rglob("*.py"))


def test_a_pulled_evaluation_is_unchanged(pushed, hub, target):
    runs = pushed["pulls"][4:7]
    assert [code for code, *_ in runs] == [0, 0, 0], runs
    assert "Left out cache/: an intermediate" in runs[1][2]
    assert "Pulled the evaluation me/run" in runs[2][2]
    for name in ("scores.parquet", "report.html"):
        assert (target / "run-again" / name).read_bytes() == (target / "run" / name).read_bytes()
    old, new = (
        json.loads((target / run / "results.json").read_text()) for run in ("run", "run-again")
    )
    assert old["results"] == new["results"] and old["verdicts"] == new["verdicts"]
    assert str(target) in json.dumps(old["settings"]) and str(target) not in json.dumps(
        new["settings"]
    )


def test_measured_numbers_are_on_the_hub(pushed, hub, target):
    code, _, err = pushed["pulls"][7]
    assert code == 0 and "No .eval_results" not in err, err
    content = hub.files("models/me/measured")[".eval_results/me--passages.yaml"]
    entries = parse_eval_result_entries(yaml.safe_load(content))
    run = json.loads((target / "run" / "results.json").read_text())["results"]
    expected = [(r["metric"], r["value"]) for r in run if r["evaluator"] == "svm-unigram"]
    assert [(entry.task_id, entry.value) for entry in entries] == expected and expected


def test_a_folder_of_passages_has_a_split_per_file(pushed, passages, target):
    parts, read, unnamed = pushed["pulls"][8:]
    assert [parts[0], read[0], unnamed[0]] == [0, 0, 2], (parts, read, unnamed)
    lines = (target / "test.jsonl").read_text().splitlines()
    assert [json.loads(line)["response"] for line in lines] == passages["response"][30:]
    assert "it has the splits" in unnamed[2] and "hub:me/parts:" in unnamed[2]
