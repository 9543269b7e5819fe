"""Counting without Valkey: in this process, against the limits that the rule has for that."""

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from chassis.errors import Refused
from gateway.throttle import Rule, Throttle

RULE = Rule("login", limit=5, window=60, local_limit=2)


def nowhere():
    return Redis(host="127.0.0.1", port=1, socket_connect_timeout=0.2, retry=Retry(NoBackoff(), 0))


async def hits(throttle, rule, who, times):
    """How many of these were let through."""
    passed = 0
    for _ in range(times):
        try:
            await throttle.hit(rule, who)
        except Refused:
            continue
        passed += 1
    return passed


async def test_a_deployment_without_valkey_counts_in_full():
    assert await hits(Throttle(None), RULE, "ada", 9) == 5


async def test_when_valkey_is_away_logins_have_the_small_limit():
    assert await hits(Throttle(nowhere()), RULE, "ada", 9) == 2


async def test_when_valkey_is_away_rules_without_a_local_limit_are_open():
    rule = Rule("requests", limit=1, window=60, local_limit=None)
    assert await hits(Throttle(nowhere()), rule, "ada", 9) == 9


async def test_names_are_counted_apart_and_windows_end():
    throttle = Throttle(None)
    rule = Rule("login", limit=1, window=0.05, local_limit=1)
    assert await hits(throttle, rule, "ada", 2) == 1
    assert await hits(throttle, rule, "bob", 2) == 1
    with pytest.raises(Refused) as refused:
        await throttle.hit(rule, "ada")
    assert refused.value.status == 429
    assert refused.value.headers["Retry-After"] == "1"
    assert refused.value.body() | {"count": 0, "message": ""} == {
        "error": "too_many_requests",
        "message": "",
        "scope": "login",
        "count": 0,
        "limit": 1,
        "retry_after": 1,
    }


async def test_a_success_takes_its_own_count_back():
    throttle = Throttle(None)
    await hits(throttle, RULE, "ada", 4)
    await throttle.take_back(RULE, "ada")
    assert await hits(throttle, RULE, "ada", 5) == 2
    await throttle.clear(RULE, "ada")
    assert await hits(throttle, RULE, "ada", 9) == 5
