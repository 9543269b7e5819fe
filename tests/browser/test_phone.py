"""A phone: one column, threads that slide over it, a composer that is always there. (Targets and width: looks.py.)"""

from __future__ import annotations

from playwright.async_api import expect

from tests.browser.account import Account
from tests.browser.conftest import Window


async def test_threads_slide_over_and_go_away(window: Window, account: Account) -> None:
    chat = await window(account, phone=True)
    column = chat.page.get_by_role("navigation", name="Threads")
    await expect(column).to_have_count(0)
    await chat.say("Hello from a phone [[tokens=80 rate=80]]")
    await chat.wait_for_end()
    await expect(chat.field).to_be_in_viewport()
    await chat.page.get_by_role("button", name="Show threads").tap()
    await expect(column).to_be_in_viewport()
    await chat.page.touchscreen.tap(375, 400)  # beside the list
    await expect(column).to_have_count(0)
    await chat.page.get_by_role("button", name="Show threads").tap()
    await column.get_by_role("link", name="Hello from a phone").tap()
    await chat.page.get_by_role("button", name="Show threads").tap()
    await column.get_by_role("button", name="New thread").tap()
    await expect(column).to_have_count(0)
    await expect(chat.page.get_by_role("heading", name="What shall we do?")).to_be_visible()


async def test_escape_closes_the_list_before_it_stops_an_answer(window: Window, account: Account) -> None:
    chat = await window(account, phone=True)
    await chat.say("Go on [[tokens=60 rate=60 hang=30]]")
    await chat.wait_for_words(30)
    await chat.page.get_by_role("button", name="Show threads").tap()
    await chat.page.keyboard.press("Escape")
    await expect(chat.page.get_by_role("navigation", name="Threads")).to_have_count(0)
    await expect(chat.stop_button).to_be_enabled()
    await chat.page.keyboard.press("Escape")
    await expect(chat.foot).to_have_text("Stopped")


async def test_the_composer_grows_to_a_limit_and_stays_in_view(window: Window, account: Account) -> None:
    chat = await window(account, phone=True)
    await chat.field.fill("\n".join(f"line {number}" for number in range(60)))
    box = await chat.field.bounding_box()
    assert box is not None
    assert 100 < box["height"] <= 844 * 0.45
    await expect(chat.send_button).to_be_in_viewport(ratio=1)


async def test_a_turned_phone_keeps_everything_in_reach(window: Window, account: Account) -> None:
    chat = await window(account, phone=True, viewport={"width": 844, "height": 390})
    await chat.ask("Sideways [[tokens=120]]")
    assert await chat.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    await expect(chat.field).to_be_in_viewport(ratio=1)
    await expect(chat.send_button).to_be_in_viewport(ratio=1)
