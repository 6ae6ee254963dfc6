"""Load: `python -m tests.faults.load` sends many requests to a slow server that often fails."""

import asyncio
import random
import resource
import sys
import time
from threading import Thread

from aiohttp import web

from dialeval.responders.endpoint import EndpointResponder
from tests.conftest import talk


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


def endpoint(latency: float, failing: float, concurrency: int, contexts: int) -> str:
    """Answer contexts through a server with errors.

    Args:
        latency (`float`):
            Seconds of a request.
        failing (`float`):
            Share of the requests that fail.
        concurrency (`int`):
            Requests at once.
        contexts (`int`):
            How many are asked.

    Returns:
        `str`: One line of figures.
    """
    ready: list[int] = []
    counts: dict[str, int] = {}
    Thread(target=_serve, args=(latency, failing, ready, counts), daemon=True).start()
    while not ready:
        time.sleep(0.01)
    responder = EndpointResponder(
        f"http://127.0.0.1:{ready[0]}/v1", "load", concurrency=concurrency, retries=20, backoff=0.1
    )
    passages = talk(contexts, 2)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    answers = list(responder.stream(passages))
    seconds = time.monotonic() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    expected = {i: f"re: {passage.context[-1].text}" for i, passage in enumerate(passages)}
    assert len(answers) == contexts and {i: a.response for i, a in answers} == expected
    ideal = latency * counts["requests"] / concurrency
    return (
        f"endpoint: {contexts} contexts, {counts['requests']} requests, {failing:.0%} errors, "
        f"{latency:g} s, {concurrency} at once: all answered once, {seconds:.1f} s, "
        f"{seconds / ideal:.2f} of the ideal {ideal:.1f} s, memory +{grown:.0f} MB"
    )


if __name__ == "__main__":
    latency, contexts = float(sys.argv[1]), int(sys.argv[2])
    print(endpoint(latency, 0.3, 200, contexts))
