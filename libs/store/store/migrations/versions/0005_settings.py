"""Saved settings and providers, with what is secret of them sealed by `libs/vault` before it comes here.

What the deployment says is machinery without an owner, and granted to system logins alone. A user's settings and a
user's own keys are under policies; a provider without a user is the deployment's, which no policy shows to anybody.
Addresses are the deployment's alone: that is a constraint here, whatever a route forgets.
"""

from __future__ import annotations

from store.migrations.script import run

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TABLES = """
create table deployment_settings (
    name text primary key,
    value jsonb,
    sealed bytea,
    updated_at timestamptz not null default now(),
    updated_by uuid references users(id) on delete set null,
    check ((value is null) <> (sealed is null))
);
create table user_settings (
    user_id uuid not null references users(id) on delete cascade,
    name text not null,
    value jsonb not null,
    updated_at timestamptz not null default now(),
    primary key (user_id, name)
);
create table providers (
    id uuid primary key,
    user_id uuid references users(id) on delete cascade,
    name text not null,
    kind text not null,
    base_url text,
    key_sealed bytea,
    key_hint text,
    position integer not null default 0,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique nulls not distinct (user_id, name),
    check (user_id is null or base_url is null),
    check ((key_sealed is null) = (key_hint is null))
);
"""

POLICIES = {
    "user_settings": "user_id = retinue_user()",
    "providers": "user_id = retinue_user()",
}

GRANTS = """
-- gateway: what its own user says. gateway_system: what an admin says for all.
grant select, insert, update, delete on user_settings, providers to gateway;
grant select, insert, update, delete on deployment_settings, providers to gateway_system;

-- turn_runner: with whose key a turn is served; and whether who asks for more is an admin.
grant select on user_settings, providers to turn_runner;
grant select on deployment_settings, providers to turn_runner_system;
grant select (id, is_admin, disabled_at) on users to turn_runner_system;
"""


def upgrade() -> None:
    run(TABLES)
    for table, rule in POLICIES.items():
        run(f"alter table {table} enable row level security")
        run(f"create policy {table}_mine on {table} using ({rule}) with check ({rule})")
    run(GRANTS)


def downgrade() -> None:
    raise RuntimeError("migrations only go forward; restore a backup instead")
