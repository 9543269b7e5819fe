"""The story: an account, a message, its answer watched, reloaded, stopped, kept; and the doors around it."""

from __future__ import annotations

import re

from playwright.async_api import expect

from tests.browser.account import PASSWORD, Account, new_name
from tests.browser.chat import THREAD_PATH, Chat
from tests.browser.conftest import EndSessions, Window

SLOW = "[[tokens=90 rate=30]]"
HALTED = "[[tokens=60 rate=60 hang=30]]"  # 30 words, then nothing until it is stopped


async def test_register_say_something_and_watch_the_answer_grow(window: Window) -> None:
    chat = await window()
    await expect(chat.page).to_have_url("/sign-in")
    await chat.page.get_by_role("button", name="No account yet? Create one").click()
    await chat.page.get_by_label("User name").fill(new_name())
    await chat.page.get_by_label("Password", exact=True).fill(PASSWORD)
    await chat.page.get_by_role("button", name="Create an account").click()
    await expect(chat.field).to_be_focused()

    await chat.say(f"Tell me something {SLOW}")
    await expect(chat.page).to_have_url(THREAD_PATH)
    early = await chat.wait_for_words(5)
    later = await chat.wait_for_words(40)
    assert later.startswith(early)
    assert len(later.split()) < 90
    await chat.wait_for_end()
    assert len((await chat.text()).split()) == 90


async def test_reload_in_mid_answer_shows_the_same_from_the_first_word_and_goes_on(
    chat: Chat, account: Account
) -> None:
    await chat.say(f"Something long {SLOW}")
    before = await chat.wait_for_words(20)
    await chat.page.reload()
    after = await chat.wait_for_words(len(before.split()) + 5)
    assert after.startswith(before)
    await chat.wait_for_end()
    assert await chat.text() == await account.stored_text(chat.thread)
    assert len((await chat.text()).split()) == 90
    await expect(chat.questions).to_have_count(1)


async def test_two_tabs_show_the_same_in_mid_answer(chat: Chat, account: Account) -> None:
    await chat.say(f"Something for two {SLOW}")
    first = await chat.wait_for_words(15)
    other = await chat.sibling()
    assert (await other.wait_for_words(20)).startswith(first)
    await expect(other.stop_button).to_be_visible()
    await chat.wait_for_end()
    await other.wait_for_end()
    assert await chat.text() == await other.text() == await account.stored_text(chat.thread)


async def test_another_tab_sees_what_begins_in_this_one(chat: Chat) -> None:
    await chat.ask("First [[tokens=3]]")
    other = await chat.sibling()
    await expect(other.prose).to_have_count(1)
    await chat.say(f"Second {SLOW}")
    await expect(other.questions).to_have_count(2)
    await other.wait_for_words(10)
    await chat.wait_for_end()
    await other.wait_for_end()
    assert await chat.text() == await other.text()


async def test_stop_with_the_button_keeps_what_was_said(chat: Chat, account: Account) -> None:
    await chat.say(f"Stop me {HALTED}")
    said = await chat.wait_for_words(30)
    await chat.stop_button.click()
    await expect(chat.foot).to_have_text("Stopped")
    await chat.page.reload()
    await expect(chat.foot).to_have_text("Stopped")
    assert await chat.text() == said == await account.stored_text(chat.thread)


async def test_stop_with_escape_and_in_another_tab(chat: Chat) -> None:
    await chat.say(f"Stop me {HALTED}")
    await chat.wait_for_words(30)
    other = await chat.sibling()
    await other.wait_for_words(30)
    await chat.page.keyboard.press("Escape")
    await expect(chat.foot).to_have_text("Stopped")
    await expect(other.foot).to_have_text("Stopped")
    assert await chat.text() == await other.text()
    await expect(chat.field).to_be_focused()


async def test_a_new_message_in_mid_answer_replaces_it(chat: Chat) -> None:
    await chat.say(f"Replace me {HALTED}")
    await chat.wait_for_words(30)
    await chat.say("The better question [[tokens=4]]")
    await expect(chat.answers).to_have_count(2)
    await chat.wait_for_end()
    assert len((await chat.text()).split()) == 4
    await expect(chat.log.get_by_text("Stopped", exact=True)).to_have_count(1)


async def test_deep_links_back_and_forward(chat: Chat, window: Window, account: Account) -> None:
    await chat.ask("The first thread [[tokens=3]]")
    first = chat.page.url
    await chat.page.get_by_role("button", name="New thread").click()
    await expect(chat.field).to_be_focused()
    await chat.ask("The second thread [[tokens=3]]")
    second = chat.page.url
    await chat.page.go_back()
    await chat.page.go_back()
    await expect(chat.page).to_have_url(first)
    await expect(chat.questions).to_contain_text("The first thread")
    await chat.page.go_forward()
    await chat.page.go_forward()
    await expect(chat.page).to_have_url(second)
    await expect(chat.questions).to_contain_text("The second thread")
    elsewhere = await window(account, path=first)
    await expect(elsewhere.questions).to_contain_text("The first thread")


