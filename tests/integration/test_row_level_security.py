"""The second lock: what the catalogue of the real database says, and what the policies do.

The catalogue tests fail for the next table that somebody forgets to protect.
"""

import asyncio
import re

import asyncpg
import pytest
from sqlalchemy import text

from contracts.ids import uuid7
from store import Store
from store.migrate import OWNER, ROLES
from tests.kit.gateway import person_at

SERVICES = ("gateway", "turn_runner")
SERVERS_OWN = {"alembic_version"}
# Machinery, read across users by design and by no user: no policy, and granted to the system logins.
WITHOUT_OWNER = {"outbox", "inbox", "dead_letters", "runners", "blobs", "deployment_settings"} | SERVERS_OWN

# All that a login which passes the policies may do. A grant beyond this list needs a reason and a line here.
SYSTEM_GRANTS = {
    "gateway_system": {
        "users": {"SELECT", "INSERT", "UPDATE", "DELETE"},
        "sessions": {"SELECT", "INSERT", "UPDATE", "DELETE"},
        "api_tokens": {"SELECT", "INSERT", "UPDATE", "DELETE"},
        "invites": {"SELECT", "INSERT", "UPDATE", "DELETE"},
        "agents": {"SELECT", "INSERT"},
        "outbox": {"SELECT", "INSERT", "UPDATE", "DELETE"},
        "inbox": {"SELECT", "INSERT"},
        "dead_letters": {"SELECT", "UPDATE", "DELETE"},
        "threads": {"SELECT", "DELETE"},
        "turns": {"SELECT"},
        "ledger": {"SELECT"},
        "deployment_settings": {"SELECT", "INSERT", "UPDATE", "DELETE"},
        "providers": {"SELECT", "INSERT", "UPDATE", "DELETE"},
    },
    "turn_runner_system": {
        "runners": {"SELECT", "INSERT", "UPDATE", "DELETE"},
        "turns": {"SELECT", "UPDATE"},
        "threads": {"SELECT", "UPDATE"},
        "messages": {"SELECT"},
        "message_parts": {"SELECT"},
        "tool_calls": {"SELECT", "UPDATE"},
        "attempts": {"SELECT", "UPDATE"},
        "ledger": {"SELECT", "INSERT"},
        "outbox": {"SELECT", "INSERT", "UPDATE", "DELETE"},
        "dead_letters": {"SELECT", "INSERT", "UPDATE"},
        "blobs": {"SELECT", "INSERT", "UPDATE", "DELETE"},
        "blob_references": {"SELECT"},
        "deployment_settings": {"SELECT"},
        "providers": {"SELECT"},
        "users": {"SELECT"},
    },
}


@pytest.fixture
async def catalogue(servers):
    connection = await asyncpg.connect(servers.superuser_url)
    yield connection
    await connection.close()


@pytest.fixture
async def store(servers):
    opened = Store(servers.role_url("gateway"), servers.role_url("gateway_system"), pool_size=2)
    yield opened
    await opened.dispose()


async def test_every_table_of_a_user_is_under_a_policy(catalogue):
    tables = await catalogue.fetch("""
        select c.relname, c.relrowsecurity, r.rolname as owner,
            (select count(*) from pg_policy p where p.polrelid = c.oid) as policies
        from pg_class c join pg_roles r on r.oid = c.relowner
        where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
    """)
    assert len(tables) > 10
    for table in tables:
        assert table["owner"] == OWNER
        if table["relname"] not in WITHOUT_OWNER:
            assert table["relrowsecurity"], f"{table['relname']} has no row-level security"
            assert table["policies"], f"{table['relname']} has no policy, so nobody sees anything"


async def test_what_has_an_owner_or_a_root_is_not_called_machinery(catalogue):
    rows = await catalogue.fetch("""
        select distinct table_name from information_schema.columns
        where table_schema = 'public' and column_name in ('user_id', 'thread_id', 'turn_id', 'message_id', 'agent_id')
    """)
    assert {row["table_name"] for row in rows} & WITHOUT_OWNER == set()


async def test_every_policy_holds_for_writing_too(catalogue):
    policies = await catalogue.fetch("select * from pg_policies where schemaname = 'public'")
    for policy in policies:
        assert policy["cmd"] == "ALL"
        assert policy["permissive"] == "PERMISSIVE"
        assert policy["qual"] == policy["with_check"], policy["tablename"]
        assert policy["qual"] != "true"
    per_table = [policy["tablename"] for policy in policies]
    assert len(per_table) == len(set(per_table)), "two permissive policies are one wider policy"


