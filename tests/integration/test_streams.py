"""Watching a turn over HTTP, against the real servers and a writer that does what a test wants."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from uuid import UUID

import pytest
from nats.aio.client import Client

from cli.bench.client import TurnClient, TurnRefused, Watch
from contracts import chunks
from contracts.batches import BatchId
from contracts.turns import TurnStatus
from store import Store
from store.turns.closing import close_turn
from tests.kit.gateway import Gateway, Person, gateway_on, person_at
from tests.kit.stack import Servers
from tests.kit.writer import STEP, Writer, purge, relay, text_part, texts


@pytest.fixture(scope="module")
def gateway(servers: Servers) -> Iterator[Gateway]:
    settings = {"RETINUE_STREAM_SILENCE": "0.5", "RETINUE_TURNS_PER_USER": "100", "RETINUE_TURNS_TOTAL": "1000"}
    with gateway_on(servers, settings) as running:
        yield running


@pytest.fixture(scope="module")
def person(gateway: Gateway) -> Person:
    return person_at(gateway)


class Scene:
    """One turn with its first viewer and the writer that holds it."""

    def __init__(self, client: TurnClient, watch: Watch, writer: Writer, store: Store, bus: Client, user: UUID) -> None:
        self.client, self.watch, self.writer, self.store, self.bus, self.user = client, watch, writer, store, bus, user

    def another(self) -> Watch:
        return self.client.watch(self.watch.thread_id, self.watch.turn_id)

    async def reclaim(self) -> Writer:
        """The holder is given up and another one takes the turn in the next epoch."""
        from sqlalchemy import text

        async with self.store.system() as session:
            await session.execute(
                text("update turns set status = 'queued', runner_id = null where id = :turn"),
                {"turn": self.writer.turn_id},
            )
        return await Writer.claim(self.store, self.bus, self.user, self.writer.turn_id)

    async def close(self, status: TurnStatus) -> list:
        """Somebody else ends the running turn: its end batch comes through the outbox."""
        async with self.store.system() as session:
            return await close_turn(session, self.writer.turn_id, TurnStatus.RUNNING, status, "interrupted")


@pytest.fixture
async def scene(client: TurnClient, store: Store, bus: Client, person: Person) -> AsyncIterator[Scene]:
    thread = await client.thread()
    watch = await client.send(thread, "Tell me")
    assert watch.turn_id is not None
    user = UUID(person.id)
    writer = await Writer.claim(store, bus, user, UUID(watch.turn_id))
    yield Scene(client, watch, writer, store, bus, user)
    watch.close()


async def answer_whole(scene: Scene, *pieces: str) -> None:
    writer = scene.writer
    await writer.start()
    await writer.text("a", *pieces)
    await writer.close_text("a")
    await writer.end(parts=[STEP, text_part("a", "".join(pieces))])


async def test_the_post_streams_the_answer(scene: Scene) -> None:
    reading = asyncio.create_task(scene.watch.to_end())
    await answer_whole(scene, "one ", "two")
    message = await reading
    assert texts(message) == ["one two"]
    assert message.reducer.finish_reason == "stop"
    assert message.shown["metadata"]["retinue"]["status"] == "finished"
    stored = (await scene.client.messages(scene.watch.thread_id))[-1]
    assert stored["parts"] == message.reducer.parts
    assert stored["metadata"] == message.shown["metadata"]
    assert scene.watch.connections == 1


async def test_viewers_get_the_same_bytes_whenever_they_come(scene: Scene) -> None:
    writer = scene.writer
    windows = [scene.watch, scene.another()]
    for window in windows:
        window.keeps_raw = True
    await writer.start()
    await writer.text("a", "early ")
    await asyncio.gather(*(window.until(lambda m: texts(m) == ["early "]) for window in windows))
    windows.append(scene.another())
    windows[-1].keeps_raw = True
    await writer.publish(chunks.text_delta("a", "late"))
    await writer.close_text("a")
    await writer.end(parts=[STEP, text_part("a", "early late")])
    windows.append(scene.another())  # after the end, by its name
    windows[-1].keeps_raw = True
    for window in windows:
        message = await window.to_end()
        assert texts(message) == ["early late"]
    assert len({bytes(window.raw) for window in windows}) == 1


async def test_a_broken_connection_continues_behind_its_last_whole_batch(scene: Scene) -> None:
    writer, watch = scene.writer, scene.watch
    await writer.start()
    await writer.text("a", "x", "y")
    await watch.until(lambda m: texts(m) == ["xy"])
    watch.close()
    await writer.publish(chunks.text_delta("a", "z"))
    await watch.until(lambda m: texts(m) == ["xyz"])
    await writer.close_text("a")
    await writer.end(parts=[STEP, text_part("a", "xyz")])
    message = await watch.to_end()
    assert texts(message) == ["xyz"]
    assert watch.connections == 2
    assert watch.restarts == 0


async def test_early_and_repeated_batches_are_put_in_order(scene: Scene) -> None:
    writer, watch = scene.writer, scene.watch
    await writer.start()
    first = await writer.publish(chunks.start_step(), chunks.text_start("a"), live=False)
    second = await writer.publish(chunks.text_delta("a", "b"), live=False)
    third = await writer.publish(chunks.text_delta("a", "c"), live=False)
    for id in (third, second, second, first, third):
        await writer.repeat(id)
    message = await watch.until(lambda m: texts(m) == ["bc"])
    assert message.position == third


async def test_a_batch_that_only_the_log_has_is_found_in_silence(scene: Scene, bus: Client) -> None:
    """The second viewer listens to nothing until it asks: all of it comes from the log."""
    writer = scene.writer
    await writer.start()
    await writer.text("a", *(f"{n} " for n in range(300)))
    late = scene.another()
    await late.until(lambda m: texts(m) and texts(m)[0].endswith("299 "))
    assert texts(late.message) == ["".join(f"{n} " for n in range(300))]


async def test_a_batch_that_the_log_lacks_is_waited_for(scene: Scene) -> None:
    """The gap is noticed, row and log do not help, and the writer's repetition does."""
    writer, watch = scene.writer, scene.watch
    await writer.start()
    await writer.text("a", "x")
    lost = await writer.publish(chunks.text_delta("a", "y"), live=False)
    await writer.publish(chunks.text_delta("a", "z"))
    await watch.until(lambda m: texts(m) == ["x"])
    late = scene.another()  # who comes now makes the gateway read the log, and gets no further
    assert texts(await late.until(lambda m: texts(m) == ["x"])) == texts(watch.message) == ["x"]
    await writer.repeat(lost)
    await watch.until(lambda m: texts(m) == ["xyz"])


