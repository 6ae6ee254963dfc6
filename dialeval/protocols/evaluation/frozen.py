"""Evaluators that are not trained in a run: saved ones, and language models without training."""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from dialeval.dialogues import BadInput, Passage, Passages, to_passages
from dialeval.dialogues.splits import folds
from dialeval.dialogues.storage import iterate_passages
from dialeval.dialogues.types import text_key
from dialeval.protocols.evaluation.inputs import TRAINED_AGAINST
from dialeval.run_folder import RunFolder
from dialeval.scorers import Decision, load_scorer
from dialeval.scorers.seen import load_seen, passage_keys

logger = logging.getLogger(__name__)

ZERO_SHOT = "zero-shot"
CLASSIFIER = "hf"
"""Prefix of any text classifier of Hugging Face: `hf:NAME`, or `hf:NAME#LABEL` of humans."""
FALSE_POSITIVES = 0.05
"""Share of human responses below the threshold of an evaluator that has none of its own."""
_BY_HUMANS = "humans"  # how such a threshold was chosen
DIRECTION_ROWS = 200
WRONG_DIRECTION = 0.4
"""AUROC below which, for every system, the direction of an evaluator is in doubt."""
MANY_SEEN = 0.1
"""Share of human passages that an evaluator was trained on from which there is a warning; some
passages occur in every part of a corpus."""
_PAIRS = re.compile(r"(?:^|\|)pairs:(\d+)")


class FrozenScorer:
    """A scorer that is not retrained: higher is human, and no passage is scored twice.

    If the scorer gives humans low scores, scores and threshold change their sign.

    Args:
        scorer (`Scorer`):
            The scorer.
        name (`str`):
            Its name in tables.
        key (`str`, *optional*):
            A hash of its weights and settings; by default of its signature and fingerprints.
        seen (`np.ndarray`, *optional*):
            Keys of the human passages that it was trained on: see [`passage_keys`].
    """

    higher_is_human = True

    def __init__(self, scorer: Any, name: str, key: str = "", seen: np.ndarray | None = None):
        self.scorer, self.name, self.seen = scorer, name, seen
        self.key = key or text_key([scorer.signature, *sorted(fingerprints(scorer))])
        self.sign = 1.0 if scorer.higher_is_human else -1.0
        decision = scorer.decision
        self.decision = Decision(
            self.sign * decision.threshold, decision.chosen, decision.false_positive_rate
        )
        self._scores: dict[str, float] = {}

    @property
    def signature(self) -> str:
        """How its scores are computed."""
        return self.scorer.signature

    @property
    def n_train(self) -> int | None:
        """Number of pairs that it was trained on, if it is recorded."""
        training = getattr(self.scorer, "training", None) or {}
        match = _PAIRS.search(str(training.get("signature")))
        rows = getattr(self.scorer, "n", None)
        return int(match[1]) if match else rows // 2 if rows else None

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """The score of each passage, in their order."""
        keyed = [(_passage_key(passage), passage) for passage in iterate_passages(passages)]
        new = {key: passage for key, passage in keyed if key not in self._scores}
        if new:
            scores = np.asarray(self.scorer(to_passages(new.values())), dtype=float)
            self._scores.update(zip(new, (self.sign * scores).tolist(), strict=True))
        return np.array([self._scores[key] for key, _ in keyed])

    def check_seen(self, human: Passages) -> str:
        """A warning where the scorer was trained on these human passages, or `""`."""
        if self.seen is None or not len(self.seen):
            return ""
        seen = int(np.isin(passage_keys(human), self.seen).sum())
        if seen <= MANY_SEEN * len(human):
            return ""
        return (
            f"{self.name} was trained on {seen:,} of these {len(human):,} human passages, and may "
            "know them: its accuracy here does not carry over to new ones. Evaluate on others."
        )

    def check_direction(self, human: Passages, systems: Mapping[str, Passages], seed: int) -> str:
        """Whether the scorer gives humans lower scores than every system, on half of the dialogues.

        A classifier of others may mean something else by its labels. Nothing is chosen by this:
        its scores stay as they are.

        Args:
            human (`Passages`):
                Human responses.
            systems (`Mapping[str, Passages]`):
                Responses of systems, to the same contexts or to others.
            seed (`int`):
                Of the half.

        Returns:
            `str`: A warning, or `""`.
        """
        if not getattr(self.scorer, "checks_direction", False) or not systems:
            return ""
        human_scores = self._half(human, seed)
        values = []
        for answers in systems.values():
            difference = np.subtract.outer(human_scores, self._half(answers, seed))
            if not difference.size:
                return ""
            values.append(float((np.sign(difference).mean() + 1) / 2))
        if max(values) >= WRONG_DIRECTION:
            return ""
        areas = ", ".join(
            f"{name} {value:.2f}" for name, value in zip(systems, values, strict=True)
        )
        return (
            f"{self.name} gives human responses lower scores than those of every system (AUROC on "
            f"{len(human_scores)} of them: {areas}): it may mean another class by human. Check "
            "--human-label."
        )

    def _half(self, passages: Passages, seed: int) -> np.ndarray:
        """Scores of responses from one half of the dialogues."""
        return self(passages.select(np.flatnonzero(folds(passages, 2, seed) == 0)[:DIRECTION_ROWS]))

    def choose_threshold(self, human: Passages, folder: RunFolder, key: str) -> str:
        """Choose a threshold from human responses alone, if there is none yet.

        It does not depend on any system: 5 % of the human responses lie below.

        Args:
            human (`Passages`):
                Human responses.
            folder (`RunFolder`):
                Caches the threshold.
            key (`str`):
                Key in the cache.

        Returns:
            `str`: A warning if a threshold was chosen, else `""`.
        """
        if self.decision.chosen != "unset":
            return ""

        threshold, share, n = folder.cached_json(key, lambda: self._threshold_of(human))
        self.decision = Decision(threshold, _BY_HUMANS, share, n)
        return (
            f"{self.name} has no threshold of its own: the one used classifies {share:.1%} of the "
            "human responses as machine. AUROC needs no threshold."
        )

    def for_humans(self, human: Passages) -> "FrozenScorer":
        """The same scorer, with a threshold chosen from these humans if it has none of its own.

        Scores depend on what a scorer reads: with and without contexts they need other thresholds.
        """
        if self.decision.chosen not in ("unset", _BY_HUMANS) or not len(human):
            return self
        chosen = copy(self)  # it shares the scores
        threshold, share, n = self._threshold_of(human)
        chosen.decision = Decision(threshold, _BY_HUMANS, share, int(n))
        return chosen

    def _threshold_of(self, human: Passages) -> list[float]:
        """A threshold below which few human responses lie, their share, and their number."""
        scores = np.sort(self(human))
        threshold = float(scores[int(FALSE_POSITIVES * len(scores))])
        return [threshold, float((scores < threshold).mean()), len(scores)]


