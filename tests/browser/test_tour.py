"""A fresh installation without any provider: the first account, and a stand-in that shows how answers behave."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, expect

from tests.browser import chromium
from tests.browser.account import PASSWORD
from tests.browser.looks import look_over
from tests.kit.stack import Stack, data_folder, start_stack


@pytest.fixture(scope="module")
def fresh(chromium_path: str) -> Iterator[Stack]:
    chromium.page_or_skip()
    with data_folder() as data_dir:
        running = start_stack(data_dir)
        yield running
        running.stop()


@pytest.mark.timeout(180)
async def test_the_tour(fresh: Stack, browser: Browser) -> None:
    chat, witness = await chromium.open_window(browser, fresh.url)
    await chat.open()
    await expect(chat.page.get_by_role("heading", name="Create the first account")).to_be_visible()
    await look_over(chat.page, "tour-first-account")
    await chat.page.get_by_label("User name").fill("ada")
    await chat.page.get_by_label("Password", exact=True).fill(PASSWORD)
    await chat.page.get_by_role("button", name="Create an account").click()
    await expect(chat.field).to_be_focused()

    await chat.ask("Hello, who are you?")
    await expect(chat.prose.first).to_contain_text("no language model is connected")
    await expect(chat.prose.get_by_role("cell", name="RETINUE_MODEL")).to_be_visible()
    await expect(chat.prose.locator(".code-block")).to_be_visible()
    await chat.ask("And what is 12 * 34?")
    await expect(chat.answer.locator("summary")).to_contain_text("Calculated: 12 * 34")
    await expect(chat.prose.last).to_contain_text("408")
    await look_over(chat.page, "tour")
    await chat.page.context.close()
    assert witness.complaints == []
