"""What goes wrong is said in words, with what to do; nothing that was written is lost."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.browser.account import Account
from tests.browser.chat import Chat
from tests.kit.model import ScriptedModel

CODES = re.compile(r"\b(Error|exception|traceback|undefined|null|[a-z]+_[a-z_]+)\b|(?<!\()\b[45]\d\d\b")
"""What no person should have to read; a number in brackets behind the words is for whoever runs the provider."""


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("status=401", "refused the key"),
        ("status=429", "slow down"),
        ("status=500", "not able to answer"),
        ("html", "a web page"),
        ("cut=5 tokens=20", "answer"),
        ("garbage=5 tokens=20", "not a chat completion"),
        ("status=404", "does not know this model"),
    ],
)
async def test_a_fault_of_the_provider_is_said_in_words_and_trying_again_works(
    chat: Chat, model: ScriptedModel, fault: str, words: str
) -> None:
    # The third attempt of a person succeeds; the runner's own retries meet the fault each time.
    rule = {"user": "please fail", "replies": [as_reply(fault)]}
    model.script({"rules": [rule]})
    await chat.say("please fail")
    await expect(chat.alert).to_contain_text(re.compile(words, re.IGNORECASE))
    said = await chat.alert.inner_text()
    assert not CODES.search(said), said
    model.unscript()
    await chat.alert.get_by_role("button", name="Send again").click()
    await expect(chat.answers).to_have_count(2)
    await chat.wait_for_end()
    assert await chat.text() == "You said: please fail"


def as_reply(fault: str) -> dict[str, object]:
    pairs = (field.partition("=") for field in fault.split())
    return {name: int(value) if value else True for name, _, value in pairs}


async def test_a_failure_is_still_said_after_a_reload(chat: Chat) -> None:
    await chat.say("[[status=401]]")
    said = await chat.alert.inner_text()
    await chat.page.reload()
    await expect(chat.alert).to_have_text(said, use_inner_text=True)


async def test_an_answer_that_failed_names_the_id_that_the_logs_have(chat: Chat, account: Account) -> None:
    await chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await chat.say("[[status=401]]")
    report = chat.log.get_by_text("To report this, name the id")
    await expect(report).to_be_visible()
    turn = (await account.messages(chat.thread))[-1]["metadata"]["retinue"]["turn"]
    await expect(report).to_contain_text(turn)
    await report.get_by_role("button", name="Copy").click()
    await expect(report.get_by_role("button", name="Copied")).to_be_visible()
    assert await chat.page.evaluate("navigator.clipboard.readText()") == turn
    await chat.ask("Go on [[tokens=3]]")
    await expect(report).to_contain_text(turn)


async def test_a_message_that_is_not_taken_comes_back(chat: Chat) -> None:
    await chat.ask("First [[tokens=3]]")
    refusal = {"error": "no_room", "message": "There is no room for it."}
    await chat.page.route("**/turn", lambda route: route.fulfill(status=422, json=refusal))
    await chat.say("Take this")
    await expect(chat.alert).to_have_text("Not sent. There is no room for it. Your text is back in the field.")
    await expect(chat.field).to_have_value("Take this")
    await expect(chat.field).to_be_focused()
    await expect(chat.questions).to_have_count(1)
    await chat.page.unroute("**/turn")
    await chat.field.press("Enter")
    await expect(chat.answers).to_have_count(2)
    await chat.wait_for_end()
    assert await chat.text() == "You said: Take this"
    await expect(chat.alert).to_have_count(0)


async def test_what_was_typed_since_stays_below_what_comes_back(chat: Chat) -> None:
    await chat.ask("First [[tokens=3]]")
    await chat.page.route("**/turn", lambda route: route.fulfill(status=503, headers={"retry-after": "1"}))
    await chat.page.context.set_offline(True)
    await chat.say("Sent into nothing")
    await chat.field.fill("Typed meanwhile")
    await chat.page.unroute("**/turn")
    refusal = {"error": "no_room", "message": "There is no room for it."}
    await chat.page.route("**/turn", lambda route: route.fulfill(status=422, json=refusal))
    await chat.page.context.set_offline(False)
    await expect(chat.field).to_have_value("Sent into nothing\n\nTyped meanwhile")


async def test_a_message_of_a_megabyte_is_refused_in_words_and_kept(chat: Chat) -> None:
    await chat.ask("First [[tokens=3]]")
    text = "a" * 1_000_000
    await chat.field.fill(text)
    await chat.field.press("Enter")
    await expect(chat.alert).to_contain_text("The message is larger than")
    await expect(chat.field).to_have_value(text)
    await expect(chat.questions).to_have_count(1)


async def test_the_longest_message_arrives_whole(chat: Chat, account: Account) -> None:
    await chat.say("ü" * 199_900 + "[[tokens=3]]")
    await chat.wait_for_end()
    messages = await account.messages(chat.thread)
    assert len(messages[0]["parts"][0]["text"]) > 199_900


@pytest.mark.parametrize("nothing", ["", "   ", "\n\n\t "])
async def test_an_empty_message_cannot_be_sent(chat: Chat, nothing: str) -> None:
    await chat.field.fill(nothing)
    await expect(chat.send_button).to_be_disabled()
    await chat.field.press("Enter")
    await expect(chat.page).to_have_url(re.compile(r"/$"))
    await expect(chat.page.get_by_role("heading", name="What shall we do?")).to_be_visible()


async def test_a_draft_survives_a_reload_and_a_stay_elsewhere(chat: Chat) -> None:
    await chat.ask("First [[tokens=3]]")
    await chat.field.fill("Half a thought")
    await chat.page.reload()
    await expect(chat.field).to_have_value("Half a thought")
    await chat.page.get_by_role("button", name="New thread").click()
    await expect(chat.field).to_have_value("")
    await chat.page.go_back()
    await expect(chat.field).to_have_value("Half a thought")


async def test_a_thread_that_does_not_exist(chat: Chat) -> None:
    for path in ("/t/00000000-0000-7000-8000-000000000000", "/t/nonsense"):
        await chat.open(path)
        await expect(chat.page.get_by_text("There is no such thread here.")).to_be_visible()
        await expect(chat.page.get_by_role("button", name="Start a new thread")).to_be_visible()


async def test_an_address_that_does_not_exist(chat: Chat) -> None:
    for path in ("/nowhere", "/t/%ff"):
        await chat.open(path)
        await expect(chat.page.get_by_text("There is no such thing here.")).to_be_visible()


async def test_a_thread_that_cannot_be_loaded_says_so_and_loads_again(chat: Chat) -> None:
    await chat.ask("First [[tokens=3]]")
    broken = {"error": "internal", "message": "That did not work."}
    headers = {"x-request-id": "req-42"}
    await chat.page.route("**/messages*", lambda route: route.fulfill(status=500, json=broken, headers=headers))
    await chat.page.reload()
    await expect(chat.alert).to_contain_text("This thread could not be loaded.")
    await expect(chat.alert).to_contain_text("req-42")
    await chat.page.unroute("**/messages*")
    await chat.page.get_by_role("button", name="Try again").click()
    await expect(chat.questions).to_have_count(1)
