"""The fast path against the scripted model over real HTTP: each fault gives its error, each quirk the same events."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from llm import (
    Finish,
    KeyRefused,
    ModelBusy,
    ModelError,
    Models,
    ModelSettings,
    ModelUnknown,
    Patience,
    ReasoningDelta,
    RequestRefused,
    Served,
    StreamBroken,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    Usage,
)
from tests.kit.model import ScriptedModel

from .conftest import answer, ask, text_of


async def test_text_and_usage(models: Models):
    events = await answer(models, "hello [[tokens=50 reasoning=10]]")
    assert isinstance(events[0], Served)
    assert sum(isinstance(event, ReasoningDelta) for event in events) == 10
    assert sum(isinstance(event, TextDelta) for event in events) == 50
    usage = events[-2]
    assert isinstance(usage, Usage)
    assert (usage.output, usage.reasoning) == (60, 10)
    assert events[-1] == Finish("stop", "stop")


async def test_the_text_is_what_was_sent(models: Models, scripted: ScriptedModel):
    events = await answer(models, "words: Grüße, 你好, 🦉 [[tokens=500]]")
    (record,) = await scripted.wait(ended=1, user="words: Grüße")
    assert record["text"] == text_of(events)
    assert (record["outcome"], record["tokens"]) == ("finished", 500)


@pytest.mark.parametrize(
    "quirk", ["bytes=1", "bytes=7", "crlf", "comments", "done=0", "crlf comments bytes=1", "rate=200"]
)
async def test_framing_makes_no_difference(models: Models, quirk: str):
    plain = await answer(models, '[[tokens=9 reasoning=3 tool=calculator:{"expression":"1"}]]')
    odd = await answer(models, f'[[tokens=9 reasoning=3 {quirk} tool=calculator:{{"expression":"1"}}]]')
    assert [type(event) for event in odd] == [type(event) for event in plain]


@pytest.mark.parametrize("way", ["fragments", "whole", "no_index", "same_index"])
async def test_parallel_calls(models: Models, way: str):
    events = await answer(models, f'[[calls={way} tool=calculator:{{"expression":"2+2"}} tool=other:"{{bad"]]')
    starts = [event for event in events if isinstance(event, ToolCallStart)]
    assert [(start.index, start.name) for start in starts] == [(0, "calculator"), (1, "other")]
    arguments = ["", ""]
    for event in events:
        if isinstance(event, ToolCallDelta):
            arguments[event.index] += event.arguments
    assert arguments == ['{"expression": "2+2"}', "{bad"]
    assert events[-1] == Finish("tool_calls", "tool_calls")


@pytest.mark.parametrize("where", ["last", "late", "finish"])
async def test_usage_wherever_it_comes(scripted: ScriptedModel, where: str):
    patient = Models(ModelSettings("openai/scripted", scripted.url))
    events = await answer(patient, f"[[usage={where} tokens=3]]")
    await patient.aclose()
    usage = [event for event in events if isinstance(event, Usage)]
    assert [event.output for event in usage] == [3]


async def test_no_usage(models: Models):
    events = await answer(models, "[[usage=none tokens=3]]")
    assert not any(isinstance(event, Usage) for event in events)


async def test_usage_that_comes_too_late_is_not_waited_for(models: Models):
    # The tail of this patience is shorter than the scripted model's lateness; the answer is whole all the same.
    events = await answer(models, "[[usage=late tokens=3]]")
    assert not any(isinstance(event, Usage) for event in events)
    assert events[-1] == Finish("stop", "stop")


@pytest.mark.parametrize("finish", ["length", "content_filter", "tool_calls"])
async def test_finish_reasons(models: Models, finish: str):
    assert (await answer(models, f"[[tokens=2 finish={finish}]]"))[-1] == Finish(finish, finish)  # type: ignore[arg-type]


async def test_an_empty_answer(models: Models):
    events = await answer(models, "[[tokens=0]]")
    assert [type(event) for event in events] == [Served, Usage, Finish]


FAULTS = [
    ("status=401", KeyRefused, {"status": 401, "retryable": False, "started": False}),
    ("status=402", KeyRefused, {"status": 402}),
    ("status=403", KeyRefused, {"status": 403}),
    ("status=404", ModelUnknown, {"status": 404, "retryable": False}),
    ("status=400", RequestRefused, {"status": 400, "context_full": False}),
    ("status=413", RequestRefused, {"status": 413, "context_full": True}),
    ("status=301", RequestRefused, {"status": 301}),
    ("status=408", ModelBusy, {"status": 408}),
    ("status=409", ModelBusy, {"status": 409}),
    ("status=429 retry_after=7", ModelBusy, {"status": 429, "retryable": True, "retry_after": 7, "started": False}),
    ("status=500", ModelBusy, {"status": 500, "retry_after": None}),
    ("status=503 retry_after=0.5", ModelBusy, {"status": 503, "retry_after": 0.5}),
    ("html", StreamBroken, {"reason": "not_a_stream", "started": False}),
    ("silence", StreamBroken, {"reason": "silence", "started": False}),
    ("delay=9", StreamBroken, {"reason": "silence", "started": False}),
    ("think=9", StreamBroken, {"reason": "silence", "started": False}),
    ("hang=0", StreamBroken, {"reason": "silence", "started": False}),
    ("hang=3", StreamBroken, {"reason": "silence", "started": True}),
    ("reset=3", StreamBroken, {"reason": "lost", "started": True}),
    ("reset=0", StreamBroken, {"reason": "lost", "started": False}),
    ("cut=3", StreamBroken, {"reason": "unfinished", "started": True}),
    ("cut=0", StreamBroken, {"reason": "unfinished", "started": False}),
    ("finish=none done=0", StreamBroken, {"reason": "unfinished", "started": True}),
    ("garbage=2", StreamBroken, {"reason": "bad_data", "started": True}),
    ("error=2", ModelBusy, {"started": True}),
]


@pytest.mark.parametrize(("script", "kind", "expected"), FAULTS, ids=[fault[0] for fault in FAULTS])
async def test_faults(models: Models, script: str, kind: type[ModelError], expected: dict[str, object]):
    with pytest.raises(kind) as raised:
        await answer(models, f"[[tokens=5 {script}]]")
    error = raised.value
    assert {name: getattr(error, name) for name in expected} == expected
    assert error.text.startswith("openai/scripted: ")


async def test_tokens_before_a_break_are_given(models: Models):
    said: list[TextDelta] = []

    async def listen() -> None:
        async for events in models.resolve().call(ask("[[tokens=9 reset=4]]")).stream():
            said.extend(event for event in events if isinstance(event, TextDelta))

    with pytest.raises(StreamBroken):
        await listen()
    assert len(said) == 4


async def test_a_fault_that_passes(models: Models):
    words = "passing [[status=429 retry_after=1 times=2 tokens=2]]"
    for _ in range(2):
        with pytest.raises(ModelBusy):
            await answer(models, words)
    assert (await answer(models, words))[-1] == Finish("stop", "stop")


async def test_a_wrong_key_is_refused_and_never_shown():
    with ScriptedModel.started("--key", "sk-right") as locked:
        for key, good in (("sk-wrong-123456", False), (None, False), ("sk-right", True)):
            models = Models(ModelSettings("openai/scripted", locked.url, key))
            if good:
                assert text_of(await answer(models, "hello")) == "You said: hello"
            else:
                with pytest.raises(KeyRefused) as raised:
                    await answer(models, "hello")
                assert "sk-wrong" not in f"{raised.value} {raised.value.detail}"
            await models.aclose()
        assert [record["with_key"] for record in locked.served()] == [True]


async def test_no_key_means_no_header(models: Models, scripted: ScriptedModel):
    await answer(models, "keyless [[tokens=1]]")
    assert [record["with_key"] for record in scripted.served(user="keyless")] == [False]


async def test_nobody_there():
    models = Models(ModelSettings("openai/m", "http://127.0.0.1:9/v1", patience=Patience(connect=1)))
    with pytest.raises(StreamBroken) as raised:
        await answer(models, "hello")
    assert raised.value.reason == "unreachable"
    await models.aclose()


@pytest.mark.parametrize("url", ["no address", "ftp://127.0.0.1/v1", "http://"])
async def test_a_base_url_that_is_none(url: str):
    models = Models(ModelSettings("openai/m", url))
    with pytest.raises(ModelError) as raised:
        await answer(models, "hello")
    assert not raised.value.retryable
    await models.aclose()


async def test_cancelling_closes_the_connection_at_once(models: Models, scripted: ScriptedModel):
    speaks = asyncio.Event()

    async def listen() -> None:
        async with models.resolve().call(ask("cancelled [[tokens=1000 rate=20]]")) as call:
            async for _ in call.stream():
                speaks.set()

    running = asyncio.create_task(listen())
    await asyncio.wait_for(speaks.wait(), 10)
    running.cancel()
    cancelled_ns = time.monotonic_ns()
    (record,) = await scripted.wait(ended=1, user="cancelled")
    assert record["outcome"] == "cancelled"
    assert (record["ended_ns"] - cancelled_ns) / 1e6 < 300
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize("script", ["tokens=1000 rate=20", "silence", "hang=2", "delay=60"])
async def test_leaving_the_call_closes_the_connection_at_once(models: Models, scripted: ScriptedModel, script: str):
    words = f"left {script} [[{script}]]"

    async def leave() -> None:
        async with models.resolve().call(ask(words)) as call, asyncio.timeout(0.3):
            async for _ in call.stream():
                pass

    with pytest.raises(TimeoutError):
        await leave()
    left_ns = time.monotonic_ns()
    (record,) = await scripted.wait(ended=1, user=words)
    assert record["outcome"] == "cancelled"
    assert (record["ended_ns"] - left_ns) / 1e6 < 300


@pytest.mark.parametrize("script", ["tokens=1000 rate=20", "silence"])
async def test_aclose_from_elsewhere_ends_the_stream(models: Models, scripted: ScriptedModel, script: str):
    words = f"closed elsewhere {script} [[{script}]]"
    call = models.resolve().call(ask(words))

    async def listen() -> None:
        async for _ in call.stream():
            pass

    listening = asyncio.create_task(listen())
    await scripted.wait(started=1, user=words)
    await call.aclose()
    closed_ns = time.monotonic_ns()
    with pytest.raises(StreamBroken):
        await asyncio.wait_for(listening, 1)
    (record,) = await scripted.wait(ended=1, user=words)
    assert record["outcome"] == "cancelled"
    assert (record["ended_ns"] - closed_ns) / 1e6 < 300


async def test_a_slow_consumer_is_not_the_providers_silence(models: Models):
    said = 0
    async with models.resolve().call(ask("[[tokens=40 rate=50]]")) as call:
        async for events in call.stream():
            said += sum(isinstance(event, TextDelta) for event in events)
            if said < 3:
                await asyncio.sleep(0.8)  # longer than the patience for silence
    assert said == 40


async def test_many_calls_share_the_session_and_reuse_connections(models: Models):
    answers = await asyncio.gather(*(answer(models, f"{number} [[tokens=20 rate=200]]") for number in range(60)))
    assert len({text_of(events) for events in answers}) == 60


async def test_a_long_conversation_is_sent_whole(models: Models, scripted: ScriptedModel):
    long = "long " + "ä" * 1_500_000
    await answer(models, long + "[[tokens=1]]")
    (record,) = await scripted.wait(ended=1, user="long ä")
    assert len(record["messages"][0]["content"]) > 1_500_000
    scripted.forget()


@asynccontextmanager
async def raw_server(reply: bytes) -> AsyncIterator[str]:
    """A server that says exactly these bytes to whoever comes."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


