"""The shapes in which people have conversations, written as their tools write them."""

import csv
import io
import json
from dataclasses import dataclass
from typing import Any

QUESTIONS = ["my screen is black", "where is my order?", "can i pay by card?"]
ANSWERS = ["is it plugged in?", "it left on monday", "yes, at the door"]


@dataclass(frozen=True)
class Shape:
    """A file in one shape: how it is recognised, and the role of the answers in it."""

    name: str
    file: str
    content: Any
    format: str
    role: str | None = None  # whose turns ANSWERS are, where the file does not say


def lines(records: list[Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def table(rows: list[dict[str, Any]], delimiter: str = ",") -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def messages(question: str, answer: str, **more: Any) -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": "You are a clerk."},
        {"role": "user", "content": question},
        {"role": "assistant", "content": None,
         "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "{}"},
        {"role": "assistant", "content": answer, **more},
    ]  # fmt: skip


PAIRS = list(zip(QUESTIONS, ANSWERS, strict=True))
NUMBERED = list(enumerate(PAIRS))


def response_item(text: str) -> dict[str, Any]:
    return {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}]}  # fmt: skip


RESPONSES = [
    {"id": f"resp_{n}", "object": "response", "created_at": 1767222903, "status": "completed",
     "model": "gpt-5-mini", "previous_response_id": None, "instructions": "You are a clerk.",
     "input": [{"role": "user", "content": [{"type": "input_text", "text": question}]}],
     "output": [{"type": "reasoning", "id": "rs_1", "summary": []}, response_item(answer)],
     "usage": {"total_tokens": 40}}
    for n, (question, answer) in NUMBERED
]  # fmt: skip
COMPLETIONS = [
    {"request": {"model": "gpt-5-mini", "messages": messages(question, answer)[:-1]},
     "response": {"id": f"chatcmpl-{n}", "object": "chat.completion", "model": "gpt-5-mini",
                  "choices": [{"index": 0, "finish_reason": "stop",
                               "message": {"role": "assistant", "content": answer}}]}}
    for n, (question, answer) in NUMBERED
]  # fmt: skip
SHAREGPT = [
    {"id": f"g{n}", "conversations": [{"from": "human", "value": question},
                                      {"from": "gpt", "value": answer}]}
    for n, (question, answer) in NUMBERED
]  # fmt: skip
WILDCHAT = [
    {"conversation_hash": f"h{n}", "model": "gpt-4", "timestamp": "2023-04-09T00:02:53",
     "conversation": [{"content": question, "role": "user", "language": "English", "toxic": False},
                      {"content": answer, "role": "assistant", "language": "English"}],
     "turn": 1, "language": "English", "toxic": False, "redacted": False}
    for n, (question, answer) in NUMBERED
]  # fmt: skip
ALPACA = [
    {"instruction": question, "input": "", "output": answer, "text": f"### {question}"}
    for question, answer in PAIRS
]
PREFERENCES = [
    {"chosen": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}],
     "rejected": [{"role": "user", "content": question},
                  {"role": "assistant", "content": "I am an AI."}],
     "score_chosen": 8.5, "score_rejected": 2.0}
    for question, answer in PAIRS
]  # fmt: skip
TAU2 = {
    "timestamp": "2025-06-10T12:00:00", "info": {"git_commit": "abc", "num_trials": 1},
    "tasks": [{"id": "0", "description": {"purpose": None}, "user_scenario": {}}],
    "simulations": [
        {"id": f"s{n}", "task_id": "0", "trial": 0, "termination_reason": "user_stop",
         "messages": [
             {"role": "assistant", "content": "Hi! How can I help?", "tool_calls": None,
              "turn_idx": 0},
             {"role": "user", "content": question, "turn_idx": 1},
             {"role": "assistant", "content": None, "turn_idx": 2,
              "tool_calls": [{"id": "1", "name": "find", "arguments": {}}]},
             {"role": "tool", "id": "1", "content": "{}", "turn_idx": 3},
             {"role": "assistant", "content": answer, "turn_idx": 4}]}
        for n, (question, answer) in NUMBERED
    ],
}  # fmt: skip
SDIALOG = {
    "version": "0.3.0", "timestamp": "2025-08-01T10:00:00Z", "model": "qwen", "seed": 1, "id": 7,
    "parentId": None, "complete": True, "personas": {"Clerk": {"name": "Clerk"}}, "context": None,
    "scenario": None, "events": None, "notes": None,
    "turns": [
        {"speaker": speaker, "text": text}
        for question, answer in PAIRS
        for speaker, text in (("Guest", question), ("Clerk", answer))
    ],
}  # fmt: skip
LANGFUSE = [
    {"id": f"t{n}", "timestamp": "2025-10-01T09:00:00.000Z", "name": "chat", "userId": "u1",
     "sessionId": f"s{n}", "release": None, "version": None, "bookmarked": False, "tags": [],
     "input": {"messages": [{"role": "system", "content": "Be kind."},
                            {"role": "user", "content": question}]},
     "output": {"role": "assistant", "content": answer}, "metadata": {}, "latency": 1.2}
    for n, (question, answer) in NUMBERED
]  # fmt: skip
LANGFUSE_TABLE = [
    {**{key: record[key] for key in ("id", "timestamp", "name", "userId", "sessionId")},
     "input": json.dumps(record["input"]), "output": json.dumps(record["output"])}
    for record in LANGFUSE
]  # fmt: skip
LANGSMITH = [
    {"id": f"r{n}", "name": "ChatOpenAI", "run_type": "llm", "start_time": "2025-10-01T09:00:00",
     "inputs": {"messages": [[{"lc": 1, "type": "constructor",
                               "id": ["langchain", "schema", "messages", "HumanMessage"],
                               "kwargs": {"content": question, "type": "human"}}]]},
     "outputs": {"generations": [[{"text": answer, "type": "ChatGeneration", "message": {
         "lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"],
         "kwargs": {"content": answer, "type": "ai", "tool_calls": []}}}]]},
     "session_id": "p1", "trace_id": f"r{n}", "parent_run_id": None, "error": None,
     "extra": {"metadata": {"thread_id": f"th{n}"}}}
    for n, (question, answer) in NUMBERED
]  # fmt: skip
TURN_ROWS = [
    {"conversation_id": f"c{n}", "speaker": speaker, "text": text}
    for n, (question, answer) in NUMBERED
    for speaker, text in (("customer", question), ("agent", answer))
]
OTHER_NAMES = [
    {"ticket": row["conversation_id"], "who": row["speaker"], "said": row["text"]}
    for row in TURN_ROWS
]
TRANSCRIPT = "\n\n".join(f"Customer: {q}\nAgent: {a}" for q, a in PAIRS) + "\n"
WHATSAPP = (
    "12/30/25, 9:15\u202fAM - Messages and calls are end-to-end encrypted. Tap to learn more.\n"
    + "".join(
        f"12/{28 + n}/25, 9:1{n}\u202fAM - Ann: {question}\n"
        f"12/{28 + n}/25, 9:2{n}\u202fAM - Shop Assistant: <Media omitted>\n"
        f"12/{28 + n}/25, 9:2{n}\u202fAM - Shop Assistant: {answer}\n"
        for n, (question, answer) in NUMBERED
    )
)
IPHONE = "".join(
    f"[{28 + n}/12/2025, 22:1{n}:03] Ann: {question}\n"
    f"\u200e[{28 + n}/12/2025, 22:2{n}:09] Shop: {answer}\n"
    for n, (question, answer) in NUMBERED
)
SLACK = [
    message
    for n, (question, answer) in NUMBERED
    for message in (
        {"type": "message", "user": "U1", "text": question, "ts": f"{1767222903 + n * 90000}.0001"},
        {"type": "message", "user": "U2", "text": answer, "ts": f"{1767222963 + n * 90000}.0002",
         "user_profile": {"real_name": "Shop"}},
        {"type": "message", "subtype": "channel_join", "user": "U3", "text": "joined",
         "ts": f"{1767222983 + n * 90000}.0003"},
    )
]  # fmt: skip
TELEGRAM = {
    "name": "Shop", "type": "personal_chat", "id": 12,
    "messages": [
        {"id": 2 * n + at, "type": "message", "date": f"2025-12-{10 + n}T10:0{at}:00",
         "from": name, "from_id": f"user{at}", "text": text, "text_entities": []}
        for n, pair in NUMBERED
        for at, (name, text) in enumerate(zip(("Ann", "Shop"), pair, strict=True))
    ],
}  # fmt: skip
CHAT = [
    {"id": f"c{n}", "messages": messages(question, answer)} for n, (question, answer) in NUMBERED
]
PROMPTS = [{"prompt": question, "completion": answer} for question, answer in PAIRS]