async def test_a_service_login_has_no_way_around_the_policies(catalogue):
    for service in SERVICES:
        role = await catalogue.fetchrow("select * from pg_roles where rolname = $1", service)
        assert not any(
            role[right] for right in ("rolsuper", "rolbypassrls", "rolcreaterole", "rolcreatedb", "rolreplication")
        )
    for role in (*SERVICES, *SYSTEM_GRANTS):
        memberships = await catalogue.fetchval(
            "select count(*) from pg_auth_members where member = $1::regrole or roleid = $1::regrole", role
        )
        assert memberships == 0, f"{role} is a member of another role, or another is one of it"
        owned = await catalogue.fetchval("select count(*) from pg_class where relowner = $1::regrole", role)
        assert owned == 0
    assert set(ROLES) == {OWNER, *SERVICES, *SYSTEM_GRANTS}


async def test_a_system_login_is_neither_superuser_nor_owner(catalogue):
    for name in SYSTEM_GRANTS:
        role = await catalogue.fetchrow("select * from pg_roles where rolname = $1", name)
        assert role["rolbypassrls"]
        assert not any(role[right] for right in ("rolsuper", "rolcreaterole", "rolcreatedb", "rolreplication"))


async def test_a_system_login_may_do_what_its_list_says(catalogue):
    for role, listed in SYSTEM_GRANTS.items():
        rows = await catalogue.fetch(
            """
            select table_name, privilege_type from information_schema.role_table_grants where grantee = $1
            union select table_name, privilege_type from information_schema.role_column_grants where grantee = $1
            """,
            role,
        )
        granted: dict[str, set[str]] = {}
        for row in rows:
            granted.setdefault(row["table_name"], set()).add(row["privilege_type"])
        beyond = {
            table: rights - listed.get(table, set())
            for table, rights in granted.items()
            if rights - listed.get(table, set())
        }
        assert beyond == {}, f"{role} may do more than its list says"


async def test_the_public_may_do_nothing(catalogue):
    rows = await catalogue.fetch(
        "select table_name from information_schema.role_table_grants"
        " where grantee = 'PUBLIC' and table_schema = 'public'"
    )
    assert rows == []
    for role in (*SERVICES, *SYSTEM_GRANTS):
        assert not await catalogue.fetchval("select has_schema_privilege($1, 'public', 'create')", role)
        assert not await catalogue.fetchval("select has_database_privilege($1, current_database(), 'temp')", role)


async def test_functions_that_see_everything_say_little(catalogue):
    rows = await catalogue.fetch("""
        select p.oid::regprocedure::text as name, p.proconfig, p.proacl::text
        from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prosecdef
    """)
    for row in rows:
        assert any(setting.startswith("search_path=") for setting in row["proconfig"] or []), row["name"]
        # An entry that begins with `=` is a grant to everybody.
        assert row["proacl"] is not None, f"{row['name']} is everybody's by default"
        assert not re.search(r"[{,]=", row["proacl"]), f"{row['name']} is everybody's"


async def test_a_pooled_connection_forgets_whom_it_served(store):
    """More sessions than connections: each connection serves several users, and nobody between them."""

    async def serve():
        user = uuid7()
        async with store.session(user) as session:
            seen = await session.scalar(text("select current_setting('retinue.user', true)"))
            assert seen == str(user)
            await session.execute(text("select pg_sleep(0.005)"))

    await asyncio.gather(*(serve() for _ in range(20)))
    with pytest.raises(ValueError, match="on purpose"):
        async with store.session(uuid7()):
            raise ValueError("on purpose")
    engine = store._engine
    for _ in range(3):
        async with engine.connect() as bare:
            assert await bare.scalar(text("select nullif(current_setting('retinue.user', true), '')")) is None
            assert await bare.scalar(text("select count(*) from threads")) == 0
            await bare.rollback()


@pytest.fixture(scope="module")
def ada(gateway):
    return person_at(gateway)


@pytest.fixture(scope="module")
def bob(gateway):
    return person_at(gateway)


@pytest.fixture(scope="module")
def thread(ada):
    made = ada.browser.post("/api/threads", json={"title": "Ada's"}).json()["id"]
    sent = ada.browser.post(f"/api/threads/{made}/turn", json={"message": "hi"}, headers={"prefer": "respond-async"})
    assert sent.status_code == 202
    ada.browser.delete(f"/api/threads/{made}/turn")
    return made


