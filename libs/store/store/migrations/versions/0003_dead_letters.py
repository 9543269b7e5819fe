"""Dead letters: events that a consumer could not work on, kept until somebody decides.

Machinery without an owner: no policy, and granted to system logins alone. One row for an event and its consumer,
however often it comes and whoever parks it. Sent facts stay in the outbox for days (`RETINUE_FACTS_KEEP`), so pruning
gets an index for each of the two ages.
"""

from __future__ import annotations

from store.migrations.script import run

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TABLES = """
create table dead_letters (
    id uuid primary key,
    consumer text not null,
    stream text not null,
    subject text not null,
    event_id uuid not null,
    payload bytea not null,
    headers jsonb not null default '{}',
    deliveries integer not null,
    first_seen_at timestamptz not null,
    last_seen_at timestamptz not null default now(),
    reason_type text not null,
    reason text not null,
    parked_at timestamptz not null default now(),
    state text not null default 'parked' check (state in ('parked', 'replayed', 'handled')),
    replayed_at timestamptz,
    handled_at timestamptz,
    unique (consumer, event_id)
);
create index dead_letters_recent on dead_letters (parked_at desc, id desc);
create index dead_letters_parked on dead_letters (consumer, parked_at) where state = 'parked';

drop index outbox_sent;
create index outbox_sent_facts on outbox (sent_at) where sent_at is not null and subject like 'fact.%';
create index outbox_sent_others on outbox (sent_at) where sent_at is not null and subject not like 'fact.%';
create index inbox_done on inbox (done_at);
"""

GRANTS = """
-- gateway_system: lists, replays (an outbox row) and drops (an inbox row: there is nothing left to do).
grant select, update, delete on dead_letters to gateway_system;
grant insert on outbox to gateway_system;
grant select, insert on inbox to gateway_system;

-- turn_runner_system: parks what is no turn request.
grant select, insert, update on dead_letters to turn_runner_system;
"""


def upgrade() -> None:
    run(TABLES)
    run(GRANTS)


def downgrade() -> None:
    raise RuntimeError("migrations only go forward; restore a backup instead")
