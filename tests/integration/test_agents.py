"""Agents over HTTP: made, changed, put away, one of them the default; what each would be told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.gateway import Gateway, Person, person_at

FIELDS = {
    "id", "name", "role", "standing_orders", "model", "effort", "fallback_models", "capabilities", "glyph", "max_steps",
    "is_default", "archived", "created_at", "updated_at",
}  # fmt: skip


@pytest.fixture(scope="module")
def ada(gateway: Gateway) -> Person:
    return person_at(gateway)


def ask(person: Person, method: str, path: str, expected: int, **sent: Any) -> Any:
    answer = person.program.request(method, path, **sent)
    assert answer.status_code == expected, answer.text
    return answer.json() if answer.content else None


def listed(person: Person, **query: Any) -> list[str]:
    return [agent["name"] for agent in ask(person, "GET", "/api/agents", 200, params=query)["items"]]


def test_an_agent_s_life(gateway: Gateway) -> None:
    person = person_at(gateway)
    (first,) = ask(person, "GET", "/api/agents", 200)["items"]
    assert first["is_default"]
    wish = {
        "name": "  Grace ",
        "role": "Finds bugs.",
        "standing_orders": "Show the case.",
        "model": "openai/gpt-5-mini",
        "effort": "high",
        "fallback_models": ["~claude-sonnet-latest", "lab/llama", "lab/llama"],
        "capabilities": ["calculator", "calculator"],
        "max_steps": 7,
    }
    made = ask(person, "POST", "/api/agents", 201, json=wish)
    assert made.keys() == FIELDS
    assert made["name"] == "Grace"
    assert made["fallback_models"] == ["~claude-sonnet-latest", "lab/llama"]
    assert made["capabilities"] == ["calculator"]
    assert made["glyph"]
    assert not made["is_default"]
    assert ask(person, "GET", f"/api/agents/{made['id']}", 200) == made
    assert listed(person) == [first["name"], "Grace"]

    where = f"/api/agents/{made['id']}"
    changed = ask(person, "PATCH", where, 200, json={"model": None, "capabilities": None, "role": ""})
    assert (changed["model"], changed["capabilities"], changed["role"]) == (None, None, "")
    assert changed["standing_orders"] == "Show the case.", "what is left out stays"
    assert changed["updated_at"] > made["updated_at"]

    assert ask(person, "POST", f"{where}/default", 200)["is_default"]
    assert listed(person) == ["Grace", first["name"]]
    assert ask(person, "POST", "/api/threads", 201)["agent_id"] == made["id"]
    assert ask(person, "DELETE", where, 409)["error"] == "is_default"
    assert ask(person, "PATCH", where, 409, json={"archived": True, "name": "Lost"})["error"] == "is_default"
    assert ask(person, "GET", where, 200)["name"] == "Grace", "refused whole"

    ask(person, "DELETE", f"/api/agents/{first['id']}", 204)
    ask(person, "DELETE", f"/api/agents/{first['id']}", 204)
    assert (listed(person), listed(person, archived=True)) == (["Grace"], [first["name"]])
    assert ask(person, "POST", f"/api/agents/{first['id']}/default", 409)["error"] == "archived"
    ask(person, "POST", "/api/threads", 404, json={"agent_id": first["id"]})
    assert not ask(person, "PATCH", f"/api/agents/{first['id']}", 200, json={"archived": False})["archived"]
    assert listed(person, archived=True) == []


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({}, "name"),
        ({"name": "  "}, "name"),
        ({"name": "x" * 81}, "name"),
        ({"name": "x", "model": "no slash"}, "model"),
        ({"name": "x", "model": "/x"}, "model"),
        ({"name": "x", "effort": "Very High"}, "effort"),
        ({"name": "x", "fallback_models": ["a/b"] * 6}, "fallback_models"),
        ({"name": "x", "fallback_models": ["nothing"]}, "fallback_models.0"),
        ({"name": "x", "capabilities": ["calculator", "teleport"]}, "capabilities"),
        ({"name": "x", "max_steps": 0}, "max_steps"),
        ({"name": "x", "max_steps": 201}, "max_steps"),
        ({"name": "x", "standing_orders": "x" * 20_001}, "standing_orders"),
        ({"name": "x", "temperature": 1}, "temperature"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_does_not_fit_is_said_with_its_field(ada: Person, wish: dict[str, Any], field: str) -> None:
    refused = ask(ada, "POST", "/api/agents", 422, json=wish)
    assert refused["message"].startswith(f"{field}: ")
    assert field in (refused.get("field"), *(each["field"] for each in refused.get("fields", ())))


def test_a_change_says_null_only_where_null_means_something(ada: Person) -> None:
    agent = ask(ada, "POST", "/api/agents", 201, json={"name": "Nil"})
    for name in ("name", "role", "standing_orders", "fallback_models", "glyph", "max_steps", "archived"):
        refused = ask(ada, "PATCH", f"/api/agents/{agent['id']}", 422, json={name: None})
        assert refused["field"] == name


def test_an_unknown_tool_is_refused_with_those_that_there_are(ada: Person) -> None:
    refused = ask(ada, "POST", "/api/agents", 422, json={"name": "x", "capabilities": ["teleport"]})
    assert "calculator" in refused["message"]
    tools = ask(ada, "GET", "/api/tools", 200)["items"]
    assert {"calculator", "web_fetch"} <= {tool["name"] for tool in tools}
    assert all(tool["title"] and tool["summary"] and tool["channels"] for tool in tools)


def test_starters_are_offered_and_can_be_taken_as_they_are(ada: Person) -> None:
    starters = ask(ada, "GET", "/api/agents/starters", 200)["items"]
    assert len({starter["key"] for starter in starters}) == len(starters) >= 3
    for starter in starters:
        taken = {name: value for name, value in starter.items() if name != "key"}
        made = ask(ada, "POST", "/api/agents", 201, json=taken)
        assert {name: made[name] for name in taken} == taken


def test_what_an_agent_would_be_told(ada: Person) -> None:
    wish = {"name": "Ida", "standing_orders": "Never guess.", "capabilities": ["calculator"], "model": "lab/a"}
    agent = ask(ada, "POST", "/api/agents", 201, json=wish)
    told = ask(ada, "GET", f"/api/agents/{agent['id']}/instructions", 200)
    assert [block["name"] for block in told["blocks"]] == [
        "priority", "style", "identity", "capabilities", "channel", "tools", "time",
    ]  # fmt: skip
    assert [block["stable"] for block in told["blocks"]].index(False) == 6
    assert "Never guess." in told["blocks"][2]["text"]
    assert [tool["name"] for tool in told["tools"]] == ["calculator"]
    assert told["tools"][0]["schema"]["type"] == "object"
    assert (told["model"], told["model_source"], told["effort"]) == ("lab/a", "agent", None)
    assert told["characters"] == sum(len(block["text"]) for block in told["blocks"])

    elsewhere = ask(ada, "GET", f"/api/agents/{agent['id']}/instructions", 200, params={"channel": "telegram"})
    assert elsewhere["tools"] == []
    assert "messenger" in elsewhere["blocks"][4]["text"]

    thread = ask(ada, "POST", "/api/threads", 201, json={"agent_id": agent["id"]})["id"]
    ask(ada, "PATCH", f"/api/threads/{thread}", 200, json={"model": "lab/b", "effort": "low"})
    here = ask(ada, "GET", f"/api/agents/{agent['id']}/instructions", 200, params={"thread_id": thread})
    assert (here["model"], here["model_source"], here["effort"]) == ("lab/b", "thread", "low")


def test_there_is_no_telling_somebody_else_s_agent_from_none(gateway: Gateway, ada: Person) -> None:
    agent = ask(ada, "POST", "/api/agents", 201, json={"name": "Own"})["id"]
    stranger = person_at(gateway)
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/default"), ("GET", "/instructions")):
        sent = {"json": {"name": "x"}} if method == "PATCH" else {}
        ask(stranger, method, f"/api/agents/{agent}{path}", 404, **sent)
