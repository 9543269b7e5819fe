"""What an open page hears: hints that something of its user changed."""

from __future__ import annotations

from starlette.responses import Response

from chassis.errors import Refused
from gateway.events.hub import TooManyListeners
from gateway.http import Routes
from gateway.parts import CallerOf, PartsOf

routes = Routes("events")

_RETRY_AFTER = 30

_STREAM: dict[int | str, dict[str, object]] = {
    200: {
        "description": "Server-sent events without ids: `sync` first (and whenever something may have been missed), "
        "then `turn` {thread_id, turn_id, status}, `thread` {thread_id}, `agents`, `settings`.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@routes.get("/api/events", scope="read", response_class=Response, responses=_STREAM)
async def watch_events(caller: CallerOf, parts: PartsOf) -> Response:
    """Hints that something of yours changed. Nothing is repeated: on `sync`, look at everything again.

    The stream ends by itself after a while (RETINUE_EVENTS_AGE); connect anew.
    """
    try:
        return await parts.events.listen(caller.user_id)
    except TooManyListeners:
        limit = parts.settings.events_per_user
        raise Refused(
            429,
            "too_many_listeners",
            f"You have {limit} windows open that listen for news; close some of them.",
            headers={"Retry-After": str(_RETRY_AFTER)},
            scope="events",
            limit=limit,
            setting="RETINUE_EVENTS_PER_USER",
            retry_after=_RETRY_AFTER,
        ) from None
