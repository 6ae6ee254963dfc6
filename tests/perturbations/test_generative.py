import pytest

from dialeval.dialogues import BadInput, Passage, Turn, iterate, to_passages
from dialeval.perturbations import edit_log, perturb
from dialeval.perturbations.differences import differences
from dialeval.perturbations.generative import GenerativeParaphrase

ANSWERS = {"How old are you?": "What is your age?", "hm": "", "yes .": "yes."}


def paraphrase(texts):
    return [ANSWERS.get(text, text) for text in texts]


class Parrot:
    """Answers contexts in any order, as responders may."""

    signature = "parrot|loud"

    def stream(self, passages):
        for place in reversed(range(len(passages))):
            said = passages[place].context[-1].text
            yield place, passages[place].with_response(said.upper(), "parrot")


def test_a_function_gives_the_words_and_the_log_the_difference():
    strategy = GenerativeParaphrase(paraphrase)
    assert strategy("How old are you?") == "What is your age?"
    assert strategy("  ") == "  "
    assert strategy.edits_of(["hm", "yes .", "fine"], [0] * 3) == [[], [], []]
    assert strategy.counts == {"made": 1, "empty": 1, "same": 2}


def test_a_responder_is_asked_with_each_text_as_context():
    strategy = GenerativeParaphrase(Parrot())
    assert strategy("no tea") == "NO TEA"
    assert repr(strategy) == "GenerativeParaphrase(paraphrase=parrot|loud)"


def test_below_the_floor_the_original_stays_and_is_counted():
    strategy = GenerativeParaphrase(
        lambda texts: [text + "!" for text in texts], lambda a, b: [0.9, 0.2], floor=0.5
    )
    edits = strategy.edits_of(["good tea", "bad tea"], [0, 0])
    assert [bool(each) for each in edits] == [True, False]
    assert strategy.counts == {"made": 1, "different": 1}


def test_texts_are_put_in_batches_and_each_once():
    calls = []

    def remember(texts):
        calls.append(list(texts))
        return [text.upper() for text in texts]

    turns = (Turn("A", "hello"), Turn("B", "tea"))
    passages = to_passages(Passage(turns, "x", id=str(n)) for n in range(3))
    done = perturb(passages, GenerativeParaphrase(remember))
    assert calls == [["hello", "tea"]]
    assert done.edited == 3
    assert edit_log(next(iterate(done.passages)))[0][0].after == "HELLO"


def test_what_cannot_paraphrase_is_refused():
    with pytest.raises(BadInput, match="expected a function or a responder, found str"):
        GenerativeParaphrase("smollm2")
    with pytest.raises(BadInput, match="expected 1 paraphrases, found 2"):
        GenerativeParaphrase(lambda texts: ["a", "b"])("c")
    with pytest.raises(BadInput, match=r"must lie in \[-1, 1\]"):
        GenerativeParaphrase(paraphrase, floor=2)


def test_a_long_text_is_replaced_as_a_whole():
    text = "tea " * 3_000
    assert differences(text, text + "x")[0].before == text


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("How is your new room ?", "The new room is large ."),
        ("You bought a car .", "You bought a car ?"),
        ("I plan to .", "I plan to , and I will tell you about it as soon as I can ."),
    ],
)
def test_answers_and_essays_are_no_paraphrases(text, other):
    strategy = GenerativeParaphrase(lambda texts: [other for _ in texts])
    assert strategy(text) == text
    assert strategy.counts == {"form": 1}
    free = GenerativeParaphrase(lambda texts: [other for _ in texts], keep_form=False)
    assert free(text) == other
    assert repr(free).endswith(", keep_form=False)")
