"""One run of load in a process of its own, so that its CPU is its own: `python -m cli.bench.load` with a job on stdin.

`direct` reads the model's own stream as barely as can be: aiohttp, a line, orjson-fast JSON, the stamp. `ours` posts
messages and reads the answers' streams. Both take the time of each token from the stamp that the model wrote.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import time
from dataclasses import asdict, dataclass, field

import aiohttp
import orjson
import uvloop

from chassis import open_files

_STAMP = re.compile(rb"(\d+):(\d{9,}) ")


@dataclass
class Job:
    way: str
    url: str
    """The model's `/v1`, or the deployment."""
    streams: int
    tokens: int
    rate: float
    """Tokens a second and stream; 0: as fast as the reader takes them."""
    ramp: float
    """Seconds over which the streams begin."""
    threads: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """A token of its owner and a thread for each stream; none when direct."""
    turns: int = 1
    """Turns of each stream, one after the other in the same thread."""
    again_for: float = 0.0
    """Seconds in which a stream that has ended is begun again in a new thread, whatever `turns` says: in its old one
    the prompt would grow, and with it what a runner has to hold."""
    first_turn: int = 0
    """How many turns the threads already have."""

    @property
    def every(self) -> int:
        """Of how many tokens one's latency is kept, so that a run of minutes keeps no more than a million."""
        expected = self.streams * max(self.tokens * self.turns, self.rate * self.again_for)
        return int(expected // 1_000_000) + 1

    @property
    def steady(self) -> tuple[float, float]:
        """When all streams are open, in seconds from the beginning; an empty span if they never are."""
        settle = 1.0
        return self.ramp + settle, self.tokens / self.rate if self.rate else 0.0


@dataclass
class Result:
    complete: int = 0
    """Streams that ended as they should, with every token once and in order."""
    wrong: list[str] = field(default_factory=list[str])
    """What was wrong with the others, the first few."""
    tokens: int = 0
    busy: int = 0
    """How often a message was not taken at once (503) and sent again."""
    latencies: list[float] = field(default_factory=list[float])
    """Seconds from the model's stamp to the reader, of all tokens (or a share) but the first of each stream."""
    steady: list[float] = field(default_factory=list[float])
    """Those of them that came while all streams were open."""
    first: list[float] = field(default_factory=list[float])
    """Seconds from the request to the first token."""
    received: int = 0
    """Bytes of the streams' bodies."""
    cpu: float = 0.0
    """Seconds of CPU of this process while it read."""
    seconds: float = 0.0


class _Clock:
    """When the run began and, from that, the span in which all streams are open."""

    def __init__(self, job: Job) -> None:
        self.begun = time.monotonic()
        self.every = job.every
        begin, end = job.steady
        self.steady = self.begun + begin, self.begun + end

    @property
    def passed(self) -> float:
        return time.monotonic() - self.begun


class _Stream:
    """What one stream has brought."""

    def __init__(self, result: Result, clock: _Clock) -> None:
        self._result = result
        self._asked = time.monotonic()
        self._every = clock.every
        self._steady_from, self._steady_to = clock.steady
        self._next = 0
        self.fault = ""

    def token(self, number: int, stamp: int) -> None:
        now = time.monotonic_ns()
        if number != self._next:
            self.fault = self.fault or f"token {number} where {self._next} was due"
        if self._next == 0:
            self._result.first.append(now / 1e9 - self._asked)
        elif self._result.tokens % self._every == 0:
            latency = round((now - stamp) / 1e9, 6)
            self._result.latencies.append(latency)
            if self._steady_from < now / 1e9 < self._steady_to:
                self._result.steady.append(latency)
        self._next = number + 1
        self._result.tokens += 1

    def end(self, tokens: int, *, clean: bool) -> None:
        if self._next != tokens:
            self.fault = self.fault or f"{self._next} tokens of {tokens}"
        if not clean:
            self.fault = self.fault or "no clean end"
        if self.fault:
            self._result.wrong.append(self.fault)
        else:
            self._result.complete += 1


async def run(job: Job) -> Result:
    result = Result()
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None, sock_read=60)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as http:
        clock, cpu = _Clock(job), time.process_time()
        async with asyncio.TaskGroup() as group:
            for number in range(job.streams):
                group.create_task(_play(http, job, number, clock, result))
        result.seconds, result.cpu = clock.passed, time.process_time() - cpu
    return result


