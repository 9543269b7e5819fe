"""What was used: by day in a person's zone, by agent, model and thread; as a table; of all, for administrators."""

import csv
import io
from typing import Any

import asyncpg
import pytest

from contracts.ids import uuid7
from tests.kit.gateway import Gateway, Person, person_at
from tests.kit.stack import Servers


@pytest.fixture(scope="module")
def administrator(gateway: Gateway, servers: Servers) -> Person:
    return person_at(gateway)


@pytest.fixture(scope="module")
def ada(gateway: Gateway, administrator: Person) -> Person:
    return person_at(gateway)


async def enter(servers: Servers, person: Person, rows: list[dict[str, Any]]) -> None:
    """Rows of the ledger, as ends of turns write them."""
    usual = {"agent_id": uuid7(), "thread_id": uuid7(), "attempts": 1, "unpriced": 0, "status": "finished"}
    connection = await asyncpg.connect(servers.superuser_url)
    for row in rows:
        entry = {"turn_id": uuid7(), "user_id": person.id, **usual, **row}
        names, places = ", ".join(entry), ", ".join(f"${n}" for n in range(1, len(entry) + 1))
        if isinstance(entry.get("ended_at"), str):
            entry["ended_at"] = await connection.fetchval("select $1::text::timestamptz", entry["ended_at"])
        await connection.execute(f"insert into ledger ({names}) values ({places})", *entry.values())
    await connection.close()


@pytest.fixture(scope="module")
async def things(servers: Servers, ada: Person) -> dict[str, str]:
    """An agent, a thread, and four turns around the night on which the clocks change in Berlin."""
    agent = ada.program.post("/api/agents", json={"name": "=Grace"}).json()["id"]
    thread = ada.program.post("/api/threads", json={"title": '+1, "quoted"\nand more', "agent_id": agent}).json()["id"]
    one = {"agent_id": agent, "thread_id": thread, "model_asked": "openai/gpt-5-mini"}
    rows = [
        {"ended_at": "2026-03-28T22:59:59Z", "input_tokens": 10, "output_tokens": 1, "cost_micros": 100, **one},
        {"ended_at": "2026-03-28T23:00:00Z", "input_tokens": 20, "output_tokens": 2, "cost_micros": 200, **one},
        {"ended_at": "2026-03-29T21:59:59Z", "input_tokens": 30, "cached_tokens": 8, "model_asked": "lab/llama",
         "attempts": 3, "unpriced": 2, "cost_micros": 5},
        {"ended_at": "2026-03-29T22:00:00Z", "input_tokens": 40, "reasoning_tokens": 7, "model_asked": None},
    ]  # fmt: skip
    await enter(servers, ada, rows)
    return {"agent": agent, "thread": thread}


RANGE = {"from": "2026-03-28", "to": "2026-03-30"}


def usage(person: Person, **query: Any) -> Any:
    answer = person.program.get("/api/usage", params={**RANGE, **query})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_days_begin_and_end_where_the_person_is(ada: Person, things: dict[str, str]) -> None:
    there = usage(ada, zone="Europe/Berlin")
    assert [(day["key"], day["input_tokens"]) for day in there["items"]] == [
        ("2026-03-28", 10),
        ("2026-03-29", 50),
        ("2026-03-30", 40),
    ]
    assert (there["from"], there["to"], there["zone"]) == ("2026-03-28", "2026-03-30", "Europe/Berlin")
    assert [day["input_tokens"] for day in usage(ada)["items"]] == [30, 70, 0], "a day without anything is a day"
    tokyo = usage(ada, zone="Asia/Tokyo")
    assert [day["turns"] for day in tokyo["items"]] == [0, 2, 2]


def test_the_total_says_what_is_unknown(ada: Person, things: dict[str, str]) -> None:
    for by in ("day", "agent", "model", "thread"):
        assert usage(ada, by=by)["total"] == {
            "turns": 4,
            "attempts": 6,
            "input_tokens": 100,
            "cached_tokens": 8,
            "output_tokens": 3,
            "reasoning_tokens": 7,
            "cost_micros": 305,
            "unknown_cost": 2,
        }