WHOLE = b"""{"id": "x", "model": "m", "choices": [{"message": {"role": "assistant", "content": "Hi",
"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}, "finish_reason": "stop"}],
"usage": {"prompt_tokens": 1, "completion_tokens": 2}}"""
PAGE = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"


async def raw(reply: bytes):
    async with raw_server(reply) as url:
        models = Models(ModelSettings("openai/m", url))
        try:
            return await answer(models, "hello")
        finally:
            await models.aclose()


async def test_a_provider_that_does_not_stream():
    events = await raw(PAGE % (b"application/json", len(WHOLE), WHOLE))
    assert events == [
        Served("m", "x"),
        TextDelta("Hi"),
        ToolCallStart(0, "a", "f"),
        ToolCallDelta(0, "{}"),
        Usage(1, 0, 2, 0),
        Finish("tool_calls", "stop"),
    ]


@pytest.mark.parametrize(
    ("kind", "body", "reason"),
    [
        (b"application/json", b'{"hello": 1}', "not_a_stream"),
        (b"application/json", b"[1]", "not_a_stream"),
        (b"application/json", b"{", "not_a_stream"),
        (b"text/plain", b"<html>hi</html>", "not_a_stream"),
        (b"text/event-stream", b"<!DOCTYPE html><html>", "not_a_stream"),
        (b"text/html", b"", "not_a_stream"),
        (b"text/event-stream", b"", "unfinished"),
        (b"text/event-stream", b'data: {"choices": [{"delta": {"content": "x"', "bad_data"),
    ],
)
async def test_200_with_something_else(kind: bytes, body: bytes, reason: str):
    with pytest.raises(StreamBroken) as raised:
        await raw(PAGE % (kind, len(body), body))
    assert raised.value.reason == reason


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"HTTP/1.1 200",
        b"hello\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 99\r\n\r\ndata: ",
    ],
)
async def test_connections_that_die(reply: bytes):
    with pytest.raises(StreamBroken) as raised:
        await raw(reply)
    assert raised.value.reason == "lost"


