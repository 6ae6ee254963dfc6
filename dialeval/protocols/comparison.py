"""Runs of `dialeval evaluate` side by side, context by context, and conditions they must meet."""

import json
import logging
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
from scipy.stats import norm

from dialeval.dialogues.sources import BadInput
from dialeval.metrics.paired import approximate_randomisation, mcnemar, paired_bootstrap
from dialeval.metrics.results import REFERENCES, SECOND_HUMAN, plain, signature, versions
from dialeval.metrics.significance import holm

logger = logging.getLogger(__name__)

POWER = 0.8
BOUNDS = ("value", "low", "high", "conservative")
_COLUMNS = ["system", "evaluator", "id", "dialogue_id", "label", "taken", "response"]
_STEP = 0.5  # what one decision about one context moves: human and machine weigh half each
_HINT = "Give the --output-dir of a finished `dialeval evaluate`."


@dataclass(frozen=True, eq=False)
class Decisions:
    """What one evaluator decided about one system of one run, a context a place.

    Args:
        label (`str`):
            The system's name, with the run's before it where several runs have the name.
        ids, dialogues, texts (`np.ndarray`):
            Of the contexts, sorted by id; `texts` are the human responses.
        human, machine (`np.ndarray`):
            Share of the context's human and machine responses taken for human.
        one_sided (`int`):
            Contexts left out because only a human, or only the machine, answered.
    """

    run: str
    system: str
    evaluator: str
    label: str
    signature: str
    ids: np.ndarray
    dialogues: np.ndarray
    texts: np.ndarray
    human: np.ndarray
    machine: np.ndarray
    one_sided: int

    @cached_property
    def successes(self) -> np.ndarray:
        """AdverSuc of each context: one minus (human taken + machine not taken) / 2."""
        return (1 - self.human + self.machine) / 2


@dataclass(frozen=True)
class Pair:
    """Two systems before one evaluator, on the contexts that both answered.

    Args:
        difference (`float`):
            AdverSuc of the first minus that of the second: `machine_side` + `human_side`.
        low, high, p_bootstrap (`float`):
            95 % paired bootstrap over dialogues.
        p, p_holm (`float`):
            Approximate randomisation over dialogues; adjusted for the evaluator's pairs.
        mcnemar (`dict`, *optional*):
            On the machine responses alone: `p`, and in how many contexts `only_first` and
            `only_second` was taken for human. `None` where a context has several responses.
        human_changed (`int`):
            Contexts whose human response the two systems' judges decided differently.
        detectable (`float`, *optional*):
            See `detectable_difference`.
        judges_differ (`tuple[str, ...]`):
            Parts of the signature that are not the same.
    """

    evaluator: str
    first: str
    second: str
    first_adversuc: float
    second_adversuc: float
    difference: float
    low: float
    high: float
    p: float
    p_bootstrap: float
    machine_side: float
    human_side: float
    mcnemar: dict[str, float | int] | None
    human_changed: int
    n: int
    dialogues: int
    first_left_out: int
    second_left_out: int
    detectable: float | None
    judges_differ: tuple[str, ...]
    p_holm: float = 1.0
    told_apart: bool = False


