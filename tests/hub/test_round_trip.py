"""What is pushed is complete: pulled in a fresh process, it says what it said before."""

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
from tests.hub.server import BINARY

JUDGES = (
    "hierarchical", "transformer", "lora", "svm", "svm-features", "length", "joint", "zero-shot",
    "embedding",
)  # fmt: skip
GENERATORS = ("gpt2", "seq2seq", "adapter")
OURS = {"hierarchical": "recurrent", "transformer": "transformer", "lora": "transformer"}
ROWS = [[5, 6, 3, 7, 8, 3, 9, 4, 3], [4, 3, 10, 3]]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("pulled")


def _parts(passages, folder):
    """A folder of passages in two files, with a file beside them that is no table of passages."""
    lines = passages.read_text().splitlines(keepends=True)
    folder.mkdir()
    (folder / "train.jsonl").write_text("".join(lines[:30]))
    (folder / "test.jsonl").write_text("".join(lines[30:]))
    (folder / "manifest.json").write_text('{"seed": 0}')
    return folder


@pytest.fixture(scope="module")
def pushed(commands, folders, place):
    """Everything on the Hub, some of it pulled again, with what the command said to each."""
    (folders["hierarchical"] / "optimizer.pt").write_bytes(b"\x80\x04N.")
    (folders["hierarchical"] / "checkpoint").mkdir()
    (folders["hierarchical"] / "checkpoint" / "state.json").write_text("{}")
    lines = [["push", folder, f"me/{name}"] for name, folder in folders.items()]
    lines += [
        ["pull", "me/passages", "--output-dir", place / "here"],
        ["pull", "me/hierarchical", "--output-dir", place / "judge"],
        ["pull", "me/passages", "--output-dir", place / "here"],
        ["data", "convert", "hub:me/passages", "-o", place / "read.jsonl"],
        ["evaluate", "--human", folders["passages"], "--system", "parrot",
         "--evaluator", "svm-unigram", "--output-dir", place / "run"],
        ["push", place / "run", "me/run"],
        ["pull", "me/run", "--output-dir", place / "run-again"],
        ["push", folders["svm"], "me/measured", "--results", place / "run",
         "--called", "svm-unigram", "--dataset", "me/passages"],
        ["push", _parts(folders["passages"], place / "parts"), "me/parts"],
        ["data", "convert", "hub:me/parts:test", "-o", place / "test.jsonl"],
        ["data", "convert", "hub:me/parts", "-o", place / "none.jsonl"],
    ]  # fmt: skip
    found = commands(*lines)
    told = dict(zip(folders, found, strict=False)) | {"pulls": found[len(folders) :]}
    for name in folders:
        assert told[name][0] == 0, (name, told[name])
    return told


def test_what_is_pushed_is_named_and_the_rest_is_said(pushed, hub, folders):
    _, out, err = pushed["hierarchical"]
    assert out.strip() == f"{hub.url}/me/hierarchical" and "Pushed a discriminator" in err
    assert "Left out optimizer.pt: a binary" in err and "checkpoint/: a trace" in err
    files = hub.files("models/me/hierarchical")
    assert {"README.md", "scorer.json", "config.json", "model.safetensors"} < set(files)
    assert not {"optimizer.pt", "checkpoint/state.json"} & set(files)
    same = (folders["hierarchical"] / "model.safetensors").read_bytes()
    assert files["model.safetensors"] == same
    assert set(hub.files("datasets/me/passages")) == {"README.md", "perturbed.jsonl"}


def test_only_safe_files_are_on_the_hub(pushed, hub, folders):
    allowed = (".json", ".md", ".txt", ".jinja", ".jsonl", ".safetensors", ".skops")
    for name in folders:
        kind = "datasets" if name == "passages" else "models"
        for path, content in hub.files(f"{kind}/me/{name}").items():
            is_code = path.startswith(("modeling_", "configuration_", "padding"))
            assert is_code or path.endswith(allowed), (name, path)
            assert path.endswith(BINARY) or b"\0" not in content, (name, path)


SCORE = """
import json, sys
import dialeval
from dialeval.responders.generators import load_generator

names, generators, rows = json.load(sys.stdin)
passages = dialeval.read_passages("hub:me/passages")
told = {name: dialeval.load_scorer(f"me/{name}")(passages).tolist() for name in names}
written = {}
for name in generators:
    found = load_generator(f"me/{name}", device="cpu")
    written[name] = [found.generate(rows, 8).tolist(), found.prompts.style, found.name]
try:
    dialeval.load_scorer("me/strange")
except dialeval.BadInput as error:
    refused = str(error)
ran = any(name.startswith("transformers_modules") for name in sys.modules)
print("\\n" + json.dumps([told, written, refused, ran]))
"""


@pytest.fixture(scope="module")
def elsewhere(pushed, fresh, hub, tmp_path_factory):
    """What a fresh process with an empty cache makes of it all, and of code in repositories."""
    mark = tmp_path_factory.mktemp("mark") / "ran"
    bad = f"open({str(mark)!r}, 'w').close()\n".encode()
    files = hub.files("models/me/hierarchical")
    files |= {path: bad + code for path, code in files.items() if path.endswith(".py")}
    hub.put("models/me/evil", files)
    config = {**json.loads(files["config.json"]), "model_type": "strange"}
    hub.put("models/me/strange", {**files, "config.json": json.dumps(config)})
    told = fresh(SCORE, [[*JUDGES, "evil"], GENERATORS, ROWS])
    return [*told, mark.exists()]


