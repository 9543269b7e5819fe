import socket
from pathlib import Path

import pytest

from cli.up.ports import INTERNAL_PORTS, Ports, is_free
from cli.up.refusal import Refused


def test_a_port_is_kept_from_start_to_start(tmp_path: Path) -> None:
    first = Ports(tmp_path / "ports.json")
    port = first.claim("nats")
    first.save()
    second = Ports(tmp_path / "ports.json")
    assert second.claim("nats") == port
    assert second.moved == []
    assert port in INTERNAL_PORTS


def test_a_taken_port_is_avoided_and_said(tmp_path: Path) -> None:
    first = Ports(tmp_path / "ports.json")
    port = first.claim("nats")
    first.save()
    with socket.create_server(("127.0.0.1", port)):
        second = Ports(tmp_path / "ports.json")
        assert second.claim("nats") != port
        assert f"nats moved from port {port}, which is taken" in second.moved[0]


def test_names_do_not_share_a_port(tmp_path: Path) -> None:
    ports = Ports(tmp_path / "ports.json")
    names = [f"name-{number}" for number in range(50)]
    assert len({ports.claim(name) for name in names}) == 50


def test_a_public_port_asked_for_by_name_is_taken_or_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(Refused, match=f"Port {port} on 127.0.0.1 is taken"):
            Ports(tmp_path / "ports.json").open_public("127.0.0.1", port)
    with Ports(tmp_path / "ports.json").open_public("127.0.0.1", port) as listener:
        assert listener.getsockname()[1] == port


def test_an_unnamed_public_port_moves_on_when_it_is_taken(tmp_path: Path) -> None:
    ports = Ports(tmp_path / "ports.json")
    with ports.open_public("127.0.0.1", 0) as listener:
        kept = listener.getsockname()[1]
        ports.save()
        with Ports(tmp_path / "ports.json").open_public("127.0.0.1", None) as moved:
            assert moved.getsockname()[1] != kept
    with Ports(tmp_path / "ports.json").open_public("127.0.0.1", None) as again:
        assert again.getsockname()[1] == kept


def test_connections_queue_while_nobody_accepts(tmp_path: Path) -> None:
    with Ports(tmp_path / "ports.json").open_public("127.0.0.1", 0) as listener:
        assert not is_free("127.0.0.1", listener.getsockname()[1])
        socket.create_connection(listener.getsockname(), timeout=2).close()


def test_a_foreign_host_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"192\.0\.2\.1"):
        Ports(tmp_path / "ports.json").open_public("192.0.2.1", 0)
