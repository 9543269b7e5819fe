"""Has pages read, each in a process of its own, a few at a time."""

from __future__ import annotations

import asyncio
import json
import sys

from chassis import logs, metrics
from turn_runner.pages.page import Page

log = logs.get(__name__)

_READ = metrics.counter("retinue_pages_read_total", "pages of the web turned into text, by outcome", ("outcome",))

_COMMAND = (sys.executable, "-I", "-m", "turn_runner.pages.child")


class Unreadable(Exception):
    """The page could not be read in the time and memory that a page gets."""


class PageReader:
    """`at_once` processes at most; each has `seconds` and is killed then, or when its asker is cancelled."""

    def __init__(self, *, at_once: int = 2, seconds: float = 6.0) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._seconds = seconds

    async def read(self, body: bytes, *, url: str, charset: str | None, selector: str | None, most: int) -> Page:
        """The page as text of at most `most` characters. Raises `Unreadable`."""
        wish = json.dumps({"url": url, "charset": charset, "selector": selector, "most": most}).encode()
        async with self._places:
            told = await self._ask(wish + b"\n" + body)
        _READ.labels(outcome="read").inc()
        return Page(**json.loads(told))

    async def _ask(self, said: bytes) -> bytes:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*_COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, env={})
        try:
            async with asyncio.timeout(self._seconds):
                told, complaint = await process.communicate(said)
        except TimeoutError:
            _READ.labels(outcome="timeout").inc()
            raise Unreadable(f"The page could not be read within {self._seconds:g} s.") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            _READ.labels(outcome="broke").inc()
            log.warning(
                "a page could not be read", status=process.returncode, said=complaint[-500:].decode(errors="replace")
            )
            raise Unreadable("The page is made in a way that cannot be read.")
        return told
