"""The responder that runs a generator: what it says about its answers, and how it is named."""

import logging
from dataclasses import dataclass, replace

import pytest
import torch

from dialeval.dialogues import BadInput
from dialeval.models.tokenizers import bpe_tokenizer
from dialeval.models.weights import fingerprint
from dialeval.responders import HYPOTHESIS, language, respond
from dialeval.responders.decoding import DECODINGS, Task
from dialeval.responders.generators import Generator
from dialeval.responders.language import GeneratorResponder, warnings
from dialeval.responders.prompts import PromptFormat

NEW = 5
THOUGHTS = ("<think>", "</think>", "hm", "hello", "bye")


@dataclass(frozen=True)
class Say:
    """A decoding that always says the same words, an answer after the other."""

    texts: tuple[str, ...]

    def __call__(self, task: Task) -> torch.Tensor:
        tokenizer = task.generator.tokenizer
        rows = [tokenizer.convert_tokens_to_ids(text.split()) for text in self.texts] * len(
            task.rows
        )
        width = max(map(len, rows))
        return torch.tensor([row + [task.generator.pad_id] * (width - len(row)) for row in rows])


@pytest.fixture
def speaker(build) -> Generator:
    return build("gpt2", words=THOUGHTS)


def answers(generator, *texts: str, make_passage) -> tuple[list, GeneratorResponder]:
    """What becomes of some answers to one context."""
    responder = GeneratorResponder(generator, Say(texts), len(texts), NEW)
    return respond(responder, [make_passage("hello")]), responder


def extra(passage) -> dict:
    return dict(passage.extra)


# Answers


def test_answers_carry_the_responders_name_and_the_passages_rest(gpt2, make_passage):
    passage = make_passage(
        "you cat", dialogue_id="d1", extra={"rating": 3}, source_dialogue_id="d9"
    )
    responses = respond(GeneratorResponder(gpt2, max_new_tokens=NEW, name="bot"), [passage])
    assert len(responses) == 1 and responses[0].author == "bot"
    assert (responses[0].context, responses[0].id, responses[0].dialogue_id) == (
        passage.context, "you cat", "d1",
    )  # fmt: skip
    assert responses[0].source_dialogue_id is None
    assert responses[0].extra["rating"] == 3 and HYPOTHESIS not in responses[0].extra
    assert GeneratorResponder(gpt2).name == "gpt2"


def test_several_answers_are_numbered_and_stay_together(generator, contexts):
    responder = GeneratorResponder(generator, n=3, max_new_tokens=NEW, max_tokens=60)
    responses = respond(responder, contexts)
    assert [passage.extra[HYPOTHESIS] for passage in responses] == [0, 1, 2] * len(contexts)
    assert [passage.id for passage in responses] == [p.id for p in contexts for _ in range(3)]
    streamed = [index for index, _ in responder.stream(contexts)]
    runs = [index for at, index in enumerate(streamed) if at == 0 or streamed[at - 1] != index]
    assert sorted(runs) == list(range(len(contexts)))
    assert responder.counts["answers"] == 2 * 3 * len(contexts)


def test_more_contexts_than_are_sorted_at_once_keep_their_places(gpt2, contexts, monkeypatch):
    whole = respond(GeneratorResponder(gpt2, max_new_tokens=NEW), contexts)
    monkeypatch.setattr(language, "_WINDOW", 2)
    assert respond(GeneratorResponder(gpt2, max_new_tokens=NEW), contexts) == whole
    assert respond(GeneratorResponder(gpt2, max_new_tokens=NEW), []) == []


def test_answers_that_did_not_end_are_marked_as_cut(speaker, make_passage):
    responses, responder = answers(
        speaker, "hello </s>", "hello hm hm hm bye", make_passage=make_passage
    )
    assert [passage.response for passage in responses] == ["hello", "hello hm hm hm bye"]
    assert extra(responses[0]) == {"tokens_generated": 2, HYPOTHESIS: 0}
    assert extra(responses[1]) == {"tokens_generated": 5, "cut": True, HYPOTHESIS: 1}
    assert responder.counts["cut"] == 1


def test_nothing_after_the_end_token_is_read(speaker, make_passage):
    responses, responder = answers(speaker, "hello </s> bye <s>", make_passage=make_passage)
    assert responses[0].response == "hello" and extra(responses[0]) == {"tokens_generated": 2}
    assert not responder.counts["template_tokens"]


def test_empty_answers_are_marked(speaker, make_passage):
    responses, responder = answers(
        speaker, "</s>", "<think> hm </think> </s>", "bye </s>", make_passage=make_passage
    )
    assert [passage.response for passage in responses] == ["", "", "bye"]
    assert [passage.extra.get("empty") for passage in responses] == [True, True, None]
    assert responder.counts["empty"] == 2


