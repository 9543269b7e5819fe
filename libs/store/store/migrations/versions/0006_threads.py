r"""Threads that are searched, chosen a model for, deleted and brought back; usage.

Words of messages are kept in a table of their own, because no policy lets an index on text work: the operators of
text search are not leakproof, so under row-level security they are asked of every row. `retinue_search` looks them up
as the owner and answers for `retinue_user()` alone. Its user is a word too (`@` and the id, which no text can hold), so
that one index finds one person's messages, however many others have said the same.

`retinue_fold` makes words of any language comparable: case and accents are taken away, letters of scripts that are
written without spaces become words of one letter each, everything else that is no letter or digit parts words.
`store.repositories.words` says the same in Python, to mark what was found; a test holds the two together.
"""

from __future__ import annotations

from store.migrations.script import run

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

TABLES = """
alter table threads add column model text, add column effort text, add column deleted_at timestamptz;
create index threads_deleted on threads (deleted_at) where deleted_at is not null;

-- What deleting a thread cascades along: without these, each message and turn of it would be looked for in all.
create index turns_question on turns (question_id);
create index turns_continues on turns (continues) where continues is not null;
create index turns_parent on turns (parent_turn_id) where parent_turn_id is not null;
create index message_parts_call on message_parts (call_id) where call_id is not null;

-- What was used stays used when its thread is gone for good.
alter table ledger drop constraint ledger_turn_id_fkey;
alter table ledger add column unpriced integer not null default 0;  -- model calls whose cost nobody knows
update ledger set unpriced = (
    select count(*) from attempts a where a.turn_id = ledger.turn_id and a.cost_micros is null and a.state <> 'failed');
create index ledger_ended on ledger (ended_at);

create table message_words (
    message_id uuid primary key references messages(id) on delete cascade,
    thread_id uuid not null,
    user_id uuid not null,
    characters integer not null,
    words tsvector not null
) with (toast_tuple_target = 128);  -- words apart from the rows: those are read by the ten thousand
create index message_words_user on message_words (user_id, message_id);
create index message_words_words on message_words using gin (words) with (gin_pending_list_limit = 1024);
"""