def load_frozen(name: str, where: str) -> FrozenScorer:
    """An evaluator from a folder, a name on the Hub, `zero-shot[:MEASURE[:MODEL]]` or `hf:NAME`."""
    kind, *rest = where.split(":", 2)
    if kind == CLASSIFIER:
        from dialeval.scorers.text_classifier import TextClassifierScorer

        model, _, label = where.partition(":")[2].partition("#")
        if not model:
            hint = "For example --evaluator hf:owner/detector --human-label human"
            raise BadInput("hf: needs the name of a text classifier.", hint=hint)
        return FrozenScorer(TextClassifierScorer.from_pretrained(model, label or None), name)
    if kind == ZERO_SHOT:
        from dialeval.scorers.zeroshot import ZeroShotScorer

        measure, model = [*rest, "", ""][:2]
        scorer = ZeroShotScorer.from_pretrained(model or "smollm2", measure or "fast-detectgpt")
        return FrozenScorer(scorer, name)
    scorer = load_scorer(where)
    key = text_key([scorer.signature, *sorted(fingerprints(scorer)), folder_hash(where)])
    return FrozenScorer(scorer, name, key, load_seen(_local_folder(where)))


def frozen_names(texts: Iterable[str], trainable: Iterable[str]) -> dict[str, str]:
    """The evaluators that are not trained here: name in tables -> folder or specification.

    Args:
        texts (`Iterable[str]`):
            Evaluators as given on the command line.
        trainable (`Iterable[str]`):
            Names of evaluators that are trained in a run.

    Returns:
        `dict[str, str]`: Without those that are trained.

    Raises:
        BadInput: A text is no folder, no name on the Hub and no language model, or two evaluators
            have the same name.
    """
    trainable = list(trainable)
    locations: dict[str, str] = {}
    for text in texts:
        if text in trainable:
            continue
        name, where = evaluator_name(text, trainable), text.partition("=")[2] or text
        if "=" not in text and not _is_location(text):
            choices = f"Choose from {', '.join(trainable)}, all"
            hint = f"{choices}; or name a saved one by its folder, or {ZERO_SHOT}."
            raise BadInput(f"Unknown evaluator {text!r}.", hint=hint)
        if not name or name in trainable or locations.get(name, where) != where:
            hint = "Give it another name: --evaluator mine=FOLDER"
            raise BadInput(f"a saved evaluator cannot be called {name!r} here.", hint=hint)
        locations[name] = where
    return locations


