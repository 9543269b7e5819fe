"""A thread with a past: thousands of messages, written straight into the database."""

from __future__ import annotations

import asyncpg

from tests.browser.account import Account
from tests.kit.stack import Stack

WORDS = "A sentence of a few words that says **something** about `it` and goes on for a line or two. "


async def make_long_thread(stack: Stack, account: Account, count: int) -> str:
    """A thread of so many messages, questions and answers in turn: `Question 0`, `Answer 1`, … Its id."""
    async with account.api() as api:
        thread = (await api.post("/api/threads", json={"title": "A long one"})).raise_for_status().json()["id"]
    connection = await asyncpg.connect(stack.superuser_url)
    try:
        await connection.execute(
            """
            with made as (
                insert into messages (id, thread_id, ordinal, role, data)
                select gen_random_uuid(), $1, n, case when n % 2 = 0 then 'user' else 'assistant' end, '{}'
                from generate_series(0, $2 - 1) n returning id, ordinal
            )
            insert into message_parts (message_id, ordinal, step, kind, data)
            select id, 0, 0, 'text', json_build_object('type', 'text', 'text',
                case when ordinal % 2 = 0 then 'Question ' || ordinal
                else 'Answer ' || ordinal || E'\\n\\n' || repeat($3, 1 + ordinal % 9)
                    || E'\\n\\n- one\\n- two\\n\\n```python\\nprint(' || ordinal || E')\\n```' end)
            from made
            """,
            thread,
            count,
            WORDS,
        )
    finally:
        await connection.close()
    return thread