SHAPES = [
    Shape("OpenAI messages", "chat.jsonl", lines(CHAT), "chat"),
    Shape("one printed object", "one.json", json.dumps(CHAT[0], indent=2), "chat"),
    Shape("OpenAI Responses", "responses.jsonl", lines(RESPONSES), "requests"),
    Shape("requests with answers", "requests.jsonl", lines(COMPLETIONS), "requests"),
    Shape("ShareGPT", "sharegpt.json", json.dumps(SHAREGPT, indent=2), "chat"),
    Shape("WildChat", "wildchat.jsonl", lines(WILDCHAT), "chat"),
    Shape("prompt and completion", "prompts.jsonl", lines(PROMPTS), "prompts"),
    Shape("prompt and response", "prompts.csv",
          table([{"prompt": q, "response": a} for q, a in PAIRS]), "csv"),
    Shape("Alpaca", "alpaca.json", json.dumps(ALPACA, indent=4), "prompts"),
    Shape("TRL preferences", "preferences.jsonl", lines(PREFERENCES), "preferences"),
    Shape("tau2-bench", "results.json", json.dumps(TAU2, indent=4), "tau2", "assistant"),
    Shape("SDialog", "dialog.json", json.dumps(SDIALOG, indent=2), "sdialog", "Clerk"),
    Shape("Langfuse", "traces.json", json.dumps(LANGFUSE), "langfuse"),
    Shape("Langfuse CSV", "traces.csv", table(LANGFUSE_TABLE), "langfuse"),
    Shape("LangSmith", "runs.jsonl", lines(LANGSMITH), "langsmith"),
    Shape("one turn a row", "turns.csv", table(TURN_ROWS), "turns", "agent"),
    Shape("one turn a line", "turns.jsonl", lines(TURN_ROWS), "turns", "agent"),
    Shape("transcript", "talk.txt", TRANSCRIPT, "speakers", "Agent"),
    Shape("WhatsApp", "chat.txt", WHATSAPP, "messenger", "Shop Assistant"),
    Shape("WhatsApp on iPhone", "_chat.txt", IPHONE, "messenger", "Shop"),
    Shape("Slack", "2026-01-01.json", json.dumps(SLACK, indent=4), "slack", "Shop"),
    Shape("Telegram", "result.json", json.dumps(TELEGRAM, indent=1), "message-list", "Shop"),
]  # fmt: skip
