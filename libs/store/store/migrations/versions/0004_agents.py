"""Agents grown up: effort, fallbacks, capabilities, glyph; what the model saw; calls beside the answer.

`prompts` keeps instructions and tools by their hash, once for all attempts that saw the same; what changes from turn
to turn (the time) stands with the attempt. A prompt holds an agent's standing orders, so it is its user's.
"""

from __future__ import annotations

from store.migrations.script import run

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TABLES = """
alter table agents
    add column effort text,
    add column fallback_models text[] not null default '{}',
    add column capabilities text[],
    add column glyph text not null default '',
    add column updated_at timestamptz not null default now();
create table prompts (
    user_id uuid not null references users(id) on delete cascade,
    hash bytea not null check (octet_length(hash) = 32),
    blocks json not null,
    tools json not null,
    created_at timestamptz not null default now(),
    primary key (user_id, hash)
);
alter table attempts
    add column purpose text not null default 'answer' check (purpose in ('answer', 'title')),
    add column prompt_hash bytea,
    add column prompt_tail text;
alter table tool_calls add column is_hosted boolean not null default false;
"""

GRANTS = """
alter table prompts enable row level security;
create policy prompts_mine on prompts using (user_id = retinue_user()) with check (user_id = retinue_user());
grant select on prompts to gateway;
grant select, insert on prompts to turn_runner;

-- A call beside the answer (the title) ends after the turn has, and belongs to its sums.
grant update (input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost_micros, is_estimated, attempts)
    on ledger to turn_runner;
"""


def upgrade() -> None:
    run(TABLES)
    run(GRANTS)


def downgrade() -> None:
    raise RuntimeError("migrations only go forward; restore a backup instead")