@dataclass(frozen=True)
class Comparison:
    """All pairs, largest difference first, and for each evaluator who cannot be told apart.

    Args:
        systems (`list[dict]`):
            AdverSuc and n of each system before each evaluator, on all its contexts.
        groups (`dict[str, list[list[str]]]`):
            Largest sets in which no pair is told apart; a system may stand in several.
        warnings, warnings (`list[str]`):
            What was left out, and what makes a comparison doubtful.
    """

    pairs: list[Pair]
    systems: list[dict[str, Any]]
    groups: dict[str, list[list[str]]]
    notes: list[str]
    warnings: list[str]
    settings: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON knows it."""
        return plain({**asdict(self), "signature": signature(**self.settings)}) | {
            "versions": versions()
        }


def compare_runs(
    folders: Sequence[Path | str],
    evaluators: Sequence[str] = (),
    *,
    resamples: int = 10_000,
    seed: int = 0,
    alpha: float = 0.05,
) -> Comparison:
    """Every two systems compared in AdverSuc on the contexts that both answered.

    Intervals and p-values hold for the judges as they were trained. The order of folders and of
    systems in them moves nothing.

    Args:
        evaluators (`Sequence[str]`, *optional*):
            Whose decisions; by default those of all but the references coin and length.
        alpha (`float`, *optional*, defaults to 0.05):
            Level at which two systems are told apart, after Holm's correction.

    Raises:
        BadInput: Where a folder holds no run, or nothing can be compared.
    """
    entries = _labelled([each for run in run_names(folders).items() for each in _decisions(*run)])
    settings = {"resamples": resamples, "seed": seed, "alpha": alpha}
    found = Comparison([], [], {}, [], [], {"test": "approximate-randomisation+holm", **settings})
    for evaluator in _chosen(evaluators, [each.evaluator for each in entries], "evaluator"):
        mine = [each for each in entries if each.evaluator == evaluator]
        found.systems.extend(_summary(each) for each in mine)
        found.notes.extend(
            f"{each.label} before {evaluator}: {each.one_sided:,} contexts without a human or "
            "without a machine response are left out."
            for each in mine
            if each.one_sided
        )
        if len(mine) < 2:
            found.notes.append(f"{evaluator} judged {mine[0].label} alone: nothing to compare.")
            continue
        found.warnings.extend(_judge_warnings(mine))
        pairs = list(_pairs(mine, found.notes, **settings))
        found.groups[evaluator] = _groups(mine, pairs)
        found.pairs.extend(pairs)
    _refuse_nothing(found)
    for warning in found.warnings:
        logger.warning(warning)
    return found


def detectable_difference(
    differences: np.ndarray, groups: np.ndarray, alpha: float = 0.05, power: float = POWER
) -> float | None:
    """The smallest true difference that this many dialogues find in four of five cases.

    By the normal limit and the spread between dialogues; at least what the exact test asks for,
    where hardly any decision differs. `None` if no difference could be found at all.

    Example:
        >>> detectable_difference(np.zeros(5), np.arange(5)) is None  # 2 / 2^5 > .05
        True
        >>> detectable_difference(np.zeros(100), np.arange(100))  # 6 decisions, half a point each
        0.03
    """
    unit = np.unique(groups, return_inverse=True)[1]
    sums, sizes = np.bincount(unit, differences), np.bincount(unit)
    needed = math.ceil(1 - math.log2(alpha))  # dialogues that must all point the same way
    if len(sums) < needed:
        return None
    spread = np.square(sums - differences.mean() * sizes).sum() * len(sums) / (len(sums) - 1)
    by_spread = (norm.isf(alpha / 2) + norm.ppf(power)) * np.sqrt(spread) / len(differences)
    found = max(float(by_spread), needed * _STEP / len(differences))
    return found if found <= 1 else None


def run_names(folders: Sequence[Path | str]) -> dict[str, Path]:
    """Folders by their last name, or by as much of their path as tells them apart.

    Example:
        >>> list(run_names(["old/x", "new/x"]))
        ['old/x', 'new/x']
    """
    paths = [Path(folder).resolve() for folder in folders]
    twice = [str(path) for path, times in Counter(paths).items() if times > 1]
    if twice:
        raise BadInput("this run was given twice.", twice[0], hint="Give each run once.")
    for depth in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.parts[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            break
    return dict(zip(names, map(Path, folders), strict=True))


def read_results(folder: Path | str) -> dict[str, Any]:
    """What stands in a run's `results.json`."""
    path = Path(folder) / "results.json"
    try:
        found = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput("no results.json here.", folder, hint=_HINT) from None
    except ValueError as error:
        raise BadInput(f"expected JSON, but {error}.", path, hint=_HINT) from None
    rows = found.get("results") if isinstance(found, dict) else None
    keys = {"metric", "system", "evaluator", "value"}
    if not isinstance(rows, list) or not all(isinstance(r, dict) and keys <= set(r) for r in rows):
        told = "expected a list `results` of objects with metric, system, evaluator and value."
        raise BadInput(told, path, hint=_HINT)
    return found


