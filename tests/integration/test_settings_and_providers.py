"""Settings by level and providers with sealed keys: over HTTP, taken over by a real runner, asked of scripted servers.

One key is planted (`KEY`), and at the end looked for wherever it must not be.
"""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
import typer
from typer.testing import CliRunner

from bus.connection import connect
from cli import config, keys
from cli.up.refusal import Refused
from tests.kit.gateway import Gateway, Person, gateway_on, person_at
from tests.kit.model import ScriptedModel
from tests.kit.runner import runner_on
from tests.kit.stack import QUIET, Servers, data_folder, start_servers
from tests.kit.waiting import eventually

KEY = "sk-planted-" + secrets.token_hex(12)
HEARD: list[bytes] = []
"""Everything that went over the bus."""
ANSWERED: list[str] = []
"""Every answer that people got."""


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """Our own: settings of a deployment are everybody's, and the first account is its admin."""
    with data_folder() as data_dir:
        running = start_servers(data_dir)
        yield running
        running.stop()


@pytest.fixture(scope="module")
def lab() -> Iterator[ScriptedModel]:
    """A provider that wants our key."""
    with ScriptedModel.started("--key", KEY) as running:
        running.script({"models": ["lab-large", "lab-small"]})
        yield running


@pytest.fixture(scope="module")
def local() -> Iterator[ScriptedModel]:
    """A server on this machine without keys."""
    with ScriptedModel.started() as running:
        pulls = {
            "qwen3:0.6b": {"bytes": 1_000_000, "steps": 4, "rate": 50},
            "endless": {"bytes": 10**9, "steps": 10**6, "rate": 20},
        }
        running.script({"models": ["llama-3"], "pulls": pulls})
        yield running


@pytest.fixture(scope="module")
def gateway(servers: Servers) -> Iterator[Gateway]:
    with gateway_on(servers, {"RETINUE_AUTH_CACHE": "0", "RETINUE_RPC_TIMEOUT": "15"}) as running:
        yield running


@pytest.fixture(scope="module")
def admin(gateway: Gateway) -> Person:
    return watched(person_at(gateway))


@pytest.fixture(scope="module")
def user(gateway: Gateway, admin: Person) -> Person:
    return watched(person_at(gateway))


@pytest.fixture(scope="module")
def runner_log() -> Iterator[Path]:
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        yield Path(log.name)


@pytest.fixture(scope="module", autouse=True)
def runner(servers: Servers, local: ScriptedModel, admin: Person, runner_log: Path) -> Iterator[None]:
    env = {
        "RETINUE_LOCAL_SERVERS": f"compatible={local.url},ollama=http://127.0.0.1:9",
        "RETINUE_LOG_LEVEL": "debug",
        # Providers at their own addresses are never reached from here.
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
    }
    with runner_log.open("ab") as log, runner_on(servers, env, log=log):
        eventually(lambda: admin.browser.get("/api/models").status_code == 200, 60, "the runner answers")
        yield


@pytest.fixture(scope="module", autouse=True)
def overheard(servers: Servers) -> Iterator[None]:
    """On a loop of its own, because most tests here have none."""
    ended, begun = threading.Event(), threading.Event()

    async def listen() -> None:
        client = await connect(servers.nats_url("admin"), "eavesdropper")

        async def heard(message: Any) -> None:
            HEARD.append(message.data)

        await client.subscribe(">", cb=heard)
        await client.flush()
        begun.set()
        await asyncio.to_thread(ended.wait)
        await client.close()

    thread = threading.Thread(target=asyncio.run, args=(listen(),))
    thread.start()
    assert begun.wait(10)
    yield
    ended.set()
    thread.join(10)


def watched(person: Person) -> Person:
    def answered(response: httpx.Response) -> None:
        if "event-stream" not in response.headers.get("content-type", ""):
            response.read()
            ANSWERED.append(response.text)

    person.browser.event_hooks["response"].append(answered)
    return person


def settings_of(person: Person) -> dict[str, dict[str, Any]]:
    answer = person.browser.get("/api/settings")
    assert answer.status_code == 200, answer.text
    return {item["name"]: item for item in answer.json()["items"]}


def change(person: Person, **changes: Any) -> httpx.Response:
    return person.browser.patch("/api/settings", json={name.replace("__", "."): v for name, v in changes.items()})


def models_of(person: Person) -> dict[str, Any]:
    answer = person.browser.get("/api/models")
    assert answer.status_code == 200, answer.text
    return answer.json()


def providers_of(person: Person) -> dict[str, dict[str, Any]]:
    return {item["name"]: item for item in person.browser.get("/api/providers").json()["items"]}


# Settings


