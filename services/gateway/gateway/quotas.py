"""How many messages a user may send through a channel in a window: off by default, open while Valkey is away.

What was refused, or was only a repeated request, does not count; neither do continuations of an answer.
"""

from __future__ import annotations

from chassis import faults
from gateway.parts import Parts
from gateway.throttle import Rule
from store.turns import Accepted, Wish, accept


async def accept_counted(parts: Parts, wish: Wish) -> Accepted:
    """The door, behind the quota. Raises what the door raises, and `Refused` (429) when the quota is used up."""
    limit = parts.settings.messages_per_user
    if not limit:
        return await _accepted(parts, wish)
    rule, who = Rule(f"messages_{wish.channel}", limit, parts.settings.message_window, None), str(wish.user_id)
    await parts.throttle.hit(rule, who)
    counts = False
    try:
        accepted = await _accepted(parts, wish)
        counts = accepted.is_new
    finally:
        if not counts:
            await parts.throttle.take_back(rule, who)
    return accepted


async def _accepted(parts: Parts, wish: Wish) -> Accepted:
    async with parts.store.session(wish.user_id) as session:
        accepted = await accept(session, wish, parts.settings.limits)
    faults.reached("accepted")
    return accepted
