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


def answers(generator, *texts: str, asked) -> tuple[list, GeneratorResponder]:
    """What becomes of some answers to one context."""
    responder = GeneratorResponder(generator, Say(texts), len(texts), NEW)
    return respond(responder, [asked("hello")]), responder


def extra(passage) -> dict:
    return dict(passage.extra)


# Answers


def test_answers_carry_the_responders_name_and_the_passages_rest(gpt2, asked):
    passage = asked("you cat", dialogue_id="d1", extra={"rating": 3}, source_dialogue_id="d9")
    found = respond(GeneratorResponder(gpt2, max_new_tokens=NEW, name="bot"), [passage])
    assert len(found) == 1 and found[0].author == "bot"
    assert (found[0].context, found[0].id, found[0].dialogue_id) == (
        passage.context, "you cat", "d1",
    )  # fmt: skip
    assert found[0].source_dialogue_id is None
    assert found[0].extra["rating"] == 3 and HYPOTHESIS not in found[0].extra
    assert GeneratorResponder(gpt2).name == "gpt2"


def test_several_answers_are_numbered_and_stay_together(generator, contexts):
    responder = GeneratorResponder(generator, n=3, max_new_tokens=NEW, max_tokens=60)
    found = respond(responder, contexts)
    assert [each.extra[HYPOTHESIS] for each in found] == [0, 1, 2] * len(contexts)
    assert [each.id for each in found] == [p.id for p in contexts for _ in range(3)]
    streamed = [place for place, _ in responder.stream(contexts)]
    runs = [place for at, place in enumerate(streamed) if at == 0 or streamed[at - 1] != place]
    assert sorted(runs) == list(range(len(contexts)))
    assert responder.counts["answers"] == 2 * 3 * len(contexts)


def test_more_contexts_than_are_sorted_at_once_keep_their_places(gpt2, contexts, monkeypatch):
    whole = respond(GeneratorResponder(gpt2, max_new_tokens=NEW), contexts)
    monkeypatch.setattr(language, "_WINDOW", 2)
    assert respond(GeneratorResponder(gpt2, max_new_tokens=NEW), contexts) == whole
    assert respond(GeneratorResponder(gpt2, max_new_tokens=NEW), []) == []


def test_answers_that_did_not_end_are_marked_as_cut(speaker, asked):
    found, responder = answers(speaker, "hello </s>", "hello hm hm hm bye", asked=asked)
    assert [each.response for each in found] == ["hello", "hello hm hm hm bye"]
    assert extra(found[0]) == {"tokens_generated": 2, HYPOTHESIS: 0}
    assert extra(found[1]) == {"tokens_generated": 5, "cut": True, HYPOTHESIS: 1}
    assert responder.counts["cut"] == 1


def test_nothing_after_the_end_token_is_read(speaker, asked):
    found, responder = answers(speaker, "hello </s> bye <s>", asked=asked)
    assert found[0].response == "hello" and extra(found[0]) == {"tokens_generated": 2}
    assert not responder.counts["template_tokens"]


def test_empty_answers_are_marked(speaker, asked):
    found, responder = answers(speaker, "</s>", "<think> hm </think> </s>", "bye </s>", asked=asked)
    assert [each.response for each in found] == ["", "", "bye"]
    assert [each.extra.get("empty") for each in found] == [True, True, None]
    assert responder.counts["empty"] == 2


def test_reasoning_is_left_out(speaker, asked):
    texts = ("<think> hm </think> hello </s>", "hm </think> bye </s>", "hello <think> hm bye hm")
    found, _ = answers(speaker, *texts, asked=asked)
    assert [each.response for each in found] == ["hello", "bye", "hello"]


def test_special_tokens_inside_an_answer_are_marked(speaker, asked):
    found, responder = answers(speaker, "hello <s> bye </s>", "hello <unk> </s>", asked=asked)
    assert [each.response for each in found] == ["hello bye", "hello"]
    assert [each.extra.get("template_tokens") for each in found] == [True, None]
    assert responder.counts["template_tokens"] == 1


def test_a_template_that_is_spelt_out_is_marked(speaker, asked):
    letters = Generator(speaker.model, bpe_tokenizer(["hello"], merges=0), PromptFormat())
    found, _ = answers(letters, "h i < / s > </s>", "h i < s > </s>", asked=asked)
    assert [each.response for each in found] == ["hi</s>", "hi<s>"]  # not by their own tokens
    assert [each.extra.get("template_tokens") for each in found] == [True, None]  # <s> is short


def test_remarks_say_how_many_answers_need_a_look(speaker, asked):
    texts = ("</s>", "hello hm", "hello <s> bye </s>", "bye bye", "bye </s>")
    _, responder = answers(speaker, *texts, asked=asked)
    assert warnings(responder.counts) == [
        "1 of 5 answers ended at once; they are kept as they are.",
        "2 of 5 answers did not end by themselves: raise --max-new-tokens.",
        "1 of 5 answers contain tokens of the chat template: try another --chat-template, or none.",
    ]
    _, responder = answers(speaker, "hello </s>", asked=asked)
    assert warnings(responder.counts) == []


# Room


