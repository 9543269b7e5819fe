"""A provider's "no" into a typed error: HTTP answers, and error objects in the middle of a stream."""

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from llm.errors import KeyRefused, ModelBusy, ModelError, ModelUnknown, RequestRefused, StreamBroken

BUSY = frozenset({408, 409, 425, 429})
CONTEXT_FULL = re.compile(
    r"context[_ ](length|window|size)|maximum context|too many (input )?tokens|prompt is too long|input is too long",
    re.I,
)
NO_CREDIT = re.compile(r"insufficient_quota|insufficient (credit|balance|funds)|billing", re.I)
KEY = re.compile(r"\b(sk|key|gsk|xai)-[\w*.-]{6,}")
DETAIL_LIMIT = 500  # characters of a provider's message that are kept for the log


def refusal(model: str, status: int, headers: Mapping[str, str], body: bytes, *, key: str = "") -> ModelError:
    """The error that an HTTP answer other than 2xx means. `key` is taken out of whatever the provider repeats."""
    detail = f"HTTP {status}: {_message(body)}"
    if key:
        detail = detail.replace(key, "[key]")
    location = headers.get("location", "")
    if 300 <= status < 400:
        detail += f" (redirect to {location})"
    return _error(model, status, KEY.sub("[key]", detail), retry_after(headers), started=False)


def refusal_in_stream(model: str, error: Any, *, started: bool) -> ModelError:
    """The error that `data: {"error": …}` means, after the provider had said 200."""
    fields: dict[str, Any] = error if isinstance(error, dict) else {"message": str(error)}  # pyright: ignore[reportUnknownVariableType]
    detail = KEY.sub("[key]", orjson.dumps(fields).decode()[:DETAIL_LIMIT])
    code = fields.get("code")
    if isinstance(code, int) and 400 <= code < 600:
        return _error(model, code, detail, None, started=started)
    if CONTEXT_FULL.search(detail) or fields.get("type") == "invalid_request_error":
        return _error(model, 400, detail, None, started=started)
    if NO_CREDIT.search(detail):
        return _error(model, 402, detail, None, started=started)
    return ModelBusy(f"{model}: the provider gave up in the middle of the answer", detail=detail, started=started)


def not_a_stream(model: str, content_type: str, body: bytes) -> StreamBroken:
    """The error for a 200 that holds something else, mostly a web page."""
    kind = "a web page" if b"<html" in body[:2000].lower() or "html" in content_type else f"“{content_type}”"
    return StreamBroken(
        f"{model}: the provider's address answered with {kind} instead of a model's answer",
        reason="not_a_stream",
        status=200,
        detail=f"{content_type}: {body[:DETAIL_LIMIT]!r}",
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the provider wants us to wait: `retry-after-ms`, or `retry-after` as seconds or as a date."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "")
        try:
            seconds = (
                float(value) * unit if value[:1].isdigit() else parsedate_to_datetime(value).timestamp() - time.time()
            )
        except ValueError:
            continue
        return max(0.0, seconds)
    return None


def _error(model: str, status: int, detail: str, wait: float | None, *, started: bool) -> ModelError:
    if status == 402 or (status == 429 and NO_CREDIT.search(detail)):
        return KeyRefused(
            f"{model}: the provider's account has no credit", detail=detail, status=status, started=started
        )
    if status in BUSY or status >= 500:
        text = (
            "the provider asks to slow down" if status == 429 else f"the provider is not able to answer now ({status})"
        )
        return ModelBusy(f"{model}: {text}", detail=detail, status=status, retry_after=wait, started=started)
    if status in (401, 403):
        return KeyRefused(f"{model}: the provider refused the key", detail=detail, status=status, started=started)
    if status == 404:
        text = f"{model}: the provider does not know this model, or has no such interface at this address"
        return ModelUnknown(text, detail=detail, status=status, started=started)
    if 300 <= status < 400:
        text = f"{model}: the provider's address has moved; set its base URL to the final address"
        return RequestRefused(text, detail=detail, status=status, started=started)
    if status == 413 or CONTEXT_FULL.search(detail):
        text = f"{model}: the conversation is too long for this model"
        return RequestRefused(text, detail=detail, status=status, started=started, context_full=True)
    text = f"{model}: the provider refused the request ({status})"
    return RequestRefused(text, detail=detail, status=status, started=started)


def _message(body: bytes) -> str:
    """What the provider says in words: `{"error": {"message", "code", "type"}}`, `{"error": text}`, or the page."""
    try:
        answer: dict[str, Any] = orjson.loads(body)
        error: Any = answer.get("error", answer)
        if isinstance(error, str):
            return error[:DETAIL_LIMIT]
        return " ".join(str(error[key])[:DETAIL_LIMIT] for key in ("message", "code", "type") if error.get(key))
    except (ValueError, AttributeError, TypeError):
        return body[:DETAIL_LIMIT].decode("utf-8", "replace")
