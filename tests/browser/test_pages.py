"""The pages beside the thread: each state looked over, wide and on a phone, in light and dark, and at 200 % zoom."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.account import Account
from tests.browser.chromium import WIDE
from tests.browser.conftest import Window
from tests.browser.looks import SIDEWAYS, look_over
from tests.browser.test_keyboard import tab

DEVICES = pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
ZOOMED = {"width": 640, "height": 400}
"""What is left of a wide window at 200 %."""
PAGES = {
    "agents": ("/agents", "New agent"),
    "agent-new": ("/agents/new", "From nothing"),
    "settings": ("/settings", "Tokens"),
    "providers": ("/settings/providers", "Add a provider"),
    "usage": ("/usage", "Figures"),
    "archive": ("/archive", "Bring back"),
    "start": ("/start", "With a key or an address"),
}


@pytest.fixture
async def settled(founder: Account) -> Account:
    """An administrator with something on each page."""
    async with founder.api() as api:
        for title in ("The winter garden", "Numbers for the report"):
            made = await api.post("/api/threads", json={"title": title})
            thread = made.raise_for_status().json()["id"]
            said = {"message": "Tell me about the heron [[tokens=9]]"}
            (await api.post(f"/api/threads/{thread}/turn", json=said)).raise_for_status()
        (await api.patch(f"/api/threads/{thread}", json={"archived": True})).raise_for_status()
    return founder


async def open_page(page: Page, path: str, sign: str) -> None:
    await page.goto(path)
    # By its text wherever that stands: as a heading, a button, a region's name.
    await expect(page.get_by_text(sign).or_(page.get_by_label(sign)).first).to_be_visible()
    await expect(page.locator("[aria-busy=true]")).to_have_count(0)


@DEVICES
@pytest.mark.timeout(120)
async def test_each_page(window: Window, settled: Account, phone: bool) -> None:
    page = (await window(settled, "/agents", phone=phone)).page
    for name, (path, sign) in PAGES.items():
        await open_page(page, path, sign)
        await look_over(page, name)
        if not phone:
            await page.locator("main").focus()
            for _ in range(12):
                await tab(page)  # which sees to it that the focus is seen
            await page.set_viewport_size(ZOOMED)
            await expect(page.get_by_role("navigation", name="Threads")).to_have_count(0)
            assert await page.evaluate(SIDEWAYS) == [], f"{name} at 200 %"
            await page.set_viewport_size(WIDE)


@DEVICES
async def test_an_agent_from_a_starter_to_what_its_model_sees(window: Window, account: Account, phone: bool) -> None:
    chat = await window(account, "/agents/new", phone=phone)
    page = chat.page
    await page.get_by_role("listitem").get_by_role("button").first.click()
    await expect(page.get_by_label("Standing orders")).not_to_be_empty()
    await page.get_by_label("Name", exact=True).fill("Ines the careful")
    await page.get_by_label("Standing orders").fill("Count twice.")
    await page.get_by_label("Only these:").check()
    await page.get_by_label("Calculator").uncheck()
    await expect(page.get_by_text("Not saved yet")).to_be_visible()
    await look_over(page, "agent")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("heading", name="Ines the careful", level=2)).to_be_visible()
    await page.get_by_role("link", name="What does the model see?").click()
    await expect(page.get_by_text("Count twice.")).to_be_visible()
    await look_over(page, "sees")
    await page.get_by_role("link", name="Back to Ines the careful").click()
    await page.get_by_role("button", name="Archive").click()
    await expect(page.get_by_role("status").filter(has_text="Ines the careful is in the archive.")).to_be_visible()
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("heading", name="Ines the careful", level=2)).to_be_visible()


async def test_a_setting_is_saved_shown_and_reset(window: Window, founder: Account) -> None:
    page = (await window(founder, "/settings/agents")).page
    row = page.get_by_role("listitem").filter(has_text="RETINUE_AGENTS_PER_USER")
    field = row.get_by_role("spinbutton")
    before = await field.input_value()
    await field.fill("12")
    await row.get_by_role("button", name="Save").click()
    await expect(row.get_by_text("Saved", exact=True)).to_be_visible()
    await expect(field).to_have_value("12")
    await look_over(page, "setting-saved")
    await row.get_by_role("button", name="Reset").click()
    await expect(row.get_by_text("Default", exact=True)).to_be_visible()
    await expect(field).to_have_value(before)


async def test_what_cannot_be_loaded_says_so_and_can_be_tried_again(window: Window, founder: Account) -> None:
    page = (await window(founder, "/agents")).page

    async def refuse(route: Route) -> None:
        await route.fulfill(status=503, json={"error": "busy", "message": "The database does not answer; try again."})

    for pattern, (path, sign) in {
        "**/api/agents": ("/agents", "The agents could not be loaded."),
        "**/api/usage?*": ("/usage", "The usage could not be loaded."),
        "**/api/start": ("/start", "This page could not be loaded."),
    }.items():
        await page.route(pattern, refuse)
        await page.goto(path)
        await expect(page.get_by_role("alert").filter(has_text=sign)).to_be_visible()
        await page.unroute_all()
        await page.get_by_role("alert").filter(has_text=sign).get_by_role("button", name="Try again").click()
        await expect(page.get_by_role("alert").filter(has_text=sign)).to_have_count(0)


async def test_what_is_not_for_everyone(window: Window, account: Account) -> None:
    page = (await window(account, "/settings/agents")).page
    await expect(page.get_by_role("heading", name="You may not do this.")).to_be_visible()
    await page.goto("/start")
    await expect(
        page.get_by_text("An administrator connects models here.").or_(page.get_by_text("answers you"))
    ).to_be_visible()
    await page.goto("/agents/00000000-0000-7000-8000-000000000000")
    await expect(page.get_by_text("There is no such thing here.")).to_be_visible()
