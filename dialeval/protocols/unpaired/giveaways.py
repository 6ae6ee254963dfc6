"""What gives a pile away: format leaks, and single cues that are not merely its topic."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from scipy.stats import fisher_exact

from dialeval.dialogues import BadInput, Passages, iterate, to_passages
from dialeval.dialogues.tokens import lower_tokens
from dialeval.metrics.cue_results import LEXICAL, TOO_FEW, Cue
from dialeval.metrics.evaluation_results import FormatLeak
from dialeval.metrics.leak_results import LeakReport
from dialeval.protocols.evaluation.cues import ALPHA, find_cues
from dialeval.protocols.evaluation.leak_check import LeakCheck
from dialeval.protocols.leaks import find_leaks
from dialeval.protocols.unpaired.piles import PilePair
from dialeval.protocols.unpaired.views import common_words, partner_turn

Warn = Callable[[str], Any]


def find_giveaways(
    piles: PilePair, system: str, seed: int, warn: Warn
) -> tuple[list[FormatLeak], list[Cue]]:
    """The significant format leaks of a system, and its cues, the clearest first.

    Args:
        piles (`PilePair`):
            Both piles.
        system (`str`):
            Name of the system.
        seed (`int`):
            Seed of halves and resampling.
        warn (`Callable`):
            Called with a sentence where something could not be checked.

    Returns:
        `tuple`: Leaks and cues; empty where there are none. Cues that may come from the topic are
        the last ones.
    """
    human, answers = _alone(piles.human), _alone(piles.system)
    report: LeakReport | None = None
    leaks: list[FormatLeak] = []
    try:
        report = find_leaks(human, answers, seed)
        leaks = LeakCheck({system: report}).of(system)
    except BadInput as error:
        warn(f"{system} was not checked for format leaks: {error}")
    try:
        cues = find_cues(system, human, answers, report, seed)
    except BadInput:
        warn(f"{TOO_FEW} {system} away.")
        cues = []
    return leaks, mark_topics(cues, piles)


def _alone(passages: Passages) -> Passages:
    """The responses without contexts, so that equal openers do not make pairs."""
    return to_passages(replace(passage, context=()) for passage in iterate(passages))


def mark_topics(cues: Sequence[Cue], piles: PilePair) -> list[Cue]:
    """Cues with a mark on those that may come from the topic, which go to the end.

    Words are a matter of the topic if the partners in the same pile use them in more dialogues than
    those in the other one (Fisher's exact test). Words that are frequent in many dialogues of both
    piles are style, even if partners take them over.
    """
    if not any(cue.kind in LEXICAL for cue in cues):
        return list(cues)
    common = common_words(piles)
    system, human = (_partners(side) for side in (piles.system, piles.human))
    marked = [replace(cue, topical=_is_topical(cue, system, human, common)) for cue in cues]
    return sorted(marked, key=lambda cue: cue.topical)


def _partners(passages: Passages) -> list[str]:
    """What the partners say in each dialogue, as words between blanks."""
    turns: dict[str, list[str]] = {}
    for passage in iterate(passages):
        text = partner_turn(passage)
        if text is not None:
            turns.setdefault(passage.dialogue_id, []).extend(lower_tokens(text))
    return [f" {' '.join(words)} " for words in turns.values()]


def _is_topical(
    cue: Cue, system: Sequence[str], human: Sequence[str], common: frozenset[str]
) -> bool:
    words = [word for word in cue.text.lower().split() if any(map(str.isalnum, word))]
    if cue.kind not in LEXICAL or common.issuperset(words):
        return False
    same, other = (system, human) if cue.side == "system" else (human, system)
    counts = [_having(cue.text, texts) for texts in (same, other)]
    table = [[counts[0], len(same) - counts[0]], [counts[1], len(other) - counts[1]]]
    return bool(fisher_exact(table, alternative="greater")[1] < ALPHA)


def _having(text: str, dialogues: Iterable[str]) -> int:
    return sum(f" {text.lower()} " in dialogue for dialogue in dialogues)
