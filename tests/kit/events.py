"""An open page: what `/api/events` tells one user, read as it comes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp


@dataclass
class EventPage:
    """`told` is everything so far, each as its kind and what it says; `ended` once the server has ended it well."""

    told: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    def of(self, kind: str, **about: str) -> list[dict[str, Any]]:
        return [said for name, said in self.told if name == kind and about.items() <= said.items()]

    def statuses(self, turn_id: str) -> list[str]:
        return [said["status"] for said in self.of("turn", turn_id=turn_id)]

    async def until(self, kind: str, count: int = 1, seconds: float = 20, **about: str) -> None:
        """Waits until so many have said so."""
        try:
            async with asyncio.timeout(seconds):
                while len(self.of(kind, **about)) < count:
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError:
            raise AssertionError(f"no {count} × {kind} {about} in {seconds} s, but {self.told}") from None

    async def read(self, answer: aiohttp.ClientResponse) -> None:
        kind = ""
        async for line in answer.content:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "event":
                kind = value
            elif name == "data":
                self.told.append((kind, json.loads(value)))
                self._more.set()
        self.ended.set()


@asynccontextmanager
async def event_page(url: str, token: str) -> AsyncIterator[EventPage]:
    """Connected, and told `sync`."""
    headers = {"authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=None)) as http:
        async with http.get(f"{url}/api/events") as answer:
            assert answer.status == 200, await answer.text()
            assert answer.headers["content-type"] == "text/event-stream"
            page = EventPage()
            reading = asyncio.create_task(page.read(answer))
            try:
                await page.until("sync")
                yield page
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
