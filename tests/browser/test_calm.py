"""The page is calm: nothing flickers, nothing jumps, and what the reader looks at stays where it is."""

from __future__ import annotations

import asyncio

from playwright.async_api import Route, expect

from tests.browser.account import Account
from tests.browser.chat import Chat
from tests.browser.conftest import Window
from tests.kit.model import ScriptedModel

PARAGRAPHS = "\n\n".join(f"Paragraph {number} has a few words of its own." for number in range(30))

WATCH_SHIFTS = """() => {
    window.shifts = [];
    new PerformanceObserver(list => {
        for (const entry of list.getEntries())
            window.shifts.push([entry.value, entry.sources.map(one => one.node?.className ?? one.node?.nodeName)]);
    }).observe({ type: 'layout-shift', buffered: true });
}"""

WATCH_PILL = """() => {
    window.pill = false;
    const look = () => { window.pill ||= document.querySelector('.new-below') !== null; };
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
}"""
"""Whether "New text below" was shown, be it for a moment."""

QUIET = 0.02
"""Sum of layout shifts that nobody notices; browsers call less than 0.1 good."""


async def shifts(chat: Chat) -> float:
    return sum(value for value, _ in await chat.page.evaluate("window.shifts"))


async def test_streamed_paragraphs_are_drawn_once_and_nothing_jumps(chat: Chat, model: ScriptedModel) -> None:
    model.script({"rules": [{"user": "many", "replies": [{"text": PARAGRAPHS, "rate": 80}]}]})
    await chat.page.evaluate(WATCH_SHIFTS)
    await chat.say("many paragraphs")
    await chat.wait_for_words(30)
    await chat.page.evaluate("document.querySelector('article .prose .block').mine = true")
    await chat.wait_for_end()
    model.unscript()
    assert await chat.page.evaluate("document.querySelector('article .prose .block').mine === true")
    await expect(chat.prose.locator("p")).to_have_count(30)
    assert await shifts(chat) < QUIET, await chat.page.evaluate("window.shifts")
    await expect(chat.prose.locator("p").last).to_be_in_viewport()


async def test_a_first_message_is_on_the_page_before_the_server_knows_it(chat: Chat) -> None:
    answers = asyncio.Event()

    async def be_slow(route: Route) -> None:
        await answers.wait()
        await route.continue_()

    await chat.page.route("**/api/threads", be_slow)
    await chat.page.evaluate(WATCH_SHIFTS)
    await chat.say("Take your time [[tokens=3]]")
    await expect(chat.questions).to_contain_text("Take your time")
    await expect(chat.page.get_by_text("Sending…")).to_be_visible()
    await expect(chat.page.get_by_role("heading", name="What shall we do?")).to_have_count(0)
    answers.set()
    await expect(chat.answers).to_have_count(1)
    await chat.wait_for_end()
    assert await shifts(chat) < QUIET, await chat.page.evaluate("window.shifts")


async def test_a_first_message_that_cannot_be_sent_comes_back(chat: Chat) -> None:
    await chat.page.route(
        "**/api/threads", lambda route: route.abort() if route.request.method == "POST" else route.continue_()
    )
    await chat.say("Nobody listens")
    await expect(chat.alert).to_contain_text("Not sent. The server cannot be reached.")
    await expect(chat.field).to_have_value("Nobody listens")
    await expect(chat.page.get_by_role("heading", name="What shall we do?")).to_be_visible()
    await chat.page.unroute("**/api/threads")
    await chat.field.press("Enter")
    await expect(chat.answers).to_have_count(1)
    await chat.wait_for_end()


async def test_a_reload_comes_back_without_a_jump(window: Window, account: Account) -> None:
    chat = await window(account)
    await chat.ask("First [[tokens=30]]")
    await chat.page.add_init_script(f"({WATCH_SHIFTS})()")
    await chat.page.reload()
    await expect(chat.prose).to_be_visible()
    await expect(chat.page.get_by_role("link", name="First")).to_be_visible()
    assert await shifts(chat) < QUIET, await chat.page.evaluate("window.shifts")


async def test_a_reader_who_looks_back_is_left_alone(chat: Chat) -> None:
    await chat.say("A long one [[tokens=800 rate=250 hang=700]]")
    await chat.wait_for_words(400)
    box = chat.page.locator(".scroller")
    await box.hover()
    await chat.page.mouse.wheel(0, -2000)
    await expect(chat.page.get_by_role("button", name="New text below")).to_be_visible()
    before = await box.evaluate("box => box.scrollTop")
    await chat.wait_for_words(550)
    assert await box.evaluate("box => box.scrollTop") == before
    await chat.page.get_by_role("button", name="New text below").click()
    await chat.wait_for_words(700)
    await expect(chat.foot).to_be_in_viewport()


async def test_a_tab_that_nobody_scrolled_follows_what_another_one_began(chat: Chat) -> None:
    await chat.ask("First [[tokens=400]]")
    other = await chat.sibling()
    await expect(other.answers).to_have_count(1)
    await other.page.evaluate(WATCH_PILL)
    await chat.say("A long one [[tokens=900 rate=300 hang=800]]")
    await other.wait_for_words(800)
    await expect(other.foot).to_be_in_viewport()
    assert not await other.page.evaluate("window.pill")
    await chat.page.keyboard.press("Escape")
    await expect(other.foot).to_have_text("Stopped")


async def test_text_that_grows_by_a_screen_before_the_scrolling_is_heard_of_is_followed(chat: Chat) -> None:
    """In a tab in the background hours may pass between our scrolling and the browser's word of it."""
    await chat.ask("Long [[tokens=600]]")
    await expect(chat.answer).to_be_in_viewport()
    await chat.page.evaluate(WATCH_PILL)
    await chat.page.evaluate(
        """async () => {
            const box = document.querySelector('.scroller');
            const text = document.createElement('div');
            text.style.height = '2000px';
            document.querySelector('[role=log]').append(text);
            box.dispatchEvent(new Event('scroll'));
            for (let frame = 0; frame < 5; frame++) await new Promise(requestAnimationFrame);
        }"""
    )
    box = chat.page.locator(".scroller")
    assert await box.evaluate("box => box.scrollHeight - box.scrollTop - box.clientHeight") < 2
    assert not await chat.page.evaluate("window.pill")
