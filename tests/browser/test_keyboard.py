"""The whole story without a mouse: every step by keys, always with a focus that can be seen; and what is read aloud."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.browser.account import PASSWORD, Account, new_name
from tests.browser.chat import Chat
from tests.browser.conftest import Window
from tests.kit.model import ScriptedModel

FOCUS = """() => {
    const one = document.activeElement;
    const ring = element => {
        const style = getComputedStyle(element);
        return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
    };
    const text = one.getAttribute('aria-label') || one.labels?.[0]?.innerText || one.innerText;
    const name = text.trim().replace(/\\s+/g, ' ');
    const field = one.closest('.composer') ?? one;
    return { name, seen: ring(one) || ring(field), isOutside: one === document.body };
}"""


async def tab(page: Page, key: str = "Tab") -> str:
    """Goes on to the next thing; its name. The focus must be seen there."""
    await page.keyboard.press(key)
    focus = await page.evaluate(FOCUS)
    if focus["isOutside"]:  # the browser's own bar, from where it goes on at the other end
        return await tab(page, key)
    assert focus["seen"], f"the focus on “{focus['name']}” cannot be seen"
    return focus["name"]


async def tab_to(page: Page, name: str, key: str = "Tab") -> None:
    passed: list[str] = []
    while len(passed) < 40:
        passed.append(await tab(page, key))
        if passed[-1] == name:
            return
    raise AssertionError(f"“{name}” cannot be reached: {passed}")


async def test_the_story_by_keys_alone(window: Window) -> None:
    chat = await window()
    keys = chat.page.keyboard
    await expect(chat.page.get_by_label("User name")).to_be_focused()
    await tab_to(chat.page, "No account yet? Create one")
    await keys.press("Enter")
    await expect(chat.page.get_by_label("User name")).to_be_focused()
    await keys.type(new_name())
    assert await tab(chat.page) == "Password"
    await keys.type(PASSWORD)
    await keys.press("Enter")

    await expect(chat.field).to_be_focused()
    await keys.type("A first line")
    await keys.press("Shift+Enter")
    await keys.type("and a second [[tokens=60 rate=60 hang=30]]")
    await keys.press("Enter")
    await expect(chat.questions).to_contain_text("A first line\nand a second", use_inner_text=True)
    await expect(chat.field).to_be_focused()
    await expect(chat.field).to_have_value("")
    await chat.wait_for_words(30)
    await keys.press("Escape")
    await expect(chat.foot).to_have_text("Stopped")
    await expect(chat.field).to_be_focused()

    await keys.press("Control+Shift+O")
    await expect(chat.page.get_by_role("heading", name="What shall we do?")).to_be_visible()
    await expect(chat.field).to_be_focused()
    await keys.type("""Add [[tool=calculator:{"expression": "6*7"}]] [[text="It is forty-two."]]""")
    await keys.press("Enter")
    await chat.wait_for_end()
    line = chat.answer.locator("summary")
    await tab_to(chat.page, " ".join((await line.inner_text()).split()), "Shift+Tab")
    await keys.press("Enter")
    await expect(chat.answer.locator(".line-body")).to_be_visible()

    await keys.press("Control+B")
    await expect(chat.page.get_by_role("navigation", name="Threads")).to_have_count(0)
    await keys.press("Control+B")
    await expect(chat.page.get_by_role("navigation", name="Threads")).to_be_visible()
    await keys.press("?")
    await expect(chat.page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert await tab(chat.page) == "Close"
    await keys.press("Escape")
    await expect(chat.page.get_by_role("dialog")).to_have_count(0)
    await expect(line).to_be_focused()


async def test_a_question_mark_in_a_text_is_a_question_mark(chat: Chat) -> None:
    await expect(chat.field).to_be_focused()
    await chat.page.keyboard.type("Really?")
    await expect(chat.field).to_have_value("Really?")
    await expect(chat.page.get_by_role("dialog")).to_have_count(0)


async def test_the_order_is_column_conversation_composer(chat: Chat, account: Account) -> None:
    await chat.ask("Only one [[tokens=3]]")
    await chat.page.reload()
    await expect(chat.prose).to_be_visible()
    await expect(chat.page.get_by_role("link", name="Only one")).to_be_visible()
    await tab_to(chat.page, "Model")
    order = [await tab(chat.page) for _ in range(17)]
    assert order == [
        "New thread",
        "Hide threads",
        "Search",
        "Assistant",
        "All agents",
        "Only one [[tokens=3]]",
        "Actions for Only one [[tokens=3]]",
        "Archive",
        f"Account: {account.username}",
        "Show the workbench",
        "Conversation",
        "Copy",
        "More actions",
        "Copy",
        "More actions",
        "Message",
        "Model",
    ]


async def test_threads_by_keys_rename_delete_undo(chat: Chat) -> None:
    await chat.ask("A thread of mine [[tokens=3]]")
    keys = chat.page.keyboard
    await tab_to(chat.page, "Actions for A thread of mine [[tokens=3]]", "Shift+Tab")
    await keys.press("Enter")
    await expect(chat.page.get_by_role("menuitem", name="Rename")).to_be_focused()
    await keys.press("ArrowDown")
    await expect(chat.page.get_by_role("menuitem", name="Archive")).to_be_focused()
    await keys.press("ArrowDown")
    await expect(chat.page.get_by_role("menuitem", name="Delete")).to_be_focused()
    await keys.press("Escape")
    await expect(chat.page.get_by_role("menu")).to_have_count(0)
    await expect(chat.page.get_by_role("button", name="Actions for A thread of mine")).to_be_focused()

    await keys.press("Enter")
    await keys.press("Enter")
    await expect(chat.page.get_by_role("textbox", name="Name of the thread")).to_be_focused()
    await keys.type("Renamed")
    await keys.press("Enter")
    await expect(chat.page.get_by_role("heading", level=1)).to_have_text("Renamed")
    await expect(chat.page.get_by_role("button", name="Actions for Renamed")).to_be_focused()

    await keys.press("Enter")
    await keys.press("ArrowUp")
    await keys.press("Enter")
    await expect(chat.page.get_by_role("link", name="Renamed")).to_have_count(0)
    await expect(chat.page.get_by_role("status").filter(has_text="“Renamed” is deleted.")).to_be_visible()
    await tab_to(chat.page, "Undo")
    await keys.press("Enter")
    await expect(chat.page.get_by_role("link", name="Renamed")).to_be_visible()


async def test_escape_closes_the_dialog_and_stops_nothing(chat: Chat) -> None:
    await chat.say("Go on [[tokens=60 rate=60 hang=30]]")
    await chat.wait_for_words(30)
    await chat.page.evaluate("document.activeElement.blur()")
    await chat.page.keyboard.press("?")
    await expect(chat.page.get_by_role("dialog")).to_be_visible()
    await chat.page.keyboard.press("Escape")
    await expect(chat.page.get_by_role("dialog")).to_have_count(0)
    await expect(chat.stop_button).to_be_enabled()
    await expect(chat.answer).to_have_attribute("aria-busy", "true")
    await chat.page.keyboard.press("Escape")
    await expect(chat.foot).to_have_text("Stopped")


SPOKEN = "This is the **first** sentence. Here comes the second one! Is there a third? Yes, and it ends"

LISTEN = """() => {
    window.heard = [];
    const box = document.querySelector('.visually-hidden[aria-live=polite]');
    const note = () => { if (box.textContent) window.heard.push(box.textContent); };
    new MutationObserver(note).observe(box, { childList: true, characterData: true, subtree: true });
}"""


async def test_an_answer_is_announced_by_sentence(chat: Chat, model: ScriptedModel) -> None:
    await chat.ask("Before [[tokens=3]]")
    model.script({"rules": [{"user": "speak up", "replies": [{"text": SPOKEN, "rate": 12}]}]})
    await expect(chat.page.locator(".visually-hidden[aria-live=polite]")).to_have_count(1)
    await chat.page.evaluate(LISTEN)
    await chat.ask("speak up")
    model.unscript()
    heard = await chat.page.evaluate("window.heard")
    expected = ["This is the first sentence.", "Here comes the second one!", "Is there a third?", "Yes, and it ends"]
    assert " ".join(heard) == " ".join(expected)
    assert len(heard) >= 3
    assert all(piece[-1] in ".!?" for piece in heard[:-1])


async def test_what_was_there_before_is_not_announced(chat: Chat) -> None:
    await chat.ask("Before [[tokens=30]]")
    await chat.page.reload()
    await expect(chat.prose).to_be_visible()
    await expect(chat.page.locator(".visually-hidden[aria-live=polite]")).to_be_empty()