def test_judges_score_equally_on_another_machine(elsewhere, scorers, passages):
    told = elsewhere[0]
    for name in JUDGES:
        np.testing.assert_allclose(told[name], scorers[name](passages), atol=1e-6, err_msg=name)
        assert np.std(told[name]) > 1e-3, name


def test_generators_write_equally_on_another_machine(elsewhere, folders):
    for name in GENERATORS:
        tokens, style, label = elsewhere[1][name]
        assert tokens == load_generator(folders[name], device="cpu").generate(ROWS, 8).tolist()
        assert (style, label) == ("turns", f"me/{name}")
    assert elsewhere[1]["adapter"][0] != elsewhere[1]["gpt2"][0]


def test_code_in_a_repository_is_not_run(elsewhere):
    told, _, refused, ran, marked = elsewhere
    assert told["evil"] == told["hierarchical"]
    assert "it is not complete" in refused and "trust_remote_code" in refused
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
told = {name: logits(name) for name in ("hierarchical", "transformer")}
told["lora"] = logits("lora", subfolder="base", adapter_kwargs={"subfolder": ""})
model = AutoModelForSeq2SeqLM.from_pretrained("me/seq2seq", trust_remote_code=True).eval()
given = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}
found = model.generate(**given, max_new_tokens=8, do_sample=False)
told["seq2seq"] = AutoTokenizer.from_pretrained("me/seq2seq").batch_decode(found)
try:
    AutoModelForSequenceClassification.from_pretrained("me/rnn", trust_remote_code=False)
except ValueError as error:
    told["refused"] = str(error)
try:
    import dialeval
except ModuleNotFoundError:
    print("\\n" + json.dumps(told))
"""


def test_networks_load_without_dialeval(pushed, fresh, scorers, folders, hub):
    hub.put("models/me/rnn", hub.files("models/me/hierarchical"))
    batch = pad(ROWS, 0)
    ids, mask = batch["input_ids"], batch["attention_mask"]
    told = fresh(PLAIN, [ids.tolist(), mask.tolist()])
    for name in OURS:
        with torch.inference_mode():
            expected = scorers[name].model(input_ids=ids, attention_mask=mask).logits
        np.testing.assert_allclose(told[name], expected, atol=1e-6, err_msg=name)
    generator = load_generator(folders["seq2seq"], device="cpu")
    found = generator.model.generate(ids, attention_mask=mask, max_new_tokens=8, do_sample=False)
    assert told["seq2seq"] == generator.tokenizer.batch_decode(found)
    assert "trust_remote_code=True" in told["refused"]


def test_code_of_a_model_imports_nothing_of_dialeval(pushed, hub):
    for name in (*OURS, "seq2seq"):
        files = hub.files(f"models/me/{name}")
        code = {path: content.decode() for path, content in files.items() if path.endswith(".py")}
        assert code and not any(re.search(r"^\s*(from|import) dialeval", text, re.MULTILINE)
                                for text in code.values())  # fmt: skip
        place = "base/config.json" if name == "lora" else "config.json"
        for reference in json.loads(files[place])["auto_map"].values():
            assert f"{reference.split('.')[0]}.py" in code
    assert not any(path.endswith(".py") for path in hub.files("models/me/svm"))


def test_pulled_passages_are_those_that_were_pushed(pushed, passages, place):
    told = pushed["pulls"]
    assert [code for code, *_ in told[:4]] == [0, 0, 2, 0], told
    assert "Pulled the dataset me/passages, revision" in told[0][2]
    assert "the discriminator me/hierarchical" in told[1][2]
    assert "Choose another --output-dir" in told[2][2]
    lines = (place / "here" / "perturbed.jsonl").read_text().splitlines()
    assert [json.loads(line)["response"] for line in lines] == passages["response"][:]
    assert (place / "read.jsonl").read_text().count("\n") == len(list(iterate(passages)))
    assert not list((place / "judge").rglob("*.py"))


def test_an_evaluation_comes_back_as_it_was(pushed, hub, place):
    told = pushed["pulls"][4:7]
    assert [code for code, *_ in told] == [0, 0, 0], told
    assert "Left out cache/: a trace" in told[1][2] and "Pulled the evaluation me/run" in told[2][2]
    for name in ("scores.parquet", "report.html"):
        assert (place / "run-again" / name).read_bytes() == (place / "run" / name).read_bytes()
    old, new = (
        json.loads((place / run / "results.json").read_text()) for run in ("run", "run-again")
    )
    assert old["results"] == new["results"] and old["verdicts"] == new["verdicts"]
    assert str(place) in json.dumps(old["settings"]) and str(place) not in json.dumps(
        new["settings"]
    )


def test_measured_numbers_stand_on_the_hub(pushed, hub, place):
    code, _, err = pushed["pulls"][7]
    assert code == 0 and "No .eval_results" not in err, err
    content = hub.files("models/me/measured")[".eval_results/me--passages.yaml"]
    found = parse_eval_result_entries(yaml.safe_load(content))
    run = json.loads((place / "run" / "results.json").read_text())["results"]
    expected = [(r["metric"], r["value"]) for r in run if r["evaluator"] == "svm-unigram"]
    assert [(each.task_id, each.value) for each in found] == expected and expected


def test_a_folder_of_passages_has_a_split_for_each_file(pushed, passages, place):
    parts, read, unnamed = pushed["pulls"][8:]
    assert [parts[0], read[0], unnamed[0]] == [0, 0, 2], (parts, read, unnamed)
    lines = (place / "test.jsonl").read_text().splitlines()
    assert [json.loads(line)["response"] for line in lines] == passages["response"][30:]
    assert "it has the splits" in unnamed[2] and "hub:me/parts:" in unnamed[2]
