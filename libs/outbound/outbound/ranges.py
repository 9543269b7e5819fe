"""Which IP addresses belong to the public Internet, by IANA's registries of special-purpose addresses.

Our own tables and not `ipaddress.is_global`, whose answers change with the version of Python. Of IPv6 only global
unicast (2000::/3) is public, less what carries an IPv4 address inside (6to4, Teredo) or documents; NAT64, mapped and
compatible addresses lie outside of it.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

_SPECIAL_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT; Alibaba's metadata is 100.100.100.200
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's wire server, reachable from its machines alone
        "169.254.0.0/16",  # link-local; most clouds' metadata
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; Oracle's metadata is 192.0.0.192
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_GLOBAL_V6 = IPv6Network("2000::/3")
_SPECIAL_V6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # Teredo, benchmarks, ORCHID and other assignments
        "2001:db8::/32",
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",
        "3fff::/20",
    )
)
_NEVER = (
    IPv4Network("0.0.0.0/8"),
    IPv4Network("168.63.129.16/32"),
    IPv4Network("100.100.100.200/32"),
    IPv4Network("169.254.0.0/16"),
    IPv4Network("192.0.0.192/32"),
    IPv4Network("224.0.0.0/4"),
    IPv4Network("240.0.0.0/4"),
    IPv6Network("::/128"),
    IPv6Network("::ffff:0:0/96"),
    IPv6Network("64:ff9b::/96"),
    IPv6Network("64:ff9b:1::/48"),
    IPv6Network("2001::/32"),
    IPv6Network("2002::/16"),
    IPv6Network("fd00:ec2::254/128"),
    IPv6Network("fd20:ce::254/128"),
    IPv6Network("fe80::/10"),
    IPv6Network("ff00::/8"),
)


def is_public(address: Address) -> bool:
    """Whether this is an address of the public Internet."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _SPECIAL_V4)
    return address in _GLOBAL_V6 and not any(address in network for network in _SPECIAL_V6)


def is_never_allowed(address: Address) -> bool:
    """Link-local, metadata, multicast and translated addresses: not even for a host that an admin allowed."""
    return any(address.version == network.version and address in network for network in _NEVER)
