"""The life of a service process: settings, logs, loop, connections, readiness, serve, ordered stop.

A composition root is `async def compose(service)` and a line `run(Settings, compose)`. What is started last is stopped
first; everything stops within the grace time, and a second signal ends the patience at once. SIGUSR1 asks for the same
stop with the longer grace of a drain: another process already does our work, so that there is time to hand over.

Exit codes: 0 stopped when asked, 1 a part died, 69 a server was unreachable, 78 the settings are wrong.
"""

from __future__ import annotations

import asyncio
import gc
import random
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

import uvloop

from chassis import faults, health, http, logs, metrics, open_files, tracing
from chassis.errors import Misconfigured, Unreachable
from chassis.settings import ServiceSettings

S = TypeVar("S", bound=ServiceSettings)
T = TypeVar("T")
Compose = Callable[["Service[S]"], Awaitable[None]]

STOPPED, DIED, UNREACHABLE, MISCONFIGURED = 0, 1, 69, 78
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
_ATTEMPT = 5.0
_TOO_LATE = 0.2  # seconds that each stopper still gets after the grace is over

log = logs.get(__name__)


@dataclass
class _Stopper:
    name: str
    stop: Callable[[], Awaitable[object]]


class Service(Generic[S]):
    """What a composition root works with: the settings, readiness, and ways to start, connect and stop things."""

    def __init__(self, settings: S) -> None:
        self.settings = settings
        self.ready = health.Readiness(settings.readiness_timeout)
        self.ready.hold("start", "starting")
        self.stopping = asyncio.Event()
        self.health_port = 0
        self._stoppers: list[_Stopper] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._dead: asyncio.Task[Any] | None = None
        self._is_draining = False
        self._stop_by = float("inf")
        self._sooner = asyncio.Event()

    def on_stop(self, name: str, stop: Callable[[], Awaitable[object]]) -> None:
        """Call `stop` when the service ends, in the reverse order of these calls."""
        self._stoppers.append(_Stopper(name, stop))

    def spawn(self, name: str, work: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        """Run `work` beside the others; it is cancelled at its place in the stop. If it dies, so does the service."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._task_ended)

        async def cancel() -> None:
            task.cancel()
            await asyncio.wait({task})
            if not task.cancelled() and task is not self._dead:
                task.result()  # what failed on its way out is said by whoever stops us

        self.on_stop(name, cancel)
        return task

    async def connect(self, name: str, attempt: Callable[[], Awaitable[T]]) -> T:
        """The result of `attempt`, tried with growing pauses until `connect_deadline`; then raises `Unreachable`.

        An attempt may take 5 s. Waiting here instead of crash-looping keeps the order of starts irrelevant.
        """
        deadline = time.monotonic() + self.settings.connect_deadline
        self.ready.hold(name, "connecting")
        pause, tries = _FIRST_PAUSE, 0
        while True:
            tries += 1
            try:
                async with asyncio.timeout(_ATTEMPT):
                    connected = await attempt()
                break
            except Misconfigured:
                raise
            except Exception as wrong:  # noqa: BLE001 - every driver has its own tree of connection errors
                reason = f"{type(wrong).__name__}: {wrong}"
            if time.monotonic() + pause > deadline:
                raise Unreachable(f"{name} did not answer within {self.settings.connect_deadline:g} s ({reason})")
            if tries == 1 or tries % 10 == 0:
                log.warning("waiting for a server", server=name, tries=tries, reason=reason)
            await asyncio.sleep(pause * random.uniform(0.7, 1.0))  # noqa: S311 - jitter, not a secret
            pause = min(pause * 2, _LONGEST_PAUSE)
        self.ready.release(name)
        if tries > 1:
            log.info("server reached", server=name, tries=tries)
        return connected

    def grace_left(self) -> float:
        """Seconds that a stop may still take; infinite while nobody asked for one, 0 after a second signal."""
        return max(0.0, self._stop_by - time.monotonic())

    def stop(self) -> None:
        """Ask for a stop, as SIGTERM does; asking again ends the grace, and a drain becomes a stop."""
        is_repeated = self.stopping.is_set() and not self._is_draining
        self._is_draining = False
        self._end_within(0.0 if is_repeated else self.settings.stop_grace, "stopping")

    def drain(self) -> None:
        """Ask for a stop that hands over, as SIGUSR1 does; nothing new while one is under way."""
        if not self.stopping.is_set():
            self._is_draining = True
            self._end_within(self.settings.drain_grace, "draining")

    def _end_within(self, seconds: float, why: str) -> None:
        self._stop_by = min(self._stop_by, time.monotonic() + seconds)
        self.ready.hold("stop", why)
        self.stopping.set()
        self._sooner.set()

    async def live(self, compose: Compose[S]) -> int:
        """Start, serve until stopped, stop in order. Returns the exit code."""
        begun = time.monotonic()
        loop = asyncio.get_running_loop()
        for sign in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(sign, self.stop)
        loop.add_signal_handler(signal.SIGUSR1, self.drain)
        code = STOPPED
        try:
            await self._open_health_port()
            self.spawn("loop-lag", metrics.watch_loop())
            if await self._composed(compose):
                _spare_the_collector()
                self.ready.release("start")
                log.info("started", health_port=self.health_port, seconds=round(time.monotonic() - begun, 3))
                await self.stopping.wait()
        except Misconfigured as wrong:
            code = MISCONFIGURED
            log.error("cannot start", reason=str(wrong))
        except Unreachable as wrong:
            code = UNREACHABLE
            log.error("cannot start", reason=str(wrong))
        except Exception:
            code = DIED
            log.exception("cannot start")
        if not self.stopping.is_set():
            self.stop()
        await self._stop_all()
        if self._dead is not None:
            code = DIED
        log.info("stopped", exit_code=code, seconds=round(time.monotonic() - begun, 3))
        return code

    async def _composed(self, compose: Compose[S]) -> bool:
        """Run the composition root, unless a stop comes first. Returns whether it came to its end."""
        composing = asyncio.ensure_future(compose(self))
        stopped = asyncio.create_task(self.stopping.wait())
        await asyncio.wait({composing, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if composing.done():
            composing.result()
            return not self.stopping.is_set()
        composing.cancel()
        await asyncio.gather(composing, return_exceptions=True)
        return False

    async def _open_health_port(self) -> None:
        settings = self.settings
        token = settings.metrics_token.get_secret_value()
        application = health.app(self.ready, instance=settings.process, metrics_token=token)
        server = http.HttpServer(application, http.bind("127.0.0.1", settings.health_port), backlog=128)
        await server.start()
        self.health_port = server.port
        self.on_stop("health", lambda: server.stop(0))

    async def _stop_all(self) -> None:
        while self._stoppers:
            stopper = self._stoppers.pop()
            await self._stop_one(stopper)

    async def _stop_one(self, stopper: _Stopper) -> None:
        ending = asyncio.ensure_future(stopper.stop())
        await self._within_grace(ending)
        if not ending.done():
            await asyncio.wait({ending}, timeout=_TOO_LATE)
        if not ending.done():
            ending.cancel()
            log.warning("dropped at the end of the grace", part=stopper.name)
            return
        if not ending.cancelled() and (wrong := ending.exception()) is not None:
            log.error("stopped badly", part=stopper.name, reason=f"{type(wrong).__name__}: {wrong}")

    async def _within_grace(self, ending: asyncio.Future[object]) -> None:
        """Wait for it as long as the grace lasts, which a signal may shorten meanwhile."""
        while not ending.done() and (left := self.grace_left()):
            self._sooner.clear()
            sooner = asyncio.create_task(self._sooner.wait())
            await asyncio.wait({ending, sooner}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            sooner.cancel()

    def _task_ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or self.stopping.is_set():
            return
        self._dead = task
        wrong = task.exception() or RuntimeError(f"{task.get_name()} ended by itself")
        log.error("a part died", part=task.get_name(), exc_info=wrong)
        self.stop()


def _spare_the_collector() -> None:
    """What the start has made stays: the garbage collector need not look at it again, nor after every 700 objects.

    Measured: it took a fourteenth of a runner's time while it streamed. An ended stream or turn leaves some 300 objects
    in cycles: a whole collection comes after about a hundred of them, else they are most of a gateway's memory.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 3, 2)


def run(settings_class: type[S], compose: Compose[S]) -> NoReturn:
    """Run a service to its end and exit with its code."""
    try:
        settings = settings_class.load()
    except Misconfigured as wrong:
        sys.stderr.write(f"{settings_class.service}: {wrong}\n")
        raise SystemExit(MISCONFIGURED) from None
    logs.setup(instance=settings.process, level=settings.log_level, fmt=settings.log_format)
    tracing.setup(settings.service, settings.process)
    metrics.announce(settings.service)
    faults.use(None if settings.production else settings.faults)

    open_files.allow_many()

    async def life() -> int:
        return await Service(settings).live(compose)

    raise SystemExit(uvloop.run(life()))
