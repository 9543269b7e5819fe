"""What an operator does about dead letters, over the API and by command; and the runner, which parks too."""

import asyncio
import json
import secrets
import subprocess
import sys

import asyncpg
import httpx
import pytest

from bus.connection import connect
from bus.publish import publish_stored
from contracts.ids import uuid7
from contracts.subjects import TURN_REQUESTED
from tests.kit.gateway import gateway_on, person_at
from tests.kit.runner import runner_on
from tests.kit.stack import data_folder, start_servers
from tests.kit.waiting import eventually

SHOWN = 2048


@pytest.fixture(scope="module")
def servers():
    """Our own: the first account is the administrator, and the only runner is ours."""
    with data_folder() as data_dir:
        running = start_servers(data_dir)
        yield running
        running.stop()


@pytest.fixture(scope="module")
def gateway(servers):
    settings = {
        "RETINUE_DEAD_LETTERS_EVERY": "0.2",
        "RETINUE_DEAD_LETTER_SHOWN": str(SHOWN),
        "RETINUE_METRICS_TOKEN": "metrics-token-of-a-test",
    }
    with gateway_on(servers, settings) as running:
        yield running


@pytest.fixture(scope="module")
def admin(gateway):
    return person_at(gateway)


@pytest.fixture(scope="module")
def user(gateway, admin):
    return person_at(gateway)


@pytest.fixture
async def database(servers):
    connection = await asyncpg.connect(servers.superuser_url)
    await connection.execute("delete from dead_letters")
    yield connection
    await connection.close()


async def letter_in(database, *, consumer="turn-runner", payload=b"{}", state="parked", age="0 s"):
    letter = uuid7()
    await database.execute(
        "insert into dead_letters (id, consumer, stream, subject, event_id, payload, headers, deliveries,"
        " first_seen_at, reason_type, reason, state, parked_at, replayed_at)"
        " values ($1, $2, 'TURN', 'turn.requested.v1', $3, $4, $5, 3, now(), 'ValidationError', 'turn_id: missing', $6,"
        " now() - $7::text::interval, case when $6 = 'parked' then null else now() - $7::text::interval end)",
        letter,
        consumer,
        uuid7(),
        payload,
        json.dumps({"Nats-Msg-Id": "first", "traceparent": "00-1-1-01"}),
        state,
        age,
    )
    return str(letter)


async def letters(database):
    return {str(row["id"]) for row in await database.fetch("select id from dead_letters")}


async def until(database, query, expected):
    async with asyncio.timeout(30):
        while await database.fetchval(query) != expected:  # noqa: ASYNC110 - rows have no event to wait for
            await asyncio.sleep(0.05)


