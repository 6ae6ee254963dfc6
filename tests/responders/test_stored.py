from dataclasses import replace

import pytest

from dialeval.dialogues import BadInput, iterate, read, to_passages, write_passages
from dialeval.responders import respond
from dialeval.responders.stored import StoredResponder, load_stored
from tests.conftest import talk


def answered(passages, author="bot", text="re {}"):
    return [passage.with_response(text.format(passage.id), author) for passage in passages]


@pytest.mark.parametrize("kind", [list, to_passages])
def test_answers_are_found_by_id_in_any_order(kind):
    passages = talk(4, 4)
    responses = respond(StoredResponder(kind(answered(passages)[::-1])), kind(passages))
    assert [passage.response for passage in responses] == [
        f"re {passage.id}" for passage in passages
    ]
    assert {passage.author for passage in responses} == {"bot"}
    assert not any(passage.extra for passage in responses)


def test_answers_without_a_known_id_are_found_by_context():
    passages = talk(3, 3)
    stored = [replace(passage, id=f"other {passage.id}") for passage in answered(passages)]
    nameless = [replace(passage, id="") for passage in answered(passages)]
    for answers in (stored, nameless):
        responses = respond(StoredResponder(answers), passages)
        assert [passage.response for passage in responses] == [
            f"re {passage.id}" for passage in passages
        ]
        assert [passage.id for passage in responses] == [passage.id for passage in passages]


def test_missing_answers_are_one_error_before_the_first_answer():
    passages = talk(2, 4)
    stream = StoredResponder(answered(passages)[:1]).stream(passages)
    with pytest.raises(BadInput, match="bot has no stored answer to 5 of 6 passages; .*'t0#2'"):
        next(stream)


def test_several_answers_are_numbered_in_the_order_of_the_file():
    one, two = talk(2, 2)
    stored = [*answered([one, two], text="a {}"), *answered([one], text="b {}")]
    responses = respond(StoredResponder(stored), [two, one])
    assert [(passage.response, passage.extra.get("hypothesis")) for passage in responses] == [
        ("a t1#1", None), ("a t0#1", 0), ("b t0#1", 1),
    ]  # fmt: skip


def test_numbers_that_answers_have_already_give_their_order():
    one = talk(1, 2)[0]
    stored = [
        replace(one.with_response(text, "bot"), extra={"hypothesis": number})
        for text, number in (("c", 7), ("a", 2), ("b", 4))
    ]
    responses = respond(StoredResponder(stored), [one])
    assert [(passage.response, passage.extra["hypothesis"]) for passage in responses] == [
        ("a", 0), ("b", 1), ("c", 2),
    ]  # fmt: skip


def test_hypotheses_of_a_table_are_in_the_order_of_their_numbers(tmp_path):
    one = talk(1, 2)[0]
    stored = [replace(one.with_response(f"reply {number}", "bot"), extra={"hypothesis": number})
              for number in (10, 2, 0)]  # fmt: skip
    stored.append(one.with_response("no number", "bot"))
    path = write_passages(to_passages(stored), tmp_path / "replies.csv")
    responses = respond(load_stored(str(path)), [one])
    assert [passage.response for passage in responses] == [
        "reply 0", "no number", "reply 2", "reply 10",
    ]  # fmt: skip


def test_what_is_known_about_an_answer_comes_along():
    one = replace(talk(1, 2)[0], extra={"topic": "rain", "rating": 1})
    stored = replace(
        one.with_response("hm", "bot"), extra={"rating": 4}, source_dialogue_id="elsewhere"
    )
    response = respond(StoredResponder([stored]), [one])[0]
    assert response.extra == {"topic": "rain", "rating": 4}
    assert response.source_dialogue_id == "elsewhere"


def test_an_id_at_several_contexts_answers_the_right_one():
    one, two = talk(2, 2)
    two = replace(two, id=one.id)
    stored = [one.with_response("to one", "bot"), two.with_response("to two", "bot")]
    responses = respond(StoredResponder(stored), [two, one])
    assert [passage.response for passage in responses] == ["to two", "to one"]


def test_an_answer_to_other_words_is_given_with_a_warning(caplog):
    passages = talk(3, 2)
    moved = passages[0].with_context(["a typo"])
    responses = respond(StoredResponder(answered(passages)), [moved, *passages[1:]])
    assert responses[0].response == "re t0#1"
    assert [record.getMessage() for record in caplog.records] == [
        "1 of 3 answers of bot have the right id but a context with other words."
    ]


def test_human_responses_in_the_file_are_left_aside():
    passages = talk(2, 3)
    responses = respond(StoredResponder([*passages, *answered(passages)]), passages)
    assert [passage.response for passage in responses] == [
        f"re {passage.id}" for passage in passages
    ]


def test_one_of_several_systems_is_chosen_by_name():
    passages = talk(2, 2)
    stored = [*answered(passages, "x", "x {}"), *answered(passages, "y", "y {}")]
    chosen = StoredResponder(stored, name="y")
    assert [passage.response for passage in respond(chosen, passages)] == ["y t0#1", "y t1#1"]
    for name in (None, "z"):
        with pytest.raises(BadInput, match="one system, got 2.* Choose one of x, y"):
            StoredResponder(stored, name=name)


def test_a_system_can_be_called_otherwise_and_a_nameless_one_is_called_stored():
    passages = talk(2, 2)
    assert StoredResponder(answered(passages), name="new").name == "new"
    nameless = StoredResponder(answered(passages, "human"))
    assert nameless.name == "stored"
    assert respond(nameless, passages)[0].author == "stored"


def test_an_empty_file_is_refused():
    with pytest.raises(BadInput, match="expected stored responses, but the file is empty"):
        StoredResponder([])


def test_a_file_of_answers_is_used_as_it_is_read(write):
    records = [
        {"id": "q1", "context": ["hi", "hello"], "response": "how are you", "author": "bot"},
        {"id": "q2", "context": ["bye"], "response": "see you", "author": "bot"},
    ]
    questions = [{**record, "author": "human", "response": "gold"} for record in records[::-1]]
    passages, _ = read(write("questions.jsonl", questions))
    answers, _ = read(write("answers.jsonl", records))
    responses = respond(StoredResponder(answers), passages)
    assert [(passage.id, passage.response) for passage in responses] == [
        ("q2", "see you"), ("q1", "how are you"),
    ]  # fmt: skip
    assert [passage.id for passage in iterate(passages)] == ["q2", "q1"]


def test_the_signature_names_the_answers():
    stored = answered(talk(2, 3))
    base = StoredResponder(stored).signature
    assert base.startswith("responder:bot|stored:4@")
    assert StoredResponder(stored[::-1]).signature == base
    assert StoredResponder([replace(stored[0], response="no"), *stored[1:]]).signature != base
