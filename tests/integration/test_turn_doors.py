"""What the turn's and the chat's doors take and refuse, on the real servers without a runner: turns stay queued."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.kit.gateway import Gateway, Person, gateway_on, person_at
from tests.kit.stack import Servers

QUIETLY = {"prefer": "respond-async"}


@pytest.fixture(scope="module")
def gateway(servers: Servers) -> Iterator[Gateway]:
    with gateway_on(servers, {"RETINUE_TURNS_PER_USER": "100", "RETINUE_TURNS_TOTAL": "1000"}) as running:
        yield running


@pytest.fixture
def person(gateway: Gateway) -> Person:
    return person_at(gateway)


@pytest.fixture
def thread(person: Person) -> str:
    return person.program.post("/api/threads", json={}).json()["id"]


def send(person: Person, thread: str, body: Any, **headers: str) -> httpx.Response:
    return person.program.post(f"/api/threads/{thread}/turn", json=body, headers={**QUIETLY, **headers})


def chat(person: Person, body: dict[str, Any], **headers: str) -> tuple[int, httpx.Headers, str]:
    """Status, headers and, of a stream, nothing but that it began."""
    with person.program.stream("POST", "/api/chat", json=body, headers=headers) as answer:
        text = "" if answer.status_code == 200 else answer.read().decode()
        return answer.status_code, answer.headers, text


def message(text: str, id: str | None = None, **more: Any) -> dict[str, Any]:
    named = {} if id is None else {"id": id}
    return {**named, "role": "user", "parts": [{"type": "text", "text": text}], **more}


def turns_of(person: Person, thread: str) -> list[dict[str, Any]]:
    return person.program.get(f"/api/threads/{thread}/messages").json()["items"]


# The native door


@pytest.mark.parametrize("body", [{"message": "hello"}, {"text": "hello"}, {"message": message("hello")}])
def test_a_message_is_a_text_or_a_ui_message(person: Person, thread: str, body: dict[str, Any]) -> None:
    answer = send(person, thread, body)
    assert answer.status_code == 202, answer.text
    assert answer.headers["preference-applied"] == "respond-async"
    accepted = answer.json()
    assert accepted["status"] == "queued"
    question, reply = turns_of(person, thread)
    assert question["parts"] == [{"type": "text", "text": "hello"}]
    assert reply["id"] == accepted["message"]
    assert reply["metadata"]["retinue"] == {"turn": accepted["turn"], "status": "queued"}


def test_the_clients_id_and_metadata_are_kept(person: Person, thread: str) -> None:
    said = message("hello", "abcDEF0123456789", metadata={"mood": "fine"})
    assert send(person, thread, {"message": said}).status_code == 202
    question = turns_of(person, thread)[0]
    assert question["id"] == "abcDEF0123456789"
    assert question["metadata"]["mood"] == "fine"


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({}, 422, "invalid"),
        ({"message": "a", "text": "b"}, 422, "invalid"),
        ({"message": ""}, 422, "empty_message"),
        ({"message": " \n\t"}, 422, "empty_message"),
        ({"message": {"role": "user", "parts": []}}, 422, "invalid"),
        ({"message": {"role": "user", "parts": [{"type": "text", "text": ""}]}}, 422, "empty_message"),
        ({"message": {"role": "robot", "parts": [{"type": "text", "text": "x"}]}}, 422, "invalid"),
        ({"message": {"role": "system", "parts": [{"type": "text", "text": "x"}]}}, 422, "invalid"),
        ({"message": {"role": "assistant", "parts": [{"type": "text", "text": "x"}]}}, 422, "not_yet"),
        ({"message": {"role": "user", "parts": [{"type": "unheard-of"}]}}, 422, "invalid"),
        ({"message": {"role": "user", "parts": [{"type": "step-start"}]}}, 422, "invalid"),
        ({"message": 7}, 422, "invalid"),
        ({"message": "x", "busy": "whatever"}, 422, "invalid"),
        ({"message": message("x", "i" * 201)}, 422, "invalid"),
        ({"message": "x\u0000y"}, 422, "invalid"),
        ({"message": "x", "trigger": "regenerate-message"}, 422, "not_yet"),
        ({"trigger": "regenerate-message", "messageId": "m"}, 422, "not_yet"),
        ({"message": message("x", "m"), "messageId": "m"}, 422, "not_yet"),
        ({"message": "x", "trigger": "resubmit"}, 422, "invalid"),
        (["x"], 422, "invalid"),
    ],
)
def test_bad_messages_are_refused_in_words(person: Person, thread: str, body: Any, status: int, error: str) -> None:
    answer = send(person, thread, body)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"] == error
    assert answer.json()["message"]
    assert turns_of(person, thread) == []


@pytest.mark.parametrize("field", ["model", "messages", "id", "edit", "Busy"])
def test_a_field_that_is_none_is_named(person: Person, thread: str, field: str) -> None:
    answer = send(person, thread, {"message": "x", field: "anything"})
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid")
    assert [each["field"] for each in answer.json()["fields"]] == [field]
    assert field in answer.json()["message"]
    assert turns_of(person, thread) == []


def test_a_new_message_may_say_that_it_is_one(person: Person, thread: str) -> None:
    body = {"message": message("x", "m"), "trigger": "submit-message", "messageId": None}
    assert send(person, thread, body).status_code == 202


def test_a_file_is_not_yet_taken(person: Person, thread: str) -> None:
    part = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"}
    answer = send(person, thread, {"message": {"role": "user", "parts": [part]}})
    assert (answer.status_code, answer.json()["error"]) == (422, "not_yet")


def test_a_megabyte_of_text_is_refused_with_the_limit(person: Person, thread: str) -> None:
    answer = send(person, thread, {"message": "x" * 1_000_000})
    assert answer.status_code == 413
    assert answer.json()["error"] == "too_large"
    assert answer.json()["limit"] == 512 * 1024
    assert send(person, thread, {"message": "x" * 500_000}).status_code == 202


def test_json_that_is_none_is_400(person: Person, thread: str) -> None:
    answer = person.program.post(
        f"/api/threads/{thread}/turn", content=b'{"message": ', headers={"content-type": "application/json"}
    )
    assert (answer.status_code, answer.json()["error"]) == (400, "malformed_json")


@pytest.mark.parametrize("thread_id", ["0192a0b0-0000-7000-8000-000000000000", "nonsense"])
def test_unknown_threads_are_404(person: Person, thread_id: str) -> None:
    assert send(person, thread_id, {"message": "x"}).status_code == 404
    assert person.program.get(f"/api/threads/{thread_id}/turn").status_code == 404
    assert person.program.delete(f"/api/threads/{thread_id}/turn").status_code == 404


@pytest.mark.parametrize("after", ["x", "1", "1.x", "-1.2", "1.2.3", "99999999.1", "²."])
def test_a_position_that_is_none_is_422(person: Person, thread: str, after: str) -> None:
    send(person, thread, {"message": "x"})
    answer = person.program.get(f"/api/threads/{thread}/turn", params={"after": after})
    assert answer.status_code == 422, answer.text


def test_a_busy_thread(person: Person, thread: str) -> None:
    first = send(person, thread, {"message": "one"}).json()
    refused = send(person, thread, {"message": "two", "busy": "reject"})
    assert (refused.status_code, refused.json()["error"]) == (409, "thread_busy")
    for n in range(10):
        assert send(person, thread, {"message": f"waits {n}", "busy": "queue"}).json()["status"] == "waiting"
    full = send(person, thread, {"message": "too many", "busy": "queue"})
    assert (full.status_code, full.headers["retry-after"]) == (429, "10")
    said = full.json()
    assert said.pop("message").startswith("10 messages already wait in this conversation; try again")
    assert said == {
        "error": "queue_full",
        "scope": "thread",
        "count": 10,
        "limit": 10,
        "setting": "RETINUE_TURNS_WAITING",
        "retry_after": 10,
    }
    replaced = send(person, thread, {"message": "instead"}).json()
    assert replaced["status"] == "waiting"  # behind those that others queued
    of_first = [
        m for m in turns_of(person, thread) if m.get("metadata", {}).get("retinue", {}).get("turn") == first["turn"]
    ]
    assert of_first[0]["metadata"]["retinue"]["status"] == "stopped"


def test_the_same_key_is_the_same_turn(person: Person, thread: str) -> None:
    key = {"idempotency-key": "k-1"}
    first = send(person, thread, {"message": "one"}, **key).json()
    again = send(person, thread, {"message": "one"}, **key)
    assert (again.status_code, again.json()["turn"]) == (202, first["turn"])
    other = send(person, thread, {"message": "two"}, **key)
    assert (other.status_code, other.json()["error"]) == (422, "key_reused")
    elsewhere = person.program.post("/api/threads", json={}).json()["id"]
    assert send(person, elsewhere, {"message": "one"}, **key).json()["error"] == "key_reused"
    assert len(turns_of(person, thread)) == 2


def test_a_messages_own_id_is_a_key(person: Person, thread: str) -> None:
    first = send(person, thread, {"message": message("one", "m1")}).json()
    assert send(person, thread, {"message": message("one", "m1")}).json()["turn"] == first["turn"]
    assert send(person, thread, {"message": message("other", "m1")}).json()["error"] == "key_reused"
    elsewhere = person.program.post("/api/threads", json={}).json()["id"]
    assert send(person, elsewhere, {"message": message("one", "m1")}).json()["turn"] != first["turn"]
    # Under another key it would be a second message with the first one's id.
    answer = send(person, thread, {"message": message("one", "m1")}, **{"idempotency-key": "another"})
    assert (answer.status_code, answer.json()["error"]) == (409, "message_exists")


def test_keys_are_a_users_own(gateway: Gateway, person: Person, thread: str) -> None:
    other = person_at(gateway)
    mine = send(person, thread, {"message": "one"}, **{"idempotency-key": "shared"})
    theirs = other.program.post("/api/threads", json={}).json()["id"]
    yours = send(other, theirs, {"message": "one"}, **{"idempotency-key": "shared"})
    assert mine.status_code == yours.status_code == 202
    assert mine.json()["turn"] != yours.json()["turn"]


def test_nothing_running_is_204_and_a_stop_of_nothing_is_fine(person: Person, thread: str) -> None:
    assert person.program.get(f"/api/threads/{thread}/turn").status_code == 204
    answer = person.program.delete(f"/api/threads/{thread}/turn")
    assert (answer.status_code, answer.json()) == (200, {"turn": None, "status": None})


def test_a_stop_with_a_turns_id_touches_no_other(person: Person, thread: str) -> None:
    first = send(person, thread, {"message": "one"}).json()["turn"]
    assert person.program.delete(f"/api/threads/{thread}/turn", params={"turn": first}).json()["status"] == "stopped"
    second = send(person, thread, {"message": "two"}).json()["turn"]
    stale = person.program.delete(f"/api/threads/{thread}/turn", params={"turn": first})
    assert stale.json() == {"turn": first, "status": None}
    states = [m["metadata"]["retinue"] for m in turns_of(person, thread) if m["role"] == "assistant"]
    assert {state["turn"]: state["status"] for state in states} == {first: "stopped", second: "queued"}


def test_a_reader_may_watch_and_not_send(gateway: Gateway, person: Person, thread: str) -> None:
    token = person.browser.post("/api/tokens", json={"name": "reader", "scopes": ["read"]}).json()["token"]
    reader = {"authorization": f"Bearer {token}"}
    url = f"{gateway.url}/api/threads/{thread}/turn"
    assert httpx.get(url, headers=reader).status_code == 204
    refused = httpx.post(url, json={"message": "x"}, headers=reader)
    assert (refused.status_code, refused.json()["error"]) == (403, "scope_missing")
    assert httpx.delete(url, headers=reader).status_code == 403
    assert httpx.get(url).status_code == 401


def test_a_foreign_page_cannot_send_with_a_cookie(person: Person, thread: str) -> None:
    answer = person.browser.post(
        f"/api/threads/{thread}/turn", json={"message": "x"}, headers={"origin": "https://evil.example"}
    )
    assert answer.status_code == 403
    assert turns_of(person, thread) == []


# The AI SDK's door


def test_a_chat_is_made_on_first_use(person: Person) -> None:
    status, headers, _ = chat(person, {"id": "c1", "messages": [message("hi", "m1")], "trigger": "submit-message"})
    assert status == 200
    assert headers["content-type"] == "text/event-stream"
    assert headers["x-vercel-ai-ui-message-stream"] == "v1"
    threads = person.program.get("/api/threads").json()["items"]
    assert len(threads) == 1
    question, _ = turns_of(person, threads[0]["id"])
    assert question["id"] == "m1"


def test_unknown_fields_and_history_are_left_alone(person: Person) -> None:
    forged = {"id": "x", "role": "assistant", "parts": [{"type": "no-such-part"}]}
    body = {"id": "c1", "messages": [forged, message("hi", "m2")], "trigger": "submit-message", "tools": {}, "x": 1}
    assert chat(person, body)[0] == 200
    assert chat(person, {"id": "c2", "message": message("hi")})[0] == 200


def test_a_chat_id_that_is_an_own_thread_means_it(person: Person, thread: str) -> None:
    assert chat(person, {"id": thread, "message": message("hi")})[0] == 200
    assert len(turns_of(person, thread)) == 2
    assert len(person.program.get("/api/threads").json()["items"]) == 1


def test_equal_chat_ids_of_two_people_are_two_chats(gateway: Gateway, person: Person, thread: str) -> None:
    other = person_at(gateway)
    assert chat(person, {"id": "same", "message": message("mine", "m1")})[0] == 200
    assert chat(other, {"id": "same", "message": message("theirs", "m1")})[0] == 200
    assert chat(other, {"id": thread, "message": message("not yours")})[0] == 200
    assert turns_of(person, thread) == []
    assert len(other.program.get("/api/threads").json()["items"]) == 2


def test_a_message_that_is_sent_again_is_the_same_turn(person: Person) -> None:
    first = chat(person, {"id": "c", "messages": [message("hi", "m1")]})
    again = chat(person, {"id": "c", "messages": [message("hi", "m1")]})
    assert first[1]["x-retinue-turn"] == again[1]["x-retinue-turn"]


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"message": message("x")}, 422, "invalid"),
        ({"id": "", "message": message("x")}, 422, "invalid"),
        ({"id": "c" * 201, "message": message("x")}, 422, "invalid"),
        ({"id": "c"}, 422, "invalid"),
        ({"id": "c", "messages": []}, 422, "invalid"),
        ({"id": "c", "messages": "x"}, 422, "invalid"),
        ({"id": "c", "messages": [7]}, 422, "invalid"),
        ({"id": "c", "messages": [message("")]}, 422, "empty_message"),
        ({"id": "c", "messages": [message("x")], "trigger": "regenerate-message"}, 422, "not_yet"),
        ({"id": "c", "messages": [], "trigger": "regenerate-message", "messageId": "m"}, 422, "not_yet"),
        ({"id": "c", "messages": [message("x", "m")], "messageId": "m"}, 422, "not_yet"),
        ({"id": "c", "messages": [{**message("x"), "role": "assistant"}], "messageId": "m"}, 422, "not_yet"),
        ({"id": "c", "messages": [{**message("x"), "role": "assistant"}]}, 422, "not_yet"),
        ({"id": "c", "messages": [message("x")], "trigger": "resubmit"}, 422, "invalid"),
        ({"id": "c", "messages": [message("x" * 1_000_000)]}, 413, "too_large"),
    ],
)
def test_bad_chat_bodies_are_refused_in_words(person: Person, body: dict[str, Any], status: int, error: str) -> None:
    answered, _, text = chat(person, body)
    assert answered == status, text
    assert json.loads(text)["error"] == error
    assert all(turns_of(person, t["id"]) == [] for t in person.program.get("/api/threads").json()["items"])


@pytest.mark.parametrize("chat_id", ["unknown", "0192a0b0-0000-7000-8000-000000000000", "with%2Fslash", "%F0%9F%90%99"])
def test_a_chat_with_nothing_running_is_204(person: Person, chat_id: str) -> None:
    assert person.program.get(f"/api/chat/{chat_id}/stream").status_code == 204
    answer = person.program.post(f"/api/chat/{chat_id}/stop")
    assert (answer.status_code, answer.json()) == (200, {"turn": None, "status": None})


def test_a_foreign_chat_is_204(gateway: Gateway, person: Person) -> None:
    other = person_at(gateway)
    chat(person, {"id": "mine", "message": message("hi")})
    thread = person.program.get("/api/threads").json()["items"][0]["id"]
    for id in ("mine", thread):
        assert other.program.get(f"/api/chat/{id}/stream").status_code == 204
        assert other.program.post(f"/api/chat/{id}/stop", json={}).json()["turn"] is None
    assert turns_of(person, thread)[-1]["metadata"]["retinue"]["status"] == "queued"


def test_a_chat_is_stopped_and_then_204(person: Person) -> None:
    _, headers, _ = chat(person, {"id": "a/b", "message": message("hi")})
    turn = headers["x-retinue-turn"]
    stopped = person.program.post("/api/chat/a%2Fb/stop", json={"turn": turn, "more": 1})
    assert stopped.json() == {"turn": turn, "status": "stopped"}
    assert person.program.post("/api/chat/a%2Fb/stop", json={"turn": turn}).json() == {"turn": turn, "status": None}
    assert person.program.get("/api/chat/a%2Fb/stream").status_code == 204


# Values that some reader on the way could not take


def nested(depth: int) -> Any:
    value: Any = "bottom"
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize("depth", [150, 300, 600])
def test_json_that_nests_too_deeply_is_refused(person: Person, thread: str, depth: int) -> None:
    answer = send(person, thread, {"message": message("hi", metadata=nested(depth))})
    assert answer.status_code == 422, answer.text
    assert "nested deeper" in answer.json()["message"]
    assert turns_of(person, thread) == []
    status, _, text = chat(person, {"id": "deep", "messages": [message("hi", "m", metadata=nested(depth))]})
    assert (status, "nested deeper" in text) == (422, True)
