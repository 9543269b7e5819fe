"""A model that says a lot at once: what the scripted one says word by word, this one says in megabytes.

It runs in the test's own loop and is told by the message what to say, in JSON:

    {"deltas": 1000, "size": 1000}                  so many pieces of text, so many characters each
    {"before": "x", "event": 33000000}              one event of so many bytes
    {"whole": 33000000}                             an answer in one piece, not a stream
    {"tool": "pour", "input": {...}}                a call; after its result it says "Done."
    {"tool": "pour", "pieces": 33, "size": 1000000} a call whose arguments are so many pieces of so many characters
    {"beats": 100, "every": 0.05}                   the monotonic clock, so often
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

ALPHABET = "abcdefghij klmnopqrs tuvwxyz äöü €"


def said(number: int, size: int) -> str:
    """The text of a piece: other words in each, and now and then a character of several bytes."""
    return f"{number}:{ALPHABET * (size // len(ALPHABET) + 1)}"[:size]


@asynccontextmanager
async def wide_model() -> AsyncGenerator[str]:
    """Yields what OPENAI_BASE_URL takes; the model's name is `openai/wide`."""
    app = web.Application(client_max_size=64 << 20)
    app.router.add_post("/v1/chat/completions", _answer)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    yield f"http://127.0.0.1:{port}/v1"
    await runner.cleanup()


async def _answer(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    last = body["messages"][-1]
    wish = {"deltas": 1, "size": 5} if last["role"] == "tool" else _wish(last["content"])
    if size := wish.get("whole"):
        message = {"role": "assistant", "content": "x" * size}
        return web.json_response({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    try:
        await _say(response, wish)
    except (ConnectionError, asyncio.CancelledError):
        return response  # the client has heard enough
    return response


def _wish(content: Any) -> dict[str, Any]:
    text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    return json.loads(text)


async def _say(response: web.StreamResponse, wish: dict[str, Any]) -> None:
    reason = "stop"
    if "event" in wish:
        await _chunk(response, {"content": wish.get("before", "x")})
        await response.write(b'data: {"choices":[{"index":0,"delta":{"content":"')
        for start in range(0, wish["event"], 1_000_000):
            await response.write(b"y" * min(1_000_000, wish["event"] - start))
        await response.write(b'"}}]}\n\n')
    elif "tool" in wish:
        reason = "tool_calls"
        await _call(response, wish)
    elif "beats" in wish:
        for _ in range(wish["beats"]):
            await _chunk(response, {"content": f"{time.monotonic_ns()} "})
            await asyncio.sleep(wish["every"])
    else:
        for number in range(wish["deltas"]):
            await _chunk(response, {"content": said(number, wish["size"])})
    await _chunk(response, {}, reason)
    await response.write(b"data: [DONE]\n\n")


async def _call(response: web.StreamResponse, wish: dict[str, Any]) -> None:
    call = {"index": 0, "id": "wide-1", "type": "function", "function": {"name": wish["tool"], "arguments": ""}}
    await _chunk(response, {"tool_calls": [call]})
    pieces = [json.dumps(wish.get("input", {}))]
    if "pieces" in wish:
        pieces = ['{"note": "', *("z" * wish["size"] for _ in range(wish["pieces"])), '"}']
    for piece in pieces:
        await _chunk(response, {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})


async def _chunk(response: web.StreamResponse, delta: dict[str, Any], reason: str | None = None) -> None:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    await response.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")
