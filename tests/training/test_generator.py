"""From a corpus to a generator in a folder: every direction, resuming, adapters, paraphrases."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from accelerate.tracking import GeneralTracker
from safetensors.torch import load_file

from dialeval.config import parse_config
from dialeval.dialogues import BadInput, iterate
from dialeval.dialogues.tokens import count_tokens
from dialeval.metrics.training_results import TrainingResults
from dialeval.responders import respond
from dialeval.responders.decoding import DECODINGS
from dialeval.responders.generators import load_generator
from dialeval.responders.language import GeneratorResponder
from dialeval.training import GeneratorConfig
from dialeval.training import generator as protocol
from dialeval.training.generator import GeneratorRun, build, make_parts, train_generator

CONFIGS = Path(__file__).resolve().parents[2] / "recipes" / "configs"
CONFIG = GeneratorConfig(epochs=2, batch_size=32, learning_rate=0.01, checkpoint_every=3)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Dialogues of four turns, of which the third is a word alone."""
    path = tmp_path_factory.mktemp("corpus") / "talk.txt"
    path.write_text(
        "\n".join(
            " __eou__ ".join(
                "yes ." if turn == 2 else f"number {n % 9} of talk {n} goes on {'so ' * (n % 3)}."
                for turn in range(4)
            )
            + " __eou__"
            for n in range(160)
        )
    )
    return str(path)


@pytest.fixture(scope="module")
def run(corpus):
    return GeneratorRun(
        data=[corpus], tokenizer="words", vocab_size=300, hidden_size=16, layers=1, heads=2,
        positions=64, samples=2, max_eval_passages=20, output_dir="run",
    )  # fmt: skip


@pytest.fixture(scope="module")
def trained(run, tmp_path_factory):
    """A finished run, its results, and the progress it reported."""
    run = replace(run, output_dir=str(tmp_path_factory.mktemp("trained") / "run"))
    reported = []
    return run, train_generator(run, CONFIG, reported.append), reported


def test_a_run_gives_its_numbers_and_saves_them(trained):
    run, results, reported = trained
    folder = Path(run.output_dir)
    assert TrainingResults.load(folder).to_dict() == results.to_dict()
    assert not (folder / "checkpoint").exists()
    assert results.signature.startswith("mle:gpt2|forward|data:talk|ctx:2|min:5|weights:none|n:")
    assert results.settings["batch_size"] == 32 and results.settings["data"] == run.data
    assert [log["epoch"] for log in results.history] == [0, 1]
    assert list(results.history) == [log for log in reported if "perplexity" in log]
    assert results.history[1]["perplexity"] < results.history[0]["perplexity"]
    steps = [log for log in reported if "loss" in log]
    assert [log["step"] for log in steps] == list(range(steps[0]["total"]))
    state = load_file(folder / "model.safetensors")
    assert results.parameters == sum(value.numel() for value in state.values())


def test_test_perplexity_is_that_of_the_saved_generator(trained):
    run, results, _ = trained
    generator = load_generator(run.output_dir, device="cpu")
    end, losses = [generator.tokenizer.eos_token_id], []
    passages = list(iterate(make_parts(run, CONFIG.seed)["test"]))

    def ids(text):
        return generator.tokenizer(text, add_special_tokens=False)["input_ids"] + end

    for passage in passages:
        context = [token for turn in passage.context for token in ids(turn.text)]
        row = torch.tensor([context + ids(passage.response)])
        with torch.no_grad():
            scores = generator.model(row).logits[0, :-1].log_softmax(-1)
        losses += (-scores.gather(1, row[0, 1:, None]).squeeze(1)[len(context) - 1 :]).tolist()
    mean = sum(losses) / len(losses)
    assert results.get("loss").value == pytest.approx(mean, rel=1e-4)
    perplexity = results.get("perplexity")
    assert perplexity.value == pytest.approx(torch.tensor(mean).exp().item(), rel=1e-4)
    assert perplexity.n == len(passages) > 3