async def _play(http: aiohttp.ClientSession, job: Job, number: int, clock: _Clock, result: Result) -> None:
    # A whole token's time of jitter: streams that begin in step would all speak in the same instant.
    jitter = random.Random(number).random() / job.rate if job.rate else 0.0  # noqa: S311
    await asyncio.sleep(job.ramp * number / job.streams + jitter)
    read, turn = (_direct if job.way == "direct" else _ours), 0
    while turn < job.turns or clock.passed < job.again_for:
        try:
            if turn and job.again_for and job.way == "ours":
                job.threads[number] = await _new_thread(http, job, number)
            await read(http, job, number, job.first_turn + turn, _Stream(result, clock), result)
        except (aiohttp.ClientError, OSError, TimeoutError) as wrong:
            result.wrong.append(f"{type(wrong).__name__}: {wrong}")
            return
        turn += 1


async def _new_thread(http: aiohttp.ClientSession, job: Job, number: int) -> tuple[str, str]:
    token, _ = job.threads[number]
    headers = {"authorization": f"Bearer {token}"}
    async with http.post(f"{job.url}/api/threads", json={}, headers=headers) as made:
        made.raise_for_status()
        return token, (await made.json())["id"]


def wish(job: Job, number: int) -> str:
    """The message by which the scripted model knows what to play."""
    return f"Stream {number} [[stamp tokens={job.tokens} rate={job.rate:g}]]"


async def _direct(
    http: aiohttp.ClientSession, job: Job, number: int, _turn: int, stream: _Stream, _result: Result
) -> None:
    body = {"model": "scripted", "stream": True, "messages": [{"role": "user", "content": wish(job, number)}]}
    clean = False
    async with http.post(f"{job.url}/chat/completions", json=body) as answer:
        answer.raise_for_status()
        async for line in answer.content:
            if not line.startswith(b"data: "):
                continue
            if line.startswith(b"data: [DONE]"):
                clean = True
                continue
            choices = orjson.loads(line[6:])["choices"]
            text: str = (choices[0]["delta"].get("content") or "") if choices else ""
            if text:
                place, _, stamp = text.strip().partition(":")
                stream.token(int(place), int(stamp))
    stream.end(job.tokens, clean=clean)


async def _ours(http: aiohttp.ClientSession, job: Job, number: int, turn: int, stream: _Stream, result: Result) -> None:
    token, thread = job.threads[number]
    url = f"{job.url}/api/threads/{thread}/turn"
    headers = {"authorization": f"Bearer {token}", "idempotency-key": f"bench-{thread}-{turn}"}
    clean, rest = False, b""
    async with await _accepted(http, url, headers, wish(job, number), result) as answer:
        async for data in answer.content.iter_any():
            result.received += len(data)
            rest += data
            whole = rest.rfind(b"\n\n") + 2
            if whole < 2:
                continue
            for found in _STAMP.finditer(rest, 0, whole):
                stream.token(int(found[1]), int(found[2]))
            clean = clean or b"data: [DONE]" in rest
            rest = rest[whole:]
    stream.end(job.tokens, clean=clean)


async def _accepted(
    http: aiohttp.ClientSession, url: str, headers: dict[str, str], wish: str, result: Result
) -> aiohttp.ClientResponse:
    """The stream of a message; a server that is busy is asked again, as every client of ours does."""
    while True:
        answer = await http.post(url, json={"message": wish}, headers=headers)
        if answer.status != 503:
            answer.raise_for_status()
            return answer
        result.busy += 1
        answer.close()
        await asyncio.sleep(float(answer.headers.get("retry-after", "1")))


def main() -> None:
    """Read a job, run it, write its result."""
    job = Job(**json.loads(sys.stdin.readline()))
    open_files.allow_many()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        result = runner.run(run(job))
    result.wrong = result.wrong[:5]
    sys.stdout.write(json.dumps(asdict(result)))


if __name__ == "__main__":
    main()
