"""Where a request comes from, as far as anyone can be believed."""

import pytest
from starlette.requests import Request

from chassis.errors import Misconfigured
from gateway.addresses import ClientAddresses


def request(peer, *forwarded):
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    return Request({"type": "http", "client": (peer, 1) if peer else None, "headers": headers})


def test_without_trusted_proxies_the_peer_is_the_client():
    assert ClientAddresses([]).of(request("203.0.113.9", "1.2.3.4")) == "203.0.113.9"


def test_trusted_hops_are_peeled_from_the_right():
    addresses = ClientAddresses(["10.0.0.0/8"])
    assert addresses.of(request("10.0.0.1", "6.6.6.6, 198.51.100.7, 10.0.0.2")) == "198.51.100.7"
    assert addresses.of(request("10.0.0.1", "6.6.6.6", "198.51.100.7")) == "198.51.100.7"
    assert addresses.of(request("203.0.113.9", "198.51.100.7")) == "203.0.113.9"
    assert addresses.of(request("10.0.0.1")) == "10.0.0.1"


def test_an_ipv6_network_counts_as_one():
    addresses = ClientAddresses([])
    assert addresses.of(request("2001:db8::1")) == addresses.of(request("2001:db8::ffff:2"))
    assert addresses.of(request("2001:db8::1")) != addresses.of(request("2001:db8:0:1::1"))
    assert addresses.of(request("::ffff:198.51.100.7")) == "198.51.100.7"


def test_odd_peers_are_no_trouble():
    assert ClientAddresses([]).of(request(None)) == "unknown"
    assert ClientAddresses(["10.0.0.1"]).of(request("10.0.0.1", "not an address")) == "not an address"


def test_a_bad_network_is_said_at_start():
    with pytest.raises(Misconfigured, match="RETINUE_TRUSTED_PROXIES"):
        ClientAddresses(["10.0.0.0/99"])
