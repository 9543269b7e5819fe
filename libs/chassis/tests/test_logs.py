"""Logs: one line per event, ids on it, no secret in it, the standard library included."""

import asyncio
import io
import json
import logging
import os

import pytest
from pydantic import SecretStr

from chassis import logs, tracing

SECRET = "Qm3v0Zr8Wk1xTn5y"


@pytest.fixture
def written():
    stream = io.StringIO()
    logs.setup(instance="sample-1", level="debug", stream=stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logging.getLogger().handlers[:] = []


@pytest.fixture
def text():
    stream = io.StringIO()
    logs.setup(instance="sample-1", fmt="text", stream=stream)
    yield lambda: stream.getvalue()
    logging.getLogger().handlers[:] = []


def test_an_event_is_one_line_with_its_fields(written):
    logs.get("room").info("turn accepted", turn_id="t1", queued=3, note="two\nlines")
    (line,) = written()
    assert line.pop("at").endswith("Z")
    assert line == {
        "event": "turn accepted",
        "turn_id": "t1",
        "queued": 3,
        "note": "two\nlines",
        "level": "info",
        "logger": "room",
        "instance": "sample-1",
        "pid": os.getpid(),
    }


def test_the_standard_library_is_routed_through(written):
    logging.getLogger("library").warning("left %s", "over", extra={"connection": "gateway-1"})
    (line,) = written()
    assert (line["event"], line["connection"], line["logger"]) == ("left over", "gateway-1", "library")


async def test_ids_are_on_every_line_inside_and_in_tasks_started_there(written):
    async def task():
        logs.get("room").info("in a task")

    with logs.correlated(correlation_id="c1", user_id="u1", turn_id=None):
        assert logs.correlation_id() == "c1"
        logging.getLogger("library").warning("in a library")
        started = asyncio.create_task(task())
    await started
    logs.get("room").info("outside")
    library, inside, outside = written()
    for line in (library, inside):
        assert (line["correlation_id"], line["user_id"]) == ("c1", "u1")
        assert "turn_id" not in line
    assert "correlation_id" not in outside


def test_the_trace_is_named_inside_a_span(written):
    tracing.setup("sample", "sample-1")
    with tracing.span("work") as span:
        logs.get("room").info("traced")
    logs.get("room").info("untraced")
    traced, untraced = written()
    assert traced["trace_id"] == format(span.get_span_context().trace_id, "032x")
    assert "trace_id" not in untraced


@pytest.mark.parametrize(
    "fields",
    [
        {"password": SECRET},
        {"api_key": SECRET},
        {"OPENAI_API_KEY": SECRET},
        {"metrics_token": SECRET},
        {"headers": {"Authorization": f"Bearer {SECRET}", "Cookie": f"session={SECRET}"}},
        {"settings": [{"client_secret": SECRET}]},
        {"value": SecretStr(SECRET)},
        {"database_url": f"postgresql://gateway:{SECRET}@db/retinue"},
        {"reason": f"could not connect to nats://runner:{SECRET}@bus:4222"},
        {"line": f"GET / authorization: Bearer {SECRET}"},
        {"said": f"Incorrect API key provided: sk-proj-{SECRET}"},
        {"body": SECRET.encode()},
        {"deep": {"a": {"b": {"c": {"d": {"password": SECRET}, "url": f"x://u:{SECRET}@h"}}}}},
    ],
)
def test_secrets_are_masked_wherever_they_hide(written, fields):
    logs.get("room").info("something", **fields)
    assert SECRET not in json.dumps(written())


def test_a_secret_in_the_message_or_the_traceback_is_masked(written):
    try:
        raise ConnectionError(f"postgresql://gateway:{SECRET}@db refused")
    except ConnectionError:
        logging.getLogger("library").exception("gave up on %s", f"nats://u:{SECRET}@bus")
    (line,) = written()
    assert SECRET not in json.dumps(line)
    assert "ConnectionError" in line["exception"]


def test_what_only_sounds_like_a_secret_stays_readable(written):
    logs.get("room").info("model call ended", input_tokens=12, tokens=7, max_tokens=100, url="http://host/path")
    (line,) = written()
    assert (line["input_tokens"], line["tokens"], line["max_tokens"]) == (12, 7, 100)
    assert line["url"] == "http://host/path"


def test_text_is_one_line_and_a_traceback_is_marked(text):
    logs.get("room").info("said", words="a\nforged line")
    try:
        raise ValueError("broken")
    except ValueError:
        logs.get("room").exception("fell")
    said, fell, *trace = text().splitlines()
    assert f"sample-1[{os.getpid()}] said  words=a\\nforged line  [room]" in said
    assert "error" in fell
    assert trace
    assert all(line.startswith("    | ") for line in trace)


def test_the_level_is_kept(text):
    logs.get("room").debug("too quiet")
    logs.get("room").info("loud enough")
    assert "too quiet" not in text()
    assert "loud enough" in text()
