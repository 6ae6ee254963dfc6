"""The functions behind `import dialeval`: from Python objects to results, a few lines each."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialeval.dialogues import BadInput, Passage, Passages, iterate, to_passages
from dialeval.dialogues.conversion import as_passages
from dialeval.dialogues.storage import iterate_passages

if TYPE_CHECKING:
    from dialeval.metrics.evaluation_results import EvaluationResults
    from dialeval.metrics.robustness_results import RobustnessResults
    from dialeval.metrics.unpaired_results import UnpairedResults
    from dialeval.perturbations import Perturbation
    from dialeval.responders.base import Responder
    from dialeval.responders.generators import Generator
    from dialeval.scorers.base import Scorer
    from dialeval.settings.evaluation import EvaluationRun

OnProgress = Callable[[int, int, str], Any]
"""Called with the number of finished steps, their total, and what is being done."""


def evaluate(
    human: Any,
    systems: Any,
    *,
    contexts: Sequence[Any] | None = None,
    dialogue_ids: Sequence[Any] | None = None,
    role: str | Mapping[str, str] | None = None,
    max_identical: float = 0.2,
    evaluators: Sequence[str] | str | None = None,
    output_dir: str | PathLike[str] | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> "EvaluationResults | UnpairedResults":
    """Can the replies of systems be distinguished from a human's, and can that be trusted?

    Args:
        human:
            Human responses: a list of texts (with `contexts`), of conversations or dictionaries, a
            DataFrame, a `datasets.Dataset`, passages, or a path. A conversation is a list of chat
            messages or texts whose last one is the response.
        systems:
            The systems' responses in the same shapes, by name: `{"my-bot": [...]}`. A value can
            also be a live system: a specification such as `"smollm2"`, `"parrot"` or
            `"model@http://host/v1"`, a `Responder`, or a function from a context (a list of texts)
            to a response. A list of specifications will do where no names are needed.
        contexts (`Sequence`, *optional*):
            Context of each response, where the responses are texts: a text, or a list of turns.
        dialogue_ids (`Sequence`, *optional*):
            Dialogue of each response. Responses from one dialogue never fall into both training
            and test; by default only rows with the same context count as one dialogue.
        role (`str` or `Mapping[str, str]`, *optional*):
            Whose turns of conversations are the responses: `"user"`, `"assistant"`, or a
            speaker's name; by side where they differ: `{"human": "assistant", "sim": "user"}`.
        max_identical (`float`, *optional*, defaults to 0.2):
            Share of a system's replies that may be identical to the human's.
        evaluators (`Sequence[str]` or `str`, *optional*):
            Names of `dialeval list evaluators`, `"all"`, folders of saved discriminators, or
            `package.module:Class`.
        output_dir (`str` or `Path`, *optional*):
            Folder for `results.json`, `scores.parquet` and `report.html`. An interrupted run
            resumes there. By default nothing is kept on disk.
        seed (`int`, *optional*, defaults to 0):
            Seed of folds, draws, evaluators and live systems.
        on_progress (`Callable`, *optional*):
            Called with finished steps, their total, and a description.
        settings:
            Further settings of `EvaluationRun`, such as `folds=5` and `seeds=3`.

    Returns:
        `EvaluationResults` or `UnpairedResults`: `print` shows the verdicts and a table, a notebook
        the report. Where human and systems do not answer the same contexts, two piles of
        conversations are compared by dialogue, and the results are `UnpairedResults`.

    Raises:
        BadInput: The data cannot be used; says which row and what to do.
    """
    from dialeval.protocols.evaluation import EvaluationRun

    names = [evaluators] if isinstance(evaluators, str) else evaluators
    with ExitStack() as stack:
        folder = output_dir or stack.enter_context(tempfile.TemporaryDirectory())
        run = EvaluationRun(
            evaluators=None if names is None else list(names),
            seed=seed,
            output_dir=str(folder),
            **settings,
        )
        passages = as_passages(
            human, author="human", contexts=contexts, dialogue_ids=dialogue_ids,
            role=_role_of("human", role),
        )  # fmt: skip
        answers = _answers(systems, passages, contexts, seed, role)
        options = {} if on_progress is None else {"on_progress": on_progress}
        return _evaluate(passages, answers, run, max_identical, bool(output_dir), options)


def _evaluate(
    human: Passages,
    answers: dict[str, Passages],
    run: "EvaluationRun",
    max_identical: float,
    keep: bool,
    options: dict[str, Any],
) -> "EvaluationResults | UnpairedResults":
    """Evaluate on shared contexts, or by dialogue where there are none; write the report."""
    from dialeval.protocols.evaluation import align
    from dialeval.protocols.evaluation import evaluate as run_evaluation
    from dialeval.protocols.unpaired import evaluate_piles, make_piles, shares_contexts
    from dialeval.reports.evaluation import write_report
    from dialeval.reports.unpaired import write_unpaired_report

    paired = not answers or shares_contexts(human, answers)
    results: EvaluationResults | UnpairedResults = (
        run_evaluation(align(human, answers, max_identical=max_identical), run, **options)
        if paired
        else evaluate_piles(make_piles(human, answers), run, **options)
    )
    if keep:
        (write_report if paired else write_unpaired_report)(Path(run.output_dir))
    return results


def perturb(
    data: Any,
    strategy: "str | Perturbation",
    *,
    contexts: Sequence[Any] | None = None,
    seed: int = 0,
    turns: str | Sequence[int] = "all",
    **settings: Any,
) -> Passages:
    """The same passages with edited contexts; the responses do not change.

    Args:
        data:
            Passages, or any shape that [`evaluate`] takes.
        strategy (`str` or `Perturbation`):
            A name of `dialeval list perturbations`, `package.module:Class`, or an instance.
        contexts (`Sequence`, *optional*):
            Context of each response, where the data are texts.
        seed (`int`, *optional*, defaults to 0):
            Seed of the edits.
        turns (`str` or `Sequence[int]`, *optional*, defaults to `"all"`):
            Turns to edit: `"all"`, `"last"`, or numbers.
        settings:
            Settings of the strategy, such as `words_per_swap=3`.

    Returns:
        `Passages`: `extra["perturbation"]` logs every edit.
    """
    from dialeval.perturbations import perturb as apply_strategy
    from dialeval.perturbations import perturbation

    passages = as_passages(data, author="human", contexts=contexts)
    chosen = perturbation(strategy, **settings) if isinstance(strategy, str) else strategy
    return apply_strategy(passages, chosen, seed=seed, turns=turns).passages  # type: ignore[arg-type]  # checked there


def robustness(
    data: Any,
    systems: Any,
    strategies: "Iterable[str | Perturbation] | str" = "all",
    *,
    contexts: Sequence[Any] | None = None,
    output_dir: str | PathLike[str] | None = None,
    seed: int = 0,
    **settings: Any,
) -> "RobustnessResults":
    """What perturbed contexts do to the replies of live systems.

    Args:
        data:
            Contexts with human responses, in any shape that [`evaluate`] takes.
        systems:
            Live systems, by name or as a list: specifications, `Responder`s or functions.
        strategies (`Iterable` or `str`, *optional*, defaults to `"all"`):
            Perturbation strategies by name, or instances.
        contexts (`Sequence`, *optional*):
            Context of each response, where the data are texts.
        output_dir (`str` or `Path`, *optional*):
            Folder for results and replies; by default nothing is kept on disk.
        seed (`int`, *optional*, defaults to 0):
            Seed of edits, live systems and resamples.
        settings:
            Further settings of `RobustnessRun`, such as `margin=0.1`.

    Returns:
        `RobustnessResults`: Verdicts and numbers per system and strategy.
    """
    from dialeval.perturbations import perturbations
    from dialeval.protocols.robustness import RobustnessRun
    from dialeval.protocols.robustness import robustness as run_robustness

    passages = as_passages(data, author="human", contexts=contexts)
    names = [strategies] if isinstance(strategies, str) and strategies != "all" else strategies
    chosen = (
        perturbations("all")
        if names == "all"
        else [
            strategy
            for item in names
            for strategy in (perturbations([item]) if isinstance(item, str) else [item])
        ]
    )
    responders = [
        _responder(name, value, passages, seed) for name, value in _named(systems).items()
    ]
    with ExitStack() as stack:
        folder = output_dir or stack.enter_context(tempfile.TemporaryDirectory())
        run = RobustnessRun(seed=seed, output_dir=str(folder), **settings)
        return run_robustness(list(iterate(passages)), responders, chosen, run)


def train_discriminator(
    human: Any = None,
    machine: Any = None,
    *,
    contexts: Sequence[Any] | None = None,
    dialogue_ids: Sequence[Any] | None = None,
    model: str = "transformer",
    output_dir: str | PathLike[str] = "runs/discriminator",
    on_progress: Callable[[Any], Any] | None = None,
    **settings: Any,
) -> "Scorer":
    """Train a discriminator and save it; its held-out results are in `results.json`.

    Args:
        human (*optional*):
            Human responses in any shape that [`evaluate`] takes; the embedded corpus by default.
        machine (*optional*):
            Responses of the system to be recognised, on the same contexts. Without them the
            discriminator learns to distinguish human responses from random ones.
        contexts (`Sequence`, *optional*):
            Context of each response, where the responses are texts.
        dialogue_ids (`Sequence`, *optional*):
            Dialogue of each response; see [`evaluate`].
        model (`str`, *optional*, defaults to `"transformer"`):
            A name of `dialeval list evaluators`.
        output_dir (`str` or `Path`, *optional*, defaults to `"runs/discriminator"`):
            Folder for the discriminator and its results.
        on_progress (`Callable`, *optional*):
            Called after each update with its numbers.
        settings:
            Settings of `dialeval train`, such as `max_pairs=2000` or `epochs=3`.

    Returns:
        `Scorer`: The trained discriminator, as [`load_evaluator`] reads it.
    """
    from dialeval.training.discriminator import train_on_passages

    passages = None
    answers = None
    if human is not None:
        passages = as_passages(human, author="human", contexts=contexts, dialogue_ids=dialogue_ids)
    if machine is not None:
        answers = as_passages(
            machine, author="machine", contexts=contexts, dialogue_ids=dialogue_ids
        )
    train_on_passages(
        passages,
        answers,
        model=model,
        output_dir=str(output_dir),
        on_progress=on_progress,
        **settings,
    )
    return load_evaluator(output_dir)


def load_evaluator(name: str | PathLike[str], **options: Any) -> "Scorer":
    """A saved discriminator by its folder, or by its name on the Hub.

    Args:
        name (`str` or `Path`):
            Folder, or `owner/name`.
        options:
            What its kind takes, such as `device`; for the Hub also `revision`.
    """
    from dialeval.scorers import load_scorer

    return load_scorer(str(name), **options)


def load_generator(name: str | PathLike[str], **options: Any) -> "Generator":
    """A language model that generates responses, with its tokenizer and prompt format.

    Args:
        name (`str` or `Path`):
            Folder, name on the Hub, GGUF file, or `smollm2`.
        options:
            `chat_template`, `system_prompt`, `adapter` and `device`.
    """
    from dialeval.responders.generators import load_generator as load

    return load(str(name), **options)


def _role_of(side: str, role: str | Mapping[str, str] | None) -> str | None:
    return role.get(side) if isinstance(role, Mapping) else role


def _answers(
    systems: Any,
    human: Passages,
    contexts: Sequence[Any] | None,
    seed: int,
    role: str | Mapping[str, str] | None = None,
) -> dict[str, Passages]:
    """The responses of each system, by name."""
    return {
        name: _system_passages(name, value, human, contexts, seed, _role_of(name, role))
        for name, value in _named(systems).items()
    }


def _system_passages(
    name: str,
    value: Any,
    human: Passages,
    contexts: Sequence[Any] | None,
    seed: int,
    role: str | None = None,
) -> Passages:
    if not _is_live(value):
        return as_passages(value, author=name, contexts=contexts, role=role)
    from dialeval.responders.base import respond

    responder = _responder(name, value, human, seed)
    return to_passages(respond(responder, list(iterate(human))))


def _named(systems: Any) -> dict[str, Any]:
    """Systems by name; specifications in a list are their own names."""
    if isinstance(systems, Mapping):
        return dict(systems)
    items = [systems] if isinstance(systems, str) or hasattr(systems, "stream") else systems
    if not isinstance(items, Sequence) or not all(_is_live(item) for item in items):
        raise BadInput(
            "systems need names.", hint='Give a dictionary such as {"my-bot": responses}.'
        )
    return {_name_of(item): item for item in items}


def _name_of(system: Any) -> str:
    if isinstance(system, str):
        name, sign, source = system.partition("=")
        return name if sign and source else system
    return str(getattr(system, "name", None) or getattr(system, "__name__", "system"))


def _is_live(value: Any) -> bool:
    """Whether a system answers now: a specification, a responder or a function."""
    if isinstance(value, str):
        return not _is_data(Path(value))
    return hasattr(value, "stream") or (callable(value) and not hasattr(value, "features"))


def _is_data(path: Path) -> bool:
    """Whether a path has responses: a file, or a folder that is no model."""
    if path.is_dir():
        return not (path / "config.json").exists()
    return path.is_file() and path.suffix != ".gguf"


def _responder(name: str, value: Any, pool: Passages, seed: int) -> "Responder":
    if hasattr(value, "stream"):
        return value
    if callable(value):
        return FunctionResponder(value, name)
    from dialeval.responders.registry import load_responder

    source = value.removeprefix(f"{name}=") if isinstance(value, str) else value
    return load_responder(source, seed=seed, pool=pool, name=name)


class FunctionResponder:
    """A Python function as a system.

    Args:
        function (`Callable[[list[str]], str]`):
            From the texts of a context to a response.
        name (`str`):
            Name in tables.

    Examples:
        >>> from dialeval.dialogues import Passage, Turn
        >>> shout = FunctionResponder(lambda turns: turns[-1].upper(), "shout")
        >>> [(index, answer.response) for index, answer in
        ...  shout.stream([Passage((Turn("A", "hi"),), "hello")])]
        [(0, 'HI')]
    """

    def __init__(self, function: Callable[[list[str]], str], name: str):
        self.function, self.name = function, name

    @property
    def signature(self) -> str:
        """Name of the function; its code is not known."""
        return f"function:{getattr(self.function, '__qualname__', self.name)}"

    def stream(self, passages: "Passages | Sequence[Passage]") -> Iterator[tuple[int, Passage]]:
        """The index of each passage, with the function's response."""
        from dialeval.responders.base import answer

        for index, passage in enumerate(iterate_passages(passages)):
            text = self.function([turn.text for turn in passage.context])
            if not isinstance(text, str):
                raise BadInput(
                    f"{self.name} returned {text!r:.80} for the context of passage {index}.",
                    hint="Return the response as a text.",
                )
            yield index, answer(passage, text, self)
