"""Each state of the page, wide and on a phone, in light and dark: looked over, photographed, checked with axe."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest
from playwright.async_api import expect

from tests.browser.account import Account
from tests.browser.conftest import EndSessions, Window
from tests.browser.looks import look_over
from tests.browser.test_untrusted_text import MARKDOWN
from tests.kit.model import ScriptedModel
from tests.kit.stack import Stack

DEVICES = pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
HALTED = "[[tokens=90 hang=60]]"


@DEVICES
async def test_the_doors(window: Window, phone: bool) -> None:
    chat = await window(phone=phone)
    await expect(chat.page.get_by_role("heading", name="Sign in")).to_be_visible()
    await look_over(chat.page, "sign-in")
    await chat.page.get_by_label("User name").fill("nobody-at-all")
    await chat.page.get_by_label("Password", exact=True).fill("not the password")
    await chat.page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(chat.alert).to_be_visible()
    await look_over(chat.page, "sign-in-refused")
    await chat.page.get_by_role("button", name="No account yet? Create one").click()
    await expect(chat.page.get_by_role("heading", name="Create an account")).to_be_visible()
    await look_over(chat.page, "register")


@DEVICES
async def test_the_first_account(window: Window, phone: bool) -> None:
    chat = await window(phone=phone)
    await chat.page.route(
        "**/api/config",
        lambda route: route.fulfill(
            json={"registration": "invite", "needs_setup": True, "needs_setup_code": True, "version": "0"}
        ),
    )
    await chat.page.reload()
    await expect(chat.page.get_by_label("Set-up code")).to_be_visible()
    await look_over(chat.page, "first-account")


@DEVICES
async def test_an_answer_from_empty_to_stopped(window: Window, account: Account, phone: bool) -> None:
    chat = await window(account, phone=phone)
    await expect(chat.page.get_by_role("heading", name="What shall we do?")).to_be_visible()
    await look_over(chat.page, "start")
    await chat.say(f"Tell me something that takes its time {HALTED}")
    await chat.wait_for_words(60)
    await look_over(chat.page, "streaming")
    await chat.page.context.set_offline(True)
    await expect(chat.foot).to_contain_text("Offline")
    await look_over(chat.page, "offline")
    await chat.page.context.set_offline(False)
    await expect(chat.foot).not_to_contain_text("Offline")
    await chat.stop_button.click()
    await expect(chat.foot).to_have_text("Stopped")
    await look_over(chat.page, "stopped")


@DEVICES
async def test_thinking_reconnecting_waiting(window: Window, account: Account, stack: Stack, phone: bool) -> None:
    chat = await window(account, phone=phone)
    await chat.say("Think long [[think=60 tokens=3]]")
    await expect(chat.foot).to_have_text("Thinking…")
    await look_over(chat.page, "thinking")
    await chat.page.route("**/turn*", lambda route: route.abort())
    gateway = await asyncio.to_thread(stack.process_of, "gateway-1")
    os.kill(gateway["pid"], signal.SIGKILL)
    await expect(chat.foot).to_contain_text("Reconnecting")
    await look_over(chat.page, "reconnecting")
    await chat.page.unroute("**/turn*")
    async with account.api() as api:
        for _ in range(3):
            thread = (await api.post("/api/threads", json={})).json()["id"]
            busy = {"message": "Think as long [[think=60]]"}
            await api.post(f"/api/threads/{thread}/turn", json=busy, headers={"prefer": "respond-async"})
    await chat.open("/")
    await chat.say("Wait for the others")
    await expect(chat.foot).to_contain_text("Waiting")
    await look_over(chat.page, "waiting")


@DEVICES
async def test_a_rich_answer(window: Window, account: Account, model: ScriptedModel, phone: bool) -> None:
    tools = [{"name": "calculator", "arguments": {"expression": "12 * 34"}}]
    model.script(
        {"rules": [{"user": "rich", "replies": [{"reasoning": 30, "tools": tools}, {"text": MARKDOWN + "\n" + WIDE}]}]}
    )
    chat = await window(account, phone=phone)
    await chat.ask("Give me a rich answer,\nwith everything in it: a_very_long_word_" + "without_a_break_" * 8)
    model.unscript()
    await look_over(chat.page, "rich-end")
    for line in await chat.answer.locator("summary").all():
        await line.click()
    await chat.page.locator(".scroller").evaluate("box => box.scrollTop = 0")
    await expect(chat.page.locator(".hljs-keyword").first).to_be_visible()
    await look_over(chat.page, "rich-open")


WIDE = f"""| {" | ".join(f"column {n}" for n in range(9))} |
|{" --- |" * 9}
| {" | ".join(str(n * 1234567) for n in range(9))} |

