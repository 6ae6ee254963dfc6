"""Test questions that are made automatically: they catch annotators who do not read."""

import random
from collections.abc import Collection, Sequence
from dataclasses import replace

from dialeval.dialogues import Passage
from dialeval.dialogues.tokens import tokens
from dialeval.judgements.items import Item
from dialeval.perturbations.lexicon import stop_words
from dialeval.protocols.people.sampling import HUMAN, RANDOM, AnnotationData, item_of

MIN_WORDS = 5
"""Different words of a reply below which shuffling them may leave a sentence."""
GOOD_LENGTHS = range(8, 31)
"""Words of preferred replies: enough to see that they are shuffled, and not too many to read."""
MIN_SHARED = 2
"""Content words that a real reply has to share with its context, so that its answer is clear."""


def attention_checks(
    data: AnnotationData,
    task: str,
    count: int = 10,
    seed: int = 0,
    used: Collection[str] = (),
) -> list[Item]:
    """Test questions with an obvious answer, as many of one answer as of the other.

    A reply whose words are shuffled is not the human's. In the task `real`, every second question
    is a real reply, of those that share most content words with their context; otherwise the
    answer "fake" to everything would pass. Fewer are made where the data have too few such
    replies. Give questions that were chosen by hand for a real control, as Bruni and Fernández
    (2017) had.

    Args:
        data (`AnnotationData`):
            Passages to make them from.
        task (`str`):
            `real`, `human` or `better`; ratings have no right answer.
        count (`int`, *optional*, defaults to 10):
            How many at most.
        seed (`int`, *optional*, defaults to 0):
            Seed of the sample.
        used (`Collection[str]`, *optional*):
            Ids of passages that items are about; their real replies are not shown a second time.

    Returns:
        `list[Item]`: Marked as test questions.
    """
    if task == "rating":
        return []
    rng = random.Random(f"checks {seed}")
    real = _clear_replies(data.passages, count // 2, set(used), rng) if task == "real" else []
    taken = {passage.id for passage in real}
    left = [row for row in data.passages if row.id not in taken]
    wanted = count - count // 2 if task == "real" else count
    long = _suitable(left, wanted)
    shuffled = rng.sample(long, min(wanted, len(long)))
    checks = [item_of(row, [(HUMAN, row.response)], "real", seed, "check") for row in real]
    for passage in shuffled:
        scrambled = (RANDOM, _shuffled_words(passage.response, rng))
        pair = [scrambled] if task == "real" else [scrambled, (HUMAN, passage.response)]
        checks.append(item_of(passage, pair, "fake" if task == "real" else "lose", seed, "check"))
    return [replace(item, test=True) for item in checks]


def _clear_replies(
    passages: Sequence[Passage], count: int, used: set[str], rng: random.Random
) -> list[Passage]:
    """Real replies that obviously belong to their contexts, drawn from the clearest ones."""
    free = [row for row in passages if row.id not in used and _shared_words(row) >= MIN_SHARED]
    clearest = sorted(_suitable(free, count), key=_shared_words, reverse=True)[: 4 * count]
    return rng.sample(clearest, min(count, len(clearest)))


def _suitable(passages: Sequence[Passage], count: int) -> list[Passage]:
    """Replies of a good length; where they are too few, all that are not too short."""
    good = [row for row in passages if len(set(row.response.split())) >= GOOD_LENGTHS.start]
    good = [row for row in good if len(row.response.split()) in GOOD_LENGTHS]
    if len(good) >= count:
        return good
    return [row for row in passages if len(set(row.response.split())) >= MIN_WORDS]


def _shared_words(passage: Passage) -> int:
    """Content words that a reply and its context have in common; 0 where it repeats a turn."""
    reply = {word.lower() for word in tokens(passage.response)}
    if any(reply <= {word.lower() for word in tokens(turn.text)} for turn in passage.context):
        return 0
    before = {word.lower() for turn in passage.context for word in tokens(turn.text)}
    return sum(len(word) > 2 and word not in stop_words() for word in reply & before)


def _shuffled_words(text: str, rng: random.Random) -> str:
    words = text.split()
    shuffled = words
    while shuffled == words:
        shuffled = rng.sample(words, len(words))
    return " ".join(shuffled)
