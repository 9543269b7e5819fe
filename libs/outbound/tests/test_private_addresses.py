"""Private addresses behind names, redirects, notations and rebinding: nobody ever comes to one.

What counts is the connections that the private server saw, not what the client said.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from ipaddress import ip_address

import aiohttp
import pytest

from outbound import Failed, Forbidden, Guarded, HostPort, OutboundError, Policy, SystemNames
from outbound.pinned import pinned_connector
from outbound.policy import is_of_this_machine
from tests.kit.site import Book, Site, answer, leads_to
from tests.kit.waiting import awaited

Client = Callable[..., Guarded]

NOTATIONS = """
http://127.0.0.1:{port}/ http://127.0.0.1.:{port}/ http://2130706433:{port}/ http://0x7f000001:{port}/
http://0x7f.1:{port}/ http://0177.0.0.1:{port}/ http://017700000001:{port}/ http://127.1:{port}/ http://127.0.1:{port}/
http://0.0.0.0:{port}/ http://0:{port}/ http://[::1]:{port}/ http://[0:0:0:0:0:0:0:1]:{port}/ http://[::]:{port}/
http://[::ffff:127.0.0.1]:{port}/ http://[::ffff:7f00:1]:{port}/ http://[::127.0.0.1]:{port}/
http://[64:ff9b::7f00:1]:{port}/ http://[64:ff9b:1::7f00:1]:{port}/ http://[2002:7f00:1::]:{port}/
http://[2001:0:7f00:1::80ff:fffe]:{port}/ http://[fe80::1%25lo]:{port}/ http://①②⑦.⓪.⓪.①:{port}/
http://127。0。0。1:{port}/ http://user@127.0.0.1:{port}/ http://site.test@127.0.0.1:{port}/
http://site.test\\@127.0.0.1:{port}/ http://localhost:{port}/ http://LOCALHOST.:{port}/ http://a.localhost:{port}/
http://printer.local:{port}/ http://db.internal:{port}/ http://nas.home.arpa:{port}/ http://postgres:{port}/
http://metadata.google.internal/ http://169.254.169.254/ http://[fd00:ec2::254]/ http://100.100.100.200/
http://loopback.test:{port}/ http://mapped.test:{port}/ http://translated.test:{port}/ http://mixed.test:{port}/
http://teredo.test:{port}/ http://sixtofour.test:{port}/ http://cloud.test/ http://lan.test:{port}/
https://loopback.test:{port}/ ftp://127.0.0.1:{port}/ file:///etc/passwd
"""


def book() -> Book:
    return Book(
        site_test="127.0.0.1",
        loopback_test="127.0.0.1",
        mapped_test="::ffff:127.0.0.1",
        translated_test="64:ff9b::7f00:1",
        mixed_test=[["93.184.216.34", "127.0.0.1"]],
        teredo_test="2001:0:7f00:1::80ff:fffe",
        sixtofour_test="2002:7f00:1::",
        cloud_test="169.254.169.254",
        lan_test="192.168.1.1",
        printer_local="127.0.0.1",
        db_internal="127.0.0.1",
        nas_home_arpa="127.0.0.1",
        postgres="127.0.0.1",
        a_localhost="127.0.0.1",
        localhost="127.0.0.1",
    )


async def assert_nobody_came(private: Site) -> None:
    """Zero, and the count works: one who may come is counted."""
    assert private.connections == 0
    _, writer = await asyncio.open_connection("127.0.0.1", private.port)
    writer.close()

    async def counts() -> bool:
        return private.connections == 1

    await awaited(counts, what="the server counts")


async def test_no_notation_leads_there(client: Client, private: Site) -> None:
    guarded = client(book())
    for notation in NOTATIONS.split():
        with pytest.raises(Forbidden):
            await guarded.fetch(notation.format(port=private.port))
    await assert_nobody_came(private)


async def test_no_redirect_leads_there(client: Client, site: Site, private: Site) -> None:
    guarded = client(book())
    for status in (301, 302, 303, 307, 308):
        for notation in NOTATIONS.split():
            site.pages["/"] = leads_to(notation.format(port=private.port), status)
            with pytest.raises(OutboundError) as refused:
                await guarded.fetch(f"http://site.test:{site.port}/")
            assert isinstance(refused.value, Forbidden) or getattr(refused.value, "code", "") == "redirects"
    await assert_nobody_came(private)


async def test_the_systems_own_resolver_is_no_way_round(private: Site) -> None:
    guarded = Guarded(Policy(), names=SystemNames(threads=1))
    for host in ("localhost", "localhost.localdomain", "ip6-localhost", socket.gethostname(), "127.0.0.1"):
        with pytest.raises(OutboundError):
            await guarded.fetch(f"http://{host}:{private.port}/")
    await guarded.aclose()
    await assert_nobody_came(private)


async def test_a_name_is_looked_up_once_and_what_was_checked_is_what_is_reached(client: Client, site: Site) -> None:
    async with Site.opened("127.0.0.2", site.port) as rebound:
        flipping = Book(site_test=["127.0.0.1", "127.0.0.2"])
        site.pages["/"] = answer(200, "checked")
        assert (await client(flipping).fetch(f"http://site.test:{site.port}/")).body == b"checked"
        assert flipping.look_ups == ["site.test"]
        assert rebound.connections == 0


async def test_a_name_that_flips_between_two_hops_is_checked_again(client: Client, site: Site) -> None:
    flipping = Book(site_test=["127.0.0.1", "169.254.169.254"])
    site.pages["/"] = leads_to("/again")
    with pytest.raises(Forbidden):
        await client(flipping).fetch(f"http://site.test:{site.port}/")
    assert flipping.look_ups == ["site.test", "site.test"]
    assert site.connections == 1


async def test_a_connection_to_an_address_that_was_not_checked_is_never_made(private: Site) -> None:
    """The last look before connecting, whatever happened to the resolver in between."""
    connector = pinned_connector([ip_address("127.0.0.2")], None)
    async with aiohttp.ClientSession(connector=connector) as session:
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.get(f"http://127.0.0.1:{private.port}/")
    await assert_nobody_came(private)


async def test_proxies_of_the_environment_are_not_used(
    client: Client, site: Site, private: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, private.url)
    site.pages["/"] = answer(200, "direct")
    assert (await client().fetch(f"http://site.test:{site.port}/")).body == b"direct"
    await assert_nobody_came(private)


async def test_the_deployment_itself_is_not_reached(client: Client, site: Site, private: Site) -> None:
    names = Book(
        site_test="127.0.0.1",
        retinue_test="127.0.0.1",
        alias_test="93.184.216.34",
        door_test="93.184.216.34",
        postgres_test="127.0.0.1",
    )
    guarded = client(
        names,
        own=(
            HostPort("retinue.test", 443),
            HostPort("door.test", 443),
            HostPort("site.test", 5432),
            HostPort("127.0.0.1", site.port),
        ),
    )
    for url in (
        f"http://retinue.test:{private.port}/",  # its name, whatever the port
        "https://door.test/",
        "http://alias.test/",  # another name for its address
        f"http://site.test:{site.port}/",  # allowed, and yet the very port of one of our servers
    ):
        with pytest.raises(Forbidden):
            await guarded.fetch(url)
    assert (site.connections, private.connections) == (0, 0)


async def test_an_admin_allows_private_hosts_by_name(site: Site) -> None:
    site.pages["/"] = answer(200, "wiki")
    names = Book(wiki_lan="127.0.0.1", wiki_local="127.0.0.1", cloud_lan="169.254.169.254", other_lan="127.0.0.1")
    allowed = tuple(
        HostPort.read(text)
        for text in (
            f"wiki.lan:{site.port}",
            f"WIKI.local.:{site.port}",
            f"127.0.0.1:{site.port}",
            "cloud.lan",
            "other.lan",
        )
    )
    guarded = Guarded(Policy(allowed), names=names)
    for host in ("wiki.lan", "wiki.local", "127.0.0.1"):
        assert (await guarded.fetch(f"http://{host}:{site.port}/")).body == b"wiki"
    for url in (
        f"http://wiki.lan:{site.port + 1}/",  # another port
        "http://cloud.lan/",  # metadata stays shut
        f"http://other.lan:{site.port}/",  # this machine is only allowed with a port
        f"http://127.0.0.2:{site.port}/",
    ):
        with pytest.raises(Forbidden):
            await guarded.fetch(url)


async def test_a_name_that_nobody_knows_is_said(client: Client) -> None:
    with pytest.raises(Failed) as failed:
        await client(Book()).fetch("http://nowhere.test/")
    assert failed.value.code == "unknown_name"


def test_addresses_of_this_machine_are_known() -> None:
    assert is_of_this_machine(ip_address("127.0.0.1"))
    assert not is_of_this_machine(ip_address("192.0.2.1"))


@pytest.mark.parametrize("text", ["", "http://wiki.lan", "wiki.lan/path", "user@wiki.lan", "*.lan", "wiki.lan:port"])
def test_what_is_no_host_cannot_be_allowed(text: str) -> None:
    with pytest.raises(ValueError):
        HostPort.read(text)