def test_what_cost_most_comes_first(ada: Person, things: dict[str, str]) -> None:
    models = usage(ada, by="model")["items"]
    assert [(m["key"], m["label"], m["cost_micros"], m["unknown_cost"]) for m in models] == [
        ("openai/gpt-5-mini", "openai/gpt-5-mini", 300, 0),
        ("lab/llama", "lab/llama", 5, 2),
        ("", "No model", 0, 0),
    ]
    agents = usage(ada, by="agent")["items"]
    assert (agents[0]["key"], agents[0]["label"], agents[0]["turns"]) == (things["agent"], "=Grace", 2)
    threads = usage(ada, by="thread", limit=1)
    assert [(t["key"], t["turns"]) for t in threads["items"]] == [(things["thread"], 2)]
    assert (threads["left_out"], threads["total"]["turns"]) == (1, 4)


def test_what_was_used_outlives_its_thread(ada: Person, things: dict[str, str]) -> None:
    gone = usage(ada, by="thread")["items"][-1]
    assert gone["label"] == "A thread without a title"


@pytest.mark.parametrize("how", ["by its format", "by what is accepted"])
def test_a_table_holds_no_formulas(ada: Person, things: dict[str, str], how: str) -> None:
    query: dict[str, Any] = {**RANGE, "by": "thread"}
    headers = {} if how == "by its format" else {"accept": "text/csv"}
    if not headers:
        query["format"] = "csv"
    answer = ada.program.get("/api/usage", params=query, headers=headers)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert rows[0]["label"] == '\'+1, "quoted"\nand more'
    assert (rows[0]["key"], rows[0]["turns"], rows[0]["cost_micros"]) == (things["thread"], "2", "300")
    assert all(not value.startswith(("=", "+", "-", "@")) for row in rows for value in row.values())


def test_each_sees_what_is_theirs(gateway: Gateway, things: dict[str, str]) -> None:
    bob = person_at(gateway)
    for by in ("day", "agent", "model", "thread"):
        assert usage(bob, by=by)["total"]["turns"] == 0
    for everyone in ("true", "1"):
        refused = bob.program.get("/api/usage", params={**RANGE, "everyone": everyone})
        assert refused.status_code == 403


async def test_an_administrator_sees_amounts_of_everybody_and_no_titles(
    servers: Servers, gateway: Gateway, ada: Person, things: dict[str, str]
) -> None:
    admin = person_at(gateway)
    connection = await asyncpg.connect(servers.superuser_url)
    await connection.execute("update users set is_admin = true where id = $1", admin.id)
    await connection.close()
    browser = gateway.client()
    signed = browser.post("/api/auth/login", json={"username": admin.username, "password": "correct horse battery"})
    assert signed.status_code == 200, signed.text
    shown = browser.get("/api/usage", params={**RANGE, "by": "user", "everyone": True}).json()
    mine = next(item for item in shown["items"] if item["key"] == ada.id)
    assert (mine["label"], mine["turns"], mine["cost_micros"]) == (ada.username, 4, 305)
    for by in ("day", "model", "agent"):
        total = browser.get("/api/usage", params={**RANGE, "by": by, "everyone": True}).json()["total"]
        assert total["turns"] >= 4
    refused = browser.get("/api/usage", params={**RANGE, "by": "thread", "everyone": True})
    assert refused.status_code == 422
    assert browser.get("/api/usage", params=RANGE).json()["total"]["turns"] == 0, "and their own without it"
    assert admin.program.get("/api/usage", params={**RANGE, "everyone": True}).status_code == 403, "its scope is older"


@pytest.mark.parametrize(
    "wrong",
    [
        {"zone": "Mars/Olympus"},
        {"zone": "../../etc/passwd"},
        {"from": "2026-04-01", "to": "2026-03-01"},
        {"from": "2020-01-01", "to": "2026-03-01"},
        {"to": "9999-12-31"},
        {"from": "yesterday"},
        {"by": "user"},
        {"by": "price"},
        {"limit": 0},
        {"format": "xlsx"},
    ],
)
def test_what_is_no_question_is_refused(ada: Person, wrong: dict[str, Any]) -> None:
    assert ada.program.get("/api/usage", params=wrong).status_code == 422


def test_a_turn_that_ended_is_counted(gateway: Gateway) -> None:
    person = person_at(gateway)
    thread = person.program.post("/api/threads", json={}).json()["id"]
    sent = person.program.post(
        f"/api/threads/{thread}/turn", json={"message": "hi"}, headers={"prefer": "respond-async"}
    )
    assert sent.status_code == 202
    person.program.delete(f"/api/threads/{thread}/turn")
    today = person.program.get("/api/usage", params={"by": "thread"}).json()
    assert [(item["key"], item["label"], item["turns"]) for item in today["items"]] == [(thread, "hi", 1)]
