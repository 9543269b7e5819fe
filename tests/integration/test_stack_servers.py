"""The servers by themselves: ready, migrated, and closed to strangers."""

from tests.kit.stack import Servers


def test_three_servers_are_ready(servers: Servers) -> None:
    rows = servers.ps()
    assert {row["name"]: row["ready"] for row in rows} == {"nats": True, "postgres": True, "valkey": True}