def test_a_user_sees_their_own_settings_and_an_admin_the_deployments(admin: Person, user: Person) -> None:
    mine = settings_of(user)
    assert mine
    assert {item["level"] for item in mine.values()} == {"user"}
    all_of_them = settings_of(admin)
    assert {"user.model", "model", "registration", "database_url"} <= set(all_of_them)
    assert all_of_them["database_url"]["source"] == "environment"
    assert "********" in all_of_them["database_url"]["value"]
    assert not all_of_them["database_url"]["editable"]
    assert all_of_them["model"]["kind"] == "model"
    assert all_of_them["model"]["group"] == "Models"


def test_the_deployments_settings_are_an_admins(admin: Person, user: Person) -> None:
    assert change(user, model="lab/x").status_code == 403
    assert change(user, model="lab/x", user__effort="low").status_code == 403
    assert settings_of(user)["user.effort"]["value"] is None, "all or nothing"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"nothing_of_the_kind": 1}, "nothing_of_the_kind"),
        ({"nats_url": "nats://elsewhere"}, "nats_url"),
        ({"model_retries": -1}, "model_retries"),
        ({"message_limit": "much"}, "message_limit"),
        ({"user.zone": "Mars/Olympus"}, "user.zone"),
        ({"model": "lab/fine", "user.model": "fine/too", "messages_per_user": -5}, "messages_per_user"),
    ],
)
def test_a_wrong_value_is_named_and_changes_nothing(admin: Person, changes: dict[str, Any], named: str) -> None:
    answer = admin.browser.patch("/api/settings", json=changes)
    assert answer.status_code == 422, answer.text
    assert answer.json()["field"] == named
    now = settings_of(admin)
    assert (now["model"]["value"], now["user.model"]["value"]) == (None, None)


def test_a_saved_value_wins_and_is_taken_over_without_a_restart(admin: Person, user: Person) -> None:
    saved = change(admin, model="lab/lab-large")
    assert saved.status_code == 200, saved.text
    row = settings_of(admin)["model"]
    assert (row["value"], row["source"], row["restart"]) == ("lab/lab-large", "saved", False)
    eventually(lambda: models_of(user)["default"] == "lab/lab-large", 5, "the runner has heard of it")
    assert models_of(user)["default_source"] == "deployment"
    assert change(user, user__model="lab/lab-small").status_code == 200
    assert (models_of(user)["default"], models_of(user)["default_source"]) == ("lab/lab-small", "user")
    assert models_of(admin)["default"] == "lab/lab-large"
    assert change(user, user__model=None).status_code == 200
    assert change(admin, model=None).json() is not None
    eventually(lambda: models_of(user)["default_source"] == "default", 5)


def test_a_saved_secret_is_sealed_and_never_shown(admin: Person) -> None:
    assert change(admin, firecrawl_key=KEY).status_code == 200
    row = settings_of(admin)["firecrawl_key"]
    assert (row["kind"], row["value"], row["source"]) == ("secret", "********", "saved")


# Providers


def test_without_any_provider_the_demo_answers_and_local_servers_are_offered(
    admin: Person, user: Person, local: ScriptedModel
) -> None:
    start = admin.browser.get("/api/start").json()
    assert (start["is_admin"], start["has_model"], start["is_demo"], start["providers"]) == (True, False, True, 0)
    assert [(found["kind"], found["base_url"], found["models"]) for found in start["found"]] == [
        ("compatible", local.url, ["llama-3"])
    ]
    assert user.browser.get("/api/start").json()["found"] == []
    assert user.browser.get("/api/providers/found").status_code == 403


def test_a_key_is_tried_before_it_is_saved(admin: Person, lab: ScriptedModel) -> None:
    wish = {"kind": "compatible", "base_url": lab.url, "key": "sk-wrong-wrong-wrong"}
    wrong = admin.browser.post("/api/providers/test", json=wish).json()
    assert not wrong["ok"]
    assert "key" in wrong["error"].lower()
    assert "wrong-wrong" not in wrong["error"]
    right = admin.browser.post("/api/providers/test", json={**wish, "key": KEY}).json()
    assert (right["ok"], right["error"], sorted(right["models"])) == (True, None, ["lab-large", "lab-small"])
    nobody = admin.browser.post("/api/providers/test", json={**wish, "base_url": "http://127.0.0.1:9/v1"}).json()
    assert not nobody["ok"]
    assert nobody["error"]
    assert providers_of(admin) == {}


