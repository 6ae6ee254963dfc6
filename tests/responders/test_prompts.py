"""Prompts: which tokens a generator reads, and what is left out when they are too many."""

from dataclasses import replace

import pytest

from dialeval.dialogues import BadInput, Turn
from dialeval.models.tokenizers import word_tokenizer
from dialeval.responders.prompts import Prompt, PromptFormat, prompt_format

TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}> {{ m.content }} {% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
REFUSING = "{{ raise_exception('no system please') }}"
MARKS = "<user> <assistant> <system>"
LETTERS = " ".join("abcdefghij")


@pytest.fixture
def tokenizer():
    return word_tokenizer([MARKS, LETTERS])


def words(tokenizer, prompt: Prompt) -> str:
    return " ".join(tokenizer.convert_ids_to_tokens(prompt.ids))


# Turn after turn


def test_every_turn_ends_with_the_end_token(tokenizer, make_passage):
    prompts = PromptFormat()(tokenizer, [make_passage("a b", " c "), make_passage("d")])
    assert [words(tokenizer, prompt) for prompt in prompts] == ["a b </s> c </s>", "d </s>"]
    assert [(prompt.turns_cut, prompt.tokens_cut) for prompt in prompts] == [(0, 0), (0, 0)]


def test_a_prompt_may_begin_with_the_start_token(tokenizer, make_passage):
    prompts = PromptFormat(start=True)(tokenizer, [make_passage("a"), make_passage()])
    assert [words(tokenizer, prompt) for prompt in prompts] == ["<s> a </s>", "<s>"]


def test_an_empty_context_is_the_end_of_nothing(tokenizer, make_passage):
    for passages in ([make_passage()], [make_passage(), make_passage("a")]):
        assert words(tokenizer, PromptFormat()(tokenizer, passages)[0]) == "</s>"
    assert words(tokenizer, PromptFormat()(tokenizer, [make_passage("")])[0]) == "</s>"
    assert PromptFormat()(tokenizer, []) == []


@pytest.mark.parametrize(
    "most, expected, turns_cut, tokens_cut",
    [
        (9, "a b c </s> d e </s> f </s>", 0, 0),
        (8, "d e </s> f </s>", 1, 4),
        (5, "d e </s> f </s>", 1, 4),
        (4, "f </s>", 2, 7),
        (2, "f </s>", 2, 7),
        (1, "</s>", 2, 8),
    ],
)
def test_the_oldest_turns_give_way_whole(
    tokenizer, make_passage, most, expected, turns_cut, tokens_cut
):
    prompt = PromptFormat(max_length=most)(tokenizer, [make_passage("a b c", "d e", "f")])[0]
    assert words(tokenizer, prompt) == expected
    assert (prompt.turns_cut, prompt.tokens_cut) == (turns_cut, tokens_cut)


def test_the_last_turn_loses_its_beginning_when_it_is_too_long_alone(tokenizer, make_passage):
    prompt = PromptFormat(max_length=4)(tokenizer, [make_passage("a", "b c d e f")])[0]
    assert words(tokenizer, prompt) == "d e f </s>"
    assert (prompt.turns_cut, prompt.tokens_cut) == (1, 4)


def test_the_start_token_counts_and_is_never_cut(tokenizer, make_passage):
    passages = [make_passage("a b", "c d")]
    for most, expected in [(7, "a b </s> c d </s>"), (6, "c d </s>"), (3, "d </s>"), (1, "")]:
        prompt = PromptFormat(start=True, max_length=most)(tokenizer, passages)[0]
        assert words(tokenizer, prompt) == f"<s> {expected}".strip()
        assert prompt.tokens_cut == 6 - (len(prompt.ids) - 1)


def test_a_limit_is_only_ever_lowered():
    assert PromptFormat(max_length=9).limited(5).max_length == 5
    assert PromptFormat(max_length=5).limited(9).max_length == 5
    assert PromptFormat().limited(9).max_length == 9
    assert PromptFormat(max_length=5).limited(None).max_length == 5


def test_a_model_of_responses_alone_reads_no_context(tokenizer, make_passage):
    for format in (PromptFormat("none"), PromptFormat("none", start=True)):
        prompts = format(tokenizer, [make_passage("a b", "c"), make_passage()])
        assert prompts == [Prompt([tokenizer.bos_token_id])] * 2
    tokenizer.bos_token = None
    assert PromptFormat("none")(tokenizer, [make_passage("a")]) == [
        Prompt([tokenizer.eos_token_id])
    ]


def test_a_token_that_is_missing_is_named(tokenizer, make_passage):
    tokenizer.bos_token = None
    with pytest.raises(BadInput, match="need a bos token, but the tokenizer has none. Use a"):
        PromptFormat(start=True)(tokenizer, [make_passage("a")])
    tokenizer.eos_token = None
    with pytest.raises(BadInput, match="need an eos token"):
        PromptFormat()(tokenizer, [make_passage("a")])


# Chat


@pytest.fixture
def chat() -> PromptFormat:
    return PromptFormat("chat", TEMPLATE)


def test_a_chat_template_gets_roles_that_alternate_back_from_the_user(
    tokenizer, make_passage, chat
):
    prompts = chat(tokenizer, [make_passage("a", "b c", "d"), make_passage("a", "b")])
    assert [words(tokenizer, prompt) for prompt in prompts] == [
        "<user> a <assistant> b c <user> d <assistant>",
        "<assistant> a <user> b <assistant>",
    ]


def test_what_one_speaker_says_in_a_row_is_one_message_of_a_chat(tokenizer, make_passage, chat):
    def prompt(*speakers):
        texts = ("a", "b", "c", "d")
        turns = tuple(Turn(*turn) for turn in zip(speakers, texts, strict=False))
        passage = replace(make_passage("a"), context=turns)
        return words(tokenizer, chat(tokenizer, [passage])[0])

    assert prompt("A", "A", "B", "B") == "<assistant> a b <user> c d <assistant>"
    assert prompt("A", "B", "B") == "<assistant> a <user> b c <assistant>"
    assert prompt("?", "?", "?") == "<user> a <assistant> b <user> c <assistant>"  # not known


def test_a_system_prompt_comes_first_and_stays(tokenizer, make_passage):
    format = PromptFormat("chat", TEMPLATE, "j j", max_length=9)
    prompt = format(tokenizer, [make_passage("a", "b c", "d e")])[0]
    assert words(tokenizer, prompt) == "<system> j j <user> d e <assistant>"
    assert (prompt.turns_cut, prompt.tokens_cut) == (2, 5)


def test_a_chat_turn_that_is_too_long_loses_its_beginning_and_not_its_role(tokenizer, make_passage):
    format = PromptFormat("chat", TEMPLATE, "j", max_length=6)
    prompt = format(tokenizer, [make_passage("i", "a b c d e f g")])[0]
    assert words(tokenizer, prompt) == "<system> j <user> f g <assistant>"
    assert (prompt.turns_cut, prompt.tokens_cut) == (1, 7)
    for most, expected in [(4, "<system> j <user> <assistant>"), (2, "<user> <assistant>")]:
        prompt = PromptFormat("chat", TEMPLATE, "j", max_length=most)(
            tokenizer, [make_passage("a b c")]
        )[0]
        assert words(tokenizer, prompt) == expected


def test_an_empty_context_in_a_chat_is_a_user_who_says_nothing(tokenizer, make_passage, chat):
    assert words(tokenizer, chat(tokenizer, [make_passage()])[0]) == "<user> <assistant>"


def test_a_template_that_writes_nothing_still_gives_a_token(tokenizer, make_passage):
    prompts = PromptFormat("chat", "{{ '' }}")(tokenizer, [make_passage("a")])
    assert prompts == [Prompt([tokenizer.bos_token_id])]


def test_a_turn_of_the_system_keeps_its_role(tokenizer, make_passage, chat):
    passage = make_passage("b")
    passage = type(passage)((Turn("system", "j"), *passage.context), "")
    assert words(tokenizer, chat(tokenizer, [passage])[0]) == "<system> j <user> b <assistant>"


@pytest.mark.parametrize("template", [REFUSING, "{% if %}", "{{ messages[7].content }}"])
def test_a_template_that_fails_says_what_to_do(tokenizer, make_passage, template):
    format = PromptFormat("chat", template, "j")
    with pytest.raises(BadInput, match="the chat template fails: .*--chat-template FILE, or none"):
        format(tokenizer, [make_passage("a")])


# Which format suits


def test_the_format_follows_the_tokenizer_unless_told_otherwise(tokenizer, write):
    assert prompt_format(tokenizer) == PromptFormat("turns")
    assert prompt_format(tokenizer, max_length=5) == PromptFormat("turns", max_length=5)
    tokenizer.chat_template = TEMPLATE
    assert prompt_format(tokenizer) == PromptFormat("chat")
    assert prompt_format(tokenizer, system="j") == PromptFormat("chat", system_prompt="j")
    assert prompt_format(tokenizer, "none") == PromptFormat("turns")
    file = write("other.jinja", "{{ messages[0].content }}")
    assert prompt_format(tokenizer, str(file)) == PromptFormat("chat", "{{ messages[0].content }}")


def test_the_tokenizers_own_template_and_another_are_used(tokenizer, make_passage, write):
    tokenizer.chat_template = TEMPLATE
    prompt = prompt_format(tokenizer)(tokenizer, [make_passage("a")])[0]
    assert words(tokenizer, prompt) == "<user> a <assistant>"
    file = write("other.jinja", "{{ messages[0].content }} <system>")
    prompt = prompt_format(tokenizer, str(file))(tokenizer, [make_passage("a")])[0]
    assert words(tokenizer, prompt) == "a <system>"


def test_a_system_prompt_without_a_chat_template_is_refused(tokenizer):
    for template in ("auto", "none"):
        with pytest.raises(BadInput, match="a system prompt needs a chat template.*--chat-templ"):
            prompt_format(tokenizer, template, "Be kind.")


def test_unknown_templates_and_styles_are_refused(tokenizer, write):
    with pytest.raises(BadInput, match="nowhere.jinja: no such chat template. Give auto"):
        prompt_format(tokenizer, "nowhere.jinja")
    with pytest.raises(BadInput, match="this chat template is empty"):
        prompt_format(tokenizer, str(write("empty.jinja", " \n")))
    with pytest.raises(BadInput, match="Unknown style of prompts 'poem'. Choose turns, chat, none"):
        PromptFormat("poem")
    with pytest.raises(BadInput, match="`max_length` is at least 1, but got 0"):
        PromptFormat(max_length=0)


def test_signatures_tell_formats_apart_and_hide_long_texts():
    formats = [
        PromptFormat(),
        PromptFormat(start=True),
        PromptFormat(max_length=5),
        PromptFormat("none"),
        PromptFormat("chat"),
        PromptFormat("chat", TEMPLATE),
        PromptFormat("chat", TEMPLATE + " "),
        PromptFormat("chat", system_prompt="Be kind."),
        PromptFormat("chat", system_prompt="Be rude."),
        PromptFormat("chat", TEMPLATE, "Be rude."),
    ]
    signatures = [format.signature for format in formats]
    assert len(set(signatures)) == len(formats)
    assert signatures[0] == "prompt:turns" and "Be" not in "".join(signatures)
    assert all("{" not in signature and len(signature) < 60 for signature in signatures)
