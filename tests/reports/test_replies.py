"""Every reply of a run on its page: with scores, escaped, and below five megabytes."""

import pyarrow as pa
import pyarrow.parquet as parquet

from dialeval.reports.evaluation import write_report
from dialeval.reports.evaluation.replies import Replies, read_replies, reply_views
from tests.reports.invented import NASTY, Page, invent


def reply(key: str, text: str = "yes", turns: int = 8) -> dict:
    context = [f"turn {number}" for number in range(turns)]
    return {"id": key, "system": "bot", "context": context, "human": "no", "response": text,
            "cut": key == "1"}  # fmt: skip


def test_a_reply_has_the_decisions_of_every_evaluator():
    scores = {("bot", "svm", False, "1"): (0.25, False), ("bot", "svm", True, "1"): (0.5, True)}
    view = reply_views(Replies([reply("1"), reply("2")], scores, ["svm"]), {"bot": 1})
    first, second = view["items"]
    assert first["scores"] == [("svm", ".25", "machine")] and first["correct"] == "1"
    assert first["human_scores"] == [("svm", ".50", "human")] and first["cut"]
    assert second["correct"] == "-" and second["earlier"] == 2
    assert (view["shown"], view["total"]) == (2, 2)


def test_a_large_run_is_sampled_and_the_page_says_so(tmp_path):
    invent(tmp_path)
    scores = parquet.read_table(tmp_path / "scores.parquet")
    scores = scores.append_column("id", pa.array([str(n) for n in range(len(scores))]))
    parquet.write_table(scores, tmp_path / "scores.parquet")
    rows = [reply(str(n), "<script>alert(1)</script> " * 30) for n in range(4_000)]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "replies.parquet")
    path = write_report(tmp_path)
    page = Page(path)
    assert path.stat().st_size < 5_000_000 and page.tags.count("script") == 1
    assert "of 4,000 contexts, drawn at random" in page.text
    assert "<script>alert(1)</script>" in page.text and NASTY not in page.script


def test_a_run_of_an_earlier_version_has_no_such_file(tmp_path):
    assert read_replies(tmp_path) == Replies()