@pytest.fixture(scope="module")
def retinue(servers):
    def run(*arguments, stdin="", code=0):
        done = subprocess.run(
            [sys.executable, "-m", "cli.main", "dead", *arguments, "--data-dir", str(servers.data_dir)],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout.strip() if done.stdout.strip() else done.stderr.strip()

    return run


# The API


async def test_letters_are_listed_in_pages_the_latest_first(admin, database):
    letters = [await letter_in(database, age=f"{n} min") for n in range(5)]
    seen, cursor = [], None
    while True:
        query = {"limit": 2} | ({"before": cursor} if cursor else {})
        page = admin.browser.get("/api/admin/dead-letters", params=query).json()
        seen += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        # The place in the list holds, also when the last of a page is dropped.
        assert admin.browser.delete(f"/api/admin/dead-letters/{seen[-1]}").status_code == 204
    assert seen == letters
    assert "payload" not in page["items"][0]
    for wrong in ("x", "20261130T120000.000000Z~x", "~", str(uuid7())):
        answer = admin.browser.get("/api/admin/dead-letters", params={"before": wrong})
        assert (answer.status_code, answer.json()["field"]) == (422, "before")


async def test_letters_are_chosen_by_consumer_and_state(admin, database):
    waits = await letter_in(database)
    other = await letter_in(database, consumer="somebody-else")
    again = await letter_in(database, state="replayed")

    def listed(**query):
        items = admin.browser.get("/api/admin/dead-letters", params=query).json()["items"]
        return {item["id"] for item in items}

    assert listed() == {waits, other, again}
    assert listed(consumer="somebody-else") == {other}
    assert listed(state="replayed") == {again}
    assert listed(consumer="turn-runner", state="parked") == {waits}
    assert admin.browser.get("/api/admin/dead-letters?state=lost").status_code == 422


async def test_a_letter_shows_its_payload_up_to_a_limit(admin, database):
    small = await letter_in(database, payload=b'{"turn_id": "\xff"}')
    large = await letter_in(database, payload=b"x" * 5000)
    shown = admin.browser.get(f"/api/admin/dead-letters/{small}").json()
    assert (shown["payload"], shown["payload_is_cut"]) == ('{"turn_id": "�"}', False)
    assert shown["headers"]["traceparent"] == "00-1-1-01"
    shown = admin.browser.get(f"/api/admin/dead-letters/{large}").json()
    assert (len(shown["payload"]), shown["payload_bytes"], shown["payload_is_cut"]) == (SHOWN, 5000, True)


async def test_a_replay_is_an_outbox_row_for_this_consumer_with_an_id_of_its_own(admin, database):
    letter = await letter_in(database, payload=b'{"poison": true}')
    event = str(await database.fetchval("select event_id from dead_letters where id = $1", letter))
    answer = admin.browser.post(f"/api/admin/dead-letters/{letter}/replay")
    assert answer.status_code == 200
    assert answer.json()["state"] == "replayed"
    assert answer.json()["replayed_at"] is not None
    row = await database.fetchrow("select * from outbox where subject like 'again.%' order by created_at desc limit 1")
    assert (row["subject"], row["payload"]) == ("again.TURN.turn-runner", b'{"poison": true}')
    headers = json.loads(row["headers"])
    assert headers == {"traceparent": "00-1-1-01", "Retinue-Subject": "turn.requested.v1", "Retinue-Event": event}
    assert str(row["id"]) != event


async def test_what_cannot_be_replayed_says_why(admin, database):
    gone = await letter_in(database, consumer="somebody-else")
    handled = await letter_in(database, state="handled")
    for letter, why in ((gone, "no consumer somebody-else"), (handled, "handled")):
        answer = admin.browser.post(f"/api/admin/dead-letters/{letter}/replay")
        assert (answer.status_code, answer.json()["error"]) == (409, "not_replayable")
        assert why in answer.json()["message"]
    assert admin.browser.post(f"/api/admin/dead-letters/{uuid7()}/replay").status_code == 404


async def test_a_dropped_letter_is_gone_and_leaves_an_inbox_row(admin, database):
    letter = await letter_in(database)
    event = await database.fetchval("select event_id from dead_letters where id = $1", letter)
    assert admin.browser.delete(f"/api/admin/dead-letters/{letter}").status_code == 204
    assert admin.browser.delete(f"/api/admin/dead-letters/{letter}").status_code == 404
    assert admin.browser.get(f"/api/admin/dead-letters/{letter}").status_code == 404
    assert await database.fetchval("select consumer from inbox where event_id = $1", event) == "turn-runner"


async def test_they_are_for_administrators_with_that_scope(admin, user, database):
    letter = await letter_in(database)
    ways = [
        ("GET", "/api/admin/dead-letters"),
        ("GET", f"/api/admin/dead-letters/{letter}"),
        ("POST", f"/api/admin/dead-letters/{letter}/replay"),
        ("DELETE", f"/api/admin/dead-letters/{letter}"),
    ]
    for method, path in ways:
        for client in (user.browser, user.program, admin.program):
            answer = client.request(method, path)
            assert (answer.status_code, answer.json()["error"]) == (403, "scope_missing")
    assert await database.fetchval("select state from dead_letters where id = $1", letter) == "parked"


# Metrics and keeping


def measured(gateway):
    text = httpx.get(
        f"http://127.0.0.1:{gateway.health}/metrics", headers={"authorization": "Bearer metrics-token-of-a-test"}
    ).text
    return {
        line.split(" ")[0]: float(line.split(" ")[1])
        for line in text.splitlines()
        if line.startswith("retinue_dead_letters")
    }


async def test_what_waits_is_measured_and_what_is_decided_is_not(gateway, admin, database):
    letter = await letter_in(database, age="1 hour")
    await letter_in(database, state="handled", age="2 hours")
    name = 'retinue_dead_letters{consumer="turn-runner"}'
    oldest = 'retinue_dead_letters_oldest_seconds{consumer="turn-runner"}'

    def one_waits_for_an_hour():
        seen = measured(gateway)
        return seen.get(name) == 1 and 3600 <= seen[oldest] < 3700

    eventually(one_waits_for_an_hour, what="one waits, for an hour")
    admin.browser.delete(f"/api/admin/dead-letters/{letter}")
    eventually(lambda: name not in measured(gateway), what="none waits")


async def test_replayed_letters_go_after_a_while_and_parked_ones_stay(servers, database):
    waits = await letter_in(database, age="90 days")
    await letter_in(database, state="replayed", age="31 days")
    young = await letter_in(database, state="handled", age="29 days")
    with gateway_on(servers):
        await until(database, "select count(*) from dead_letters", 2)
        assert await letters(database) == {waits, young}


# The command


async def test_the_command_lists(retinue, database):
    assert retinue("list") == "No dead letters."
    letter = await letter_in(database)
    assert f"{letter}  " in retinue("list", "--state", "parked")
    (listed,) = json.loads(retinue("list", "--json"))
    assert (listed["id"], listed["deliveries"], listed["state"]) == (letter, 3, "parked")
    assert "no state" in retinue("list", "--state", "lost", code=1)
    await letter_in(database)
    assert "--limit 1" in retinue("list", "--limit", "1", "--consumer", "turn-runner")


async def test_the_command_shows(retinue, database):
    letter = await letter_in(database, payload=b'{"turn_id": 7}')
    assert retinue("show", letter).endswith('{"turn_id": 7}')
    assert json.loads(retinue("show", letter, "--json"))["headers"]["traceparent"] == "00-1-1-01"
    assert "no such" in retinue("show", str(uuid7()), code=1)


async def test_the_command_replays_some_or_all_of_a_consumer(retinue, database):
    one, two = await letter_in(database), await letter_in(database)
    other = await letter_in(database, consumer="somebody-else")
    assert json.loads(retinue("replay", one, "--json")) == [{"id": one, "outcome": "replayed", "reason": None}]
    assert [each["id"] for each in json.loads(retinue("replay", "--all", "--consumer", "turn-runner", "--json"))] == [
        two
    ]
    told = json.loads(retinue("replay", other, str(uuid7()), "--json", code=1))
    assert [each["outcome"] for each in told] == ["refused", "refused"]
    assert "no consumer" in told[0]["reason"]
    assert "Name ids" in retinue("replay", code=1)
    assert "Name ids" in retinue("replay", one, "--all", code=1)


async def test_the_command_asks_before_it_drops(retinue, database):
    one, two = await letter_in(database), await letter_in(database)

    assert "Aborted" in retinue("drop", one, stdin="n\n", code=1)
    assert await letters(database) == {one, two}
    retinue("drop", one, stdin="y\n")
    assert await letters(database) == {two}
    assert json.loads(retinue("drop", "--all", "--yes", "--json")) == [
        {"id": two, "outcome": "dropped", "reason": None}
    ]
    assert await letters(database) == set()
    assert retinue("drop", "--all", "--yes") == "No dead letters."


# The runner


async def test_the_runner_parks_what_is_no_turn_request_and_parks_its_replay_again(servers, admin, retinue, database):
    bus = await connect(servers.nats_url(), "dead-letter-test")
    poison = secrets.token_hex(8).encode()
    # What other tests here replayed.
    await until(database, "select count(*) from outbox where sent_at is null", 0)
    await bus.jetstream().purge_stream("TURN")
    with runner_on(servers):
        await publish_stored(bus, TURN_REQUESTED, poison, uuid7())

        def parked(deliveries):
            items = admin.browser.get("/api/admin/dead-letters", params={"state": "parked"}).json()["items"]
            return next((item for item in items if item["deliveries"] == deliveries), None)

        letter = eventually(lambda: parked(1), 30, "the runner parks it")
        assert (letter["consumer"], letter["subject"]) == ("turn-runner", TURN_REQUESTED)
        assert letter["reason_type"] == "ValidationError"
        assert poison.decode() not in letter["reason"]
        retinue("replay", letter["id"])
        again = eventually(lambda: parked(2), 30, "the replay is parked again")
        assert again["id"] == letter["id"]
    assert await database.fetchval("select count(*) from dead_letters") == 1
    info = await bus.jetstream().stream_info("TURN")
    await bus.close()
    assert info.state.messages == 0, "nothing is left on the bus"
