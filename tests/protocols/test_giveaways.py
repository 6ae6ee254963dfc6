"""What gives a pile away: cues of style, and those that are merely the topic."""

from dialeval.metrics.unpaired_results import UnpairedResults
from dialeval.protocols.unpaired.giveaways import find_giveaways
from dialeval.protocols.unpaired.piles import pair_piles
from dialeval.reports.unpaired import unpaired_page
from dialeval.reports.unpaired_answer import pile_answers
from tests.protocols.test_unpaired import COOKING, SPORT, evaluated, pile


def test_a_phrase_is_a_cue_and_the_topic_is_marked(tmp_path):
    polite = pile(COOKING, 2, author="bot", style=lambda text: f"let me know, {text}")
    results = evaluated(pile(SPORT, 1), polite, tmp_path)
    cues = {cue.text: cue for cue in results.cues}
    style = [cue for cue in results.cues if not cue.topical]
    assert any("let me" in text or "me know" in text for text in cues)
    assert style[0].system_share == 1.0 and style[0].human_share == 0.0
    topical = {cue.text for cue in results.cues if cue.topical}
    assert topical & {*SPORT, *COOKING}  # partners talk about it too
    assert [cue.topical for cue in results.cues] == sorted(cue.topical for cue in results.cues)
    assert UnpairedResults.load(tmp_path) == results
    (answer,) = pile_answers(results)
    assert not any(word in answer.reasons[0] for word in COOKING)
    page = unpaired_page(results)
    assert "What gives it away: bot" in page and "May come from the topic" in page


def test_equal_piles_have_no_cues():
    piles = pair_piles(pile(SPORT, 1, 60), pile(SPORT, 2, 60, author="bot"), "bot")
    warnings = []
    assert find_giveaways(piles, "bot", 0, warnings.append) == ([], [])
    assert warnings == []


def test_few_dialogues_are_said():
    piles = pair_piles(pile(SPORT, 1, 12), pile(SPORT, 2, 12, author="bot"), "bot")
    warnings = []
    find_giveaways(piles, "bot", 0, warnings.append)
    assert any("not checked for format leaks" in text for text in warnings)
