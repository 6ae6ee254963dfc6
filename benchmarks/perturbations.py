"""Utterances per second of word-level strategies on one core, against nlpaug and TextAttack.

All ways edit the same utterances of the embedded corpus, given as one list, from text to text, the
best of several rounds. dialeval also returns the log of its edits; nlpaug is timed without its log,
and with it (`include_detail`) where it has one. It deletes only dialeval's stop words by skipping
all others (`stopwords_regex`), and is also timed at deleting any word, which is less work. nlpaug
is in the `bench` extra. TextAttack conflicts with our dependencies: install it separately
(`pip install torch textattack==0.3.11 nlpaug==1.1.11 'flair>=0.13' 'transformers<5' 'gensim>=4.3'`)
and set `DIALEVAL_TEXTATTACK_PYTHON` to its Python; nlpaug is also timed there. Synonyms and
antonyms need NLTK's WordNet and tagger (`NLTK_DATA`), swap and deletion its stop words. The table
says which ways could not run.
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
STRATEGIES = {
    "swap": "random-swap",
    "stop-word delete": "stopword-dropout",
    "synonym": "data-paraphrase",
    "antonym": "antonym",
}
_SHARE = 0.25  # of the words, as in the paper's swaps
Way = Callable[[list[str]], object]
Speeds = dict[str, dict[str, float | str]]
"""Utterances per second, or why there are none, by way and strategy."""


def main(utterances: int = 8_000, of_peers: int = 200) -> dict[str, float]:
    """Print utterances per second, and the speed-up of dialeval over each peer."""
    from rich.console import Console
    from rich.table import Table

    from dialeval.perturbations.lexicon import keep_words, stop_words

    texts, stops = _utterances(utterances), sorted(stop_words() - keep_words())
    speeds_dialeval = {name: _speed(way, texts) for name, way in _dialeval_ways().items()}
    inputs = {"texts": texts[:of_peers], "stops": stops}
    peers = {**_peers(**inputs), **_textattack_environment(inputs)}
    table = Table("strategy", "way", "utterances/s", "speed-up of dialeval")
    ratios = {}
    for name, speed in speeds_dialeval.items():
        table.add_row(name, "dialeval", f"{speed:,.0f}", "1.0")
        for peer, speeds in peers.items():
            peer_speed = speeds.get(name)
            if peer_speed is None:  # not supported: TextAttack has no antonyms
                continue
            if isinstance(peer_speed, str):
                table.add_row(name, peer, f"skipped: {peer_speed}", "")
                continue
            ratios[f"{name}, {peer}"] = speed / peer_speed
            table.add_row(name, peer, f"{peer_speed:,.0f}", f"{speed / peer_speed:.1f}")
        table.add_section()
    Console().print(table)
    return ratios


def _utterances(most: int) -> list[str]:
    """Turns of the embedded corpus that have words."""
    from dialeval.dialogues import iterate, read

    passages, _ = read("chitchat")
    chosen = passages.select(range(0, len(passages), max(1, len(passages) // most)))
    texts = (passage.context[-1].text for passage in iterate(chosen) if passage.context)
    return [text for text in texts if len(text.split()) > 3][:most]


def _speed(way: Way, texts: Sequence[str], seconds: float = 2.0) -> float:
    """Utterances per second in the best of the rounds that fit into the time, at least two.

    Loading at the first call does not count.
    """
    way(list(texts[:1]))
    took: list[float] = []
    while len(took) < 2 or sum(took) < seconds:
        start = time.process_time()  # independent of other load on the machine
        way(list(texts))
        took.append(time.process_time() - start)
    return len(texts) / min(took)


def _dialeval_ways() -> dict[str, Way]:
    from dialeval.perturbations import perturbation
    from dialeval.perturbations.apply import seeds_of

    turns = [(f"passage-{at}", 0) for at in range(100_000)]

    def way(name: str) -> Way:
        strategy = perturbation(name)

        def run(texts: list[str]) -> object:
            return strategy.apply(texts, seeds_of(0, name, turns[: len(texts)]))

        return run

    return {kind: way(name) for kind, name in STRATEGIES.items()}


def _peers(texts: Sequence[str], stops: Sequence[str]) -> Speeds:
    """Speeds of the peers installed in this environment."""
    makers = {
        "nlpaug": _nlpaug,
        "nlpaug with its log": _nlpaug_log,
        "nlpaug, any word": _nlpaug_any,
        "TextAttack": _textattack,
    }
    speeds: Speeds = {}
    for peer, make in makers.items():
        try:
            ways = make(stops)
        except ImportError as error:
            missing = f"{error.name or error} is not installed (extra `bench`, or {PYTHON})"
            speeds[peer] = dict.fromkeys(STRATEGIES, missing)
            continue
        speeds[peer] = {name: _try_speed(way, texts) for name, way in ways.items()}
    return speeds


def _try_speed(way: Callable[[], Way], texts: Sequence[str]) -> float | str:
    """The speed of a way, or why it could not run."""
    try:
        return _speed(way(), texts)
    except LookupError:  # NLTK's
        return "NLTK's data is not there (NLTK_DATA)"
    except Exception as error:  # an error in a peer must not end the run
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
    """nlpaug's random deletion of stop words only; it also matches words with spaces around."""
    import nlpaug.augmenter.word as naw

    others = rf"^(?! ?(?:{'|'.join(map(re.escape, stops))}) ?$)"
    return naw.RandomWordAug(action="delete", aug_p=_SHARE, stopwords_regex=others)


def _nlpaug_log(stops: Sequence[str]) -> Mapping[str, Callable[[], Way]]:
    import nlpaug.augmenter.word as naw

    def way(augmenter: Any) -> Way:
        augmenter.include_detail = True
        return augmenter.augment

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


def _textattack_environment(inputs: Mapping[str, Sequence[str]]) -> Speeds:
    """Speeds in the environment with TextAttack, measured inside it."""
    python = os.environ.get(PYTHON)
    if not python:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        input_path, output_path = Path(folder) / "texts.json", Path(folder) / "speeds.json"
        input_path.write_text(json.dumps(inputs), encoding="utf-8")
        subprocess.run([python, __file__, "--peers", str(input_path), str(output_path)], check=True)
        measured = json.loads(output_path.read_text(encoding="utf-8"))
    return {
        peer: speeds
        for peer, speeds in measured.items()
        if any(isinstance(speed, float) for speed in speeds.values())
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peers"]:
        speeds = _peers(**json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")))
        Path(sys.argv[3]).write_text(json.dumps(speeds), encoding="utf-8")
    else:
        main()
