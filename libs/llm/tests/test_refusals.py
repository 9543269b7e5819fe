"""What a provider's "no" means."""

import time
from email.utils import formatdate

import pytest

from llm import KeyRefused, ModelBusy, RequestRefused
from llm.refusals import refusal, retry_after


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "12"}, 12),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None):
    assert retry_after(headers) == seconds


def test_retry_after_a_date():
    wait = retry_after({"retry-after": formatdate(time.time() + 60, usegmt=True)})
    assert wait is not None
    assert 55 < wait < 65


def test_a_quota_is_not_busy():
    body = b'{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}'
    assert isinstance(refusal("m", 429, {}, body), KeyRefused)
    assert isinstance(refusal("m", 429, {}, b'{"error": {"message": "Rate limit reached"}}'), ModelBusy)


@pytest.mark.parametrize(
    "message",
    ["This model's maximum context length is 8192 tokens", "context_length_exceeded", "prompt is too long: 210000"],
)
def test_a_full_context_is_told_apart(message: str):
    error = refusal("m", 400, {}, b'{"error": {"message": "%s"}}' % message.encode())
    assert isinstance(error, RequestRefused)
    assert error.context_full


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b"5", b'{"error": null}', b'{"error": [1]}', b"\xff" * 9999])
def test_any_body_will_do(body: bytes):
    assert len(refusal("m", 500, {}, body).detail) < 1000


def test_keys_are_taken_out():
    error = refusal(
        "m", 401, {}, b'{"error": {"message": "Incorrect API key: sk-proj-abcdef123456, secret"}}', key="secret"
    )
    assert "abcdef" not in error.detail
    assert "secret" not in error.detail