async def test_a_break_after_the_finish_is_a_whole_answer():
    body = b'data: {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}\n\n'
    events = await raw(PAGE % (b"text/event-stream", 999, body))
    assert events == [TextDelta("x"), Finish("stop", "stop")]


async def test_an_error_in_json_with_200():
    body = b'{"error": {"message": "rate limit", "code": 429}}'
    with pytest.raises(ModelBusy):
        await raw(PAGE % (b"application/json", len(body), body))


async def test_patience_is_a_setting(scripted: ScriptedModel, models: Models):
    patient = Models(replace(models.settings, patience=Patience(silence=5)))
    events = await answer(patient, "[[tokens=2 rate=1]]")
    assert text_of(events).count(" ") == 1
    await patient.aclose()


async def test_where_nobody_chose_the_first_model_that_can_chat_answers():
    with ScriptedModel.started() as model:
        model.script({"models": ["nomic-embed-text", "llama", "qwen"]})
        models = Models(ModelSettings(openai_base_url=model.url))
        events = await answer(models, "hello")
        assert events[0] == Served("llama", "chatcmpl-1")
        assert [record["model"] for record in model.served()] == ["llama"]
        await models.aclose()


async def test_a_server_without_a_list_is_asked_all_the_same():
    body = b'data: {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}\n\n'
    async with raw_server(PAGE % (b"text/event-stream", len(body), body)) as url:
        models = Models(ModelSettings(openai_base_url=url))
        assert text_of(await answer(models, "hello")) == "x"
        await models.aclose()