def _decisions(run: str, folder: Path) -> Iterator[Decisions]:
    """Every system of a run before every evaluator."""
    rows = read_results(folder)["results"]
    how = {
        (row["system"], row["evaluator"]): row.get("signature", "")
        for row in rows
        if row["metric"] == "adversuc"
    }
    table = _read_scores(folder)
    keys = set(zip(*(table[name].to_pylist() for name in ("system", "evaluator")), strict=True))
    for system, evaluator in sorted(keys):
        mine = pc.and_(pc.equal(table["system"], system), pc.equal(table["evaluator"], evaluator))
        facts = (run, system, evaluator, system, how.get((system, evaluator), ""))
        yield Decisions(*facts, *_by_context(table.filter(mine)))


def _read_scores(folder: Path) -> pa.Table:
    """The decisions of the scenario human_machine, averaged where a context has several."""
    path = folder / "scores.parquet"
    try:
        table = parquet.read_table(path)
    except FileNotFoundError:
        raise BadInput("no scores.parquet here.", folder, hint=_HINT) from None
    except pa.ArrowInvalid as error:
        raise BadInput(f"expected a Parquet file, but {error}.", path, hint=_HINT) from None
    missing = [name for name in (*_COLUMNS, "scenario") if name not in table.column_names]
    if missing:
        raise BadInput(f"the columns {', '.join(missing)} are missing.", path, hint=_HINT)
    table = table.filter(pc.equal(table["scenario"], "human_machine")).select(_COLUMNS).drop_null()
    kinds = dict.fromkeys(_COLUMNS, pa.string()) | {"label": pa.int64(), "taken": pa.float64()}
    table = pa.table({name: pc.cast(table[name], kind) for name, kind in kinds.items()})
    keys = ["system", "evaluator", "id", "label"]
    return table.group_by(keys).aggregate(
        [("taken", "mean"), ("dialogue_id", "min"), ("response", "min")]
    )


def _by_context(table: pa.Table) -> list[Any]:
    """The last fields of `Decisions`, from one system's rows of one evaluator."""
    sides = [table.filter(pc.equal(table["label"], label)) for label in (1, 0)]
    ids = [side["id"].to_numpy().astype(object) for side in sides]
    common, human, machine = np.intersect1d(*ids, assume_unique=True, return_indices=True)
    told = [sides[0][name].to_numpy()[human] for name in ("dialogue_id_min", "response_min")]
    taken = [
        side["taken_mean"].to_numpy()[at] for side, at in zip(sides, (human, machine), strict=True)
    ]
    return [common, *told, *taken, len(ids[0]) + len(ids[1]) - 2 * len(common)]


def _labelled(entries: Sequence[Decisions]) -> list[Decisions]:
    """The same in order, with the run in the label where several runs have such a system."""
    runs = Counter(system for _, system in {(each.run, each.system) for each in entries})
    named = (
        replace(each, label=f"{each.run}/{each.system}") if runs[each.system] > 1 else each
        for each in entries
    )
    return sorted(named, key=lambda each: (each.label, each.run))


def _chosen(wanted: Sequence[str], known: Iterable[str], what: str) -> list[str]:
    """The wanted names, or all but the references; an unknown one is refused."""
    known = sorted(set(known))
    for name in wanted:
        if name not in known:
            choices = ", ".join(known) or "none: nothing was judged"
            raise BadInput(f"Unknown {what} {name!r}.", hint=f"Choose one of {choices}.")
    return list(dict.fromkeys(wanted)) or [name for name in known if name not in REFERENCES]


def _summary(one: Decisions) -> dict[str, Any]:
    value = float(one.successes.mean()) if len(one.ids) else None
    names = {"label": one.label, "run": one.run, "system": one.system, "evaluator": one.evaluator}
    return {**names, "adversuc": value, "n": len(one.ids)}


def _pairs(
    entries: Sequence[Decisions], notes: list[str], resamples: int, seed: int, alpha: float
) -> list[Pair]:
    """The comparisons of one evaluator, largest difference first."""
    matched = [(one, two, *_common(one, two)) for one, two in combinations(entries, 2)]
    notes.extend(filter(None, (_left_out(*each) for each in matched)))
    able = [each[:4] for each in matched if len(each[2])]
    share = alpha / max(1, len(able))  # what Holm asks of the smallest p-value
    if 1 / (resamples + 1) > share:
        notes.append(f"{resamples} resamples cannot show a p-value of {share:.2g}: ask for more.")
    found = [_compared(*each, resamples, seed, share) for each in able]
    adjusted = holm([pair.p for pair in found])
    pairs = [
        replace(pair, p_holm=float(p), told_apart=bool(p <= alpha))
        for pair, p in zip(found, adjusted, strict=True)
    ]
    return sorted(pairs, key=lambda pair: (-pair.difference, pair.first, pair.second))


