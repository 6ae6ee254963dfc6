"""How often whole runs are wrong, by simulation: minutes, so `slow`."""

import json
import random
from itertools import islice

import numpy as np
import pytest

import dialeval
from dialeval.dialogues import Passage, Turn, iterate, to_passages
from dialeval.dialogues.readers.chitchat import chitchat_path
from dialeval.protocols.evaluation import align, evaluate
from dialeval.protocols.evaluation.evaluators import FitContext
from dialeval.protocols.evaluation.planted import power_of
from dialeval.protocols.evaluation.study import Study
from dialeval.settings.evaluation import EvaluationRun

WORDS = [f"w{number}" for number in range(40)]


def run_of(folder, evaluators, **settings) -> EvaluationRun:
    least = {"folds": 3, "seeds": 1, "curve": (), "length_matched": False, "twins": False}
    return EvaluationRun(evaluators, **{**least, **settings}, output_dir=str(folder))


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    """Real replies to 120 contexts, and other people's in their place: easy to distinguish."""
    conversations = json.loads(chitchat_path().read_text("utf-8"))
    path = tmp_path_factory.mktemp("chats") / "some.json"
    path.write_text(json.dumps(dict(islice(conversations.items(), 160))))
    rows = {passage.dialogue_id: passage for passage in iterate(dialeval.read_passages(path))}
    human = list(rows.values())[:120]
    return human, [f"well, {passage.response}" for passage in [*human[1:], human[0]]]


@pytest.mark.slow
def test_whole_runs_call_at_most_5_percent_distinguishable_if_a_coin_assigns_the_sides(
    sides, tmp_path
):
    human, others = sides
    repetitions, rejected, context = 100, 0, FitContext()  # every text is encoded once
    for seed in range(repetitions):
        coins = random.Random(seed)
        swapped = [coins.random() < 0.5 for _ in human]
        rows = zip(human, others, swapped, strict=True)
        pairs = [(text, row.response) if swap else (row.response, text) for row, text, swap in rows]
        first = [
            row.with_response(one, "human") for row, (one, _) in zip(human, pairs, strict=True)
        ]
        second = [row.with_response(two, "bot") for row, (_, two) in zip(human, pairs, strict=True)]
        data = align(to_passages(first), {"bot": to_passages(second)})
        run = run_of(tmp_path / str(seed), ["stack", "surface"], seed=seed)
        [verdict] = evaluate(data, run, fit_context=context).verdicts
        rejected += verdict.verdict in ("distinguishable", "negligible difference")
    rate = rejected / repetitions
    print(f"{rejected} of {repetitions} runs without a difference found one")
    assert rate <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / repetitions)
    apart = [row.with_response(text, "bot") for row, text in zip(human, others, strict=True)]
    data = align(to_passages(human), {"bot": to_passages(apart)})
    run = run_of(tmp_path / "apart", ["stack", "surface"])
    [verdict] = evaluate(data, run, fit_context=context).verdicts
    assert verdict.verdict == "distinguishable"  # the same texts, sides as they are


def invented(contexts: int, share: float, seed: int):
    """People, a machine that says "beep" in two of three replies, and one that is human but for a
    share of such replies."""
    rng = random.Random(seed)

    def reply() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(2, 10)))

    def machine() -> str:
        return reply() + " beep" * (rng.random() < 2 / 3)

    people = [
        Passage((Turn("A", reply()),), reply(), id=f"c{row}", dialogue_id=f"d{row}")
        for row in range(contexts)
    ]
    systems = {
        "machine": [row.with_response(machine(), "machine") for row in people],
        "mixed": [row.with_response(machine() if rng.random() < share else reply(), "mixed")
                  for row in people],
    }  # fmt: skip
    return align(to_passages(people), {k: to_passages(rows) for k, rows in systems.items()})


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_the_power_that_planted_differences_state_is_the_observed_one(tmp_path, share):
    repetitions, stated, detected = 60, [], 0
    for seed in range(repetitions):
        run = run_of(tmp_path / str(seed), ["surface"], seed=seed)
        tables = Study(invented(300, share, seed), run).tables
        stated.append(power_of(tables, "surface", "machine", "human_machine", share, 0.05))
        detected += tables.two_sample_test("surface", "mixed", "human_machine").p_value < 0.05
    observed = detected / repetitions
    print(f"share {share}: stated power {np.mean(stated):.2f}, observed {observed:.2f}")
    error = np.sqrt(max(observed * (1 - observed), 0.05) / repetitions)
    assert np.mean(stated) == pytest.approx(observed, abs=0.1 + 2 * error)
