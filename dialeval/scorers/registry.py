"""Evaluators by name: how each is fitted to pairs, and which class reads a saved one."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dialeval.errors import BadInput
from dialeval.registry import Entry, Registry, import_object, is_object_spec
from dialeval.settings.evaluators import (
    RECURRENT_SETTINGS,
    SVM_FEATURES_SETTINGS,
    TRANSFORMER_SETTINGS,
    ZERO_SHOT_SETTINGS,
)

if TYPE_CHECKING:
    from dialeval.dialogues import Passages
    from dialeval.scorers.base import Scorer
    from dialeval.scorers.fitting import FitContext

logger = logging.getLogger(__name__)

Fit = Callable[["Passages", int, "FitContext"], "Scorer"]
"""Takes labelled pairs, a seed and what evaluators share; returns the fitted evaluator."""

GROUP = "dialeval.evaluators"
CONTEXT_FAMILIES = (
    "vectors", "crossed", "matching", "contrast", "affinity", "bilinear", "flow", "style",
)  # fmt: skip
"""Features of the evaluator `context`: see `scorers/families.py`."""
NETWORK = "dialeval.training.fitting:fit_network"
"""Fit function of all evaluators that are trained in steps."""
_FITTING = "dialeval.scorers.fitting"
_TORCH = ("torch", "transformers")
_NONE: frozenset[str] = frozenset()
_RECURRENT = {"optimizer": "adam", "learning_rate": 1e-3, "batch_size": 32, "epochs": 6}
_PRETRAINED = {
    "optimizer": "adamw", "learning_rate": 1e-4, "batch_size": 16, "epochs": 3,
    "schedule": "linear", "warmup_steps": 20, "max_grad_norm": 1.0,
}  # fmt: skip


def _network(name: str, summary: str, **options: Any) -> Entry:
    """An evaluator that is a network, with settings that are fast enough on two CPU cores."""
    settings = {"name": name, "model": name, **options}
    is_transformer = settings["model"] == "transformer"
    takes = TRANSFORMER_SETTINGS if is_transformer else RECURRENT_SETTINGS
    return Entry(name, NETWORK, summary, settings, requires=_TORCH, takes=takes)


EVALUATORS = Registry(
    "evaluator",
    GROUP,
    [
        Entry(
            "svm-unigram", f"{_FITTING}:fit_svm",
            "Support vector machine on the words of context and response (Li et al., 2017).",
            {"name": "svm-unigram"}, takes=_NONE,
        ),
        Entry(
            "svm-response", f"{_FITTING}:fit_svm",
            "Support vector machine on the words of the response alone.",
            {"name": "svm-response", "use_context": False}, takes=_NONE,
        ),
        Entry(
            "svm-features", "dialeval.training.fitting:fit_svm_features",
            "Support vector machine on words, a network's features and likelihoods.",
            requires=_TORCH, takes=SVM_FEATURES_SETTINGS,
        ),
        Entry(
            "embedding", f"{_FITTING}:fit_embedding",
            "Logistic regression on sentence vectors of context and response.",
            requires=_TORCH, takes=_NONE,
        ),
        Entry(
            "stack", f"{_FITTING}:fit_stack",
            "Cased n-grams, sentence vectors and words of context and response, stacked.",
            requires=_TORCH, takes=_NONE,
        ),
        Entry(
            "stack+lm", f"{_FITTING}:fit_stack",
            "The stack and a language model's likelihoods; about one response a second on a core.",
            {"name": "stack+lm", "families": ("ngrams", *CONTEXT_FAMILIES, "likelihood")},
            requires=_TORCH, takes=_NONE,
        ),
        Entry(
            "surface", f"{_FITTING}:fit_stack",
            "Cased word and character n-grams of the response alone.",
            {"name": "surface", "families": ("ngrams",)}, takes=_NONE,
        ),
        Entry(
            "context", f"{_FITTING}:fit_stack",
            "The stack without n-grams: whether the response answers the context.",
            {"name": "context", "families": CONTEXT_FAMILIES},
            requires=_TORCH, takes=_NONE,
        ),
        _network("hierarchical", "LSTM over turns (Li et al., 2017).", **_RECURRENT),
        _network("concat", "LSTM per turn, vectors side by side (Li et al., 2017).", **_RECURRENT),
        _network("attention", "LSTM with attention (Bruni and Fernández, 2017).", **_RECURRENT),
        _network("rnn", "One LSTM over all text (Kannan and Vinyals, 2016).", **_RECURRENT),
        _network(
            "minilm", "MiniLM, a small pretrained encoder, fine-tuned.",
            **{"model": "transformer", "backbone": "minilm", **_PRETRAINED},
        ),
        _network(
            "transformer", "A pretrained encoder or decoder, fine-tuned; MiniLM by default.",
            **_PRETRAINED,
        ),
        Entry(
            "length", f"{_FITTING}:fit_length",
            "Baseline: logistic regression on the length of the response alone.", takes=_NONE,
        ),
        Entry("coin", f"{_FITTING}:fit_coin", "Baseline: a random guess.", takes=_NONE),
        Entry(
            "zero-shot", f"{_FITTING}:fit_zero_shot",
            "A language model's likelihood measure, not trained: zero-shot[:MEASURE[:MODEL]].",
            requires=_TORCH, takes=ZERO_SHOT_SETTINGS,
        ),
    ],
)  # fmt: skip
"""Every evaluator that `--evaluator` and `dialeval train --model` accept by name."""

DEFAULT_EVALUATORS = ("stack", "surface")
ALL_EVALUATORS = (
    "stack", "surface", "svm-unigram", "embedding", "hierarchical", "concat", "attention", "rnn",
    "minilm",
)  # fmt: skip
"""What `--evaluator all` stands for; variants of these, such as svm-response, have to be named."""
ENCODER_PREFIX = "embedding:"
"""`embedding:ENCODER` is the evaluator `embedding` with another sentence encoder."""
FROZEN = ("zero-shot",)
"""Evaluators that an evaluation applies without fitting them to its pairs."""

SCORER_KINDS = {
    "neural": "dialeval.scorers.neural:NeuralScorer",
    "svm": "dialeval.scorers.linear:SvmScorer",
    "length": "dialeval.scorers.baselines:LengthScorer",
    "constant": "dialeval.scorers.baselines:ConstantScorer",
    "coin": "dialeval.scorers.baselines:CoinScorer",
    "response-only": "dialeval.scorers.baselines:ResponseOnlyScorer",
    "shuffled-context": "dialeval.scorers.baselines:ShuffledContextScorer",
    "embedding": "dialeval.scorers.embedding:EmbeddingScorer",
    "joint": "dialeval.scorers.joint:JointScorer",
    "stack": "dialeval.scorers.stack:StackScorer",
    "zero-shot": "dialeval.scorers.zeroshot:ZeroShotScorer",
    "text-classifier": "dialeval.scorers.text_classifier:TextClassifierScorer",
}
"""Class of each `kind` in a saved scorer's settings."""