async def test_a_takeover_supersedes_what_lies_beyond_the_cut(scene: Scene) -> None:
    writer, watch = scene.writer, scene.watch
    other = scene.another()
    await writer.start()
    await writer.text("a", "kept")
    await writer.close_text("a")
    await writer.commit([STEP, text_part("a", "kept")])
    await writer.text("b", "abandoned ", "text")
    for window in (watch, other):
        await window.until(lambda m: texts(m) == ["kept", "abandoned text"])
    dead, writer = writer, await scene.reclaim()
    await writer.text("c", "instead")
    await dead.publish(chunks.text_delta("b", " of a zombie"))
    await writer.close_text("c")
    await writer.end(parts=[])
    for window in (watch, other):
        message = await window.to_end()
        assert message.superseded == 1
        assert texts(message) == ["kept", "instead"]
        assert all(part.get("state") != "streaming" for part in message.reducer.parts)
    fresh = scene.another()
    message = await fresh.to_end()
    assert texts(message) == ["kept", "instead"]
    assert message.superseded == 0
    assert message.reducer.parts == watch.message.reducer.parts


async def test_the_note_closes_and_names_what_was_taken_back(scene: Scene) -> None:
    writer, watch = scene.writer, scene.watch
    said: list[chunks.Chunk] = []
    watch.on_chunk = said.append
    await writer.start()
    await writer.text("dead", "never mind")
    await watch.until(lambda m: texts(m) == ["never mind"])
    await relay(scene.bus, await scene.close(TurnStatus.FAILED))
    message = await watch.to_end()
    note = next(n for n, chunk in enumerate(said) if chunk["type"] == "data-superseded")
    assert said[note]["data"] == {"epoch": 2, "cut": 0, "parts": ["dead"]}
    assert [chunk["type"] for chunk in said[note - 2 : note]] == ["text-end", "finish-step"]
    assert message.error is not None
    assert texts(message) == []


