"""How passages become rows of ids, with a tokenizer whose ids can be read off the words."""

from dataclasses import replace

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from dialeval.dialogues import BadInput, Passage, Turn
from dialeval.dialogues.encoding import PRESETS, InputFormat, input_format

PAD, BOS, EOS, CLS, SEP, USER, BOT = range(7)
TEMPLATE = (
    "{% for message in messages %}<{{ message['role'] }}> {{ message['content'] }} </s> "
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    """Word `10` has the id 10, and so on up to 199."""
    special = ["<pad>", "<s>", "</s>", "<cls>", "<sep>", "<user>", "<assistant>"]
    words = {word: number for number, word in enumerate(special)}
    words |= {str(number): number for number in range(len(special), 200)}
    core = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", bos_token="<s>", eos_token="</s>",
        cls_token="<cls>", sep_token="<sep>", chat_template=TEMPLATE,
        extra_special_tokens=["<user>", "<assistant>"],
    )  # fmt: skip


@pytest.fixture
def passage() -> Passage:
    return Passage((Turn("A", " 10 11 "), Turn("B", "12")), "20 21 ")


def numbers(first: int, count: int) -> list[int]:
    return list(range(first, first + count))


def words(first: int, count: int) -> str:
    return " ".join(map(str, numbers(first, count)))


def encode(tokenizer, form, passage):
    form = input_format(form) if isinstance(form, str) else form
    return form(tokenizer, [passage])[0]


@pytest.mark.parametrize(
    ("name", "ids", "response_at"),
    [
        ("words", [10, 11, EOS, 12, EOS, BOS, 20, 21, EOS], 5),
        ("dialogrpt", [10, 11, EOS, 12, EOS, 20, 21], 5),
        ("att", [10, 11, EOS, 12, EOS, 20, 21, EOS], 5),
        ("encoder", [CLS, 10, 11, SEP, 12, SEP, 20, 21, SEP], 6),
        ("chat", [BOT, 10, 11, EOS, USER, 12, EOS, BOT, 20, 21, EOS], 8),
    ],
)
def test_presets_by_hand(tokenizer, passage, name, ids, response_at):
    encoded = encode(tokenizer, name, passage)
    assert encoded.ids == ids
    assert encoded.response_at == response_at
    assert (encoded.cut, encoded.response_cut) == (0, 0)
    assert input_format(name).name == name


def test_chat_roles_alternate_back_from_the_response_and_systems_stay(tokenizer):
    turns = (Turn("system", "9"), Turn("A", "10"), Turn("B", "11"), Turn("A", "12"))
    form = replace(PRESETS["chat"], response_end=None)
    roles = []

    class Spy:
        def apply_chat_template(self, messages, **_):
            roles.extend((message["role"], message["content"]) for message in messages)
            return "9"

        def __call__(self, *args, **kwargs):
            return tokenizer(*args, **kwargs)

    form(Spy(), [Passage(turns, "20")])
    assert roles == [("system", "9"), ("user", "10"), ("assistant", "11"), ("user", "12")]


def released_att(context: list[list[int]], response: list[int]) -> list[int]:
    """The row as the released code of Gao et al. (2021) makes it, written out."""
    joined = [token for turn in context for token in (*turn, EOS)][:-1]  # turns joined by EOS
    return [*joined[-60:], EOS, *[*response, EOS][:30]]


@pytest.mark.parametrize("sizes", [(3, 4), (60,), (59, 1), (30, 29), (30, 30), (80,), (1, 70)])
@pytest.mark.parametrize("answer", [1, 28, 29, 30, 45])
def test_att_cuts_as_the_released_code_does(tokenizer, sizes, answer):
    context = [numbers(10 + turn, size) for turn, size in enumerate(sizes)]
    turns = tuple(Turn("A", " ".join(map(str, turn))) for turn in context)
    encoded = encode(tokenizer, "att", Passage(turns, words(100, answer)))
    assert encoded.ids == released_att(context, numbers(100, answer))
    whole = sum(sizes) + len(sizes) + answer + 1
    assert encoded.cut == whole - len(encoded.ids)
    assert encoded.response_cut == max(0, answer + 1 - 30)
    assert encoded.response_at == len(encoded.ids) - min(30, answer + 1)


def test_a_long_response_loses_its_end_token_first(tokenizer):
    encoded = encode(tokenizer, "att", Passage((Turn("A", "10"),), words(100, 30)))
    assert encoded.ids[-1] == 129 and encoded.response_cut == 1


