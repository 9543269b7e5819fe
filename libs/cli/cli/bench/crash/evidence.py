"""Gathers the world after a run: rows, messages, the log, the model's records, the marks of tools."""

# nats-py types its keyword arguments loosely.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import asdict
from typing import Any

from bus.connection import connect
from cli.bench.crash.crowd import Crowd, patiently
from cli.bench.crash.stage import Stage
from cli.bench.crash.world import Attempt, Call, LedgerRow, Logged, Mark, Served, Struck, Turn, World
from contracts.batches import unpack

_KEY = re.compile(r"^(\w+-\w+): ")
_READ_PATIENCE = 10.0
_MARKS = "marks"

_UNFINISHED = """
    select (select count(*) from turns where status in ('waiting', 'queued', 'running')) as turns,
        (select count(*) from outbox where sent_at is null) as outbox
"""
_TURNS = """
    select id, regexp_replace(idempotency_key, '^key:', '') as key, thread_id as thread, message_id as message,
        status, ended_by, epoch, recoveries,
        extract(epoch from accepted_at) as accepted_at, extract(epoch from ended_at) as ended_at from turns
"""
_ATTEMPTS = """
    select id, turn_id as turn, epoch, state, outcome, input_tokens, output_tokens, is_estimated,
        extract(epoch from started_at) as started_at, extract(epoch from ended_at) as ended_at
    from attempts order by started_at
"""
_CALLS = """
    select id, turn_id as turn, name, state, epoch, extract(epoch from started_at) as started_at,
        extract(epoch from done_at) as done_at from tool_calls
"""
_LEDGER = "select turn_id as turn, attempts, input_tokens, output_tokens, is_estimated from ledger"


async def quiet(stage: Stage, seconds: float) -> bool:
    """Whether nothing is unfinished any more, within so many seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        rows = await stage.rows(_UNFINISHED)
        if rows and not rows[0]["turns"] and not rows[0]["outbox"]:
            return True
        await asyncio.sleep(0.3)
    return False


async def gathered(stage: Stage, crowd: Crowd, struck: list[Struck]) -> World:
    unfinished = await _rows(stage, _UNFINISHED)
    return World(
        sent=crowd.sent,
        seen=crowd.seen,
        turns=[Turn(**row) for row in await _rows(stage, _TURNS)],
        attempts=[Attempt(**row) for row in await _rows(stage, _ATTEMPTS)],
        calls=[Call(**row) for row in await _rows(stage, _CALLS)],
        ledger=[LedgerRow(**row) for row in await _rows(stage, _LEDGER)],
        served=[_served(record) for record in await asyncio.to_thread(stage.served)],
        marks=_marks(stage),
        struck=sorted(struck, key=lambda each: each.at),
        stored=await _stored(crowd),
        log=await _log(stage),
        unsent=unfinished[0]["outbox"],
    )


def kept(stage: Stage, world: World) -> None:
    """For whoever looks for the reason of what went wrong."""
    path = stage.folder / "world.json"
    path.write_text(json.dumps(asdict(world), indent=1, default=lambda body: body.decode(errors="replace")))


async def _rows(stage: Stage, question: str) -> list[dict[str, Any]]:
    rows = await stage.rows(question)
    if rows is None:
        raise RuntimeError("Postgres does not answer at the end of the run")
    return rows


def _served(record: dict[str, Any]) -> Served:
    named = _KEY.match(record["user"])
    return Served(
        key=named[1] if named else record["user"][:40],
        at=record["at"],
        outcome=record["outcome"],
        input_tokens=len(str(record["messages"])) // 4,  # as the scripted model counts
        output_tokens=record["tokens"],
        text=record["text"],
    )


def _marks(stage: Stage) -> list[Mark]:
    path = stage.faults / _MARKS
    lines = path.read_text().splitlines() if path.exists() else []
    return [Mark(**json.loads(line)) for line in lines]


async def _stored(crowd: Crowd) -> dict[str, list[dict[str, Any]]]:
    stored: dict[str, list[dict[str, Any]]] = {}
    for thread, client in crowd.people.items():
        stored[thread] = await patiently(lambda thread=thread, client=client: client.messages(thread))
    return stored


async def _log(stage: Stage) -> dict[str, list[Logged]]:
    """Every batch of the log, with the broker's own time."""
    found: dict[str, list[Logged]] = {}
    client = await connect(stage.stack.nats_url(), "crash-evidence")
    try:
        js = client.jetstream()
        left = (await js.stream_info("LOG")).state.messages
        reading = await js.subscribe("log.*", stream="LOG", ordered_consumer=True)
        while left:
            message = await reading.next_msg(_READ_PATIENCE)
            batch = unpack(message.data)
            at = message.metadata.timestamp.timestamp()
            turn = message.subject.partition(".")[2]
            found.setdefault(turn, []).append(Logged(batch.id, batch.cut, batch.is_end, at, batch.body))
            left -= 1
    finally:
        await client.close()
    return found