async def test_a_strangers_thread_is_not_there(chat: Chat, window: Window, founder: Account) -> None:
    await chat.ask("Mine alone [[tokens=3]]")
    stranger = await window(founder, path=chat.page.url)
    await expect(stranger.page.get_by_text("There is no such thread here.")).to_be_visible()
    await stranger.page.get_by_role("button", name="Start a new thread").click()
    await expect(stranger.field).to_be_focused()


async def test_sign_out_and_in_leads_back(window: Window, account: Account) -> None:
    chat = await window(account)
    await chat.ask("Before I go [[tokens=3]]")
    path = chat.page.url
    other = await chat.sibling()
    await chat.page.get_by_role("button", name=f"Account: {account.username}").click()
    await chat.page.get_by_role("menuitem", name="Log out").click()
    await expect(chat.page.get_by_role("heading", name="Sign in")).to_be_visible()
    await expect(other.page.get_by_role("heading", name="Sign in")).to_be_visible()
    await other.page.close()
    await chat.open(path)
    await sign_in(chat, account.username, PASSWORD)
    await expect(chat.page).to_have_url(path)
    await expect(chat.questions).to_contain_text("Before I go")


async def test_a_session_that_ends_in_mid_use_leads_to_sign_in_and_back(
    chat: Chat, account: Account, end_sessions: EndSessions
) -> None:
    await chat.ask("Before it ends [[tokens=3]]")
    thread = chat.page.url
    await end_sessions(account.username)
    await chat.say("After it has ended [[tokens=3]]")
    await expect(chat.page.get_by_text("Your session has ended.")).to_be_visible()
    await sign_in(chat, account.username, PASSWORD)
    await expect(chat.page).to_have_url(thread)
    await expect(chat.field).to_have_value("After it has ended [[tokens=3]]")
    await chat.field.press("Enter")
    await expect(chat.answers).to_have_count(2)
    await chat.wait_for_end()


async def test_a_session_that_ends_in_mid_answer_does_not_break_the_answer(
    chat: Chat, account: Account, end_sessions: EndSessions
) -> None:
    await chat.say(f"Before it ends {SLOW}")
    await chat.wait_for_words(10)
    thread = chat.page.url
    await end_sessions(account.username)
    await chat.wait_for_words(60)
    await expect(chat.page.get_by_text("Your session has ended.")).to_be_visible()
    await sign_in(chat, account.username, PASSWORD)
    await expect(chat.page).to_have_url(thread)
    await chat.wait_for_end()
    assert len((await chat.text()).split()) == 90


async def test_wrong_password_taken_name_short_password(window: Window, account: Account) -> None:
    chat = await window(path="/sign-in")
    await sign_in(chat, account.username, "not the password")
    await expect(chat.alert).to_contain_text("password")
    await expect(chat.page.get_by_label("User name")).to_have_value(account.username)
    await chat.page.get_by_role("button", name="No account yet? Create one").click()
    await expect(chat.alert).to_have_count(0)
    await register(chat, account.username, PASSWORD)
    await expect(chat.alert).to_contain_text("taken")
    await register(chat, new_name(), "short")
    await expect(chat.alert).to_contain_text("at least 10 characters")
    await register(chat, new_name(), PASSWORD)
    await expect(chat.field).to_be_focused()


async def test_too_many_wrong_passwords_say_when_to_come_again(window: Window, account: Account) -> None:
    chat = await window(path="/sign-in")
    async with account.api() as api:
        for _ in range(10):
            wrong = {"username": account.username, "password": "not the password"}
            assert (await api.post("/api/auth/login", json=wrong)).status_code == 401
    await sign_in(chat, account.username, "not the password")
    await expect(chat.alert).to_contain_text(re.compile(r"[Tt]ry again in \d+ (s|min)"))


async def sign_in(chat: Chat, username: str, password: str) -> None:
    await chat.page.get_by_label("User name").fill(username)
    await chat.page.get_by_label("Password", exact=True).fill(password)
    await chat.page.get_by_role("button", name="Sign in", exact=True).click()


async def register(chat: Chat, username: str, password: str) -> None:
    await chat.page.get_by_label("User name").fill(username)
    await chat.page.get_by_label("Password", exact=True).fill(password)
    await chat.page.get_by_role("button", name="Create an account", exact=True).click()