FUNCTIONS = r"""
create function retinue_fold(said text) returns text language sql immutable strict parallel safe as $$
    select regexp_replace(
        case when octet_length(said) = length(said) then lower(said) else
            regexp_replace(
                normalize(
                    regexp_replace(
                        translate(lower(normalize(said, NFKD)), 'ς', 'σ'),
                        '[\u00ad\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670'
                        '\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff]+', '', 'g'),
                    NFC),
                '([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u4dbf'
                '\u4e00-\u9fff\uf900-\ufaff\U0001f000-\U0001faff\U00020000-\U0003ffff])', ' \1 ', 'g')
        end,
        '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u00d7\u00f7\u055a-\u055f\u0589\u05be\u05c0\u05c3\u05c6'
        '\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965\u2000-\u206f\u20a0-\u20cf\u2190-\u2bff\u2e00-\u2e7f'
        '\u3000-\u3004\u3008-\u303f\u30fb\ufe30-\ufe6f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+',
        ' ', 'g')
$$;

create function retinue_words(folded text) returns tsvector language sql immutable strict parallel safe as $$
    select coalesce(string_agg('''' || left(word, 100) || ''':' || least(place, 16383), ' '), '')::tsvector
    from string_to_table(folded, ' ') with ordinality w(word, place) where word <> ''
$$;

-- Every phrase, each with its words in a row; the last word of all is a beginning, if `is_prefix`. Null without words.
create function retinue_query(phrases text[], is_prefix boolean) returns tsquery
    language sql immutable strict parallel safe as $$
    select string_agg(
        '(' || words || case when is_prefix and place = cardinality(phrases) then ':*' else '' end || ')', ' & '
    )::tsquery
    from (
        select place, (
            select string_agg('''' || left(word, 100) || '''', ' <-> ' order by n)
            from string_to_table(retinue_fold(said), ' ') with ordinality w(word, n) where word <> ''
        ) as words
        from unnest(phrases) with ordinality p(said, place)
    ) folded
    where words is not null
$$;

-- What was said becomes words, at most 100,000 characters of a message.
create function message_words_write() returns trigger language plpgsql security definer
    set search_path = public, pg_temp as $$
declare
    said text := left(new.data->>'text', 100000);
begin
    if said is null or said = '' then
        return null;
    end if;
    insert into message_words as w (message_id, thread_id, user_id, characters, words)
    select m.id, m.thread_id, t.user_id, length(said),
        retinue_words(retinue_fold(said)) || array_to_tsvector(array['@' || t.user_id])
    from messages m join threads t on t.id = m.thread_id where m.id = new.message_id
    on conflict (message_id) do update set
        characters = w.characters + least(excluded.characters, 100000 - w.characters),
        words = w.words || retinue_words(retinue_fold(left(said, 100000 - w.characters)));
    return null;
end $$;
create trigger message_words_write after insert on message_parts
    for each row when (new.kind = 'text') execute function message_words_write();

-- The newest messages of `retinue_user()` that say all this, the newest first. The newest 400 are looked through one by
-- one, which ends soon for words that are everywhere; the index knows the others, which is soon done for words that are
-- rare. Of a phrase whose words stand apart in more than 3,000 messages, the newest 3,000 are looked at.
create function retinue_search(phrases text[], is_prefix boolean, before uuid, most integer)
    returns table (message_id uuid, thread_id uuid) language plpgsql stable security definer rows 50
    set search_path = public, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare
    me uuid := retinue_user();
    wanted tsquery := retinue_query(phrases, is_prefix);
    is_phrase boolean := wanted::text like '%<->%';
    own tsquery;
    reached uuid := coalesce(before, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    found_so_far bigint;
begin
    if me is null or wanted is null then
        return;
    end if;
    return query
        select w.message_id, w.thread_id from (
            select n.message_id, n.thread_id, n.words from message_words n
            where n.user_id = me and n.message_id < reached order by n.message_id desc limit 400
        ) w join threads t on t.id = w.thread_id
        where w.words @@ wanted and t.deleted_at is null
        order by w.message_id desc limit most;
    get diagnostics found_so_far = row_count;
    reached := (
        select n.message_id from message_words n where n.user_id = me and n.message_id < reached
        order by n.message_id desc offset 399 limit 1);
    if found_so_far >= most or reached is null then
        return;
    end if;
    own := ('''@' || me || ''' & (' || replace(wanted::text, '<->', '&') || ')')::tsquery;
    return query
        with hits as materialized (
            select h.message_id, h.thread_id from message_words h where h.words @@ own
        ), older as materialized (
            select h.message_id, h.thread_id from hits h join threads t on t.id = h.thread_id
            where h.message_id < reached and t.deleted_at is null order by h.message_id desc limit 3000
        )
        select o.message_id, o.thread_id from older o
        where not is_phrase or (select w.words @@ wanted from message_words w where w.message_id = o.message_id)
        order by o.message_id desc limit most - found_so_far;
end $$;
revoke all on function message_words_write() from public;
revoke all on function retinue_search(text[], boolean, uuid, integer) from public;
"""

WORDS_SO_FAR = """
insert into message_words (message_id, thread_id, user_id, characters, words)
select id, thread_id, user_id, length(said),
    retinue_words(retinue_fold(said)) || array_to_tsvector(array['@' || user_id])
from (
    select m.id, m.thread_id, t.user_id, left(string_agg(p.data->>'text', ' ' order by p.ordinal), 100000) as said
    from message_parts p join messages m on m.id = p.message_id join threads t on t.id = m.thread_id
    where p.kind = 'text' group by m.id, m.thread_id, t.user_id
) spoken
where said <> '';
"""

MINE = "user_id = retinue_user()"

GRANTS = """
grant execute on function retinue_search(text[], boolean, uuid, integer) to gateway;

-- gateway_system: deleted threads go for good; what everybody used, for administrators.
grant select, delete on threads to gateway_system;
grant select on turns, ledger to gateway_system;

-- turn_runner: a call beside the answer may cost what nobody knows, too.
grant update (unpriced) on ledger to turn_runner;
"""


def upgrade() -> None:
    for statements in (TABLES, FUNCTIONS, WORDS_SO_FAR):
        run(statements)
    run("alter table message_words enable row level security")
    run(f"create policy message_words_mine on message_words using ({MINE}) with check ({MINE})")
    run(GRANTS)


def downgrade() -> None:
    raise RuntimeError("migrations only go forward; restore a backup instead")
