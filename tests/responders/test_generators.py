"""Generators: fast generation against transformers' own on lone rows, saving and loading."""

import json
import shutil

import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import GenerationConfig, modeling_utils

from dialeval.dialogues import BadInput
from dialeval.models import packages
from dialeval.responders import generators, respond
from dialeval.responders.decoding import DECODINGS, likelihoods, truncate_at_end
from dialeval.responders.generators import SETTINGS, Generator, load_generator, save_generator
from dialeval.responders.language import GeneratorResponder
from dialeval.responders.likelihood import response_log_probs
from dialeval.responders.processors import RowNoise
from dialeval.responders.prompts import PromptFormat
from tests.closeness import assert_close

NEW = 6


def rows_of(generator: Generator, contexts) -> list[list[int]]:
    return [prompt.ids for prompt in generator.prompts(generator.tokenizer, contexts)]


def cut(generator: Generator, output: torch.Tensor) -> list[list[int]]:
    return [ids for ids, _ in truncate_at_end(output, generator)]


def sampled(generator: Generator, rows, seeds, copies: int, **settings) -> list[list[int]]:
    noise = RowNoise(seeds, generator.start_at(rows))
    return cut(generator, generator.generate(rows, NEW, copies, [noise], **settings))


def lone(plain_generate, generator: Generator, rows, seeds, copies: int) -> list[list[int]]:
    """What transformers itself says to each copy of each row, one at a time."""
    repeated = [row for row in rows for _ in range(copies)]
    return [
        plain_generate(generator, row, NEW, [RowNoise([seed], generator.start_at([row]))])[0]
        for row, seed in zip(repeated, seeds, strict=True)
    ]


def tokens_read(generator: Generator, run) -> int:
    """How many tokens the embedding of contexts was asked for while something ran."""
    sizes = []
    layer = generator.model.get_input_embeddings()
    hook = layer.register_forward_pre_hook(lambda _, inputs: sizes.append(inputs[0].numel()))
    try:
        run()
    finally:
        hook.remove()
    return sum(sizes)


# Generation


def test_copies_of_padded_prompts_say_what_transformers_says_to_each_alone(
    generator, contexts, plain_generate
):
    rows, seeds = rows_of(generator, contexts), list(range(15))
    responses = sampled(generator, rows, seeds, 3)
    assert responses == lone(plain_generate, generator, rows, seeds, 3)
    assert len({tuple(row) for row in responses}) > 10  # so the comparison says something


def test_an_encoder_decoder_of_transformers_is_run_alike(build, contexts, plain_generate):
    bart = build("bart")
    rows, seeds = rows_of(bart, contexts), list(range(10))
    assert sampled(bart, rows, seeds, 2) == lone(plain_generate, bart, rows, seeds, 2)
    ids = bart.generate(rows, NEW, num_beams=4, num_return_sequences=2)
    options = {"num_beams": 4, "num_return_sequences": 2}
    expected = [response for row in rows for response in plain_generate(bart, row, NEW, **options)]
    assert cut(bart, ids) == expected


@pytest.mark.parametrize("size", [1, 2])
def test_prompts_of_one_or_two_tokens_work(generator, size, plain_generate):
    rows = [[5, 6][:size]]
    seeds = [7, 8, 9]
    responses = sampled(generator, rows, seeds, 3)
    assert responses == lone(plain_generate, generator, rows, seeds, 3)


def test_each_prompt_is_read_once_for_all_its_copies(gpt2, build):
    rows, copies = [[5, 6, 7, 8, 9, 10, 11, 12]] * 2, 5
    steps = NEW * copies * 2  # the last token of a prompt is read by every copy
    run = {"eos_token_id": [999], "pad_token_id": 0}  # nothing ends early
    count = tokens_read(gpt2, lambda: gpt2.generate(rows, NEW, copies, **run))
    assert count == 2 * 7 + steps
    seq2seq = build("seq2seq")
    count = tokens_read(seq2seq, lambda: seq2seq.generate(rows, NEW, copies, **run))
    assert count == 2 * 8 + steps


