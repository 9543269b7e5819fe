"""Which addresses are of the public Internet."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as some

from outbound import is_public
from outbound.ranges import is_never_allowed

PRIVATE = """
0.0.0.0 10.1.2.3 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.254 168.63.129.16 169.254.169.254 172.16.0.1
172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1
255.255.255.255 :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1 64:ff9b:1::a00:1 100::1 2001::1
2001:0:5ef5:79fb:0:5efe:7f00:1 2001:2::1 2001:20::1 2001:db8::1 2002:7f00:1::1 2002:808:808::1 3fff::1 5f00::1 fc00::1
fd00:ec2::254 fe80::1 fec0::1 ff02::1 4000::1
"""


@pytest.mark.parametrize("text", PRIVATE.split())
def test_special_addresses_are_not(text: str) -> None:
    assert not is_public(ip_address(text))


@pytest.mark.parametrize("text", ["1.1.1.1", "8.8.8.8", "172.32.0.1", "192.0.1.1", "2606:4700:4700::1111", "2a00::1"])
def test_ordinary_ones_are(text: str) -> None:
    assert is_public(ip_address(text))


@given(some.ip_addresses())
def test_what_python_knows_to_be_special_is_not(address: IPv4Address | IPv6Address) -> None:
    if address.is_private or address.is_loopback or address.is_link_local or address.is_reserved:
        assert not is_public(address)


@pytest.mark.parametrize("text", ["169.254.169.254", "fe80::1", "fd00:ec2::254", "::ffff:127.0.0.1", "224.0.0.1"])
def test_some_may_not_even_be_allowed(text: str) -> None:
    assert is_never_allowed(ip_address(text))
    assert not is_never_allowed(ip_address("127.0.0.1"))
    assert not is_never_allowed(ip_address("fd00::1"))
