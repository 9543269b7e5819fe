"""Turns of a thread: send a message and watch its answer, watch again from anywhere, stop."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from contracts.messages import UIMessage, text_message
from gateway.answers import invalid, missing, unauthorized
from gateway.http import Routes
from gateway.parts import CallerOf, PartsOf
from gateway.turns import (
    STREAM,
    TurnOut,
    TurnQuery,
    accept_and_stream,
    accept_quietly,
    in_thread,
    position_of,
    stop_turn,
    wants_no_stream,
    watch,
)
from gateway.wishes import make_wish, only_new
from store.repositories import threads
from store.turns import current, state

routes = Routes("turns")

After = Annotated[str | None, Query(max_length=40, description="Id of the last event that was applied.")]


class TurnWish(BaseModel):
    model_config = ConfigDict(extra="forbid")

    message: UIMessage | str | None = Field(None, description="A `UIMessage` of role user, or its text.")
    text: str | None = Field(None, description="Instead of `message`.")
    busy: Literal["replace", "queue", "reject"] = Field(
        "replace", description="What happens if the thread is being answered: stop that, wait behind it, or 409."
    )
    trigger: str = Field("submit-message", description="As the AI SDK says it; regenerating is not supported yet.")
    messageId: str | None = Field(None, description="Set by clients that edit or continue: not supported yet.")


@routes.post(
    "/api/threads/{thread_id}/turn",
    scope="chat",
    body_limit="chat_body_limit",
    errors=(404, 409),
    response_class=Response,
    responses={**STREAM, 202: {"model": TurnOut, "description": "Accepted, with `Prefer: respond-async`"}},
)
async def send_message(thread_id: UUID, wish: TurnWish, request: Request, caller: CallerOf, parts: PartsOf) -> Response:
    """Sends a message and streams its answer. Disconnecting stops nothing.

    The same `Idempotency-Key`, or the same message id without one, gives the same turn again.
    """
    only_new(wish.trigger, wish.messageId)
    asked = make_wish(
        caller.user_id,
        thread_id,
        _message(wish),
        wish.busy,
        request.headers,
        limit=parts.settings.message_limit,
        channel="web" if caller.via == "session" else "api",
    )
    if wants_no_stream(request):
        return await accept_quietly(parts, asked)
    return await accept_and_stream(parts, asked)


@routes.get(
    "/api/threads/{thread_id}/turn",
    scope="read",
    allow_expired=True,
    errors=(404, 410),
    response_class=Response,
    responses={**STREAM, 204: {"description": "Nothing is running, or nothing comes after that position"}},
)
async def watch_turn(
    thread_id: UUID,
    request: Request,
    caller: CallerOf,
    parts: PartsOf,
    turn: TurnQuery = None,
    after: After = None,
) -> Response:
    """Streams the current turn, or the named one also after its end; from the start, or after a position."""
    position = position_of(request, after)
    async with parts.store.session(caller.user_id) as session:
        if turn is None:
            if await threads.get(session, thread_id) is None:
                raise missing("thread")
            found = await current(session, thread_id)
        else:
            found = in_thread(await state(session, turn), thread_id)
    if found is None:
        return Response(status_code=204)
    if caller.is_expired and found.is_final:
        raise unauthorized()  # an expired session may see a running answer through, and read nothing else
    return await watch(parts, caller.user_id, found.id, position)


@routes.delete("/api/threads/{thread_id}/turn", scope="chat", errors=(404,))
async def stop(thread_id: UUID, caller: CallerOf, parts: PartsOf, turn: TurnQuery = None) -> TurnOut:
    """Asks the current turn (or the named one, if it is not over) to stop. Safe to repeat."""
    return await stop_turn(parts, caller.user_id, thread_id, turn)


def _message(wish: TurnWish) -> UIMessage:
    if (wish.message is None) is (wish.text is None):
        raise invalid("message: write one, as text or as a message of the AI SDK.", field="message")
    if isinstance(wish.message, UIMessage):
        return wish.message
    return text_message(wish.message if wish.message is not None else wish.text or "")
