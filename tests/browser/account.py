"""Accounts, made through the API where a test is not about making them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

import httpx

PASSWORD = "correct horse battery"


@dataclass(frozen=True)
class Account:
    """Somebody with a session; `cookies` open it."""

    url: str
    username: str
    cookies: tuple[tuple[str, str], ...]

    def api(self) -> httpx.AsyncClient:
        """The same person's other program, to see what the server keeps."""
        return httpx.AsyncClient(
            base_url=self.url, cookies=dict(self.cookies), headers={"origin": self.url}, timeout=20, trust_env=False
        )

    async def messages(self, thread: str) -> list[dict[str, Any]]:
        async with self.api() as api:
            answer = await api.get(f"/api/threads/{thread}/messages")
            return answer.raise_for_status().json()["items"]

    async def stored_text(self, thread: str) -> str:
        """The text of the newest answer, as it is kept."""
        last = (await self.messages(thread))[-1]
        assert last["role"] == "assistant", last
        return "".join(part["text"] for part in last["parts"] if part["type"] == "text")


def new_name() -> str:
    return f"person-{secrets.token_hex(6)}"


async def made_account(url: str, name: str | None = None) -> Account:
    username = name or new_name()
    async with httpx.AsyncClient(base_url=url, headers={"origin": url}, timeout=20, trust_env=False) as client:
        made = await client.post("/api/auth/register", json={"username": username, "password": PASSWORD})
        assert made.status_code == 201, made.text
        return Account(url, username, tuple(client.cookies.items()))
