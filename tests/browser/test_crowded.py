"""Many things at once: turns that wait, sends that collide, runners that die."""

from __future__ import annotations

import asyncio
import os
import signal

from playwright.async_api import Route, expect

from tests.browser.account import Account
from tests.browser.chat import Chat
from tests.browser.looks import look_over
from tests.kit.stack import Stack
from tests.kit.waiting import eventually

ENDLESS = "Go on and on [[tokens=5 hang=3]]"


async def test_a_turn_beyond_the_limit_waits_and_says_so(chat: Chat, account: Account) -> None:
    async with account.api() as api:
        threads = [(await api.post("/api/threads", json={})).json()["id"] for _ in range(4)]
        wants_no_stream = {"prefer": "respond-async"}
        for thread in threads:
            sent = await api.post(f"/api/threads/{thread}/turn", json={"message": ENDLESS}, headers=wants_no_stream)
            assert sent.status_code == 202, sent.text
        await chat.say("My turn comes [[tokens=5]]")
        await expect(chat.foot).to_contain_text("Waiting")
        await chat.page.reload()
        await expect(chat.foot).to_contain_text("Waiting")
        await api.delete(f"/api/threads/{threads[0]}/turn")
        await expect(chat.answers).to_have_count(1)
        await chat.wait_for_end()
        assert len((await chat.text()).split()) == 5
        for thread in threads[1:]:
            await api.delete(f"/api/threads/{thread}/turn")


async def test_who_waits_sees_the_place_in_the_line_go_down(chat: Chat, account: Account) -> None:
    async with account.api() as api:
        threads = [(await api.post("/api/threads", json={})).json()["id"] for _ in range(6)]
        for thread in threads:
            await api.post(
                f"/api/threads/{thread}/turn", json={"message": ENDLESS}, headers={"prefer": "respond-async"}
            )
        await chat.say("My turn comes [[tokens=5]]")
        await expect(chat.foot).to_have_text("Waiting: third in line")
        await look_over(chat.page, "waiting")
        for thread, words in zip(threads, ("Waiting: second in line", "Waiting: first in line"), strict=False):
            await api.delete(f"/api/threads/{thread}/turn")
            await expect(chat.foot).to_have_text(words)  # looked at every 5 seconds
        await chat.page.reload()
        await expect(chat.foot).to_have_text("Waiting: first in line")
        await api.delete(f"/api/threads/{threads[2]}/turn")
        await chat.wait_for_end()
        assert len((await chat.text()).split()) == 5
        for thread in threads[3:]:
            await api.delete(f"/api/threads/{thread}/turn")


async def test_a_waiting_turn_can_be_stopped(chat: Chat, account: Account) -> None:
    async with account.api() as api:
        threads = [(await api.post("/api/threads", json={})).json()["id"] for _ in range(4)]
        for thread in threads:
            await api.post(
                f"/api/threads/{thread}/turn", json={"message": ENDLESS}, headers={"prefer": "respond-async"}
            )
        await chat.say("I give up [[tokens=5]]")
        await expect(chat.foot).to_contain_text("Waiting")
        await chat.stop_button.click()
        await expect(chat.foot).to_have_text("Stopped")
        await chat.page.reload()
        await expect(chat.questions).to_have_count(1)
        await expect(chat.foot).to_have_text("Stopped")
        for thread in threads:
            await api.delete(f"/api/threads/{thread}/turn")


async def test_a_message_is_sent_once_however_often_enter_is_pressed(chat: Chat, account: Account) -> None:
    await chat.field.fill("Only once [[tokens=3]]")
    await asyncio.gather(*(chat.page.keyboard.down("Enter") for _ in range(5)))  # a key that is held repeats
    await chat.page.keyboard.up("Enter")
    await chat.wait_for_end()
    assert [message["role"] for message in await account.messages(chat.thread)] == ["user", "assistant"]
    await expect(chat.page.get_by_role("navigation").get_by_role("link", name="Only once")).to_have_count(1)