def test_the_saved_generator_remembers_and_answers(trained):
    run, results, _ = trained
    generator = load_generator(run.output_dir, device="cpu")
    assert generator.training["signature"] == results.signature
    assert generator.prompts.style == "turns" and generator.max_length == 64
    some = list(iterate(make_parts(run, CONFIG.seed)["test"]))[:2]
    answers = respond(GeneratorResponder(generator, DECODINGS["sampling"], 1, 30), some)
    rows = zip(some, answers, strict=True)
    assert list(results.samples) == [
        {"context": p.context[-1].text, "human": p.response, "generator": a.response}
        for p, a in rows
    ]
    assert any("talk" in answer.response for answer in answers)  # it has learnt the commonest words


def test_parts_share_no_dialogue_and_drop_short_responses(run):
    parts = make_parts(replace(run, max_eval_passages=-1), 0)
    dialogues = [set(part["dialogue_id"]) for part in parts.values()]
    assert not (dialogues[0] & dialogues[1] or dialogues[0] & dialogues[2])
    assert not dialogues[1] & dialogues[2]
    every = [passage for part in parts.values() for passage in iterate(part)]
    assert all(5 <= count_tokens(passage.response) <= 40 for passage in every)
    assert len(every) == 160 * 2 and not any(passage.response == "yes ." for passage in every)
    short = make_parts(replace(run, min_response=1, max_eval_passages=-1), 0)
    assert sum(map(len, short.values())) == 160 * 3
    few = make_parts(replace(run, max_passages=30, max_eval_passages=5), 0)
    assert {name: len(part) for name, part in few.items()} == {
        "train": 30, "validation": 5, "test": 5
    }  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "limits"),
    [
        ({}, (5, 40, None, None)),
        ({"filter": "bruni"}, (5, 25, 3, 25)),
        ({"filter": "bruni", "min_response": 1, "max_response": 9}, (3, 9, 3, 25)),
        ({"filter": "li", "min_response": 1, "max_response": None}, (5, None, None, None)),
        ({"max_context": 12}, (5, 40, None, 12)),
    ],
)
def test_of_two_limits_the_stricter_counts(settings, limits):
    filters = protocol._filters(GeneratorRun(**settings))
    names = ("min_response", "max_response", "min_context", "max_context")
    assert tuple(getattr(filters, name) for name in names) == limits


def test_backward_reads_the_response_and_says_what_came_before(run):
    forward, backward = (
        make_parts(replace(run, direction=name), 0) for name in ("forward", "backward")
    )
    for name in forward:
        pairs = zip(iterate(forward[name]), iterate(backward[name]), strict=True)
        for one, other in pairs:
            assert [turn.text for turn in other.context] == [one.response]
            assert other.response == one.context[-1].text
            assert other.dialogue_id == one.dialogue_id


@pytest.mark.parametrize(
    ("direction", "model", "style"),
    [("backward", "gpt2", "turns"), ("backward", "seq2seq", "turns"),
     ("unconditional", "gpt2", "none"), ("unconditional", "seq2seq", "none")],
)  # fmt: skip
def test_other_directions_and_models_run_and_load(direction, model, style, run):
    run = replace(run, direction=direction, model=model, samples=1)
    results = train_generator(run, replace(CONFIG, max_steps=3, weighting="tf-idf"))
    assert f"mle:{model}|{direction}|" in results.signature
    generator = load_generator("run", device="cpu")
    assert generator.prompts.style == style and generator.is_encoder_decoder == (model == "seq2seq")
    some = list(iterate(make_parts(run, 0)["test"]))[:3]
    assert len(respond(GeneratorResponder(generator, max_new_tokens=5), some)) == 3
    prompts = generator.prompts(generator.tokenizer, some)
    assert (len({tuple(prompt.ids) for prompt in prompts}) == 1) == (style == "none")


