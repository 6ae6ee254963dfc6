"""`dialeval audit` as a user types it, and its coverage on planted mixtures of real replies."""

import json
import random
import sys

import numpy as np
import pytest

from dialeval.commands import main
from dialeval.metrics.audit_results import KNOWN_ONLY, AuditResults
from dialeval.metrics.results import Result

WORDS = ["i", "you", "we", "it", "was", "nice", "and", "then", "maybe", "so", "to", "the", "old"]


def write_chats(path, count, machine, seed):
    rng = random.Random(seed)
    rows = []
    for number in range(count):
        talk = [rng.choice(WORDS) for _ in range(9)]
        extra = ["certainly", "delve"] if number < machine * count else []
        messages = [
            {"role": "user", "content": " ".join(rng.choice(WORDS) for _ in range(6))},
            {"role": "assistant", "content": " ".join([*extra, *talk])},
        ]
        row = {"id": f"{path.stem}-{number}", "messages": messages, "worker": f"w{number // 10}"}
        rows.append(json.dumps(row))
    path.write_text("\n".join(rows), "utf-8")


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["dialeval", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code


def test_an_audit_by_worker_from_chat_logs(monkeypatch, capsys, tmp_path):
    for name, share, seed in (("crowd", 0.25, 1), ("clean", 0, 2), ("bot", 1, 3)):
        write_chats(tmp_path / f"{name}.jsonl", 80, share, seed)
    options = ["--reference", "clean.jsonl", "--role", "assistant", "--seeds", 1, "-o", "out"]
    assert not run(
        monkeypatch, "audit", "crowd.jsonl", "--machine", "bot.jsonl", "--by", "worker", *options
    )
    printed = capsys.readouterr().out
    assert "are machine-written" in printed and "No group is an accusation" in printed
    results = AuditResults.load("out")
    assert results.results[0].low <= 0.25 <= results.results[0].high
    assert {group.name for group in results.groups if group.stands_out} == {"w0", "w1"}
    assert "cannot show" in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert not run(monkeypatch, "report", "out")
    assert run(monkeypatch, "audit", "crowd.jsonl", *options[2:]) == 2
    assert "--reference" in capsys.readouterr().err


@pytest.mark.shared
@pytest.mark.slow
def test_intervals_cover_planted_shares_of_real_replies(shared, tmp_path, monkeypatch):
    from benchmarks.results import audit as benchmark
    from dialeval.settings.audit import AuditRun

    monkeypatch.setattr(benchmark, "SHARED", shared)
    settings = AuditRun(output_dir=str(tmp_path), overwrite=True, seeds=1)
    for share in benchmark.SHARES:
        rows = benchmark.repeat("DSTC7, TeamB", share, 4, settings)
        errors = [item.results[0].value - truth for item, truth in rows]
        covered = [item.results[0].low <= truth <= item.results[0].high for item, truth in rows]
        assert sum(covered) >= 3 and abs(np.mean(errors)) < 0.03
    rows = benchmark.repeat("DSTC7, TeamB known, TeamG planted", 0.5, 4, settings)
    assert all(item.kind == KNOWN_ONLY for item, _ in rows)


def test_a_limit_on_a_share_points_one_way(tmp_path, monkeypatch, capsys):
    row = Result("machine_share", "data", "surface", 0.02, 0.0, 0.04, 80, "s", {"dialogues": 40})
    AuditResults(results=(row,)).save(tmp_path)
    assert not run(monkeypatch, "check", str(tmp_path), "--max", "machine_share=0.05")
    assert run(monkeypatch, "check", str(tmp_path), "--min", "machine_share=0.01") == 2
    assert "points the wrong way" in capsys.readouterr().err
