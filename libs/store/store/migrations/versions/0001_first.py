"""The first tables: accounts, agents, threads, turns, ledger, outbox and inbox.

Written as SQL, because half of it (policies, grants, triggers) has no other form.
"""

from __future__ import annotations

from store.migrations.script import run

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES = """
create table users (
    id uuid primary key,
    username text not null,
    username_key text not null unique,
    password_hash text not null,
    is_admin boolean not null default false,
    created_at timestamptz not null default now(),
    disabled_at timestamptz
);
create table sessions (
    token_hash bytea primary key,
    user_id uuid not null references users(id) on delete cascade,
    created_at timestamptz not null default now(),
    seen_at timestamptz not null default now(),
    expires_at timestamptz not null
);
create index sessions_user on sessions (user_id);
create index sessions_expiry on sessions (expires_at);
create table api_tokens (
    id uuid primary key,
    user_id uuid not null references users(id) on delete cascade,
    name text not null,
    token_hash bytea not null unique,
    scopes text[] not null,
    created_at timestamptz not null default now(),
    used_at timestamptz,
    revoked_at timestamptz
);
create index api_tokens_user on api_tokens (user_id);
create table invites (
    code_hash bytea primary key,
    grants_admin boolean not null default false,
    created_by uuid references users(id) on delete cascade,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at timestamptz,
    used_by uuid references users(id) on delete set null
);
create table agents (
    id uuid primary key,
    user_id uuid not null references users(id) on delete cascade,
    name text not null,
    role text not null default '',
    standing_orders text not null default '',
    model text,
    max_steps integer not null default 50 check (max_steps between 1 and 200),
    is_default boolean not null default false,
    created_at timestamptz not null default now(),
    archived_at timestamptz
);
create index agents_user on agents (user_id);
create unique index agents_one_default on agents (user_id) where is_default;
create table threads (
    id uuid primary key,
    user_id uuid not null references users(id) on delete cascade,
    agent_id uuid not null references agents(id),
    channel text not null default 'web',
    client_id text,
    title text,
    preview text,
    created_at timestamptz not null default now(),
    touched_at timestamptz not null default now(),
    archived_at timestamptz,
    unique (user_id, client_id)
);
create index threads_recent on threads (user_id, touched_at desc, id desc) where archived_at is null;
create table messages (
    id uuid primary key,
    thread_id uuid not null references threads(id) on delete cascade,
    ordinal integer not null,
    role text not null check (role in ('user', 'assistant', 'system')),
    client_id text,
    data jsonb not null default '{}',
    created_at timestamptz not null default now(),
    unique (thread_id, ordinal),
    unique (thread_id, client_id)
);
create table turns (
    id uuid primary key,
    user_id uuid not null references users(id) on delete cascade,
    thread_id uuid not null references threads(id) on delete cascade,
    agent_id uuid not null references agents(id),
    message_id uuid not null references messages(id) on delete cascade,
    question_id uuid not null references messages(id) on delete cascade,
    continues uuid references turns(id) on delete cascade,
    parent_turn_id uuid references turns(id) on delete cascade,
    channel text not null,
    busy text not null check (busy in ('replace', 'queue', 'reject')),
    status text not null default 'waiting'
        check (status in ('waiting', 'queued', 'running', 'finished', 'failed', 'stopped')),
    epoch integer not null default 0,
    runner_id uuid,
    commit_epoch integer not null default 0,
    commit_number bigint not null default 0,
    steps integer not null default 0,
    recoveries integer not null default 0,
    model text,
    idempotency_key text,
    request_hash bytea,
    traceparent text,
    accepted_at timestamptz not null default clock_timestamp(),
    queued_at timestamptz,
    started_at timestamptz,
    stop_requested_at timestamptz,
    ended_at timestamptz,
    ended_by text,
    error jsonb
);
create unique index turns_one_active on turns (thread_id) where status in ('queued', 'running');
create unique index turns_key on turns (user_id, idempotency_key) where idempotency_key is not null;
create index turns_thread on turns (thread_id, accepted_at);
create index turns_message on turns (message_id);
create index turns_waiting on turns (user_id, accepted_at) where status = 'waiting';
create index turns_active on turns (user_id) where status in ('queued', 'running');
create index turns_queued on turns (queued_at) where status = 'queued';
create index turns_running on turns (runner_id) where status = 'running';
create table tool_calls (
    id uuid primary key,
    turn_id uuid not null references turns(id) on delete cascade,
    step integer not null,
    name text not null,
    provider_call_id text not null,
    state text not null default 'asked' check (state in ('asked', 'started', 'done')),
    input json not null,
    output json,
    error_text text,
    epoch integer not null,
    is_idempotent boolean not null,
    started_at timestamptz,
    done_at timestamptz
);
create index tool_calls_turn on tool_calls (turn_id);
create table message_parts (
    message_id uuid not null references messages(id) on delete cascade,
    ordinal integer not null,
    step integer not null default 0,
    kind text not null,
    data json not null,  -- json, not jsonb: what was streamed comes back to the letter
    call_id uuid references tool_calls(id) on delete cascade,
    primary key (message_id, ordinal)
);
create table attempts (
    id uuid primary key,
    turn_id uuid not null references turns(id) on delete cascade,
    epoch integer not null,
    step integer not null,
    number integer not null,
    state text not null default 'open' check (state in ('open', 'done', 'failed', 'interrupted')),
    model_asked text not null,
    model_served text,
    input_tokens integer,
    cached_tokens integer,
    output_tokens integer,
    reasoning_tokens integer,
    cost_micros bigint,
    is_estimated boolean not null default false,
    reserved_micros bigint not null default 0,
    started_at timestamptz not null default clock_timestamp(),
    first_token_ms integer,
    ended_at timestamptz,
    outcome text,
    unique (turn_id, epoch, step, number)
);
create table ledger (
    turn_id uuid primary key references turns(id) on delete cascade,
    user_id uuid not null references users(id) on delete cascade,
    agent_id uuid not null,
    thread_id uuid not null,
    model_asked text,
    model_served text,
    input_tokens integer,
    cached_tokens integer,
    output_tokens integer,
    reasoning_tokens integer,
    cost_micros bigint,
    is_estimated boolean not null default false,
    attempts integer not null default 0,
    duration_ms integer,
    first_token_ms integer,
    status text not null,
    ended_by text,
    ended_at timestamptz not null
);
create index ledger_user on ledger (user_id, ended_at desc);
create table runners (
    id uuid primary key,
    name text not null,
    slots integer not null,
    started_at timestamptz not null default now(),
    alive_until timestamptz not null
);
create table outbox (
    id uuid primary key,
    subject text not null,
    payload bytea not null,
    headers jsonb not null default '{}',
    created_at timestamptz not null default now(),
    sent_at timestamptz
);
create index outbox_unsent on outbox (created_at) where sent_at is null;
create index outbox_sent on outbox (sent_at) where sent_at is not null;
create table inbox (
    consumer text not null,
    event_id uuid not null,
    done_at timestamptz not null default now(),
    primary key (consumer, event_id)
);
"""

