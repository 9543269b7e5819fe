"""Whose Host and whose Origin a request may carry."""

import pytest
from starlette.datastructures import Headers

from chassis.errors import Refused
from gateway.origins import check_origin, host_is_ours, is_cors_origin, is_own_origin
from gateway.settings import GatewaySettings

LOCAL = GatewaySettings(host="127.0.0.1", public_url=None)
PUBLIC = GatewaySettings(host="0.0.0.0", public_url="https://Retinue.Example:8443/", allowed_hosts=["inner.lan"])


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8700", "localhost:1", "LOCALHOST", "[::1]:8700", "127.9.9.9"])
def test_loopback_names_are_ours(host):
    assert host_is_ours(host, LOCAL)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8700",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "localhost@evil.example",
        "evil.example/127.0.0.1",
        "10.0.0.5",
        "127.0.0.1:port",
        "[::1",
        "[::2]:8700",
        "0.0.0.0:8700",
    ],
)
def test_other_names_are_not(host):
    assert not host_is_ours(host, LOCAL)


def test_the_public_name_and_the_allow_list_are_ours():
    assert host_is_ours("retinue.example:8443", PUBLIC)
    assert host_is_ours("RETINUE.example", PUBLIC)
    assert host_is_ours("inner.lan:80", PUBLIC)
    assert not host_is_ours("outer.lan", PUBLIC)


def test_the_address_that_is_bound_is_ours():
    assert host_is_ours("192.168.7.7:8700", GatewaySettings(host="192.168.7.7"))


@pytest.mark.parametrize(
    ("origin", "own"),
    [
        ("http://127.0.0.1:8700", True),
        ("http://127.0.0.1:8701", False),
        ("http://localhost:8700", False),
        ("https://127.0.0.1:8700", False),
        ("null", False),
        ("", False),
        ("file://", False),
        ("http://127.0.0.1:8700.evil.example", False),
        ("http://evil.example/http://127.0.0.1:8700", False),
        ("http://127.0.0.1:99999", False),
    ],
)
def test_an_own_origin_is_the_very_same(origin, own):
    assert is_own_origin(origin, Headers({"host": "127.0.0.1:8700"}), LOCAL) is own


def test_behind_a_proxy_the_public_origin_is_own():
    headers = Headers({"host": "retinue.example:8443"})
    assert is_own_origin("https://retinue.example:8443", headers, PUBLIC)
    assert is_own_origin("https://inner.lan", Headers({"host": "inner.lan"}), PUBLIC)
    assert not is_own_origin("https://evil.example", headers, PUBLIC)


def refused(method, *, with_cookie, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        check_origin(method, Headers({"host": "127.0.0.1:8700", **named}), LOCAL, with_cookie=with_cookie)
    except Refused as wrong:
        return wrong.error
    return None


def test_unsafe_requests_need_an_origin_only_with_a_cookie():
    assert refused("POST", with_cookie=True) == "origin_missing"
    assert refused("POST", with_cookie=False) is None
    assert refused("POST", with_cookie=True, sec_fetch_site="same-origin") is None
    assert refused("DELETE", with_cookie=True, origin="http://127.0.0.1:8700") is None
    assert refused("GET", with_cookie=True, origin="https://evil.example") is None


def test_foreign_pages_are_refused_with_or_without_a_cookie():
    for with_cookie in (True, False):
        assert refused("POST", with_cookie=with_cookie, origin="https://evil.example") == "foreign_origin"
        assert refused("POST", with_cookie=with_cookie, origin="null") == "foreign_origin"
        assert refused("POST", with_cookie=with_cookie, sec_fetch_site="cross-site") == "foreign_origin"
        assert refused("POST", with_cookie=with_cookie, sec_fetch_site="same-site") == "foreign_origin"


def test_a_cors_origin_is_one_of_the_list():
    settings = GatewaySettings(cors_origins=["https://app.example/"])
    assert is_cors_origin("https://app.example", settings)
    assert not is_cors_origin("https://app.example.evil", settings)
    assert not is_cors_origin("", settings)
    assert not is_cors_origin("https://app.example", LOCAL)
