"""Facts that a consumer with an inbox has never worked on: found in the outbox, and sent again to it alone.

The outbox is the source: it says what was true even if the bus has lost it. A fact is lost to a consumer if it was sent
long enough ago and there is neither an inbox row nor a dead letter for the two.
"""

from __future__ import annotations

import re
from datetime import timedelta

from sqlalchemy import text

from contracts.subjects import ORIGIN_EVENT, ORIGIN_SUBJECT, ConsumerSpec, again_subject
from store.store import Session

# The id is made from consumer, fact and day: sweeps of several processes send a fact again once a day between them.
_SEND_AGAIN = text("""
    insert into outbox (id, subject, payload, headers)
    select lost.again, :subject, lost.payload,
        lost.headers || jsonb_build_object(cast(:origin_subject as text), lost.subject,
            cast(:origin_event as text), lost.id)
    from (
        select o.*, md5(concat_ws('/', cast(:consumer as text), o.id, (now() at time zone 'utc')::date))::uuid as again
        from outbox o
        where o.sent_at < now() - cast(:age as interval) and o.subject like 'fact.%' and o.subject ~ :pattern
            and not exists (select from inbox i where i.consumer = :consumer and i.event_id = o.id)
            and not exists (select from dead_letters d where d.consumer = :consumer and d.event_id = o.id)
    ) lost
    where not exists (select from outbox a where a.id = lost.again)
    limit :limit
    on conflict do nothing
    returning id
""")

# A dead letter keeps its inbox row: a late replay of what was done after all must find it.
_FORGET = text("""
    delete from inbox where consumer = :consumer and event_id in (
        select i.event_id from inbox i
        where i.consumer = :consumer and i.done_at < now() - cast(:keep as interval)
            and not exists (select from dead_letters d where d.consumer = i.consumer and d.event_id = i.event_id)
        limit :limit)
""")


async def send_again(session: Session, spec: ConsumerSpec, age: timedelta, limit: int = 500) -> int:
    """Sends up to `limit` facts again that were sent longer than `age` ago and never worked on; returns how many."""
    values = {
        "consumer": spec.name,
        "subject": again_subject(spec),
        "pattern": _pattern(spec.filter_subject),
        "age": age,
        "limit": limit,
        "origin_subject": ORIGIN_SUBJECT,
        "origin_event": ORIGIN_EVENT,
    }
    return len((await session.execute(_SEND_AGAIN, values)).all())


async def forget(session: Session, spec: ConsumerSpec, keep: timedelta, limit: int = 1000) -> int:
    """Drops inbox rows older than `keep`, when nothing brings their events back; returns how many."""
    return (await session.execute(_FORGET, {"consumer": spec.name, "keep": keep, "limit": limit})).rowcount


def _pattern(subject: str) -> str:
    """A filter of the bus as a regular expression."""
    tokens = {"*": "[^.]+", ">": ".+"}
    return "^" + r"\.".join(tokens.get(token, re.escape(token)) for token in subject.split(".")) + "$"
