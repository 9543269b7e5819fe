"""Redirects, sizes, times, types and packing, against a server that says exactly what it is told."""

from __future__ import annotations

import asyncio
import gzip
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest

from outbound import Failed, Guarded, HostPort, Limits, Policy
from tests.kit.site import Asked, Book, Site, answer, leads_to
from tests.kit.waiting import awaited

Client = Callable[..., Guarded]

CHUNKED = b"HTTP/1.1 200 Said\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def guarded(client: Client) -> Guarded:
    return client(size=10_000, seconds=5.0)


def at(site: Site, path: str = "/", host: str = "site.test") -> str:
    return f"http://{host}:{site.port}{path}"


async def failure(guarded: Guarded, url: str, **how: object) -> str:
    with pytest.raises(Failed) as failed:
        await guarded.fetch(url, **how)  # type: ignore[arg-type]
    assert failed.value.text.endswith(".")
    return failed.value.code


async def test_an_answer_comes_whole_with_its_type_and_where_it_came_from(guarded: Guarded, site: Site) -> None:
    site.pages["/a"] = leads_to("b?c=d")
    site.pages["/b"] = answer(200, "héllo", 'Text/HTML; Charset="UTF-8"')
    fetched = await guarded.fetch(at(site, "/a"), headers={"Accept": "text/html"})
    assert fetched.body.decode() == "héllo"
    assert (fetched.media_type, fetched.charset, fetched.redirects) == ("text/html", "utf-8", 1)
    assert fetched.url == at(site, "/b?c=d")
    asked = site.asked[-1]
    assert (asked.headers["host"], asked.headers["accept"]) == (f"site.test:{site.port}", "text/html")
    assert "cookie" not in asked.headers
    assert "referer" not in asked.headers


@pytest.mark.parametrize(
    ("status", "method", "body"),
    [(301, "GET", b""), (302, "GET", b""), (303, "GET", b""), (307, "POST", b"order"), (308, "POST", b"order")],
)
async def test_what_becomes_of_a_post_that_is_led_on(
    guarded: Guarded, site: Site, status: int, method: str, body: bytes
) -> None:
    site.pages["/"] = leads_to(at(site, "/there", "other.test"), status)
    site.pages["/there"] = answer(200)
    secret = {"Authorization": "Bearer secret", "X-Signature": "secret", "Content-Type": "text/plain"}
    await guarded.fetch(at(site), method="POST", headers=secret, body=b"order")
    first, second = site.asked
    assert (first.method, first.body, first.headers["authorization"]) == ("POST", b"order", "Bearer secret")
    assert (second.method, second.body) == (method, body)
    assert "secret" not in " ".join(second.headers.values()), "secrets stay with the origin that they were meant for"


async def test_the_same_origin_keeps_its_headers(guarded: Guarded, site: Site) -> None:
    site.pages["/"] = leads_to("/there")
    site.pages["/there"] = answer(200)
    await guarded.fetch(at(site), headers={"Authorization": "Bearer secret"})
    assert site.asked[-1].headers["authorization"] == "Bearer secret"


async def test_five_redirects_and_no_more(guarded: Guarded, site: Site) -> None:
    for number in range(6):
        site.pages[f"/{number}"] = leads_to(f"/{number + 1}")
    site.pages["/6"] = answer(200, "far")
    assert (await guarded.fetch(at(site, "/1"))).redirects == 5
    assert await failure(guarded, at(site, "/0")) == "redirects"
    site.pages["/round"] = leads_to("/round")
    assert await failure(guarded, at(site, "/round")) == "redirects"


async def test_a_cookie_of_one_hop_is_not_carried_to_the_next(guarded: Guarded, site: Site) -> None:
    site.pages["/"] = answer(302, "", Location="/there", Set_Cookie="session=1; Path=/")
    site.pages["/there"] = answer(200)
    await guarded.fetch(at(site))
    assert "cookie" not in site.asked[-1].headers


async def endless(_: Asked) -> AsyncIterator[bytes]:
    yield CHUNKED
    while True:
        yield b"400\r\n" + b"a" * 1024 + b"\r\n"


async def test_a_body_beyond_the_limit_is_refused_or_cut(guarded: Guarded, site: Site) -> None:
    site.pages["/long"] = answer(200, "a" * 10_001, "text/plain")
    site.pages["/endless"] = endless
    site.pages["/fits"] = answer(200, "a" * 10_000, "text/plain")
    for path in ("/long", "/endless"):
        assert await failure(guarded, at(site, path)) == "too_large"
        cut = await guarded.fetch(at(site, path), excess="cut")
        assert (len(cut.body), cut.is_cut) == (10_000, True)
    assert (await guarded.fetch(at(site, "/fits"))).is_cut is False


