"""Load: `python -m tests.faults.load` runs what many do at once, and prints its figures.

endpoint 2 2000        requests to a server with 2 s latency and 30 % errors, 200 at once
cache 4 20000          processes that append to one scoring cache
annotators 20 60       people who annotate at the same time, for some seconds
passages 1000000       passages through `evaluate --limit 1000` and `score`, against a tenth
piles 1000000          conversations through an unpaired `evaluate --limit 1000`, against a tenth
"""

import asyncio
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from threading import Thread

import numpy as np
from aiohttp import web

from dialeval.responders.endpoint import EndpointResponder
from dialeval.scorers.cache import ScoreCache
from tests.conftest import talk
from tests.judgements.annotation import Client, Server, make_store

_EVALUATE = (
    "evaluate --human human.jsonl --system bot=bot.jsonl --limit 1000 --evaluator surface "
    "--folds 2 --seeds 1 --no-twins --no-length-matched --normalise off -o runs/{}"
)
_PILES = (
    "evaluate --human human.jsonl --system bot=bot.jsonl --role assistant --limit 1000 "
    "--evaluator surface --folds 2 --seeds 1 -o run"
)
_SCORE = "score -d length --data bot.jsonl -o scored.jsonl --device cpu"


def _serve(latency: float, failing: float, ready: list[int], counts: dict[str, int]) -> None:
    rng = random.Random(0)

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        await asyncio.sleep(latency)
        counts["requests"] = counts.get("requests", 0) + 1
        if rng.random() < failing:
            return web.json_response({"error": "busy"}, status=503)
        text = f"re: {body['messages'][-1]['content']}"
        return web.json_response({"choices": [{"message": {"content": text}}]})

    async def run() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        ready.append(site._server.sockets[0].getsockname()[1])
        await asyncio.Event().wait()

    asyncio.run(run())


def endpoint(latency: float = 2, contexts: int = 2000, failing: float = 0.3, at_once: int = 200):
    """Answer contexts through a server with errors.

    Args:
        latency (`float`):
            Seconds of a request.
        contexts (`int`):
            How many are sent.
        failing (`float`):
            Share of the requests that fail.
        at_once (`int`):
            Requests at once.

    Returns:
        `str`: One line of figures.
    """
    ready: list[int] = []
    counts: dict[str, int] = {}
    Thread(target=_serve, args=(latency, failing, ready, counts), daemon=True).start()
    while not ready:
        time.sleep(0.01)
    responder = EndpointResponder(
        f"http://127.0.0.1:{ready[0]}/v1", "load", concurrency=at_once, retries=20, backoff=0.1
    )
    passages = talk(int(contexts), 2)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    answers = list(responder.stream(passages))
    seconds = time.monotonic() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    expected = {i: f"re: {passage.context[-1].text}" for i, passage in enumerate(passages)}
    assert len(answers) == contexts and {i: a.response for i, a in answers} == expected
    ideal = latency * counts["requests"] / at_once
    return (
        f"endpoint: {contexts} contexts, {counts['requests']} requests, {failing:.0%} errors, "
        f"{latency:g} s, {at_once} at once: all answered once, {seconds:.1f} s, "
        f"{seconds / ideal:.2f} of the ideal {ideal:.1f} s, memory +{grown:.0f} MB"
    )


def cached_score(number: int) -> tuple[str, float]:
    """The key of a score, and its value, which needs all digits."""
    return ScoreCache.key("model", [number]), float(np.sin(number + 1))


