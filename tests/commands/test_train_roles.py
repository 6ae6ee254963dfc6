"""Training reads chat logs by role, too."""

import pytest

CHAT = [
    {"id": str(n), "messages": [
        {"role": role, "content": f"{role} says {word} {n}"}
        for word in ("one", "two", "three") for role in ("user", "assistant")]}
    for n in range(200)
]  # fmt: skip


@pytest.mark.parametrize("command", ["train", "train-generator"])
def test_a_chat_log_needs_a_role(command, run, write):
    code, _, err = run(command, "--data", write("log.jsonl", CHAT))
    assert code == 2
    assert "could be those of assistant (600 turns) or user (400 turns)" in err


def test_a_role_is_trained_on(run, write):
    code, out, err = run("train", "--data", write("log.jsonl", CHAT), "--role", "assistant",
                         "--model", "svm-response", "--output-dir", "svm")  # fmt: skip
    assert code == 0, err
    assert "svm-response" in out