FUNCTIONS = """
create function retinue_user() returns uuid language sql stable
    as $$ select nullif(current_setting('retinue.user', true), '')::uuid $$;

-- A turn moves only along the arrows of turns.md, and its epoch never falls.
create function turns_guard() returns trigger language plpgsql as $$
begin
    if new.epoch < old.epoch then
        raise exception 'a turn''s epoch never falls (% to %)', old.epoch, new.epoch using errcode = 'check_violation';
    end if;
    if new.status is distinct from old.status and not (old.status, new.status) in (
        ('waiting', 'queued'), ('waiting', 'stopped'), ('waiting', 'failed'),
        ('queued', 'running'), ('queued', 'stopped'), ('queued', 'failed'),
        ('running', 'queued'), ('running', 'finished'), ('running', 'failed'), ('running', 'stopped')
    ) then
        raise exception 'a turn does not go from % to %', old.status, new.status using errcode = 'check_violation';
    end if;
    return new;
end $$;
create trigger turns_guard before update on turns for each row execute function turns_guard();

-- What the deployment can run, and what it has active. Counts cross users, so they come from a function.
create function retinue_capacity(out active bigint, out slots bigint) language sql stable security definer
    set search_path = public, pg_temp as $$
    select (select count(*) from turns where status in ('queued', 'running')),
           (select coalesce(sum(r.slots), 0) from runners r where alive_until > now())
$$;
revoke all on function retinue_capacity() from public;
"""

