"""A long line and those beside it, on the real stack: who waits sees its place, and nobody waits for another's line."""

import asyncio
import time
from collections.abc import Iterator

import httpx
import pytest

from cli.bench.batches import Message
from cli.bench.client import TurnClient
from tests.kit.model import ScriptedModel
from tests.kit.stack import Stack, data_folder, start_stack

# Whole stacks start here, on a machine that is busy with other tests.
pytestmark = pytest.mark.timeout(300)

TOTAL, IN_A_THREAD = 4, 5
THREADS = 12
SHORT = "[[tokens=10 rate=10]]"
ONE_SECOND = 1.0
"""What a short answer takes at least."""


@pytest.fixture(scope="module")
def own() -> Iterator[Stack]:
    """A small deployment: four turns at once for everybody."""
    with ScriptedModel.started() as model, data_folder() as data_dir:
        env = {
            "OPENAI_BASE_URL": model.url,
            "RETINUE_MODEL": "openai/scripted",
            "RETINUE_TURNS_TOTAL": str(TOTAL),
            "RETINUE_TURNS_WAITING": str(IN_A_THREAD),
            "RETINUE_TURNS_WAITING_PER_USER": str(THREADS * IN_A_THREAD),
            "RETINUE_STREAM_SILENCE": "0.5",
        }
        running = start_stack(data_dir, env)
        yield running
        running.stop()


def person(stack: Stack, name: str) -> TurnClient:
    with httpx.Client(base_url=stack.url, headers={"origin": stack.url}, trust_env=False) as browser:
        account = {"username": name, "password": "waiting in line"}
        browser.post("/api/auth/register", json=account).raise_for_status()
        return TurnClient(stack.url, browser.post("/api/tokens", json={"name": "t"}).raise_for_status().json()["token"])


def words(message: Message) -> bool:
    return any(part["type"] == "text" and part["text"] for part in message.reducer.parts)


async def queue(client: TurnClient, thread: str) -> httpx.Response:
    """Leave a message behind those that wait, without looking on."""
    body = {"message": f"one of many {SHORT}", "busy": "queue"}
    url = f"{client.url}/api/threads/{thread}/turn"
    async with client.http.post(url, json=body, headers={"prefer": "respond-async"}) as answer:
        return httpx.Response(answer.status, headers=dict(answer.headers), json=await answer.json())


async def stop_all(client: TurnClient, threads: list[str]) -> None:
    for thread in threads:
        while (await client.stop(thread))["turn"] is not None:
            continue


async def test_a_long_line_delays_nobody_else_s_first(own: Stack) -> None:
    async with person(own, "greedy") as greedy, person(own, "modest") as modest:
        lines = [await greedy.thread() for _ in range(THREADS)]
        answers = [await queue(greedy, thread) for _ in range(IN_A_THREAD) for thread in lines]
        assert {answer.status_code for answer in answers} == {202}
        waiting = sum(answer.json()["status"] == "waiting" for answer in answers)
        assert waiting >= len(answers) - TOTAL - 5, "too few wait: this proves nothing"
        for _ in range(3):
            thread, begun = await modest.thread(), time.monotonic()
            watch = await modest.send(thread, f"hello {SHORT}")
            await watch.until(words)
            # A place is free within one answer's time, and the sweep gives it away within one second.
            assert time.monotonic() - begun < 2 * ONE_SECOND + 2
            await watch.to_end()
        left = [m["metadata"]["retinue"]["status"] for t in lines for m in await greedy.messages(t) if "metadata" in m]
        assert left.count("waiting") > TOTAL, "the line was gone: this proved nothing"
        assert left.count("finished") > 0, "and it moved on"
        await stop_all(greedy, lines)


async def test_who_waits_sees_the_place_go_down(own: Stack) -> None:
    async with person(own, "patient") as patient:
        thread = await patient.thread()
        first = await patient.send(thread, "[[tokens=20 rate=10]]")
        for _ in range(3):
            assert (await queue(patient, thread)).status_code == 202
        last = await patient.send(thread, "and me", busy="queue")
        kept = (await patient.messages(thread))[-1]["metadata"]["retinue"]
        assert (kept["status"], kept["position"]) == ("waiting", 4)
        await asyncio.gather(first.to_end(), last.to_end())
        assert [status["data"]["position"] for status in last.statuses] == [4, 3, 2, 1]
        assert {(status["data"]["status"], status["transient"]) for status in last.statuses} == {("waiting", True)}
        assert "position" not in (await patient.messages(thread))[-1]["metadata"]["retinue"]


async def test_a_full_line_says_how_long_it_is_and_when_to_come_again(own: Stack) -> None:
    async with person(own, "eager") as eager:
        threads = [await eager.thread()]
        running = await eager.send(threads[0], "[[tokens=300 rate=10]]")
        answers = [await queue(eager, threads[0]) for _ in range(IN_A_THREAD + 1)]
        assert [answer.status_code for answer in answers] == [202] * IN_A_THREAD + [429]
        assert answers[-1].headers["retry-after"] == "10"
        said = answers[-1].json()
        assert (said["error"], said["scope"], said["retry_after"]) == ("queue_full", "thread", 10)
        assert (said["count"], said["limit"], said["setting"]) == (IN_A_THREAD, IN_A_THREAD, "RETINUE_TURNS_WAITING")
        replaced = await eager.send(threads[0], "instead [[tokens=1]]")
        assert replaced.turn_id not in (None, running.turn_id), "a full line is no reason not to change one's mind"
        running.close()
        replaced.close()
        await stop_all(eager, threads)


async def test_a_user_s_line_has_an_end(own: Stack) -> None:
    async with person(own, "endless") as endless, person(own, "other") as other:
        threads: list[str] = []
        status = 202
        while status == 202:
            threads.append(await endless.thread())
            for _ in range(IN_A_THREAD):
                answer = await queue(endless, threads[-1])
                status = answer.status_code
            assert len(threads) <= THREADS + 10
        said = answer.json()
        assert (status, said["error"], said["scope"]) == (429, "queue_full", "user")
        assert said["count"] == said["limit"] == THREADS * IN_A_THREAD
        assert said["setting"] == "RETINUE_TURNS_WAITING_PER_USER"
        assert (await queue(other, await other.thread())).status_code == 202
        await stop_all(endless, threads)