def fit_function(spec: str, **options: Any) -> Fit:
    """The function that fits an evaluator to labelled pairs.

    Args:
        spec (`str`):
            A registered name, or `package.module:object`: a function with the parameters of `Fit`,
            or a class with a class method `fit(pairs, *, seed=0)`.
        options:
            Settings that replace those of the registry; those that the target does not take are
            ignored.

    Returns:
        `Callable`: From pairs, seed and [`FitContext`] to the fitted `Scorer`.

    Raises:
        BadInput: The name is unknown, or the object cannot be fitted.
    """
    if spec.startswith(ENCODER_PREFIX):
        options = {**options, "encoder": spec.removeprefix(ENCODER_PREFIX), "name": spec}
    entry = EVALUATORS.find("embedding" if spec.startswith(ENCODER_PREFIX) else spec)
    target = entry.load()
    if isinstance(target, type):
        return partial(_fit_class, target, spec, _accepted(_fit_method(target, spec), options))
    if not callable(target):
        raise BadInput(f"{entry.target} is neither a class nor a function.", hint=_PLUGIN_HINT)
    return partial(_fit_with, target, {**entry.options, **_accepted(target, options)})


_PLUGIN_HINT = (
    "An evaluator is a class with a class method fit(pairs, *, seed=0): see docs/plugins.md."
)


def _fit_with(
    fit: Callable[..., "Scorer"],
    options: Mapping[str, Any],
    pairs: "Passages",
    seed: int,
    context: "FitContext",
) -> "Scorer":
    return fit(pairs, seed, context, **options)