async def test_enter_belongs_to_an_input_method_that_composes(chat: Chat) -> None:
    await chat.field.fill("にほん")
    await chat.page.evaluate("""() => document.querySelector('textarea').dispatchEvent(
        new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true })
    )""")
    await expect(chat.field).to_have_value("にほん")
    await expect(chat.questions).to_have_count(0)


async def test_two_tabs_that_send_at_once_end_alike(chat: Chat, account: Account) -> None:
    await chat.ask("First [[tokens=3]]")
    other = await chat.sibling()
    await expect(other.answers).to_have_count(1)
    await asyncio.gather(chat.say("From here [[tokens=20 rate=40]]"), other.say("From there [[tokens=20 rate=40]]"))
    for tab in (chat, other):
        await expect(tab.questions).to_have_count(3)
        await tab.wait_for_end()
    stored = [message["id"] for message in await account.messages(chat.thread)]
    assert len(stored) in (5, 6)  # whoever came first was replaced, perhaps before it said anything
    await expect(other.log.get_by_role("article")).to_have_count(len(stored))
    await expect(chat.log.get_by_role("article")).to_have_count(len(stored))
    shown = "articles => articles.map(one => one.innerText)"
    articles = chat.log.get_by_role("article")
    assert await articles.evaluate_all(shown) == await other.log.get_by_role("article").evaluate_all(shown)


async def test_what_is_sent_while_the_thread_is_read_again_hides_nothing(chat: Chat) -> None:
    await chat.ask("First [[tokens=3]]")
    other = await chat.sibling()
    await expect(other.answers).to_have_count(1)
    is_read, goes_on = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        response = await route.fetch()
        is_read.set()
        await goes_on.wait()
        await route.fulfill(response=response)

    await chat.page.route("**/api/threads/*/messages*", hold)
    await other.ask("From there [[tokens=3]]")
    await asyncio.wait_for(is_read.wait(), 10)
    await chat.say("From here [[tokens=30 rate=20]]")
    goes_on.set()
    await expect(chat.questions).to_have_count(3)
    await expect(chat.answers).to_have_count(3)
    await chat.wait_for_end()


async def test_a_thread_deleted_in_mid_answer_stops_and_is_gone(chat: Chat, account: Account) -> None:
    await chat.say("Go on [[tokens=60 rate=60 hang=30]]")
    await chat.wait_for_words(30)
    thread = chat.thread
    row = chat.page.get_by_role("listitem").filter(has_text="Go on")
    await row.hover()
    await row.get_by_role("button", name="Actions for").click()
    await chat.page.get_by_role("menuitem", name="Delete").click()
    await expect(chat.page.get_by_role("heading", name="What shall we do?")).to_be_visible()
    await chat.page.get_by_role("button", name="Undo").click()
    await chat.page.get_by_role("link", name="Go on").click()
    await expect(chat.foot).to_have_text("Stopped")
    assert chat.thread == thread


async def test_the_runners_are_killed_in_mid_answer(chat: Chat, stack: Stack) -> None:
    """The page takes back what no commit had counted, and shows the answer that another runner writes."""
    await chat.say("Go on [[tokens=150 rate=20]]")
    await chat.wait_for_words(30)
    runners = [row for row in await asyncio.to_thread(stack.ps) if row["name"].startswith("turn-runner")]
    for runner in runners:
        os.kill(runner["pid"], signal.SIGKILL)
    await expect(chat.foot).to_contain_text("No new text for a moment", timeout=5000)
    await expect(chat.answer).to_have_attribute("aria-busy", "false", timeout=60_000)
    assert len((await chat.text()).split()) == 150
    await expect(chat.alert).to_have_count(0)
    are_back = lambda: all(stack.process_of(runner["name"])["ready"] for runner in runners)  # noqa: E731
    await asyncio.to_thread(eventually, are_back, 20, "the runners are back")
    await chat.ask("Are you there? [[tokens=3]]")
