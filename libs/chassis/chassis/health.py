"""The loopback port of a service: alive, ready, metrics.

`/healthz` and `/readyz` answer anyone on this machine and say nothing but names; `/metrics` wants the bearer token.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from chassis import metrics

Check = Callable[[], Awaitable[object]]


class Readiness:
    """Named checks, and named holds that keep a service unready while it starts, drains or has lost a server."""

    def __init__(self, timeout: float = 1.0) -> None:
        self.timeout = timeout
        self._checks: dict[str, Check] = {}
        self._holds: dict[str, str] = {}
        self._probe: asyncio.Task[dict[str, str]] | None = None

    def check(self, name: str, check: Check) -> None:
        """Ready only while `check` returns (anything but `False`) within the time-out."""
        self._checks[name] = check

    def hold(self, name: str, reason: str) -> None:
        """Not ready, because of `reason`, until `release(name)`."""
        self._holds[name] = reason

    def release(self, name: str) -> None:
        """Lift a hold; unknown names are fine."""
        self._holds.pop(name, None)

    async def missing(self) -> dict[str, str]:
        """What is missing, by name; empty means ready. Callers at the same time share one round of checks."""
        if self._holds:
            return dict(self._holds)
        if self._probe is None or self._probe.done():
            self._probe = asyncio.create_task(self._round())
        return await asyncio.shield(self._probe)

    async def _round(self) -> dict[str, str]:
        names = list(self._checks)
        faults = await asyncio.gather(*(self._fault(self._checks[name]) for name in names))
        return {name: fault for name, fault in zip(names, faults, strict=True) if fault}

    async def _fault(self, check: Check) -> str | None:
        try:
            async with asyncio.timeout(self.timeout):
                return "not ready" if await check() is False else None
        except TimeoutError:
            return f"no answer within {self.timeout:g} s"
        except Exception as wrong:  # noqa: BLE001 - any failure of a check is its answer
            # The type alone: this page is open to the machine, and messages of drivers quote addresses and logins.
            return type(wrong).__name__


def app(readiness: Readiness, *, instance: str, metrics_token: str) -> Starlette:
    """The application behind the health port."""

    async def healthz(_request: Request) -> Response:
        return JSONResponse({"status": "alive", "instance": instance})

    async def readyz(_request: Request) -> Response:
        missing = await readiness.missing()
        status = "not ready" if missing else "ready"
        body = {"status": status, "instance": instance, "missing": missing}
        return JSONResponse(body, 503 if missing else 200, {"Cache-Control": "no-store"})

    async def scrape(request: Request) -> Response:
        if not bearer_matches(request.headers.get("authorization", ""), metrics_token):
            return PlainTextResponse("unauthorized\n", 401, {"WWW-Authenticate": "Bearer"})
        return Response(metrics.render(), media_type=metrics.CONTENT_TYPE)

    return Starlette(routes=[Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", scrape)])


def bearer_matches(header: str, token: str) -> bool:
    """Whether an Authorization header carries `token`, compared in constant time; an empty token matches nothing."""
    scheme, _, given = header.partition(" ")
    right = hmac.compare_digest(given.strip().encode(), token.encode())
    return bool(token) and scheme.lower() == "bearer" and right
