import pytest

from dialeval.responders.reasoning import strip_reasoning


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain", "plain"),
        ("", ""),
        ("<think></think>\n\nhi", "hi"),
        ("<think>a\nb</think> hi", "hi"),
        ("<THINK>a</Think>hi", "hi"),
        ("<thinking>a</thinking>hi", "hi"),
        ("<reasoning>a</reasoning>hi", "hi"),
        ("[THINK]a[/THINK]hi", "hi"),
        ("<think>a</think>hi<think>b</think> there", "hi there"),
        ("<think>a<think>b</think>c</think>hi", "hi"),
        ("<think>never ends", ""),
        ("hi <think>never ends", "hi"),
        ("opened by the template</think>hi", "hi"),
        ("a</think>b</think>hi", "hi"),
        ("I think so", "I think so"),
        ("use the <thinker> tag", "use the <thinker> tag"),
        ("2 < 3 > think", "2 < 3 > think"),
    ],
)
def test_what_is_left_without_reasoning(text, left):
    assert strip_reasoning(text) == left
    assert strip_reasoning(left) == left


def test_texts_of_any_length_are_read_in_one_pass():
    assert strip_reasoning("<think>" * 200_000) == ""
    assert strip_reasoning("a" * 2_000_000) == "a" * 2_000_000
    assert strip_reasoning("a</think>" * 200_000 + "b") == "b"
