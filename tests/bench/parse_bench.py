"""CPU per chunk of the fast path, beside a bare parse (aiohttp, orjson, split, nothing else) of the same stream.

    .venv/bin/python tests/bench/parse_bench.py [--tokens 20000] [--streams 100 --rate 20 --seconds 10]

Two ways: one stream as fast as it goes (many events per read: the cost of parsing), and many paced streams (one event
per read: the cost of the event loop is in it too). The model runs in a process of its own and is not counted.
"""

import argparse
import asyncio
import sys
import time
from pathlib import Path

import aiohttp
import orjson
import uvloop

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from llm import Models, ModelSettings, Request, TextDelta, User
from tests.kit.model import ScriptedModel


async def bare(session: aiohttp.ClientSession, url: str, words: str) -> int:
    """The least that any client must do: the text of each delta."""
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": words}]}
    said = 0
    async with session.post(f"{url}/chat/completions", json=body) as response:
        rest = b""
        while data := await response.content.readany():
            *events, rest = (rest + data).split(b"\n\n")
            for event in events:
                if event == b"data: [DONE]":
                    continue
                choices = orjson.loads(event[6:])["choices"]
                if choices and choices[0]["delta"].get("content"):
                    said += 1
    return said


async def ours(models: Models, words: str) -> int:
    """The same through `llm`."""
    said = 0
    async with models.resolve().call(Request((User(words),))) as call:
        async for events in call.stream():
            for event in events:
                if type(event) is TextDelta:
                    said += 1
    return said


async def measure(url: str, tokens: int, streams: int, rate: float, seconds: float) -> None:
    models = Models(ModelSettings("openai/m", url))
    fast = f"[[tokens={tokens}]]"
    paced = f"[[tokens={int(rate * seconds)} rate={rate}]]"
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await bare(session, url, "[[tokens=100]]")
        await ours(models, "[[tokens=100]]")
        for name, words, count in (("full speed", fast, 1), ("paced", paced, streams)):
            for round_number in range(3):
                for kind, play in (("bare", lambda w: bare(session, url, w)), ("ours", lambda w: ours(models, w))):
                    begun = time.process_time()
                    said = sum(await asyncio.gather(*(play(f"{i} {words}") for i in range(count))))
                    cpu = time.process_time() - begun
                    figure = f"{cpu / said * 1e6:6.2f} µs CPU a chunk ({said} chunks)"
                    print(f"{name:10} round {round_number + 1} {kind}: {figure}")
    await models.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--rate", type=float, default=20)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--asyncio", action="store_true", help="without uvloop")
    given = parser.parse_args()
    with (
        ScriptedModel.started() as model,
        asyncio.Runner(loop_factory=None if given.asyncio else uvloop.new_event_loop) as runner,
    ):
        runner.run(measure(model.url, given.tokens, given.streams, given.rate, given.seconds))


if __name__ == "__main__":
    main()
