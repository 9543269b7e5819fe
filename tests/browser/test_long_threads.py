"""A thread of 5,000 messages opens at once, scrolls without blanks and jumps, and is not read whole for any of it."""

from __future__ import annotations

import os
from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.account import Account
from tests.browser.chat import Chat
from tests.browser.conftest import Window
from tests.browser.long_thread import make_long_thread
from tests.kit.stack import Stack

COUNT = 5000
SLOWER = 4
"""How much slower a phone's processor is taken to be than this one."""
OPENS_WITHIN_MS = 1500
TRIES = 4
"""Other tests may compute at the same time: the best of these counts."""
FAR = 15_000
"""How far up one scrolls, in CSS px: some pages of messages come on the way."""

WATCH_OPENING = """() => {
    const look = () => {
        const last = [...document.querySelectorAll('article')].at(-1);
        const box = last?.getBoundingClientRect();
        if (last?.textContent.includes('Answer 4999') && box.bottom > 0 && box.top < innerHeight)
            window.openedAfter = performance.now();
        else requestAnimationFrame(look);
    };
    look();
}"""

SCROLL_UP = """async far => {
    const box = document.querySelector('.scroller');
    const middle = box.getBoundingClientRect();
    const [x, y] = [middle.left + middle.width / 2, middle.top + middle.height / 2];
    let [blank, travelled, longest, last] = [0, 0, 0, performance.now()];
    for (let frame = 0; frame < 600 && travelled < far; frame++) {
        const before = box.scrollTop;
        box.scrollTop -= 600;
        travelled += Math.max(0, before - box.scrollTop);
        await new Promise(requestAnimationFrame);
        const at = [-200, -100, 0, 100, 200].map(dy => document.elementFromPoint(x, y + dy));
        if (!at.some(one => one?.closest('article, .more')?.textContent.trim())) blank += 1;
        longest = Math.max(longest, performance.now() - last);
        last = performance.now();
    }
    return { blank, travelled, longest };
}"""


@pytest.fixture
async def long_thread(stack: Stack, account: Account) -> str:
    return await make_long_thread(stack, account, COUNT)


async def on_a_slow_phone(window: Window, account: Account) -> Chat:
    chat = await window(account, phone=True)
    session = await chat.page.context.new_cdp_session(chat.page)
    await session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    return chat


async def test_it_opens_at_once_and_scrolls_without_blanks_on_a_phone(
    window: Window, account: Account, long_thread: str
) -> None:
    chat = await on_a_slow_phone(window, account)
    await chat.page.add_init_script(f"({WATCH_OPENING})()")
    opened: list[float] = []
    while len(opened) < TRIES and min(opened, default=OPENS_WITHIN_MS) >= OPENS_WITHIN_MS:
        await chat.open(f"/t/{long_thread}")
        opened.append(await (await chat.page.wait_for_function("() => window.openedAfter")).json_value())
    scrolled: dict[str, Any] = await chat.page.evaluate(SCROLL_UP, FAR)
    print(f"\nopened after {[round(one) for one in opened]} ms; scrolled {scrolled}")
    assert scrolled["blank"] == 0
    assert scrolled["travelled"] >= FAR
    assert await chat.page.locator("article").count() < 1000
    if os.getloadavg()[0] < 1.5 * (os.cpu_count() or 1):  # else it is the others that are measured
        assert min(opened) < OPENS_WITHIN_MS


async def test_earlier_messages_come_above_without_moving_what_is_read(
    window: Window, account: Account, long_thread: str
) -> None:
    chat = await window(account, path=f"/t/{long_thread}")
    await expect(chat.questions.last).to_contain_text("Question 4998")
    # The first page is there and the reader near its beginning: the next one comes while they read.
    moved = await chat.page.evaluate("""async () => {
        const box = document.querySelector('.scroller');
        const frame = () => new Promise(requestAnimationFrame);
        let [moved, pages] = [0, 0];
        for (let round = 0; round < 5; round++) {
            box.scrollTop = Math.max(300, box.scrollTop - 4000);
            await frame(); await frame(); await frame();
            const seen = [...document.querySelectorAll('article')].find(one => one.getBoundingClientRect().top > 100);
            const [before, count] = [seen.getBoundingClientRect().top, document.querySelectorAll('article').length];
            for (let frames = 0; frames < 60; frames++) {
                await frame();
                if (document.querySelectorAll('article').length !== count) break;
            }
            pages += document.querySelectorAll('article').length !== count;
            await frame();
            moved = Math.max(moved, Math.abs(seen.getBoundingClientRect().top - before));
        }
        return { moved, pages };
    }""")
    assert moved["pages"] >= 2
    assert moved["moved"] < 60


async def test_a_link_to_a_message_opens_there_and_leads_back(
    window: Window, account: Account, long_thread: str
) -> None:
    chat = await window(account)
    async with account.api() as api:
        cursor, wanted = None, ""
        for _ in range(3):
            page = await api.get(
                f"/api/threads/{long_thread}/messages", params={"limit": 200} | ({"before": cursor} if cursor else {})
            )
            cursor, wanted = page.json()["next_cursor"], page.json()["items"][0]["id"]
    await chat.open(f"/t/{long_thread}?m={wanted}")
    target = chat.page.locator(f'[data-message="{wanted}"]')
    await expect(target).to_be_in_viewport()
    await expect(target).to_be_focused()
    assert await chat.page.locator("article").count() < 300
    await chat.page.get_by_role("button", name="To the newest").click()
    await expect(chat.questions.last).to_contain_text("Question 4998")
    await expect(chat.answers.last).to_be_in_viewport()
