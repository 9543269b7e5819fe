"""What an administrator sees of dead letters and does about them: each state, by mouse and by keys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import pytest
from playwright.async_api import Page, Route, expect

from contracts.ids import uuid7
from tests.browser.account import Account
from tests.browser.conftest import Window
from tests.browser.looks import look_over
from tests.browser.test_keyboard import tab_to
from tests.kit.stack import Stack

PATH = "/admin/dead-letters"
DEVICES = pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
POISON = {"turn_id": 7, "hint": "<img src=x onerror=alert(1)> and a very long word " + "x" * 200}

PutLetter = Callable[..., Awaitable[str]]


@pytest.fixture
async def put_letter(stack: Stack) -> AsyncIterator[PutLetter]:
    """Makes a dead letter; there are no others."""
    connection: Any = await asyncpg.connect(stack.superuser_url)
    await connection.execute("delete from dead_letters")

    async def put(consumer: str = "turn-runner", payload: bytes = json.dumps(POISON).encode()) -> str:
        letter = uuid7()
        await connection.execute(
            "insert into dead_letters (id, consumer, stream, subject, event_id, payload, headers, deliveries,"
            " first_seen_at, reason_type, reason) values ($1, $2, 'TURN', 'turn.requested.v1', $3, $4, $5, 3, now(),"
            " 'ValidationError', 'turn_id: UUID input should be a string')",
            letter,
            consumer,
            uuid7(),
            payload,
            json.dumps({"traceparent": "00-1-1-01"}),
        )
        return str(letter)

    yield put
    await connection.execute("delete from dead_letters")
    await connection.close()


def row_of(page: Page, consumer: str) -> Any:
    return page.get_by_role("listitem").filter(has=page.get_by_role("heading", name=consumer))


@DEVICES
async def test_from_an_empty_page_to_a_forgotten_letter(
    window: Window, founder: Account, put_letter: PutLetter, phone: bool
) -> None:
    page = (await window(founder, PATH, phone=phone)).page
    await expect(page.get_by_text("Nothing waits for a decision.")).to_be_visible()
    await look_over(page, "dead-letters-none")

    await put_letter("somebody-who-is-gone")
    await page.get_by_role("button", name="Look again").click()
    row = row_of(page, "somebody-who-is-gone")
    await expect(row).to_contain_text("3 deliveries")
    await row.get_by_role("button", name="Show payload").click()
    await expect(row.get_by_role("region", name="Headers and payload")).to_contain_text("onerror")
    await expect(row.get_by_role("region")).to_contain_text("traceparent: 00-1-1-01")
    await look_over(page, "dead-letters")

    await row.get_by_role("button", name="Send again").click()
    await expect(page.get_by_role("status").filter(has_text="There is no consumer")).to_be_visible()

    await row.get_by_role("button", name="Forget").click()
    dialog = page.get_by_role("dialog", name="Forget this event?")
    await expect(dialog).to_contain_text("somebody-who-is-gone will never work on it.")
    await look_over(page, "dead-letters-confirm")
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(dialog).not_to_be_visible()
    await expect(row).to_be_visible()
    await row.get_by_role("button", name="Forget").click()
    await dialog.get_by_role("button", name="Forget").click()
    await expect(row).not_to_be_visible()
    await expect(page.get_by_label("Show", exact=True)).to_be_focused()
    async with founder.api() as api:
        assert (await api.get("/api/admin/dead-letters")).json()["items"] == []


async def test_what_is_sent_again_and_fails_comes_back(window: Window, founder: Account, put_letter: PutLetter) -> None:
    letter = await put_letter()
    page = (await window(founder, PATH)).page
    row = row_of(page, "turn-runner")
    await row.get_by_role("button", name="Send again").click()
    await expect(row).to_contain_text("Sent again")
    async with founder.api() as api, asyncio.timeout(30):
        # The runner of this stack cannot read it any better the second time.
        while (await api.get(f"/api/admin/dead-letters/{letter}")).json()["state"] != "parked":  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    await page.get_by_role("button", name="Look again").click()
    await expect(row).to_contain_text("Waiting")
    await expect(row).to_contain_text("4 deliveries")


async def test_by_keys_alone(window: Window, founder: Account, put_letter: PutLetter) -> None:
    await put_letter()
    chat = await window(founder)
    page, keys = chat.page, chat.page.keyboard
    await tab_to(page, f"Account: {founder.username}")
    await keys.press("Enter")
    await expect(page.get_by_role("menuitem", name="Settings")).to_be_focused()
    for _ in range(4):
        await keys.press("ArrowDown")
    await expect(page.get_by_role("menuitem", name="Dead letters")).to_be_focused()
    await keys.press("Enter")
    await expect(page).to_have_url(f"{founder.url}{PATH}")
    await expect(page.get_by_role("heading", name="Dead letters")).to_be_visible()
    await expect(row_of(page, "turn-runner")).to_be_visible()
    await tab_to(page, "Show payload")
    await keys.press("Enter")
    await tab_to(page, "Forget")
    await keys.press("Enter")
    await expect(page.get_by_role("dialog")).to_be_visible()
    await keys.press("Escape")
    await expect(page.get_by_role("button", name="Forget")).to_be_focused()
    await tab_to(page, "Headers and payload")


@DEVICES
async def test_loading_and_failing(window: Window, founder: Account, put_letter: PutLetter, phone: bool) -> None:
    page = (await window(founder, "/", phone=phone)).page
    answered = asyncio.Event()

    async def refuse(route: Route) -> None:
        await answered.wait()
        await route.fulfill(status=503, json={"error": "busy", "message": "The database does not answer; try again."})

    await page.route("**/api/admin/dead-letters?*", refuse)
    await page.goto(PATH, wait_until="commit")
    await expect(page.get_by_role("status", name="Loading")).to_be_visible()
    answered.set()
    await expect(page.get_by_role("alert")).to_contain_text("The dead letters could not be loaded.")
    await look_over(page, "dead-letters-failed")
    await page.unroute("**/api/admin/dead-letters?*")
    await page.get_by_role("button", name="Try again").click()
    await expect(page.get_by_text("Nothing waits for a decision.")).to_be_visible()


async def test_others_see_neither_the_way_nor_the_page(window: Window, account: Account) -> None:
    chat = await window(account, PATH)
    await expect(chat.page.get_by_text("Dead letters are for administrators.")).to_be_visible()
    await chat.page.get_by_role("button", name="Account").click()
    await expect(chat.page.get_by_role("menuitem", name="Log out")).to_be_visible()
    await expect(chat.page.get_by_role("menuitem", name="Dead letters")).to_have_count(0)
