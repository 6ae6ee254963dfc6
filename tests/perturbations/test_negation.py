from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations import Edit, replay
from dialeval.perturbations.negation import AddNegation

ADDED = [
    ("I like tea.", "I don't like tea."),
    ("She likes tea.", "She doesn't like tea."),
    ("He liked it.", "He didn't like it."),
    ("They went home.", "They didn't go home."),
    ("The shop opens at nine.", "The shop doesn't open at nine."),
    ("My parents live here.", "My parents don't live here."),
    ("He put it there.", "He didn't put it there."),
    ("Who told you?", "Who didn't tell you?"),
    ("I am happy.", "I am not happy."),
    ("He is late.", "He isn't late."),
    ("We were there.", "We weren't there."),
    ("You can go.", "You can't go."),
    ("It will rain.", "It won't rain."),
    ("You should go.", "You shouldn't go."),
    ("You may go.", "You may not go."),
    ("You must go.", "You must not go."),
    ("I have a dog.", "I don't have a dog."),
    ("He has a dog.", "He doesn't have a dog."),
    ("He had a dog.", "He didn't have a dog."),
    ("She has left.", "She hasn't left."),
    ("I have already eaten.", "I haven't already eaten."),
    ("The results have come.", "The results haven't come."),
    ("I have to go.", "I don't have to go."),
    ("You had better go.", "You had better not go."),
    ("I used to smoke.", "I didn't use to smoke."),
    ("I do.", "I don't."),
    ("I did my homework.", "I didn't do my homework."),
    ("I'm tired.", "I'm not tired."),
    ("They're here.", "They're not here."),
    ("It's cold.", "It's not cold."),
    ("Mary's here.", "Mary's not here."),
    ("I'll call you.", "I won't call you."),
    ("I'd like some tea.", "I wouldn't like some tea."),
    ("I'd seen it.", "I hadn't seen it."),
    ("I'd better go.", "I'd better not go."),
    ("I'd rather stay.", "I'd rather not stay."),
    ("I've seen it.", "I haven't seen it."),
    ("Open it.", "Don't open it."),
    ("Be careful.", "Don't be careful."),
    ("Please sit down.", "Please don't sit down."),
    ("Have a seat.", "Don't have a seat."),
    ("HELP ME", "DON'T HELP ME"),
    ("Let's go.", "Let's not go."),
    ("Do you like it?", "Don't you like it?"),
    ("Does he know?", "Doesn't he know?"),
    ("Have you finished?", "Haven't you finished?"),
    ("Have you any idea?", "Haven't you any idea?"),
    ("No, have you?", "No, haven't you?"),
    ("Have it your way.", "Don't have it your way."),
    ("I have you down for ten.", "I don't have you down for ten."),
    ("Are you sure?", "Aren't you sure?"),
    ("Am I late?", "Am I not late?"),
    ("May I come in?", "May I not come in?"),
    ("Shall we go?", "Shall we not go?"),
    ("Could you help me?", "Couldn't you help me?"),
    ("What's your name?", "What isn't your name?"),
    ("What do you do?", "What don't you do?"),
    ("What kind of room do you want?", "What kind of room don't you want?"),
    ("What time does the train leave?", "What time doesn't the train leave?"),
    ("I always go there.", "I don't always go there."),
    ("I really like it.", "I don't really like it."),
    ("I still like it.", "I still don't like it."),
    ("Great to see you.", "Great not to see you."),
    ("How about going out?", "How about not going out?"),
    ("Mary's car broke.", "Mary's car didn't break."),
    ("Thank you. I like it.", "Thank you. I don't like it."),
    ("I ’ m glad . It is warm .", "I ’ m not glad . It is warm ."),
    ("Yes , we can . I ’ m glad .", "Yes , we can ’ t . I ’ m glad ."),
]

TAKEN_BACK = [
    ("I don't like it.", "I like it."),
    ("He doesn't like it.", "He likes it."),
    ("She doesn't have one.", "She has one."),
    ("He didn't go.", "He went."),
    ("I don't really care.", "I really care."),
    ("Don't open it.", "Open it."),
    ("Don't you like it?", "Do you like it?"),
    ("Why don't we go?", "Why do we go?"),
    ("No, I don't.", "No, I do."),
    ("Isn't it nice?", "Is it nice?"),
    ("I can't swim.", "I can swim."),
    ("I cannot swim.", "I can swim."),
    ("It won't rain.", "It will rain."),
    ("You shouldn't go.", "You should go."),
    ("I haven't seen it.", "I have seen it."),
    ("It ain't over.", "It is over."),
    ("They ain't here.", "They are here."),
    ("I do not like it.", "I like it."),
    ("I did not see it.", "I saw it."),
    ("I will not go.", "I will go."),
    ("I'm not sure.", "I'm sure."),
    ("We were not amused.", "We were amused."),
    ("I never eat meat.", "I eat meat."),
    ("I have never been there.", "I have been there."),
    ("Never do that.", "Do that."),
    ("There is no time.", "There is some time."),
    ("Nobody knows.", "Somebody knows."),
    ("I have nothing to say.", "I have something to say."),
    ("I don't have any money.", "I have some money."),
    ("I can't wait any longer.", "I can wait any longer."),
    ("dont do it", "do it"),
    ("i cant boot", "i can boot"),
    ("I don’t know.", "I know."),
    ("I don ’ t know .", "I know ."),
]

