"""The run inspector beside the thread, the choice of the model, and what can be done with a message."""

from __future__ import annotations

from playwright.async_api import Locator, Route, expect

from tests.browser.account import Account
from tests.browser.chat import Chat
from tests.browser.conftest import Window
from tests.browser.looks import look_over

SUM = """Calculate [[tool=calculator:{"expression": "6*7"}]] [[text="It is **forty-two**, or $6 \\\\cdot 7$."]]"""


def bench(chat: Chat) -> Locator:
    return chat.page.get_by_role("region", name="Workbench")


async def test_the_inspector_tells_how_a_run_went_and_what_the_model_saw(chat: Chat) -> None:
    await chat.ask(SUM)
    await chat.page.keyboard.press("Control+j")
    await expect(bench(chat)).to_be_focused()
    await expect(bench(chat)).to_contain_text("Finished")
    await expect(bench(chat)).to_contain_text("openai/scripted")
    await expect(bench(chat).get_by_role("heading", name="Step 2")).to_be_visible()
    await expect(bench(chat).get_by_role("listitem").filter(has_text="Calculator")).to_contain_text("done")
    await bench(chat).get_by_text("What the model saw").click()
    await expect(bench(chat).get_by_role("heading", name="Instructions")).to_be_visible()
    await look_over(chat.page, "workbench")
    edge = bench(chat).get_by_role("separator")
    before = await bench(chat).bounding_box()
    await edge.press("ArrowLeft")
    after = await bench(chat).bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"]
    await chat.page.reload()
    again = await bench(chat).bounding_box()
    assert again is not None
    assert abs(again["width"] - after["width"]) < 2
    await chat.page.keyboard.press("Control+j")
    await expect(bench(chat)).to_have_count(0)


async def test_on_a_phone_the_workbench_slides_over(window: Window, account: Account) -> None:
    chat = await window(account, phone=True)
    await chat.ask(SUM)
    await chat.answer.get_by_role("button", name="More actions").tap()
    await chat.page.get_by_role("menuitem", name="Inspect the run").tap()
    await expect(bench(chat)).to_contain_text("Finished")
    await look_over(chat.page, "workbench")
    assert await chat.field.evaluate("field => field.closest('[inert]') !== null")  # out of reach below it
    await chat.page.keyboard.press("Escape")
    await expect(bench(chat)).to_have_count(0)
    assert await chat.field.evaluate("field => field.closest('[inert]') === null")
    await look_over(chat.page, "answered")


async def test_an_answer_is_copied_as_it_looks_and_as_markdown(chat: Chat) -> None:
    await chat.ask(SUM)
    await expect(chat.prose.locator(".katex math")).to_be_attached()
    await chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await chat.answer.hover()
    await chat.answer.get_by_role("button", name="Copy", exact=True).click()
    await expect(chat.answer.get_by_role("status")).to_have_text("Copied")
    assert await chat.page.evaluate("navigator.clipboard.readText()") == "It is forty-two, or $6 \\cdot 7$."
    await chat.answer.get_by_role("button", name="More actions").click()
    await chat.page.get_by_role("menuitem", name="Copy as Markdown").click()
    await expect(chat.answer.get_by_role("status")).to_have_text("Copied")
    assert await chat.page.evaluate("navigator.clipboard.readText()") == "It is **forty-two**, or $6 \\cdot 7$."


async def test_a_failure_goes_with_the_text_that_failed(chat: Chat) -> None:
    await chat.ask("First [[tokens=3]]")

    async def refuse(route: Route) -> None:
        await route.fulfill(status=422, json={"error": "no_room", "message": "There is no room for it."})

    await chat.page.route("**/turn", refuse)
    await chat.say("This one is not taken")
    await expect(chat.alert).to_contain_text("Not sent.")
    await expect(chat.page.locator(".visually-hidden[aria-live=polite]")).to_be_empty()
    await chat.field.fill("")
    await expect(chat.alert).to_have_count(0)


async def test_a_thread_keeps_the_model_that_was_chosen_for_it(chat: Chat, account: Account) -> None:
    await chat.ask("First [[tokens=3]]")
    model = chat.page.get_by_role("combobox", name="Model")
    await expect(model).to_be_visible()
    options = await model.locator("option").evaluate_all("options => options.map(option => option.value)")
    chosen = options[-1]
    async with chat.page.expect_response(lambda answer: answer.request.method == "PATCH"):
        await model.select_option(chosen)
    await chat.page.reload()
    await expect(model).to_have_value(chosen)
    async with account.api() as api:
        assert (await api.get(f"/api/threads/{chat.thread}")).json()["model"] == (chosen or None)
