"""Much text at once: pasted, sent, shown; the page goes on taking what is typed."""

from __future__ import annotations

from playwright.async_api import expect

from tests.browser.chat import Chat
from tests.browser.test_large_answers import WATCH_STALLS
from tests.kit.model import ScriptedModel

LINES = 20_000
CALM_MS = 2500
"""Half a second is what Chromium itself takes to paste so much; five times as long where others compute, too."""

TO_CLIPBOARD = r"""async lines => {
    const text = Array.from({ length: lines }, (_, n) => `line ${n} of many`).join('\n');
    await navigator.clipboard.writeText(text);
    return text.length;
}"""


async def test_twenty_thousand_pasted_lines_do_not_freeze_the_page(chat: Chat) -> None:
    await chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    pasted = await chat.page.evaluate(TO_CLIPBOARD, LINES)
    await chat.page.evaluate(WATCH_STALLS)
    await chat.field.press("Control+v")
    await expect(chat.send_button).to_be_enabled()
    await chat.field.press_sequentially(" [[tokens=5]]", delay=20)
    assert await chat.field.evaluate("field => field.value.length") == pasted + len(" [[tokens=5]]")
    typed = await chat.page.evaluate("window.longestStall")
    await chat.field.press("Enter")
    await expect(chat.answers).to_have_count(1)
    await chat.wait_for_end()
    await chat.page.get_by_role("button", name="Show all").click()
    await expect(chat.questions.last).to_contain_text("line 19999 of many")
    longest = await chat.page.evaluate("window.longestStall")
    print(f"\nlongest stall: {typed:.0f} ms while typing, {longest:.0f} ms in all")
    assert longest < CALM_MS


async def test_a_paragraph_of_a_million_characters_does_not_stall_the_page(chat: Chat, model: ScriptedModel) -> None:
    text = "some words without any end " * 37_500
    model.script({"rules": [{"user": "one paragraph", "replies": [{"text": text, "rate": 0}]}]})
    await chat.page.evaluate(WATCH_STALLS)
    await chat.ask("one paragraph")
    model.unscript()
    came = await chat.page.evaluate("window.longestStall")
    await chat.page.add_init_script(f"({WATCH_STALLS})()")
    await chat.page.reload()
    await expect(chat.prose).to_be_visible()
    await chat.page.locator(".scroller").evaluate("box => { box.scrollTop = box.scrollHeight / 2 }")
    assert len(await chat.prose.text_content() or "") >= 1_000_000
    shown = await chat.page.evaluate("window.longestStall")
    print(f"\nlongest stall: {came:.0f} ms while it came, {shown:.0f} ms when it was read again")
    assert max(came, shown) < CALM_MS
