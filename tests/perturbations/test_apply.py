import logging
from dataclasses import dataclass, replace
from hashlib import blake2b

import pytest

from dialeval.dialogues import BadInput, Passage, Turn, iterate, read, to_passages, write_passages
from dialeval.perturbations import Edit, Perturbation, edit_contexts, edit_log, perturb, replay
from dialeval.perturbations.apply import seeds_of
from dialeval.perturbations.words import RandomSwap, StopwordDropout


def talk(number: int = 30, language: str | None = "en") -> list[Passage]:
    texts = ("I think that the tea is cold now", "well , we can make you some more of it", "no")
    return [
        Passage(
            tuple(Turn("AB"[at % 2], f"{text} {at} {index}") for at, text in enumerate(texts)),
            f"the answer {index}",
            id=f"p{index}",
            dialogue_id=f"d{index}",
            language=language,
            extra={"rating": index},
        )
        for index in range(number)
    ]


def contexts(passages) -> dict[str, tuple[str, ...]]:
    return {
        passage.id: tuple(turn.text for turn in passage.context) for passage in iterate(passages)
    }


def test_only_contexts_change():
    before = talk()
    done = perturb(to_passages(before), RandomSwap())
    for old, new in zip(before, iterate(done.passages), strict=True):
        texts = [replay(t.text, log) for t, log in zip(old.context, edit_log(new), strict=True)]
        assert [turn.text for turn in new.context] == texts
        assert new.extra["rating"] == old.extra["rating"]
        assert new.extra["perturbation"]["strategy"] == repr(RandomSwap())
        assert replace(new, context=old.context, extra=old.extra) == old
    assert (done.edited, done.untouched, done.foreign) == (30, 0, 0)
    assert done.coverage == 1.0
    logs = [edit_log(passage) for passage in iterate(done.passages)]
    assert done.edits == sum(len(log) for turns in logs for log in turns)


def test_edits_do_not_depend_on_order_or_batch():
    whole = contexts(perturb(to_passages(talk()), RandomSwap()).passages)
    backwards = contexts(perturb(to_passages(talk()[::-1]), RandomSwap()).passages)
    part = contexts(perturb(to_passages(talk()[7:9]), RandomSwap()).passages)
    assert whole == backwards
    assert part == {key: whole[key] for key in ("p7", "p8")}


def test_edits_do_not_depend_on_processes():
    passages = to_passages(talk())
    alone = perturb(passages, StopwordDropout(2))
    together = perturb(passages, StopwordDropout(2), num_proc=2)
    assert contexts(alone.passages) == contexts(together.passages)
    assert alone.edits == together.edits


def test_the_seed_changes_the_edits():
    passages = to_passages(talk())
    assert contexts(perturb(passages, RandomSwap()).passages) != contexts(
        perturb(passages, RandomSwap(), seed=1).passages
    )


@pytest.mark.parametrize(
    ("turns", "edited"), [("last", {2}), ((0,), {0}), ((-2, 0), {0, 1}), ((7, -9), set())]
)
def test_only_the_wanted_turns_are_edited(turns, edited):
    done = perturb(to_passages(talk()), Shout(), turns=turns)
    for passage in iterate(done.passages):
        assert {at for at, log in enumerate(edit_log(passage)) if log} == edited


@dataclass(frozen=True)
class Shout(Perturbation):
    kind = "should_not_change"

    def edits(self, text, rng):
        return [Edit(0, text, text.upper())] if text != text.upper() else []


def test_other_languages_are_refused_by_name_or_passed_and_counted():
    mixed = to_passages([*talk(4), *(replace(p, id=p.id + "x") for p in talk(3, "de"))])
    with pytest.raises(BadInput, match="stopword-dropout supports en, but some passages are in de"):
        perturb(mixed, StopwordDropout())
    done = perturb(mixed, StopwordDropout(), unsupported="pass")
    assert (done.edited, done.untouched, done.foreign) == (4, 0, 3)
    assert [edit_log(passage) for passage in iterate(done.passages)][4:] == [[[], [], []]] * 3
    assert perturb(mixed, RandomSwap()).foreign == 0


def test_no_language_and_a_region_count_as_english():
    for language in (None, "en-US"):
        assert perturb(to_passages(talk(2, language)), StopwordDropout()).edited == 2


def test_a_strategy_that_edits_nothing_warns(caplog):
    passages = to_passages([Passage((Turn("A", "tea"),), "yes", id="a")])
    with caplog.at_level(logging.WARNING):
        done = perturb(passages, RandomSwap())
    assert done.coverage == 0.0 and done.untouched == 1
    assert "edited nothing: its coverage is 0" in caplog.text


def test_empty_tables_and_empty_contexts_pass():
    assert perturb(to_passages([]), RandomSwap()).coverage == 0.0
    done = perturb(to_passages([Passage((), "yes", id="a")]), RandomSwap(), turns="last")
    assert done.untouched == 1


def test_other_columns_stay_and_the_log_survives_a_file(tmp_path):
    passages = to_passages(talk(5)).add_column("label", [1, 0, 1, 0, 1])
    done = perturb(passages, RandomSwap())
    assert list(done.passages["label"]) == [1, 0, 1, 0, 1]
    path = write_passages(done.passages.remove_columns("label"), tmp_path / "p.jsonl")
    again, _ = read(path)
    assert [edit_log(passage) for passage in iterate(again)] == [
        edit_log(passage) for passage in iterate(done.passages)
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"turns": "first"}, "unknown turns 'first'"), ({"unsupported": "skip"}, "refuse or pass")],
)
def test_unknown_settings_say_which_there_are(options, message):
    with pytest.raises(BadInput, match=message):
        perturb(to_passages(talk(1)), RandomSwap(), **options)


def test_the_seed_of_a_turn_is_a_hash_of_its_position():
    digest = blake2b(b"7\x1frandom-swap\x1fa\x1f2", digest_size=8).digest()
    seeds = seeds_of(7, "random-swap", [("a", 2), ("a", 1), ("b", 2), ("\ud800", 2)])
    assert seeds[0] == int.from_bytes(digest, "big")
    assert len(set(seeds)) == 4
    assert seeds_of(7, "random-swap", []) == []


def test_contexts_are_edited_as_perturb_does_without_a_table():
    passages, strategy = talk(), RandomSwap()
    edited, counts = edit_contexts(passages, strategy, seed=3)
    expected = perturb(to_passages(passages), strategy, seed=3)
    contexts = [item.context for item in iterate(expected.passages)]
    assert [item.context for item in edited] == contexts
    assert (counts > 0).sum() == expected.edited and counts.sum() == expected.edits
    assert [item.extra for item in edited] == [item.extra for item in passages]
    foreign, none = edit_contexts(talk(language="fr"), StopwordDropout())
    assert foreign == talk(language="fr") and not none.any()
