"""Sees what must never happen in a window, whatever the test is about."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, ConsoleMessage, Dialog, Request, WebError


class Witness:
    """Complaints about dialogs (somebody's script ran), requests to other hosts, broken policies, uncaught errors."""

    def __init__(self, url: str) -> None:
        self._host = urlsplit(url).netloc
        self.complaints: list[str] = []

    async def watch(self, context: BrowserContext) -> None:
        context.on("dialog", self._dialog)
        context.on("request", self._request)
        context.on("console", self._console)
        context.on("weberror", self._error)

    async def _dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"a dialog: {dialog.message}")
        await dialog.dismiss()

    def _request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme in ("http", "https", "ws", "wss") and address.netloc != self._host:
            self.complaints.append(f"a request to another host: {request.url}")

    def _console(self, message: ConsoleMessage) -> None:
        # Chromium notes each refused request as an error, which it is not; a broken policy it reports here too.
        is_network = message.text.startswith("Failed to load resource")
        if "Content Security Policy" in message.text or (message.type == "error" and not is_network):
            self.complaints.append(f"the console says: {message.text}")

    def _error(self, error: WebError) -> None:
        self.complaints.append(f"an uncaught error: {error.error}")
