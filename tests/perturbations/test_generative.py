import pytest

from dialeval.dialogues import BadInput, Passage, Turn, iterate, to_passages
from dialeval.perturbations import edit_log, perturb
from dialeval.perturbations.differences import differences
from dialeval.perturbations.fidelity import is_same, strip_wrapping
from dialeval.perturbations.generative import GenerativeParaphrase

ANSWERS = {"How old are you?": "What is your age?", "hm": "", "yes .": "yes."}


def paraphrase(texts):
    return [ANSWERS.get(text, text) for text in texts]


class Parrot:
    """Answers contexts in any order, as responders may."""

    signature = "parrot|loud"

    def stream(self, passages):
        for index in reversed(range(len(passages))):
            reply = passages[index].context[-1].text
            yield index, passages[index].with_response(f"{reply} then", "parrot")


def test_a_function_gives_the_words_and_the_log_the_difference():
    strategy = GenerativeParaphrase(paraphrase)
    assert strategy("How old are you?") == "What is your age?"
    assert strategy("  ") == "  "
    assert strategy.edits_of(["hm", "yes .", "fine"], [0] * 3) == [[], [], []]
    assert strategy.counts == {"made": 1, "empty": 1, "same": 2}


def test_a_responder_is_asked_with_each_text_as_context():
    strategy = GenerativeParaphrase(Parrot())
    assert strategy("no tea") == "no tea then"
    assert repr(strategy) == "GenerativeParaphrase(paraphrase=parrot|loud)"


def test_below_the_floor_the_original_stays_and_is_counted():
    strategy = GenerativeParaphrase(
        lambda texts: [text + " then" for text in texts], lambda a, b: [0.9, 0.2], floor=0.5
    )
    edits = strategy.edits_of(["good tea", "bad tea"], [0, 0])
    assert [bool(log) for log in edits] == [True, False]
    assert strategy.counts == {"made": 1, "different": 1}


def test_texts_are_put_in_batches_and_each_once():
    calls = []

    def remember(texts):
        calls.append(list(texts))
        return [f"{text} then" for text in texts]

    turns = (Turn("A", "hello"), Turn("B", "tea"))
    passages = to_passages(Passage(turns, "x", id=str(n)) for n in range(3))
    done = perturb(passages, GenerativeParaphrase(remember))
    assert calls == [["hello", "tea"]]
    assert done.edited == 3
    assert edit_log(next(iterate(done.passages)))[0][0].after == " then"


def test_what_cannot_paraphrase_is_refused():
    with pytest.raises(BadInput, match="expected a function or a responder, but got str"):
        GenerativeParaphrase("smollm2")
    with pytest.raises(BadInput, match="expected 1 paraphrases, but got 2"):
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
        ("You bought a car .", "So you bought a car ?"),
        ("A: is xubuntu supported here", "A: xubuntu is supported here"),
        ("I plan to .", "I plan to , and I will tell you about it as soon as I can ."),
    ],
)
def test_answers_and_essays_are_not_paraphrases(text, other):
    strategy = GenerativeParaphrase(lambda texts: [other for _ in texts])
    assert strategy(text) == text
    assert strategy.counts == {"form": 1}
    free = GenerativeParaphrase(
        lambda texts: [other for _ in texts], keep_form=False, keep_sense=False
    )
    assert free(text) == other
    assert repr(free).endswith(", keep_form=False, keep_sense=False)")


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("My mother can cook .", "Your mother can cook."),
        ("Ok , but I'm taking your skateboard .", "You're taking my skateboard."),
        ("I won't be able to keep it .", "I'll be able to keep it."),
        ("The rate drops to 3 % .", "The rate drops to 4 %."),
        ("It takes two or three days .", "It takes two days or more."),
        ("She saw it in Rome .", "She saw it in Paris."),
        ("Now edit /etc/fstab with it .", "Now edit the file /etc/fs with it."),
    ],
)
def test_other_persons_numbers_names_or_negation_are_not_paraphrases(text, other):
    strategy = GenerativeParaphrase(lambda texts: [other for _ in texts])
    assert strategy(text) == text
    assert strategy.counts == {"sense": 1}
    assert (
        GenerativeParaphrase(lambda texts: [other for _ in texts], keep_sense=False)(text) == other
    )


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("I am not well . And you ?", "I'm not feeling well. And you?"),
        ("You have a total of 21 days off .", "You have 21 days off in all."),
        ("Well , we moved in yesterday , Ann .", "We moved in yesterday."),
        ("I want to go to New York .", "New York is where I want to go."),
    ],
)
def test_good_paraphrases_are_used(text, other):
    strategy = GenerativeParaphrase(lambda texts: [other for _ in texts])
    assert strategy(text) == other
    assert strategy.counts == {"made": 1}


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ('The user\'s message is: "Do sit down."', "Do sit down."),
        ("Sure, here it is:\n\nDo sit down.\n\nI hope this helps!", "Do sit down."),
        ("“Do sit down.”", "Do sit down."),
        ("Do sit down.", "Do sit down."),
        ("Sit down at 10:30.", "Sit down at 10:30."),
        ("", ""),
    ],
)
def test_text_around_a_paraphrase_is_removed(output, expected):
    assert strip_wrapping(output, "Please sit down.") == expected


def test_a_label_of_the_text_itself_stays():
    output = 'The user\'s message is: "A: try top"'
    assert strip_wrapping(output, "A: use top") == "A: try top"
    assert strip_wrapping("A: try top", "A: use top") == "A: try top"


def test_changes_of_case_and_punctuation_are_not_paraphrases():
    assert is_same("that sounds like fun .", "That sounds like fun!")
    assert not is_same("that sounds fun .", "That sounds like fun.")
    assert not is_same("?", "!") and is_same("? !", "?  !")


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("I would like to see Doctor Jones .", "Doctor Jones."),
        ("I will tell them .", "I will tell them that I will tell them."),
        ("They pay a fee .", "They pay a fee, and"),
        ("The terminal tells of a file that it cannot find", "The terminal tells of a file"),
    ],
)
def test_truncated_or_repetitive_text_is_not_a_paraphrase(text, other):
    strategy = GenerativeParaphrase(lambda texts: [other for _ in texts])
    assert strategy(text) == text
    assert strategy.counts == {"form": 1}
