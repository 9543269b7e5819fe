"""A fresh installation without any provider: what somebody does who has read nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest
from playwright.async_api import Browser, expect

from tests.browser import chromium
from tests.browser.account import PASSWORD
from tests.browser.chat import Chat
from tests.browser.looks import look_over
from tests.kit.model import ScriptedModel
from tests.kit.stack import Stack, data_folder, start_stack


@pytest.fixture(scope="module")
def installation(chromium_path: str) -> Iterator[Stack]:
    chromium.page_or_skip()
    with data_folder() as data_dir:
        running = start_stack(data_dir)
        yield running
        running.stop()


@pytest.fixture
async def fresh(installation: Stack) -> Stack:
    """As after the first start: nobody has an account yet."""
    connection = await asyncpg.connect(installation.superuser_url)
    await connection.execute("truncate users cascade")
    await connection.close()
    return installation


@pytest.fixture
async def newcomer(fresh: Stack, browser: Browser) -> AsyncIterator[Chat]:
    """Has made the first account, and stands before the first page."""
    chat, witness = await chromium.open_window(browser, fresh.url)
    await chat.open()
    await expect(chat.page.get_by_role("heading", name="Create the first account")).to_be_visible()
    await look_over(chat.page, "tour-first-account")
    await chat.page.get_by_label("User name").fill("ada")
    await chat.page.get_by_label("Password", exact=True).fill(PASSWORD)
    await chat.page.get_by_role("button", name="Create an account").click()
    await expect(chat.page).to_have_url("/start")
    yield chat
    await chat.page.context.close()
    assert witness.complaints == []


@pytest.mark.timeout(180)
async def test_with_nothing_at_all_the_demo_shows_how_it_works(newcomer: Chat) -> None:
    chat = newcomer
    await expect(chat.page.get_by_role("heading", name="Connect a model", level=1)).to_be_visible()
    await chat.page.get_by_role("button", name="Go on with the demo").click()
    await expect(chat.field).to_be_focused()

    await chat.ask("Hello, who are you?")
    await expect(chat.prose.first).to_contain_text("no language model is connected")
    await expect(chat.prose.locator(".code-block").first).to_be_visible()
    await chat.ask("And what is 12 * 34?")
    await expect(chat.answer.locator("summary")).to_contain_text("Calculated: 12 * 34")
    await expect(chat.prose.last).to_contain_text("408")
    await look_over(chat.page, "tour")


@pytest.mark.timeout(180)
async def test_with_an_address_and_a_key_to_an_answer(newcomer: Chat, model: ScriptedModel) -> None:
    page = newcomer.page
    await page.get_by_role("radio", name="OpenAI-compatible").check()
    await page.get_by_role("textbox", name="Address").fill("http://127.0.0.1:1/v1")
    await page.get_by_role("textbox", name="Key, if it needs one").fill("sk-scripted")
    await page.get_by_role("button", name="Connect", exact=True).click()
    await expect(newcomer.alert).to_contain_text("It did not work.")
    await look_over(page, "start-refused")

    await page.get_by_role("textbox", name="Address").fill(model.url)
    await page.get_by_role("button", name="Connect", exact=True).click()
    await expect(page.get_by_role("heading", name="Which model shall answer?")).to_be_visible()
    await expect(page.get_by_role("combobox", name="Model")).to_be_focused()
    await page.get_by_role("combobox", name="Model").select_option("scripted")
    await look_over(page, "start-model")
    await page.get_by_role("button", name="Use this model").click()
    await expect(page.get_by_role("status").filter(has_text="is connected. Ask it something.")).to_be_visible()
    await expect(newcomer.field).to_be_focused()
    assert len((await newcomer.ask("What now? [[tokens=12]]")).split()) == 12

    await newcomer.open("/start")
    await expect(page.get_by_text("is connected and answers you.")).to_be_visible()
