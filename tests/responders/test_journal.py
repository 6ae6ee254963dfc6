"""Runs that write as they go: stopped anywhere, they end with the same file."""

import json
import os
import random
import subprocess
import sys
from dataclasses import replace

import pytest
from accelerate import Accelerator

from dialeval.dialogues import BadInput, Turn, read, write_passages
from dialeval.responders import HYPOTHESIS, answer
from dialeval.responders.journal import generate


class Echo:
    """Answers with what it hears, several times, in an order of its own."""

    name = "echo"

    def __init__(self, copies=1, stop_after=None, error=KeyboardInterrupt, mark=""):
        self.copies, self.stop_after, self.error, self.mark = copies, stop_after, error, mark
        self.requests = 0

    @property
    def signature(self):
        return f"echo|n:{self.copies}{self.mark}"

    def stream(self, passages):
        order = list(range(len(passages)))
        random.Random(len(passages)).shuffle(order)
        for index in order:
            for copy in range(self.copies):
                if self.stop_after is not None and self.requests >= self.stop_after:
                    raise self.error("stopped")
                self.requests += 1
                extra = {HYPOTHESIS: copy} if self.copies > 1 else {}
                text = f"{copy}: {passages[index].context[-1].text} \u2028 <b>"
                yield index, answer(passages[index], text, self, **extra)


@pytest.fixture
def contexts():
    from tests.conftest import talk

    return talk(dialogues=5, turns=4)


def lines(path):
    return path.read_text(encoding="utf-8")


def test_answers_stand_in_the_order_of_the_contexts(contexts, tmp_path):
    done = generate(Echo(copies=2), contexts, tmp_path / "out.jsonl")
    assert (done.contexts, done.answers, done.already_done) == (15, 30, 0)
    back, _ = read(tmp_path / "out.jsonl")
    assert back["id"][:] == [passage.id for passage in contexts for _ in range(2)]
    assert [text[0] for text in back["response"]] == ["0", "1"] * 15
    assert set(back["author"]) == {"echo"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "out.jsonl.run.json"]


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("stop_after", [0, 1, 2, 7, 14])
def test_a_stopped_run_goes_on_and_ends_with_the_same_file(contexts, tmp_path, copies, stop_after):
    generate(Echo(copies), contexts, tmp_path / "whole.jsonl")
    output = tmp_path / "parts.jsonl"
    with pytest.raises(KeyboardInterrupt):
        generate(Echo(copies, stop_after), contexts, output)
    assert not output.exists()
    again = Echo(copies)
    done = generate(again, contexts, output)
    assert lines(output) == lines(tmp_path / "whole.jsonl")
    # Contexts are done when the next one has begun; only what was begun is asked again.
    assert done.already_done >= (stop_after - 1) // copies
    assert again.requests == (15 - done.already_done) * copies


def test_what_was_finished_before_a_failure_is_kept(contexts, tmp_path):
    with pytest.raises(BadInput, match="stopped"):
        generate(Echo(stop_after=6, error=BadInput), contexts, tmp_path / "out.jsonl")
    done = generate(Echo(), contexts, tmp_path / "out.jsonl")
    assert done.already_done == 6


def test_a_torn_line_is_asked_again(contexts, tmp_path):
    generate(Echo(), contexts, tmp_path / "whole.jsonl")
    output = tmp_path / "parts.jsonl"
    with pytest.raises(KeyboardInterrupt):
        generate(Echo(stop_after=5), contexts, output)
    journal = tmp_path / ".parts.jsonl.0.journal"
    journal.write_bytes(journal.read_bytes()[:-9])
    done = generate(Echo(), contexts, output)
    assert done.already_done == 3  # of 4 whole lines, one is torn
    assert lines(output) == lines(tmp_path / "whole.jsonl")


def test_a_finished_run_is_not_done_again(contexts, tmp_path):
    generate(Echo(copies=2), contexts, tmp_path / "out.jsonl")
    before = lines(tmp_path / "out.jsonl")
    again = Echo(copies=2)
    done = generate(again, contexts, tmp_path / "out.jsonl")
    assert (again.requests, done.already_done, done.answers) == (0, 15, 30)
    assert lines(tmp_path / "out.jsonl") == before


@pytest.mark.parametrize("what", ["responder", "contexts", "speakers", "a foreign file"])
def test_another_run_is_refused_and_can_be_replaced(contexts, tmp_path, what):
    output = tmp_path / "out.jsonl"
    if what == "a foreign file":
        output.write_text("precious\n")
    else:
        generate(Echo(), contexts, output)
    before = lines(output)
    other = Echo(mark="|hotter") if what == "responder" else Echo()
    some = contexts[:-1] if what == "contexts" else contexts
    if what == "speakers":  # they decide who is the user and who the assistant
        swapped = tuple(Turn("other", turn.text) for turn in contexts[0].context)
        some = [replace(contexts[0], context=swapped), *contexts[1:]]
    with pytest.raises(BadInput, match="--overwrite"):
        generate(other, some, output)
    assert lines(output) == before
    generate(other, some, output, overwrite=True)
    assert len(lines(output).strip().split("\n")) == len(some)


def test_a_journal_of_another_run_is_refused(contexts, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        generate(Echo(stop_after=4), contexts, tmp_path / "out.jsonl")
    with pytest.raises(BadInput, match="another run"):
        generate(Echo(mark="|hotter"), contexts, tmp_path / "out.jsonl")


def test_no_contexts_say_so(tmp_path):
    with pytest.raises(BadInput, match="no context"):
        generate(Echo(), [], tmp_path / "out.jsonl")


def test_what_a_responder_knows_is_written(contexts, tmp_path):
    class Thief(Echo):
        def stream(self, passages):
            for index, passage in super().stream(passages):
                extra = {**passage.extra, "cut": True}
                yield index, replace(passage, source_dialogue_id="t9", extra=extra)

    generate(Thief(), contexts, tmp_path / "out.jsonl")
    record = json.loads(lines(tmp_path / "out.jsonl").strip().split("\n")[0])
    assert record["source_dialogue_id"] == "t9"
    assert record["cut"] is True


def test_one_process_writes_what_a_run_without_accelerate_does(contexts, tmp_path):
    generate(Echo(copies=2), contexts, tmp_path / "plain.jsonl")
    generate(Echo(copies=2), contexts, tmp_path / "launched.jsonl", Accelerator(cpu=True))
    assert lines(tmp_path / "launched.jsonl") == lines(tmp_path / "plain.jsonl")


def test_processes_share_the_contexts(human, tmp_path):
    write_passages(human, tmp_path / "talk.jsonl")
    launcher = [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0"]
    launcher += ["--num_processes", "2", "--multi_gpu"]
    command = ["-m", "dialeval", "generate", "--responder", "parrot", "--data", "talk.jsonl"]
    done = subprocess.run(
        [*launcher, *command, "--output", "out.jsonl", "--device", "cpu"],
        cwd=tmp_path,
        env={**os.environ, "ACCELERATE_USE_CPU": "true"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    records = [json.loads(line) for line in lines(tmp_path / "out.jsonl").strip().split("\n")]
    assert [record["id"] for record in records] == human["id"][:]
    assert all(
        record["response"] in [turn["content"] for turn in record["context"]] for record in records
    )
    assert not list(tmp_path.glob(".*journal"))