def test_reasoning_is_left_out(speaker, make_passage):
    texts = ("<think> hm </think> hello </s>", "hm </think> bye </s>", "hello <think> hm bye hm")
    responses, _ = answers(speaker, *texts, make_passage=make_passage)
    assert [passage.response for passage in responses] == ["hello", "bye", "hello"]


def test_special_tokens_inside_an_answer_are_marked(speaker, make_passage):
    responses, responder = answers(
        speaker, "hello <s> bye </s>", "hello <unk> </s>", make_passage=make_passage
    )
    assert [passage.response for passage in responses] == ["hello bye", "hello"]
    assert [passage.extra.get("template_tokens") for passage in responses] == [True, None]
    assert responder.counts["template_tokens"] == 1


def test_a_template_that_is_spelt_out_is_marked(speaker, make_passage):
    letters = Generator(speaker.model, bpe_tokenizer(["hello"], merges=0), PromptFormat())
    responses, _ = answers(letters, "h i < / s > </s>", "h i < s > </s>", make_passage=make_passage)
    assert [passage.response for passage in responses] == [
        "hi</s>",
        "hi<s>",
    ]
    assert [passage.extra.get("template_tokens") for passage in responses] == [
        True,
        None,
    ]


def test_remarks_say_how_many_answers_need_a_look(speaker, make_passage):
    texts = ("</s>", "hello hm", "hello <s> bye </s>", "bye bye", "bye </s>")
    _, responder = answers(speaker, *texts, make_passage=make_passage)
    assert warnings(responder.counts) == [
        "1 of 5 answers are empty; they are kept.",
        "2 of 5 answers were cut at the maximum length: increase --max-new-tokens.",
        "1 of 5 answers contain tokens of the chat template: try another --chat-template, or none.",
    ]
    _, responder = answers(speaker, "hello </s>", make_passage=make_passage)
    assert warnings(responder.counts) == []


# Room


def test_a_context_that_is_too_long_is_cut_and_said_once(gpt2, make_passage, caplog):
    long = [make_passage(f"{word} " * 30, f"{word} " * 20) for word in ("cat", "dog", "sea")]
    responder = GeneratorResponder(gpt2, max_new_tokens=20, max_tokens=50)
    with caplog.at_level(logging.WARNING, language.__name__):
        responses = respond(responder, [*long, make_passage("sun")])
        respond(responder, long)
    messages = [
        record.getMessage() for record in caplog.records if record.name == language.__name__
    ]
    assert messages == [
        "gpt2 reads at most 28 tokens of a context; 3 of the first 4 lost their oldest turns."
    ]
    assert [passage.extra.get("context_turns_cut") for passage in responses] == [1, 1, 1, None]
    assert (responder.counts["contexts"], responder.counts["contexts_cut"]) == (7, 6)
    assert "6 of 7 contexts lost their oldest turns." in warnings(responder.counts)


def test_a_cut_context_is_answered_like_what_is_left_of_it(build, make_passage):
    gpt2 = build("gpt2", max_length=4)
    task = {"decoding": DECODINGS["greedy"], "max_new_tokens": NEW}
    long, short = make_passage("cat dog sea", "sun moon"), make_passage("sun moon")
    responses = [
        respond(GeneratorResponder(gpt2, **task), [passage])[0].response
        for passage in (long, short)
    ]
    assert responses[0] == responses[1]


def test_there_must_be_room_for_an_answer(gpt2, build, make_passage):
    for wrong in (48, 60):
        with pytest.raises(BadInput, match=f"48 positions .* is {wrong}.*--max-new-tokens"):
            GeneratorResponder(gpt2, max_new_tokens=wrong)
    responder = GeneratorResponder(gpt2, DECODINGS["greedy"], max_new_tokens=47)
    assert (
        respond(responder, [make_passage("cat dog")])[0].response
        and responder.prompts.max_length == 1
    )
    bart = build("bart")
    with pytest.raises(BadInput, match="48 positions .* is 49"):
        GeneratorResponder(bart, max_new_tokens=49)
    respond(GeneratorResponder(bart, max_new_tokens=48), [make_passage("cat " * 60)])
    assert GeneratorResponder(build("seq2seq"), max_new_tokens=500).prompts.max_length is None


@pytest.mark.parametrize("n, new", [(0, 5), (-1, 5), (2, 0)])
def test_fewer_than_one_answer_or_token_is_refused(gpt2, n, new):
    with pytest.raises(BadInput, match=f"1 or more answers and tokens, got {n}, {new}"):
        GeneratorResponder(gpt2, n=n, max_new_tokens=new)