def test_a_provider_serves_everybody_and_shows_its_key_to_nobody(
    admin: Person, user: Person, lab: ScriptedModel
) -> None:
    wish = {"name": "lab", "kind": "compatible", "base_url": lab.url, "key": KEY, "scope": "deployment"}
    assert user.browser.post("/api/providers", json=wish).status_code == 403
    made = admin.browser.post("/api/providers", json=wish)
    assert made.status_code == 201, made.text
    assert made.json()["key"] == f"…{KEY[-4:]}"
    assert admin.browser.post("/api/providers", json=wish).status_code == 409
    eventually(lambda: providers_of(user).get("lab", {}).get("models") == 2, 10, "the runner lists its models")
    seen = providers_of(user)["lab"]
    assert (seen["id"], seen["base_url"], seen["key"]) == (None, None, None)
    assert {item["id"] for item in models_of(user)["items"]} == {"lab/lab-large", "lab/lab-small"}
    assert admin.browser.post("/api/providers/test", json={"id": made.json()["id"]}).json()["ok"]
    assert user.browser.post("/api/providers/test", json={"id": made.json()["id"]}).status_code == 404


def answered(user: Person, thread: str, message: str) -> str:
    """Says it, reads the stream to its end, and returns the answer's text as it is kept: a stream is cut anywhere."""
    with user.program.stream("POST", f"/api/threads/{thread}/turn", json={"message": message}) as stream:
        assert "[DONE]" in "".join(stream.iter_text())
    newest = user.program.get(f"/api/threads/{thread}/messages").json()["items"][-1]
    return " ".join(part["text"] for part in newest["parts"] if part["type"] == "text")


def test_a_turn_is_served_with_its_key(user: Person, lab: ScriptedModel) -> None:
    thread = user.program.post("/api/threads", json={"title": "hello"}).json()["id"]
    assert answered(user, thread, "With whose key?") == "You said: With whose key?"
    (served,) = lab.served(user="whose key")
    assert served["with_key"]
    assert served["outcome"] == "finished"


@pytest.mark.parametrize(
    ("kind", "model", "wire"),
    [
        ("openai", "gpt-5.6-terra", "responses"),
        ("openrouter", "meta/llama-4", "chat"),
        ("ollama", "qwen3:8b", "ollama"),
        ("anthropic", "claude-sonnet-5", "anthropic"),
        ("gemini", "gemini-3.5-flash", "gemini"),
    ],
)
def test_a_turn_on_every_wire(
    admin: Person, user: Person, lab: ScriptedModel, kind: str, model: str, wire: str
) -> None:
    """Two steps with reasoning and parallel calls, whose results and reasoning the provider's own rules accept."""
    address = lab.url if wire in ("chat", "responses") else lab.root
    wish = {"name": f"at-{kind}", "kind": kind, "base_url": address, "key": KEY, "scope": "deployment"}
    made = admin.browser.post("/api/providers", json=wish)
    assert made.status_code == 201, made.text
    thread = user.program.post("/api/threads", json={"title": kind}).json()["id"]
    chosen = user.browser.patch(f"/api/threads/{thread}", json={"model": f"at-{kind}/{model}"})
    assert chosen.status_code == 200, chosen.text
    calls = 'tool=calculator:{"expression": "2+2"} tool=calculator:{"expression": "3+3"}'
    said = answered(user, thread, f"On {wire} [[reasoning=3 {calls}]] [[reasoning=2 text=Finished.]]")
    assert said.endswith("Finished.")
    served = lab.served(user=f"On {wire} ")
    assert [(record["wire"], record["step"], record["outcome"]) for record in served] == [
        (wire, 0, "finished"),
        (wire, 1, "finished"),
    ]
    assert admin.browser.delete(f"/api/providers/{made.json()['id']}").status_code == 204


def test_a_users_own_key_is_theirs_alone_and_addresses_are_an_admins(
    admin: Person, user: Person, lab: ScriptedModel
) -> None:
    wish = {"kind": "openai", "key": KEY, "scope": "user"}
    assert user.browser.post("/api/providers", json={**wish, "base_url": lab.url}).status_code == 403
    assert user.browser.post("/api/providers", json={**wish, "kind": "ollama"}).status_code == 403
    test = {"kind": "compatible", "base_url": lab.url, "key": KEY}
    assert user.browser.post("/api/providers/test", json=test).status_code == 403
    made = user.browser.post("/api/providers", json=wish)
    assert made.status_code == 201, made.text
    own = made.json()["id"]
    assert user.browser.patch(f"/api/providers/{own}", json={"base_url": lab.url}).status_code == 403
    assert providers_of(user)["openai"]["scope"] == "user"
    assert "openai" not in providers_of(admin)
    assert admin.browser.delete(f"/api/providers/{own}").status_code == 404
    assert change(admin, own_keys=False).status_code == 200
    eventually(lambda: not any(p["name"] == "openai" for p in models_of(user)["providers"]), 5, "it does not serve")
    assert user.browser.post("/api/providers", json={**wish, "name": "more"}).status_code == 403
    assert change(admin, own_keys=None).status_code == 200
    assert user.browser.delete(f"/api/providers/{own}").status_code == 204
    assert user.browser.delete(f"/api/providers/{own}").status_code == 404


