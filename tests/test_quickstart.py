"""Every command of docs/quickstart.md runs, on small files in the shapes that it speaks of."""

import csv
import json
import random
import re
import shlex
import sys
from pathlib import Path

import pytest

from dialeval.commands import main

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "quickstart.md").read_text("utf-8")
BLOCK = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)[0]
COMMANDS = [line for line in BLOCK.splitlines() if line.startswith("dialeval")]
FAST = ["--evaluator", "surface", "--folds", "2", "--seeds", "1", "--normalise", "off"]
SIZE = 44
WORDS = [
    "the",
    "dog",
    "a",
    "cat",
    "house",
    "runs",
    "old",
    "new",
    "blue",
    "tree",
    "maybe",
    "well",
    "train",
    "order",
    "screen",
    "card",
]


def sentence(draw: random.Random) -> str:
    return " ".join(draw.choices(WORDS, k=draw.randint(3, 8)))


def message(role, content):
    return {"role": role, "content": content}


def write_lines(name, records):
    Path(name).write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


def write_table(name, rows):
    with Path(name).open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """All files that the page names, in the working directory."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(0)
    questions = [f"{sentence(draw)} {n}?" for n in range(SIZE)]
    people = [sentence(draw) for _ in questions]
    bots = [f"As an AI, {sentence(draw)}." for _ in questions]
    opening = message("assistant", "Hi, how can I help?")
    for name, answers in (("agents.jsonl", people), ("bot.jsonl", bots)):
        write_lines(name, [
            {"id": str(n), "messages": [message("user", q), message("assistant", a),
                                        message("user", "thanks"), message("assistant", a[::-1])]}
            for n, (q, a) in enumerate(zip(questions, answers, strict=True))
        ])  # fmt: skip
    write_lines("requests.jsonl", [
        {"id": f"r{n}", "object": "response", "input": q, "output": [
            {"type": "message", **message("assistant", [{"type": "output_text", "text": a}])}]}
        for n, (q, a) in enumerate(zip(questions, bots, strict=True))
    ])  # fmt: skip
    write_lines("people.jsonl", [
        {"messages": [opening, message("user", text)]} for text in people
    ])  # fmt: skip
    simulations = [{"id": f"s{n}", "messages": [opening, message("user", text)]}
                   for n, text in enumerate(bots)]  # fmt: skip
    Path("results.json").write_text(json.dumps({"simulations": simulations}, indent=2))
    rows = list(zip(questions, people, bots, strict=True))
    write_table("qa.csv", [{"prompt": q, "person": h, "bot_answer": b} for q, h, b in rows])
    write_table("answers.csv", [{"prompt": q, "response": h} for q, h, _ in rows])
    write_lines("completions.jsonl", [{"prompt": q, "completion": b} for q, _, b in rows])
    write_lines("preferences.jsonl", [
        {"prompt": q, "chosen": h, "rejected": b} for q, h, b in rows
    ])  # fmt: skip
    write_table("any.csv", [{"question": q, "reply": h} for q, h, _ in rows])
    write_table("bot.csv", [{"question": q, "reply": b} for q, _, b in rows])
    for name, answers in (("turns.csv", people), ("other.csv", bots)):
        write_table(name, [
            {"ticket": n, "who": who, "said": text}
            for n, (q, a) in enumerate(zip(questions, answers, strict=True))
            for who, text in (("customer", q), ("agent", a))
        ])  # fmt: skip
    for folder, answers in (("real", people), ("simulated", bots)):
        Path(folder).mkdir()
        for n, (q, a) in enumerate(zip(questions, answers, strict=True)):
            Path(folder, f"{n}.txt").write_text(f"Host: {q}\nGuest: {a}\nHost: good\nGuest: {a}\n")


def test_the_page_has_a_command_for_every_kind_of_data():
    assert len(COMMANDS) == 11
    assert PAGE.index(COMMANDS[0]) < PAGE.index("##")


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_page_runs(line, files, monkeypatch, capsys):
    words = shlex.split(line)
    words += [*FAST, "-o", "run"] if words[1] == "evaluate" else ["--no-png"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert stop.value.code in (0, None), printed.err
    if words[1] == "evaluate":
        assert Path("run", "report.html").is_file()
        assert "Traceback" not in printed.err
