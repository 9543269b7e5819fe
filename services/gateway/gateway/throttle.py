"""Counts in fixed windows, shared by all gateways through Valkey.

Without Valkey, logins and registrations are counted in this process alone against small limits (closed, though not
locked); general requests pass uncounted (open).
"""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import dataclass

from redis.asyncio import Redis
from redis.exceptions import RedisError

from chassis import logs, metrics
from chassis.errors import Refused

log = logs.get(__name__)

REFUSED = metrics.counter("retinue_throttled_total", "requests refused by a throttle", ("scope",))
_AWAY = metrics.counter("retinue_throttle_away_total", "counts that Valkey could not take")

_PAUSE = 1.0  # seconds in which an unreachable Valkey is not asked again
_MOST_LOCAL = 50_000

_COUNT = """
local count = redis.call('incr', KEYS[1])
if count == 1 then redis.call('pexpire', KEYS[1], ARGV[1]) end
return {count, redis.call('pttl', KEYS[1])}
"""


@dataclass(frozen=True, slots=True)
class Rule:
    """At most `limit` of something per `window` seconds; `local_limit` while Valkey is away, none meaning no limit."""

    scope: str
    limit: int
    window: float
    local_limit: int | None


@dataclass(frozen=True, slots=True)
class _Count:
    count: int
    left: float  # seconds until the window ends


class Throttle:
    """Counts against rules. `valkey` is none in a deployment without one: then this process counts alone, in full."""

    def __init__(self, valkey: Redis | None) -> None:
        self._valkey = valkey
        self._count = valkey.register_script(_COUNT) if valkey is not None else None
        self._away_until = 0.0
        self._local: dict[str, tuple[int, float]] = {}

    async def hit(self, rule: Rule, who: str) -> None:
        """Count one. Raises `Refused` (429) when it is one too many; what was refused counts too."""
        key = _key(rule, who)
        counted = await self._shared(key, rule)
        limit: int | None = rule.limit
        if counted is None:
            limit = rule.limit if self._count is None else rule.local_limit
            if limit is None:
                return
            counted = self._count_here(key, rule)
        if counted.count > limit:
            REFUSED.labels(scope=rule.scope).inc()
            raise _refusal(rule, counted, limit)

    async def take_back(self, rule: Rule, who: str) -> None:
        """That one did not count after all (a login that succeeded)."""
        key = _key(rule, who)
        if key in self._local:
            count, until = self._local[key]
            self._local[key] = (max(0, count - 1), until)
        await self._quietly("decr", key)

    async def clear(self, rule: Rule, who: str) -> None:
        """Start again from nothing."""
        key = _key(rule, who)
        self._local.pop(key, None)
        await self._quietly("delete", key)

    async def _shared(self, key: str, rule: Rule) -> _Count | None:
        if self._count is None or time.monotonic() < self._away_until:
            return None
        try:
            count, left = await self._count(keys=[key], args=[int(rule.window * 1000)])
        except (RedisError, OSError, TimeoutError) as wrong:
            self._lost(wrong)
            return None
        return _Count(int(count), max(0, int(left)) / 1000)

    async def _quietly(self, command: str, key: str) -> None:
        """A correction that may be lost: the window ends by itself."""
        if self._valkey is None or time.monotonic() < self._away_until:
            return
        try:
            if command == "delete":
                await self._valkey.delete(key)
            elif await self._valkey.exists(key):
                await self._valkey.decr(key)
        except (RedisError, OSError, TimeoutError) as wrong:
            self._lost(wrong)

    def _lost(self, wrong: Exception) -> None:
        _AWAY.inc()
        self._away_until = time.monotonic() + _PAUSE
        log.warning("valkey is away: counting in this process", reason=f"{type(wrong).__name__}: {wrong}")

    def _count_here(self, key: str, rule: Rule) -> _Count:
        now = time.monotonic()
        count, until = self._local.get(key, (0, 0.0))
        if until <= now:
            self._make_room(now)
            count, until = 0, now + rule.window
        self._local[key] = (count + 1, until)
        return _Count(count + 1, until - now)

    def _make_room(self, now: float) -> None:
        if len(self._local) < _MOST_LOCAL:
            return
        self._local = {key: entry for key, entry in self._local.items() if entry[1] > now}
        while len(self._local) >= _MOST_LOCAL:
            self._local.pop(next(iter(self._local)))


def _key(rule: Rule, who: str) -> str:
    # Hashed, because names and addresses are chosen by strangers and are nobody's business in a cache.
    return f"retinue:limit:{rule.scope}:{hashlib.sha256(who.encode(errors='replace')).hexdigest()[:32]}"


def _refusal(rule: Rule, counted: _Count, limit: int) -> Refused:
    wait = max(1, math.ceil(counted.left))
    return Refused(
        429,
        "too_many_requests",
        f"Too many requests of this kind; try again in {wait} s.",
        headers={"Retry-After": str(wait)},
        scope=rule.scope,
        count=counted.count,
        limit=limit,
        retry_after=wait,
    )
