"""Judges that are applied as they are: saved ones, and language models that were never trained."""

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from dialeval.dialogues import BadInput, Passage, Passages, atomic_write, to_passages
from dialeval.dialogues.storage import iterate_passages
from dialeval.dialogues.types import text_key
from dialeval.protocols.evaluation.inputs import TRAINED_AGAINST
from dialeval.scorers import Decision, load_scorer

logger = logging.getLogger(__name__)

ZERO_SHOT = "zero-shot"
ACCUSED = 0.05
"""Share of humans below the threshold of a judge that brings none along."""
_PAIRS = re.compile(r"(?:^|\|)pairs:(\d+)")


class FrozenScorer:
    """A scorer that is not retrained: higher is human, and no passage is read twice.

    Scores that are low for humans change their sign, and so does the threshold.

    Args:
        name (`str`):
            What tables call it.
        key (`str`, *optional*):
            A name for its weights and settings; by default by its signature and fingerprints.
    """

    higher_is_human = True

    def __init__(self, scorer: Any, name: str, key: str = ""):
        self.scorer, self.name = scorer, name
        self.key = key or text_key([scorer.signature, *sorted(fingerprints(scorer))])
        self.sign = 1.0 if scorer.higher_is_human else -1.0
        own = scorer.decision
        self.decision = Decision(self.sign * own.threshold, own.chosen, own.false_positive_rate)
        self._known: dict[str, float] = {}

    @property
    def signature(self) -> str:
        """How its numbers are made."""
        return self.scorer.signature

    @property
    def trained_on(self) -> int | None:
        """Pairs that it was trained on, where it says so."""
        told = _PAIRS.search(str((getattr(self.scorer, "training", None) or {}).get("signature")))
        rows = getattr(self.scorer, "n", None)
        return int(told[1]) if told else rows // 2 if rows else None

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """The score of each passage, in their order."""
        asked = [(_key(each), each) for each in iterate_passages(passages)]
        new = {key: each for key, each in asked if key not in self._known}
        if new:
            scores = np.asarray(self.scorer(to_passages(new.values())), dtype=float)
            self._known.update(zip(new, (self.sign * scores).tolist(), strict=True))
        return np.array([self._known[key] for key, _ in asked])

    def decide(self, human: Passages, path: Path) -> str:
        """Choose a threshold by human responses alone where there is none yet; says so if it did.

        No system moves it: one in twenty human responses lies below. `path` remembers it.
        """
        if self.decision.chosen != "unset":
            return ""
        if not path.is_file():
            scores = np.sort(self(human))
            threshold = float(scores[int(ACCUSED * len(scores))])
            with atomic_write(path) as file:
                json.dump([threshold, float((scores < threshold).mean()), len(scores)], file)
        threshold, accused, n = json.loads(path.read_text("utf-8"))
        self.decision = Decision(threshold, "humans", accused, n)
        return (
            f"{self.name} has no threshold of its own: the one used takes {accused:.1%} of the "
            "human responses for machines. AUROC needs none."
        )


def load_frozen(name: str, where: str) -> FrozenScorer:
    """A judge by a folder, a name on the Hub, or `zero-shot[:MEASURE[:MODEL]]`."""
    kind, *rest = where.split(":", 2)
    if kind == ZERO_SHOT:
        from dialeval.scorers.zeroshot import ZeroShotScorer

        measure, model = [*rest, "", ""][:2]
        scorer = ZeroShotScorer.from_pretrained(model or "smollm2", measure or "fast-detectgpt")
        return FrozenScorer(scorer, name)
    scorer = load_scorer(where)
    content = _content(where)
    return FrozenScorer(
        scorer, name, text_key([scorer.signature, *sorted(fingerprints(scorer)), content])
    )


def frozen_names(texts: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """The judges that are not `known` ones to be trained, by their name, and where they are.

    Raises:
        BadInput: For a name that is no folder, no name on the Hub and no language model, and where
            two judges have one name.
    """
    known, found = list(known), {}
    for text in texts:
        if text in known:
            continue
        name, where = evaluator_name(text, known), text.partition("=")[2] or text
        if "=" not in text and not _is_place(text):
            choices = f"Choose from {', '.join(known)}, all"
            hint = f"{choices}; or name a saved one by its folder, or {ZERO_SHOT}."
            raise BadInput(f"Unknown evaluator {text!r}.", hint=hint)
        if not name or name in known or found.get(name, where) != where:
            hint = "Give it a name of its own: --evaluator mine=FOLDER"
            raise BadInput(f"a saved evaluator cannot be called {name!r} here.", hint=hint)
        found[name] = where
    return found


def evaluator_name(text: str, known: Iterable[str]) -> str:
    """What tables call an evaluator: NAME of NAME=FOLDER, a folder's own name, or the text.

    Example:
        >>> evaluator_name("mine=runs/x", []), evaluator_name("svm-unigram", ["svm-unigram"])
        ('mine', 'svm-unigram')
    """
    name, sign, _ = text.partition("=")
    if sign or text in known:
        return name
    name = Path(text).resolve().name if Path(text).is_dir() else text
    return f"{name} (saved)" if name in known else name


def warn_if_trained_against(generator_training: Mapping[str, Any] | None, scorer: Any) -> bool:
    """Whether a generator was trained against this very judge; a warning is logged if so.

    The discriminator that gave the rewards and the evaluator share no parameters (Li et al.,
    2017, sec. 4): a generator has learnt what pleases the former.

    Args:
        generator_training (`Mapping`, *optional*):
            What `Generator.training` holds; `discriminator_fingerprint` is a text or a list.
        scorer (`Scorer`):
            The evaluator; those inside it count too. One without a fingerprint is no such judge.
    """
    told = (generator_training or {}).get(TRAINED_AGAINST) or ()
    known = {told} if isinstance(told, str) else set(told)
    if not known & fingerprints(scorer):
        return False
    logger.warning("%s %s", getattr(scorer, "name", "This evaluator"), AGAINST)
    return True


AGAINST = (
    "is the discriminator that the generator was trained against, so that its accuracy says "
    "nothing about other judges. Evaluate with one that shares no parameters with it."
)


def fingerprints(scorer: Any) -> set[str]:
    """Of a scorer, and of those whose numbers or vectors it uses."""
    inside = [getattr(scorer, name, None) for name in ("scorer", "represent", "first", "second")]
    inside += dict(getattr(scorer, "features", None) or {}).values()
    own = getattr(scorer, "fingerprint", None)
    return {own} - {None} | {
        each for one in inside if one is not None for each in fingerprints(one)
    }


def _is_place(text: str) -> bool:
    return text.split(":")[0] == ZERO_SHOT or "/" in text or Path(text).is_dir()


def _key(passage: Passage) -> str:
    turns = (part for turn in passage.context for part in (turn.speaker, turn.text))
    return text_key([passage.id, passage.author, passage.response, *turns])


def _content(where: str) -> str:
    """A name for what stands in the folder of a saved judge."""
    if Path(where).is_dir():
        folder = Path(where)
    else:
        from huggingface_hub import snapshot_download

        folder = Path(snapshot_download(where, local_files_only=True))
    found = blake2b(digest_size=8)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        found.update(path.relative_to(folder).as_posix().encode())
        found.update(path.read_bytes())
    return found.hexdigest()
