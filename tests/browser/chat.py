"""The page as a person sees it: where one types, what one reads."""

from __future__ import annotations

import re

from playwright.async_api import Locator, Page, expect

# What the page says, in one place: a change of words is a change of one line here.
FIELD = "Message"
SEND = "Send"
STOP = "Stop"
THREAD_PATH = re.compile(r"/t/([0-9a-f-]+)$")


class Chat:
    """A window of Retinue's page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.forgiven: list[str] = []
        """Complaints of the witness that this test has asked for."""

    async def open(self, path: str = "/") -> None:
        await self.page.goto(path)

    async def sibling(self, path: str | None = None) -> Chat:
        """Another tab of the same browser."""
        chat = Chat(await self.page.context.new_page())
        await chat.open(path or self.page.url)
        return chat

    # --- what is there ---

    @property
    def field(self) -> Locator:
        return self.page.get_by_role("textbox", name=FIELD, exact=True)

    @property
    def send_button(self) -> Locator:
        return self.page.get_by_role("button", name=SEND, exact=True)

    @property
    def stop_button(self) -> Locator:
        return self.page.get_by_role("button", name=STOP, exact=True)

    @property
    def questions(self) -> Locator:
        return self.page.get_by_role("article", name="You", exact=True)

    @property
    def answers(self) -> Locator:
        return self.page.get_by_role("article", name="Agent", exact=True)

    @property
    def answer(self) -> Locator:
        """The newest one."""
        return self.answers.last

    @property
    def prose(self) -> Locator:
        return self.answer.locator(".prose")

    @property
    def log(self) -> Locator:
        return self.page.get_by_role("log")

    @property
    def foot(self) -> Locator:
        """What the turn is doing, or how it ended."""
        return self.log.locator(".foot")

    @property
    def alert(self) -> Locator:
        return self.page.get_by_role("alert")

    @property
    def thread(self) -> str:
        """The id in the address."""
        found = THREAD_PATH.search(self.page.url)
        assert found, self.page.url
        return found[1]

    # --- what one does ---

    async def say(self, text: str) -> None:
        await self.field.fill(text)
        await self.field.press("Enter")

    async def ask(self, text: str) -> str:
        """Say it and wait until the answer is there; its text."""
        before = await self.answers.count()
        await self.say(text)
        await expect(self.answers).to_have_count(before + 1)
        await self.wait_for_end()
        return await self.text()

    # --- what one waits for ---

    async def text(self) -> str:
        """The newest answer's text, with single spaces."""
        return " ".join(" ".join(await self.prose.all_inner_texts()).split())

    async def wait_for_words(self, count: int) -> str:
        """Until the newest answer has so many words."""
        await self.page.wait_for_function(
            """count => {
                const answers = document.querySelectorAll('article[aria-label="Agent"]');
                const prose = answers.item(answers.length - 1)?.querySelectorAll('.prose') ?? [];
                return [...prose].map(one => one.innerText).join(' ').split(/\\s+/).filter(Boolean).length >= count;
            }""",
            arg=count,
        )
        return await self.text()

    async def wait_for_end(self) -> None:
        """Until nothing runs any more, and the newest message is an answer."""
        await expect(self.page).to_have_url(THREAD_PATH)
        await expect(self.answer).to_have_attribute("aria-busy", "false")
        await expect(self.stop_button).to_have_count(0)