def test_a_generator_that_never_ends_warns_and_its_answers_are_cut(build, make_passage, caplog):
    gpt2 = build("gpt2")
    gpt2.tokenizer.eos_token = None
    gpt2.model.generation_config.eos_token_id = None
    endless = Generator(gpt2.model, gpt2.tokenizer, PromptFormat("none"))
    responder = GeneratorResponder(endless, n=20, max_new_tokens=NEW)
    assert "has no end token: every response has 5 tokens" in caplog.text
    responses = respond(responder, [make_passage("cat")])
    assert all(
        passage.extra["cut"] and passage.extra["tokens_generated"] == NEW for passage in responses
    )


def test_beams_count_in_the_size_of_a_batch(gpt2, make_passage):
    sizes = []

    @dataclass(frozen=True)
    class Counting:
        beams: int = 4

        def __call__(self, task: Task) -> torch.Tensor:
            sizes.append(len(task.rows))
            return torch.full((len(task.rows) * task.n, 1), 3)

    passages = [make_passage(f"cat {word}") for word in ("sea", "sun", "dog", "rain")] * 4
    limit = {"max_new_tokens": 5, "max_tokens": 8 * 8}  # 8 tokens an answer
    for decoding, n, expected in ((Counting(4), 1, 2), (Counting(1), 1, 8), (Counting(1), 2, 4)):
        sizes.clear()
        respond(GeneratorResponder(gpt2, decoding, n, **limit), passages)
        assert set(sizes) == {expected} and sum(sizes) == 16


# Names of runs


def test_the_signature_says_how_answers_are_made(gpt2):
    decoding = DECODINGS["top-p"]
    signature = GeneratorResponder(
        gpt2, decoding, n=2, max_new_tokens=7, seed=11, name="bot"
    ).signature
    parts = signature.split("|")
    assert parts[0] == f"gen:bot@{fingerprint(gpt2.model)[:8]}"
    assert {"prompt:turns", "max:41", f"decoding:{decoding!r}", "n:2", "new:7", "seed:11"} < {
        *parts
    }
    assert parts[-1] == "float32"


def test_the_signature_differs_when_anything_that_moves_a_reply_does(build):
    base = {"decoding": DECODINGS["sampling"], "n": 1, "max_new_tokens": 7, "seed": 0}

    def signature(generator: Generator | None = None, **settings) -> str:
        generator = generator or build("gpt2")
        return GeneratorResponder(generator, **{**base, "name": "x", **settings}).signature

    half, other_end, template = build("gpt2"), build("gpt2"), build("gpt2", style="chat")
    half.model.to(torch.bfloat16)
    other_end.end_ids = [5, *other_end.end_ids]
    template.tokenizer.chat_template = "{{ messages[0].content }}"
    signatures = [
        signature(),
        signature(decoding=DECODINGS["beam"]),
        signature(decoding=replace(DECODINGS["sampling"], temperature=0.9)),
        signature(n=2),
        signature(max_new_tokens=8),
        signature(seed=1),
        signature(name="y"),
        signature(build("gpt2", seed=4)),
        signature(build("gpt2", words=("we", "you", "the", *map(str, range(7))))),
        signature(build("gpt2", start=True)),
        signature(build("gpt2", max_length=9)),
        signature(build("gpt2", style="none")),
        signature(build("gpt2", style="chat")),
        signature(build("gpt2", style="chat", system_prompt="Be kind.")),
        signature(template),
        signature(half),
        signature(other_end),
        signature(backward=build("gpt2", seed=4)),
        signature(backward=build("gpt2", seed=5)),
        signature(backward=build("gpt2", seed=4, style="none")),
        signature(language_model=build("gpt2", seed=4)),
    ]
    assert len(set(signatures)) == len(signatures)
    assert signature() == signatures[0]
    assert signature(max_tokens=77, progress=True) == signatures[0]  # these move nothing


def test_another_seed_gives_other_replies_and_the_same_one_the_same(generator, contexts):
    def replies(seed: int) -> list[str]:
        responder = GeneratorResponder(generator, max_new_tokens=NEW, seed=seed)
        return [passage.response for passage in respond(responder, contexts)]

    assert replies(0) == replies(0) != replies(1)


def test_the_speakers_of_a_context_count_for_its_seed_and_its_id_does_not(gpt2, make_passage):
    passage = make_passage("cat dog")
    turned = replace(passage, context=tuple(replace(t, speaker="B") for t in passage.context))
    same = replace(passage, id="other", response="else")
    responder = GeneratorResponder(gpt2, n=8, max_new_tokens=NEW)
    first, second, third = (
        [reply.response for reply in respond(responder, [one])] for one in (passage, same, turned)
    )
    assert first == second != third