def fit_each(
    fit: Fit, parts: Sequence["Passages"], seed: int, context: "FitContext"
) -> Iterator["Scorer"]:
    """An evaluator for each of several training sets, such as the folds of a cross-fit.

    A fit function may have an attribute `together`, a function that takes all training sets: what
    they share is then computed once. Otherwise one is fitted after the other, when it is needed.

    Args:
        fit (`Callable`):
            What [`fit_function`] returned.
        parts (`Sequence[Passages]`):
            Labelled pairs of each.
        seed (`int`):
            Seed of the evaluators.
        context (`FitContext`):
            What evaluators share.

    Returns:
        `Iterator[Scorer]`: In the order of the training sets.
    """
    if isinstance(fit, partial) and fit.func is _fit_with and hasattr(fit.args[0], "together"):
        target, options = fit.args
        return iter(target.together(parts, seed, context, **options))
    return (fit(pairs, seed, context) for pairs in parts)


def _fit_class(
    scorer_class: type,
    spec: str,
    options: Mapping[str, Any],
    pairs: "Passages",
    seed: int,
    context: "FitContext",
) -> "Scorer":
    scorer = _fit_method(scorer_class, spec)(pairs, seed=seed, **options)
    required = ("name", "higher_is_human", "decision", "signature")
    missing = [name for name in required if not hasattr(scorer, name)]
    if missing or not callable(scorer):
        lacks = ", ".join(missing or ["__call__"])
        raise BadInput(f"the evaluator {spec!r} is no Scorer: it lacks {lacks}.", hint=_PLUGIN_HINT)
    return cast("Scorer", scorer)


def _fit_method(scorer_class: type, spec: str) -> Callable[..., Any]:
    method = getattr(scorer_class, "fit", None)
    if not callable(method):
        raise BadInput(f"the evaluator {spec!r} has no method `fit`.", hint=_PLUGIN_HINT)
    return method


def _accepted(target: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a function has a named parameter for."""
    named = {
        name
        for name, parameter in signature(target).parameters.items()
        if parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    }
    return {name: value for name, value in options.items() if name in named}


def fitted_names(specs: Iterable[str] = ()) -> list[str]:
    """Evaluators that an evaluation fits to its pairs: registered ones, and `module:Class` specs.

    Examples:
        >>> "zero-shot" in fitted_names(), fitted_names(["mine:Mine"])[-1]
        (False, 'mine:Mine')
    """
    names = [name for name in EVALUATORS if name not in FROZEN]
    return [*names, *(spec for spec in specs if _is_open(spec) and spec not in names)]


def _is_open(spec: str) -> bool:
    """Whether a specification is fitted, though it is not registered."""
    return is_object_spec(spec) or (
        spec.startswith(ENCODER_PREFIX) and len(spec) > len(ENCODER_PREFIX)
    )


def scorer_class(kind: str | None, path: Path | str = "") -> Any:
    """The class that loads a saved scorer of a kind.

    Other kinds than dialeval's are looked up among the classes that installed packages register;
    a class path in a saved folder is never imported.

    Args:
        kind (`str`, *optional*):
            The `kind` in the folder's settings.
        path (`Path` or `str`, *optional*):
            The settings file, for the error message.

    Returns:
        `type`: A class with a class method `load(folder, settings, **options)`.

    Raises:
        BadInput: No installed class has this kind.
    """
    if kind in SCORER_KINDS:
        return import_object(SCORER_KINDS[kind], "dialeval")
    foreign = {cls.kind: cls for cls in _foreign_classes()}
    if kind not in foreign:
        known = ", ".join([*SCORER_KINDS, *foreign])
        raise BadInput(
            f"unknown kind of scorer {kind!r}.",
            path,
            hint=f"Installed are {known}. Install the package that saved it; it has to register "
            f"its class in the entry-point group {GROUP}.",
        )
    return foreign[kind]


def _foreign_classes() -> list[Any]:
    """Classes with a `kind` and a `load` that installed packages register as evaluators."""
    classes = []
    for entry in EVALUATORS.values():
        if entry.source == "dialeval":
            continue
        try:
            target = entry.load()
        except BadInput as error:
            logger.warning("%s", error)
            continue
        if isinstance(target, type) and hasattr(target, "kind") and hasattr(target, "load"):
            classes.append(target)
    return classes
