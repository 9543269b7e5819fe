"""Connections, servers and networks go away in mid-answer: the page says so, goes on, and ends with what is kept."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest
from playwright.async_api import expect

from tests.browser.account import Account
from tests.browser.chat import Chat
from tests.kit.stack import Stack
from tests.kit.waiting import eventually

WORDS = 110
LONG = f"Something long [[tokens={WORDS} rate=25]]"


async def ends_as_kept(chat: Chat, account: Account, words: int = WORDS) -> None:
    await chat.wait_for_end()
    assert await chat.text() == await account.stored_text(chat.thread)
    assert len((await chat.text()).split()) == words


async def test_the_gateway_is_killed_in_mid_answer(chat: Chat, account: Account, stack: Stack) -> None:
    await chat.say(LONG)
    before = await chat.wait_for_words(15)
    gateway = await asyncio.to_thread(stack.process_of, "gateway-1")
    os.kill(gateway["pid"], signal.SIGKILL)
    await expect(chat.foot).to_contain_text("Reconnecting")
    assert (await chat.text()).startswith(before), "what was there stays on the page"
    await ends_as_kept(chat, account)
    await asyncio.to_thread(eventually, lambda: stack.process_of("gateway-1")["ready"], 20, "the gateway is back")


@pytest.mark.timeout(300)
async def test_all_services_are_restarted_in_mid_answer(chat: Chat, account: Account, stack: Stack) -> None:
    words = 800
    await chat.say(f"Something very long [[tokens={words} rate=20]]")
    before = await chat.wait_for_words(15)
    (gateway,) = await asyncio.to_thread(stack.restart, "gateway-1")
    assert gateway["pid"] != gateway["was"]
    await expect(chat.answer).to_have_attribute("aria-busy", "true")
    assert (await chat.text()).startswith(before), "what was there stays on the page"
    await asyncio.to_thread(stack.restart, "turn-runner-1", "turn-runner-2")
    await ends_as_kept(chat, account, words)
    await expect(chat.alert).to_have_count(0)
    assert all(row["ready"] for row in await asyncio.to_thread(stack.ps))


async def test_a_message_sent_while_the_gateway_is_away_arrives_once(
    chat: Chat, account: Account, stack: Stack
) -> None:
    await chat.ask("First [[tokens=3]]")
    gateway = await asyncio.to_thread(stack.process_of, "gateway-1")
    os.kill(gateway["pid"], signal.SIGKILL)
    await chat.say("Into the gap [[tokens=5]]")
    await expect(chat.answers).to_have_count(2)
    await chat.wait_for_end()
    assert [message["role"] for message in await account.messages(chat.thread)] == ["user", "assistant"] * 2
    await asyncio.to_thread(eventually, lambda: stack.process_of("gateway-1")["ready"], 20, "the gateway is back")


@pytest.mark.parametrize("server", ["nats", "postgres"])
async def test_a_server_is_away_in_mid_answer(chat: Chat, account: Account, stack: Stack, server: str) -> None:
    await chat.say(LONG)
    before = await chat.wait_for_words(15)
    await asyncio.to_thread(stack.hold, server, 3)
    assert (await chat.text()).startswith(before)
    await ends_as_kept(chat, account)


async def test_offline_and_back(chat: Chat, account: Account) -> None:
    await chat.say(LONG)
    before = await chat.wait_for_words(15)
    await chat.page.context.set_offline(True)
    await expect(chat.foot).to_contain_text("Offline")
    assert (await chat.text()).startswith(before)
    await chat.page.context.set_offline(False)
    await ends_as_kept(chat, account)


async def test_what_is_sent_offline_is_sent_when_the_network_is_back(chat: Chat, account: Account) -> None:
    await chat.ask("First [[tokens=3]]")
    await chat.page.context.set_offline(True)
    await chat.say("Out there [[tokens=5]]")
    await expect(chat.foot).to_contain_text("Offline")
    await chat.page.context.set_offline(False)
    await expect(chat.answers).to_have_count(2)
    await chat.wait_for_end()
    assert [message["role"] for message in await account.messages(chat.thread)] == ["user", "assistant"] * 2


async def test_an_answer_that_breaks_and_begins_again_shows_only_what_counts(chat: Chat, account: Account) -> None:
    await chat.ask("First [[tokens=3]]")
    await chat.page.evaluate("window.notReloaded = true")
    await chat.say(f"Break once [[tokens={WORDS} rate=50 reset=40 times=1]]")
    await chat.wait_for_words(30)
    await ends_as_kept(chat, account)
    assert await chat.page.evaluate("window.notReloaded")
