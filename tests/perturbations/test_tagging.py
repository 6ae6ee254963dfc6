import sys
import time
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations import tagging
from dialeval.perturbations.light_tagger import light_tags
from dialeval.perturbations.tagging import spacy_tags, tag_sentences, tag_text, tagger, tags
from dialeval.perturbations.word_classes import (
    SENTENCE_ENDS,
    normal,
    possible_tags,
    split_contraction,
)

# Sixty sentences of everyday talk, tagged by hand; a contraction has the tag of its first part.
GOLD = """
Could/MD you/PRP open/VB the/DT window/NN ,/, please/RB ?/.
I/PRP left/VBD my/PRP$ umbrella/NN on/IN the/DT bus/NN ./.
We/PRP have/VBP never/RB eaten/VBN here/RB before/RB ./.
She/PRP works/VBZ for/IN a/DT small/JJ bank/NN ./.
Do/VBP you/PRP want/VB some/DT more/JJR rice/NN ?/.
That's/DT a/DT great/JJ idea/NN !/.
What/WP time/NN does/VBZ the/DT train/NN leave/VB ?/.
My/PRP$ brother/NN is/VBZ looking/VBG for/IN a/DT new/JJ job/NN ./.
Let's/VB meet/VB at/IN the/DT station/NN at/IN six/CD ./.
I'm/PRP sorry/JJ ,/, but/CC the/DT shop/NN is/VBZ closed/VBN ./.
Turn/VB left/RB at/IN the/DT next/JJ corner/NN ./.
The/DT soup/NN tastes/VBZ really/RB good/JJ ./.
They/PRP don't/VBP like/VB cold/JJ weather/NN ./.
How/WRB much/JJ is/VBZ this/DT blue/JJ shirt/NN ?/.
He/PRP has/VBZ lost/VBN his/PRP$ keys/NNS again/RB ./.
Would/MD you/PRP like/VB to/TO see/VB the/DT menu/NN ?/.
I/PRP think/VBP we/PRP should/MD take/VB a/DT taxi/NN ./.
Please/RB call/VB me/PRP when/WRB you/PRP arrive/VBP ./.
My/PRP$ parents/NNS live/VBP in/IN a/DT quiet/JJ village/NN ./.
It/PRP was/VBD raining/VBG hard/RB all/DT night/NN ./.
Who/WP told/VBD you/PRP about/IN the/DT party/NN ?/.
There/EX are/VBP two/CD tickets/NNS left/VBN ./.
I/PRP used/VBD to/TO play/VB tennis/NN every/DT week/NN ./.
Thank/VB you/PRP for/IN your/PRP$ help/NN ./.
You/PRP look/VBP tired/JJ today/NN ./.
The/DT movie/NN was/VBD longer/JJR than/IN I/PRP expected/VBD ./.
Which/WDT colour/NN do/VBP you/PRP prefer/VB ?/.
She/PRP wants/VBZ to/TO become/VB a/DT doctor/NN ./.
I/PRP can't/MD find/VB my/PRP$ phone/NN ./.
Have/VBP you/PRP finished/VBN your/PRP$ homework/NN ?/.
This/DT is/VBZ the/DT best/JJS coffee/NN in/IN town/NN ./.
Don't/VB forget/VB to/TO lock/VB the/DT door/NN ./.
We/PRP need/VBP eggs/NNS ,/, milk/NN and/CC bread/NN ./.
His/PRP$ plan/NN sounds/VBZ interesting/JJ ./.
I/PRP hope/VBP the/DT weather/NN will/MD be/VB fine/JJ tomorrow/NN ./.
Mary/NNP and/CC Tom/NNP got/VBD married/VBN last/JJ summer/NN ./.
Where/WRB did/VBD you/PRP buy/VB those/DT shoes/NNS ?/.
It's/PRP too/RB expensive/JJ for/IN me/PRP ./.
The/DT children/NNS are/VBP playing/VBG in/IN the/DT garden/NN ./.
Can/MD I/PRP pay/VB by/IN card/NN ?/.
I/PRP was/VBD invited/VBN to/TO her/PRP$ wedding/NN ./.
You/PRP must/MD be/VB joking/VBG !/.
Our/PRP$ teacher/NN supports_language/VBZ three/CD languages/NNS ./.
Sit/VB down/RP and/CC tell/VB me/PRP everything/NN ./.
I/PRP saw/VBD an/DT old/JJ friend/NN at/IN the/DT airport/NN ./.
If/IN you/PRP need/VBP anything/NN ,/, just/RB ask/VB ./.
The/DT meeting/NN starts/VBZ at/IN nine/CD ./.
He/PRP drives/VBZ too/RB fast/RB ./.
What/WP happened/VBD to/TO your/PRP$ arm/NN ?/.
I've/PRP been/VBN waiting/VBG for/IN an/DT hour/NN ./.
My/PRP$ watch/NN is/VBZ broken/VBN ./.
We're/PRP going/VBG to/TO visit/VB my/PRP$ aunt/NN ./.
Is/VBZ there/EX a/DT bank/NN near/IN here/RB ?/.
She/PRP gave/VBD him/PRP a/DT nice/JJ present/NN ./.
I/PRP don't/VBP know/VB what/WP to/TO say/VB ./.
Take/VB this/DT medicine/NN twice/RB a/DT day/NN ./.
The/DT rent/NN includes/VBZ water/NN and/CC heating/NN ./.
Nobody/NN answered/VBD the/DT phone/NN ./.
You/PRP can/MD change/VB trains/NNS in/IN Boston/NNP ./.
Smoking/NN is/VBZ not/RB allowed/VBN here/RB ./.
""".strip().splitlines()


