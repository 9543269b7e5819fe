"""Drives the unmodified AI SDK client of tests/contract/js/client.mjs: pages that send, watch, reload and stop.

async with SdkClients() as clients:
    page = await clients.open("7", base_url, chat="abc", token=token)
    await page.send("Hello")
    state = await page.wait(status="ready")
"""

import asyncio
import itertools
import json
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from tests.kit import javascript

LINE_BYTES = 64 * 1024 * 1024
ANSWER_SECONDS = 90.0


@dataclass(frozen=True)
class PageState:
    status: str
    error: str | None
    messages: list[dict[str, Any]]

    @property
    def text(self) -> str:
        """The text of the last message."""
        parts = self.messages[-1]["parts"] if self.messages else []
        return "".join(part["text"] for part in parts if part["type"] == "text")


@dataclass(frozen=True)
class Page:
    """One browser window, as far as the SDK is concerned."""

    clients: "SdkClients"
    name: str

    async def send(self, text: str) -> None:
        await self._do("send", text=text)

    async def resume(self) -> None:
        await self._do("resume")

    async def wait(self, *, status: str | None = None, text: str | None = None, seconds: float = 10) -> PageState:
        """Until the chat has this status and its last message holds this text; raises `AssertionError` if never."""
        wanted = {"status": status, "text": text}
        given = {name: value for name, value in wanted.items() if value is not None}
        return PageState(**await self._do("wait", seconds=seconds, **given))

    async def state(self) -> PageState:
        return PageState(**await self._do("state"))

    async def stop(self) -> dict[str, Any]:
        """Asks the server to end the answer: `{status, body}` of its reply."""
        return await self._do("stop")

    async def close(self) -> None:
        await self._do("close")

    async def _do(self, command: str, **more: Any) -> Any:
        return await self.clients.do(command, window=self.name, **more)


class SdkClients:
    """One Node process with any number of pages. Skips the test if npm cannot install the SDKs."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}

    async def __aenter__(self) -> "SdkClients":
        folder = await asyncio.to_thread(javascript.sdks)
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            javascript.node(), "client.mjs", cwd=folder, stdin=pipe, stdout=pipe, limit=LINE_BYTES
        )
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), 5)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        await self._reading

    async def open(
        self,
        sdk: str,
        base: str,
        *,
        chat: str,
        token: str | None = None,
        messages: list[dict[str, Any]] | None = None,
    ) -> Page:
        """A page is loaded on this chat; `messages` is the history that its server gave it."""
        page = Page(self, f"window-{next(self._ids)}")
        await self.do("open", window=page.name, sdk=sdk, base=base, chat=chat, token=token, messages=messages or [])
        return page

    async def do(self, command: str, **more: Any) -> Any:
        assert self._process.stdin is not None
        number = next(self._ids)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._process.stdin.write(json.dumps({"id": number, "do": command, **more}).encode() + b"\n")
        return await asyncio.wait_for(answer, ANSWER_SECONDS)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            answer = json.loads(line)
            future = self._waiting.pop(answer["id"])
            if future.done():
                continue
            if "error" in answer:
                future.set_exception(AssertionError(answer["error"]))
            else:
                future.set_result(answer["ok"])
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(AssertionError("the SDK client has ended"))
