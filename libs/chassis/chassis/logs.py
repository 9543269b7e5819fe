"""One line per event, with who and which turn on it, and never a secret.

`setup` routes structlog and the standard library through the same processors. JSON lines are always single lines;
text lines too, except that a traceback follows its line, each of its lines marked with a bar.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Generator, MutableMapping
from contextlib import contextmanager
from typing import Any, Literal, TextIO, cast

import structlog
from opentelemetry import trace
from pydantic import SecretStr

MASK = "********"
_DEEPEST = 4
_INTERNAL = frozenset({"_record", "_from_structlog"})
_SECRET_KEY = re.compile(
    r"(?i)(password|passwd|secret|credential|authorization|cookie|api_?key|private_?key|_dsn$|^dsn$"
    r"|(?:^|[_.-])token$)"
)
_URL_PASSWORD = re.compile(r"(\w+://[^\s:@/]*):[^\s@/]+@")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
_PROVIDER_KEY = re.compile(r"\b(?:sk|rk|pk|xoxb|ghp|ret)[-_][\w-]{12,}")


def setup(
    *,
    instance: str,
    level: str = "info",
    fmt: Literal["json", "text"] = "json",
    stream: TextIO | None = None,
) -> None:
    """Point every logger of this process at `stream` (standard error by default). May be called again, by tests."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        _stamp(instance),
        structlog.processors.format_exc_info,
        mask_secrets,
    ]
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    render: Any = structlog.processors.JSONRenderer(default=str, ensure_ascii=False) if fmt == "json" else as_text
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.ExtraAdder(), *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    _take_over_libraries()


def get(name: str) -> structlog.stdlib.BoundLogger:
    """The logger of a module: `log = logs.get(__name__)`; events are `log.info("turn accepted", turn_id=…)`."""
    return structlog.stdlib.get_logger(name)


@contextmanager
def correlated(**ids: Any) -> Generator[None]:
    """Put ids (`correlation_id`, `user_id`, `turn_id`, …) on every line written inside, by tasks started there too."""
    with structlog.contextvars.bound_contextvars(**{key: str(value) for key, value in ids.items() if value}):
        yield


def correlation_id() -> str | None:
    """The correlation id of what is being worked on, if any."""
    return structlog.contextvars.get_contextvars().get("correlation_id")


def mask_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Processor: mask values under secret-looking keys, and secret-looking text anywhere."""
    for key, value in event.items():
        if key not in _INTERNAL:
            event[key] = _masked(key, value, 0)
    return event


def as_text(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> str:
    """Renderer for people: time, level, process, event, then `key=value`."""
    traceback = event.pop("exception", None)
    at, level = str(event.pop("at", ""))[:23], event.pop("level", "")
    instance, name = f"{event.pop('instance', '')}[{event.pop('pid', '')}]", event.pop("logger", "")
    told = _one_line(str(event.pop("event", "")))
    fields = " ".join(f"{key}={_one_line(str(value))}" for key, value in event.items())
    line = f"{at} {level:<7} {instance} {told}" + (f"  {fields}" if fields else "") + (f"  [{name}]" if name else "")
    if traceback:
        line += "".join(f"\n    | {part}" for part in str(traceback).splitlines())
    return line


def _stamp(instance: str) -> Any:
    pid = os.getpid()  # two processes have the same name while one replaces the other

    def stamp(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event["instance"], event["pid"] = instance, pid
        span = trace.get_current_span().get_span_context()
        if span.is_valid:
            event["trace_id"] = trace.format_trace_id(span.trace_id)
        return event

    return stamp


def _masked(key: str, value: Any, depth: int) -> Any:
    if isinstance(value, SecretStr):
        return MASK
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"<{len(cast('bytes', value))} bytes>"
    if isinstance(value, str):
        return MASK if value and _SECRET_KEY.search(key) else _scrubbed(value)
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, (dict, list, tuple)) and depth >= _DEEPEST:
        return "…"
    if isinstance(value, dict):
        entries = cast("dict[Any, Any]", value).items()
        return {str(inner): _masked(str(inner), item, depth + 1) for inner, item in entries}
    if isinstance(value, (list, tuple)):
        return [_masked(key, item, depth + 1) for item in cast("list[Any]", value)]
    return _scrubbed(str(value))


def _scrubbed(text: str) -> str:
    """Text without what only a secret looks like; the cheap tests keep the usual line off the regular expressions."""
    if "://" in text:
        text = _URL_PASSWORD.sub(rf"\1:{MASK}@", text)
    if "earer" in text or "asic" in text or "BEARER" in text:
        text = _BEARER.sub(rf"\1 {MASK}", text)
    if "-" in text or "_" in text:
        text = _PROVIDER_KEY.sub(MASK, text)
    return text


def _one_line(text: str) -> str:
    return (
        text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r") if "\n" in text or "\r" in text else text
    )


def _take_over_libraries() -> None:
    """Libraries that bring handlers of their own lose them; chatty ones speak from warning on."""
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        library = logging.getLogger(name)
        library.handlers[:] = []
        library.propagate = True
    for name in ("uvicorn.error", "uvicorn.access", "asyncio", "httpx", "aiohttp.access"):
        logging.getLogger(name).setLevel(logging.WARNING)
