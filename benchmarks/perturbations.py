"""Utterances a second of word-level strategies on one core, against nlpaug and TextAttack.

All ways edit the same utterances of the embedded corpus, given as one list, from text to text, the
best of several rounds. Ours also give the log of their edits; nlpaug is timed without its own, and
with it (`include_detail`) where it has one. It deletes our stop words alone by skipping all others
(`stopwords_regex`), and is timed at deleting any word, too, which asks less of it. nlpaug comes
with the `bench` extra. TextAttack clashes with our dependencies: give it an environment of its own
(`pip install torch textattack==0.3.11 nlpaug==1.1.11 'flair>=0.13' 'transformers<5' 'gensim>=4.3'`)
and name its Python in `DIALEVAL_TEXTATTACK_PYTHON`; what nlpaug can do there counts too. Synonyms
and antonyms need NLTK's WordNet and tagger (`NLTK_DATA`), swap and deletion its stop words. A way
that cannot run is left out by name.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

PYTHON = "DIALEVAL_TEXTATTACK_PYTHON"
OURS = {
    "swap": "random-swap",
    "stop-word delete": "stopword-dropout",
    "synonym": "data-paraphrase",
    "antonym": "antonym",
}
_SHARE = 0.25  # of the words, as in the paper's swaps
Way = Callable[[list[str]], object]
Speeds = dict[str, dict[str, float | str]]
"""Utterances a second, or why there are none, by way and strategy."""


def main(utterances: int = 8_000, of_peers: int = 200) -> dict[str, float]:
    """Print utterances a second, and how many times as fast ours are."""
    from rich.console import Console
    from rich.table import Table

    from dialeval.perturbations.lexicon import keep_words, stop_words

    texts, stops = _utterances(utterances), sorted(stop_words() - keep_words())
    ours = {name: _speed(way, texts) for name, way in _our_ways().items()}
    asked = {"texts": texts[:of_peers], "stops": stops}
    found = {**_peers(**asked), **_elsewhere(asked)}
    table = Table("strategy", "way", "utterances/s", "dialeval is so many times as fast")
    ratios = {}
    for name, speed in ours.items():
        table.add_row(name, "dialeval", f"{speed:,.0f}", "1.0")
        for peer, speeds in found.items():
            theirs = speeds.get(name)
            if theirs is None:  # not a thing it does: TextAttack has no antonyms
                continue
            if isinstance(theirs, str):
                table.add_row(name, peer, f"left out: {theirs}", "")
                continue
            ratios[f"{name}, {peer}"] = speed / theirs
            table.add_row(name, peer, f"{theirs:,.0f}", f"{speed / theirs:.1f}")
        table.add_section()
    Console().print(table)
    return ratios


def _utterances(most: int) -> list[str]:
    """Turns of the embedded corpus that have words."""
    from dialeval.dialogues import iterate, read

    passages, _ = read("chitchat")
    chosen = passages.select(range(0, len(passages), max(1, len(passages) // most)))
    texts = (each.context[-1].text for each in iterate(chosen) if each.context)
    return [text for text in texts if len(text.split()) > 3][:most]


def _speed(way: Way, texts: Sequence[str], seconds: float = 2.0) -> float:
    """Utterances a second in the best of the rounds that fit into the time, but of two at least.

    What is loaded at the first call does not count.
    """
    way(list(texts[:1]))
    took: list[float] = []
    while len(took) < 2 or sum(took) < seconds:
        start = time.process_time()  # of one core, whatever else the machine does
        way(list(texts))
        took.append(time.process_time() - start)
    return len(texts) / min(took)


def _our_ways() -> dict[str, Way]:
    from dialeval.perturbations import perturbation
    from dialeval.perturbations.apply import seeds_of

    turns = [(f"passage-{at}", 0) for at in range(100_000)]

    def way(name: str) -> Way:
        strategy = perturbation(name)

        def run(texts: list[str]) -> object:
            return strategy.apply(texts, seeds_of(0, name, turns[: len(texts)]))

        return run

    return {kind: way(name) for kind, name in OURS.items()}


def _peers(texts: Sequence[str], stops: Sequence[str]) -> Speeds:
    """Speeds of what is installed beside the Python that runs this."""
    makers = {
        "nlpaug": _nlpaug,
        "nlpaug with its log": _nlpaug_log,
        "nlpaug, any word": _nlpaug_any,
        "TextAttack": _textattack,
    }
    found: Speeds = {}
    for peer, make in makers.items():
        try:
            ways = make(stops)
        except ImportError as error:
            missing = f"{error.name or error} is not installed (extra `bench`, or {PYTHON})"
            found[peer] = dict.fromkeys(OURS, missing)
            continue
        found[peer] = {name: _tried(way, texts) for name, way in ways.items()}
    return found


def _tried(way: Callable[[], Way], texts: Sequence[str]) -> float | str:
    """The speed of a way that may lack its data."""
    try:
        return _speed(way(), texts)
    except LookupError:  # NLTK's
        return "NLTK's data is not there (NLTK_DATA)"
    except Exception as error:  # a peer's own trouble must not end the run
        return f"{type(error).__name__}: {error}"[:80]


def _nlpaug(stops: Sequence[str]) -> Mapping[str, Callable[[], Way]]:
    import nlpaug.augmenter.word as naw

    return {
        "swap": lambda: naw.RandomWordAug(action="swap", aug_p=_SHARE).augment,
        "stop-word delete": lambda: _deletion(stops).augment,
        "synonym": lambda: naw.SynonymAug(aug_src="wordnet").augment,
        "antonym": lambda: naw.AntonymAug().augment,
    }


def _deletion(stops: Sequence[str]) -> Any:
    """nlpaug's random deletion of stop words alone: it matches words with blanks around, too."""
    import nlpaug.augmenter.word as naw

    others = rf"^(?! ?(?:{'|'.join(map(re.escape, stops))}) ?$)"
    return naw.RandomWordAug(action="delete", aug_p=_SHARE, stopwords_regex=others)