def test_a_context_that_is_too_long_is_cut_and_said_once(gpt2, asked, caplog):
    long = [asked(f"{word} " * 30, f"{word} " * 20) for word in ("cat", "dog", "sea")]
    responder = GeneratorResponder(gpt2, max_new_tokens=20, max_tokens=50)
    with caplog.at_level(logging.WARNING, language.__name__):
        found = respond(responder, [*long, asked("sun")])
        respond(responder, long)
    said = [each.getMessage() for each in caplog.records if each.name == language.__name__]
    assert said == [
        "gpt2 reads at most 28 tokens of a context; 3 of the first 4 lost their oldest turns."
    ]
    assert [each.extra.get("context_turns_cut") for each in found] == [1, 1, 1, None]
    assert (responder.counts["contexts"], responder.counts["contexts_cut"]) == (7, 6)
    assert "6 of 7 contexts lost their oldest turns." in warnings(responder.counts)


def test_a_cut_context_is_answered_like_what_is_left_of_it(build, asked):
    gpt2 = build("gpt2", max_length=4)
    task = {"decoding": DECODINGS["greedy"], "max_new_tokens": NEW}
    long, short = asked("cat dog sea", "sun moon"), asked("sun moon")
    found = [
        respond(GeneratorResponder(gpt2, **task), [each])[0].response for each in (long, short)
    ]
    assert found[0] == found[1]


def test_there_must_be_room_for_an_answer(gpt2, build, asked):
    for wrong in (48, 60):
        with pytest.raises(BadInput, match=f"48 tokens in all, and {wrong} are.*--max-new-tokens"):
            GeneratorResponder(gpt2, max_new_tokens=wrong)
    responder = GeneratorResponder(gpt2, DECODINGS["greedy"], max_new_tokens=47)
    assert respond(responder, [asked("cat dog")])[0].response and responder.prompts.max_length == 1
    bart = build("bart")
    with pytest.raises(BadInput, match="48 tokens in all, and 49 are asked"):
        GeneratorResponder(bart, max_new_tokens=49)
    respond(GeneratorResponder(bart, max_new_tokens=48), [asked("cat " * 60)])
    assert GeneratorResponder(build("seq2seq"), max_new_tokens=500).prompts.max_length is None


@pytest.mark.parametrize("n, new", [(0, 5), (-1, 5), (2, 0)])
def test_fewer_than_one_answer_or_token_is_refused(gpt2, n, new):
    with pytest.raises(BadInput, match=f"1 or more answers and tokens, found {n}, {new}"):
        GeneratorResponder(gpt2, n=n, max_new_tokens=new)


def test_a_generator_that_never_ends_warns_and_its_answers_are_cut(build, asked, caplog):
    gpt2 = build("gpt2")
    gpt2.tokenizer.eos_token = None
    gpt2.model.generation_config.eos_token_id = None
    endless = Generator(gpt2.model, gpt2.tokenizer, PromptFormat("none"))
    responder = GeneratorResponder(endless, n=20, max_new_tokens=NEW)
    assert "has no end token: every reply runs to 5 tokens" in caplog.text
    found = respond(responder, [asked("cat")])
    assert all(each.extra["cut"] and each.extra["tokens_generated"] == NEW for each in found)


def test_beams_count_in_the_size_of_a_batch(gpt2, asked):
    sizes = []

    @dataclass(frozen=True)
    class Counting:
        beams: int = 4

        def __call__(self, task: Task) -> torch.Tensor:
            sizes.append(len(task.rows))
            return torch.full((len(task.rows) * task.n, 1), 3)

    passages = [asked(f"cat {word}") for word in ("sea", "sun", "dog", "rain")] * 4
    limit = {"max_new_tokens": 5, "max_tokens": 8 * 8}  # 8 tokens an answer
    for decoding, n, expected in ((Counting(4), 1, 2), (Counting(1), 1, 8), (Counting(1), 2, 4)):
        sizes.clear()
        respond(GeneratorResponder(gpt2, decoding, n, **limit), passages)
        assert set(sizes) == {expected} and sum(sizes) == 16


# Names of runs


def test_the_signature_says_how_answers_are_made(gpt2):
    decoding = DECODINGS["top-p"]
    found = GeneratorResponder(gpt2, decoding, n=2, max_new_tokens=7, seed=11, name="bot").signature
    parts = found.split("|")
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

    half, ends, template = build("gpt2"), build("gpt2"), build("gpt2", style="chat")
    half.model.to(torch.bfloat16)
    ends.end_ids = [5, *ends.end_ids]
    template.tokenizer.chat_template = "{{ messages[0].content }}"
    found = [
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
        signature(ends),
        signature(backward=build("gpt2", seed=4)),
        signature(backward=build("gpt2", seed=5)),
        signature(backward=build("gpt2", seed=4, style="none")),
        signature(language_model=build("gpt2", seed=4)),
    ]
    assert len(set(found)) == len(found)
    assert signature() == found[0]
    assert signature(max_tokens=77, progress=True) == found[0]  # these move nothing


def test_another_seed_gives_other_replies_and_the_same_one_the_same(generator, contexts):
    def replies(seed: int) -> list[str]:
        responder = GeneratorResponder(generator, max_new_tokens=NEW, seed=seed)
        return [each.response for each in respond(responder, contexts)]

    assert replies(0) == replies(0) != replies(1)


def test_the_speakers_of_a_context_count_for_its_seed_and_its_id_does_not(gpt2, asked):
    passage = asked("cat dog")
    turned = replace(passage, context=tuple(replace(t, speaker="B") for t in passage.context))
    same = replace(passage, id="other", response="else")
    responder = GeneratorResponder(gpt2, n=8, max_new_tokens=NEW)
    first, second, third = (
        [each.response for each in respond(responder, [one])] for one in (passage, same, turned)
    )
    assert first == second != third