def _common(one: Decisions, two: Decisions) -> tuple[np.ndarray, np.ndarray, int]:
    """Places of the same contexts in both, and how many ids have another human response."""
    _, ours, theirs = np.intersect1d(one.ids, two.ids, assume_unique=True, return_indices=True)
    same = one.texts[ours] == two.texts[theirs]
    return ours[same], theirs[same], int((~same).sum())


def _left_out(
    one: Decisions, two: Decisions, ours: np.ndarray, theirs: np.ndarray, others: int
) -> str:
    """What two systems do not share, in a sentence; empty if they share all."""
    alone = len(one.ids) - len(ours), len(two.ids) - len(theirs)
    if not any(alone) and len(ours):
        return ""
    why = f"; {others:,} ids stand for another human response, so not the same" if others else ""
    told = f"{one.label} and {two.label} before {one.evaluator}: {len(ours):,} contexts in common, "
    told += f"{alone[0]:,} and {alone[1]:,} left out{why}."
    return told if len(ours) else f"{told} They are not compared."


def _compared(
    one: Decisions,
    two: Decisions,
    ours: np.ndarray,
    theirs: np.ndarray,
    resamples: int,
    seed: int,
    alpha: float,
) -> Pair:
    """Two systems on their common contexts, the more successful one first."""
    if two.successes[theirs].mean() > one.successes[ours].mean():
        one, two, ours, theirs = two, one, theirs, ours
    first, second, dialogues = one.successes[ours], two.successes[theirs], one.dialogues[ours]
    human, machine = one.human[ours] - two.human[theirs], one.machine[ours] - two.machine[theirs]
    drawn = {"groups": dialogues, "resamples": resamples, "seed": seed}
    spread = paired_bootstrap(first, second, **drawn)
    return Pair(
        evaluator=one.evaluator,
        first=one.label,
        second=two.label,
        first_adversuc=float(first.mean()),
        second_adversuc=float(second.mean()),
        difference=spread["difference"],
        low=spread["low"],
        high=spread["high"],
        p=approximate_randomisation(first, second, **drawn),
        p_bootstrap=spread["p"],
        machine_side=float(machine.mean() / 2),
        human_side=float(-human.mean() / 2),
        mcnemar=_mcnemar(one.machine[ours], two.machine[theirs]),
        human_changed=int(np.count_nonzero(human)),
        n=len(ours),
        dialogues=len(np.unique(dialogues)),
        first_left_out=len(one.ids) - len(ours),
        second_left_out=len(two.ids) - len(theirs),
        detectable=detectable_difference(first - second, dialogues, alpha),
        judges_differ=tuple(_differing([one, two])),
    )


def _mcnemar(first: np.ndarray, second: np.ndarray) -> dict[str, float | int] | None:
    single = np.isin((first, second), (0, 1)).all()
    return mcnemar(first, second) if single else None


def _groups(entries: Sequence[Decisions], pairs: Iterable[Pair]) -> list[list[str]]:
    """Largest sets of systems of which no two are told apart, most successful first.

    Systems that share no context are not told apart either: nothing is known.
    """
    order = sorted(entries, key=lambda each: -each.successes.mean() if len(each.ids) else 0)
    names = [each.label for each in order]
    apart = {frozenset((pair.first, pair.second)) for pair in pairs if pair.told_apart}
    sets: list[frozenset[str]] = []
    for name in names:  # each set goes on without those whom the new one is told apart from
        alike = frozenset(other for other in names if frozenset((name, other)) not in apart)
        grown = {each & alike | {name} for each in sets} | {frozenset((name,))} | set(sets)
        sets = [each for each in grown if not any(each < other for other in grown)]
    told = (sorted(each, key=names.index) for each in sets)
    return sorted(told, key=lambda each: [names.index(name) for name in each])


