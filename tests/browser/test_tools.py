"""Tool calls are lines that open; a person sees what went in and what came out."""

from __future__ import annotations

from playwright.async_api import Locator, expect

from tests.browser.chat import Chat

SUM = """Calculate [[tool=calculator:{"expression": "6*7"}]] [[text="It is forty-two."]]"""


def lines(chat: Chat) -> Locator:
    return chat.answer.locator("details")


async def test_a_call_is_one_line_that_opens_to_input_and_output(chat: Chat) -> None:
    await chat.ask(SUM)
    await expect(lines(chat)).to_have_count(1)
    line = lines(chat).locator("summary")
    await expect(line).to_contain_text("Calculated: 6*7")
    await line.click()
    body = lines(chat).locator(".line-body")
    await expect(body).to_contain_text("Input")
    await expect(body).to_contain_text("6*7")
    await expect(body).to_contain_text("Output")
    await expect(body).to_contain_text("42")
    await line.click()
    await expect(body).to_be_hidden()
    await chat.page.reload()
    await expect(lines(chat).locator("summary")).to_contain_text("Calculated: 6*7")


async def test_an_open_line_stays_open_while_the_answer_goes_on(chat: Chat) -> None:
    await chat.say("""Calculate [[tool=calculator:{"expression": "6*7"}]] [[tokens=80 rate=25]]""")
    await lines(chat).locator("summary").click()
    await chat.wait_for_words(30)
    await expect(lines(chat).locator(".line-body")).to_be_visible()
    await chat.wait_for_end()
    await expect(lines(chat).locator(".line-body")).to_be_visible()


async def test_several_calls_in_a_row_fold_into_one_line(chat: Chat) -> None:
    calls = " ".join(f"""tool=calculator:{{"expression": "{number}+1"}}""" for number in range(4))
    await chat.ask(f"""Much [[{calls}]] [[text="Done."]]""")
    folded = chat.answer.locator("details").first
    await expect(folded.locator("summary").first).to_contain_text("4 tool calls")
    await expect(chat.answer.get_by_text("Calculated: 3+1")).to_be_hidden()
    await folded.locator("summary").first.click()
    await expect(chat.answer.get_by_text("Calculated: 3+1")).to_be_visible()


async def test_a_call_that_fails_says_so_and_what_happens_next(chat: Chat) -> None:
    await chat.ask("""Calculate [[tool=calculator:{"expression": "1/0"}]] [[text="It cannot be done."]]""")
    line = lines(chat).locator("summary")
    await expect(line).to_contain_text("Calculator did not work")
    await line.click()
    await expect(lines(chat)).to_contain_text("The agent was told and goes on from there.")
    await expect(chat.prose).to_have_text("It cannot be done.")


async def test_an_unknown_tool_and_broken_arguments_are_lines_too(chat: Chat) -> None:
    await chat.ask("""Odd [[tool=teleport:{"to": "moon"}]] [[text="There is no such tool."]]""")
    await expect(lines(chat).locator("summary")).to_contain_text("Teleport did not work")
    await chat.ask("""Broken [[tool=calculator:"{\\"expression\\": "]] [[text="I tried."]]""")
    await expect(lines(chat).locator("summary")).to_contain_text("Calculator did not work")
    await expect(chat.prose).to_have_text("I tried.")


async def test_reasoning_is_one_closed_line(chat: Chat) -> None:
    await chat.ask("Think [[tokens=5 reasoning=20]]")
    line = lines(chat).locator("summary")
    await expect(line).to_contain_text("Thought")
    await expect(lines(chat).locator(".reasoning-text")).to_be_hidden()
    await line.click()
    await expect(lines(chat).locator(".reasoning-text")).to_be_visible()
    await chat.page.reload()
    await expect(line).to_contain_text("Thought for")
