"""Addresses as people and models write them, and what is refused before anything is looked up."""

import pytest

from outbound import Forbidden
from outbound.target import target_of


@pytest.mark.parametrize(
    ("text", "url", "host", "port"),
    [
        ("https://example.org/a?b=c#d", "https://example.org/a?b=c", "example.org", 443),
        ("HTTP://EXAMPLE.ORG.:8080/", "http://example.org:8080/", "example.org", 8080),
        ("https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4", "xn--bcher-kva.example", 443),
        ("http://[2001:4860:4860:0:0:0:0:8888]/", "http://[2001:4860:4860::8888]/", "2001:4860:4860::8888", 80),
    ],
)
def test_an_address_is_read_once(text: str, url: str, host: str, port: int) -> None:
    target = target_of(text)
    assert (str(target.url), target.host, target.port) == (url, host, port)


@pytest.mark.parametrize("text", ["http://①②⑦.⓪.⓪.①/", "http://127。0。0。1/", "http://127.0.0.1./"])
def test_other_signs_for_digits_and_dots_are_the_address_that_they_mean(text: str) -> None:
    assert str(target_of(text).literal) == "127.0.0.1"


@pytest.mark.parametrize(
    "text",
    [
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://1.2.3.4.5/",
        "http://a.0x7f/",
        "http://[fe80::1%25eth0]/",
        "http://[::1",
        "http://user@example.org/",
        "http://user:secret@example.org/",
        "http://example.org\\@127.0.0.1/",
        "http://exam ple.org/",
        "http://example.org/\r\nHost: other",
        "http://example.org:22/",
        "http://example.org:0/",
        "http://example.org:99999/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "gopher://example.org/",
        "javascript:alert(1)",
        "//example.org/",
        "example.org",
        "http:///path",
        "http://a..b/",
        "http://-a.org/",
        "http://exa%6dple.org/",
        "http://example.org/" + "a" * 9000,
        "",
    ],
)
def test_whatever_else_is_refused(text: str) -> None:
    with pytest.raises(Forbidden) as refused:
        target_of(text)
    assert "secret" not in refused.value.text
