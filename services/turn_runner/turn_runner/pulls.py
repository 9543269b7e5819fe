"""Models that are being fetched into an Ollama: each once, however many look on, and on when nobody does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from chassis import logs
from contracts.rpc import PullProgress
from llm import ModelError
from llm.connections import Connections
from llm.ollama_pull import pull
from llm.provider import Provider

log = logs.get(__name__)

EVERY = 0.25
"""Seconds between two words of progress to one who looks on."""


class _Pull:
    """One model on its way. `progress` is the latest, `is_over` set by the last."""

    def __init__(self) -> None:
        self.progress = PullProgress(status="starting")
        self.is_over = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    async def run(self, provider: Provider, model: str, connections: Connections) -> None:
        try:
            async for each in pull(provider, model, connections):
                self.progress = PullProgress(status=each.status, completed=each.completed, total=each.total)
            log.info("model fetched", provider=provider.name, model=model)
        except ModelError as wrong:
            log.warning("model not fetched", provider=provider.name, model=model, reason=wrong.detail or wrong.text)
            self.progress = self._ended("error", wrong.text)
        except asyncio.CancelledError:
            self.progress = self._ended("stopped", None)
            raise
        finally:
            self.is_over.set()

    def _ended(self, status: str, error: str | None) -> PullProgress:
        now = self.progress
        return PullProgress(status=status, completed=now.completed, total=now.total, error=error)


class Pulls:
    """One per process."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._running: dict[tuple[Provider, str], _Pull] = {}

    async def follow(self, provider: Provider, model: str) -> AsyncGenerator[PullProgress]:
        """Its progress until the end, beginning it if nobody has; the end is `success`, `error` or `stopped`."""
        key = (provider, model)
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = _Pull()
            running.task = asyncio.create_task(running.run(provider, model, self._connections))
            running.task.add_done_callback(lambda _: self._running.pop(key, None))
        while True:
            yield running.progress
            if running.is_over.is_set():
                return
            try:
                async with asyncio.timeout(EVERY):
                    await running.is_over.wait()
            except TimeoutError:
                continue

    def stop(self, name: str, model: str) -> bool:
        """Ends what is being fetched under this provider's name; whether there was anything. What came so far stays."""
        found = [each for (provider, wanted), each in self._running.items() if (provider.name, wanted) == (name, model)]
        for each in found:
            if each.task is not None:
                each.task.cancel()
        return bool(found)

    async def aclose(self) -> None:
        tasks = [each.task for each in self._running.values() if each.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