@pytest.fixture
async def as_bob(servers, bob):
    """Bob's queries, with the gateway's login."""
    connection = await asyncpg.connect(servers.role_url("gateway"))
    await connection.execute("select set_config('retinue.user', $1, false)", bob.id)
    yield connection
    await connection.close()


TABLES = ("users", "sessions", "api_tokens", "agents", "threads", "messages", "message_parts", "turns", "ledger")


async def test_each_sees_their_own_rows_and_no_others(servers, as_bob, ada, bob, thread):
    for table in ("users", "sessions", "api_tokens", "agents", "threads", "turns", "ledger"):
        column = "id" if table == "users" else "user_id"
        owners = {row[0] for row in await as_bob.fetch(f"select {column} from {table}")}
        assert {str(owner) for owner in owners} <= {bob.id}, table
    for table in ("messages", "message_parts", "tool_calls", "attempts"):
        assert await as_bob.fetch(f"select 1 from {table}") == []
    await as_bob.execute("select set_config('retinue.user', $1, false)", ada.id)
    for table in TABLES:
        if table != "ledger":
            assert await as_bob.fetchval(f"select count(*) from {table}") > 0, table


async def test_nobody_sees_nothing(servers, thread):
    connection = await asyncpg.connect(servers.role_url("gateway"))
    for table in TABLES:
        assert await connection.fetchval(f"select count(*) from {table}") == 0
    await connection.execute("select set_config('retinue.user', 'nonsense', false)")
    with pytest.raises(asyncpg.InvalidTextRepresentationError):
        await connection.fetch("select * from threads")
    await connection.close()


async def test_nobody_writes_for_another(as_bob, ada, bob, thread):
    agent = await as_bob.fetchval("select id from agents")
    writes = {
        "a thread of hers": ("insert into threads (id, user_id, agent_id) values ($1, $2, $3)", uuid7(), ada.id, agent),
        "a token of hers": (
            "insert into api_tokens (id, user_id, name, token_hash, scopes) values ($1, $2, 'x', '\\x00', '{admin}')",
            uuid7(),
            ada.id,
        ),
        "a message in her thread": (
            "insert into messages (id, thread_id, ordinal, role) values ($1, $2, 99, 'user')",
            uuid7(),
            thread,
        ),
        "his agent, given away": ("update agents set user_id = $1", ada.id),
    }
    for query, *values in writes.values():
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await as_bob.execute(query, *values)
    assert await as_bob.execute("update threads set title = 'Bob was here' where id = $1", thread) == "UPDATE 0"
    assert await as_bob.execute("delete from threads where id = $1", thread) == "DELETE 0"
    assert await as_bob.execute("update turns set status = 'stopped' where thread_id = $1", thread) == "UPDATE 0"


async def test_a_service_writes_only_the_columns_that_are_its_own(as_bob, servers):
    runner = await asyncpg.connect(servers.role_url("turn_runner"))
    refused = [
        (as_bob, "update turns set commit_number = 7"),
        (as_bob, "update turns set runner_id = null"),
        (as_bob, "delete from turns"),
        (as_bob, "update messages set role = 'system'"),
        (as_bob, "insert into runners (id, name, slots, alive_until) values (gen_random_uuid(), 'x', 1, now())"),
        (as_bob, "select * from outbox"),
        (as_bob, "select * from dead_letters"),
        (as_bob, "select * from inbox"),
        (runner, "select * from users"),
        (runner, "select * from sessions"),
        (runner, "select * from api_tokens"),
        (runner, "insert into turns (id) values (gen_random_uuid())"),
        (runner, "update threads set user_id = gen_random_uuid()"),
        (runner, "update agents set model = 'other'"),
        (runner, "select * from dead_letters"),
        (runner, "create table mine (a int)"),
    ]
    for connection, query in refused:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(query)
    await runner.close()


async def test_a_turn_moves_only_along_its_arrows(as_bob, ada, thread):
    await as_bob.execute("select set_config('retinue.user', $1, false)", ada.id)
    ended = await as_bob.fetchval("select id from turns where thread_id = $1 and status = 'stopped'", thread)
    assert ended is not None
    for status in ("queued", "running", "waiting", "finished"):
        with pytest.raises(asyncpg.CheckViolationError):
            await as_bob.execute("update turns set status = $2 where id = $1", ended, status)
    with pytest.raises(asyncpg.CheckViolationError):
        await as_bob.execute("update turns set epoch = epoch - 1 where id = $1", ended)