class Stop(Exception):
    """What a test stops a run with."""


def stopping_at(step):
    def on_progress(numbers):
        if numbers["step"] == step and "loss" in numbers:
            raise Stop

    return on_progress


def test_an_interrupted_run_resumes_to_the_same_generator(trained, run):
    whole, results, _ = trained
    with pytest.raises(Stop):
        train_generator(run, CONFIG, stopping_at(11))
    with pytest.raises(BadInput, match="^run: an earlier run left a checkpoint.*--resume, or"):
        train_generator(run, CONFIG)
    reported = []
    resumed = train_generator(replace(run, resume=True), CONFIG, reported.append)
    assert reported[0]["step"] == 9  # the last multiple of three before 11, and not the beginning
    for name in ("results", "samples", "signature", "parameters"):
        assert resumed.to_dict()[name] == results.to_dict()[name]
    one, other = (load_file(Path(at, "model.safetensors")) for at in ("run", whole.output_dir))
    assert all(torch.equal(one[name], other[name]) for name in other)


@pytest.fixture(scope="module")
def base(trained, tmp_path_factory):
    """A pretrained model in half precision, as most are, and without what dialeval remembers."""
    generator = load_generator(trained[0].output_dir, device="cpu")
    folder = tmp_path_factory.mktemp("base") / "pretrained"
    generator.model.to(torch.bfloat16).save_pretrained(folder)
    generator.tokenizer.save_pretrained(folder)
    return folder


def test_a_pretrained_model_is_tuned_in_full_precision(run, base):
    generator = build(replace(run, model=str(base)), make_parts(run, 0)["train"])
    assert {value.dtype for value in generator.model.parameters()} == {torch.float32}
    assert all(value.requires_grad for value in generator.model.parameters())
    assert generator.prompts.style == "turns"


def test_lora_trains_adapters_alone_and_saves_them_merged(run, base):
    run = replace(run, model=str(base), tune="lora")
    generator = build(run, make_parts(run, 0)["train"])
    names = [name for name, value in generator.model.named_parameters() if value.requires_grad]
    assert names and all("lora_" in name for name in names)
    results = train_generator(run, replace(CONFIG, max_steps=5))
    assert results.signature.startswith("mle:pretrained|")
    before, after = (load_file(Path(at, "model.safetensors")) for at in (base, "run"))
    assert before.keys() == after.keys()
    changed = {name for name in after if not torch.equal(before[name].float(), after[name])}
    layers = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
    assert changed == {name for name in after if name.endswith(layers)} != set()
    loaded = load_generator("run", device="cpu")
    some = list(iterate(make_parts(run, 0)["test"]))[:2]
    answers = respond(GeneratorResponder(loaded, DECODINGS["sampling"], 1, 30), some)
    assert [answer.response for answer in answers] == [
        sample["generator"] for sample in results.samples
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"direction": "sideways"},
            "`direction` is one of forward, backward, unconditional",
        ),
        ({"tune": "head"}, "`tune` is full or lora, but got 'head'"),
        ({"tune": "lora"}, "lora adapts a pretrained model, not a new gpt2. Give --model a"),
        ({"filter": "kannan"}, "unknown filter 'kannan'. Choose none, li, bruni"),
    ],
)
def test_unknown_settings_list_the_choices(settings, message):
    with pytest.raises(BadInput, match=message):
        GeneratorRun(**settings)


def test_too_little_data_is_refused(run, write):
    one = str(write("one.txt", "is it far ? __eou__ ten minutes on foot . __eou__\n"))
    with pytest.raises(BadInput, match="no dialogue is left for .*Give more dialogues, or lower"):
        train_generator(replace(run, data=[one]), CONFIG)
    with pytest.raises(BadInput, match="empty"):
        train_generator(replace(run, data=[str(write("none.txt", ""))]), CONFIG)
    with pytest.raises(BadInput, match="left for train, validation, test"):
        train_generator(replace(run, min_response=39), CONFIG)
    assert not Path("run", "results.json").exists()