def _pairs(line):
    return [tuple(item.rsplit("/", 1)) for item in line.split()]


def test_light_tags_agree_with_sixty_sentences_tagged_by_hand():
    correct = total = verbs = verbs_found = 0
    for line in GOLD:
        words, gold = zip(*_pairs(line), strict=True)
        for expected, tag in zip(gold, light_tags(words), strict=True):
            total, correct = total + 1, correct + (expected == tag)
            if expected[:2] in ("VB", "MD"):
                verbs, verbs_found = verbs + 1, verbs_found + (tag[:2] in ("VB", "MD"))
    assert len(GOLD) == 60
    assert correct / total >= 0.93
    assert verbs_found / verbs >= 0.97


@pytest.mark.parametrize(
    ("sentence", "word", "expected"),
    [
        ("I want to work .", "work", "VB"),
        ("I work here .", "work", "VBP"),
        ("The work is hard .", "work", "NN"),
        ("I go to work .", "work", "NN"),
        ("She works here .", "works", "VBZ"),
        ("I have worked .", "worked", "VBN"),
        ("I worked .", "worked", "VBD"),
        ("He was called .", "called", "VBN"),
        ("Have you really finished ?", "finished", "VBN"),
        ("Open the door .", "Open", "VB"),
        ("The door is open .", "open", "JJ"),
        ("He put it there .", "put", "VBD"),
        ("I like it .", "like", "VBP"),
        ("It looks like rain .", "like", "IN"),
        ("Would you like it ?", "like", "VB"),
        ("I know that man .", "that", "DT"),
        ("I know that he left .", "that", "IN"),
        ("I met her yesterday .", "her", "PRP"),
        ("I met her sister .", "her", "PRP$"),
        ("There is time .", "There", "EX"),
        ("She went there .", "there", "RB"),
        ("They have come .", "come", "VBN"),
        ("Do you know ?", "Do", "VBP"),
        ("You are right .", "right", "JJ"),
        ("Come right now .", "right", "RB"),
        ("Ask Miss Marple .", "Miss", "NNP"),
        ("It was a flimberous idea .", "flimberous", "JJ"),
        ("He glorped it .", "glorped", "VBD"),
    ],
)
def test_neighbours_decide_between_tags(sentence, word, expected):
    words = sentence.split()
    assert light_tags(words)[words.index(word)] == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("i'll", ("i", "'ll")),
        ("don't", ("do", "n't")),
        ("won't", ("will", "n't")),
        ("can't", ("can", "n't")),
        ("mary's", ("mary", "'s")),
        ("o'clock", ("o'clock", "")),
        ("tea", ("tea", "")),
    ],
)
def test_contractions_split_into_host_and_clitic(word, expected):
    assert split_contraction(word) == expected


