"""Debian's Chromium, and a window of it with somebody signed in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.browser.account import Account
from tests.browser.chat import Chat
from tests.browser.witness import Witness

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PATHS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
BUILT_PAGE = Path(__file__).parents[2] / "services/web/dist/index.html"
WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
DEADLINE_MS = 30_000
expect.set_options(timeout=DEADLINE_MS)


def path_or_skip() -> str:
    """Where Chromium is; RETINUE_TEST_CHROMIUM names another one."""
    for path in (os.environ.get("RETINUE_TEST_CHROMIUM"), *PATHS):
        if path and os.access(path, os.X_OK):
            return path
    pytest.skip("there is no Chromium (apt-get install chromium, or name one with RETINUE_TEST_CHROMIUM)")


def page_or_skip() -> None:
    if not BUILT_PAGE.is_file() and not os.environ.get("RETINUE_WEB_DIST"):
        pytest.skip("the web page is not built: make setup")


async def open_window(
    browser: Browser, url: str, account: Account | None = None, *, phone: bool = False, **options: Any
) -> tuple[Chat, Witness]:
    """A window of its own, as a wide one or a phone's, with nothing in it yet."""
    kind: dict[str, Any] = {"viewport": WIDE}
    if phone:
        kind = {"viewport": PHONE, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
    # Requests that a service worker could see are not seen by `page.route`; one test asks for it.
    kind["service_workers"] = "block"
    context = await browser.new_context(base_url=url, **(kind | options))
    context.set_default_timeout(DEADLINE_MS)
    if account is not None:
        await context.add_cookies([{"name": name, "value": value, "url": url} for name, value in account.cookies])
    witness = Witness(url)
    await witness.watch(context)
    return Chat(await context.new_page()), witness