def test_padding_that_is_the_end_token_is_harmless(build, plain_generate):
    for kind in ("gpt2", "llama"):
        generator = build(kind)
        end = generator.tokenizer.eos_token_id
        rows = [[5, end], [5, 6, end, 7, 8, end], [end]]  # and it stands inside prompts
        expected = lone(plain_generate, generator, rows, range(6), 2)
        tokenizer = generator.tokenizer
        tokenizer.pad_token = None
        same = Generator(generator.model, tokenizer, generator.prompts)
        assert same.pad_id == end
        assert sampled(same, rows, range(6), 2) == expected
        beams = [
            response for row in rows for response in plain_generate(same, row, NEW, num_beams=3)
        ]
        assert cut(same, same.generate(rows, NEW, num_beams=3)) == beams


@pytest.mark.parametrize("rows", [[[5, 6, 7]] * 3, [[5, 6, 7], [6, 7], [7]]])
def test_padding_tokens_count_once_drawn_and_transformers_asks_for_no_mask(
    build, plain_generate, monkeypatch, rows
):
    """`generate` itself drops a mask without padding; what follows an ending is no token."""
    advice = []
    monkeypatch.setattr(modeling_utils.logger, "warning_once", advice.append)
    gpt2 = build("gpt2")
    config, seeds = gpt2.model.config, list(range(90))
    responses = sampled(gpt2, rows, seeds, 30)
    assert advice == []
    assert config.pad_token_id == gpt2.pad_id
    assert sum(gpt2.pad_id in row[:-1] for row in responses) > 5
    assert {len(row) for row in responses} >= {2, NEW}  # some ended while others went on
    assert responses == lone(plain_generate, gpt2, rows, seeds, 30)


def test_the_models_own_generation_settings_are_set_aside(generator, contexts):
    rows = rows_of(generator, contexts)
    expected = generator.generate(rows, NEW)
    before = generator.model.generation_config
    generator.model.generation_config = GenerationConfig(
        eos_token_id=before.eos_token_id,
        decoder_start_token_id=before.decoder_start_token_id,
        do_sample=True, temperature=5.0, top_k=50, top_p=0.5, repetition_penalty=3.0, num_beams=3,
        no_repeat_ngram_size=1, min_new_tokens=5, forced_bos_token_id=7, forced_eos_token_id=8,
        suppress_tokens=[5, 6], begin_suppress_tokens=[4, 9], max_length=9, bad_words_ids=[[11]],
    )  # fmt: skip
    changed = generator.model.generate(torch.tensor([rows[1]]), max_new_tokens=NEW)
    assert not torch.equal(changed[0, -NEW:], expected[1])  # they would have done something
    again = Generator(generator.model, generator.tokenizer, generator.prompts)
    assert torch.equal(again.generate(rows, NEW), expected)


def test_a_model_with_several_end_tokens_stops_at_each(build):
    generator = build("gpt2")
    eos = generator.tokenizer.eos_token_id
    rows = [[5, 6, 7]] * 40
    free = sampled(generator, rows, range(40), 1)
    generator.model.generation_config.eos_token_id = [eos, 9, 11]
    stopping = Generator(generator.model, generator.tokenizer, generator.prompts)
    assert stopping.end_ids == [9, 11, eos]  # the tokenizer's own ends what is trained on
    ids = stopping.generate(rows, NEW, processors=[RowNoise(range(40), 3)])
    at = [min((row.index(end) + 1 for end in (9, 11) if end in row), default=NEW) for row in free]
    expected = [row[:end] for row, end in zip(free, at, strict=True)]
    assert cut(stopping, ids) == expected
    assert {row[-1] for row in expected} >= {9, 11, eos}
    assert all(done == (row[-1] in (9, 11, eos)) for row, done in truncate_at_end(ids, stopping))


def test_logits_of_the_next_token_are_those_of_a_lone_row(generator, contexts, logits_after):
    rows = rows_of(generator, contexts)
    expected = torch.stack([logits_after(generator, row) for row in rows])
    assert_close(generator.next_logits(rows), expected)