def test_batches_may_be_larger_than_the_data(run):
    results = train_generator(replace(run, max_passages=10), replace(CONFIG, batch_size=500))
    assert [log["step"] for log in results.history] == [1, 2]


class Notebook(GeneralTracker):
    """A tracker that keeps the values it gets."""

    name = "notebook"
    requires_logging_directory = False

    def __init__(self):
        super().__init__()
        self.settings, self.rows = {}, []

    @property
    def tracker(self):
        return self.rows

    def store_init_configuration(self, values):
        self.settings = values

    def log(self, values, step, **kwargs):
        self.rows.append((step, values))


def test_a_tracker_hears_every_number(run, monkeypatch):
    notebook = Notebook()
    monkeypatch.setattr(
        protocol, "Accelerator", lambda **given: Accelerator(**{**given, "log_with": notebook})
    )
    reported = []
    train_generator(run, replace(CONFIG, max_steps=2), reported.append)
    assert notebook.settings["batch_size"] == 32 and notebook.settings["data"] == run.data[0]
    assert [step for step, _ in notebook.rows] == [0, 1, 2]
    for (_, values), numbers in zip(notebook.rows, reported, strict=True):
        assert values == {k: v for k, v in numbers.items() if k not in ("total", "samples")}
    assert "loss" in notebook.rows[0][1] and "perplexity" in notebook.rows[-1][1]


@pytest.mark.filterwarnings("ignore:.*no supported trackers")
def test_a_tracker_that_is_not_there_is_named(run, monkeypatch):
    monkeypatch.setattr("accelerate.tracking.get_available_trackers", list)
    with pytest.raises(BadInput, match="the tracker 'tensorboard' is not installed. Install it"):
        train_generator(replace(run, log_with="tensorboard"), CONFIG)
    with pytest.raises(BadInput, match="Unsupported logging capability: paper"):
        train_generator(replace(run, log_with="paper"), CONFIG)


FORMS = {
    "can you see the {} ?": "is the {} in sight ?",
    "bring me a {} .": "fetch a {} for me .",
    "i lost my {} today .": "today my {} went missing .",
    "where is the {} ?": "what place is the {} at ?",
}


def test_a_paraphraser_learns_from_pairs_and_copies_rare_words(write):
    lines = [
        f"{source.format(f'thing{n}')}\t{target.format(f'thing{n}')}"
        for n in range(120)
        for source, target in FORMS.items()
    ]
    path = str(write("pairs.tsv", "\n".join(lines) + "\n"))
    argv = ["--config", str(CONFIGS / "generator_paraphraser.yaml"), "--data", path]
    argv += ["--hidden_size", "32", "--embedding_size", "32", "--learning_rate", "0.01"]
    argv += ["--epochs", "5", "--batch_size", "16", "--samples", "0"]
    share = {}
    for copy in ("True", "False"):
        given = [*argv, "--output_dir", copy, "--copy", copy]
        run, config = parse_config(GeneratorRun, GeneratorConfig, argv=given)
        train_generator(run, config)
        share[copy] = copied(load_generator(copy, device="cpu"), make_parts(run, 0)["test"])
    shape = load_generator("True", device="cpu").model.config
    assert (shape.copy, shape.attention, shape.bidirectional) == (True, "bahdanau", True)
    assert share["True"] > 0.8 and share["False"] < 0.2, share


def copied(generator, passages):
    """Share of paraphrases that name the thing which the source names."""
    some = list(iterate(passages))
    answers = respond(GeneratorResponder(generator, DECODINGS["greedy"], 1, 12), some)
    things = [re.search(r"thing\d+", passage.context[-1].text)[0] for passage in some]
    rows = zip(things, answers, strict=True)
    return sum(thing in answer.response.split() for thing, answer in rows) / len(some)