def test_dialogrpt_keeps_the_last_fifty_tokens_of_the_row(tokenizer):
    encoded = encode(tokenizer, "dialogrpt", Passage((Turn("A", words(10, 60)),), words(100, 20)))
    assert encoded.ids == [*numbers(41, 29), EOS, *numbers(100, 20)]
    assert (encoded.response_at, encoded.cut, encoded.response_cut) == (30, 31, 0)


def test_dialogrpt_cuts_the_start_of_a_response_that_is_too_long(tokenizer):
    encoded = encode(tokenizer, "dialogrpt", Passage((Turn("A", "10 11"),), words(100, 60)))
    assert encoded.ids == numbers(110, 50)
    assert (encoded.response_at, encoded.cut, encoded.response_cut) == (0, 13, 10)


def test_other_formats_cut_the_context_first_and_then_the_responses_end(tokenizer, passage):
    form = replace(PRESETS["encoder"], max_length=6)
    encoded = encode(tokenizer, form, passage)  # cls, then 5 of: 10 11 sep 12 sep | 20 21 sep
    assert encoded.ids == [CLS, 12, SEP, 20, 21, SEP]
    assert (encoded.response_at, encoded.cut, encoded.response_cut) == (3, 3, 0)
    encoded = encode(tokenizer, replace(form, max_length=3), passage)
    assert encoded.ids == [CLS, 20, 21]
    assert (encoded.response_at, encoded.cut, encoded.response_cut) == (1, 6, 1)


def test_cut_left_keeps_the_start_token(tokenizer, passage):
    form = replace(PRESETS["encoder"], max_length=5, cut_left=True)
    encoded = encode(tokenizer, form, passage)
    assert encoded.ids == [CLS, SEP, 20, 21, SEP]
    assert (encoded.response_at, encoded.cut, encoded.response_cut) == (2, 4, 0)


def test_max_context_does_not_count_the_separator_after_it(tokenizer, passage):
    form = replace(PRESETS["dialogrpt"], max_context=2)  # 10 11 </s> 12, then the separator
    assert encode(tokenizer, form, passage).ids == [EOS, 12, EOS, 20, 21]
    form = replace(form, turn_end=None)
    assert encode(tokenizer, form, passage).ids == [11, 12, 20, 21]


def test_a_long_chat_loses_its_beginning(tokenizer, passage):
    encoded = encode(tokenizer, replace(PRESETS["chat"], max_length=6), passage)
    assert encoded.ids == [12, EOS, BOT, 20, 21, EOS]
    assert (encoded.response_at, encoded.cut) == (3, 5)


def test_many_passages_keep_their_order(tokenizer):
    passages = [Passage((Turn("A", str(n)),), str(n + 1)) for n in (10, 30, 20, 10)]
    rows = [encoded.ids for encoded in input_format("dialogrpt")(tokenizer, passages)]
    assert rows == [[10, EOS, 11], [30, EOS, 31], [20, EOS, 21], [10, EOS, 11]]
    assert input_format("dialogrpt")(tokenizer, []) == []


def test_nothing_to_read_gives_an_empty_row(tokenizer):
    encoded = encode(tokenizer, "dialogrpt", Passage((), ""))
    assert (encoded.ids, encoded.response_at) == ([], 0)


def test_a_models_limit_only_tightens_a_format():
    form = PRESETS["dialogrpt"]
    assert form.limited(None) is form
    assert form.limited(1024).max_length == 50
    assert form.limited(20).max_length == 20
    assert PRESETS["att"].limited(1024).max_length == 1024


def test_a_format_survives_json():
    for form in PRESETS.values():
        assert InputFormat(**form.to_dict()) == form


def test_unknown_names_are_refused_with_the_choices(passage):
    with pytest.raises(BadInput, match="`turn_end` names a special token.*bos, eos, cls, sep"):
        InputFormat(turn_end="<|endoftext|>")
    with pytest.raises(BadInput, match="Unknown input format 'gpt'.*words, dialogrpt, att"):
        input_format("gpt")


def test_a_token_that_the_tokenizer_lacks_is_named(passage):
    core = Tokenizer(models.WordLevel({"10": 0, "<pad>": 1}, unk_token="<pad>"))
    bare = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>")
    with pytest.raises(BadInput, match="'encoder' needs a sep token"):
        encode(bare, "encoder", passage)


def test_a_damaged_tokenizer_is_one_sentence():
    def damaged(texts, **_):
        raise Exception("WordLevel error: Missing [UNK] token from the vocabulary")

    passage = Passage((Turn("A", "hi"),), "hello")
    with pytest.raises(BadInput, match=r"tokenizer cannot read a text: WordLevel.*Copy the whole"):
        InputFormat()(damaged, [passage])