async def test_a_bomb_unpacks_to_no_more_than_the_limit(guarded: Guarded, site: Site) -> None:
    bomb = gzip.compress(bytes(50_000_000))
    site.pages["/"] = answer(200, bomb, "text/plain", Content_Encoding="gzip")
    tracemalloc.start()
    cut = await guarded.fetch(at(site), excess="cut")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (len(cut.body), cut.is_cut) == (10_000, True)
    assert most < 5_000_000
    assert await failure(guarded, at(site)) == "too_large"


@pytest.mark.parametrize(
    ("packed", "encoding", "outcome"),
    [
        (gzip.compress(b"plain"), "gzip", b"plain"),
        (gzip.compress(b"pl") + gzip.compress(b"ain"), "x-gzip", b"plain"),
        (gzip.compress(b"plain") + b"\0\0\0", "gzip", b"plain"),
        (b"plain", "identity", b"plain"),
        (gzip.compress(b"plain")[:-9], "gzip", "broken"),
        (b"plain", "gzip", "encoding"),
        (b"plain", "br", "encoding"),
        (gzip.compress(gzip.compress(b"plain")), "gzip, gzip", "encoding"),
        (gzip.compress(b"") * 100, "gzip", "encoding"),
    ],
)
async def test_packed_bodies(guarded: Guarded, site: Site, packed: bytes, encoding: str, outcome: bytes | str) -> None:
    site.pages["/"] = answer(200, packed, "text/plain", Content_Encoding=encoding)
    if isinstance(outcome, str):
        assert await failure(guarded, at(site)) == outcome
    else:
        assert (await guarded.fetch(at(site))).body == outcome


async def test_a_type_that_is_not_wanted_is_not_read(guarded: Guarded, site: Site) -> None:
    site.pages["/"] = answer(200, "x" * 20_000, "image/png")
    assert await failure(guarded, at(site), takes=lambda media_type: media_type == "text/html") == "type"


async def trickling(_: Asked) -> AsyncIterator[bytes]:
    yield CHUNKED
    while True:
        yield b"1\r\na\r\n"
        await asyncio.sleep(0.02)


async def silent(_: Asked) -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


@pytest.mark.parametrize("page", [trickling, silent])
async def test_a_slow_server_is_left(client: Client, site: Site, page: Callable[[Asked], AsyncIterator[bytes]]) -> None:
    site.pages["/"] = page
    begun = time.monotonic()
    assert await failure(client(seconds=0.3), at(site)) == "timeout"
    assert time.monotonic() - begun < 3


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (b"HTTP/1.1 200 Said\r\nContent-Length: 10\r\n\r\nhalf", "broken"),
        (CHUNKED + b"5\r\nab", "broken"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "broken"),
        (b"", "broken"),
        (b"HTTP/1.1 200 Said\r\nX: " + b"a" * 100_000 + b"\r\n\r\n", "broken"),
        (answer(302, "", Location="http://[::1"), "redirects"),
    ],
)
async def test_what_is_no_whole_answer_is_said(guarded: Guarded, site: Site, said: bytes, code: str) -> None:
    site.pages["/"] = said
    assert await failure(guarded, at(site)) == code


async def test_nobody_listens() -> None:
    async with Site.opened() as gone:
        policy = Policy((HostPort("gone.test", gone.port),))
    guarded = Guarded(policy, names=Book(gone_test="127.0.0.1"))
    assert await failure(guarded, f"http://gone.test:{gone.port}/") == "unreachable"


async def test_of_several_addresses_the_next_is_tried() -> None:
    async with Site.opened() as site:
        site.pages["/"] = answer(200, "reached")
        names = Book(many_test=[["127.0.0.9", "127.0.0.1"]])
        guarded = Guarded(Policy((HostPort("many.test", site.port),)), names=names)
        assert (await guarded.fetch(f"http://many.test:{site.port}/")).body == b"reached"


async def test_ipv6_is_spoken() -> None:
    async with AsyncExitStack() as stack:
        try:
            site = await stack.enter_async_context(Site.opened("::1"))
        except OSError:
            pytest.skip("this machine has no IPv6")
        site.pages["/"] = answer(200, "six")
        allowed = (HostPort.read(f"[::1]:{site.port}"), HostPort("six.test", site.port))
        guarded = Guarded(Policy(allowed), names=Book(six_test="::1"))
        for host in ("[::1]", "six.test"):
            assert (await guarded.fetch(f"http://{host}:{site.port}/")).body == b"six"
        assert site.asked[0].headers["host"] == f"[::1]:{site.port}"


async def test_a_few_at_once(site: Site) -> None:
    """The next waits for a place, within its own time."""
    site.pages["/"] = silent
    policy = Policy((HostPort("site.test", site.port),))
    narrow = Guarded(policy, names=Book(site_test="127.0.0.1"), at_once=1)
    first = asyncio.create_task(narrow.fetch(at(site)))

    async def came() -> bool:
        return site.connections == 1

    await awaited(came)
    assert await failure(narrow, at(site), limits=Limits(seconds=0.1)) == "timeout"
    assert site.connections == 1
    first.cancel()
    await asyncio.wait([first])