# Table -> the rule that makes a row visible. Root tables name their owner, child tables their root.
POLICIES = {
    "users": "id = retinue_user()",
    "sessions": "user_id = retinue_user()",
    "api_tokens": "user_id = retinue_user()",
    "invites": "created_by = retinue_user()",
    "agents": "user_id = retinue_user()",
    "threads": "user_id = retinue_user()",
    "messages": "exists (select from threads t where t.id = thread_id)",
    "message_parts": "exists (select from messages m where m.id = message_id)",
    "turns": "user_id = retinue_user() and exists (select from threads t where t.id = thread_id)",
    "tool_calls": "exists (select from turns t where t.id = turn_id)",
    "attempts": "exists (select from turns t where t.id = turn_id)",
    "ledger": "user_id = retinue_user()",
}

GRANTS = """
grant usage on schema public to gateway, gateway_system, turn_runner, turn_runner_system;
grant execute on function retinue_capacity() to gateway, gateway_system, turn_runner, turn_runner_system;

-- gateway: accounts, agents and threads are its own; of turns it may do what the door does.
grant select, insert, update, delete on users, sessions, api_tokens, invites, agents to gateway;
grant select, insert, update, delete on threads to gateway;
grant select, insert on messages, message_parts, turns, ledger to gateway;
grant update (status, epoch, queued_at, stop_requested_at, ended_by, ended_at, error, idempotency_key)
    on turns to gateway;
grant select on tool_calls, attempts to gateway;
grant update (state, output, error_text, done_at) on tool_calls to gateway;
grant update (state, ended_at, outcome, is_estimated, reserved_micros) on attempts to gateway;
grant insert on outbox to gateway;

-- gateway_system: who is calling, before a user is known; the relay.
grant select, insert, update, delete on users, sessions, api_tokens, invites to gateway_system;
grant select, insert on agents to gateway_system;
grant select, update, delete on outbox to gateway_system;

-- turn_runner: everything of a turn after its acceptance, under the policies of the turn's user.
grant select on agents, threads, messages, message_parts, turns, tool_calls, attempts, ledger to turn_runner;
grant update (preview, title, touched_at) on threads to turn_runner;
grant insert on message_parts, tool_calls, attempts, ledger, outbox to turn_runner;
grant update (status, epoch, runner_id, commit_epoch, commit_number, steps, recoveries, model, queued_at, started_at,
    stop_requested_at, ended_at, ended_by, error) on turns to turn_runner;
grant update on tool_calls, attempts to turn_runner;

-- turn_runner_system: heartbeat, sweep, relay, retention.
grant select, insert, update, delete on runners to turn_runner_system;
grant select, update on turns to turn_runner_system;
grant select on threads, messages, message_parts to turn_runner_system;
grant update (touched_at, preview) on threads to turn_runner_system;
grant select, update on tool_calls, attempts to turn_runner_system;
grant select, insert on ledger to turn_runner_system;
grant select, insert, update, delete on outbox to turn_runner_system;
"""


def upgrade() -> None:
    for statements in (TABLES, FUNCTIONS):
        run(statements)
    for table, rule in POLICIES.items():
        run(f"alter table {table} enable row level security")
        run(f"create policy {table}_mine on {table} using ({rule}) with check ({rule})")
    run(GRANTS)


def downgrade() -> None:
    raise RuntimeError("migrations only go forward; restore a backup instead")
