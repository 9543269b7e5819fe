"""Chromium against the whole stack: one browser, a stack with the scripted model, and a window for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import asyncpg
import pytest
from playwright.async_api import Browser, async_playwright

from tests.browser import chromium
from tests.browser.account import Account, made_account
from tests.browser.chat import Chat
from tests.browser.witness import Witness
from tests.kit.model import ScriptedModel
from tests.kit.stack import Stack, data_folder, start_stack

Window = Callable[..., Awaitable[Chat]]
EndSessions = Callable[[str], Awaitable[None]]


@pytest.fixture(scope="session")
def chromium_path() -> str:
    return chromium.path_or_skip()


@pytest.fixture(scope="session")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel.started() as running:
        yield running


@pytest.fixture(scope="session")
def stack(chromium_path: str, model: ScriptedModel) -> Iterator[Stack]:
    """Answers with the scripted model. A test that ends or holds a process waits until it is back."""
    chromium.page_or_skip()
    env = {
        "RETINUE_MODEL": "openai/scripted",
        "OPENAI_BASE_URL": model.url,
        "RETINUE_MODEL_RETRY_PAUSE": "0.05",
        "RETINUE_AUTH_CACHE": "0",  # a session that has ended shows at once
    }
    with data_folder() as data_dir:
        running = start_stack(data_dir, env)
        yield running
        running.stop()


@pytest.fixture
def end_sessions(stack: Stack) -> EndSessions:
    """Ends every session of a user, as their thirty days would."""

    async def end(username: str) -> None:
        connection = await asyncpg.connect(stack.superuser_url)
        ended = await connection.execute(
            "update sessions set expires_at = now() - interval '1 day'"
            " where user_id = (select id from users where username = $1)",
            username,
        )
        await connection.close()
        assert ended == "UPDATE 1", ended

    return end


@pytest.fixture(scope="session")
async def browser(chromium_path: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=chromium_path, args=chromium.ARGUMENTS)
        yield running
        await running.close()


@pytest.fixture(scope="session")
async def founder(stack: Stack) -> Account:
    """The first account; without one the page asks for it."""
    return await made_account(stack.url)


@pytest.fixture
async def account(stack: Stack, founder: Account) -> Account:
    return await made_account(stack.url)


@pytest.fixture
async def window(browser: Browser, stack: Stack, founder: Account) -> AsyncIterator[Window]:
    """Opens windows: `await window(account, path="/", **options of the browser context)`.

    After the test nothing may have happened in any of them that must never happen: see `Witness`.
    """
    opened: list[tuple[Chat, Witness]] = []

    async def open_window(account: Account | None = None, path: str = "/", **options: object) -> Chat:
        chat, witness = await chromium.open_window(browser, stack.url, account, **options)
        opened.append((chat, witness))
        await chat.open(path)
        return chat

    yield open_window
    for chat, _ in opened:
        await chat.page.context.close()
    complaints = [
        complaint
        for chat, witness in opened
        for complaint in witness.complaints
        if not any(words in complaint for words in chat.forgiven)
    ]
    assert complaints == []


@pytest.fixture
async def chat(window: Window, account: Account) -> Chat:
    """The start page of somebody who is signed in."""
    return await window(account)