```sh
{"a-long-command --with-many-options " * 6}
```
"""


@DEVICES
async def test_failures(window: Window, account: Account, phone: bool) -> None:
    chat = await window(account, phone=phone)
    await chat.say("Fail please [[status=401]]")
    await expect(chat.alert).to_be_visible()
    await look_over(chat.page, "failed")
    refusal = {"error": "no_room", "message": "There is no room for it."}
    await chat.page.route("**/turn", lambda route: route.fulfill(status=422, json=refusal))
    await chat.say("This one is not taken")
    await expect(chat.page.get_by_text("Not sent.")).to_be_visible()
    await look_over(chat.page, "not-sent")
    await chat.open("/t/00000000-0000-7000-8000-000000000000")
    await expect(chat.page.get_by_text("There is no such thread here.")).to_be_visible()
    await look_over(chat.page, "thread-missing")
    await chat.page.route(
        "**/messages*",
        lambda route: route.fulfill(
            status=500, json={"error": "internal", "message": "That did not work."}, headers={"x-request-id": "01a2"}
        ),
    )
    await chat.page.reload()
    await expect(chat.page.get_by_text("could not be loaded")).to_be_visible()
    await look_over(chat.page, "thread-unloadable")
    await chat.page.route("**/api/config", lambda route: route.abort())
    await chat.page.reload()
    await expect(chat.page.get_by_text("The server cannot be reached.")).to_be_visible()
    await look_over(chat.page, "unreachable")


@DEVICES
async def test_list_and_menus(window: Window, account: Account, phone: bool) -> None:
    chat = await window(account, phone=phone)
    for words in ("The first of several threads", "Another one with a rather long first message that is cut off"):
        await chat.open("/")
        await chat.ask(f"{words} [[tokens=4]]")
    if phone:
        await chat.page.get_by_role("button", name="Show threads").click()
        await expect(chat.page.get_by_role("navigation", name="Threads")).to_be_visible()
        await look_over(chat.page, "threads")
    await chat.page.get_by_role("button", name=f"Account: {account.username}").click()
    await expect(chat.page.get_by_role("menu")).to_be_visible()
    await look_over(chat.page, "account-menu")
    await chat.page.get_by_role("menuitem", name="Keys").click()
    await expect(chat.page.get_by_role("dialog", name="Keys")).to_be_visible()
    await look_over(chat.page, "keys")
    await chat.page.keyboard.press("Escape")
    row = chat.page.get_by_role("listitem").filter(has_text="The first of several")
    await row.hover()
    await row.get_by_role("button", name="Actions for").click()
    await expect(chat.page.get_by_role("menu")).to_be_visible()
    await look_over(chat.page, "thread-menu")
    await chat.page.get_by_role("menuitem", name="Rename").click()
    await expect(chat.page.get_by_role("textbox", name="Name of the thread")).to_be_focused()
    await look_over(chat.page, "renaming")
    await chat.page.keyboard.press("Escape")
    await row.hover()
    await row.get_by_role("button", name="Actions for").click()
    await chat.page.get_by_role("menuitem", name="Delete").click()
    await expect(chat.page.get_by_role("button", name="Undo")).to_be_visible()
    await look_over(chat.page, "deleted")
    await chat.page.get_by_role("button", name="Undo").click()
    await expect(row).to_be_visible()


@DEVICES
async def test_new_text_below(window: Window, account: Account, phone: bool) -> None:
    chat = await window(account, phone=phone)
    await chat.say("A long one [[tokens=900 rate=250 hang=800]]")
    await chat.wait_for_words(400)
    await chat.page.locator(".scroller").evaluate("box => box.scrollTop = 0")
    pill = chat.page.get_by_role("button", name="New text below")
    await expect(pill).to_be_visible()
    await chat.wait_for_words(800)
    assert await chat.page.locator(".scroller").evaluate("box => box.scrollTop") == 0
    await look_over(chat.page, "new-text-below")
    await pill.click()
    await expect(pill).to_have_count(0)
    await chat.page.keyboard.press("Escape")
    await expect(chat.foot).to_have_text("Stopped")


@DEVICES
async def test_the_session_has_ended(window: Window, account: Account, end_sessions: EndSessions, phone: bool) -> None:
    chat = await window(account, phone=phone)
    await expect(chat.field).to_be_visible()
    await end_sessions(account.username)
    await chat.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # back from another tab
    await expect(chat.page.get_by_text("Your session has ended.")).to_be_visible()
    await look_over(chat.page, "session-ended")


async def test_twice_the_size(window: Window, account: Account, model: ScriptedModel) -> None:
    """A zoom of 200 % is half the room; the page is then that of a phone, and nothing scrolls sideways."""
    model.script({"rules": [{"user": "rich", "replies": [{"text": MARKDOWN}]}]})
    chat = await window(account, viewport={"width": 640, "height": 400}, device_scale_factor=2)
    await chat.ask("Give me a rich answer")
    model.unscript()
    assert await chat.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    await expect(chat.field).to_be_in_viewport()
    await expect(chat.send_button).to_be_in_viewport()
    await look_over(chat.page, "zoomed")


async def test_reduced_motion_moves_nothing(window: Window, account: Account) -> None:
    chat = await window(account, reduced_motion="reduce")
    await chat.say(f"Still {HALTED}")
    await chat.wait_for_words(60)
    await chat.page.get_by_role("button", name="Hide threads").click()
    moving = await chat.page.evaluate(
        "document.getAnimations().filter(one => one.effect.getComputedTiming().activeDuration > 1).length"
    )
    assert moving == 0