def test_a_model_is_fetched_with_progress_and_stopped(admin: Person, user: Person, local: ScriptedModel) -> None:
    wish = {"kind": "ollama", "base_url": local.root, "scope": "deployment"}
    assert admin.browser.post("/api/providers", json=wish).status_code == 201
    pull = {"provider": "ollama", "model": "qwen3:0.6b"}
    assert user.browser.post("/api/ollama/pull", json=pull).status_code == 403
    told = pulled(admin, pull)
    assert told[-1]["status"] == "success", told
    assert told[-1]["completed"] == told[-1]["total"]
    stopped: list[dict[str, Any]] = []
    endless = {"provider": "ollama", "model": "endless"}
    with admin.browser.stream("POST", "/api/ollama/pull", json=endless) as stream:
        for line in stream.iter_lines():
            if line.startswith("data: "):
                stopped.append(json.loads(line[6:]))
            if len(stopped) == 2:
                assert admin.program.request("DELETE", "/api/ollama/pull", json=endless).status_code == 403
                assert admin.browser.request("DELETE", "/api/ollama/pull", json=endless).status_code == 204
    assert stopped[-1]["status"] == "stopped"
    unknown = admin.browser.post("/api/ollama/pull", json={"provider": "lab", "model": "x"})
    assert unknown.status_code == 404


def pulled(person: Person, wish: dict[str, str]) -> list[dict[str, Any]]:
    with person.browser.stream("POST", "/api/ollama/pull", json=wish) as stream:
        return [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]


# The command line


def operator(servers: Servers, app: typer.Typer, *arguments: str) -> str:
    """What the verb says, in this process, because a process for each would be most of the time."""
    with ThreadPoolExecutor(1) as thread:  # a loop of its own
        told = thread.submit(
            CliRunner(env=QUIET | {"RETINUE_DATA_DIR": str(servers.data_dir)}).invoke, app, list(arguments)
        ).result()
    if told.exception is not None and not isinstance(told.exception, SystemExit):
        raise told.exception
    return told.output


def test_settings_on_the_command_line(admin: Person, servers: Servers) -> None:
    shown = {row["name"]: row for row in json.loads(operator(servers, config.app, "--json"))}
    assert shown["firecrawl_key"]["value"] == "********"
    assert shown["firecrawl_key"]["source"] == "saved"
    assert shown["own_keys"]["services"] == ["gateway", "turn_runner"]
    with pytest.raises(Refused, match=r"RETINUE_MODEL_RETRIES: .*less than"):
        operator(servers, config.app, "set", "RETINUE_MODEL_RETRIES", "99")
    assert "at once" in operator(servers, config.app, "set", "RETINUE_MODEL_RETRIES", "1")
    row = settings_of(admin)["model_retries"]
    assert (row["value"], row["source"]) == (1, "saved")
    assert "no longer saved" in operator(servers, config.app, "unset", "model_retries")


def test_keys_are_rotated_while_everything_runs(admin: Person, servers: Servers) -> None:
    assert json.loads(operator(servers, keys.app, "rotate", "--json")) == {"rewrapped": 2, "not_opened": 0}
    lab = providers_of(admin)["lab"]
    assert admin.browser.post("/api/providers/test", json={"id": lab["id"]}).json()["ok"]
    exported = json.loads(operator(servers, keys.app, "export"))
    assert len(json.loads(exported["keys"])["keys"]) >= 2


async def test_the_key_is_nowhere_that_it_must_not_be(
    servers: Servers, gateway: Gateway, admin: Person, runner_log: Path, lab: ScriptedModel
) -> None:
    assert lab.served(), "it was used"
    shapes = [KEY, base64.b64encode(KEY.encode()).decode(), KEY.encode().hex()]
    connection = await asyncpg.connect(servers.superuser_url)
    try:
        tables = await connection.fetch(
            "select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace"
        )
        rows = [
            row["found"]
            for table in tables
            for row in await connection.fetch(f'select t::text as found from public."{table["relname"]}" t')
        ]
    finally:
        await connection.close()
    assert any("lab" in row for row in rows)
    logs = [gateway.log(), await asyncio.to_thread(runner_log.read_text)]
    assert all(logs)
    assert HEARD
    assert ANSWERED
    heard = [payload.decode(errors="replace") for payload in HEARD]
    for shape in shapes:
        for place, texts in {"tables": rows, "logs": logs, "bus": heard, "answers": ANSWERED}.items():
            assert not [text[:200] for text in texts if shape in text], place