def _judge_warnings(entries: Sequence[Decisions]) -> Iterator[str]:
    """A sentence that names what differs between the judges that bear one name."""
    for key, holders in _differing(entries).items():
        told = "; ".join(f"{value} for {_some(labels)}" for value, labels in holders.items())
        yield f"{entries[0].evaluator} is not the same judge everywhere: {key} is {told}."


def _differing(entries: Sequence[Decisions]) -> dict[str, dict[str, list[str]]]:
    """Parts of the signature with more than one value, and who has which."""
    facts = [(each.label, signature_parts(each.signature)) for each in entries]
    keys = dict.fromkeys(key for _, parts in facts for key in parts)
    found: dict[str, dict[str, list[str]]] = {key: {} for key in keys}
    for key in keys:
        for label, parts in facts:
            found[key].setdefault(parts.get(key, "unknown"), []).append(label)
    return {
        key: holders
        for key, holders in found.items()
        if len(holders) > 1 and key not in ("metric", "system")
    }


def signature_parts(text: str) -> dict[str, str]:
    r"""The facts of a signature by name; what `dialeval.metrics.results.signature` put in.

    Example:
        >>> signature_parts("folds:5|data:a\\|b|paired")
        {'folds': '5', 'data': 'a|b', 'paired': 'yes'}
    """
    parts = re.findall(r"(?:\\.|[^|\\])+", text)
    split = (re.sub(r"\\(.)", r"\1", part).partition(":") for part in parts)
    return {key: value if colon else "yes" for key, colon, value in split}


