"""Makes the README's picture, docs/images/chat.png: a conversation with the stand-in of a fresh installation.

`python -m tests.browser.readme_image`
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from playwright.async_api import async_playwright, expect

from tests.browser import chromium
from tests.browser.account import Account, made_account
from tests.kit.stack import data_folder, start_stack

IMAGE = Path(__file__).parents[2] / "docs/images/chat.png"
SIZE = {"width": 1240, "height": 840}
OTHER_THREADS = ("Reading list for the winter", "Invoice for the printer", "Plan the vegetable garden")


async def main(url: str) -> None:
    account = await made_account(url, "ada")
    await name_threads(account, await hire(account))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium.path_or_skip(), args=chromium.ARGUMENTS)
        chat, _ = await chromium.open_window(browser, url, account, viewport=SIZE, device_scale_factor=1.5)
        await chat.open()
        await chat.ask("How do I connect a real model?")
        await chat.ask("Thanks. And what is 12 * 34?")
        await expect(chat.page.locator(".hljs-built_in, .hljs-keyword").first).to_be_visible()
        await chat.page.mouse.move(*SIZE.values())
        await chat.page.screenshot(path=IMAGE, animations="disabled", caret="hide")
        await browser.close()


async def hire(account: Account) -> list[str]:
    """Two of the starters; their ids."""
    async with account.api() as api:
        starters = (await api.get("/api/agents/starters")).raise_for_status().json()["items"]
        wishes = [{name: value for name, value in starter.items() if name != "key"} for starter in starters[:2]]
        return [(await api.post("/api/agents", json=wish)).raise_for_status().json()["id"] for wish in wishes]


async def name_threads(account: Account, agents: list[str]) -> None:
    """Threads of each of them in turn."""
    async with account.api() as api:
        for number, title in enumerate(OTHER_THREADS):
            wish = {"title": title, "agent_id": agents[number % len(agents)]}
            (await api.post("/api/threads", json=wish)).raise_for_status()


if __name__ == "__main__":
    with data_folder() as data_dir:
        stack = start_stack(data_dir)
        try:
            asyncio.run(main(stack.url))
        finally:
            stack.stop()