LEFT_ALONE = [
    "",
    "Hello!",
    "Thank you.",
    "Excuse me.",
    "See you.",
    "Good morning , Tom .",
    "How are you?",
    "Here you are.",
    "Not bad.",
    "/etc/fstab",
    "你好吗",
    "😀",
]


@pytest.mark.parametrize(("text", "expected"), ADDED)
def test_first_verb_is_negated(text, expected):
    assert AddNegation(tagger="light")(text) == expected


@pytest.mark.parametrize(("text", "expected"), TAKEN_BACK)
def test_a_negation_is_removed(text, expected):
    assert AddNegation(tagger="light")(text) == expected


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_text_without_a_verb_to_negate_has_no_edits(text):
    assert AddNegation(tagger="light").edits(text, Random(0)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I like tea.", "I don't like tea."),
        ("She likes tea.", "She doesn't like tea."),
        ("He went home.", "He didn't go home."),
        ("He is late.", "He isn't late."),
        ("I am late.", "I am not late."),
        ("You can go.", "You can not go."),  # modals are not negated: the verb behind them is
        ("I have seen it.", "I don't have seen it."),
        ("Going home?", "Not going home?"),
        ("I don't like it.", "I don't not like it."),  # no negation is removed
        ("I'm tired.", "I'm tired."),
    ],
)
def test_released_preset_follows_the_released_rules(text, expected):
    strategy = AddNegation(**AddNegation.presets["released"], tagger="light")
    assert strategy(text) == expected


def test_one_edit_names_the_words_that_changed():
    assert AddNegation().edits("She likes tea.", Random(0)) == [Edit(4, "likes", "doesn't like")]


def test_unknown_rules_list_the_choices():
    with pytest.raises(BadInput, match="Choose full or released"):
        AddNegation(rules="paper")


def test_the_signature_is_the_repr():
    assert repr(AddNegation()) == "AddNegation(rules='full', tagger='auto')"


PIECES = """
I he you they do don't does not never no is isn't 's can have has to like likes liked put the dog
happy really , . ? ! nobody let's please been going any
"""
WORDS = st.sampled_from([*PIECES.split(), "\t", "\n", "’ ll"])


@given(
    st.lists(WORDS, max_size=25).map(" ".join) | st.text(), st.sampled_from(["full", "released"])
)
def test_edits_replay_and_are_deterministic(text, rules):
    strategy = AddNegation(rules, tagger="light")
    edits = strategy.edits(text, Random(0))
    assert edits == strategy.edits(text, Random(1))
    assert all(edit.before != edit.after for edit in edits)
    assert (replay(text, edits) != text) == bool(edits)
    assert sum("any" not in edit.before.lower() for edit in edits) <= 1


def test_ten_thousand_words_are_read_in_a_moment():
    assert AddNegation()("so not really " * 3333 + "we go").endswith("we don't go")


def test_set_phrases_are_not_negated():
    assert AddNegation()("How are you guys doing? I am fine.") == (
        "How are you guys doing? I am not fine."
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No one uses it.", "Someone uses it."),
        ("No one ever actually uses it.", "Someone actually uses it."),
        ("There is no one here.", "There is someone here."),
        ("Nobody really knows.", "Somebody really knows."),
        ("Why not just build it?", "Why not just build it?"),
        ("He has but I do.", "He hasn't but I do."),
        ("Do most people like it?", "Don't most people like it?"),
        ("A: http://a.b/build is there", "A: http://a.b/build isn't there"),
        ("Use sudo aptitude reinstall package.", "Don't use sudo aptitude reinstall package."),
        ("What does [x] mean?", "What doesn't [x] mean?"),
        ("See what the logs say.", "Don't see what the logs say."),
    ],
)
def test_negation_is_not_doubled_nor_put_on_nouns(text, expected):
    assert AddNegation()(text) == expected