async def test_a_reader_that_comes_back_with_dead_text_is_told(scene: Scene) -> None:
    writer, watch = scene.writer, scene.watch
    await writer.start()
    await writer.text("a", "dead")
    await watch.until(lambda m: texts(m) == ["dead"])
    watch.close()
    writer = await scene.reclaim()
    await writer.start()
    await writer.text("b", "alive")
    await writer.close_text("b")
    await writer.end(parts=[STEP, text_part("b", "alive")])
    message = await watch.to_end()
    assert texts(message) == ["alive"]
    assert message.superseded == 1


async def test_what_the_log_lost_comes_from_the_rows_for_a_fresh_reader(scene: Scene, bus: Client) -> None:
    writer, watch = scene.writer, scene.watch
    await writer.start()
    await writer.text("a", "kept")
    await writer.close_text("a")
    await writer.commit([STEP, text_part("a", "kept")])
    await watch.until(lambda m: texts(m) == ["kept"])
    await purge(bus, writer.turn_id)
    fresh = scene.another()
    await fresh.until(lambda m: texts(m) == ["kept"])
    assert fresh.message.position == BatchId(1, writer.id.number)
    await writer.text("b", "and on")
    await writer.close_text("b")
    await writer.end(parts=[STEP, text_part("b", "and on")])
    for window in (watch, fresh):
        message = await window.to_end()
        assert texts(message) == ["kept", "and on"]
    assert watch.message.reducer.parts == fresh.message.reducer.parts


async def test_a_final_turn_whose_log_is_gone_comes_from_the_rows(scene: Scene, bus: Client) -> None:
    reading = asyncio.create_task(scene.watch.to_end())
    await answer_whole(scene, "all of it")
    live = await reading
    await purge(bus, scene.writer.turn_id)
    message = await scene.another().to_end()
    assert message.shown == live.shown
    assert message.position == live.position


async def test_a_position_that_the_log_cannot_continue_is_410_and_the_client_starts_over(
    scene: Scene, bus: Client
) -> None:
    writer, watch = scene.writer, scene.watch
    await writer.start()
    await writer.text("a", "kept")
    await watch.until(lambda m: texts(m) == ["kept"])
    watch.close()
    await writer.close_text("a")
    await writer.commit([STEP, text_part("a", "kept")])
    await purge(bus, writer.turn_id)
    async with scene.client.http.get(
        f"{scene.client.url}/api/threads/{watch.thread_id}/turn", headers={"last-event-id": str(watch.message.position)}
    ) as answer:
        assert answer.status == 410
        assert (await answer.json())["error"] == "cannot_continue"
    await writer.end()
    message = await watch.to_end()
    assert watch.restarts == 1
    assert texts(message) == ["kept"]


@pytest.mark.parametrize("position", ["9.1", "1.900", "1.4000000000"])
async def test_a_position_that_nobody_wrote_is_410(scene: Scene, position: str) -> None:
    await scene.writer.start()
    url = f"{scene.client.url}/api/threads/{scene.watch.thread_id}/turn"
    async with scene.client.http.get(url, params={"after": position}) as answer:
        assert answer.status == 410


async def test_in_mid_message_the_connection_breaks_where_the_log_has_a_hole(scene: Scene, bus: Client) -> None:
    writer, watch = scene.writer, scene.watch
    await writer.start()
    await writer.text("a", "x")
    await watch.until(lambda m: texts(m) == ["x"])
    lost = await writer.publish(chunks.text_delta("a", "y"), live=False)
    assert lost.number == 4
    await writer.close_text("a")
    await writer.commit([STEP, text_part("a", "xy")])
    await purge(bus, writer.turn_id)
    message = await watch.until(lambda m: texts(m) == ["xy"])
    assert watch.restarts == 1
    assert message.position == writer.id


async def test_the_row_ends_a_stream_whose_end_batch_is_lost(scene: Scene) -> None:
    writer, watch = scene.writer, scene.watch
    await writer.start()
    await writer.text("a", "done")
    await writer.close_text("a")
    await writer.end(parts=[STEP, text_part("a", "done")], publish=False)
    message = await watch.to_end(10)
    assert texts(message) == ["done"]
    assert message.reducer.finish_reason == "stop"
    assert message.position == BatchId(1, writer.id.number + 1)


async def test_the_row_supersedes_before_it_ends(scene: Scene) -> None:
    writer, watch = scene.writer, scene.watch
    await writer.start()
    await writer.text("a", "abandoned")
    await watch.until(lambda m: texts(m) == ["abandoned"])
    await scene.close(TurnStatus.FAILED)  # its end batch is never published
    message = await watch.to_end(10)
    assert texts(message) == []
    assert message.error is not None


