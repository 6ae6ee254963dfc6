"""The next command of a report: the command of the run, changed where it helps."""

import sys
from dataclasses import replace

import pytest

from dialeval.commands.console import command_line
from dialeval.metrics.evaluation_results import EvaluationResults, Verdict
from dialeval.reports.evaluation.next_step import next_step

GIVEN = (
    "dialeval evaluate --human people.jsonl --system bot='my replies.jsonl' --limit 100 -o runs/a"
)
VERDICT = Verdict("bot", "distinguishable", "", "svm", 0.9, 0.8, 0.95, 0.001, 0.55, 100)


def step(verdict: str, command: str = GIVEN, by_format: bool = False):
    settings = {"command": command, "output_dir": "runs/a"}
    results = EvaluationResults(results=(), settings=settings)
    return next_step(results, replace(VERDICT, verdict=verdict), by_format)


def test_a_new_version_is_added_to_the_same_run():
    command = step("distinguishable").command
    assert command.startswith(
        "dialeval evaluate --human people.jsonl --system 'bot=my replies.jsonl'"
    )
    assert command.endswith("-o runs/a --system bot-2=bot-2.jsonl")


def test_more_contexts_go_to_another_folder():
    command = step("inconclusive").command
    assert command.endswith("--limit 200 -o runs/a-2") and "-o runs/a " not in command
    without = step("inconclusive", GIVEN.replace("--limit 100 ", ""))
    assert "at least 200 contexts" in without.text and "--limit" not in without.command


def test_a_format_leak_is_removed_from_the_files_of_the_run():
    command = step("distinguishable", by_format=True).command
    assert command == "dialeval data leaks people.jsonl 'my replies.jsonl' --normalise"


def test_the_next_command_reads_the_files_as_the_run_did():
    given = f"{GIVEN} --role assistant --column text=said -k 3"
    reading = "--role assistant --column text=said -k 3"
    assert step("distinguishable", given, by_format=True).command.endswith(f"normalise {reading}")
    assert f"people.jsonl {reading} --from-run" in step("indistinguishable", given).command
    one_side = f"{GIVEN} --human-role agent"
    assert (
        "people.jsonl --human-role agent --from-run" in step("indistinguishable", one_side).command
    )
    assert step("distinguishable", one_side, by_format=True).command.endswith("--human-role agent")


@pytest.mark.parametrize("verdict", ["indistinguishable", "negligible"])
def test_people_are_asked_where_evaluators_find_little(verdict):
    assert step(verdict).command.startswith("dialeval annotate people.jsonl --from-run runs/a")


def test_without_a_known_command_names_of_files_are_examples():
    assert step("distinguishable", "").command == (
        "dialeval evaluate --human human.jsonl --system bot=bot.jsonl -o runs/a "
        "--system bot-2=bot-2.jsonl"
    )


def test_the_command_is_kept_without_what_only_changes_the_output(monkeypatch):
    words = ["evaluate", "--human", "a b.jsonl", "--format", "json", "--overwrite", "-o", "x"]
    monkeypatch.setattr(sys, "argv", ["/usr/bin/dialeval", *words])
    assert command_line() == "dialeval evaluate --human 'a b.jsonl' -o x"
    monkeypatch.setattr(sys, "argv", ["pytest", *words])
    assert command_line() == ""


def test_one_table_with_columns_gets_one_more_column():
    given = "dialeval evaluate --pairs qa.csv --human person --system bot=answer"
    assert step("distinguishable", given).command.endswith("--system bot-2=NEW_COLUMN")
    by_format = step("distinguishable", f"{given} -o runs/x", by_format=True)
    assert by_format.command == f"{given} -o runs/a-2" and "columns" in by_format.text
    columns = "--column context=context --column response=person"
    annotate = step("indistinguishable", given).command
    assert annotate.startswith(f"dialeval annotate qa.csv {columns} --from-run ")
