"""Reading JSON bodies: what is refused, and with which status."""

import asyncio

import pytest
from starlette.requests import Request

from chassis.errors import Refused
from gateway.bodies import read_json


def request(*chunks, headers=()):
    left = list(chunks)

    async def receive():
        chunk = left.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(left)}

    scope = {"type": "http", "method": "POST", "headers": [(k.encode(), v.encode()) for k, v in headers]}
    return Request(scope, receive)


async def refusal(*chunks, headers=(), limit=1000):
    with pytest.raises(Refused) as refused:
        await read_json(request(*chunks, headers=headers), limit, 1)
    return refused.value


async def test_a_body_in_pieces_is_one_value():
    read = await read_json(request(b'{"a": [1,', b' "\xc3\xa4"]}'), 1000, 1)
    assert await read.json() == {"a": [1, "ä"]}


async def test_no_body_is_no_value():
    read = await read_json(request(b""), 1000, 1)
    assert await read.body() == b""


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"{'a': 1}",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'"\xff"',
        b'{"a": 1} {}',
        b'{"a": "\\ud800"}',
        b"[" * 100_000,
        b'\xef\xbb\xbf{"a": 1}',
    ],
)
async def test_what_is_not_json_is_malformed(body):
    refused = await refusal(body, limit=1 << 20)
    assert (refused.status, refused.error) == (400, "malformed_json")


async def test_a_declared_size_is_refused_unread():
    refused = await refusal(headers=[("content-length", "1001")])
    assert (refused.status, refused.fields["limit"]) == (413, 1000)
    assert "1,000 bytes" in refused.message


async def test_a_size_that_was_not_declared_is_noticed():
    assert (await refusal(b" " * 600, b" " * 600, b"{}")).status == 413


async def test_other_media_are_refused():
    for media in ("text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"):
        assert (await refusal(b"{}", headers=[("content-type", media)])).status == 415
    read = await read_json(request(b"{}", headers=[("content-type", "application/JSON; charset=utf-8")]), 1000, 1)
    assert await read.json() == {}


@pytest.mark.parametrize("body", [b'"a\\u0000"', b'{"\\u0000": 1}', b'[[{"a": ["\\u0000"]}]]'])
async def test_null_characters_are_refused_wherever_they_hide(body):
    assert (await refusal(body)).status == 422


async def test_a_written_out_escape_is_no_null_character():
    read = await read_json(request(b'"\\\\u0000"'), 1000, 1)
    assert await read.json() == "\\u0000"


async def test_a_body_that_does_not_come_is_not_waited_for():
    async def receive():
        await asyncio.Event().wait()

    with pytest.raises(Refused) as refused:
        await read_json(Request({"type": "http", "method": "POST", "headers": []}, receive), 1000, 0.05)
    assert refused.value.status == 408