def _some(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _refuse_nothing(found: Comparison) -> None:
    """An error that says why, where no two systems could be compared."""
    if found.pairs:
        return
    systems = sorted({each["label"] for each in found.systems})
    if not systems:
        told = "no judge but coin or length set a system against humans here."
        raise BadInput(told, hint=_HINT)
    if not found.groups:
        told = f"only one system a judge: {', '.join(systems)}."
        raise BadInput(told, hint="Give another run, or evaluate two systems in one.")
    hint = "Evaluate both systems on the same --human file."
    raise BadInput(f"no common contexts. {' '.join(found.notes)}", hint=hint)


@dataclass(frozen=True)
class Check:
    """One condition on one system before one evaluator; its text says how it went.

    Args:
        name, limit, upper (`str`, `float`, `bool`):
            The metric, and what it must reach, or stay at or below if `upper`.
        end (`str`):
            Which number was tested: `"value"`, `"low"` or `"high"`.
        problem (`str`):
            Why there is no number to test; empty if there is one.
    """

    name: str
    limit: float
    upper: bool
    system: str
    evaluator: str
    end: str = "value"
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    problem: str = ""

    @property
    def passed(self) -> bool:
        tested = getattr(self, self.end)
        if self.problem or tested is None:
            return False
        return tested <= self.limit if self.upper else tested >= self.limit

    def __str__(self) -> str:
        who = " before ".join(filter(None, (self.system, self.evaluator)))
        asked = f"{self.name} {'<=' if self.upper else '>='} {self.limit:g}"
        told = f"{'pass' if self.passed else 'FAIL'}: {asked}{', ' + who if who else ''}: "
        return told + (self.problem or self._numbers())

    def _numbers(self) -> str:
        value, low, high = (_exact(each, self.limit) for each in (self.value, self.low, self.high))
        end = "" if self.end == "value" else f", {self.end} end tested"
        return f"{value} (95 %: {low} to {high}{end}), n = {self.n}"


def check_run(
    folder: Path | str,
    min: Mapping[str, float] | None = None,
    max: Mapping[str, float] | None = None,
    *,
    systems: Sequence[str] = (),
    evaluators: Sequence[str] = (),
    bound: str = "value",
) -> list[Check]:
    """How a run meets conditions such as `min={"adversuc": 0.2}, max={"ere": 0.2}`.

    Args:
        min, max (`Mapping[str, float]`, *optional*):
            Limits by metric, or by key in a metric's details: `"adversuc.auroc"`.
        systems, evaluators (`Sequence[str]`, *optional*):
            Who must meet them; by default every judged system, before all evaluators but the
            references coin and length.
        bound (`str`, *optional*, defaults to `"value"`):
            What is tested: the value, the `"low"` or `"high"` end of its interval, or the
            `"conservative"` end, low for `min` and high for `max`.
    """
    if bound not in BOUNDS:
        raise BadInput(f"Unknown bound {bound!r}.", hint=f"Choose one of {', '.join(BOUNDS)}.")
    limits = [(*each, False) for each in (min or {}).items()]
    limits += [(*each, True) for each in (max or {}).items()]
    if not limits:
        raise BadInput("no condition to check.", hint="Give one: --min adversuc=0.2")
    rows = read_results(folder)["results"]
    judged = {row["system"] for row in rows if row["system"] and row["evaluator"]}
    judged -= {SECOND_HUMAN}  # a reference, which no limit is for
    known = [row["system"] for row in rows if row["system"]]
    wanted = _chosen(systems, known, "system") if systems else sorted(judged or known)
    judges = _chosen(
        evaluators, [row["evaluator"] for row in rows if row["evaluator"]], "evaluator"
    )
    return [
        check
        for name, limit, upper in limits
        for check in _checks(rows, Check(name, limit, upper, "", ""), wanted, judges, bound)
    ]


def assert_metrics(
    folder: Path | str,
    min: Mapping[str, float] | None = None,
    max: Mapping[str, float] | None = None,
    **options: Any,
) -> None:
    """Raise an `AssertionError` with a line for each condition, if one is not met.

    Takes what `check_run` takes.
    """
    __tracebackhide__ = True  # pytest then shows the test's own line
    checks = check_run(folder, min, max, **options)
    if not all(check.passed for check in checks):
        raise AssertionError("\n".join(map(str, checks)))


def _checks(
    rows: Sequence[dict[str, Any]],
    asked: Check,
    systems: Sequence[str],
    evaluators: Sequence[str],
    bound: str,
) -> Iterator[Check]:
    """The condition for every system and evaluator that the metric tells apart."""
    metric, _, key = asked.name.partition(".")
    mine = {(row["system"], row["evaluator"]): row for row in rows if row["metric"] == metric}
    if not mine:
        choices = ", ".join(dict.fromkeys(row["metric"] for row in rows)) or "none"
        yield replace(asked, problem=f"the run has no metric {metric!r}. It has {choices}.")
        return
    end = ("high" if asked.upper else "low") if bound == "conservative" else bound
    by_system, by_evaluator = (any(each) for each in zip(*mine, strict=True))
    for system in systems if by_system else [""]:
        for evaluator in evaluators if by_evaluator else [""]:
            check = replace(asked, system=system, evaluator=evaluator, end=end)
            yield _measured(check, mine.get((system, evaluator)), key)


def _measured(check: Check, row: dict[str, Any] | None, key: str) -> Check:
    """The condition with the numbers of its row, or with what is wrong with them."""
    if row is None:
        return replace(check, problem="was not measured.")
    numbers = row
    if key:
        *path, last = key.split(".")
        numbers = row.get("details") or {}
        for part in path:
            numbers = numbers.get(part, {}) if isinstance(numbers, dict) else {}
        if not isinstance(numbers, dict) or last not in numbers:
            choices = _some(list(row.get("details") or {}), 20) or "none"
            return replace(check, problem=f"no {key!r} in the details. There are {choices}.")
        names = {"value": last, "low": f"{last}_low", "high": f"{last}_high"}
        numbers = {to: numbers.get(name) for to, name in names.items()} | {
            "n": numbers.get("n", row.get("n"))
        }
    found = replace(check, **{name: numbers.get(name) for name in ("value", "low", "high", "n")})
    return replace(found, problem=_problem(found))


def _problem(check: Check) -> str:
    """Why the number cannot be tested; empty if it can."""
    if check.value is None:
        return f"it is null: nothing could be measured (n = {check.n})."
    if not isinstance(check.value, int | float) or isinstance(check.value, bool):
        return f"it is {json.dumps(check.value)[:60]}, not a number."
    if getattr(check, check.end) is None:
        return f"it is {check.value:g} without an interval, so its {check.end} end is unknown."
    return ""


def _exact(value: float | None, limit: float) -> str:
    """A number to three digits, or to all where three would hide on which side it lies."""
    if value is None:
        return "-"
    hidden = round(value, 3) == round(limit, 3) and value != limit
    return repr(value) if hidden else f"{value:.3f}"