@pytest.mark.parametrize("written", ["Don ’ t", "don't", "DONT", "don’t"])
def test_contractions_have_one_spelling(written):
    assert normal(written) == "don't"


@given(st.lists(st.text(min_size=1), max_size=30))
def test_every_word_gets_one_tag(words):
    tags = light_tags(words)
    assert len(tags) == len(words)
    assert all(tag.rstrip("$").isupper() or tag in (".", ",", ":") for tag in tags)


def test_tagged_words_have_correct_offsets():
    text = "I ’ ll  edit /etc/fstab , ok ?"
    assert all(text[word.start : word.end] == word.text for word in tag_text(text))
    assert [(word.form, word.tag) for word in tag_text(text)][:3] == [
        ("i'll", "PRP"),
        ("edit", "VB"),
        ("/etc/fstab", "NN"),
    ]


def test_light_tagger_reads_more_than_thirty_thousand_words_a_second():
    sentences = [[word for word, _ in _pairs(line)] for line in GOLD] * 20
    start = time.perf_counter()
    for words in sentences:
        light_tags(words)
    seconds = time.perf_counter() - start
    assert sum(map(len, sentences)) / seconds > 30_000


class _Pipeline:
    """Stands in for a spaCy pipeline: every word is a noun."""

    vocab = "vocabulary"

    def __call__(self, words):
        return [types.SimpleNamespace(tag_="NN") for _ in words]


def _fake_spacy(monkeypatch, load):
    spacy, tokens = types.ModuleType("spacy"), types.ModuleType("spacy.tokens")
    spacy.load, tokens.Doc = load, lambda vocab, words: words
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    monkeypatch.setitem(sys.modules, "spacy.tokens", tokens)


@pytest.fixture(autouse=True)
def fresh_taggers():
    """Taggers are cached for the process, also those that a test stood in for."""
    yield
    for cached in (tagging.tagger, tagging.spacy_pipeline, tagging.tag_text):
        cached.cache_clear()


def _forget():
    for cached in (tagging.tagger, tagging.spacy_pipeline, tagging.tag_text):
        cached.cache_clear()


def test_spacy_tags_are_used_when_a_pipeline_is_installed(monkeypatch):
    _fake_spacy(monkeypatch, lambda name, disable: _Pipeline())
    _forget()
    assert tags(["She", "sleeps"]) == ["NN", "NN"]
    assert spacy_tags(["a", "b", "c"], _Pipeline()) == ["NN"] * 3
    assert tagger("light")(["She", "sleeps"]) == ["PRP", "VBZ"]


def test_the_light_tagger_is_used_without_a_pipeline(monkeypatch):
    def load(name, disable):
        raise OSError(f"no {name}")

    _fake_spacy(monkeypatch, load)
    _forget()
    assert tagger("auto") is light_tags
    with pytest.raises(BadInput, match="spaCy or its English pipeline is not installed"):
        tagger("spacy")


def test_unknown_tagger_lists_the_choices():
    with pytest.raises(BadInput, match="Choose one of auto, light, spacy"):
        tagger("brill")


@given(st.lists(st.sampled_from([
    "to", "go", "went", "work", "please", "do", "have", "I", "like", "that", "there", "her",
    "open", "right", "Mary", "'s", "don't", "dogs", "./run", "...", ".", "!", "?", ",",
])).map(" ".join))  # fmt: skip
def test_sentences_are_tagged_alone_as_in_their_text(text):
    parts = tag_sentences(text, "light", lambda word: True)
    assert tuple(word for part in parts for word in part) == tag_text(text, "light")


def test_only_sentences_with_wanted_words_are_tagged():
    text = "I like tea. You hate it! Why?"
    parts = list(tag_sentences(text, "light", {"hate", "why"}.__contains__))
    assert [[word.text for word in part] for part in parts] == [
        ["You", "hate", "it", "!"],
        ["Why", "?"],
    ]


def test_ends_of_sentences_are_tagged_as_such():
    assert {possible_tags(mark) for mark in SENTENCE_ENDS} == {(".",)}