def test_first_tokens_can_be_given_and_the_rest_follows_them(generator, contexts, logits_after):
    rows, copies = rows_of(generator, contexts), 3
    opened = torch.tensor([[4, 9, 6], [5, 5, 5], [12, 4, 8], [3, 6, 7], [9, 8, 3]])

    def first(logits: torch.Tensor) -> torch.Tensor:
        expected = torch.stack([logits_after(generator, row) for row in rows])
        assert_close(logits, expected)
        return opened

    ids = generator.generate(rows, NEW, copies, first=first)
    assert ids.shape[0] == 15 and ids.shape[1] <= NEW
    for at, row in enumerate(cut(generator, ids)):
        continuation = [int(opened.flatten()[at])]
        while len(continuation) < NEW and continuation[-1] != generator.tokenizer.eos_token_id:
            continuation.append(
                int(logits_after(generator, rows[at // copies], continuation).argmax())
            )
        assert row == continuation
    assert torch.equal(generator.generate(rows, 1, copies, first=first), opened.reshape(-1, 1))


def test_first_tokens_do_not_make_a_prompt_be_read_again(gpt2):
    rows, copies = [[5, 6, 7, 8, 9, 10, 11, 12]] * 2, 5
    run = {"eos_token_id": [999], "pad_token_id": 0}
    opened = torch.full((2, copies), 5)
    count = tokens_read(
        gpt2, lambda: gpt2.generate(rows, NEW, copies, first=lambda _: opened, **run)
    )
    assert count == 2 * 8 + (NEW - 1) * copies * 2


def test_an_adapter_that_is_not_merged_generates_as_when_it_is(build, contexts):
    for kind in ("gpt2", "llama"):
        generator = build(kind)
        rows = rows_of(generator, contexts)
        plain = sampled(generator, rows, range(10), 2)
        generator.model = with_lora(generator.model)
        responses = sampled(generator, rows, range(10), 2)
        generator.model = generator.model.merge_and_unload()
        assert responses == sampled(generator, rows, range(10), 2)
        assert responses != plain


def test_what_was_generated_can_be_learnt_from(gpt2):
    ids = gpt2.generate([[5, 6, 7]], NEW)
    loss = gpt2.model(input_ids=ids, labels=ids).loss
    loss.backward()
    assert gpt2.model.get_input_embeddings().weight.grad.abs().sum() > 0
    gpt2.model.zero_grad()


def test_room_for_a_prompt(build):
    gpt2, bart, seq2seq = build("gpt2"), build("bart"), build("seq2seq")
    assert [gpt2.max_prompt_length(new) for new in (1, 40, 48)] == [47, 8, 0]
    assert [bart.max_prompt_length(new) for new in (1, 40, 48, 49)] == [48, 48, 48, -1]
    assert seq2seq.max_prompt_length(1000) is None
    assert (gpt2.max_length, bart.max_length, seq2seq.max_length) == (48, None, None)
    assert bart.prompts.max_length == 48  # the encoder cannot read more
    assert (gpt2.prompts.max_length, seq2seq.prompts.max_length) == (None, None)


# Likelihoods


def one_token_at_a_time(logits_after, generator, context, response) -> float:
    return sum(
        float(logits_after(generator, context, response[:at]).double().log_softmax(-1)[token])
        for at, token in enumerate(response)
    )


def test_likelihoods_equal_reading_one_token_at_a_time(generator, contexts, logits_after):
    rows = rows_of(generator, contexts)
    responses = [[4, 5, 3], [3], [6, 6, 12, 5, 3], [10, 3], [9, 8, 7, 3]]
    expected = [
        one_token_at_a_time(logits_after, generator, *pair)
        for pair in zip(rows, responses, strict=True)
    ]
    for batch_tokens in (1, 20, 2048):
        result = response_log_probs(
            generator.model, generator.pad_id, rows, responses, batch_tokens
        )
        np.testing.assert_allclose(result[0], expected, atol=1e-4)
        assert result[1].tolist() == [3, 1, 5, 2, 4]


def test_the_likelihood_of_a_passage_counts_the_end_of_its_response(
    generator, make_passage, logits_after
):
    passages = [make_passage("you cat", response="dog sea"), make_passage("rain", response=" sun ")]
    sums, lengths = likelihoods(generator, passages)
    end = generator.tokenizer.eos_token_id
    ids = generator.tokenizer.get_vocab()
    rows = [[ids["you"], ids["cat"], end], [ids["rain"], end]]
    responses = [[ids["dog"], ids["sea"], end], [ids["sun"], end]]
    expected = [
        one_token_at_a_time(logits_after, generator, *pair)
        for pair in zip(rows, responses, strict=True)
    ]
    np.testing.assert_allclose(sums, expected, atol=1e-4)
    assert lengths.tolist() == [3, 2]


def test_a_passage_that_is_too_long_loses_the_beginning_of_its_context(
    gpt2, make_passage, logits_after
):
    passage = make_passage("you cat " * 30, response="sun moon")  # 61 tokens, and 48 positions
    sums, lengths = likelihoods(gpt2, [passage])
    ids = rows_of(gpt2, [passage])[0][-45:]
    response = gpt2.tokenizer("sun moon")["input_ids"] + gpt2.end_ids
    assert sums[0] == pytest.approx(
        one_token_at_a_time(logits_after, gpt2, ids, response), abs=1e-4
    )
    assert lengths.tolist() == [3]


# Saving and loading


def with_lora(model):
    targets = ["c_attn"] if model.config.model_type == "gpt2" else ["q_proj", "v_proj"]
    turned = model.config.model_type == "gpt2"
    model = get_peft_model(model, LoraConfig(target_modules=targets, fan_in_fan_out=turned))
    torch.manual_seed(5)
    for name, weight in model.named_parameters():
        if "lora_B" in name:  # they start at zero
            torch.nn.init.normal_(weight, std=0.5)
    return model.eval()


def replies(generator: Generator, contexts) -> list[str]:
    responder = GeneratorResponder(generator, DECODINGS["sampling"], 2, NEW, name="x")
    return [passage.response for passage in respond(responder, contexts)]


@pytest.mark.parametrize("kind", ["gpt2", "llama", "seq2seq", "copying"])
def test_a_saved_generator_replies_alike_and_remembers_how_it_reads(
    build, kind, contexts, tmp_path
):
    generator = build(kind, start=True, max_length=7)
    generator.training = {"signature": "mle"}
    folder = save_generator(generator, tmp_path / "mine")
    again = load_generator(folder, device="cpu")
    assert replies(again, contexts) == replies(generator, contexts)
    assert again.prompts == generator.prompts == PromptFormat(start=True, max_length=7)
    assert (again.name, again.training) == ("mine", {"signature": "mle"})
    assert again.end_ids == generator.end_ids
    signatures = [GeneratorResponder(model, name="x").signature for model in (generator, again)]
    assert signatures[0] == signatures[1]
    assert load_generator(folder, "none", device="cpu").prompts == PromptFormat()


def test_a_system_prompt_joins_the_remembered_format_or_is_refused(build, tmp_path, write):
    template = "{% for m in messages %}{{ m.content }} {% endfor %}"
    save_generator(build("gpt2", style="chat", template=template), tmp_path / "chat")
    save_generator(build("gpt2"), tmp_path / "turns")
    prompts = load_generator(tmp_path / "chat", system_prompt="sun", device="cpu").prompts
    assert prompts == PromptFormat("chat", template, "sun")
    with pytest.raises(BadInput, match="a system prompt needs a chat template"):
        load_generator(tmp_path / "turns", system_prompt="sun", device="cpu")
    file = write("other.jinja", "{{ messages[0].content }}")
    prompts = load_generator(tmp_path / "turns", str(file), "sun", device="cpu").prompts
    assert prompts == PromptFormat("chat", "{{ messages[0].content }}", "sun")


def test_settings_that_cannot_be_read_say_where_they_are(build, tmp_path):
    folder = save_generator(build("gpt2"), tmp_path / "mine")
    for text in ("{", '{"prompts": {"styl": 1}}', "{}"):
        (folder / SETTINGS).write_text(text)
        with pytest.raises(
            BadInput, match=f"{SETTINGS}:.*expected|is an object.*Save the gen.*again"
        ):
            load_generator(folder, device="cpu")


@pytest.fixture
def adapter(build, contexts, tmp_path):
    """Folders of a base and of an adapter, and what the two say together."""
    generator = build("gpt2")
    base = save_generator(generator, tmp_path / "base-model")
    generator = load_generator(base, device="cpu")
    generator.model = with_lora(generator.model)
    generator.model.save_pretrained(tmp_path / "adapter", save_embedding_layers=False)
    generator.model = generator.model.merge_and_unload()
    return base, tmp_path / "adapter", replies(generator, contexts)


def test_an_adapter_is_merged_into_a_generator(adapter, contexts):
    base, folder, expected = adapter
    loaded = load_generator(base, adapter=str(folder), device="cpu")
    assert replies(loaded, contexts) == expected != replies(load_generator(base), contexts)
    assert not hasattr(loaded.model, "merge_and_unload")


def test_an_adapter_that_remembers_how_it_reads_is_asked_first(adapter):
    base, folder, _ = adapter
    settings = {"prompts": {"style": "turns", "max_length": 9}, "training": {"by": "me"}}
    (folder / SETTINGS).write_text(json.dumps(settings))
    loaded = load_generator(base, adapter=str(folder), device="cpu")
    assert loaded.prompts == PromptFormat(max_length=9) and loaded.training == {"by": "me"}
    shutil.move(folder / SETTINGS, base / SETTINGS)  # and its base after that
    assert load_generator(folder, device="cpu").prompts == PromptFormat(max_length=9)


def test_two_adapters_are_merged_one_after_the_other(adapter, contexts, tmp_path):
    _, folder, once = adapter
    generator = load_generator(folder, device="cpu")
    save_generator(generator, tmp_path / "merged")
    expected = replies(load_generator(tmp_path / "merged", adapter=str(folder)), contexts)
    assert replies(load_generator(folder, adapter=str(folder)), contexts) == expected != once


def test_a_folder_that_is_an_adapter_names_its_base(adapter, contexts):
    base, folder, expected = adapter
    config = json.loads((folder / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == str(base)
    loaded = load_generator(folder, device="cpu")
    assert replies(loaded, contexts) == expected and loaded.name == "adapter"


def test_a_folder_that_is_an_adapter_has_its_base_inside(adapter, contexts):
    base, folder, expected = adapter
    shutil.move(base, folder / "base")
    assert replies(load_generator(folder, device="cpu"), contexts) == expected
    for file in (folder / "base").glob("tokenizer*"):  # which may also lie beside the adapter
        shutil.move(file, folder / file.name)
    assert replies(load_generator(folder, device="cpu"), contexts) == expected


def test_an_adapter_without_a_base_or_for_another_model_is_refused(adapter, build, tmp_path):
    base, folder, _ = adapter
    other = save_generator(build("llama"), tmp_path / "llama")
    with pytest.raises(BadInput, match="adapter: the adapter cannot be loaded.*Give the folder"):
        load_generator(other, adapter=str(folder), device="cpu")
    with pytest.raises(BadInput, match="nowhere: the adapter cannot be loaded"):
        load_generator(base, adapter=str(tmp_path / "nowhere"), device="cpu")
    config = folder / "adapter_config.json"
    content = json.loads(config.read_text())
    config.write_text(json.dumps({**content, "base_model_name_or_path": None}))
    with pytest.raises(BadInput, match="does not name its base model.*pass this folder as --adapt"):
        load_generator(folder, device="cpu")


@pytest.mark.parametrize("name", ["nobody/knows-this", "no such thing!", "missing.gguf", "empty"])
def test_an_unknown_generator_is_one_clear_error(name, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="cannot be loaded: .+ Give a folder, a .gguf") as error:
        load_generator(name, device="cpu")
    assert str(error.value).startswith(f"{name}: ") and "\n" not in str(error.value)


def test_a_broken_file_of_weights_is_one_clear_error(build, tmp_path):
    folder = save_generator(build("gpt2"), tmp_path / "mine")
    (folder / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(BadInput, match="mine: the generator cannot be loaded"):
        load_generator(folder, device="cpu")


def test_a_generator_without_an_end_token_is_refused_unless_it_chats(build, tmp_path):
    generator = build("gpt2")
    generator.tokenizer.eos_token = None
    folder = save_generator(generator, tmp_path / "endless")
    with pytest.raises(
        BadInput, match="no end token, so its responses would not end.*eos_token, or use"
    ):
        load_generator(folder, device="cpu")
    file = tmp_path / "chat.jinja"
    file.write_text("{{ messages[0].content }}")
    assert load_generator(folder, str(file), device="cpu").prompts.style == "chat"


def test_smollm2_is_a_package_that_may_be_missing(monkeypatch):
    monkeypatch.setattr(packages, "find_spec", lambda _: None)
    with pytest.raises(BadInput, match="`smollm2` is not installed.*pip install"):
        generators.load_generator("smollm2")


@pytest.mark.slow
def test_smollm2_answers(make_passage):
    try:
        packages.smollm2_path()
    except BadInput as error:
        pytest.skip(str(error))
    generator = load_generator("smollm2", device="cpu")
    assert (generator.name, generator.prompts.style) == ("smollm2", "chat")
    assert generator.max_length and generator.tokenizer.eos_token_id in generator.end_ids
    responder = GeneratorResponder(generator, DECODINGS["greedy"], max_new_tokens=12)
    answers = respond(
        responder, [make_passage("Hello! How are you?"), make_passage("Say yes.", "Yes.", "Why?")]
    )
    assert all(len(passage.response.split()) > 1 for passage in answers)
    assert not responder.counts["template_tokens"]