async def test_a_client_that_has_everything_gets_204(scene: Scene) -> None:
    reading = asyncio.create_task(scene.watch.to_end())
    await answer_whole(scene, "all")
    message = await reading
    url = f"{scene.client.url}/api/threads/{scene.watch.thread_id}/turn"
    params = {"turn": scene.watch.turn_id or "", "after": str(message.position)}
    async with scene.client.http.get(url, params=params) as answer:
        assert answer.status == 204
    async with scene.client.http.get(url) as answer:
        assert answer.status == 204  # nothing is running


async def test_heads_are_those_of_the_protocol(scene: Scene) -> None:
    url = f"{scene.client.url}/api/threads/{scene.watch.thread_id}/turn"
    async with scene.client.http.get(url) as answer:
        assert answer.status == 200
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["cache-control"] == "no-cache"
        assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
        assert answer.headers["x-accel-buffering"] == "no"
        assert answer.headers["x-retinue-turn"] == scene.watch.turn_id


async def test_a_waiting_turn_says_its_place_and_begins_when_it_may(scene: Scene, store: Store, bus: Client) -> None:
    behind = await scene.client.send(scene.watch.thread_id, "And then", busy="queue")
    reading = asyncio.create_task(behind.until(lambda m: texts(m) == ["now"]))
    await scene.writer.start()
    await scene.writer.end(status=TurnStatus.FINISHED)
    assert behind.turn_id is not None
    writer = await Writer.claim(store, bus, scene.user, UUID(behind.turn_id))
    await writer.start()
    await writer.text("a", "now")
    message = await reading
    assert texts(message) == ["now"]
    assert behind.statuses[0]["data"] == {"status": "waiting", "position": 1, "turn": behind.turn_id}
    behind.close()


async def test_a_stopped_waiting_turn_ends_its_stream(scene: Scene) -> None:
    behind = await scene.client.send(scene.watch.thread_id, "And then", busy="queue")
    answer = await scene.client.stop(scene.watch.thread_id, behind.turn_id)
    assert answer == {"turn": behind.turn_id, "status": "stopped"}
    message = await behind.to_end(10)
    assert message.is_aborted
    assert message.shown["metadata"]["retinue"]["status"] == "stopped"
    again = await scene.client.stop(scene.watch.thread_id, behind.turn_id)
    assert again["status"] is None


async def test_a_stop_of_a_running_turn_is_said_on_the_bus(scene: Scene, bus: Client) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message) -> None:
        heard.put_nowait(message.subject)

    subscription = await bus.subscribe(f"ctl.stop.{scene.writer.turn_id}", cb=hear)
    await bus.flush()
    answer = await scene.client.stop(scene.watch.thread_id)
    assert answer == {"turn": str(scene.writer.turn_id), "status": "stopping"}
    assert await asyncio.wait_for(heard.get(), 5) == f"ctl.stop.{scene.writer.turn_id}"
    await subscription.unsubscribe()


async def test_a_closed_window_stops_nothing(scene: Scene, store: Store) -> None:
    await scene.writer.start()
    await scene.watch.until(lambda m: m.position.number == 1)
    scene.watch.close()
    await scene.writer.text("a", "still here")
    assert texts(await scene.another().until(lambda m: texts(m) == ["still here"])) == ["still here"]
    answer = await scene.client.stop(scene.watch.thread_id)
    assert answer["status"] == "stopping", "it was running still"


async def test_unknown_and_foreign_threads_look_alike(scene: Scene, gateway: Gateway) -> None:
    stranger = person_at(gateway)
    async with TurnClient(gateway.url, stranger.token) as other:
        own = await other.thread()
        for thread in (scene.watch.thread_id, "0192a0b0-0000-7000-8000-000000000000"):
            url = f"{gateway.url}/api/threads/{thread}/turn"
            for method in ("GET", "DELETE"):
                async with other.http.request(method, url) as answer:
                    assert answer.status == 404
                    assert (await answer.json())["message"] == "There is no such thread."
            with pytest.raises(TurnRefused, match="404"):
                await other.send(thread, "mine?")
        async with other.http.get(
            f"{gateway.url}/api/threads/{own}/turn", params={"turn": scene.watch.turn_id or ""}
        ) as answer:
            assert answer.status == 404
