"""Blobs: what is too large for a row or the wire, and who may reach it.

`blobs` is machinery without an owner: the same bytes are one row, whoever has them. A person's way to them is a row of
`blob_references`, which is under a policy; it goes with its thread, and an unreferenced blob goes a day later.
"""

from __future__ import annotations

from store.migrations.script import run

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TABLES = """
create table blobs (
    hash bytea primary key check (octet_length(hash) = 32),
    size bigint not null check (size >= 0),
    created_at timestamptz not null default now(),
    wanted_at timestamptz not null default now()
);
create index blobs_wanted on blobs (wanted_at);
create table blob_references (
    id uuid primary key,
    user_id uuid not null references users(id) on delete cascade,
    hash bytea not null references blobs(hash),
    size bigint not null,
    thread_id uuid references threads(id) on delete cascade,
    turn_id uuid references turns(id) on delete cascade,
    call_id uuid references tool_calls(id) on delete cascade,
    name text not null,
    media_type text not null,
    created_at timestamptz not null default now()
);
create index blob_references_hash on blob_references (hash);
create index blob_references_user on blob_references (user_id);
create index blob_references_thread on blob_references (thread_id);
create index blob_references_turn on blob_references (turn_id);
create index blob_references_call on blob_references (call_id);
"""

MINE = "user_id = retinue_user() and (thread_id is null or exists (select from threads t where t.id = thread_id))"

GRANTS = """
grant select on blob_references to gateway;
grant select, insert on blob_references to turn_runner;
grant select, insert, update, delete on blobs to turn_runner_system;
grant select on blob_references to turn_runner_system;
"""


def upgrade() -> None:
    run(TABLES)
    run("alter table blob_references enable row level security")
    run(f"create policy blob_references_mine on blob_references using ({MINE}) with check ({MINE})")
    run(GRANTS)


def downgrade() -> None:
    raise RuntimeError("migrations only go forward; restore a backup instead")