def _nlpaug_log(stops: Sequence[str]) -> Mapping[str, Callable[[], Way]]:
    import nlpaug.augmenter.word as naw

    def way(found: Any) -> Way:
        found.include_detail = True
        return found.augment

    return {
        "swap": lambda: way(naw.RandomWordAug(action="swap", aug_p=_SHARE)),
        "stop-word delete": lambda: way(_deletion(stops)),
    }


def _nlpaug_any(stops: Sequence[str]) -> Mapping[str, Callable[[], Way]]:
    import nlpaug.augmenter.word as naw

    return {"stop-word delete": lambda: naw.RandomWordAug(action="delete", aug_p=_SHARE).augment}


def _textattack(stops: Sequence[str]) -> Mapping[str, Callable[[], Way]]:
    from textattack.augmentation.recipes import (
        DeletionAugmenter,
        SwapAugmenter,
        WordNetAugmenter,
    )

    share = {"pct_words_to_swap": _SHARE, "transformations_per_example": 1}
    return {
        "swap": lambda: SwapAugmenter(**share).augment_many,
        "stop-word delete": lambda: DeletionAugmenter(**share).augment_many,
        "synonym": lambda: WordNetAugmenter(**share).augment_many,
    }


def _elsewhere(what: Mapping[str, Sequence[str]]) -> Speeds:
    """Speeds in the environment that was named for TextAttack, timed inside it."""
    python = os.environ.get(PYTHON)
    if not python:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        asked, told = Path(folder) / "texts.json", Path(folder) / "speeds.json"
        asked.write_text(json.dumps(what), encoding="utf-8")
        subprocess.run([python, __file__, "--peers", str(asked), str(told)], check=True)
        found = json.loads(told.read_text(encoding="utf-8"))
    return {
        peer: speeds
        for peer, speeds in found.items()
        if any(isinstance(speed, float) for speed in speeds.values())
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peers"]:
        speeds = _peers(**json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")))
        Path(sys.argv[3]).write_text(json.dumps(speeds), encoding="utf-8")
    else:
        main()
