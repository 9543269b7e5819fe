"""web_fetch against a server on loopback that an admin allowed, and against what it must not read."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import ValidationError

from tests.kit.site import Book, Site, answer, leads_to
from tests.kit.tools import context
from turn_runner.settings import RunnerSettings
from turn_runner.tools import ToolFailed
from turn_runner.tools.web_fetch import MARKER, TOOL, WebFetchInput, web_fetch
from turn_runner.web import Web


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site.opened() as opened:
        yield opened


@pytest.fixture
async def web(site: Site) -> AsyncIterator[Web]:
    settings = RunnerSettings(outbound_allow=[f"site.test:{site.port}"], web_bytes=200_000)
    made = Web.of(settings, Book(site_test="127.0.0.1", evil_test="127.0.0.1"))
    yield made
    await made.aclose()


async def fetch(web: Web, site: Site, path: str = "/", selector: str | None = None, host: str = "site.test") -> Any:
    wanted = WebFetchInput(url=f" http://{host}:{site.port}{path} ", selector=selector)
    return await web_fetch(wanted, context(web))


async def test_a_page_with_its_title_and_where_it_is(web: Web, site: Site) -> None:
    site.pages["/"] = leads_to("/page", 301)
    site.pages["/page"] = answer(200, "<title>News</title><meta property='og:site_name' content='Site'><h1>Hi</h1>")
    final = f"http://site.test:{site.port}/page"
    assert await fetch(web, site) == {
        "url": f"http://site.test:{site.port}/",
        "final_url": final,
        "title": "News",
        "site_name": "Site",
        "content": "# Hi",
        "content_length": 4,
        "truncated": False,
        "sources": [{"url": final, "title": "News"}],
    }


async def test_json_and_plain_text_stay_as_they_are(web: Web, site: Site) -> None:
    for media_type in ("application/json", "application/ld+json; charset=utf-8", "text/plain"):
        site.pages["/"] = answer(200, '{"a": "<b>&amp;</b>"}', media_type)
        output = await fetch(web, site)
        assert (output["content"], output["content_length"]) == ('{"a": "<b>&amp;</b>"}', 21)
        assert "title" not in output
        assert output["sources"][0]["title"] == "site.test"


async def test_long_ones_are_cut_with_a_word(web: Web, site: Site) -> None:
    site.pages["/text"] = answer(200, "a" * 30_000, "text/plain")
    raw = await fetch(web, site, "/text")
    assert raw["content"] == "a" * 24_000 + MARKER
    assert (raw["content_length"], raw["truncated"]) == (30_000, True)
    site.pages["/page"] = answer(200, "<p>" + "a" * 30_000)
    page = await fetch(web, site, "/page")
    assert page["content"] == "a" * 24_000 + MARKER
    assert (page["content_length"], page["truncated"]) == (24_000 + len(MARKER), True)
    site.pages["/comment"] = answer(200, "<p>Beginning<!--" + "a" * 300_000 + "--><p>End")
    comment = await fetch(web, site, "/comment")
    assert (comment["content"], comment["truncated"]) == ("Beginning" + MARKER, True)
    site.pages["/huge"] = answer(200, gzip.compress(b"a" * 40_000_000), "text/plain", Content_Encoding="gzip")
    huge = await fetch(web, site, "/huge")
    assert (huge["content_length"], huge["truncated"]) == (200_000, True)


@pytest.mark.parametrize("media_type", ["image/png", "application/pdf", "application/octet-stream", "text/css", ""])
async def test_other_types_are_a_clear_failure(web: Web, site: Site, media_type: str) -> None:
    site.pages["/"] = answer(200, "x", media_type)
    with pytest.raises(ToolFailed, match=r"of the type .*Only web pages \(HTML\), JSON and plain text"):
        await fetch(web, site)


async def test_a_status_is_said_and_not_its_page(web: Web, site: Site) -> None:
    with pytest.raises(ToolFailed, match=r"site\.test answered with status 404\."):
        await fetch(web, site, "/missing")


async def test_private_addresses_stay_unread(web: Web, site: Site) -> None:
    site.pages["/"] = leads_to(f"http://evil.test:{site.port}/secret")
    for host in ("evil.test", "127.0.0.1", "2130706433", "[::1]", "localhost"):
        with pytest.raises(ToolFailed):
            await fetch(web, site, host=host)
    assert site.connections == 0
    with pytest.raises(ToolFailed):
        await fetch(web, site)
    assert [asked.path for asked in site.asked] == ["/"]


async def test_what_an_admin_changes_holds_at_once(site: Site) -> None:
    settings = RunnerSettings()
    web = Web.of(settings, Book(site_test="127.0.0.1"))
    site.pages["/"] = answer(200, "open", "text/plain")
    with pytest.raises(ToolFailed):
        await fetch(web, site)
    settings.take_live(RunnerSettings(outbound_allow=[f"site.test:{site.port}"]))
    assert (await fetch(web, site))["content"] == "open"


async def test_own_servers_are_not_read_even_if_allowed(site: Site) -> None:
    own = f"postgresql://u:p@127.0.0.1:{site.port}/x"
    settings = RunnerSettings(outbound_allow=[f"site.test:{site.port}"], database_url=own)
    with pytest.raises(ToolFailed):
        await fetch(Web.of(settings, Book(site_test="127.0.0.1")), site)
    assert site.connections == 0


@pytest.mark.parametrize("given", [{}, {"url": ""}, {"url": "x" * 2049}, {"url": "x", "selector": "y" * 201}])
def test_inputs_have_bounds(given: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        WebFetchInput(**given)


def test_it_reads_and_may_be_repeated() -> None:
    assert (TOOL.tier, TOOL.is_idempotent, TOOL.is_foreign) == ("read", True, True)