def with_human_label(texts: Sequence[str] | None, label: str | None) -> list[str] | None:
    """Evaluators as given, where every text classifier has a label of humans.

    Raises:
        BadInput: There is a label, but no text classifier.

    Examples:
        >>> with_human_label(["stack", "hf:owner/detector"], "Real")
        ['stack', 'hf:owner/detector#Real']
    """
    names = None if texts is None else list(texts)
    if label is None:
        return names
    is_classifier = [text.rpartition("=")[2].startswith(f"{CLASSIFIER}:") for text in names or ()]
    if not any(is_classifier):
        hint = "Give one: --evaluator hf:owner/name"
        raise BadInput("--human-label is for text classifiers, but there is none.", hint=hint)
    return [
        f"{text}#{label}" if classifier and "#" not in text else text
        for text, classifier in zip(names or (), is_classifier, strict=True)
    ]


def evaluator_name(text: str, trainable: Iterable[str]) -> str:
    """The name of an evaluator in tables: NAME of NAME=FOLDER, a folder's name, or the text.

    Examples:
        >>> evaluator_name("mine=runs/x", []), evaluator_name("svm-unigram", ["svm-unigram"])
        ('mine', 'svm-unigram')
    """
    name, sign, _ = text.partition("=")
    if sign or text in trainable:
        return name
    if text.startswith(f"{CLASSIFIER}:"):
        return text.partition("#")[0]
    name = Path(text).resolve().name if Path(text).is_dir() else text
    return f"{name} (saved)" if name in trainable else name


def warn_if_trained_against(generator_training: Mapping[str, Any] | None, scorer: Any) -> bool:
    """Whether a generator was trained against this very evaluator; logs a warning if so.

    The discriminator that gave the rewards and the evaluator must not share parameters (Li et
    al., 2017, sec. 4): the generator was optimised for the former.

    Args:
        generator_training (`Mapping`, *optional*):
            What `Generator.training` holds; `discriminator_fingerprint` is a text or a list.
        scorer (`Scorer`):
            The evaluator; scorers inside it count too, those without a fingerprint do not.
    """
    recorded = (generator_training or {}).get(TRAINED_AGAINST) or ()
    adversaries = {recorded} if isinstance(recorded, str) else set(recorded)
    if not adversaries & fingerprints(scorer):
        return False
    logger.warning("%s %s", getattr(scorer, "name", "This evaluator"), AGAINST)
    return True


AGAINST = (
    "is the discriminator that the generator was trained against, so its accuracy does not carry "
    "over to other evaluators. Evaluate with one that shares no parameters with it."
)


def fingerprints(scorer: Any) -> set[str]:
    """Fingerprints of a scorer, and of those whose numbers or vectors it uses."""
    inner = [getattr(scorer, name, None) for name in ("scorer", "represent", "first", "second")]
    inner += dict(getattr(scorer, "features", None) or {}).values()
    outer = getattr(scorer, "fingerprint", None)
    outermost = set() if outer is None else {outer}
    return outermost | {
        fingerprint for part in inner if part is not None for fingerprint in fingerprints(part)
    }


def _is_location(text: str) -> bool:
    return text.split(":")[0] in (ZERO_SHOT, CLASSIFIER) or "/" in text or Path(text).is_dir()


def _passage_key(passage: Passage) -> str:
    turns = (part for turn in passage.context for part in (turn.speaker, turn.text))
    return text_key([passage.id, passage.author, passage.response, *turns])


def folder_hash(where: str) -> str:
    """A hash of the files of a folder, or of a repository that was downloaded before."""
    folder = _local_folder(where)
    digest = blake2b(digest_size=8)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _local_folder(where: str) -> Path:
    """A folder, or that of a repository that was downloaded before."""
    if Path(where).is_dir():
        return Path(where)
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(where, local_files_only=True))
