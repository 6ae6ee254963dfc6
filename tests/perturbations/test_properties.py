"""What every strategy of the registry promises, whatever the text."""

from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dialeval.dialogues import BadInput, Passage, Turn, iterate, to_passages
from dialeval.dialogues.types import text_hash
from dialeval.perturbations import available, edit_log, perturb, perturbation, replay
from dialeval.perturbations.registry import strategies
from dialeval.perturbations.tokens import tokenize

WORDS = (
    "I", "you", "don't", "can ’ t", "isn't", "is", "are", "went", "the", "of", "a", "an", "hour",
    "big", "dogs", "buy", "Paris", "John", "seven", "42", "10:30", "not", "never", "good", "well",
    "OK", "A:", ",", ".", "?", "!", "...", '"', "(", ")", "\n", "  ", "\t", "😀",
    "👨\u200d👩\u200d👧", "مرحبا", "你好", "привет", "नमस्ते", "https://a.b/c?d=e",
    "/etc/X11/xorg.conf", "rm -rf", "`x = y()`", "<unk>", "__eou__", "foo_bar", "e.g.",
    "\u200b", "\ufeff", "\x00", "ß", "İ", "ﬁ",
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=8).map("".join),
)
ODD = (
    "", " ", "tea", "?", "😀😀", "你好吗", "Привет , как дела ?", "https://x.org/a?b=c&d=e", "A",
    "for i in range(10): print(f'{i}')", "SHOUT AT ME !!!", "a\u0301\u0301", "'", "’ t", "n't",
    "I'",
)  # fmt: skip


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """A strategy by name, with what it needs."""
    entities = tmp_path_factory.mktemp("lexicon") / "entities.txt"
    entities.write_text("paris\nberlin\nnew york\njohn\n", encoding="utf-8")
    given = {
        "generative-paraphrase": {"paraphrase": lambda texts: [text[::-1] for text in texts]},
        "confusing-entity": {"lexicon": str(entities)},
        "random-inputs-kept-entities": {"lexicon": str(entities)},
    }
    return lambda name, preset="paper": perturbation(name, preset, **given.get(name, {}))


def check(strategy, text: str, seed: int) -> None:
    edits = list(strategy.edits(text, Random(seed)))
    assert list(strategy.edits(text, Random(seed))) == edits
    assert strategy(text, seed) == replay(text, edits)
    assert all(edit.before != edit.after for edit in edits)
    assert len(edits) <= 2 * len(tokenize(text)) + 1


@pytest.mark.parametrize("preset", ["paper", "released"])
@pytest.mark.parametrize("name", available())
def test_edits_are_deterministic_bounded_and_complete(name, preset, make):
    strategy = make(name, preset)

    @settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
    @given(TEXTS, st.integers(0, 9))
    @example("He isn't here, is he?", 0)
    def run(text, seed):
        check(strategy, text, seed)

    run()
    for text in ODD:
        check(strategy, text, 1)


@pytest.mark.parametrize("name", available())
def test_a_text_is_edited_alike_alone_and_among_others(name, make):
    strategy, seeds = make(name), [text_hash([text]) for text in ODD]
    together = strategy.edits_of(list(ODD), seeds)
    alone = [strategy.edits_of([text], [seed])[0] for text, seed in zip(ODD, seeds, strict=True)]
    assert [list(log) for log in together] == [list(log) for log in alone]


@pytest.mark.parametrize("preset", ["paper", "released"])
@pytest.mark.parametrize("name", available())
def test_perturbed_texts_equal_their_replayed_logs(name, preset, make):
    strategy = make(name, preset)

    @settings(max_examples=30, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.lists(st.one_of(TEXTS, st.sampled_from(ODD)), max_size=6))
    @example(["a \n the\n", "", "tea \ud800 of milk", "the end of the day", "\n"])
    def run(texts):
        seeds = [text_hash([text.encode("utf-8", "replace").decode()]) for text in texts]
        made = strategy.apply(texts, seeds)
        assert made.logs == strategy.edits_of(texts, seeds)
        replayed = [replay(text, log) for text, log in zip(texts, made.logs, strict=True)]
        assert made.texts == replayed

    run()


@pytest.mark.parametrize("name", available())
def test_ten_thousand_words_are_edited_quickly(name, make):
    text = "I think that 7 big dogs in Paris don't like the old tea , do they ? " * 625
    assert len(text.split()) == 10_625
    check(make(name), text, 0)


@pytest.mark.parametrize("name", available())
def test_empty_text_stays_empty(name, make):
    for text in ("", "  \n"):
        assert make(name)(text) == text


@pytest.mark.parametrize("name", available())
def test_another_language_is_refused_by_name_or_passed_and_counted(name, make):
    turn = Turn("A", "Der Hund und die Katze , sie sind in Paris .")
    passages = to_passages([Passage((turn,), "Ja.", id="a", language="de")])
    strategy = make(name)
    if strategies()[name].languages is None:
        assert perturb(passages, strategy).foreign == 0
        return
    with pytest.raises(BadInput, match=f"{name} supports .* but some passages are in de"):
        perturb(passages, strategy)
    done = perturb(passages, strategy, unsupported="pass")
    assert (done.foreign, done.edits) == (1, 0)
    (passage,) = iterate(done.passages)
    assert passage.context == (turn,) and edit_log(passage) == [[]]
