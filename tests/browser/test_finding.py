"""Finding and keeping: the search, the palette, marks that are live, what is put away and brought back, by keys."""

from __future__ import annotations

import re

from playwright.async_api import expect

from tests.browser.account import Account
from tests.browser.chat import Chat
from tests.browser.conftest import Window
from tests.browser.looks import look_over
from tests.browser.test_keyboard import tab_to

SLOW = "[[tokens=60 rate=60 hang=30]]"


async def test_search_by_keys_leads_to_the_message(chat: Chat) -> None:
    await chat.ask("Where do kingfishers nest? [[tokens=4]]")
    first = chat.page.url
    await chat.page.keyboard.press("Control+Shift+O")
    await chat.ask("Something else [[tokens=4]]")
    page, keys = chat.page, chat.page.keyboard
    await tab_to(page, "Search", "Shift+Tab")
    await keys.type("kingfish")
    option = page.get_by_role("listbox", name="Found messages").get_by_role("option")
    await expect(option).to_have_count(1)
    await expect(option.locator("mark")).to_have_text("kingfishers")
    await expect(option).to_have_attribute("aria-selected", "true")
    await look_over(page, "search")
    await keys.press("Enter")
    await expect(page).to_have_url(re.compile(re.escape(first)))
    await expect(chat.questions.first).to_contain_text("kingfishers")
    await tab_to(page, "Search", "Shift+Tab")
    await keys.type("zzzz")
    await expect(page.get_by_text("Nothing was found.")).to_be_visible()
    await keys.press("Escape")
    await expect(page.get_by_role("link", name="Something else")).to_be_visible()


async def test_everything_is_in_the_palette(chat: Chat) -> None:
    await chat.ask("About herons [[tokens=4]]")
    thread = chat.page.url
    page, keys = chat.page, chat.page.keyboard
    await keys.press("Control+k")
    chosen = page.get_by_role("listbox", name="What fits").get_by_role("option", selected=True)
    field = page.get_by_role("combobox", name="Find a thread, an agent, a page or an action")
    await expect(field).to_be_focused()
    await look_over(page, "palette")
    await keys.type("usg")
    await expect(chosen).to_contain_text("Usage")
    await keys.press("Enter")
    await expect(page).to_have_url("/usage")
    await keys.press("Control+k")
    await keys.type("herons")
    await expect(chosen).to_contain_text("About herons")
    await keys.press("Enter")
    await expect(page).to_have_url(thread)
    await keys.press("Control+k")
    await keys.type("keys")
    await keys.press("Enter")
    await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    await keys.press("Escape")
    await keys.press("Control+k")
    await keys.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_marks_are_live_in_another_window(chat: Chat, window: Window, account: Account) -> None:
    other = await window(account, "/agents")
    await chat.say(f"Watch this {SLOW}")
    row = other.page.get_by_role("listitem").filter(has_text="Watch this")
    await expect(row).to_contain_text("Answering")
    await chat.wait_for_words(30)
    await chat.page.keyboard.press("Escape")
    await expect(row).to_be_visible()
    await expect(row).not_to_contain_text("Answering")


async def test_undo_leads_back_to_the_thread(chat: Chat, account: Account) -> None:
    await chat.ask("Do not lose me [[tokens=4]]")
    thread, page = chat.page.url, chat.page
    for action, said in (("Delete", "is deleted."), ("Archive", "is in the archive.")):
        row = page.get_by_role("listitem").filter(has_text="Do not lose me")
        await row.hover()
        await row.get_by_role("button", name="Actions for").click()
        await page.get_by_role("menuitem", name=action, exact=True).click()
        await expect(page.get_by_role("status").filter(has_text=said)).to_be_visible()
        await expect(row).to_have_count(0)
        await page.get_by_role("button", name="Undo").click()
        await expect(page).to_have_url(thread)
        await expect(chat.questions).to_contain_text("Do not lose me")
        await expect(row).to_be_visible()


async def test_the_page_opens_without_a_network(window: Window, account: Account) -> None:
    chat = await window(account, "/agents", service_workers="allow")
    page = chat.page
    await page.evaluate("navigator.serviceWorker.ready.then(() => undefined)")
    kept = await page.evaluate(
        "(async () => (await Promise.all((await caches.keys()).map(async name =>"
        " (await (await caches.open(name)).keys()).map(one => new URL(one.url).pathname)))).flat())()"
    )
    assert "/" in kept
    assert not [path for path in kept if path.startswith("/api")]
    chat.forgiven.append("")
    await page.context.set_offline(True)
    await page.reload()
    await expect(page.get_by_text("The server cannot be reached.")).to_be_visible()
    await page.context.set_offline(False)
    await page.get_by_role("button", name="Try again").click()
    await expect(page.get_by_role("link", name="New agent")).to_be_visible()


async def test_it_is_there_within_a_second(window: Window, account: Account) -> None:
    took: list[float] = []
    for _ in range(2):
        chat = await window(account)
        await expect(chat.field).to_be_focused()
        took.append(await chat.page.evaluate("performance.now()"))
    assert min(took) < 1000, took


async def test_nobody_signed_in_meets_no_refusal(window: Window) -> None:
    refused: list[str] = []
    chat = await window()
    chat.page.on("response", lambda answer: refused.append(answer.url) if answer.status >= 400 else None)
    await chat.page.reload()
    await expect(chat.page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert refused == []
