"""`retinue bench search`: how long a search over many messages takes, asked as the gateway asks it.

That is with its login, under row-level security, and with the excerpts that a page shows.

One user has most of the messages, some others have said the same words. What is looked for is everywhere, nowhere,
rare, or was last said long ago, because each of them could be slow for a reason of its own.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from uuid import UUID

from cli.bench import report
from cli.bench.figures import Goal
from cli.bench.report import Say
from cli.up.embedded import EmbeddedStack, embedded_servers
from store import Store
from store.filling import Said, fill, make_threads
from store.repositories import messages, search
from store.repositories.words import wanted
from store.system import accounts

LIMIT = 200.0
"""Milliseconds."""

_TIMES = 20
_WORDS = 20_000
_THREADS = 200
_LONG = 5000
"""Messages of one thread that is opened in its middle."""

QUESTIONS = {
    "a word that occurs nowhere": "xyzzyplugh",
    "a word of nearly every message": "the",
    "the beginning of many words": "w",
    "a rare word": "needle",
    "a word of the older half alone": "formerly",
    "three words": "the formerly w12",
    "a phrase": '"the end of"',
    "a phrase of common words that never stand so": '"the formerly"',
    "a word of a script without spaces": "東京",
}


@dataclass(frozen=True)
class Took:
    """Milliseconds of some tries, and how many hits the page had."""

    median: float
    p95: float
    hits: int


def run(*, count: int, as_json: bool) -> bool:
    say = report.quiet if as_json else print
    with tempfile.TemporaryDirectory(prefix="retinue-bench-") as folder:
        parent = Path(folder)
        parent.chmod(0o711)
        with embedded_servers(parent / "data") as servers:
            took = asyncio.run(_measure(servers, count, say))
    goals = [Goal(f"{what}, p95", each.p95, LIMIT, "ms") for what, each in took.items()]
    figures: dict[str, Any] = {what: asdict(each) for what, each in took.items()}
    return report.conclude(f"search over {count:,} messages:", goals, figures, as_json=as_json)


async def _measure(servers: EmbeddedStack, count: int, say: Say) -> dict[str, Took]:
    store = Store(servers.role_url("gateway"), servers.role_url("gateway_system"), name="bench", pool_size=2)
    try:
        user, long_thread, middle = await _fill(servers, store, count, say)
        took = {what: await _ask(store, user, question) for what, question in QUESTIONS.items()}
        took["a thread of 5,000, around its middle"] = await _open(store, user, long_thread, middle)
    finally:
        await store.dispose()
    for what, each in took.items():
        say(f"  {what:45} median {each.median:6.1f}, p95 {each.p95:6.1f} ms, {each.hits} hits")
    return took


async def _fill(servers: EmbeddedStack, store: Store, count: int, say: Say) -> tuple[UUID, UUID, str]:
    """The user, their long thread, and a message in its middle."""
    begun = time.monotonic()
    users = [await _user(store, f"bench-{number}") for number in range(5)]
    url = servers.superuser_url
    user, *others = users
    most, few = count * 9 // 10, count // 10
    for other in others:
        threads = await make_threads(url, other, 5)
        await fill(url, conversation(threads, few // len(others), seed=2))
    long_thread, *threads = await make_threads(url, user, _THREADS)
    ids = await fill(url, conversation([long_thread], min(_LONG, most // 2), seed=3))
    await fill(url, conversation(threads, most - len(ids), seed=4))
    say(f"{count:,} messages stored in {time.monotonic() - begun:.0f} s")
    return user, long_thread, str(ids[len(ids) // 2])


async def _user(store: Store, name: str) -> UUID:
    async with store.system() as session:
        made = await accounts.create_account(
            session, username=name, username_key=name, password_hash=secrets.token_hex(), is_admin=False
        )
    return made.id


def conversation(threads: list[UUID], count: int, seed: int) -> Iterator[Said]:
    """Messages of made-up words, some of them far more frequent than others, as in any language."""
    random_ = random.Random(seed)  # noqa: S311 - the same messages every time
    words = [f"w{number}" for number in range(_WORDS)]
    weights = list(accumulate(1 / (number + 3) for number in range(_WORDS)))
    for number in range(count):
        said = random_.choices(words, cum_weights=weights, k=random_.randint(10, 120))
        if number % 20:
            said.insert(random_.randrange(len(said)), "the")
        if number % 50 == 7:
            said += ["the", "end", "of", "it"]
        if number < count // 2:
            said.insert(0, "formerly")
        if number in (11, count // 3, count * 2 // 3):
            said.append("needle")
        if number % 100 == 1:
            said.append("昨日は東京都に行きました。")
        yield Said(threads[number % len(threads)], number // len(threads), " ".join(said))


async def _ask(store: Store, user: UUID, question: str) -> Took:
    async def once() -> int:
        async with store.session(user) as session:
            hits, _ = await search.search(session, wanted(question), before=None, limit=20)
        return len(hits)

    return await _timed(once)


async def _open(store: Store, user: UUID, thread: UUID, message: str) -> Took:
    async def once() -> int:
        async with store.session(user) as session:
            window = await messages.page_around(session, thread, message)
        return 0 if window is None else len(window.items)

    return await _timed(once)


async def _timed(once: Any) -> Took:
    took: list[float] = []
    hits = 0
    for _ in range(_TIMES):
        begun = time.perf_counter()
        hits = await once()
        took.append((time.perf_counter() - begun) * 1000)
    return Took(median(took), quantiles(took, n=20)[-1], hits)
