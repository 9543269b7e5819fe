"""What the stories of this folder have in common: a person with an account and a thread, and what a browser builds."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from contracts.ids import uuid7
from contracts.reducer import Reducer
from tests.kit.runner import chunks_of
from tests.kit.town import Town


async def registered(town: Town) -> UUID:
    """Signs the town's browser in as somebody new."""
    account = {"username": f"ada-{uuid7().hex[-12:]}", "password": "correct horse battery"}
    answer = await town.browser.post("/api/auth/register", json=account)
    assert answer.status_code == 201, answer.text
    return UUID(answer.json()["user"]["id"])


async def thread_of(town: Town) -> str:
    return (await town.browser.post("/api/threads", json={})).json()["id"]


def message_of(body: bytes) -> dict[str, Any]:
    """The message that a browser builds of a stream."""
    reducer = Reducer()
    for chunk in chunks_of(body):
        if chunk["type"] not in ("abort", "error"):
            reducer.apply(chunk)
    return reducer.message