def _append(path: Path, writer: int, writers: int, scores: int) -> None:
    cache = ScoreCache(path)
    numbers = [*range(writer, scores, writers), *range(scores // 10)]  # a tenth is written by all
    for start in range(0, len(numbers), 10_000):
        pairs = [cached_score(number) for number in numbers[start : start + 10_000]]
        cache.put([key for key, _ in pairs], np.array([score for _, score in pairs]))


def cache(writers: int = 4, scores: int = 200_000) -> str:
    """Append to one scoring cache from several processes; no score is lost or wrong.

    Args:
        writers (`int`):
            Processes.
        scores (`int`):
            Scores in all.

    Returns:
        `str`: One line of figures.
    """
    context = get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "cache.txt")
        processes = [
            context.Process(target=_append, args=(path, writer, writers, scores))
            for writer in range(writers)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        stored = ScoreCache(path)
        lost = sum(np.isnan(stored.get(key)) for key, _ in map(cached_score, range(scores)))
        wrong = sum(stored.get(k) != v for k, v in map(cached_score, range(scores))) - lost
    assert not lost and not wrong, f"{lost} lost, {wrong} wrong"
    return f"cache: {writers} writers, {scores} scores: none lost, none wrong"


def annotators(people: int = 20, seconds: float = 60) -> str:
    """Answer as fast as the page permits, all at once; every acknowledged answer is there, once.

    Args:
        people (`int`):
            Annotators at once.
        seconds (`float`):
            How long.

    Returns:
        `str`: One line of figures.
    """
    acknowledged: dict[str, list[str]] = {f"person {number}": [] for number in range(people)}
    times: list[float] = []

    def annotate(server: Server, name: str, deadline: float) -> None:
        client = Client(server).join(name)
        while time.monotonic() < deadline:
            item, start = client.item, time.monotonic()
            client.answer()
            assert client.status == 200, client.page
            times.append(time.monotonic() - start)
            acknowledged[name].append(item)

    with tempfile.TemporaryDirectory() as folder:
        store = make_store(Path(folder), count=2_000, per_item=people)
        server = Server(store.path, requests=10**9).start()
        deadline = time.monotonic() + seconds
        threads = [Thread(target=annotate, args=(server, n, deadline)) for n in acknowledged]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        server.stop()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        rows = [(row.annotator, row.item) for row in store.judgements()]
        expected = [
            (store.identities.pseudonym(name), item)
            for name, items in acknowledged.items()
            for item in items
        ]
    assert sorted(rows) == sorted(expected), f"{len(rows)} rows, {len(expected)} acknowledged"
    assert len(set(rows)) == len(rows)
    p50, p95 = np.quantile(times, [0.5, 0.95])
    cost = 1000 * (used.ru_utime + used.ru_stime) / len(rows)
    return (
        f"annotators: {people} at once for {seconds:g} s: {len(rows)} answers, none lost, none "
        f"twice; an answer and the next page took {p50:.2f} s (median), {p95:.2f} s (p95), "
        f"and {cost:.0f} ms of the server's CPU"
    )


def write_big(folder: Path, number: int) -> None:
    """Passages of a human and of a system, ten to a dialogue, line by line."""
    import json

    for name, author in (("human", "human"), ("bot", "bot")):
        rng = random.Random(name)
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for row in range(number):
                words = " ".join(f"w{rng.randrange(5000)}" for _ in range(rng.randrange(4, 16)))
                context = [{"speaker": "A", "text": f"so what about {row} then?"}]
                record = {
                    "id": f"d{row // 10}#{row % 10}", "dialogue_id": f"d{row // 10}",
                    "context": context, "response": words, "author": author,
                }  # fmt: skip
                file.write(json.dumps(record) + "\n")


def peak(argv: list[str], folder: Path) -> str:
    """The largest memory of a command, and its CPU seconds.

    Resident memory has the pages of mapped files too, which the system takes back when it needs
    them; anonymous memory is what the command holds.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "dialeval", *argv], cwd=folder,
        stdout=subprocess.DEVNULL, env={**os.environ, "DIALEVAL_QUIET": "1"},
    )  # fmt: skip
    anonymous, ended = 0.0, 0
    while not ended:
        anonymous = max(anonymous, _anonymous(process.pid))
        time.sleep(0.02)
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{argv}: exit {process.returncode}"
    cpu = used.ru_utime + used.ru_stime
    return f"{used.ru_maxrss / 1024:.0f} MB resident, {anonymous:.0f} MB anonymous, {cpu:.0f} CPU s"


def _anonymous(process: int) -> float:
    """Anonymous memory of a process in MB; 0 where the system does not say."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text("utf-8").splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) / 1024
    return 0.0


def write_conversations(folder: Path, number: int) -> None:
    """Conversations of six turns: of humans, and a tenth as many of a system."""
    import json

    for name, count in (("human", number), ("bot", max(number // 10, 1_000))):
        rng = random.Random(name)
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for row in range(count):
                messages = [
                    {
                        "role": ("user", "assistant")[turn % 2],
                        "content": " ".join(
                            f"w{rng.randrange(5000)}" for _ in range(rng.randrange(4, 16))
                        ),
                    }
                    for turn in range(6)
                ]
                file.write(json.dumps({"id": f"{name}-{row}", "messages": messages}) + "\n")


def piles(number: int = 300_000) -> str:
    """Evaluate two piles: what is held does not depend on the number of conversations.

    Args:
        number (`int`):
            Conversations; a tenth is measured first.

    Returns:
        `str`: Lines of figures.
    """
    lines = []
    for size in (number // 10, number):
        with tempfile.TemporaryDirectory() as name:
            write_conversations(Path(name), size)
            lines.append(f"piles: evaluate, {size:,}: {peak(_PILES.split(), Path(name))}")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def passages(number: int = 300_000) -> str:
    """Read many passages: the memory does not depend on their number.

    Args:
        number (`int`):
            Passages; a tenth is measured first.

    Returns:
        `str`: Lines of figures.
    """
    from dialeval.dialogues import Pairing, to_passages
    from dialeval.scorers import save_scorer
    from dialeval.scorers.baselines import LengthScorer

    lines = []
    for size in (number // 10, number):
        with tempfile.TemporaryDirectory() as name:
            folder, few = Path(name), to_passages(talk(20, 4))
            replies = to_passages([p.with_response("yes", "bot") for p in talk(20, 4)])
            pairs = Pairing("human_machine", seed=0)(few, replies)
            save_scorer(LengthScorer.fit(pairs), folder / "length")
            write_big(folder, size)
            for command in (_EVALUATE.format(size), _SCORE):
                words = command.split()
                lines.append(f"passages: {words[0]}, {size:,}: {peak(words, folder)}")
                print(lines[-1], flush=True)
    return "\n".join(lines)


PARTS: dict[str, Callable[..., str]] = {
    "endpoint": endpoint, "cache": cache, "annotators": annotators, "passages": passages,
    "piles": piles,
}  # fmt: skip


def main(words: list[str]) -> None:
    """Run one part with its numbers, or all."""
    chosen = [words] if words else [[name] for name in PARTS]
    for name, *numbers in chosen:
        arguments = []
        for text in numbers:
            with suppress(ValueError):
                arguments.append(int(text) if text.isdigit() else float(text))
        print(PARTS[name](*arguments), flush=True)


if __name__ == "__main__":
    import tests.conftest  # noqa: F401  # offline, with a fresh cache

    main(sys.argv[1:])
