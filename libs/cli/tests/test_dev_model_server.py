"""The scripted model as a process: its wire, its doors, its records."""

import itertools
import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.kit.model import OPENER, ScriptedModel


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel.started() as running:
        yield running


def post(model: ScriptedModel, words: str, *, stream: bool = False, name: str = "scripted", **more: Any) -> Any:
    body = {"model": name, "stream": stream, "messages": [{"role": "user", "content": words}], **more}
    return post_raw(model, json.dumps(body).encode())


def post_raw(model: ScriptedModel, body: bytes) -> Any:
    request = urllib.request.Request(f"{model.url}/chat/completions", body, {"Content-Type": "application/json"})
    with OPENER.open(request, timeout=10) as answer:
        text = answer.read().decode()
    return json.loads(text) if text.startswith("{") else text


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


def test_a_stream_on_the_wire(model: ScriptedModel):
    text = post(model, "hello there", stream=True, stream_options={"include_usage": True})
    chunks = events(text)
    assert text.endswith("data: [DONE]\n\n")
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in chunks[:-1]) == "You said: hello there"
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["completion_tokens"] == 4
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in chunks}) == 1


def test_usage_only_where_it_was_asked_for(model: ScriptedModel):
    assert not any(chunk.get("usage") for chunk in events(post(model, "hello", stream=True)))


def test_without_streaming(model: ScriptedModel):
    answer = post(model, '[[text="Hi you" reasoning=2 tool=f:{"a":1}]]')
    message = answer["choices"][0]["message"]
    assert message["content"] == "Hi you"
    assert message["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a": 1}'}
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    assert answer["usage"]["completion_tokens"] == 4


def test_stamps_tell_when_each_token_was_sent(model: ScriptedModel):
    chunks = events(post(model, "[[stamp tokens=5 rate=50]]", stream=True))
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    stamps = [tuple(map(int, stamp.split(":"))) for stamp in text.split()]
    assert [number for number, _ in stamps] == list(range(5))
    gaps = [(later - earlier) / 1e6 for (_, earlier), (_, later) in itertools.pairwise(stamps)]
    assert sum(gaps) > 60  # four gaps of 20 ms


def test_models_and_strictness(model: ScriptedModel):
    model.script(
        {"models": ["fast", "slow"], "strict": True, "rules": [{"model": "slow", "replies": [{"text": "So."}]}]}
    )
    try:
        with OPENER.open(f"{model.url}/models") as answer:
            assert [entry["id"] for entry in json.load(answer)["data"]] == ["fast", "slow"]
        assert post(model, "x", name="slow")["choices"][0]["message"]["content"] == "So."
        with pytest.raises(urllib.error.HTTPError) as raised:
            post(model, "x", name="other")
        assert raised.value.code == 404
    finally:
        model.unscript()
    assert post(model, "x", name="other")["choices"][0]["message"]["content"] == "You said: x"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"{}", b'{"model": "m"}', b'{"model": "m", "messages": 5}', b'{"model":"m","messages":[5]}'],
)
def test_requests_that_are_none(model: ScriptedModel, body: bytes):
    with pytest.raises(urllib.error.HTTPError) as raised:
        post_raw(model, body)
    assert raised.value.code == 400
    assert json.load(raised.value)["error"]["message"]


def test_a_bad_directive_says_what_is_wrong(model: ScriptedModel):
    with pytest.raises(urllib.error.HTTPError) as raised:
        post(model, "[[tokenz=5]]")
    assert "tokenz" in json.load(raised.value)["error"]["message"]


def test_a_bad_script_says_what_is_wrong(model: ScriptedModel):
    with pytest.raises(AssertionError, match="rules"):
        model.script({"ruls": []})


async def test_records(model: ScriptedModel):
    model.forget()
    post(model, "remember me", temperature=0.5, tools=[{"type": "function", "function": {"name": "f"}}])
    (record,) = await model.wait(ended=1, user="remember")
    assert record["outcome"] == "finished"
    assert record["tools"] == ["f"]
    assert record["request"] == {"stream": False, "temperature": 0.5}
    assert record["messages"] == [{"role": "user", "content": "remember me"}]
    assert record["text"] == "You said: remember me"
    assert record["ms"] >= 0
    assert model.served(user="nobody") == []
    assert model.served(model="nothing") == []
    with pytest.raises(AssertionError, match="no 2 started"):
        await model.wait(started=2, seconds=0.1)


async def test_a_client_that_leaves_is_noticed(model: ScriptedModel):
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "leaver [[tokens=900 rate=50]]"}]}
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{model.url}/chat/completions", json=body) as response:
            await response.content.readany()
            response.close()
    (record,) = await model.wait(ended=1, user="leaver")
    assert record["outcome"] == "cancelled"
    assert 0 <= record["tokens"] < 100


def test_events_as_they_happen(model: ScriptedModel):
    lines: list[dict[str, Any]] = []
    watching = OPENER.open(f"{model.url.removesuffix('/v1')}/events", timeout=10)

    def watch() -> None:
        while len(lines) < 2:
            lines.append(json.loads(watching.readline()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    post(model, "watched [[tokens=2 rate=20]]", stream=True)
    watcher.join(10)
    watching.close()
    assert [line["outcome"] for line in lines] == ["running", "finished"]


def run(*options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "cli.dev", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def test_what_cannot_start_says_why(model: ScriptedModel, tmp_path: Path):
    port = model.url.rsplit(":", 1)[1].split("/")[0]
    taken = run("model", "--port", port)
    assert taken.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in taken.stderr
    bad = tmp_path / "script.json"
    bad.write_text("{")
    assert "cannot be used" in run("model", "--port", "0", "--script", str(bad)).stderr


def test_a_script_file(tmp_path: Path):
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"rules": [{"replies": [{"text": "From the file."}]}]}))
    with ScriptedModel.started("--script", str(file)) as running:
        assert post(running, "x")["choices"][0]["message"]["content"] == "From the file."


def test_hold_needs_a_running_system(tmp_path: Path):
    held = run("hold", "nats", "1", "--data-dir", str(tmp_path))
    assert held.returncode == 1
    assert "not running" in held.stderr
