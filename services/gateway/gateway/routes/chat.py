"""The AI SDK's door: an unmodified `useChat` with its default transport works against `/api/chat`.

Of the history that a client sends only the last message is taken; ours is the one that counts. Unknown fields of the
body are left alone: clients add their own.
"""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import Path
from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from chassis.errors import Refused
from contracts.batches import START
from contracts.messages import UIMessage
from gateway.answers import invalid
from gateway.http import Routes
from gateway.parts import CallerOf, Parts, PartsOf
from gateway.turns import STREAM, TurnOut, accept_and_stream, stop_turn, watch
from gateway.wishes import LONGEST_ID, make_wish, only_new
from store.repositories import chats
from store.turns import current

routes = Routes("chat")

ChatId = Annotated[str, Path(min_length=1, max_length=LONGEST_ID, description="The chat's id, made by the client.")]


class ChatBody(BaseModel):
    id: str = Field(min_length=1, max_length=LONGEST_ID, description="The chat's id, made by the client.")
    messages: list[Any] | None = Field(None, description="The history; only its last message is taken.")
    message: Any = Field(None, description="That last message alone, instead of `messages`.")
    trigger: str = "submit-message"
    messageId: str | None = Field(None, description="Set by clients that edit, regenerate or continue.")


class StopBody(BaseModel):
    turn: UUID | None = Field(None, description="The turn that is meant: a stop that comes too late stops no other.")


@routes.post(
    "/api/chat",
    scope="chat",
    body_limit="chat_body_limit",
    errors=(404, 409),
    response_class=Response,
    responses={**STREAM},
)
async def send_chat_message(body: ChatBody, request: Request, caller: CallerOf, parts: PartsOf) -> Response:
    """Sends the last message of a chat and streams its answer; the chat is made on first use. 404 if it was deleted and
    may still be brought back.
    """
    only_new(body.trigger, None)  # before the message: who regenerates may send none
    message = _last_message(body)
    only_new(body.trigger, body.messageId, message.role)
    thread_id = await _thread(parts, caller.user_id, body.id)
    wish = make_wish(
        caller.user_id,
        thread_id,
        message,
        "replace",
        request.headers,
        limit=parts.settings.message_limit,
        channel="web" if caller.via == "session" else "api",
    )
    return await accept_and_stream(parts, wish)


@routes.get(
    "/api/chat/{chat_id:path}/stream",
    scope="read",
    allow_expired=True,
    response_class=Response,
    responses={**STREAM, 204: {"description": "Nothing is running under this id"}},
)
async def resume_chat(chat_id: ChatId, caller: CallerOf, parts: PartsOf) -> Response:
    """Streams the running answer from its `start` chunk; 204 for any id under which you have nothing running."""
    async with parts.store.session(caller.user_id) as session:
        thread_id = await chats.find(session, chat_id)
        found = None if thread_id is None else await current(session, thread_id)
    if found is None:
        return Response(status_code=204)
    return await watch(parts, caller.user_id, found.id, START)


@routes.post("/api/chat/{chat_id:path}/stop", scope="chat")
async def stop_chat(chat_id: ChatId, caller: CallerOf, parts: PartsOf, body: StopBody | None = None) -> TurnOut:
    """Asks the running answer to stop. Safe to repeat, and for ids that stand for nothing."""
    turn_id = None if body is None else body.turn
    async with parts.store.session(caller.user_id) as session:
        thread_id = await chats.find(session, chat_id)
    if thread_id is None:
        return TurnOut(turn=None, status=None)
    return await stop_turn(parts, caller.user_id, thread_id, turn_id)


def _last_message(body: ChatBody) -> UIMessage:
    given = body.message if body.message is not None else (body.messages or [None])[-1]
    if given is None:
        raise invalid("messages: there is none.", field="messages")
    try:
        return UIMessage.model_validate(given)
    except ValidationError as wrong:
        error = wrong.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in error["loc"])
        raise invalid(f"messages: the last one is no UIMessage ({where}: {error['msg']}).", field="messages") from None


async def _thread(parts: Parts, user_id: UUID, chat_id: str) -> UUID:
    async with parts.store.session(user_id) as session:
        thread_id = await chats.find_or_create(session, user_id, chat_id)
    if thread_id is None:
        raise Refused(409, "no_agent", "You have no agent to talk to.")
    return thread_id
